package externalgrpc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

const (
	// callsAtOnce is how many questions the server gets at the same time.
	callsAtOnce = 8
	// refreshLimit is for all calls of one Refresh: a server that hangs at each of them must not stop the loop for longer.
	refreshLimit = 2 * time.Minute
	// strangerLife is how long the answer about a node holds that no group lists, and how long a question is not put again that was not answered.
	strangerLife = time.Minute
	// unimplementedLife is how long a call is left alone that the server doesn't have: it may be replaced by one that does.
	unimplementedLife = 10 * time.Minute
)

// answered remembers that the server doesn't have a call.
type answered struct{ until time.Time }

func (a *answered) lacking(now time.Time) bool { return now.Before(a.until) }
func (a *answered) lacks(now time.Time)        { a.until = now.Add(unimplementedLife) }

// nodeKey tells nodes apart as upstream does.
type nodeKey struct{ name, providerID string }

// stranger is a node that no group lists.
type stranger struct {
	node   *protocol.ExternalGrpcNode
	group  cloudprovider.GroupID // empty: none
	asked  time.Time             // zero: not yet
	wanted bool                  // somebody asked since the last Refresh
}

// Refresh asks the server for everything: the groups, of each its target, machines and options, and the groups of nodes that no group lists. The
// calls about different groups go side by side. An error means that the server could not be reached or could not list its groups; the view
// then stays. A group about which a call fails keeps what is known of it and has an error of its own.
func (p *Provider) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if err := p.call(ctx, p.config.Timeout, func(ctx context.Context) error {
		_, err := p.client.Refresh(ctx, &protocol.RefreshRequest{}, grpc.WaitForReady(!p.reached))
		return err
	}); err != nil {
		return fmt.Errorf("refreshing the external gRPC provider: %w", translate(err, question{}))
	}
	p.reached = true
	listed, err := p.list(ctx)
	if err != nil {
		return fmt.Errorf("listing the node groups of the external gRPC provider: %w", translate(err, question{}))
	}
	p.readAll(ctx, p.enter(ctx, listed))
	p.askAboutStrangers(ctx)
	p.readGPU(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish()
	return nil
}

// list asks for all groups. The error is the server's.
func (p *Provider) list(ctx context.Context) ([]*protocol.NodeGroup, error) {
	var listed *protocol.NodeGroupsResponse
	err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		listed, err = p.client.NodeGroups(ctx, &protocol.NodeGroupsRequest{})
		return err
	})
	return listed.GetNodeGroups(), err
}

// call gives a call its time limit.
func (p *Provider) call(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return do(ctx)
}

// listing is a group as the server lists it.
type listing struct {
	book    *book
	message *protocol.NodeGroup
}

// enter brings the books up to the list, and returns what has to be read. Groups that cannot be used as they are described are set aside.
func (p *Provider) enter(ctx context.Context, groups []*protocol.NodeGroup) []listing {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	seen := map[cloudprovider.GroupID]bool{}
	var usable []listing
	for i, message := range groups {
		id := cloudprovider.GroupID(message.GetId())
		if seen[id] {
			continue // the first one stays
		}
		seen[id] = true
		b := p.books[id]
		if b == nil {
			b = &book{id: id}
			p.books[id] = b
			klog.FromContext(ctx).V(1).Info("Found a node group", "nodeGroup", id, "min", message.GetMinSize(), "max", message.GetMaxSize())
		}
		b.place = i
		if err := checkGroup(message); err != nil {
			b.fail(&cloudprovider.ConfigurationError{Group: id, Err: err}, now)
			continue
		}
		usable = append(usable, listing{book: b, message: message})
	}
	for _, id := range slices.Sorted(maps.Keys(p.books)) {
		if !seen[id] {
			delete(p.books, id)
			klog.FromContext(ctx).V(1).Info("A node group is gone", "nodeGroup", id)
		}
	}
	return usable
}

func checkGroup(message *protocol.NodeGroup) error {
	switch lowest, highest := message.GetMinSize(), message.GetMaxSize(); {
	case message.GetId() == "":
		return fmt.Errorf("the server lists a node group without an id (debug %q): want one", message.GetDebug())
	case lowest < 0 || highest < lowest:
		return fmt.Errorf("the server gives minSize %d and maxSize %d: want 0 <= minSize <= maxSize", lowest, highest)
	}
	return nil
}

// fail notes what is wrong with the group, and since when. Call with the provider's mu held.
func (b *book) fail(err error, now time.Time) {
	if b.err == nil || b.err.Error() != err.Error() {
		b.since = now
	}
	b.err = err
}

// readAll reads the groups, several at once.
func (p *Provider) readAll(ctx context.Context, groups []listing) {
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	for _, g := range groups {
		calls.Go(func() error {
			p.readGroup(ctx, g)
			return nil
		})
	}
	_ = calls.Wait() // the functions return no errors
}

func (p *Provider) readGroup(ctx context.Context, g listing) {
	p.mu.Lock()
	before := g.book.state.Options
	p.mu.Unlock()
	sizes, err := p.readSizes(ctx, g.book.id)
	var options cloudprovider.OptionOverrides
	if err == nil {
		options, err = p.readOptions(ctx, g.book.id, before)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		g.book.fail(translate(err, question{group: g.book.id}), p.clock.Now())
		return
	}
	g.book.err = nil
	g.book.template.describedAs(g.message)
	g.book.set(cloudprovider.GroupState{
		Min: int(g.message.GetMinSize()), Max: int(g.message.GetMaxSize()), Target: sizes.target, Instances: sizes.instances,
		Options: options, Debug: debugOf(g.message),
	})
}

// set makes a state the current one. Call with the provider's mu held.
func (b *book) set(state cloudprovider.GroupState) {
	b.state, b.known, b.group = state, true, nil
}

func debugOf(message *protocol.NodeGroup) string {
	if message.GetDebug() != "" {
		return message.GetDebug()
	}
	return fmt.Sprintf("%s (%d:%d)", message.GetId(), message.GetMinSize(), message.GetMaxSize())
}

// sizes is how large a group is and which machines it has.
type sizes struct {
	target    int
	instances []cloudprovider.Instance
}

// readSizes asks for target and machines. The error is the server's.
func (p *Provider) readSizes(ctx context.Context, id cloudprovider.GroupID) (sizes, error) {
	var target *protocol.NodeGroupTargetSizeResponse
	if err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		target, err = p.client.NodeGroupTargetSize(ctx, &protocol.NodeGroupTargetSizeRequest{Id: string(id)})
		return err
	}); err != nil {
		return sizes{}, fmt.Errorf("asking for the target size of node group %s: %w", id, err)
	}
	if target.GetTargetSize() < 0 {
		return sizes{}, fmt.Errorf("the server gives node group %s a target size of %d: want at least 0", id, target.GetTargetSize())
	}
	var nodes *protocol.NodeGroupNodesResponse
	if err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		nodes, err = p.client.NodeGroupNodes(ctx, &protocol.NodeGroupNodesRequest{Id: string(id)})
		return err
	}); err != nil {
		return sizes{}, fmt.Errorf("asking for the nodes of node group %s: %w", id, err)
	}
	return sizes{target: int(target.GetTargetSize()), instances: instancesOf(nodes.GetInstances())}, nil
}

// readOptions asks for the options of a group. A server that doesn't have them is not asked for a while.
func (p *Provider) readOptions(ctx context.Context, id cloudprovider.GroupID, before cloudprovider.OptionOverrides) (cloudprovider.OptionOverrides, error) {
	p.mu.Lock()
	lacking := p.hasOptions.lacking(p.clock.Now())
	p.mu.Unlock()
	if lacking {
		return cloudprovider.OptionOverrides{}, nil
	}
	var answer *protocol.NodeGroupAutoscalingOptionsResponse
	err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		answer, err = p.client.NodeGroupGetOptions(ctx, &protocol.NodeGroupAutoscalingOptionsRequest{Id: string(id), Defaults: p.defaults})
		return err
	})
	switch {
	case unimplemented(err):
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hasOptions.lacks(p.clock.Now())
		return cloudprovider.OptionOverrides{}, nil
	case err != nil:
		return before, fmt.Errorf("asking for the options of node group %s: %w", id, err)
	}
	return overridesOf(answer.GetNodeGroupAutoscalingOptions()), nil
}

// askAboutStrangers asks for the groups of the nodes that no group lists: of new ones at once, of the others now and then. Nodes that nobody asked
// about since the last Refresh are forgotten.
func (p *Provider) askAboutStrangers(ctx context.Context) {
	now := p.clock.Now()
	p.mu.Lock()
	var due []*stranger
	for _, key := range slices.SortedFunc(maps.Keys(p.strangers), compareKeys) {
		s := p.strangers[key]
		if !s.wanted {
			delete(p.strangers, key)
			continue
		}
		s.wanted = false
		if s.asked.IsZero() || now.Sub(s.asked) >= strangerLife {
			due = append(due, s)
		}
	}
	p.mu.Unlock()
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	for _, s := range due {
		calls.Go(func() error {
			p.askAbout(ctx, s, now)
			return nil
		})
	}
	_ = calls.Wait() // the functions return no errors
}

func (p *Provider) askAbout(ctx context.Context, s *stranger, now time.Time) {
	var answer *protocol.NodeGroupForNodeResponse
	err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		answer, err = p.client.NodeGroupForNode(ctx, &protocol.NodeGroupForNodeRequest{Node: s.node})
		return err
	})
	if err != nil { // what was answered before holds on
		p.mu.Lock()
		s.asked = now
		p.mu.Unlock()
		klog.FromContext(ctx).V(1).Info("Cannot ask which node group a node is in", "node", s.node.GetName(), "reason", err.Error())
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.group, s.asked = cloudprovider.GroupID(answer.GetNodeGroup().GetId()), now
}

func compareKeys(a, b nodeKey) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.providerID, b.providerID))
}

// readGPU asks for label and types of accelerators until they were answered once.
func (p *Provider) readGPU(ctx context.Context) {
	if p.view.Load().hasGPU {
		return
	}
	var label *protocol.GPULabelResponse
	var types *protocol.GetAvailableGPUTypesResponse
	err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		label, err = p.client.GPULabel(ctx, &protocol.GPULabelRequest{})
		return err
	})
	if err == nil {
		err = p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
			types, err = p.client.GetAvailableGPUTypes(ctx, &protocol.GetAvailableGPUTypesRequest{})
			return err
		})
	}
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot ask how nodes with accelerators are labelled, asking again", "reason", err.Error())
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next := *p.view.Load()
	next.gpuLabel, next.gpuTypes, next.hasGPU = label.GetLabel(), slices.Sorted(maps.Keys(types.GetGpuTypes())), true
	p.view.Store(&next)
}
