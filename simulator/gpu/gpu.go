package gpu

import (
	corev1 "k8s.io/api/core/v1"
)

// Resources are the names of the extended resources that count as accelerators, most common first. The slice is a new one.
func Resources() []corev1.ResourceName {
	return []corev1.ResourceName{"nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx"}
}

// ResourceOf says which accelerator resource the node has: the first that is allocatable and not zero; failing that, if the
// node carries the cloud's label for accelerators, the most common name. ok is false for a node without accelerator. An empty
// label marks no node.
func ResourceOf(node *corev1.Node, label string) (name corev1.ResourceName, ok bool) {
	if offersAny(node) {
		for _, name := range Resources() {
			if offers(node, name) {
				return name, true
			}
		}
	}
	if labelled(node, label) {
		return Resources()[0], true
	}
	return "", false
}

// Missing tells a node that is labelled as having an accelerator and has none to offer yet.
func Missing(node *corev1.Node, label string) bool {
	return labelled(node, label) && !offersAny(node)
}

// Requested tells a pod that asks for an accelerator.
func Requested(pod *corev1.Pod) bool {
	return asks(pod.Spec.Containers) || asks(pod.Spec.InitContainers)
}

// RequestedBy answers Requested for one pod after the other. Pods of one workload that share their containers in memory are looked at once.
type RequestedBy struct {
	last   *corev1.Pod
	answer bool
}

// Next answers for the next pod.
func (r *RequestedBy) Next(pod *corev1.Pod) bool {
	if r.last == nil || !same(r.last.Spec.Containers, pod.Spec.Containers) || !same(r.last.Spec.InitContainers, pod.Spec.InitContainers) {
		r.answer = Requested(pod)
	}
	r.last = pod
	return r.answer
}

// same tells containers that lie in the same place of memory.
func same(a, b []corev1.Container) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// asks is called for every pod that waits, hence without copies.
func asks(containers []corev1.Container) bool {
	for i := range containers {
		for name, quantity := range containers[i].Resources.Requests {
			if isAccelerator(name) && !quantity.IsZero() {
				return true
			}
		}
	}
	return false
}

// isAccelerator tells the names of Resources.
func isAccelerator(name corev1.ResourceName) bool {
	switch name {
	case "nvidia.com/gpu", "habana.ai/gaudi", "gpu.intel.com/xe", "amd.com/gpu", "microsoft.com/directx":
		return true
	default:
		return false
	}
}

func offersAny(node *corev1.Node) bool {
	for name, quantity := range node.Status.Allocatable {
		if isAccelerator(name) && !quantity.IsZero() {
			return true
		}
	}
	return false
}

func offers(node *corev1.Node, name corev1.ResourceName) bool {
	quantity, ok := node.Status.Allocatable[name]
	return ok && !quantity.IsZero()
}

func labelled(node *corev1.Node, label string) bool {
	_, ok := node.Labels[label]
	return ok && label != ""
}
