package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gibibyte is the unit of --memory-total.
const gibibyte int64 = 1 << 30

// checkLimits parses the cluster-wide limits.
func checkLimits(d *draft, found *findings) {
	cores, err := parseRange(d.cores)
	if err != nil {
		found.refuse("cores-total", d.cores, "min:max in whole cores; "+err.Error())
	}
	memory, err := parseRange(d.memory)
	if err != nil {
		found.refuse("memory-total", d.memory, "min:max in whole GiB; "+err.Error())
	}
	d.opts.Limits.Cores = cores
	d.opts.Limits.Memory = Range{Min: saturatingProduct(memory.Min, gibibyte), Max: saturatingProduct(memory.Max, gibibyte)}
	d.opts.Limits.GPUs = parseGPULimits(d.gpus, found)
}

// parseRange parses min:max, both 0 or more and max not below min.
func parseRange(text string) (Range, error) {
	low, high, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(high, ":") {
		return Range{}, errors.New("this is not two numbers with a colon between them")
	}
	lowest, err := parseCount(low)
	if err != nil {
		return Range{}, fmt.Errorf("the minimum %q is no whole number of 0 or more", low)
	}
	highest, err := parseCount(high)
	if err != nil {
		return Range{}, fmt.Errorf("the maximum %q is no whole number of 0 or more", high)
	}
	if highest < lowest {
		return Range{}, fmt.Errorf("the maximum %d is below the minimum %d", highest, lowest)
	}
	return Range{Min: lowest, Max: highest}, nil
}

// parseCount parses a decimal number of 0 or more.
func parseCount(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, strconv.ErrRange
	}
	return n, nil
}

// saturatingProduct multiplies two numbers of 0 or more; a product that is too large is Unlimited.
func saturatingProduct(a, b int64) int64 {
	if a != 0 && b > Unlimited/a {
		return Unlimited
	}
	return a * b
}

// parseGPULimits parses type:min:max. Of two limits for one type the later one counts.
func parseGPULimits(texts []string, found *findings) []GPULimit {
	byType := map[string]Range{}
	for _, text := range texts {
		gpu, limits, ok := strings.Cut(text, ":")
		if !ok || gpu == "" {
			found.refuse("gpu-total", text, "type:min:max; this has no type and two numbers with colons between them")
			continue
		}
		count, err := parseRange(limits)
		if err != nil {
			found.refuse("gpu-total", text, "type:min:max; "+err.Error())
			continue
		}
		if _, twice := byType[gpu]; twice {
			found.warn("gpu-total", fmt.Sprintf("type %q is given more than once, the last one counts", gpu))
		}
		byType[gpu] = count
	}
	var limits []GPULimit
	for _, gpu := range sortedKeys(byType) {
		limits = append(limits, GPULimit{Type: gpu, Count: byType[gpu]})
	}
	return limits
}

// strategies are all expanders in the order of help.
func strategies() []Expander {
	return []Expander{
		ExpanderLeastWaste,
		ExpanderRandom,
		ExpanderMostPods,
		ExpanderLeastNodes,
		ExpanderPriority,
		ExpanderPrice,
		ExpanderGRPC,
	}
}

// strategyNames returns the names of all expanders for people.
func strategyNames() string {
	var names []string
	for _, name := range strategies() {
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

// parseExpanders parses and checks the chain.
func parseExpanders(text string, found *findings) []Expander {
	var chain []Expander
	for part := range strings.SplitSeq(text, ",") {
		name := Expander(strings.TrimSpace(part))
		switch {
		case !slices.Contains(strategies(), name):
			found.refuse("expander", text, fmt.Sprintf("strategies joined by commas, but %q is none of %s", name, strategyNames()))
			return nil
		case slices.Contains(chain, name):
			found.refuse("expander", text, fmt.Sprintf("every strategy once, but %s is there twice", name))
			return nil
		case slices.Contains(chain, ExpanderRandom):
			found.refuse("expander", text, fmt.Sprintf("nothing behind random, which leaves %s nothing to choose from", name))
			return nil
		}
		chain = append(chain, name)
	}
	return chain
}

// defaultGraceSeconds is the default of --max-graceful-termination-sec.
const defaultGraceSeconds = 600

// checkDrain parses the two ways to limit grace periods, of which only one may be used.
func checkDrain(d *draft, found *findings) {
	d.opts.Drain.MaxGracefulTermination = seconds(int64(d.maxGraceSeconds))
	if d.drainPriority == "" {
		return
	}
	if d.maxGraceSeconds != defaultGraceSeconds {
		found.refuse("max-graceful-termination-sec", strconv.Itoa(d.maxGraceSeconds),
			fmt.Sprintf("%d beside --drain-priority-config, which sets grace periods itself", defaultGraceSeconds))
	}
	d.opts.Drain.PriorityGroups = parseDrainGroups(d.drainPriority, found)
}

// parseDrainGroups parses priority:seconds,... into ascending order. Of two pairs with one priority the later one counts.
func parseDrainGroups(text string, found *findings) []DrainGroup {
	byPriority := map[int32]time.Duration{}
	for part := range strings.SplitSeq(text, ",") {
		first, second, ok := strings.Cut(strings.TrimSpace(part), ":")
		priority, priorityErr := strconv.ParseInt(first, 10, 32)
		grace, graceErr := strconv.ParseInt(second, 10, 64)
		if !ok || priorityErr != nil || graceErr != nil {
			found.refuse("drain-priority-config", text,
				fmt.Sprintf("priority:seconds pairs of whole numbers joined by commas, such as 0:60,2000000000:30, but one is %q", part))
			return nil
		}
		if _, twice := byPriority[int32(priority)]; twice {
			found.warn("drain-priority-config", fmt.Sprintf("priority %d is given more than once, the last one counts", priority))
		}
		byPriority[int32(priority)] = seconds(grace)
	}
	groups := make([]DrainGroup, 0, len(byPriority))
	for priority, grace := range byPriority {
		groups = append(groups, DrainGroup{Priority: priority, GracePeriod: grace})
	}
	slices.SortFunc(groups, func(a, b DrainGroup) int { return cmp.Compare(a.Priority, b.Priority) })
	return groups
}

// seconds returns a number of seconds as a duration; one that is too large or too small is the largest or smallest duration.
func seconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	switch {
	case n > most:
		return math.MaxInt64
	case n < -most:
		return math.MinInt64
	}
	return time.Duration(n) * time.Second
}

// parseKubernetesURL takes the URL of the API server apart. Nothing given means: in-cluster.
func parseKubernetesURL(text string, found *findings) KubernetesURL {
	target := KubernetesURL{InCluster: true}
	if text == "" {
		return target
	}
	const want = "a URL such as https://host:6443?inClusterConfig=false"
	parsed, err := url.Parse(text)
	if err != nil {
		found.refuse("kubernetes", text, want)
		return target
	}
	switch {
	case parsed.Host != "" && (parsed.Scheme == "http" || parsed.Scheme == "https"):
		target.Server = parsed.Scheme + "://" + parsed.Host
	case parsed.Host != "" || parsed.Scheme != "" || parsed.Path != "":
		found.refuse("kubernetes", text, want) // a host without a scheme would silently mean the cluster that we run in
		return target
	}
	options, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		found.refuse("kubernetes", text, want)
		return target
	}
	for _, name := range sortedKeys(options) {
		setKubernetesOption(&target, name, options.Get(name), found)
	}
	return target
}

// setKubernetesOption reads one option behind the question mark of the URL.
func setKubernetesOption(target *KubernetesURL, name, value string, found *findings) {
	switch name {
	case "inClusterConfig":
		target.InCluster = parseURLBool(name, value, found)
	case "useServiceAccount":
		target.UseServiceAccount = parseURLBool(name, value, found)
	case "auth":
		target.Kubeconfig = value
	default:
		found.warn("kubernetes", fmt.Sprintf("option %q is unknown and has no effect", name))
	}
}

// parseURLBool reads a yes or no of the URL.
func parseURLBool(name, value string, found *findings) bool {
	on, err := strconv.ParseBool(value)
	if err != nil {
		found.refuse("kubernetes", name+"="+value, "true or false for this option")
	}
	return on
}
