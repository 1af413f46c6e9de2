package digitalocean

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/selection"
)

// fresh is a pool as the API described it just now.
type fresh struct {
	book   *book
	pool   doapi.Pool
	bounds selection.Bounds
	max    int
}

// errOff is why nothing is written to a pool whose auto_scale is off.
var errOff = errors.New("auto_scale of the pool is off and nothing else selects it, so that it is no node group any more")

// readFresh reads the pool right before a write. It wakes the loop if it shows what the view doesn't have. Hold b.writing.
func (p *Provider) readFresh(ctx context.Context, b *book) (fresh, error) {
	id := cloudprovider.GroupID(b.id)
	asked := p.moment()
	pool, err := p.api.Pool(ctx, b.id)
	if doapi.ClassOf(err) == doapi.NotFound {
		p.vanish(b)
	}
	if err != nil {
		return fresh{}, p.translate(err, question{group: id})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before, on := b.pool.Count, b.on
	p.take(b, pool, asking{moment: asked})
	switch {
	case !b.on:
		p.wake()
		return fresh{}, &cloudprovider.GoneError{Group: id, Err: errOff}
	case b.fault.err != nil:
		return fresh{}, b.fault.err
	case before != b.pool.Count || !on:
		p.wake()
	}
	return fresh{book: b, pool: b.pool, bounds: b.bounds, max: b.max(p.clock.Now())}, nil
}

// IncreaseSize reads the pool and sets a count that is delta above what it is now. The answer is compared with what was asked for: what the API grants beyond
// the old count is granted, and for a while no more than that is asked of the pool.
func (g *NodeGroup) IncreaseSize(ctx context.Context, delta int) (granted int, err error) {
	if delta <= 0 {
		return 0, fmt.Errorf("raising node group %s by %d: want at least 1", g.ID(), delta)
	}
	p, b := g.provider, g.book
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readFresh(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before raising it: %w", g.ID(), err)
	}
	wanted := f.pool.Count + delta
	if wanted > f.max {
		return 0, &cloudprovider.StaleBoundsError{
			Group: g.ID(), Asked: delta, Room: max(0, f.max-f.pool.Count),
			Err: fmt.Errorf("the pool has a count of %d, and %d is above its maximum of %d", f.pool.Count, wanted, f.max),
		}
	}
	got, err := p.resize(ctx, f, wanted)
	if err != nil {
		return 0, fmt.Errorf("raising node group %s from %d to %d: %w", g.ID(), f.pool.Count, wanted, err)
	}
	if got < wanted {
		return p.grantedFewer(f, delta, got)
	}
	klog.FromContext(ctx).V(1).Info("Raised node group", "nodeGroup", g.ID(), "pool", f.pool.Name, "from", f.pool.Count, "to", got)
	return delta, nil
}

// grantedFewer is the outcome of a raise after which the pool has fewer nodes than were asked for.
func (p *Provider) grantedFewer(f fresh, delta, got int) (granted int, err error) {
	id := cloudprovider.GroupID(f.book.id)
	granted = max(0, got-f.pool.Count)
	short := &cloudprovider.OutOfResourcesError{
		Group: id, Code: codeCapacity,
		Err: fmt.Errorf("the API was asked for %d more nodes, a count of %d, and answered with a count of %d", delta, f.pool.Count+delta, got),
	}
	p.mu.Lock()
	f.book.shortfall = shortfall{limit: got, until: p.clock.Now().Add(shortfallLife)}
	p.notes.add(cloudprovider.Notice{Reason: reasonShortfall, Group: id, Message: "pool " + f.pool.Name + ": " + short.Err.Error()})
	p.mu.Unlock()
	if granted == 0 {
		return 0, short
	}
	return granted, &cloudprovider.StaleBoundsError{Group: id, Asked: delta, Room: granted, Err: short}
}

// resize sets the count of a pool and returns the one that it has then. If the API gives no answer that can be used, it looks whether the write was carried
// out. Hold b.writing.
func (p *Provider) resize(ctx context.Context, f fresh, count int) (got int, err error) {
	b := f.book
	answer, err := p.api.Resize(ctx, b.id, count)
	if err == nil {
		p.adopt(b, answer)
		return answer.Count, nil
	}
	failure, ok := errors.AsType[*doapi.Error](err)
	q := question{group: cloudprovider.GroupID(b.id), write: true}
	if !ok || !failure.Ambiguous() {
		return 0, p.translate(err, q)
	}
	after, looked := p.api.Pool(ctx, b.id)
	if looked != nil {
		return 0, &cloudprovider.TransientError{OutcomeUnknown: true, Err: err}
	}
	p.adopt(b, after)
	if after.Count == f.pool.Count {
		return 0, p.translate(err, q)
	}
	klog.FromContext(ctx).V(1).Info("A resize whose answer was lost was carried out", "nodeGroup", b.id, "count", after.Count, "reason", err.Error())
	return after.Count, nil
}

// adopt takes over the pool of an answer to a write of ours, or to a look after it. Listings may show the old count for a while.
func (p *Provider) adopt(b *book, answer doapi.Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := p.moment()
	b.wrote(answer.Count, p.moment())
	p.take(b, answer, asking{moment: asked})
}
