package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/gpu"
)

// Stand-ins for the type of an accelerator in metric labels (operator-surface 2.3).
const (
	gpuGeneric   = "generic"
	gpuMissing   = "missing-gpu"
	gpuNotListed = "not-listed"
)

// gpuOf describes the accelerators of a group's nodes, as the cloud's template shows them, else a node of the group.
func gpuOf(seen observation.Observation, group observation.Group) report.GPU {
	node := exampleOf(seen, group)
	if node == nil || seen.GPULabel == "" {
		return report.GPU{}
	}
	kind, labelled := node.Labels[seen.GPULabel]
	resource, has := gpu.ResourceOf(node, seen.GPULabel)
	quantity := node.Status.Allocatable[resource]
	switch {
	case !has:
		return report.GPU{}
	case quantity.IsZero():
		return report.GPU{Resource: string(resource), Name: gpuMissing}
	case !labelled:
		return report.GPU{Resource: string(resource), Name: gpuGeneric}
	case !slices.Contains(seen.GPUTypes, kind):
		return report.GPU{Resource: string(resource), Name: gpuNotListed}
	default:
		return report.GPU{Resource: string(resource), Name: kind}
	}
}

func exampleOf(seen observation.Observation, group observation.Group) *corev1.Node {
	if len(group.Variants) > 0 {
		return group.Variants[0].Node
	}
	for _, node := range seen.Nodes {
		if seen.Members[node.Name] == group.ID {
			return node
		}
	}
	return nil
}
