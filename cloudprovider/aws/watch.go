package aws

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/offerings"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/placeholders"
)

const (
	firstLook    = 5 * time.Second  // after a write
	lookEvery    = 10 * time.Second // at groups that are about to change
	lookTogether = 5 * time.Second  // groups that are due so soon are read along with those that are
	lookSeldom   = 30 * time.Second
	expectedFor  = 15 * time.Minute
	lookLimit    = 30 * time.Second // for one look
	looksAtOnce  = 8
	// looksPerMinute is how many shares a minute's reads are divided into, so that no group waits for long because another had its turn.
	looksPerMinute = int(time.Minute / lookEvery)
	// smallestShare are one description of all groups and the activities of one.
	smallestShare = 2
)

// startWatching starts the goroutine that looks at groups which are about to change. Cleanup ends it.
func (p *Provider) startWatching(ctx context.Context) {
	ctx, done := p.calls.Begin(context.WithoutCancel(ctx))
	go func() {
		defer done()
		p.watch(ctx)
	}()
}

// watch looks at groups when they are due, until ctx ends.
func (p *Provider) watch(ctx context.Context) {
	for ctx.Err() == nil {
		alarm, stop := p.alarm()
		select {
		case <-ctx.Done():
		case <-p.nudged: // something may be due sooner now
		case <-alarm:
			p.lookByItself(ctx)
		}
		stop()
	}
}

// alarm fires when the next group is due; nil: none is.
func (p *Provider) alarm() (<-chan time.Time, func()) {
	p.mu.Lock()
	next := p.nextLook()
	p.mu.Unlock()
	if next.IsZero() {
		return nil, func() {}
	}
	timer := p.clock.NewTimer(max(0, next.Sub(p.clock.Now())))
	if !p.clock.Now().Before(next) { // the time was moved meanwhile
		timer.Stop()
		timer = p.clock.NewTimer(0)
	}
	return timer.C(), func() { timer.Stop() }
}

// nextLook is when the next group is due; zero: none is. Call with mu held.
func (p *Provider) nextLook() time.Time {
	var next time.Time
	for _, b := range p.books {
		if b.restless() && (next.IsZero() || b.nextLook.Before(next)) {
			next = b.nextLook
			if next.IsZero() {
				return p.clock.Now()
			}
		}
	}
	if now := p.clock.Now(); next.Sub(now) > lookSeldom { // the clock was set back
		return now
	}
	return next
}

// nudge makes the watch reckon anew, without waiting for it.
func (p *Provider) nudge() {
	select {
	case p.nudged <- struct{}{}:
	default: // it will
	}
}

// lookByItself is a look that nobody asked for. It wakes the loop if it finds anything.
func (p *Provider) lookByItself(ctx context.Context) {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	if p.lookAround(ctx) {
		p.wake()
	}
}

// share is how many requests one look may take: an equal part of what a full refresh leaves of a minute's reads, as long as there are any.
func (p *Provider) share() int {
	return min(p.traffic.left(), max(smallestShare, (readsPerMinute-p.schedule.reads)/looksPerMinute))
}

// lookAround reads the groups that are about to change and whose time has come, and what became of their launches. It tells whether anything has changed
// that the loop could act on. Where there are more groups than requests left, those wait that were looked at last. Hold refreshing.
func (p *Provider) lookAround(ctx context.Context) (news bool) {
	now := p.clock.Now()
	p.mu.Lock()
	due := p.restless(now)
	share := p.share()
	calls := max(1, min(ceil(len(due), readTogether), share/2))
	turn := due[:min(len(due), calls*readTogether)]
	for _, b := range due {
		b.nextLook = now.Add(b.lookPause(now))
	}
	if share < smallestShare { // the minute is used up
		for _, b := range due {
			b.nextLook = now.Add(lookEvery / 2)
		}
		turn = nil
	}
	before := p.marks(turn)
	p.mu.Unlock()
	if len(turn) == 0 {
		return false
	}
	found := p.readAgain(ctx, turn)
	failed := p.look(ctx, found, share-calls)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish()
	p.tellAll(ctx)
	return failed || !maps.Equal(before, p.marks(turn))
}

// mark is what the loop would act on if it changed.
type mark struct {
	sizes asg.Sizes
	fault string
}

// lookPause is the time until the next look at a group that is about to change: the usual one while a machine may come, or what we wrote has to show; longer
// while machines are only ending, and where none has come for so long that none is expected any more. Call with Provider.mu held.
func (b *book) lookPause(now time.Time) time.Duration {
	places := b.ledger.Open()
	switch {
	case b.overlay.active(), !b.watch.until.IsZero(), len(places) > 0 && now.Sub(places[len(places)-1].RequestedAt) < expectedFor:
		return lookEvery
	default:
		return lookSeldom
	}
}

// marks of the books, by name. Call with mu held.
func (p *Provider) marks(books []*book) map[string]mark {
	marks := make(map[string]mark, len(books))
	for _, b := range books {
		m := mark{sizes: b.sizes}
		if b.fault.err != nil {
			m.fault = b.fault.err.Error()
		}
		marks[b.name] = m
	}
	return marks
}

// readAgain describes groups and returns the books of those that AWS described.
func (p *Provider) readAgain(ctx context.Context, books []*book) []*book {
	names := make([]string, 0, len(books))
	for _, b := range books {
		names = append(names, b.name)
	}
	asked := p.moment()
	listing, err := p.api.GroupsByName(ctx, names)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot read Auto Scaling groups that are about to change", "reason", err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*book
	for _, group := range listing.Groups {
		if b := p.books[group.Name]; b != nil {
			p.take(b, answer{group: group, broken: listing.Broken[group.Name], asked: asked, server: listing.At})
			found = append(found, b)
		}
	}
	return found
}

// restless lists the groups that are about to change and are due for a look, and those that soon are, since one call reads them all: those first that
// were read the longest time ago. Nothing is listed as long as none is due. Call with mu held.
func (p *Provider) restless(now time.Time) []*book {
	var due, soon []*book
	for _, name := range slices.Sorted(maps.Keys(p.books)) {
		switch b := p.books[name]; {
		case !b.restless():
		case !now.Before(b.nextLook), b.nextLook.Sub(now) > lookSeldom: // the clock was set back
			due = append(due, b)
		case !now.Add(lookTogether).Before(b.nextLook) && b.judgedAt.After(b.raisedAt.at): // it has had the first look after its raise
			soon = append(soon, b)
		}
	}
	if len(due) == 0 {
		return nil
	}
	due = append(due, soon...)
	slices.SortStableFunc(due, func(a, b *book) int { return a.read.at.Compare(b.read.at) })
	return due
}

// look puts right what a cut of ours may have set off, and asks what became of the launches of so many groups: of those that were asked about the
// longest time ago. It tells whether a launch failed.
func (p *Provider) look(ctx context.Context, books []*book, most int) (failed bool) {
	p.mu.Lock()
	var waiting []*book
	for _, b := range books {
		b.nextLook = p.clock.Now().Add(b.lookPause(p.clock.Now()))
		if !b.ledger.Since(p.history).IsZero() {
			waiting = append(waiting, b)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *book) int { return cmp.Or(a.judgedAt.Compare(b.judgedAt), cmp.Compare(a.name, b.name)) })
	p.mu.Unlock()
	waiting = waiting[:min(len(waiting), max(most, 0))]

	var group errgroup.Group
	group.SetLimit(looksAtOnce)
	failures := make([]bool, len(books))
	for i, b := range books {
		group.Go(func() error {
			p.correct(ctx, b)
			if slices.Contains(waiting, b) {
				failures[i] = p.judge(ctx, b)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	return slices.Contains(failures, true)
}

// opActivities is the operation without which failed launches cannot be seen.
const opActivities = "DescribeScalingActivities"

// judge reads the scaling activities of a group with missing machines and holds failed launches against their places. It tells whether it held any.
func (p *Provider) judge(ctx context.Context, b *book) (failed bool) {
	p.mu.Lock()
	since := b.ledger.Since(p.history)
	skip := since.IsZero() || p.denied(opActivities)
	b.judgedAt = p.clock.Now()
	p.mu.Unlock()
	if skip {
		return false
	}
	activities, at, err := p.api.Activities(ctx, b.name, since)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if faults.ClassOf(err) == faults.Denied {
			p.deny(opActivities) // whoever is told of permissions is told
		}
		return false
	}
	now := p.clock.Now()
	picture := b.see(activities, moment{at: now, server: at})
	held := b.ledger.Judge(placeholders.Look{
		Activities: activities, Launching: picture.Launching, Zones: zonesOf(b.group), Type: p.onlyType(b), Now: at, Ours: now,
	})
	for _, failure := range held {
		p.noteFailure(b, failure, now)
	}
	return len(held) > 0
}

// onlyType is the instance type that all machines of a group have; empty: there are several, or it isn't known.
func (p *Provider) onlyType(b *book) string {
	types := b.group.Launch.Types()
	if len(types) == 0 && !b.group.Launch.ByRequirements() {
		for _, instance := range b.group.Instances {
			types = append(types, instance.Type)
		}
		slices.Sort(types)
		types = slices.Compact(types)
	}
	if len(types) != 1 {
		return ""
	}
	return types[0]
}

// noteFailure tells everybody of a machine that did not come. Call with mu held.
func (p *Provider) noteFailure(b *book, failure placeholders.Failure, now time.Time) {
	for _, other := range p.books {
		other.snapshot = nil // they may ask for the same machines
	}
	id := cloudprovider.GroupID(b.name)
	p.short.Fail(offerings.Offering{Type: failure.Type, Zone: failure.Zone, Spot: failure.Spot}, failure.Code, failure.Cause, now)
	p.event(cloudprovider.Event{Kind: cloudprovider.EventLaunchFailed, Group: id, Code: failure.Code, At: now})
	p.notices.seldom(reasonFailed+"/"+b.name+"/"+failure.Code, failedEvery, cloudprovider.Notice{
		Reason: reasonFailed, Group: id, Message: "a machine failed to launch: " + failure.Message,
	})
}

// noteArrivals forgets the shortages that new machines prove wrong.
func (p *Provider) noteArrivals(before, after asg.Group) {
	for _, instance := range after.Live() {
		if _, was := before.Instance(instance.ID); !was {
			p.short.Came(instance.Type, instance.Zone)
		}
	}
}

// shortagesOf are the machines of a group that AWS is known to have none of, by what any group has met. Call with mu held.
func (p *Provider) shortagesOf(b *book) []cloudprovider.Shortage {
	if p.short.Empty() {
		return nil
	}
	spot, known := p.marketOf(b.group.Launch)
	types := b.group.Launch.Types()
	if only := p.onlyType(b); len(types) == 0 && only != "" {
		types = []string{only}
	}
	if !known {
		return nil
	}
	var shortages []cloudprovider.Shortage
	now := p.clock.Now()
	for _, zone := range zonesOf(b.group) {
		for _, name := range types {
			if s, short := p.short.Find(offerings.Offering{Type: name, Zone: zone, Spot: spot}, now); short {
				shortages = append(shortages, cloudprovider.Shortage{Zone: zone, Type: name, Until: s.Until, Code: s.Code})
			}
		}
	}
	return shortages
}

// marketOf tells in which market a group buys; known is false where it buys in both.
func (p *Provider) marketOf(l asg.Launch) (spot, known bool) {
	switch d := l.Distribution; {
	case d == nil:
		facts, err := p.launches.Facts(l)
		if err != nil || len(facts.Choices) == 0 {
			return false, false
		}
		return facts.Choices[0].Template.Spot, true
	case d.OnDemandPercentage >= 100:
		return false, true
	case d.OnDemandPercentage == 0 && d.OnDemandBase == 0:
		return true, true
	default:
		return false, false
	}
}

func ceil(a, b int) int { return (a + b - 1) / b }
