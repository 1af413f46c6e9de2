package selection

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// Tags by which a pool says that it is a node group although its managed autoscaling is off.
const (
	tagEnabled = "k8s-cluster-autoscaler-enabled:true"
	tagMin     = "k8s-cluster-autoscaler-min:"
	tagMax     = "k8s-cluster-autoscaler-max:"

	defaultMin, defaultMax = 1, 200
)

// Rules are what the operator asked for on the command line. The zero value asks for pools with managed autoscaling and those with tags.
type Rules struct {
	named    []named
	discover []rule
}

type named struct {
	pool   string // id or name
	bounds Bounds
}

type rule struct {
	tags   []string
	bounds Bounds
}

// Bounds are the smallest and the largest size of a group.
type Bounds struct{ Min, Max int }

// Choice is what became of one pool.
type Choice struct {
	Bounds   Bounds
	Selected bool
	// Oddity is one sentence about what an operator should look at; empty: nothing.
	Oddity string
}

// Parse reads the values of --nodes and --node-group-auto-discovery. Upstream ignores both on this cloud, so a value that has not our form is left out
// and told as a warning, not an error.
func Parse(nodes, discovery []string) (r Rules, warnings []string) {
	for _, text := range nodes {
		parts := strings.SplitN(text, ":", 3)
		bounds, err := boundsOf(parts)
		if err != nil || len(parts) != 3 || parts[2] == "" {
			warnings = append(warnings, fmt.Sprintf("--nodes=%q is ignored: want MIN:MAX:POOL with the id or the name of a node pool", text))
			continue
		}
		r.named = append(r.named, named{pool: parts[2], bounds: bounds})
	}
	for _, text := range discovery {
		parsed, ok := parseRule(text)
		if !ok {
			warnings = append(warnings, fmt.Sprintf("--node-group-auto-discovery=%q is ignored: want doks:tag=TAG[,TAG…][,min=N][,max=N]", text))
			continue
		}
		r.discover = append(r.discover, parsed)
	}
	return r, warnings
}

// boundsOf reads the first two parts.
func boundsOf(parts []string) (Bounds, error) {
	if len(parts) < 2 {
		return Bounds{}, errors.New("want MIN:MAX")
	}
	lowest, err := strconv.Atoi(parts[0])
	if err != nil {
		return Bounds{}, err
	}
	highest, err := strconv.Atoi(parts[1])
	if err != nil {
		return Bounds{}, err
	}
	if lowest < 0 || highest < lowest {
		return Bounds{}, errors.New("want 0 <= MIN <= MAX")
	}
	return Bounds{Min: lowest, Max: highest}, nil
}

func parseRule(text string) (rule, bool) {
	rest, ok := strings.CutPrefix(text, "doks:tag=")
	if !ok {
		return rule{}, false
	}
	r := rule{bounds: Bounds{Min: defaultMin, Max: defaultMax}}
	for part := range strings.SplitSeq(rest, ",") {
		limit := &r.bounds.Min
		number, isBound := strings.CutPrefix(part, "min=")
		if !isBound {
			number, isBound = strings.CutPrefix(part, "max=")
			limit = &r.bounds.Max
		}
		if !isBound {
			r.tags = append(r.tags, part)
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			return rule{}, false
		}
		*limit = n
	}
	if len(r.tags) == 0 || slices.Contains(r.tags, "") || r.bounds.Min < 0 || r.bounds.Max < r.bounds.Min {
		return rule{}, false
	}
	return r, true
}

// Choose says whether a pool is a node group. Managed autoscaling comes first, with the bounds of the API.
func (r Rules) Choose(pool doapi.Pool) Choice {
	by, bounds, selected := r.selector(pool)
	if !pool.AutoScale {
		return Choice{Bounds: bounds, Selected: selected}
	}
	c := Choice{Bounds: Bounds{Min: pool.Min, Max: pool.Max}, Selected: true}
	if selected {
		c.Oddity = fmt.Sprintf("the pool is selected by %s and has auto_scale on: two autoscalers change it; switch auto_scale off", by)
	}
	return c
}

// selector is what else than managed autoscaling makes the pool a node group.
func (r Rules) selector(pool doapi.Pool) (by string, bounds Bounds, selected bool) {
	for _, n := range r.named {
		if n.pool == pool.ID || n.pool == pool.Name {
			return "--nodes", n.bounds, true
		}
	}
	if slices.Contains(pool.Tags, tagEnabled) {
		bounds := Bounds{Min: tagNumber(pool.Tags, tagMin, defaultMin), Max: tagNumber(pool.Tags, tagMax, defaultMax)}
		return "the tag " + tagEnabled, bounds, true
	}
	for _, d := range r.discover {
		if !slices.ContainsFunc(d.tags, func(tag string) bool { return !slices.Contains(pool.Tags, tag) }) {
			return "--node-group-auto-discovery", d.bounds, true
		}
	}
	return "", Bounds{}, false
}

// tagNumber is the number behind a tag's prefix.
func tagNumber(tags []string, prefix string, otherwise int) int {
	for _, tag := range tags {
		if text, ok := strings.CutPrefix(tag, prefix); ok {
			if n, err := strconv.Atoi(text); err == nil && n >= 0 {
				return n
			}
		}
	}
	return otherwise
}
