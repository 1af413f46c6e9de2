package utilization

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
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
	used, taken := sum(pods, options)
	return of(node, options, used, taken)
}

// OfSum is Of where no pod is to be skipped and none is ending: used are the requests of all pods, cpu in milli and others in units.
func OfSum(node *corev1.Node, accelerator corev1.ResourceName, used func(corev1.ResourceName) int64) (Utilization, error) {
	sum := milli{}
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, accelerator} {
		sum[name] = used(name) * unit
	}
	sum[corev1.ResourceCPU] = used(corev1.ResourceCPU)
	return of(node, Options{Accelerator: accelerator}, sum, nil)
}

// unit is one in thousandths.
const unit = 1000

func of(node *corev1.Node, options Options, used, taken milli) (Utilization, error) {
	if name := options.Accelerator; name != "" {
		// No accelerator to offer: not used, so that a node whose device is dead can go.
		if allocatable := node.Status.Allocatable[name]; allocatable.IsZero() {
			return Utilization{Resource: name}, nil
		}
		value := share(node, name, used, taken)
		return Utilization{Accelerator: value, Resource: name, Value: value}, nil
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if allocatable := node.Status.Allocatable[name]; allocatable.IsZero() {
			return Utilization{}, fmt.Errorf("computing the utilization of node %s: it has no allocatable %s", node.Name, name)
		}
	}
	u := Utilization{
		CPU:    share(node, corev1.ResourceCPU, used, taken),
		Memory: share(node, corev1.ResourceMemory, used, taken),
	}
	u.Resource, u.Value = corev1.ResourceMemory, u.Memory
	if u.CPU > u.Memory { // never true of NaN: a node whose memory is all taken by skipped pods is judged by NaN
		u.Resource, u.Value = corev1.ResourceCPU, u.CPU
	}
	return u, nil
}

// milli are amounts in thousandths, the unit in which the quotients have always been formed.
type milli map[corev1.ResourceName]int64

func (m milli) add(requests corev1.ResourceList) {
	for name, quantity := range requests {
		m[name] += quantity.MilliValue()
	}
}

// sum adds up what counts as used, and what skipped pods take away.
func sum(pods []*corev1.Pod, options Options) (used, taken milli) {
	used, taken = milli{}, milli{}
	var requests podfacts.RequestsOf
	for _, pod := range pods {
		switch {
		case options.SkipDaemonSets && podfacts.IsDaemonSet(pod), options.SkipMirrorPods && podfacts.IsMirror(pod):
			taken.add(requests.Next(pod))
		case podfacts.IsLongTerminating(pod, options.At):
		default:
			used.add(requests.Next(pod))
		}
	}
	return used, taken
}

func share(node *corev1.Node, name corev1.ResourceName, used, taken milli) float64 {
	allocatable := node.Status.Allocatable[name]
	return float64(used[name]) / float64(allocatable.MilliValue()-taken[name])
}
