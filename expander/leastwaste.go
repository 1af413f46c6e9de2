package expander

import (
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// leastWaste keeps the options that leave the least CPU and memory idle. One of which that cannot be told is kept only if there is
// no other.
func leastWaste(_ context.Context, asked Question) answer {
	return lowest(asked.Options, func(o Option) float64 {
		if waste, known := Waste(o); known {
			return waste
		}
		return math.Inf(1)
	})
}

// Waste is the share of CPU and that of memory which the pods of the option would leave unused, added up: at most 2, below 0 if other nodes take some of
// the pods. known is false where the capacity of a fresh node is not.
func Waste(o Option) (waste float64, known bool) {
	if o.Node == nil || o.Nodes <= 0 {
		return 0, false
	}
	capacity := o.Node.Status.Capacity
	cpu, memory := float64(capacity.Cpu().MilliValue())*float64(o.Nodes), float64(capacity.Memory().Value())*float64(o.Nodes)
	if cpu <= 0 || memory <= 0 {
		return 0, false
	}
	usedCPU, usedMemory := requested(o.Pods)
	return (cpu-usedCPU)/cpu + (memory-usedMemory)/memory, true
}

func requested(pods []*corev1.Pod) (milliCPU, memory float64) {
	var of podfacts.RequestsOf
	for _, pod := range pods {
		requests := of.Next(pod)
		milliCPU += float64(requests.Cpu().MilliValue())
		memory += float64(requests.Memory().Value())
	}
	return milliCPU, memory
}
