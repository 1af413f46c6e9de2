package estimator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// errTooFew says that the pods don't all fit on so many nodes.
var errTooFew = errors.New("not all pods fit on so few nodes")

// tightened looks for a packing on fewer nodes where pods have to be spread evenly; nil: there is none. Such pods fill the first nodes unevenly as long
// as there are no others to be even with, and need more in the end than if all nodes had been there from the start.
func tightened(ctx context.Context, in In, classes []ranked, packed Result) (*Result, error) {
	most := len(packed.New)
	if in.Rooms != nil { // nobody takes them in turn
		return nil, nil //nolint:nilnil // said above
	}
	if packed.Stopped != nil || packed.Failed != nil || most < 2 || !slices.ContainsFunc(classes, spreadsHard) {
		return nil, nil //nolint:nilnil // said above
	}
	try := func(nodes int) (*Result, error) {
		result, err := attempt(ctx, in, func(p *packing) error { return p.onFixed(ctx, classes, nodes, len(packed.Pods)) })
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("estimating: %w", ctx.Err())
		case err != nil || len(result.New) >= most: // when in doubt, the packing found first is right
			return nil, nil //nolint:nilnil // said above
		default:
			return &result, nil
		}
	}
	least := leastNodes(in, packed)
	if least >= most {
		return nil, nil //nolint:nilnil // said above
	}
	best, err := try(least) // what evenly spread pods usually come to
	if err != nil || best != nil {
		return best, err
	}
	for low, high := least+1, most; low < high; {
		if in.Budget != nil && in.Budget.Spent() {
			break
		}
		nodes := low + (high-low)/2
		result, err := try(nodes)
		switch {
		case err != nil:
			return nil, err
		case result == nil:
			low = nodes + 1
		default:
			best, high = result, nodes
		}
	}
	return best, nil
}

func spreadsHard(class ranked) bool {
	return slices.ContainsFunc(class.Pods[0].Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule
	})
}

// leastNodes is how many nodes the pods on new nodes need at least, going by cpu, memory and their number.
func leastNodes(in In, packed Result) int {
	var cpu, memory, pods int64
	var of podfacts.RequestsOf
	for _, node := range packed.New {
		for _, pod := range node.Pods {
			requests := of.Next(pod)
			cpu += requests.Cpu().MilliValue()
			memory += requests.Memory().Value()
			pods++
		}
	}
	least := int64(1)
	for i := range in.Shapes {
		allocatable := in.Shapes[i].Node.Status.Allocatable
		needs := int64(1)
		for _, r := range [][2]int64{
			{cpu, allocatable.Cpu().MilliValue()}, {memory, allocatable.Memory().Value()}, {pods, allocatable.Pods().Value()},
		} {
			if r[1] > 0 {
				needs = max(needs, (r[0]+r[1]-1)/r[1])
			}
		}
		if i == 0 || needs < least {
			least = needs
		}
	}
	return int(least)
}

// onFixed places the pods of the classes on so many new nodes that are there from the start. It is an error unless as many pods find a place as wanted.
func (p *packing) onFixed(ctx context.Context, classes []ranked, nodes, wanted int) error {
	for i := range nodes {
		shape := p.in.Shapes[i%len(p.in.Shapes)]
		fresh := shape.Copy(fmt.Sprintf("e-%d", i))
		if err := p.in.Snapshot.AddNode(fresh); err != nil {
			return fmt.Errorf("adding a new node: %w", err)
		}
		p.order = append(p.order, &node{name: fresh.Node.Name, NewNode: NewNode{Shape: shape.Node.Name}})
	}
	p.granted = nodes
	p.found = p.first - 1
	for _, class := range classes {
		if class.Shapes != nil {
			return errTooFew // only some shapes help
		}
		rest, err := p.onAdded(ctx, class.Pods)
		if err != nil {
			return err
		}
		if err := p.elsewhere(ctx, rest); err != nil {
			return err
		}
	}
	if len(p.result.Pods) < wanted || slices.ContainsFunc(p.order, func(n *node) bool { return len(n.Pods) == 0 }) {
		return errTooFew
	}
	return nil
}

// elsewhere places pods on nodes that exist, where evenness over hosts is what keeps them from the new ones; it is not an error if they fit nowhere.
func (p *packing) elsewhere(ctx context.Context, pods []*corev1.Pod) error {
	for _, pod := range pods {
		if !spreadsOverHosts(pod) {
			return nil
		}
		if placed, err := p.place(ctx, pod, simulator.Search{StartAfter: p.found, Quiet: true}); err != nil || !placed {
			return err
		}
	}
	return nil
}
