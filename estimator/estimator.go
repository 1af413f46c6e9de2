package estimator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// scheduler is what this package asks of *simulator.Scheduler.
type scheduler interface {
	Fill(ctx context.Context, snap *simulator.Snapshot, pods []*corev1.Pod, nodeName string) (int, *simulator.Rejection, error)
	PlaceAll(ctx context.Context, snap *simulator.Snapshot, pods []*corev1.Pod, search simulator.Search) ([]simulator.Placement, error)
	PlaceAnywhere(
		ctx context.Context, snap *simulator.Snapshot, pod *corev1.Pod, search simulator.Search,
	) (simulator.Placement, []simulator.NodeRejection, error)
}

// budget is how long an estimate may take. It is made by whoever has a clock.
type budget interface{ Spent() bool }

// Class is a group of waiting pods that are alike for the scheduler (simulator.Scheduler.Classes).
type Class struct {
	Pods []*corev1.Pod
	// Shapes are the fresh nodes to add for these pods, in turn; nil: In.Shapes. Several classes with the same wish share the slice.
	Shapes []simulator.NodeTemplate
}

// In is what an estimate is made from.
type In struct {
	// Snapshot is the cluster with everything that exists, is on its way or has been placed. It is changed and changed back.
	Snapshot  *simulator.Snapshot
	Scheduler scheduler
	// Classes in the order of their first pods.
	Classes []Class
	// Shapes are the fresh nodes of the group, in the turn in which they come; at least one.
	Shapes []simulator.NodeTemplate
	// Rooms is set if the shapes are those of different groups: how many nodes of each may be added. Of these the next one in turn comes on which the
	// pod fits. nil: they are those of one group, and the cloud takes them in turn.
	Rooms []int
	// MaxNodes is how many nodes may be added: 0 means any number, less than 0 none. See Lowest.
	MaxNodes int
	// Budget ends the estimate when a further node is wanted and it is spent; nil: no limit.
	Budget budget
}

// Result is what an estimate comes to.
type Result struct {
	// New are the added nodes, each with at least one pod, in the order in which they were added. Their number is what the group would have to grow by.
	New []NewNode
	// Pods are all pods that found a place, on new nodes or, because of these, on others, in the order in which they were placed.
	Pods []*corev1.Pod
	// Stopped is set if a limit kept pods from being placed.
	Stopped *report.EstimateLimit
	// Failed says for which classes, by index in In.Classes, the packing broke off because of an error; nil: for none.
	Failed map[int]error
}

// NewNode is one added node.
type NewNode struct {
	// Shape is the name of the node's template.
	Shape string
	Pods  []*corev1.Pod
}

// Lowest combines limits of nodes: 0 means none, less than 0 that no node is allowed, which wins.
func Lowest(limits ...int) int {
	lowest := 0
	for _, limit := range limits {
		switch {
		case limit < 0:
			return -1
		case limit > 0 && (lowest == 0 || limit < lowest):
			lowest = limit
		}
	}
	return lowest
}

// Estimate packs the pods. An error means that nothing can be said about the group; trouble with single pods is in the result.
func Estimate(ctx context.Context, in In) (result Result, err error) {
	if len(in.Shapes) == 0 {
		return Result{}, errors.New("estimating without the shape of a fresh node")
	}
	ordered := inOrder(in)
	packed, err := attempt(ctx, in, func(p *packing) error { return p.pack(ctx, ordered) })
	if err != nil {
		return Result{}, err
	}
	fewer, err := tightened(ctx, in, ordered, packed)
	if err != nil {
		return Result{}, err
	}
	if fewer != nil {
		return *fewer, nil
	}
	return packed, nil
}

// attempt packs in a fork that is reverted, and returns what came of it.
func attempt(ctx context.Context, in In, pack func(*packing) error) (result Result, err error) {
	in.Snapshot.Fork()
	defer func() {
		if reverted := in.Snapshot.Revert(); reverted != nil {
			result, err = Result{}, errors.Join(err, fmt.Errorf("undoing the estimate: %w", reverted))
		}
	}()
	p := &packing{in: in, first: in.Snapshot.Len(), mayAdd: true}
	if err := pack(p); err != nil {
		return Result{}, err
	}
	if err := p.prune(ctx); err != nil {
		return Result{}, err
	}
	for _, n := range p.order {
		p.result.New = append(p.result.New, n.NewNode)
	}
	return p.result, nil
}

// ranked is a class with its place in the input.
type ranked struct {
	Class
	at    int
	score float64
}

// inOrder puts the classes with the greediest pods first. Equal ones stay in their order.
func inOrder(in In) []ranked {
	allocatable := in.Shapes[0].Node.Status.Allocatable
	out := make([]ranked, 0, len(in.Classes))
	for i, class := range in.Classes {
		if len(class.Pods) == 0 {
			continue
		}
		requests := podfacts.Requests(class.Pods[0])
		score := share(requests.Cpu().MilliValue(), allocatable.Cpu().MilliValue()) +
			share(requests.Memory().Value(), allocatable.Memory().Value())
		out = append(out, ranked{Class: class, at: i, score: score})
	}
	slices.SortStableFunc(out, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	return out
}

func share(asked, offered int64) float64 {
	if offered <= 0 {
		return 0
	}
	return float64(asked) / float64(offered)
}
