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
	// Reason is that of a Ready condition that is not True; empty if there is none.
	Reason string
	// LastTransition is the latest change of a condition or taint that readiness depends on; zero if there was none.
	LastTransition time.Time
}

// Of judges the node.
func Of(node *corev1.Node) Readiness { return Readiness{} }

// Override returns a copy of the node whose Ready condition is False for the given reason since the node's creation.
func Override(node *corev1.Node, reason string) *corev1.Node { return nil }

// IsSuspended tells a node whose machine sleeps: its condition of type Suspended is True.
func IsSuspended(node *corev1.Node) bool { return false }
