package externalgrpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// NodeGroup is a group of the view it came from. As long as nothing about the group changes, every view has the same one.
type NodeGroup struct {
	provider *Provider
	book     *book
	state    cloudprovider.GroupState
}

// ID is the one that the server gives.
func (g *NodeGroup) ID() cloudprovider.GroupID { return g.book.id }

// State is the group as the server described it.
func (g *NodeGroup) State() cloudprovider.GroupState { return g.state }

// ReadState asks the server anew, which blocks. The view stays as it is.
func (g *NodeGroup) ReadState(ctx context.Context) (cloudprovider.GroupState, error) {
	g.book.writing.Lock()
	defer g.book.writing.Unlock()
	state, err := g.fresh(ctx)
	if err != nil {
		return cloudprovider.GroupState{}, fmt.Errorf("reading node group %s: %w", g.ID(), translate(err, question{group: g.ID()}))
	}
	return state, nil
}

// fresh asks for sizes and bounds as they are now, for the next view. Hold the book's writing. The error is the server's.
func (g *NodeGroup) fresh(ctx context.Context) (cloudprovider.GroupState, error) {
	p, b := g.provider, g.book
	now, err := p.readSizes(ctx, b.id)
	if err != nil {
		return cloudprovider.GroupState{}, err
	}
	listed, err := p.list(ctx)
	if err != nil {
		return cloudprovider.GroupState{}, err
	}
	at := slices.IndexFunc(listed, func(m *protocol.NodeGroup) bool { return m.GetId() == string(b.id) })
	if at < 0 {
		return cloudprovider.GroupState{}, status.Error(codes.NotFound, "the server doesn't list it any more")
	}
	if err := checkGroup(listed[at]); err != nil {
		return cloudprovider.GroupState{}, &cloudprovider.ConfigurationError{Group: b.id, Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	state := b.state
	state.Min, state.Max = int(listed[at].GetMinSize()), int(listed[at].GetMaxSize())
	state.Target, state.Instances = now.target, now.instances
	b.set(state)
	return state, nil
}

// write makes one call that changes something, and reads the group anew; seen tells whether that worked. A server may show for a while what was
// before. Hold the book's writing.
func (g *NodeGroup) write(ctx context.Context, q question, do func(context.Context) error) (after cloudprovider.GroupState, seen bool, err error) {
	err = g.provider.call(ctx, g.provider.config.WriteTimeout, do)
	after, errAfter := g.fresh(ctx)
	if errAfter != nil {
		klog.FromContext(ctx).V(1).Info("Cannot read the node group after a write", "nodeGroup", g.ID(), "reason", errAfter.Error())
	}
	return after, errAfter == nil, translate(err, q)
}

// IncreaseSize reads the target, asks for delta more and reads it again. The protocol has no way to ask for a certain size, so the server judges what
// others do in between.
func (g *NodeGroup) IncreaseSize(ctx context.Context, delta int) (granted int, err error) {
	if delta <= 0 || delta > math.MaxInt32 {
		return 0, fmt.Errorf("raising node group %s by %d: want at least 1 and at most %d", g.ID(), delta, math.MaxInt32)
	}
	g.book.writing.Lock()
	defer g.book.writing.Unlock()
	before, err := g.fresh(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before raising it: %w", g.ID(), translate(err, question{group: g.ID()}))
	}
	if room := before.Max - before.Target; delta > room {
		return 0, &cloudprovider.StaleBoundsError{
			Group: g.ID(), Asked: delta, Room: max(0, room), Err: fmt.Errorf("a target of %d is above the maximum of %d", before.Target+delta, before.Max),
		}
	}
	after, seen, err := g.write(ctx, question{group: g.ID(), write: true, asked: delta}, func(ctx context.Context) error {
		_, err := g.provider.client.NodeGroupIncreaseSize(ctx, &protocol.NodeGroupIncreaseSizeRequest{Id: string(g.ID()), Delta: int32(delta)})
		return err
	})
	if unanswered(err) && seen && after.Target >= before.Target+delta {
		err = nil // the answer was lost on the way
	}
	if err == nil && (!seen || after.Target < before.Target+delta) {
		g.assume(before.Target + delta)
	}
	if err != nil {
		return 0, fmt.Errorf("raising node group %s by %d: %w", g.ID(), delta, err)
	}
	klog.FromContext(ctx).V(1).Info("Raised node group", "nodeGroup", g.ID(), "from", before.Target, "to", before.Target+delta)
	return delta, nil
}

// assume enters what the server has agreed to and doesn't show yet: a target, and nodes that are going. The next Refresh shows what is true.
func (g *NodeGroup) assume(target int, going ...cloudprovider.NodeRef) {
	p, b := g.provider, g.book
	ids := make(map[string]bool, len(going))
	for _, node := range going {
		ids[node.ProviderID] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	state := b.state
	state.Target, state.Instances = target, slices.Clone(state.Instances)
	for i := range state.Instances {
		if ids[state.Instances[i].ID] {
			state.Instances[i].State = cloudprovider.InstanceDeleting
		}
	}
	b.set(state)
}

// DecreaseTargetSize withdraws no more than the machines that the server doesn't list, and stays at the minimum.
func (g *NodeGroup) DecreaseTargetSize(ctx context.Context, by int) (lowered int, err error) {
	if by <= 0 || by > math.MaxInt32 {
		return 0, fmt.Errorf("lowering the target of node group %s by %d: want at least 1 and at most %d", g.ID(), by, math.MaxInt32)
	}
	g.book.writing.Lock()
	defer g.book.writing.Unlock()
	before, err := g.fresh(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before lowering its target: %w", g.ID(), translate(err, question{group: g.ID()}))
	}
	by = min(by, before.Target-max(before.Min, existing(before)))
	if by <= 0 {
		return 0, nil
	}
	after, seen, err := g.write(ctx, question{group: g.ID(), write: true, asked: by}, func(ctx context.Context) error {
		_, err := g.provider.client.NodeGroupDecreaseTargetSize(ctx, &protocol.NodeGroupDecreaseTargetSizeRequest{Id: string(g.ID()), Delta: int32(-by)})
		return err
	})
	lowered = by
	if _, refused := errors.AsType[*cloudprovider.StaleBoundsError](err); seen && (refused || unanswered(err)) {
		lowered, err = max(0, before.Target-after.Target), nil // a part may have been withdrawn
	}
	if err == nil && lowered == by && (!seen || after.Target > before.Target-by) {
		g.assume(before.Target - by)
	}
	if err != nil {
		return 0, fmt.Errorf("lowering the target of node group %s by %d: %w", g.ID(), by, err)
	}
	klog.FromContext(ctx).V(1).Info("Withdrew machines that never came", "nodeGroup", g.ID(), "from", before.Target, "to", before.Target-lowered)
	return lowered, nil
}

// existing counts the machines that are there or may still come.
func existing(state cloudprovider.GroupState) int {
	count := 0
	for i := range state.Instances {
		instance := &state.Instances[i]
		failed := instance.State == cloudprovider.InstanceCreating && instance.Error != nil
		if !failed && instance.State != cloudprovider.InstanceDeleting {
			count++
		}
	}
	return count
}

// DeleteNodes asks for the deletion of all nodes in one call, after a look at the group: what is gone or going is done already, and the minimum is checked
// on what the server says now. If the call fails, a second look tells which nodes are going all the same.
func (g *NodeGroup) DeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	g.book.writing.Lock()
	defer g.book.writing.Unlock()
	before, err := g.fresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading node group %s before deleting nodes: %w", g.ID(), translate(err, question{group: g.ID()}))
	}
	mine, foreign := g.own(nodes)
	victims := append(present(before, mine), g.unlisted(before, mine)...)
	if room := before.Target - before.Min; len(victims) > room {
		return nil, &cloudprovider.StaleBoundsError{
			Group: g.ID(), Asked: len(victims), Room: max(0, room), Err: fmt.Errorf("a target of %d is below the minimum of %d", before.Target-len(victims), before.Min),
		}
	}
	if len(victims) == 0 {
		return outcomes(nodes, foreign, errForeign), nil
	}
	request := &protocol.NodeGroupDeleteNodesRequest{Id: string(g.ID())}
	for _, node := range victims {
		request.Nodes = append(request.Nodes, nodeMessage(node))
	}
	after, seen, err := g.write(ctx, question{group: g.ID(), write: true, asked: len(victims)}, func(ctx context.Context) error {
		_, err := g.provider.client.NodeGroupDeleteNodes(ctx, request)
		return err
	})
	if err == nil {
		if !seen || after.Target > before.Target-len(victims) {
			g.assume(before.Target-len(victims), victims...)
		}
		klog.FromContext(ctx).V(1).Info("Deleted nodes", "nodeGroup", g.ID(), "nodes", len(victims))
		return outcomes(nodes, foreign, errForeign), nil
	}
	err = fmt.Errorf("deleting %d nodes of node group %s: %w", len(victims), g.ID(), err)
	if _, refused := errors.AsType[*cloudprovider.StaleBoundsError](err); refused && seen && len(present(after, victims)) == len(victims) {
		return nil, err
	}
	if !seen {
		return outcomes(nodes, append(victims, foreign...), err), nil
	}
	return outcomes(nodes, slices.Concat(present(after, mine), g.unlisted(after, mine), foreign), err), nil
}

// unlisted are the nodes that the server attributes to this group although it doesn't list their machines in it.
func (g *NodeGroup) unlisted(state cloudprovider.GroupState, nodes []cloudprovider.NodeRef) []cloudprovider.NodeRef {
	listed := make(map[string]bool, len(state.Instances))
	for i := range state.Instances {
		listed[state.Instances[i].ID] = true
	}
	g.provider.mu.Lock()
	defer g.provider.mu.Unlock()
	var found []cloudprovider.NodeRef
	for _, node := range nodes {
		s := g.provider.strangers[nodeKey{name: node.Name, providerID: node.ProviderID}]
		if !listed[node.ProviderID] && s != nil && s.group == g.ID() {
			found = append(found, node)
		}
	}
	return found
}

// errForeign is the outcome for a node of another group.
var errForeign = errors.New("the node is in another node group")

// own parts the nodes of other groups from those that are this group's or nobody's.
func (g *NodeGroup) own(nodes []cloudprovider.NodeRef) (mine, foreign []cloudprovider.NodeRef) {
	members := g.provider.view.Load().members
	for _, node := range nodes {
		if group, listed := members[node.ProviderID]; listed && group != g.ID() {
			foreign = append(foreign, node)
			continue
		}
		mine = append(mine, node)
	}
	return mine, foreign
}

// present are the nodes whose machines the group has and that are not going already. A machine without a listed id is taken for gone.
func present(state cloudprovider.GroupState, nodes []cloudprovider.NodeRef) []cloudprovider.NodeRef {
	there := make(map[string]bool, len(state.Instances))
	for i := range state.Instances {
		there[state.Instances[i].ID] = state.Instances[i].State != cloudprovider.InstanceDeleting
	}
	var left []cloudprovider.NodeRef
	for _, node := range nodes {
		if there[node.ProviderID] {
			left = append(left, node)
		}
	}
	return left
}

// outcomes are those of all nodes: err for the ones that are left.
func outcomes(nodes, left []cloudprovider.NodeRef, err error) []cloudprovider.DeleteOutcome {
	failed := make(map[string]bool, len(left))
	for _, node := range left {
		failed[node.ProviderID] = true
	}
	out := make([]cloudprovider.DeleteOutcome, 0, len(nodes))
	for _, node := range nodes {
		outcome := cloudprovider.DeleteOutcome{Node: node}
		if failed[node.ProviderID] {
			outcome.Err = err
		}
		out = append(out, outcome)
	}
	return out
}
