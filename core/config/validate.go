package config

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// resourceLockLeases is the only kind of lock; the older ones are gone from the client library.
const resourceLockLeases = "leases"

// validate judges the draft as a whole, completes its options, and notes everything that it refuses or warns about.
func validate(d *draft, table []Flag, set *pflag.FlagSet, found *findings) {
	checkBounds(d, table, set, found)
	checkProcess(d, found)
	checkCloud(d, found)
	checkElection(d.opts.LeaderElection, d.resourceLock, found)
	checkHealth(&d.opts.Loop, found)
	checkLimits(d, found)
	checkScaleUp(d, found)
	checkSchedulers(d.opts.Pods, found)
	checkTaints(d, found)
	checkScaleDown(d, found)
	checkDrain(d, found)
	checkLogging(d, found)
	checkGates(d, found)
}

// checkBounds checks the simple ranges of the table, and that every number with a fraction is a number.
func checkBounds(d *draft, table []Flag, set *pflag.FlagSet, found *findings) {
	for _, flag := range table {
		if flag.bind == nil {
			continue // read by nobody
		}
		n, ok := number(flag.bind(d))
		if !ok {
			continue
		}
		value := set.Lookup(flag.Name).Value.String()
		switch {
		case math.IsNaN(n) || math.IsInf(n, 0):
			found.refuse(flag.Name, value, "a finite number")
		case !flag.bound.holds(n):
			found.refuse(flag.Name, value, flag.bound.wants())
		}
	}
}

// The values of --aws-discovery-match.
const (
	discoverAll = "all"
	discoverAny = "any"
)

// The shortest and the longest time between two readings of the cloud: what is older than five minutes is not planned with.
const (
	shortestRefresh = 10 * time.Second
	longestRefresh  = 4 * time.Minute
)

// checkCloud checks what does not depend on which clouds are linked.
func checkCloud(d *draft, found *findings) {
	switch d.discovery {
	case discoverAll, discoverAny:
		d.opts.Cloud.AWSDiscoverAny = d.discovery == discoverAny
	default:
		found.refuse("aws-discovery-match", d.discovery, discoverAll+" or "+discoverAny)
	}
	if interval := d.opts.Cloud.AWSRefreshInterval; interval < shortestRefresh || interval > longestRefresh {
		found.refuse("aws-refresh-interval", interval.String(), fmt.Sprintf("%s to %s", shortestRefresh, longestRefresh))
	}
}

// checkProcess checks where the process listens, writes and finds its API server.
func checkProcess(d *draft, found *findings) {
	address := d.opts.Process.Address
	if _, _, err := net.SplitHostPort(address); err != nil {
		found.refuse("address", address, "host:port or :port")
	}
	if d.opts.Process.Namespace == "" {
		found.refuse("namespace", "", "the namespace that the autoscaler runs in")
	}
	if d.opts.Status.WriteConfigMap && d.opts.Status.ConfigMapName == "" {
		found.refuse("status-config-map-name", "", "a name, or --write-status-configmap=false")
	}
	if d.kubernetes != "" && d.opts.API.Kubeconfig != "" {
		found.warn("kubernetes", "has no effect beside --kubeconfig, which wins")
		d.kubernetes = ""
	}
	d.opts.API.URL = parseKubernetesURL(d.kubernetes, found)
}

// electionJitter is the factor by which the client library stretches the retry period.
const electionJitter = 1.2

// checkElection checks what the client library's elector would panic about, and that the lease can be written: it has whole seconds.
func checkElection(e LeaderElection, lock string, found *findings) {
	if lock != resourceLockLeases {
		found.refuse("leader-elect-resource-lock", lock, resourceLockLeases+", other kinds of locks no longer exist")
	}
	if !e.Enabled {
		return
	}
	if e.LeaseName == "" {
		found.refuse("leader-elect-resource-name", "", "the name of the Lease")
	}
	if e.RetryPeriod <= 0 {
		found.refuseTiming("leader-elect-retry-period", e.RetryPeriod.String(), "more than 0")
	}
	if float64(e.RenewDeadline) <= electionJitter*float64(e.RetryPeriod) {
		found.refuseTiming("leader-elect-renew-deadline", e.RenewDeadline.String(),
			fmt.Sprintf("more than 1.2 times --leader-elect-retry-period, which is %s", e.RetryPeriod))
	}
	if e.LeaseDuration <= e.RenewDeadline {
		found.refuseTiming("leader-elect-lease-duration", e.LeaseDuration.String(),
			fmt.Sprintf("more than --leader-elect-renew-deadline, which is %s", e.RenewDeadline))
	} else if e.LeaseDuration < time.Second {
		found.refuseTiming("leader-elect-lease-duration", e.LeaseDuration.String(), "1s or more, since a Lease counts whole seconds")
	}
}

// checkHealth raises the start-up limit, so that a start is never judged more strictly than what follows.
func checkHealth(l *Loop, found *findings) {
	largest := max(l.MaxStartupTime, l.MaxInactivity, l.MaxFailingTime)
	if l.MaxStartupTime < largest {
		found.warn("max-startup-time", fmt.Sprintf("raised from %s to %s, the larger one of --max-inactivity and --max-failing-time",
			l.MaxStartupTime, largest))
		l.MaxStartupTime = largest
	}
}

// checkScaleUp checks estimator, expanders and what groups are compared by.
func checkScaleUp(d *draft, found *findings) {
	if d.opts.ScaleUp.Estimator != EstimatorBinpacking {
		found.refuse("estimator", d.opts.ScaleUp.Estimator, EstimatorBinpacking+", the only one there is")
	}
	d.opts.ScaleUp.Expanders = parseExpanders(d.expander, found)
	if len(d.opts.Balancing.Labels) > 0 && len(d.opts.Balancing.IgnoreLabels) > 0 {
		found.warn("balancing-ignore-label", "has no effect beside --balancing-label, which wins")
	}
	if !d.dynamicResources {
		found.refuse("enable-dynamic-resource-allocation", "false", "true, since it cannot be switched off")
	}
}

// checkSchedulers checks that no pod is both looked at early and not at all.
func checkSchedulers(p Pods, found *findings) {
	if len(p.AllowedSchedulers) == 0 {
		return
	}
	for _, name := range p.BypassedSchedulers {
		if !slices.Contains(p.AllowedSchedulers, name) {
			found.refuse("bypassed-scheduler-names", name, fmt.Sprintf("only names that --allowed-scheduler-names holds too: %q", p.AllowedSchedulers))
		}
	}
}

// checkTaints completes the taint keys. An empty key or prefix is dropped: as a prefix it would match every taint there is, and no
// node would ever count as ready.
func checkTaints(d *draft, found *findings) {
	t := &d.opts.Templates
	t.StartupTaints = appendKeys(nil, "startup-taint", d.startupTaints, found)
	t.StartupTaints = appendKeys(t.StartupTaints, "ignore-taint", d.ignoreTaints, found)
	t.StartupTaintPrefixes = appendKeys([]string{StartupTaintPrefix, IgnoreTaintPrefix}, "startup-taint-prefix", d.startupPrefixes, found)
	t.StatusTaints = appendKeys(nil, "status-taint", d.statusTaints, found)
	t.StatusTaintPrefixes = []string{StatusTaintPrefix}
}

// appendKeys appends the bare taint keys that are not there yet.
func appendKeys(keys []string, flag string, given []string, found *findings) []string {
	for _, key := range given {
		switch {
		case key == "":
			found.warn(flag, "an empty value is left out")
			continue
		case strings.ContainsAny(key, "=:"):
			found.warn(flag, fmt.Sprintf("%q matches no taint, since only the key is compared", key))
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// checkScaleDown warns about thresholds that were probably meant as percentages and would make every node a candidate.
func checkScaleDown(d *draft, found *findings) {
	thresholds := []struct {
		flag  string
		value float64
	}{
		{"scale-down-utilization-threshold", d.opts.NodeGroupDefaults.ScaleDownUtilizationThreshold},
		{"scale-down-gpu-utilization-threshold", d.opts.NodeGroupDefaults.ScaleDownGPUUtilizationThreshold},
	}
	for _, threshold := range thresholds {
		if threshold.value > 1 {
			found.warn(threshold.flag, fmt.Sprintf("is a share from 0 to 1; with %s every node is a candidate for removal",
				strconv.FormatFloat(threshold.value, 'g', -1, 64)))
		}
	}
}

// checkLogging checks the format, and the options that hang on a feature gate.
func checkLogging(d *draft, found *findings) {
	l := &d.opts.Logging
	l.Format = LogFormat(d.loggingFormat)
	if l.Format != LogFormatText && l.Format != LogFormatJSON {
		found.refuse("logging-format", d.loggingFormat, "text or json")
	}
	if l.Format != LogFormatText && len(l.VModule) > 0 {
		found.refuse("vmodule", (&vmoduleValue{&l.VModule}).String(), "--logging-format=text beside it")
	}
	if d.opts.FeatureGates[gateLoggingAlphaOptions] || d.opts.FeatureGates[gateAllAlpha] && !has(d.opts.FeatureGates, gateLoggingAlphaOptions) {
		return
	}
	const want = "--feature-gates=" + gateLoggingAlphaOptions + "=true beside it"
	if l.TextSplitStream {
		found.refuse("log-text-split-stream", "true", want)
	}
	if l.JSONSplitStream {
		found.refuse("log-json-split-stream", "true", want)
	}
	if l.TextInfoBufferBytes != 0 {
		found.refuse("log-text-info-buffer-size", strconv.FormatInt(l.TextInfoBufferBytes, 10), want)
	}
	if l.JSONInfoBufferBytes != 0 {
		found.refuse("log-json-info-buffer-size", strconv.FormatInt(l.JSONInfoBufferBytes, 10), want)
	}
}

// Names of feature gates that have a meaning here.
const (
	gateLoggingAlphaOptions = "LoggingAlphaOptions"
	gateAllAlpha            = "AllAlpha"
	gateDynamicResources    = "DynamicResourceAllocation"
)

// has reports whether the map holds the key.
func has(m map[string]bool, key string) bool {
	_, ok := m[key]
	return ok
}

// checkGates takes out the gate that a flag governs.
func checkGates(d *draft, found *findings) {
	enabled, ok := d.opts.FeatureGates[gateDynamicResources]
	if !ok {
		return
	}
	if !enabled {
		found.warn("feature-gates", gateDynamicResources+"=false has no effect: --enable-dynamic-resource-allocation governs it and is on")
	}
	delete(d.opts.FeatureGates, gateDynamicResources)
	if len(d.opts.FeatureGates) == 0 {
		d.opts.FeatureGates = nil
	}
}
