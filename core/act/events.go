package act

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
)

// Observer is told what happens at moments of its own, between iterations or within one, for Kubernetes events and for
// metrics. It must not block and may be called concurrently.
type Observer interface {
	Observe(event Event)
}

// Event is one thing that happened. The set is closed. Objects are as last seen, shared, and must not be changed.
type Event interface{ event() }

type (
	// NodeTainted: the node carries the deletion taint, and is cordoned if that is wanted.
	NodeTainted struct{ Node *corev1.Node }
	// TaintFailed: the deletion taint could not be set.
	TaintFailed struct {
		Node *corev1.Node
		Err  error
	}
	// TaintCleaned: at the start of the process a taint that was left over was taken away, or could not be.
	TaintCleaned struct {
		Node *corev1.Node
		Key  string
		Err  error // nil: it is gone
	}
	// RemovalBegun: all nodes that go together are tainted, the removal of this one is under way.
	RemovalBegun struct {
		Node    *corev1.Node
		Removal report.Removal
	}
	// RemovalEnded: the cloud ends the machine, or the removal failed and the node is back in service. Every RemovalBegun has exactly one.
	RemovalEnded struct {
		Node    *corev1.Node
		Outcome report.RemovalOutcome
	}
	// EvictionBegun: the pod is about to be evicted.
	EvictionBegun struct{ Pod *corev1.Pod }
	// EvictionEnded: the API server accepted the eviction, or it was given up.
	EvictionEnded struct {
		Pod *corev1.Pod
		Err error // nil: accepted
		// BestEffort is true for pods whose eviction need not succeed.
		BestEffort bool
	}
	// ResizeBegun: the cloud is about to be asked for more nodes.
	ResizeBegun struct{ Resize report.Resize }
	// WriteRefused: a write did not take place because an invariant forbade it on the newest data.
	WriteRefused struct {
		Invariant Invariant
		// Subject is the node group or the node.
		Subject string
		Why     string
	}
)

func (NodeTainted) event()   {}
func (TaintFailed) event()   {}
func (TaintCleaned) event()  {}
func (RemovalBegun) event()  {}
func (RemovalEnded) event()  {}
func (EvictionBegun) event() {}
func (EvictionEnded) event() {}
func (ResizeBegun) event()   {}
func (WriteRefused) event()  {}

// Invariant names a rule that no write may break; the values are metric labels.
type Invariant string

// The invariants that act checks.
const (
	// KeepUndrained: no machine with an undrained registered node is ended.
	KeepUndrained Invariant = "KeepUndrained"
	// KeepExisting: the desired capacity is not lowered below what exists or may still arrive.
	KeepExisting Invariant = "KeepExisting"
	// KeepBounds: nothing is raised above a maximum or lowered below a minimum.
	KeepBounds Invariant = "KeepBounds"
)

func (a *Actuator) refuse(invariant Invariant, subject, why string) {
	a.observer.Observe(WriteRefused{Invariant: invariant, Subject: subject, Why: why})
}
