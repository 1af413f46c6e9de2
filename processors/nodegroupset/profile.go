package nodegroupset

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Profile is one group as Rules see it. It is a value; the rules that made it are those to compare it by.
type Profile struct{ shapes []shape }

// shape is one shape of the fresh nodes of a group. Amounts are in thousandths.
type shape struct {
	// real is true for what was taken from a node, false for a description by the cloud.
	real        bool
	capacity    corev1.ResourceList
	allocatable map[corev1.ResourceName]int64
	// free is what the pods that are there from the start leave: of CPU, memory and ephemeral storage, and of what one of these pods asks for. The
	// number of pods is not among it.
	free map[corev1.ResourceName]int64
	// labels are all, compared those that count.
	labels, compared map[string]string
	taints           []string // ascending
}

func amounts(fresh simulator.NodeTemplate) (allocatable, free map[corev1.ResourceName]int64) {
	allocatable = make(map[corev1.ResourceName]int64, len(fresh.Node.Status.Allocatable))
	for name, quantity := range fresh.Node.Status.Allocatable {
		allocatable[name] = quantity.MilliValue()
	}
	free = map[corev1.ResourceName]int64{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		free[name] = allocatable[name]
	}
	for _, pod := range fresh.Pods {
		for name, quantity := range podfacts.Requests(pod) {
			if _, known := free[name]; !known {
				free[name] = allocatable[name]
			}
			free[name] -= quantity.MilliValue()
		}
	}
	return allocatable, free
}
