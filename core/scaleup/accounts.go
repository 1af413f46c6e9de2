package scaleup

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/gpu"
)

// The names of resources in limits; others are types of accelerators.
const (
	resourceCPU    = "cpu"    // cores
	resourceMemory = "memory" // bytes
)

// virtualKubelet marks nodes that stand for a service without machines: their capacity costs nothing and counts for nothing.
const virtualKubelet = "virtual-kubelet"

// accounts tell how much of the cluster-wide limits is left (loop-and-scale-up 5.9).
type accounts struct {
	nodes     int              // all nodes of the snapshot
	left      map[string]int64 // by resource; a resource without limit is missing
	uncounted []string         // nodes labelled as having an accelerator of which nobody knows how many

	gpuLabel string
	groups   map[cloudprovider.GroupID]*observation.Group
}

func newAccounts(in In) accounts {
	a := accounts{
		left: map[string]int64{}, gpuLabel: in.GPULabel, groups: make(map[cloudprovider.GroupID]*observation.Group, len(in.Groups)),
	}
	for i := range in.Groups {
		a.groups[in.Groups[i].ID] = &in.Groups[i]
	}
	maps.Copy(a.left, in.Limits.Max)
	for _, node := range in.Snapshot.Nodes() {
		a.nodes++
		id, ok := in.Members[node.Name]
		if !ok {
			id = in.Pending.Placeholders[node.Name]
		}
		used, unknown := a.of(node, id)
		if unknown {
			a.uncounted = append(a.uncounted, node.Name)
		}
		for resource, amount := range used {
			if left, limited := a.left[resource]; limited {
				a.left[resource] = max(0, left-amount)
			}
		}
	}
	slices.Sort(a.uncounted)
	return a
}

// of is what a node counts for. unknown tells a node that is labelled as having an accelerator although nobody knows how many.
func (a accounts) of(node *corev1.Node, group cloudprovider.GroupID) (used map[string]int64, unknown bool) {
	if node.Labels["type"] == virtualKubelet {
		return nil, false
	}
	used = map[string]int64{
		resourceCPU:    amount(*node.Status.Capacity.Cpu()), // rounded up to whole cores
		resourceMemory: amount(*node.Status.Capacity.Memory()),
	}
	kind, labelled := node.Labels[a.gpuLabel]
	if a.gpuLabel == "" || !labelled {
		return used, false
	}
	count := firstGPU(node.Status.Allocatable)
	if described := a.groups[group]; count == 0 && described != nil && len(described.Variants) > 0 {
		count = firstGPU(described.Variants[0].Node.Status.Capacity)
	}
	if count == 0 {
		return used, true
	}
	used[kind] = count
	return used, false
}

func firstGPU(resources corev1.ResourceList) int64 {
	for _, name := range gpu.Resources() {
		if quantity, ok := resources[name]; ok && !quantity.IsZero() {
			return amount(quantity)
		}
	}
	return 0
}

// amount is the quantity in whole units, from 0 to the largest number.
func amount(quantity resource.Quantity) int64 {
	switch {
	case quantity.Sign() < 0:
		return 0
	case quantity.CmpInt64(math.MaxInt64) >= 0:
		return math.MaxInt64
	default:
		return quantity.Value()
	}
}

// perNode is what one more node of the group counts for: of each resource the most that one of its variants has.
func (a accounts) perNode(cand *candidate) map[string]int64 {
	most := map[string]int64{}
	for i := range cand.template.Variants {
		used, _ := a.of(cand.template.Variants[i].Node, cand.id)
		for resource, amount := range used {
			most[resource] = max(most[resource], amount)
		}
	}
	return most
}

// allowed is how many of the wanted nodes the limits admit, and which resources are short if not all.
func (a accounts) allowed(perNode map[string]int64, wanted int) (nodes int, short []string) {
	nodes = wanted
	for resource, amount := range perNode {
		left, limited := a.left[resource]
		if !limited || amount <= 0 {
			continue
		}
		if possible := int(min(left/amount, math.MaxInt32)); possible < wanted {
			nodes = min(nodes, possible)
			short = append(short, resource)
		}
	}
	slices.Sort(short)
	return nodes, short
}

// clone returns accounts of their own.
func (a accounts) clone() accounts {
	a.left = maps.Clone(a.left)
	return a
}

// take books so many nodes.
func (a *accounts) take(perNode map[string]int64, nodes int) {
	a.nodes += nodes
	for resource, amount := range perNode {
		if left, limited := a.left[resource]; limited {
			if amount > 0 && int64(nodes) > left/amount {
				a.left[resource] = 0
				continue
			}
			a.left[resource] = left - amount*int64(nodes)
		}
	}
}
