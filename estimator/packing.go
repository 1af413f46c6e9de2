package estimator

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
)

// spreadReason is how the scheduler says that a pod would make a topology spread uneven.
const spreadReason = "node(s) didn't match pod topology spread constraints"

// node is one that this packing has added.
type node struct {
	NewNode
	name     string
	template *corev1.Node
}

// packing is the state of one estimate.
type packing struct {
	in     In
	added  map[string]*node
	order  []*node
	found  int // index of the node that was found last
	turn   int // how many nodes of In.Shapes were added
	mayAdd bool
	result Result
}

// class places the pods of one class: first on the nodes that others brought in, then on new ones. It returns an error only if
// the estimate cannot go on.
func (p *packing) class(ctx context.Context, class ranked) error {
	rest, err := p.onAdded(ctx, class.Pods)
	if err == nil && p.mayAdd && len(rest) > 0 {
		err = p.onNew(ctx, class.Class, rest)
	} else if err == nil && len(rest) > 0 {
		p.stop()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("estimating: %w", ctx.Err())
	}
	if err != nil {
		if p.result.Failed == nil {
			p.result.Failed = map[int]error{}
		}
		p.result.Failed[class.at] = err
	}
	return nil
}

// onAdded places pods until the first one that fits on no added node, and returns that one and those behind it.
func (p *packing) onAdded(ctx context.Context, pods []*corev1.Pod) (rest []*corev1.Pod, err error) {
	if len(p.order) == 0 {
		return pods, nil
	}
	for i, pod := range pods {
		placed, err := p.search(ctx, pod, func(n *corev1.Node) bool { return p.added[n.Name] != nil })
		if err != nil || !placed {
			return pods[i:], err
		}
	}
	return nil, nil
}

// onNew places pods on the node added last, and adds another one when that is full.
func (p *packing) onNew(ctx context.Context, class Class, pods []*corev1.Pod) error {
	shapes, turn := p.in.Shapes, &p.turn
	if class.Shapes != nil {
		shapes, turn = class.Shapes, new(int)
	}
	for _, pod := range pods {
		placed, err := p.onLast(ctx, pod, shapes)
		if err != nil {
			return err
		}
		if placed {
			continue
		}
		if p.lastIsInVain(shapes) { // another one like it would not help this pod either
			return nil
		}
		if !p.permitted() {
			p.stop()
			return nil
		}
		shape := shapes[*turn%len(shapes)]
		*turn++
		if placed, err = p.add(ctx, pod, shape); err != nil || !placed {
			return err // the node stays, for smaller pods
		}
	}
	return nil
}

// onLast tries the node added last. If only the evenness of a spread is in the way, it looks further: a node added since may have
// made room on the others. Nodes that exist then take pods too, but are not counted as new.
func (p *packing) onLast(ctx context.Context, pod *corev1.Pod, shapes []simulator.NodeTemplate) (placed bool, err error) {
	if len(p.order) == 0 {
		return false, nil
	}
	last := p.order[len(p.order)-1]
	rejection, err := p.in.Scheduler.Place(ctx, p.in.Snapshot, pod, last.name)
	switch {
	case err != nil:
		return false, fmt.Errorf("placing pod %s/%s on a new node: %w", pod.Namespace, pod.Name, err)
	case rejection == nil:
		p.record(pod, last.name)
		return true, nil
	case !slices.Contains(rejection.Reasons, spreadReason):
		return false, nil
	case spreadsOverHosts(pod):
		return p.search(ctx, pod, func(n *corev1.Node) bool { return n.Name != last.name })
	case len(shapes) > 1: // the new nodes may differ in what the pod is spread over
		return p.search(ctx, pod, func(n *corev1.Node) bool { return n.Name != last.name && p.added[n.Name] != nil })
	default:
		return false, nil
	}
}

func spreadsOverHosts(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == corev1.LabelHostname
	})
}

// lastIsInVain tells that the node added last holds nothing and is one that would be added again.
func (p *packing) lastIsInVain(shapes []simulator.NodeTemplate) bool {
	if len(p.order) == 0 {
		return false
	}
	last := p.order[len(p.order)-1]
	return len(last.Pods) == 0 && slices.ContainsFunc(shapes, func(s simulator.NodeTemplate) bool { return s.Node == last.template })
}

func (p *packing) permitted() bool {
	limit := p.in.MaxNodes
	if limit < 0 || (limit > 0 && len(p.order) >= limit) {
		return false
	}
	return p.in.Budget == nil || !p.in.Budget.Spent()
}

// stop ends the adding of nodes. Later classes may still fill those that are there.
func (p *packing) stop() {
	p.mayAdd = false
	if p.result.Stopped == nil {
		p.result.Stopped = &report.EstimateLimit{Nodes: len(p.order)}
	}
}

// add adds a node of the shape and tries the pod on it.
func (p *packing) add(ctx context.Context, pod *corev1.Pod, shape simulator.NodeTemplate) (placed bool, err error) {
	fresh := shape.Copy(fmt.Sprintf("e-%d", len(p.order)))
	if err := p.in.Snapshot.AddNode(fresh); err != nil {
		return false, fmt.Errorf("adding a new node: %w", err)
	}
	n := &node{name: fresh.Node.Name, template: shape.Node, NewNode: NewNode{Shape: shape.Node.Name}}
	p.order = append(p.order, n)
	p.added[n.name] = n
	rejection, err := p.in.Scheduler.Place(ctx, p.in.Snapshot, pod, n.name)
	if err != nil {
		return false, fmt.Errorf("placing pod %s/%s on a new node: %w", pod.Namespace, pod.Name, err)
	}
	if rejection == nil {
		p.record(pod, n.name)
	}
	return rejection == nil, nil
}

func (p *packing) search(ctx context.Context, pod *corev1.Pod, accept func(*corev1.Node) bool) (placed bool, err error) {
	at, _, err := p.in.Scheduler.PlaceAnywhere(ctx, p.in.Snapshot, pod, simulator.Search{StartAfter: p.found, Accept: accept})
	if err != nil {
		return false, fmt.Errorf("looking for a place for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if at.Node == "" {
		return false, nil
	}
	p.found = at.Index
	p.record(pod, at.Node)
	return true, nil
}

func (p *packing) record(pod *corev1.Pod, name string) {
	p.result.Pods = append(p.result.Pods, pod)
	if n := p.added[name]; n != nil {
		n.Pods = append(n.Pods, pod)
	}
}
