package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/template"
)

// deletionsAtOnce is how many nodes are ended at a time: each takes a call of its own.
const deletionsAtOnce = 4

// target is what a reference to a node stands for.
type target struct {
	node  string // DOKS id; empty: none
	place bool   // a machine that is not listed yet
	err   error  // it cannot be found, or belongs elsewhere
	skip  bool   // there is nothing to drain
	frees bool   // its end lowers the count
}

// DeleteNodes ends nodes by their DOKS ids. All is checked on fresh data before the first write.
func (g *NodeGroup) DeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return g.deleteNodes(ctx, nodes, false)
}

// ForceDeleteNodes is DeleteNodes without draining. Where that leads below the minimum, the count is set to the minimum again, so that DOKS makes new nodes.
func (g *NodeGroup) ForceDeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return g.deleteNodes(ctx, nodes, true)
}

func (g *NodeGroup) deleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef, force bool) ([]cloudprovider.DeleteOutcome, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	p, b := g.provider, g.book
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readFresh(ctx, b)
	if gone, ok := errors.AsType[*cloudprovider.GoneError](err); ok && !errors.Is(gone, errOff) {
		return outcomesOf(nodes, nil), nil // its nodes have gone with it
	}
	if err != nil {
		return nil, fmt.Errorf("reading node group %s before deleting nodes: %w", g.ID(), err)
	}
	targets := p.resolve(f, nodes)
	freed := countFreed(targets)
	if left := f.pool.Count - freed; freed > 0 && left < f.bounds.Min && !force {
		return nil, &cloudprovider.StaleBoundsError{
			Group: g.ID(), Asked: freed, Room: max(0, f.pool.Count-f.bounds.Min),
			Err: fmt.Errorf("the pool has a count of %d, and %d is below its minimum of %d", f.pool.Count, left, f.bounds.Min),
		}
	}
	failures := p.end(ctx, b, targets, force)
	if force {
		p.refill(ctx, b)
	}
	return outcomesOf(nodes, failures), nil
}

func outcomesOf(nodes []cloudprovider.NodeRef, failures []error) []cloudprovider.DeleteOutcome {
	outcomes := make([]cloudprovider.DeleteOutcome, len(nodes))
	for i, node := range nodes {
		outcomes[i].Node = node
		if failures != nil {
			outcomes[i].Err = failures[i]
		}
	}
	return outcomes
}

// countFreed is by how much the count falls.
func countFreed(targets []target) int {
	freed := 0
	for _, t := range targets {
		if t.frees {
			freed++
		}
	}
	return freed
}

// resolve finds out what each reference stands for. A node that is named twice is ended once.
func (p *Provider) resolve(f fresh, refs []cloudprovider.NodeRef) []target {
	p.mu.Lock()
	defer p.mu.Unlock()
	targets := make([]target, len(refs))
	seen := map[string]bool{}
	lost := f.book.lost(p.clock.Now())
	for i, ref := range refs {
		t := p.find(f, ref)
		t.skip = t.skip || p.config.SkipDrain || ref.Name == ref.ProviderID && ref.Name != "" // the last: it never registered
		switch {
		case t.err != nil:
		case t.place && lost > 0 && !seen[ref.ProviderID]:
			lost--
			t.frees = true
		case t.place && len(f.book.places) > 0 && !seen[ref.ProviderID]:
			t.err = &cloudprovider.TransientError{Err: fmt.Errorf("the machine behind %s may still come", ref.ProviderID)}
		case t.place:
			t.place = false // it has come under its own name
		case t.node != "" && !seen[t.node]:
			seen[t.node] = true
			node, listed := f.pool.Node(t.node)
			t.frees = listed && !node.Ending()
			if listed && node.Ending() {
				t.node = ""
			}
		default:
			t.node = ""
		}
		seen[ref.ProviderID] = true
		targets[i] = t
	}
	return targets
}

// find looks for the node of a reference: by the label with its id, by its Droplet, by the id it had before it got one, and if there is nothing else by its
// name, which another node may have taken over. Call with mu held.
func (p *Provider) find(f fresh, ref cloudprovider.NodeRef) target {
	b := f.book
	if pool, ok := placeOf(ref.ProviderID); ok {
		if pool != b.id {
			return target{err: fmt.Errorf("%s is a place of pool %s, not of %s", ref.ProviderID, pool, b.id)}
		}
		return target{place: true, skip: true}
	}
	if pending, ok := strings.CutPrefix(ref.ProviderID, prefixPending); ok {
		return p.findPending(f, pending)
	}
	if pool := ref.Labels[template.LabelPoolID]; pool != "" && pool != b.id {
		return target{err: fmt.Errorf("node %s belongs to pool %s, not to %s", ref.Name, pool, b.id)}
	}
	nameless := ref.Name == "" || ref.ProviderID != "" || ref.Labels[template.LabelNodeID] != ""
	for _, matches := range []func(doapi.Node) bool{
		func(n doapi.Node) bool { return n.ID == ref.Labels[template.LabelNodeID] },
		func(n doapi.Node) bool { return n.DropletID != "" && dropletID(n.DropletID) == ref.ProviderID },
		func(n doapi.Node) bool { return !nameless && n.Name == ref.Name },
	} {
		for _, node := range f.pool.Nodes {
			if node.ID != "" && matches(node) {
				return target{node: node.ID}
			}
		}
	}
	if owner := p.ownerOf(ref); owner != "" && owner != b.id {
		return target{err: fmt.Errorf("node %s belongs to pool %s, not to %s", ref.Name, owner, b.id)}
	}
	if _, gone := b.gone[ref.ProviderID]; gone {
		return target{}
	}
	if id := ref.Labels[template.LabelNodeID]; id != "" {
		return target{node: id} // the listing may lack it; the API knows
	}
	return target{err: fmt.Errorf("node %s (%s) is not found in pool %s: want the label %s, or a Droplet or a name that the pool lists",
		ref.Name, ref.ProviderID, b.pool.Name, template.LabelNodeID)}
}

// findPending finds a node that had no Droplet. If it has one now, the reference stands for nothing: the machine has another id.
func (p *Provider) findPending(f fresh, id string) target {
	node, listed := f.pool.Node(id)
	if listed && node.DropletID == "" {
		return target{node: id, skip: true}
	}
	if _, gone := f.book.gone[pendingID(id)]; listed || gone {
		return target{}
	}
	if owner := p.ownerOf(cloudprovider.NodeRef{ProviderID: pendingID(id)}); owner != "" {
		return target{err: fmt.Errorf("node %s belongs to pool %s, not to %s", id, owner, f.book.id)}
	}
	return target{}
}

// ownerOf is the pool in whose latest list a node is; empty: in none. Call with mu held.
func (p *Provider) ownerOf(ref cloudprovider.NodeRef) string {
	if pool, ok := p.others[ref.ProviderID]; ok {
		return pool
	}
	for _, b := range p.books {
		for _, node := range b.pool.Nodes {
			if idOf(node) == ref.ProviderID || node.ID != "" && node.ID == ref.Labels[template.LabelNodeID] {
				return b.id
			}
		}
	}
	return ""
}

// end ends what was found, some at a time, and withdraws places. It returns an error for each target that could not be ended.
func (p *Provider) end(ctx context.Context, b *book, targets []target, force bool) []error {
	failures := make([]error, len(targets))
	id := cloudprovider.GroupID(b.id)
	var group errgroup.Group
	group.SetLimit(deletionsAtOnce)
	var places []int
	for i, t := range targets {
		failures[i] = t.err
		switch {
		case t.err != nil:
		case t.place:
			places = append(places, i)
		case t.node != "":
			group.Go(func() error {
				klog.FromContext(ctx).V(1).Info("Ending a node", "nodeGroup", id, "nodeID", t.node, "skipDrain", t.skip || force)
				if err := p.deleteNode(ctx, b, t.node, t.skip || force); err != nil {
					failures[i] = fmt.Errorf("deleting node %s of pool %s in cluster %s: %w", t.node, b.id, p.config.ClusterID,
						p.translate(err, question{group: id, write: true}))
				}
				return nil
			})
		}
	}
	_ = group.Wait() // the functions return no errors
	if len(places) == 0 {
		return failures
	}
	lowered, err := p.withdraw(ctx, b, len(places))
	for _, i := range places[min(lowered, len(places)):] {
		failures[i] = err // nil: what was missing has come under its own name
	}
	return failures
}

// refill sets the count to the minimum if it has fallen below. What fails here is put right by DOKS, which keeps to the minimum itself.
func (p *Provider) refill(ctx context.Context, b *book) {
	p.mu.Lock()
	f := fresh{book: b, pool: b.pool, bounds: b.bounds}
	p.mu.Unlock()
	if f.pool.Count >= f.bounds.Min {
		return
	}
	if _, err := p.resize(ctx, f, f.bounds.Min); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot set the count of the pool to its minimum again", "nodeGroup", b.id, "min", f.bounds.Min)
	}
}
