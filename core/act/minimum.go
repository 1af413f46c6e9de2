package act

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
)

// minimums takes the cluster-wide minimums from the command line's options.
func minimums(from config.Limits) map[string]int64 {
	out := map[string]int64{"cpu": from.Cores.Min, "memory": from.Memory.Min}
	for _, kind := range from.GPUs {
		out[kind.Type] = kind.Count.Min
	}
	return out
}

// reserve is what the cluster has beyond its minimums, by resource; of a resource without a minimum nothing is kept account.
type reserve struct {
	left     map[string]int64
	minimum  map[string]int64
	gpuLabel string
	// closed says why nothing can be taken at all; nil: something can.
	closed report.Reason
}

// reserve adds up what the API server's nodes have, without those whose removal is in progress. It asks only if there is a minimum at all.
func (a *Actuator) reserve(ctx context.Context) *reserve {
	r := &reserve{left: map[string]int64{}, minimum: map[string]int64{}}
	limits := cloudprovider.ResourceLimits{Min: a.options.Minimums}
	if limiter, ok := a.cloud.(cloudprovider.Limiter); ok {
		limits = limiter.ResourceLimits(limits)
	}
	for resource, minimum := range limits.Min {
		if minimum > 0 {
			r.left[resource], r.minimum[resource] = -minimum, minimum
		}
	}
	if len(r.left) == 0 {
		return r
	}
	if labeler, ok := a.cloud.(cloudprovider.GPULabeler); ok {
		r.gpuLabel = labeler.GPULabel()
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	nodes, err := a.kube.Nodes(ctx)
	if err != nil {
		r.closed = report.UnexpectedError{Error: fmt.Sprintf("listing the nodes to compare them with the cluster's minimums: %v", err)}
		return r
	}
	going := map[string]bool{}
	for _, deletion := range a.Deletions() {
		going[deletion.Node] = true
	}
	for _, node := range nodes {
		if going[node.Name] {
			continue
		}
		amounts := scaledown.Amounts(node, r.gpuLabel)
		for resource := range r.left {
			r.left[resource] += amounts[resource]
		}
	}
	return r
}

// take says why the cluster cannot do without the node; nil: it can, and has so much less to spare.
func (r *reserve) take(node *corev1.Node) report.Reason {
	if r.closed != nil {
		return r.closed
	}
	amounts := scaledown.Amounts(node, r.gpuLabel)
	var short []report.Minimum
	for _, resource := range slices.Sorted(maps.Keys(r.left)) {
		if amounts[resource] > 0 && amounts[resource] > r.left[resource] {
			minimum := r.minimum[resource]
			short = append(short, report.Minimum{Resource: resource, Usage: r.left[resource] + minimum, Takes: amounts[resource], Min: minimum})
		}
	}
	if len(short) > 0 {
		return report.MinimalResourceLimitExceeded{Resources: short}
	}
	for resource := range r.left {
		r.left[resource] -= amounts[resource]
	}
	return nil
}

// giveBack takes back that the node goes.
func (r *reserve) giveBack(node *corev1.Node) {
	for resource, amount := range scaledown.Amounts(node, r.gpuLabel) {
		if _, limited := r.left[resource]; limited {
			r.left[resource] += amount
		}
	}
}

// spare sorts out the candidates without which the cluster would fall below one of its minimums. Of a group that goes as a whole only, all go or
// none; such groups are asked about first, as plans order them.
func (a *Actuator) spare(ctx context.Context, candidates []scaledown.Candidate) (going []scaledown.Candidate, refused []report.NodeVerdict) {
	if len(candidates) == 0 {
		return nil, nil
	}
	reserve := a.reserve(ctx)
	broken, kept := map[cloudprovider.GroupID]report.Reason{}, map[string]report.Reason{}
	taken := map[cloudprovider.GroupID][]*corev1.Node{}
	for _, candidate := range wholeFirst(candidates) {
		id := candidate.Removal.Group
		if candidate.Atomic && broken[id] != nil {
			continue
		}
		why := reserve.take(candidate.Node)
		if why == nil {
			taken[id] = append(taken[id], candidate.Node)
			continue
		}
		a.refuse(KeepBounds, candidate.Removal.Node, why.String())
		kept[candidate.Removal.Node] = why
		if candidate.Atomic {
			broken[id] = why
			for _, node := range taken[id] {
				reserve.giveBack(node)
			}
		}
	}
	for _, candidate := range candidates {
		why := kept[candidate.Removal.Node]
		if candidate.Atomic {
			why = broken[candidate.Removal.Group]
		}
		if why != nil {
			refused = append(refused, verdict(candidate, why))
			continue
		}
		going = append(going, candidate)
	}
	return going, refused
}

// wholeFirst puts the candidates of groups that go as a whole before the others.
func wholeFirst(candidates []scaledown.Candidate) []scaledown.Candidate {
	sorted := slices.Clone(candidates)
	slices.SortStableFunc(sorted, func(x, y scaledown.Candidate) int {
		switch {
		case x.Atomic == y.Atomic:
			return 0
		case x.Atomic:
			return -1
		default:
			return 1
		}
	})
	return sorted
}
