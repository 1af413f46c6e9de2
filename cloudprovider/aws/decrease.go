package aws

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// DecreaseTargetSize withdraws places of machines that never came, failed ones first, then the youngest, by the rules of the safe cut.
func (g *NodeGroup) DecreaseTargetSize(ctx context.Context, by int) (lowered int, err error) {
	if by <= 0 {
		return 0, fmt.Errorf("lowering the target of node group %s by %d: want at least 1", g.ID(), by)
	}
	p, b := g.provider, g.current()
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	f, err := p.readNow(ctx, b)
	if err != nil {
		return 0, fmt.Errorf("reading node group %s before lowering its target: %w", g.ID(), err)
	}
	p.mu.Lock()
	numbers := b.ledger.Expendable(by)
	p.mu.Unlock()
	return p.cut(ctx, f, numbers, 0)
}

// activityWindow is how far back a launch may have begun that is still under way.
const activityWindow = time.Hour

// cut lowers the desired capacity by up to the number of places given, if that can be shown to be safe, and returns by how many machines. keep
// is in units, on top of the minimum. Hold b.writing.
func (p *Provider) cut(ctx context.Context, f fresh, numbers []int, keep int) (lowered int, err error) {
	b, id := f.book, cloudprovider.GroupID(f.book.name)
	logger := klog.FromContext(ctx)
	if len(numbers) == 0 || f.sizes.Missing == 0 {
		logger.V(1).Info("Nothing to withdraw", "nodeGroup", id, "desired", f.group.Desired, "machines", f.sizes.LiveMachines)
		return 0, nil
	}
	activities, at, err := p.api.Activities(ctx, b.name, b.server.Add(-activityWindow))
	if err != nil {
		return 0, fmt.Errorf("looking for launches in node group %s before lowering it: %w", id, p.translate(err, question{group: id}))
	}
	decision := p.decide(f, launches{activities: activities, at: at}, asg.Cut{Machines: len(numbers), KeepUnits: keep})
	if decision.Why != "" {
		logger.V(1).Info("Leaving the desired capacity alone", "nodeGroup", id, "desired", f.group.Desired, "reason", decision.Why)
		return 0, nil
	}
	if err := p.protect(ctx, f); err != nil {
		return 0, fmt.Errorf("protecting the machines of node group %s before lowering it: %w", id, err)
	}
	p.watchOver(b, decision.Desired, watchDuration)
	err = p.setDesired(ctx, f, change{desired: decision.Desired, withdraw: numbers},
		question{group: id, write: true, asked: len(numbers), room: f.sizes.Missing})
	if err != nil {
		return 0, fmt.Errorf("lowering node group %s from %d to %d: %w", id, f.group.Desired, decision.Desired, err)
	}
	p.mu.Lock()
	lowered = f.sizes.Missing - b.sizes.Missing
	p.mu.Unlock()
	logger.V(1).Info("Withdrew machines that never came", "nodeGroup", id, "from", f.group.Desired, "to", decision.Desired, "machines", lowered)
	p.lookAfter(ctx, b)
	return lowered, nil
}

// lookAfter reads the group right after a cut and rescues what has to be rescued. If it can't, the next refresh does. Hold b.writing.
func (p *Provider) lookAfter(ctx context.Context, b *book) {
	if _, err := p.readNow(ctx, b); err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot look at the node group after lowering it", "nodeGroup", b.name, "reason", err.Error())
		return
	}
	p.rescue(ctx, b)
}

// launches are the scaling activities of a group as of a time of AWS.
type launches struct {
	activities []asg.Activity
	at         time.Time
}

// decide completes the cut by what is known of the group, and judges it.
func (p *Provider) decide(f fresh, seen launches, cut asg.Cut) asg.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := moment{at: p.clock.Now(), server: seen.at}
	cut.Group, cut.Sizes, cut.Picture = f.group, f.sizes, f.book.see(seen.activities, now)
	cut.SameFor, cut.RaisedFor = now.since(f.book.sameSince), now.since(f.book.raisedAt)
	return cut.Decide()
}

// watchOver makes the looks of the time to come mind whether there are more machines than were known when this desired capacity was written. An older watch
// lasts as long as it was to.
func (p *Provider) watchOver(b *book, desired int, last time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := p.clock.Now().Add(last)
	if b.watch.until.After(until) {
		until = b.watch.until
	}
	b.watch.desired, b.watch.until = desired, until
}

// opProtect is the operation that keeps AWS from ending machines that work while a group is being lowered.
const opProtect = "SetInstanceProtection"

// protect keeps AWS from choosing any of the machines that are in service. Whoever may not do that has to trust in the other rules of the cut.
func (p *Provider) protect(ctx context.Context, f fresh) error {
	ids := f.group.Unprotected()
	p.mu.Lock()
	skip := len(ids) == 0 || p.denied(opProtect) || f.group.SuspendedProcess("Terminate")
	if !skip {
		f.book.watch.protected = append(f.book.watch.protected, ids...)
		f.book.watch.until = p.clock.Now().Add(watchDuration)
	}
	p.mu.Unlock()
	if skip {
		return nil
	}
	err := p.api.Protect(ctx, f.book.name, ids, true)
	if faults.ClassOf(err) != faults.Denied {
		return p.translate(err, question{group: cloudprovider.GroupID(f.book.name), write: true})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f.book.watch.protected = nil
	if p.deny(opProtect) {
		klog.FromContext(ctx).Info("AWS denies a permission: machines are not protected while a desired capacity is lowered", "operation", opProtect, "reason", err.Error())
	}
	return nil
}

// correct is the look after a cut: it rescues what can be rescued, and ends the protection once the group is at rest. Skips a group that
// is being written to.
func (p *Provider) correct(ctx context.Context, b *book) {
	p.mu.Lock()
	idle := b.watch.until.IsZero()
	p.mu.Unlock()
	if idle || !b.writing.TryLock() {
		return
	}
	defer b.writing.Unlock()
	p.rescue(ctx, b)
	p.mu.Lock()
	expired := !p.clock.Now().Before(b.watch.until)
	var ids []string
	if expired || b.group.Desired != b.watch.desired || b.sizes.LiveUnits <= b.group.Desired {
		ids, b.watch.protected = b.watch.protected, nil
	}
	if expired {
		b.watch = watch{}
	}
	p.mu.Unlock()
	p.unprotect(ctx, b, ids)
}

// unprotect ends the protection of the machines that are still there.
func (p *Provider) unprotect(ctx context.Context, b *book, ids []string) {
	p.mu.Lock()
	var left []string
	for _, id := range ids {
		if instance, ok := b.group.Instance(id); ok && instance.Lifecycle == asg.InService {
			left = append(left, id)
		}
	}
	p.mu.Unlock()
	if len(left) == 0 {
		return
	}
	if err := p.api.Protect(ctx, b.name, left, false); err != nil {
		klog.FromContext(ctx).Info("Cannot end the scale-in protection of machines, trying again", "nodeGroup", b.name, "instances", left, "reason", err.Error())
		p.mu.Lock()
		defer p.mu.Unlock()
		b.watch.protected = append(b.watch.protected, left...)
		b.watch.until = p.clock.Now().Add(watchDuration)
	}
}

// rescue raises a desired capacity that we lowered to the number of machines, should one have arrived in between: AWS chooses its victims a little
// later. Hold b.writing.
func (p *Provider) rescue(ctx context.Context, b *book) {
	p.mu.Lock()
	f := b.asFresh()
	endangered := !b.watch.until.IsZero() && f.group.Desired == b.watch.desired &&
		f.sizes.LiveUnits-f.group.Desired >= f.sizes.MaxUnitsPerMachine
	p.mu.Unlock()
	if !endangered {
		return
	}
	desired := min(f.sizes.LiveUnits, f.sizes.MaxUnits)
	if desired <= f.group.Desired {
		return
	}
	err := p.setDesired(ctx, f, change{desired: desired}, question{group: cloudprovider.GroupID(b.name), write: true})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot raise a desired capacity above which a machine arrived", "nodeGroup", b.name, "from", f.group.Desired, "to", desired)
		return
	}
	p.mu.Lock()
	b.watch.desired = desired
	p.mu.Unlock()
	p.corrected(b, f.group.Desired, desired)
}
