package observation

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// sorted are the pods of one iteration by what they mean (loop-and-scale-up 4.1).
type sorted struct {
	// placed occupy room on a node: scheduled to it or nominated for it.
	placed []*corev1.Pod
	// unschedulable were refused by a scheduler, unprocessed were seen by none.
	unschedulable, unprocessed []*corev1.Pod
}

// sortPods classifies the pods. Finished ones, those of other schedulers, and those that nobody judged yet are left out.
func sortPods(pods []*corev1.Pod, options Options) sorted {
	allowed, bypassed := nameSet(options.AllowedSchedulers), nameSet(options.BypassedSchedulers)
	out := sorted{placed: make([]*corev1.Pod, 0, len(pods))}
	for _, pod := range pods {
		if terminal(pod) || (len(allowed) > 0 && !allowed[pod.Spec.SchedulerName]) {
			continue
		}
		switch {
		case pod.Spec.NodeName != "":
			out.place(pod, options)
		case pod.DeletionTimestamp != nil:
		case pod.Status.NominatedNodeName != "":
			out.place(pod, options)
		default:
			out.wait(pod, bypassed)
		}
	}
	slices.SortStableFunc(out.unschedulable, byAge)
	slices.SortStableFunc(out.unprocessed, byAge)
	return out
}

func (s *sorted) place(pod *corev1.Pod, options Options) {
	if !podfacts.IsExpendable(pod, options.ExpendableCutoff) {
		s.placed = append(s.placed, pod)
	}
}

func (s *sorted) wait(pod *corev1.Pod, bypassed map[string]bool) {
	condition := scheduledCondition(pod)
	switch {
	case condition != nil && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable:
		s.unschedulable = append(s.unschedulable, pod)
	case bypassed[pod.Spec.SchedulerName] && (condition == nil || (condition.Status == corev1.ConditionFalse && condition.Reason == "")):
		s.unprocessed = append(s.unprocessed, pod)
	}
}

// nameSet holds the names of schedulers; the default one also goes without a name.
func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names)+1)
	for _, name := range names {
		set[name] = true
		if name == corev1.DefaultSchedulerName {
			set[""] = true
		}
	}
	return set
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func scheduledCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// byAge orders pods by creation time, namespace and name.
func byAge(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), byName(a, b))
}

func byName[T interface {
	GetNamespace() string
	GetName() string
}](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
