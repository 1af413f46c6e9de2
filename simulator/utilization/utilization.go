package utilization

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Options say which pods count.
type Options struct {
	At             time.Time           // tells pods that should have ended long ago, which don't count
	SkipDaemonSets bool                // DaemonSet pods take room away instead of using it
	SkipMirrorPods bool                // mirror pods take room away instead of using it
	Accelerator    corev1.ResourceName // on a node with accelerators only this resource counts; empty: CPU and memory do
}

// Utilization is how used a node is. The numbers are shares of what is allocatable: 0.5 is half; above 1 is possible. They
// can be NaN, infinite or negative where the skipped pods take everything or more; compare accordingly.
type Utilization struct {
	CPU, Memory float64 // 0 on a node judged by its accelerator
	Accelerator float64 // 0 on a node judged by CPU and memory
	// Resource is the one that decided, Value its share.
	Resource corev1.ResourceName
	Value    float64
}

// Of computes how used the node is by these pods. A node without allocatable CPU or memory is an error unless it is judged by its
// accelerator.
func Of(node *corev1.Node, pods []*corev1.Pod, options Options) (Utilization, error) {
	return Utilization{}, nil
}
