package scenario

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// The weights that the default profile gives to its scores, of which each is at most highest.
const (
	highest         = 100
	weightTaints    = 3
	weightAffinity  = 2
	weightResources = 1
)

// room is a node with what it has and what is taken, of what scores look at.
type room struct {
	node               *corev1.Node
	hasCPU, hasMemory  int64 // milli-CPU and bytes
	usedCPU, usedBytes int64
	hasPods, usedPods  int64
	score              int64
}

func (w *world) roomsOf(nodes []*corev1.Node) []*room {
	rooms := make([]*room, 0, len(nodes))
	for _, node := range nodes {
		r := &room{
			node: node, hasCPU: node.Status.Allocatable.Cpu().MilliValue(), hasMemory: node.Status.Allocatable.Memory().Value(),
			hasPods: node.Status.Allocatable.Pods().Value(),
		}
		w.measure(r)
		rooms = append(rooms, r)
	}
	return rooms
}

func (w *world) measure(r *room) {
	used := w.view.Requested(r.node.Name)
	r.usedCPU, r.usedBytes, r.usedPods = used[corev1.ResourceCPU], used[corev1.ResourceMemory], used[corev1.ResourcePods]
}

// measure learns anew what is taken of a node.
func (t *turn) measure(node string) {
	if i, found := slices.BinarySearchFunc(t.rooms, node, func(r *room, name string) int { return strings.Compare(r.node.Name, name) }); found {
		t.w.measure(t.rooms[i])
	}
}

// candidates are the nodes that are not obviously too full for the pod, the best first, equal ones by name.
func (t *turn) candidates(pod *corev1.Pod) []*room {
	requests := podfacts.Requests(pod)
	cpu, bytes := requests.Cpu().MilliValue(), requests.Memory().Value()
	var preferred *nodeaffinity.PreferredSchedulingTerms
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		// Terms that cannot be read prefer nothing.
		preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	var out []*room
	for _, r := range t.rooms {
		if r.node.Spec.Unschedulable || r.usedCPU+cpu > r.hasCPU && cpu > 0 || r.usedBytes+bytes > r.hasMemory && bytes > 0 || r.usedPods >= r.hasPods {
			continue
		}
		r.score = weightTaints*softTaints(pod, r.node) + weightResources*r.balance(cpu, bytes)
		if preferred != nil {
			r.score += weightAffinity * min(highest, preferred.Score(r.node))
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b *room) int { return cmp.Compare(b.score, a.score) })
	return out
}

// softTaints is the score for taints that only advise: none, or less the more of them the pod does not tolerate. As in the default profile, one
// outweighs any difference in load.
func softTaints(pod *corev1.Pod, node *corev1.Node) int64 {
	untolerated := int64(0)
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(&t, taint) }) {
			untolerated++
		}
	}
	if untolerated == 0 {
		return highest
	}
	return -untolerated
}

// balance is the score for load: the mean of what would be free of CPU and of memory, and how alike the two are.
func (r *room) balance(cpu, bytes int64) int64 {
	free := func(used, has int64) int64 {
		if has <= 0 {
			return 0
		}
		return highest * max(0, has-used) / has
	}
	c, m := free(r.usedCPU+cpu, r.hasCPU), free(r.usedBytes+bytes, r.hasMemory)
	unlike := c - m
	if unlike < 0 {
		unlike = -unlike
	}
	return (c+m)/2 + highest - unlike/2
}
