package scenario

import (
	"cmp"
	"context"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// sacrifice is what it would cost to make room for a pod on a node.
type sacrifice struct {
	node    string
	victims []*corev1.Pod
	// violated is how many of the victims a PodDisruptionBudget protects, highest and sum are their priorities.
	violated int
	highest  int32
	sum      int64
}

// preempt makes room for a pod by ending pods of lower priority, where that helps, and tells whether it did. It is an approximation of the
// scheduler's rules: on each node all pods of lower priority are thought away, then as many as possible are spared, the most important first;
// the node is taken that costs the fewest violated budgets, then the least important victims, then the fewest.
func (t *turn) preempt(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		return false, nil
	}
	w := t.w
	if t.awaitsVictims(pod) {
		return true, w.view.AddPod(pod, pod.Status.NominatedNodeName)
	}
	var best *sacrifice
	for _, r := range t.rooms {
		if r.node.Spec.Unschedulable {
			continue
		}
		if pinned := pinnedTo(pod); pinned != "" && pinned != r.node.Name {
			continue
		}
		found, err := t.sacrificeOn(ctx, pod, r.node.Name)
		if err != nil {
			return false, err
		}
		if found != nil && (best == nil || found.compare(best) < 0) {
			best = found
		}
	}
	if best == nil {
		return false, nil
	}
	for _, victim := range best.victims {
		if err := w.deletePod(victim, graceOf(victim)); err != nil {
			return false, err
		}
	}
	nominated := *pod
	nominated.Status.NominatedNodeName = best.node
	w.markUnschedulable(&nominated)
	if err := w.view.AddPod(&nominated, best.node); err != nil { // others must not take the room meanwhile
		return false, err
	}
	t.measure(best.node)
	return true, w.putPod(&nominated)
}

// awaitsVictims tells whether pods are still ending that have to make room for this one.
func (t *turn) awaitsVictims(pod *corev1.Pod) bool {
	node := pod.Status.NominatedNodeName
	if node == "" || t.w.nodes.by[node] == nil {
		return false
	}
	return slices.ContainsFunc(t.w.view.Pods(node), func(other *corev1.Pod) bool {
		return other.DeletionTimestamp != nil && podfacts.Priority(other) < podfacts.Priority(pod)
	})
}

// compare puts the lesser evil first.
func (s *sacrifice) compare(other *sacrifice) int {
	return cmp.Or(
		cmp.Compare(s.violated, other.violated), cmp.Compare(s.highest, other.highest), cmp.Compare(s.sum, other.sum),
		cmp.Compare(len(s.victims), len(other.victims)), cmp.Compare(s.node, other.node),
	)
}

// sacrificeOn is what it would cost on one node; nil: not even an end of all lower pods helps, or there are none.
func (t *turn) sacrificeOn(ctx context.Context, pod *corev1.Pod, node string) (found *sacrifice, err error) {
	w := t.w
	priority := podfacts.Priority(pod)
	lower := slices.DeleteFunc(slices.Clone(w.view.Pods(node)), func(other *corev1.Pod) bool {
		return podfacts.Priority(other) >= priority || other.Spec.NodeName == ""
	})
	if len(lower) == 0 {
		return nil, nil //nolint:nilnil // no sacrifice is an answer, not a fault
	}
	w.view.Fork()
	defer func() {
		if undo := w.view.Revert(); err == nil {
			err = undo
		}
	}()
	for _, victim := range lower {
		if err := w.view.RemovePod(victim, node); err != nil {
			return nil, err
		}
	}
	if rejection, err := w.scheduler.Check(ctx, w.view, pod, node); err != nil || rejection != nil {
		return nil, ctx.Err()
	}
	slices.SortStableFunc(lower, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(podfacts.Priority(b), podfacts.Priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time))
	})
	found = &sacrifice{node: node, highest: math.MinInt32}
	for _, victim := range lower {
		if err := w.view.AddPod(victim, node); err != nil {
			return nil, err
		}
		if rejection, err := w.scheduler.Check(ctx, w.view, pod, node); err == nil && rejection == nil {
			continue // it can be spared
		}
		if err := w.view.RemovePod(victim, node); err != nil {
			return nil, err
		}
		found.victims = append(found.victims, victim)
		found.sum += int64(podfacts.Priority(victim))
		found.highest = max(found.highest, podfacts.Priority(victim))
		if w.permits(victim) != nil {
			found.violated++
		}
	}
	return found, nil
}
