package nodegroupset

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// Rules say when two groups are similar. They are read only and may be used concurrently.
type Rules struct {
	ignored  map[string]bool
	prefixes []string // of ignored keys
	decisive []string // not empty: the labels that decide alone
	asked    map[corev1.ResourceName]bool

	memory, allocatable, free float64
}

// In is what Rules are made from.
type In struct {
	Options config.Balancing
	// Bookkeeping are the labels that do not count in the cloud in use, as cloudprovider.BookkeepingLabeler names them; nil: none.
	Bookkeeping []string
	// Asked are the resources that waiting pods ask for. What only one of two nodes is known to offer does not matter if nobody asks for it. nil: none.
	Asked map[corev1.ResourceName]bool
}

// alwaysIgnored are labels that tell nodes and places apart in every cluster, or that tools known to operators set.
func alwaysIgnored() []string {
	return []string{
		corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		"beta.kubernetes.io/fluentd-ds-ready", "kops.k8s.io/instancegroup",
	}
}

// NewRules makes the rules of the command line's options for one cloud.
func NewRules(in In) Rules {
	r := Rules{
		ignored: map[string]bool{}, decisive: in.Options.Labels, asked: in.Asked,
		memory: in.Options.MemoryDifferenceRatio, allocatable: in.Options.MaxAllocatableDifferenceRatio, free: in.Options.MaxFreeDifferenceRatio,
	}
	for _, key := range slices.Concat(alwaysIgnored(), in.Bookkeeping, in.Options.IgnoreLabels) {
		if prefix, ok := strings.CutSuffix(key, "*"); ok {
			r.prefixes = append(r.prefixes, prefix)
			continue
		}
		r.ignored[key] = true
	}
	return r
}

// Similar tells whether two groups are. A group whose nodes can have several shapes is similar to one that can have the same shapes: each shape of
// one has its like among those of the other. The order and the zones of the shapes do not matter.
func (r Rules) Similar(a, b Profile) bool { return r.Difference(a, b) == "" }

// Difference is the first thing in which two groups differ, in words; empty: they are similar.
func (r Rules) Difference(a, b Profile) string {
	if len(a.shapes) == 0 || len(b.shapes) == 0 {
		return "nothing is known of the nodes of one"
	}
	return cmp.Or(r.unmatched(a, b), r.unmatched(b, a))
}

// unmatched is how the first shape of a that has no like in b differs from the first one of b.
func (r Rules) unmatched(a, b Profile) string {
	for i := range a.shapes {
		first := ""
		for k := range b.shapes {
			difference := r.difference(&a.shapes[i], &b.shapes[k])
			if difference == "" {
				first = ""
				break
			}
			first = cmp.Or(first, difference)
		}
		if first != "" {
			return first
		}
	}
	return ""
}

func (r Rules) difference(a, b *shape) string {
	if len(r.decisive) > 0 {
		return r.decisiveLabels(a, b)
	}
	for _, find := range []func(a, b *shape) string{r.capacities, r.allocatables, r.frees, labels, taints} {
		if difference := find(a, b); difference != "" {
			return difference
		}
	}
	return ""
}

func (r Rules) decisiveLabels(a, b *shape) string {
	for _, key := range r.decisive {
		value, ok := a.labels[key]
		other, also := b.labels[key]
		if !ok || !also || value != other {
			return fmt.Sprintf("label %s", key)
		}
	}
	return ""
}

func (r Rules) capacities(a, b *shape) string {
	for _, name := range both(a.capacity, b.capacity) {
		x, inA := a.capacity[name]
		y, inB := b.capacity[name]
		switch {
		case inA != inB:
			if !r.tolerated(a, b, name, x.IsZero() && y.IsZero()) {
				return fmt.Sprintf("capacity of %s", name)
			}
		case name == corev1.ResourceMemory:
			if !near(x.MilliValue(), y.MilliValue(), r.memory) {
				return fmt.Sprintf("capacity of %s", name)
			}
		case x.Cmp(y) != 0:
			return fmt.Sprintf("capacity of %s", name)
		}
	}
	return ""
}

func (r Rules) allocatables(a, b *shape) string {
	for _, name := range both(a.allocatable, b.allocatable) {
		x, inA := a.allocatable[name]
		y, inB := b.allocatable[name]
		if inA != inB && r.tolerated(a, b, name, x == 0 && y == 0) {
			continue
		}
		if inA != inB || !near(x, y, r.allocatable) {
			return fmt.Sprintf("allocatable %s", name)
		}
	}
	return ""
}

func (r Rules) frees(a, b *shape) string {
	for _, name := range both(a.free, b.free) {
		x, inA := a.free[name]
		y, inB := b.free[name]
		_, offeredA := a.allocatable[name]
		_, offeredB := b.allocatable[name]
		if offeredA != offeredB {
			continue // it was tolerated that only one offers it
		}
		if inA != inB && r.tolerated(a, b, name, false) {
			continue
		}
		if inA != inB || !near(x, y, r.free) {
			return fmt.Sprintf("free %s", name)
		}
	}
	return ""
}

// tolerated tells whether it does not matter that only one side has a resource. Real nodes show all that they have; a description by the cloud
// often lacks what no machine is bought for.
func (r Rules) tolerated(a, b *shape, name corev1.ResourceName, zero bool) bool {
	return (!a.real || !b.real) && (zero || !r.asked[name])
}

// near tells whether the difference is at most the share ratio of the larger amount. Negative amounts are never near each other.
func near(x, y int64, ratio float64) bool {
	larger, smaller := max(x, y), min(x, y)
	return float64(larger)-float64(smaller) <= ratio*float64(larger)
}

func labels(a, b *shape) string {
	for _, key := range both(a.compared, b.compared) {
		value, ok := a.compared[key]
		other, also := b.compared[key]
		if ok != also || value != other {
			return fmt.Sprintf("label %s", key)
		}
	}
	return ""
}

func taints(a, b *shape) string {
	if slices.Equal(a.taints, b.taints) {
		return ""
	}
	return "taints"
}

// both lists the keys of two maps in ascending order.
func both[K cmp.Ordered, V any](a, b map[K]V) []K {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// keeps tells whether a label counts.
func (r Rules) keeps(key string) bool {
	return !r.ignored[key] && !slices.ContainsFunc(r.prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

// Profile makes what Rules compare of a group. Where its nodes can differ, the least that they offer is compared, with which estimates reckon.
func (r Rules) Profile(template nodeinfos.Template) Profile {
	var out Profile
	for i, fresh := range nodeinfos.Smallest(template.Variants) {
		s := shape{real: template.Variants[i].Source != nodeinfos.Cloud, capacity: fresh.Node.Status.Capacity, labels: fresh.Node.Labels}
		s.allocatable, s.free = amounts(fresh)
		s.compared = maps.Clone(fresh.Node.Labels)
		maps.DeleteFunc(s.compared, func(key, _ string) bool { return !r.keeps(key) })
		for _, taint := range fresh.Node.Spec.Taints {
			s.taints = append(s.taints, taint.ToString())
		}
		slices.Sort(s.taints)
		out.shapes = append(out.shapes, s)
	}
	return out
}
