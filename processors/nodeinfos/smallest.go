package nodeinfos

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
)

// Smallest returns the templates to reckon with when it is open which of the variants comes: each as it is, but with no more of any resource
// than the least that one of them offers. The order is that of the variants.
func Smallest(variants []Variant) []simulator.NodeTemplate {
	out := make([]simulator.NodeTemplate, 0, len(variants))
	for i := range variants {
		out = append(out, variants[i].NodeTemplate)
	}
	if len(out) < 2 {
		return out
	}
	capacity, allocatable := out[0].Node.Status.Capacity, out[0].Node.Status.Allocatable
	for _, other := range out[1:] {
		capacity = least(capacity, other.Node.Status.Capacity)
		allocatable = least(allocatable, other.Node.Status.Allocatable)
	}
	for i := range out {
		if sameResources(out[i].Node.Status.Capacity, capacity) && sameResources(out[i].Node.Status.Allocatable, allocatable) {
			continue
		}
		node := out[i].Node.DeepCopy()
		node.Status.Capacity, node.Status.Allocatable = capacity, allocatable
		out[i].Node = node
	}
	return out
}

func least(a, b corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, quantity := range a {
		other, ok := b[name]
		switch {
		case !ok:
		case other.Cmp(quantity) < 0:
			out[name] = other
		default:
			out[name] = quantity
		}
	}
	return out
}

func sameResources(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, quantity := range a {
		other, ok := b[name]
		if !ok || quantity.Cmp(other) != 0 {
			return false
		}
	}
	return true
}
