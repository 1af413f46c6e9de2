package aws

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// fresh is a group as AWS described it just now.
type fresh struct {
	book  *book
	group asg.Group
	sizes asg.Sizes
	net   int
}

// current is the book of a group as of now; that of the snapshot where the group has gone since.
func (g *NodeGroup) current() *book {
	g.provider.mu.Lock()
	defer g.provider.mu.Unlock()
	if b := g.provider.books[g.book.name]; b != nil {
		return b
	}
	return g.book
}

// readFresh reads the group right before a write. It shows the result in the view and wakes the loop if that is news. Hold b.writing.
func (p *Provider) readFresh(ctx context.Context, b *book) (fresh, error) {
	id := cloudprovider.GroupID(b.name)
	asked := p.moment()
	listing, err := p.api.GroupsByName(ctx, []string{b.name})
	if err != nil {
		return fresh{}, p.translate(err, question{group: id})
	}
	if len(listing.Groups) == 0 {
		return fresh{}, &cloudprovider.GoneError{Group: id, Err: errors.New("AWS knows no Auto Scaling group of this name any more")}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := b.sizes
	p.take(b, answer{group: listing.Groups[0], broken: listing.Broken[b.name], asked: asked, server: listing.At})
	p.publish()
	if b.fault.err != nil {
		return fresh{}, b.fault.err
	}
	if before != b.sizes {
		p.wake()
	}
	return fresh{book: b, group: b.group, sizes: b.sizes, net: b.net}, nil
}

// IncreaseSize reads the group, and writes a desired capacity that is delta machines above what the view had, our own writes since
// then included. What somebody else has raised in the meantime counts for it; what somebody else has taken away is left away.
func (g *NodeGroup) IncreaseSize(ctx context.Context, delta int) (granted int, err error) {
	if delta <= 0 {
		return 0, fmt.Errorf("raising node group %s by %d: want at least 1", g.ID(), delta)
	}
	p, b := g.provider, g.current()
	ctx, done := p.calls.begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readFresh(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before raising it: %w", g.ID(), err)
	}
	if why := suspended(f.group); why != "" {
		return 0, &cloudprovider.ConfigurationError{Group: g.ID(), Err: errors.New(why)}
	}
	desired, err := g.raised(f, delta)
	if err != nil {
		return 0, err
	}
	if desired <= f.sizes.BaseUnits {
		klog.FromContext(ctx).Info("Somebody else has raised the node group", "nodeGroup", g.ID(), "desired", f.sizes.BaseUnits, "wanted", desired)
		return delta, nil
	}
	if err := p.setDesired(ctx, f, change{desired: desired}, question{group: g.ID(), write: true, asked: delta, room: f.sizes.Max - f.sizes.Target}); err != nil {
		return 0, fmt.Errorf("raising node group %s from %d to %d: %w", g.ID(), f.group.Desired, desired, err)
	}
	klog.FromContext(ctx).V(1).Info("Raised node group", "nodeGroup", g.ID(), "from", f.group.Desired, "to", desired)
	return delta, nil
}

// raised is the desired capacity for delta more machines.
func (g *NodeGroup) raised(f fresh, delta int) (int, error) {
	planned := g.base + f.net - g.net // what the plan started from, and what we have done to it since
	desired := planned + delta*f.sizes.UnitsPerMachine
	if f.sizes.BaseUnits < planned {
		desired = f.sizes.BaseUnits + delta*f.sizes.UnitsPerMachine
	}
	if desired > f.sizes.MaxUnits && desired > f.sizes.BaseUnits {
		return 0, &cloudprovider.StaleBoundsError{
			Group: g.ID(), Asked: delta, Room: f.sizes.Machines(f.sizes.MaxUnits - f.sizes.BaseUnits),
			Err: fmt.Errorf("a desired capacity of %d is above the maximum of %d", desired, f.sizes.MaxUnits),
		}
	}
	return desired, nil
}

// change is a desired capacity to write.
type change struct {
	desired  int
	withdraw []int // numbers of the places to give up where the new capacity is lower, in this order
}

// setDesired writes a desired capacity and enters it into the book. If AWS doesn't answer it looks whether the write was carried out. Hold b.writing.
func (p *Provider) setDesired(ctx context.Context, f fresh, c change, q question) error {
	b := f.book
	requested, err := p.api.SetDesired(ctx, b.name, c.desired)
	unanswered := faults.ClassOf(err) == faults.Unanswered
	if unanswered && p.carriedOut(ctx, b, c.desired) {
		err = nil
	}
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if unanswered && c.desired > b.group.Desired {
			b.raisedAt = p.clock.Now() // it may still come
		}
		b.nextLook = p.clock.Now()
		return p.translate(err, q)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if requested.IsZero() {
		requested = b.server
	}
	p.desire(b, c, requested)
	b.nextLook = p.clock.Now().Add(firstLook)
	p.publish()
	return nil
}

// carriedOut tells whether a group has the desired capacity that we asked for without getting an answer.
func (p *Provider) carriedOut(ctx context.Context, b *book, desired int) bool {
	listing, err := p.api.GroupsByName(ctx, []string{b.name})
	return err == nil && len(listing.Groups) == 1 && listing.Groups[0].Desired == desired
}
