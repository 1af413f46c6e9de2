package observation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// fresh is how recent a pod's verdict must be to start an iteration at once. Older ones were seen by an iteration already.
const fresh = 10 * time.Second

// look notices a pod that turned unschedulable a moment ago (loop-and-scale-up 1.1).
func (s *Source) look(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || !justUnschedulable(pod, s.clock.Now) {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default: // one wake-up is pending already and will see this pod too
	}
}

func justUnschedulable(pod *corev1.Pod, now func() time.Time) bool {
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || terminal(pod) {
		return false
	}
	condition := scheduledCondition(pod)
	return condition != nil && condition.Status == corev1.ConditionFalse &&
		condition.Reason == corev1.PodReasonUnschedulable && !condition.LastTransitionTime.Add(fresh).Before(now())
}
