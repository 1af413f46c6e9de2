package aws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/placeholders"
)

const (
	fullEvery     = time.Minute      // at most one reading of everything
	fullOnDemand  = 15 * time.Second // unless a node of an unknown machine came up
	firstLook     = 5 * time.Second  // after a raise
	lookEvery     = 15 * time.Second // at groups that are about to change
	refreshLimit  = 2 * time.Minute  // for a whole refresh
	firstBackOff  = 10 * time.Second // after a refresh that failed
	looksAtOnce   = 8
	watchDuration = 2 * time.Minute // after a cut
)

// schedule says when the next full refresh is due.
type schedule struct {
	next     time.Time // zero: now
	failures int       // in a row
	err      error     // of the last full refresh, if it learnt nothing
	told     bool      // that discovery finds nothing
}

// Refresh reads everything at most once a minute, and in between the groups that are about to change, at most every 15 s. It blocks for the calls to
// AWS. While the last good answers are younger than five minutes it returns errors only of kinds that an operator has to put right.
func (p *Provider) Refresh(ctx context.Context) error {
	ctx, done := p.calls.begin(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if p.fullDue() {
		p.refreshAll(ctx)
	} else {
		p.refreshSome(ctx)
	}
	p.refreshPrices(ctx)
	p.introduce(ctx)
	return p.verdict()
}

func (p *Provider) fullDue() bool {
	now := p.clock.Now()
	if !now.Before(p.schedule.next) {
		return true
	}
	asked := p.view.Load().asked
	return p.schedule.failures == 0 && p.stranger.Load() && now.Sub(asked) >= fullOnDemand
}

// verdict is what Refresh returns: nothing as long as there are data to work with.
func (p *Provider) verdict() error {
	err := p.schedule.err
	if err == nil {
		return nil
	}
	_, passing := errors.AsType[*cloudprovider.TransientError](err)
	if asked := p.view.Load().asked; passing && !asked.IsZero() && p.clock.Now().Sub(asked) < usable {
		return nil
	}
	return err
}

// refreshAll reads all groups. Either everything is read anew, or single groups keep what is known of them.
func (p *Provider) refreshAll(ctx context.Context) {
	began := p.clock.Now()
	p.stranger.Store(false)
	s := p.sweep(ctx)
	if s.nothing() {
		p.failed(ctx, began, s.err)
		return
	}
	p.succeeded(ctx, began, s)
	p.fill(ctx, s)
	p.mu.Lock()
	p.enter(ctx, s)
	due := p.restless(began)
	p.mu.Unlock()
	p.look(ctx, due)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = began
	p.publish()
	p.tellAll(ctx)
}

// succeeded plans the next full refresh; one that lacks a part comes sooner.
func (p *Provider) succeeded(ctx context.Context, began time.Time, s *sweep) {
	before := p.schedule
	p.schedule = schedule{next: began.Add(fullEvery), told: before.told}
	if s.err != nil {
		p.schedule.failures = before.failures + 1
		p.schedule.next = began.Add(backOff(p.schedule.failures))
		klog.FromContext(ctx).V(1).Info("Cannot read a part of the Auto Scaling groups, keeping what is known of them", "reason", s.err.Error())
	}
	if nothing := s.complete && len(p.wanted.rules) > 0 && len(s.answers) == 0; nothing && !before.told {
		p.tellNothingFound(ctx)
		p.schedule.told = true
	}
}

// failed puts the next full refresh off.
func (p *Provider) failed(ctx context.Context, began time.Time, err error) {
	p.schedule.failures++
	p.schedule.err = p.translate(err, question{})
	p.schedule.next = began.Add(backOff(p.schedule.failures))
	klog.FromContext(ctx).V(1).Info("Cannot read the Auto Scaling groups", "retryAt", p.schedule.next, "reason", p.schedule.err.Error())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish() // what is known has become older
}

// backOff is 10, 20, 40, 60 s.
func backOff(failures int) time.Duration { return min(firstBackOff<<min(failures-1, 3), fullEvery) }

// refreshSome reads the groups that are about to change and whose time has come.
func (p *Provider) refreshSome(ctx context.Context) {
	now := p.clock.Now()
	p.mu.Lock()
	due := p.restless(now)
	p.mu.Unlock()
	if len(due) == 0 {
		return
	}
	names := make([]string, 0, len(due))
	for _, b := range due {
		names = append(names, b.name)
	}
	asked := p.moment()
	listing, err := p.api.GroupsByName(ctx, names)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot read Auto Scaling groups that are about to change", "reason", err.Error())
	}
	p.mu.Lock()
	for _, b := range due {
		b.nextLook = now.Add(lookEvery)
	}
	due = nil
	for _, group := range listing.Groups {
		if b := p.books[group.Name]; b != nil {
			p.take(b, answer{group: group, broken: listing.Broken[group.Name], asked: asked, server: listing.At})
			due = append(due, b)
		}
	}
	p.mu.Unlock()
	p.look(ctx, due)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish()
	p.tellAll(ctx)
}

// restless lists the groups that are about to change and are due for a look, by name. Call with mu held.
func (p *Provider) restless(now time.Time) []*book {
	var due []*book
	for _, name := range slices.Sorted(maps.Keys(p.books)) {
		if b := p.books[name]; b.restless() && !now.Before(b.nextLook) {
			due = append(due, b)
		}
	}
	return due
}

// look asks what became of the launches of these groups, and puts right what a cut of ours may have set off.
func (p *Provider) look(ctx context.Context, books []*book) {
	var group errgroup.Group
	group.SetLimit(looksAtOnce)
	for _, b := range books {
		group.Go(func() error {
			p.correct(ctx, b)
			p.judge(ctx, b)
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
}

// opActivities is the operation without which failed launches cannot be seen.
const opActivities = "DescribeScalingActivities"

// judge reads the scaling activities of a group with missing machines and holds failed launches against their places.
func (p *Provider) judge(ctx context.Context, b *book) {
	p.mu.Lock()
	since := b.ledger.Since(p.history)
	skip := since.IsZero() || p.denied(opActivities)
	b.nextLook = p.clock.Now().Add(lookEvery)
	p.mu.Unlock()
	if skip {
		return
	}
	activities, at, err := p.api.Activities(ctx, b.name, since)
	logger := klog.FromContext(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if faults.ClassOf(err) == faults.Denied && p.deny(opActivities) {
			logger.Info("AWS denies a permission: launches that fail are noticed only after --max-node-provision-time", "operation", opActivities, "reason", err.Error())
		}
		return
	}
	picture := b.see(activities, p.clock.Now())
	held := b.ledger.Judge(placeholders.Look{Activities: activities, Launching: picture.Launching, Zones: zonesOf(b.group), Now: at})
	for _, failure := range held {
		b.snapshot = nil
		logger.Info("A machine failed to launch", "nodeGroup", b.name, "code", failure.Code, "reason", failure.Message)
	}
}

// see takes a picture of the group and remembers since when it has been the same. Call with mu held.
func (b *book) see(activities []asg.Activity, now time.Time) asg.Picture {
	picture := asg.PictureOf(b.group, activities)
	if b.sameSince.IsZero() || !picture.Equal(b.picture) {
		b.picture, b.sameSince = picture, now
	}
	return picture
}
