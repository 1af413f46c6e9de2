package aws

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// IncreaseSize reads the group, and writes a desired capacity that is delta machines above what the view had, our own writes since
// then included. What somebody else has raised in the meantime counts for it; what somebody else has taken away is left away.
func (g *NodeGroup) IncreaseSize(ctx context.Context, delta int) (granted int, err error) {
	if delta <= 0 {
		return 0, fmt.Errorf("raising node group %s by %d: want at least 1", g.ID(), delta)
	}
	p, b := g.provider, g.current()
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readFresh(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before raising it: %w", g.ID(), err)
	}
	if why := p.suspension(f.group); why != "" {
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
	err = p.setDesired(ctx, f, change{desired: desired}, question{group: g.ID(), write: true, asked: delta, room: f.sizes.Max - f.sizes.Target})
	if err != nil {
		return 0, fmt.Errorf("raising node group %s from %d to %d: %w", g.ID(), f.group.Desired, desired, g.withRoom(ctx, err, delta))
	}
	// Somebody may have raised it by more between the look and the write, and then this lowered it: the first look afterwards finds out.
	p.watchOver(b, desired, raiseWatch)
	klog.FromContext(ctx).V(1).Info("Raised node group", "nodeGroup", g.ID(), "from", f.group.Desired, "to", desired)
	return delta, nil
}

// raiseWatch is how long after a raise the looks mind that it may have been none.
const raiseWatch = 2 * firstLook

// withRoom completes a refusal for bounds that have changed by the room that there is as of now.
func (g *NodeGroup) withRoom(ctx context.Context, refusal error, delta int) error {
	if _, stale := errors.AsType[*cloudprovider.StaleBoundsError](refusal); !stale {
		return refusal
	}
	f, err := g.provider.readNow(ctx, g.current())
	if err != nil {
		return refusal
	}
	if _, err := g.raised(f, delta); err != nil {
		return err
	}
	return refusal
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
	raise := c.desired > f.group.Desired
	var requested time.Time
	write := func() (err error) {
		requested, err = p.api.SetDesired(ctx, b.name, c.desired)
		return err
	}
	var err error
	if raise {
		err = p.persist(ctx, write)
	} else { // not tried again: what a cut was judged on is too old by then
		err = write()
	}
	unanswered := faults.ClassOf(err) == faults.Unanswered
	if unanswered && p.carriedOut(ctx, b, c.desired) {
		err = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if unanswered && raise {
			b.raisedAt = moment{at: p.clock.Now(), server: b.server} // it may still come
		}
		b.nextLook = p.clock.Now()
		b.suspect = true
		return p.translate(err, q)
	}
	if requested.IsZero() {
		requested = b.server
	}
	p.desire(f, c, requested)
	b.nextLook = p.clock.Now().Add(firstLook)
	p.publish()
	return nil
}

// secondTry is how long after a write that AWS was too busy for it is tried once more.
const secondTry = 1500 * time.Millisecond

// persist makes a call, and makes it once more a little later if AWS did nothing because it is at work in the group.
func (p *Provider) persist(ctx context.Context, call func() error) error {
	timer := p.clock.NewTimer(secondTry)
	defer timer.Stop()
	err := call()
	refusal, ok := errors.AsType[*faults.Error](err)
	if !ok || refusal.Code != "ScalingActivityInProgress" && refusal.Code != "ResourceContention" {
		return err
	}
	select {
	case <-timer.C():
		return call()
	case <-ctx.Done():
		return err
	}
}

// carriedOut tells whether a group has the desired capacity that we asked for without getting an answer.
func (p *Provider) carriedOut(ctx context.Context, b *book, desired int) bool {
	listing, err := p.api.GroupsByName(ctx, []string{b.name})
	return err == nil && len(listing.Groups) == 1 && listing.Groups[0].Desired == desired
}
