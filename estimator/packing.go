package estimator

import (
	"context"
	"errors"
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
	name string
}

// packing is the state of one estimate.
type packing struct {
	in      In
	first   int // index of the first node that is added; the others follow in order
	order   []*node
	found   int   // index of the node that was found last
	turn    int   // how many nodes of In.Shapes were added
	used    []int // with In.Rooms, how many of each shape
	granted int   // how many nodes were permitted
	mayAdd  bool
	result  Result
}

// pack places the pods of the classes, in this order.
func (p *packing) pack(ctx context.Context, classes []ranked) error {
	for _, class := range classes {
		if err := p.class(ctx, class); err != nil {
			return err
		}
	}
	return nil
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
	placed, err := p.in.Scheduler.PlaceAll(ctx, p.in.Snapshot, pods, simulator.Search{StartAfter: p.found, From: p.first})
	for i, at := range placed {
		p.found = at.Index
		p.record(pods[i:i+1], at.Index)
	}
	rest = pods[len(placed):]
	if err != nil {
		return rest, fmt.Errorf("looking for a place for pod %s/%s: %w", rest[0].Namespace, rest[0].Name, err)
	}
	return rest, nil
}

// onNew places pods on the node added last, and adds another one when that is full.
func (p *packing) onNew(ctx context.Context, class Class, pods []*corev1.Pod) error {
	add := p.adder(class)
	for len(pods) > 0 {
		placed, err := p.onLast(ctx, pods)
		pods = pods[placed:]
		if err != nil || len(pods) == 0 {
			return err
		}
		if placed > 0 && p.spreads(pods[0]) {
			continue // another node may have room only now
		}
		if !p.permitted() {
			p.stop()
			return nil
		}
		added, err := add(ctx, pods[0])
		if err != nil || !added {
			return err
		}
		pods = pods[1:]
	}
	return nil
}

// adder is how nodes are added for the pods of a class: where the cloud takes the shapes in turn the next one has to do, where they are those of
// different groups the next one that does.
func (p *packing) adder(class Class) func(ctx context.Context, pod *corev1.Pod) (added bool, err error) {
	if p.in.Rooms != nil {
		return p.addAny
	}
	shapes, turn := p.in.Shapes, &p.turn
	if class.Shapes != nil {
		shapes, turn = class.Shapes, new(int)
	}
	return func(ctx context.Context, pod *corev1.Pod) (bool, error) {
		added, err := p.add(ctx, pod, shapes[*turn%len(shapes)])
		if added {
			*turn++
		}
		return added, err
	}
}

// addAny adds a node of the next shape in turn on which the pod fits.
func (p *packing) addAny(ctx context.Context, pod *corev1.Pod) (added bool, err error) {
	if p.used == nil {
		p.used = make([]int, len(p.in.Shapes))
	}
	for range p.in.Shapes {
		at := p.turn % len(p.in.Shapes)
		p.turn++
		if p.used[at] >= p.in.Rooms[at] {
			continue
		}
		if added, err = p.add(ctx, pod, p.in.Shapes[at]); added || err != nil {
			p.used[at]++
			return added, err
		}
	}
	return false, nil
}

func (p *packing) spreads(pod *corev1.Pod) bool { return len(pod.Spec.TopologySpreadConstraints) > 0 }

// onLast fills the node added last and returns how many pods were placed. A pod that has to be spread evenly is tried further: the last node may have
// made room for it on the others. If evenness over hosts is all that is in the way, these include the nodes that exist, which are not counted as new.
func (p *packing) onLast(ctx context.Context, pods []*corev1.Pod) (placed int, err error) {
	if len(p.order) == 0 {
		return 0, nil
	}
	last := p.first + len(p.order) - 1
	placed, no, err := p.in.Scheduler.Fill(ctx, p.in.Snapshot, pods, p.order[len(p.order)-1].name)
	p.record(pods[:placed], last)
	if err != nil {
		return placed, fmt.Errorf("placing pod %s/%s on a new node: %w", pods[placed].Namespace, pods[placed].Name, err)
	}
	if no == nil || !p.spreads(pods[placed]) {
		return placed, nil
	}
	search := simulator.Search{StartAfter: p.found, From: p.first, Quiet: true}
	if spreadsOverHosts(pods[placed]) && slices.Contains(no.Reasons, spreadReason) {
		search.From = 0
	}
	name := p.order[len(p.order)-1].name
	search.Accept = func(n *corev1.Node) bool { return n.Name != name }
	found, err := p.place(ctx, pods[placed], search)
	if err == nil && found {
		placed++
	}
	return placed, err
}

func spreadsOverHosts(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == corev1.LabelHostname
	})
}

// permitted asks for one more node. A permission that came to nothing is used for the next one: a node was tried for a big pod in
// vain, and a smaller one takes it.
func (p *packing) permitted() bool {
	limit := p.in.MaxNodes
	switch {
	case p.granted > len(p.order):
		return true
	case limit < 0 || (limit > 0 && p.granted >= limit) || (p.in.Budget != nil && p.in.Budget.Spent()):
		return false
	default:
		p.granted++
		return true
	}
}

// stop ends the adding of nodes. Later classes may still fill those that are there.
func (p *packing) stop() {
	p.mayAdd = false
	if p.result.Stopped == nil {
		p.result.Stopped = &report.EstimateLimit{Nodes: len(p.order)}
	}
}

// add adds a node of the shape if the pod fits on it. An empty one does not stay: it would count as a place that pods have to be spread to.
func (p *packing) add(ctx context.Context, pod *corev1.Pod, shape simulator.NodeTemplate) (placed bool, err error) {
	fresh := shape.Copy(fmt.Sprintf("e-%d", len(p.order)))
	name := fresh.Node.Name
	if err := p.in.Snapshot.AddNode(fresh); err != nil {
		return false, fmt.Errorf("adding a new node: %w", err)
	}
	fits, _, err := p.in.Scheduler.Fill(ctx, p.in.Snapshot, []*corev1.Pod{pod}, name)
	if err != nil || fits == 0 {
		if err != nil {
			err = fmt.Errorf("placing pod %s/%s on a new node: %w", pod.Namespace, pod.Name, err)
		}
		return false, errors.Join(err, p.in.Snapshot.RemoveNode(name))
	}
	p.order = append(p.order, &node{name: name, NewNode: NewNode{Shape: shape.Node.Name}})
	p.record([]*corev1.Pod{pod}, p.first+len(p.order)-1)
	return true, nil
}

// prune gives the last node up as long as all its pods fit on the new nodes before it. Pods of later classes can make that so, by evening out
// what the earlier ones had to be spread over.
func (p *packing) prune(ctx context.Context) error {
	for len(p.order) > 1 {
		last := p.order[len(p.order)-1]
		p.in.Snapshot.Fork()
		moves, err := p.moves(ctx, last)
		if err != nil || moves == nil {
			return errors.Join(err, p.in.Snapshot.Revert())
		}
		if err := p.in.Snapshot.Commit(); err != nil {
			return fmt.Errorf("giving up a new node: %w", err)
		}
		p.order = p.order[:len(p.order)-1]
		for i, pod := range last.Pods {
			moves[i].Pods = append(moves[i].Pods, pod)
		}
	}
	return nil
}

// moves finds another new node for each pod of the last one; nil if there is not one for all of them.
func (p *packing) moves(ctx context.Context, last *node) ([]*node, error) {
	if err := p.in.Snapshot.RemoveNode(last.name); err != nil {
		return nil, fmt.Errorf("trying to do without a new node: %w", err)
	}
	moves := make([]*node, 0, len(last.Pods))
	for _, pod := range last.Pods {
		at, _, err := p.in.Scheduler.PlaceAnywhere(ctx, p.in.Snapshot, pod, simulator.Search{StartAfter: p.found, From: p.first, Quiet: true})
		if err != nil || at.Node == "" { // when in doubt the node stays
			return nil, ctx.Err()
		}
		p.found = at.Index
		moves = append(moves, p.order[at.Index-p.first])
	}
	return moves, nil
}

// place looks for a place for one pod.
func (p *packing) place(ctx context.Context, pod *corev1.Pod, search simulator.Search) (placed bool, err error) {
	at, _, err := p.in.Scheduler.PlaceAnywhere(ctx, p.in.Snapshot, pod, search)
	if err != nil {
		return false, fmt.Errorf("looking for a place for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if at.Node == "" {
		return false, nil
	}
	p.found = at.Index
	p.record([]*corev1.Pod{pod}, at.Index)
	return true, nil
}

// record notes that the pods lie on the node of this index.
func (p *packing) record(pods []*corev1.Pod, index int) {
	p.result.Pods = append(p.result.Pods, pods...)
	if index >= p.first {
		n := p.order[index-p.first]
		n.Pods = append(n.Pods, pods...)
	}
}
