package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// lostAfter is how long a machine must be missing without even being listed to be given up. DOKS lists nodes as soon as they are asked for.
const lostAfter = 5 * time.Minute

// DecreaseTargetSize withdraws nodes that failed, each by its own id, then machines that were never listed, by a lower count. A count is never set below the
// number of nodes that are listed: DOKS would choose which of them go.
func (g *NodeGroup) DecreaseTargetSize(ctx context.Context, by int) (lowered int, err error) {
	if by <= 0 {
		return 0, fmt.Errorf("lowering the target of node group %s by %d: want at least 1", g.ID(), by)
	}
	p, b := g.provider, g.book
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readFresh(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before lowering its target: %w", g.ID(), err)
	}
	room := min(by, f.pool.Count-f.bounds.Min)
	p.mu.Lock()
	var failed []string
	for _, node := range f.pool.Nodes {
		if len(failed) < room && b.failed(node, p.clock.Now()) {
			failed = append(failed, node.ID)
		}
	}
	lost := b.lost(p.clock.Now())
	p.mu.Unlock()
	for _, node := range failed {
		if err := p.deleteNode(ctx, b, node, true); err != nil {
			return lowered, fmt.Errorf("withdrawing node %s of node group %s: %w", node, g.ID(), p.translate(err, question{group: g.ID(), write: true}))
		}
		lowered++
	}
	if n := min(room-lowered, lost); n > 0 {
		withdrawn, err := p.withdraw(ctx, b, n)
		return lowered + withdrawn, err
	}
	if lowered == 0 {
		klog.FromContext(ctx).V(1).Info("Nothing to withdraw", "nodeGroup", g.ID(), "count", f.pool.Count, "nodes", f.pool.Live(), "min", f.bounds.Min)
	}
	return lowered, nil
}

// lost counts the places that have been empty for so long that nothing will come. Call with mu held.
func (b *book) lost(now time.Time) int {
	lost := 0
	for _, since := range b.places {
		if now.Sub(since) >= lostAfter {
			lost++
		}
	}
	return lost
}

// withdraw lowers the count by places that nothing is listed for. Should a node be listed in the same moment, the count is raised again at once.
// Hold b.writing.
func (p *Provider) withdraw(ctx context.Context, b *book, n int) (lowered int, err error) {
	f, err := p.readFresh(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before lowering its count: %w", b.id, err)
	}
	floor := max(f.pool.Live(), f.bounds.Min)
	count := max(f.pool.Count-n, floor)
	if count >= f.pool.Count {
		return 0, nil
	}
	got, err := p.resize(ctx, f, count)
	if err != nil {
		return 0, fmt.Errorf("lowering node group %s from %d to %d: %w", b.id, f.pool.Count, count, err)
	}
	p.mu.Lock()
	now := fresh{book: b, pool: b.pool, bounds: b.bounds}
	p.mu.Unlock()
	live := min(now.pool.Live(), now.bounds.Max)
	if live > got {
		klog.FromContext(ctx).Info("A node was listed while the count was being lowered, raising it again", "nodeGroup", b.id, "from", got, "to", live)
		if got, err = p.resize(ctx, now, live); err != nil {
			return f.pool.Count - count, fmt.Errorf("raising node group %s to its %d nodes again: %w", b.id, live, err)
		}
	}
	klog.FromContext(ctx).V(1).Info("Withdrew machines that never came", "nodeGroup", b.id, "from", f.pool.Count, "to", got)
	return max(0, f.pool.Count-got), nil
}

// deleteNode ends one node, and looks after it if the API's answer says too little. A node that is gone or ending is a success. The error is that
// of the API, or a TransientError if nobody knows. Hold b.writing.
func (p *Provider) deleteNode(ctx context.Context, b *book, node string, skipDrain bool) error {
	err := p.api.DeleteNode(ctx, b.id, node, skipDrain)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		b.ended(node, p.moment())
		return nil
	}
	failure, ok := errors.AsType[*doapi.Error](err)
	if !ok {
		return err
	}
	switch failure.Class {
	case doapi.Throttled, doapi.Unreachable, doapi.Credentials, doapi.Denied:
		return err // nothing was done
	default:
		return p.lookAfter(ctx, b, node, failure)
	}
}

// lookAfter looks what became of a node whose deletion failed.
func (p *Provider) lookAfter(ctx context.Context, b *book, node string, failure *doapi.Error) error {
	asked := p.moment()
	after, err := p.api.Pool(ctx, b.id)
	if failure.Class == doapi.NotFound && err != nil {
		return nil //nolint:nilerr // the node or its pool: it is gone either way
	}
	if err != nil {
		if failure.Ambiguous() {
			return &cloudprovider.TransientError{OutcomeUnknown: true, Err: failure}
		}
		return failure
	}
	p.mu.Lock()
	p.take(b, after, asking{moment: asked})
	p.mu.Unlock()
	now, listed := after.Node(node)
	switch {
	case !listed, now.Ending(), failure.Class == doapi.NotFound:
		return nil
	case failure.Class == doapi.Broken:
		return &cloudprovider.TransientError{Err: failure}
	default:
		return failure
	}
}

// ended enters that the API agreed to end a node. Call with mu held.
func (b *book) ended(id string, at moment) {
	b.overlay.ended(id, at)
	before, listed := b.pool.Node(id)
	b.pool.Nodes = slices.Clone(b.pool.Nodes)
	for i := range b.pool.Nodes {
		if b.pool.Nodes[i].ID == id {
			b.pool.Nodes[i].State, b.pool.Nodes[i].HasStatus = doapi.Deleting, true
		}
	}
	if !listed || !before.Ending() {
		b.wrote(b.pool.Count-1, at)
	}
}
