package scaledown

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/gpu"
)

// virtualKubelet is the value of the label "type" of nodes that stand for no machine.
const virtualKubelet = "virtual-kubelet"

// selectable returns the nodes found removable that may go now, empty ones first, then those whose budgets allow all of their pods to
// move at once (scale-down 3.8). The others are kept, with the reason.
func (u *update) selectable() []*removable {
	if len(u.found) == 0 {
		return nil
	}
	left := u.headroom()
	var empty, drained []*removable
	for _, r := range u.found {
		if len(r.move) == 0 {
			empty = append(empty, r)
		} else {
			drained = append(drained, r)
		}
	}
	take := func(r *removable) bool {
		why := u.refusal(r, left)
		if why != nil {
			u.keep(r.node, why)
		}
		return why != nil
	}
	empty = slices.DeleteFunc(empty, take)
	drained = slices.DeleteFunc(drained, take)
	slices.SortStableFunc(drained, func(a, b *removable) int {
		switch {
		case a.risky == b.risky:
			return 0
		case b.risky:
			return -1
		default:
			return 1
		}
	})
	return slices.Concat(empty, drained)
}

// refusal says why the node must not go now; nil: it may, and its group and the quota are the smaller for it.
func (u *update) refusal(r *removable, left *headroom) report.Reason {
	if why := r.tooEarly(u.now); why != nil {
		return why
	}
	g := r.group
	if g.trouble != "" {
		return report.UnexpectedError{Error: g.trouble}
	}
	if n := len(r.onCompletion); n > 0 { // it does not go, so that it takes nothing from those that may
		return report.BlockedByOnCompletionPod{Pod: nameOf(r.onCompletion[0].Pod), More: n - 1}
	}
	if g.size-g.deleting <= g.Min {
		return report.NodeGroupMinSizeReached{Size: g.size, Deleting: g.deleting, Min: g.Min}
	}
	if short := left.take(u.amounts(r.node, left)); len(short) > 0 {
		return report.MinimalResourceLimitExceeded{Resources: short}
	}
	g.size--
	return nil
}

// headroom is how much of each limited resource the cluster can lose.
type headroom struct {
	// usage is what the nodes have that stay, and minimum what they must have; both by resource, for those that are limited.
	usage, minimum map[string]int64
	// of remembers the size of the first node of a group, which stands for all of them.
	of map[cloudprovider.GroupID]map[string]int64
}

// headroom adds up what all nodes have beyond the minimums (scale-down 3.8.1).
func (u *update) headroom() *headroom {
	h := &headroom{minimum: map[string]int64{}, of: map[cloudprovider.GroupID]map[string]int64{}}
	for resource, minimum := range u.in.Seen.Limits.Min {
		if minimum > 0 {
			h.minimum[resource] = minimum
		}
	}
	if len(h.minimum) == 0 {
		return h
	}
	h.usage = map[string]int64{}
	for _, node := range u.in.Snapshot.Nodes() {
		for resource, amount := range u.amounts(node, h) {
			h.usage[resource] += amount
		}
	}
	return h
}

// take lowers the headroom by a node, or returns the resources of which there is too little, ascending.
func (h *headroom) take(amounts map[string]int64) (short []report.Minimum) {
	for _, resource := range slices.Sorted(maps.Keys(h.minimum)) {
		usage, takes, minimum := h.usage[resource], amounts[resource], h.minimum[resource]
		if takes > max(0, usage-minimum) {
			short = append(short, report.Minimum{Resource: resource, Usage: usage, Takes: takes, Min: minimum})
		}
	}
	if len(short) > 0 {
		return short
	}
	for resource := range h.minimum {
		h.usage[resource] -= amounts[resource]
	}
	return nil
}

// amounts is what a node counts for the limits of the cluster; the first node of a group stands for all of them.
func (u *update) amounts(node *corev1.Node, h *headroom) map[string]int64 {
	id, member := u.in.Seen.Members[node.Name]
	if known := h.of[id]; member && known != nil {
		return known
	}
	amounts := Amounts(node, u.in.Seen.GPULabel)
	if member {
		h.of[id] = amounts
	}
	return amounts
}

// Amounts is what a node counts for the limits of the cluster: whole cores, bytes of memory, one node, and accelerators by their type, which is the value of
// gpuLabel; an empty gpuLabel means none. The result is nil for a node that stands for no machine (scale-down 3.8.1).
func Amounts(node *corev1.Node, gpuLabel string) map[string]int64 {
	if node.Labels["type"] == virtualKubelet {
		return nil
	}
	amounts := map[string]int64{
		"cpu": node.Status.Capacity.Cpu().Value(), "memory": node.Status.Capacity.Memory().Value(), "nodes": 1,
	}
	if kind := node.Labels[gpuLabel]; kind != "" {
		if name, has := gpu.ResourceOf(node, gpuLabel); has {
			count := node.Status.Allocatable[name]
			amounts[kind] = count.Value()
		}
	}
	return amounts
}

// wholeGroups keeps of a group that goes as a whole only either all nodes or none (scale-down 3.9). Groups that go as a whole come last, by ascending
// id.
func (u *update) wholeGroups(candidates []*removable) []*removable {
	var single []*removable
	whole := map[cloudprovider.GroupID][]*removable{}
	for _, r := range candidates {
		if r.group.Options.ZeroOrMaxNodeScaling {
			whole[r.group.ID] = append(whole[r.group.ID], r)
		} else {
			single = append(single, r)
		}
	}
	out := single
	for _, id := range slices.Sorted(maps.Keys(whole)) {
		nodes := whole[id]
		target, registered := nodes[0].group.target, u.registered(nodes[0].group)
		if len(nodes) != target && len(nodes) != registered {
			for _, r := range nodes {
				u.keep(r.node, report.AtomicScaleDownFailed{Removable: len(nodes), Size: target})
			}
			continue
		}
		out = append(out, nodes...)
	}
	return out
}

// registered counts the nodes of the group that stand for one of its instances.
func (u *update) registered(g *group) int {
	instances := make(map[string]bool, len(g.Instances))
	for _, instance := range g.Instances {
		instances[instance.ID] = true
	}
	count := 0
	for _, node := range u.in.Seen.Nodes {
		if _, there := u.in.Snapshot.Node(node.Name); there && instances[node.Spec.ProviderID] {
			count++
		}
	}
	return count
}

// crop cuts the candidates to what may be removed at the same time (scale-down 5.2). Those that are left out have to wait.
func (u *update) crop(candidates []*removable) (empty, drained []*removable) {
	parallel, draining := u.options.ScaleDown.MaxParallelism, u.options.ScaleDown.MaxDrainParallelism
	for _, deletion := range u.deleting {
		if deletion.Accepted {
			continue
		}
		parallel--
		if deletion.Drain {
			draining--
		}
	}
	empty, drained = u.lots(candidates).crop(parallel, draining)
	taken := map[*removable]bool{}
	for _, r := range slices.Concat(empty, drained) {
		taken[r] = true
	}
	for _, r := range candidates {
		if !taken[r] {
			u.keep(r.node, report.NotReached{Limit: "no more removals are started at once"})
		}
	}
	return empty, drained
}

// lots groups the candidates by node group, in the order in which the groups first occur.
func (u *update) lots(candidates []*removable) lots {
	var out lots
	byID := map[cloudprovider.GroupID]*lot{}
	for _, r := range candidates {
		l := byID[r.group.ID]
		if l == nil {
			l = &lot{atomic: r.group.Options.ZeroOrMaxNodeScaling, target: r.group.target}
			if l.atomic {
				l.registered = u.registered(r.group)
			}
			byID[r.group.ID] = l
			out = append(out, l)
		}
		if len(r.move) == 0 {
			l.empty = append(l.empty, r)
		} else {
			l.drained = append(l.drained, r)
		}
	}
	return out
}

// lot is the candidates of one node group.
type lot struct {
	atomic bool
	// target and registered are the sizes that count as the whole group.
	target, registered int
	empty, drained     []*removable
}

func (l *lot) whole() bool {
	n := len(l.empty) + len(l.drained)
	return n == l.target || n == l.registered
}

type lots []*lot

// crop takes up to parallel nodes in all, and up to draining of those that are drained. One group that goes as a whole may exceed them if
// it is the first and there is any room.
func (all lots) crop(parallel, draining int) (empty, drained []*removable) { //nolint:gocyclo // three passes over one budget
	first := true
	for _, l := range all {
		if !l.atomic || len(l.empty) == 0 {
			continue
		}
		n, d := len(l.empty)+len(l.drained), len(l.drained)
		if (parallel < n || draining < d) && (parallel <= 0 || d > 0 && draining <= 0 || !first) {
			break
		}
		if !l.whole() {
			continue
		}
		empty, drained = append(empty, l.empty...), append(drained, l.drained...)
		parallel, draining, first = parallel-n, draining-d, false
	}
	draining = min(parallel, draining)
	for _, l := range all {
		if !l.atomic || len(l.empty) > 0 {
			continue
		}
		d := len(l.drained)
		if draining < d && (draining <= 0 || !first) {
			break
		}
		if !l.whole() {
			continue
		}
		drained = append(drained, l.drained...)
		parallel, draining, first = parallel-d, draining-d, false
	}
	for _, l := range all {
		if !l.atomic {
			taken := l.empty[:min(len(l.empty), max(0, parallel))]
			empty, parallel = append(empty, taken...), parallel-len(taken)
		}
	}
	draining = min(parallel, draining)
	for _, l := range all {
		if !l.atomic {
			taken := l.drained[:min(len(l.drained), max(0, draining))]
			drained, draining = append(drained, taken...), draining-len(taken)
		}
	}
	return empty, drained
}
