package readiness

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The reasons of a Ready condition that was overridden.
const (
	// ReasonResourceNotReady: devices or drivers that the node's group promises are not there yet.
	ReasonResourceNotReady = "cluster-autoscaler.kubernetes.io/resource-not-ready"
	// ReasonStartupTaint: the node carries a startup taint.
	ReasonStartupTaint = "cluster-autoscaler.kubernetes.io/startup-taint"
)

// Readiness is the judgement about one node.
type Readiness struct {
	// Ready does not look at spec.unschedulable.
	Ready bool
	// Known is false if the node has no Ready condition at all; it then counts as not ready.
	Known bool
	// Reason says why the node is not ready: the reason of the condition that says so, or else the key of the taint.
	Reason string
	// LastTransition is the latest change of a condition or taint that readiness depends on; zero if there was none.
	LastTransition time.Time
}

// Of judges the node: it is ready if its Ready condition is True, neither its disk is full nor its network missing, and no taint
// says otherwise. Memory and process pressure don't matter.
func Of(node *corev1.Node) Readiness {
	var r Readiness
	var wrong []string // in order of weight, since only the first is told
	for _, kind := range []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeDiskPressure, corev1.NodeNetworkUnavailable} {
		condition, ok := find(node, kind)
		if !ok {
			continue
		}
		r.Known = r.Known || kind == corev1.NodeReady
		r.LastTransition = later(r.LastTransition, condition.LastTransitionTime.Time)
		if saysNotReady(condition) {
			wrong = append(wrong, condition.Reason)
		}
	}
	for _, taint := range node.Spec.Taints {
		switch taint.Key {
		case corev1.TaintNodeNotReady, corev1.TaintNodeDiskPressure, corev1.TaintNodeNetworkUnavailable:
			wrong = append(wrong, taint.Key)
			if taint.TimeAdded != nil {
				r.LastTransition = later(r.LastTransition, taint.TimeAdded.Time)
			}
		}
	}
	r.Ready = r.Known && len(wrong) == 0
	if len(wrong) > 0 {
		r.Reason = wrong[0]
	}
	return r
}

func saysNotReady(condition corev1.NodeCondition) bool {
	if condition.Type == corev1.NodeReady {
		return condition.Status == corev1.ConditionFalse || condition.Status == corev1.ConditionUnknown
	}
	return condition.Status == corev1.ConditionTrue
}

func find(node *corev1.Node, kind corev1.NodeConditionType) (corev1.NodeCondition, bool) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == kind {
			return condition, true
		}
	}
	return corev1.NodeCondition{}, false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Override returns a copy of the node whose Ready condition is False for the given reason since the node's creation. The
// copy shares everything else with the node.
func Override(node *corev1.Node, reason string) *corev1.Node {
	condition := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: node.CreationTimestamp}
	out := *node
	out.Status.Conditions = make([]corev1.NodeCondition, 0, len(node.Status.Conditions)+1)
	for _, kept := range node.Status.Conditions {
		if kept.Type != corev1.NodeReady {
			out.Status.Conditions = append(out.Status.Conditions, kept)
		}
	}
	out.Status.Conditions = append(out.Status.Conditions, condition)
	return &out
}

// IsSuspended tells a node whose machine sleeps: its condition of type Suspended is True.
func IsSuspended(node *corev1.Node) bool {
	condition, ok := find(node, "Suspended")
	return ok && condition.Status == corev1.ConditionTrue
}
