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

const (
	fullEvery     = time.Minute      // between two readings of everything, unless the options say otherwise
	fullOnDemand  = 15 * time.Second // unless a node of an unknown machine came up
	refreshLimit  = 2 * time.Minute  // for a whole refresh
	firstBackOff  = 10 * time.Second // after a refresh that failed
	lastBackOff   = time.Minute
	watchDuration = 2 * time.Minute // after a cut
	jitter        = 0.1             // of the interval, either way
)

// schedule says when the next full refresh is due.
type schedule struct {
	next     time.Time // zero: now
	failures int       // in a row
	err      error     // of the last full refresh, if it learnt nothing
	told     bool      // that discovery finds nothing
	counted  bool      // what each of several discovery rules finds
	reads    int       // requests that the last full refresh took
}

// Refresh reads everything once a minute or as the options say, and what is due of the groups that are about to change. It blocks for the calls to
// AWS. The first call starts the goroutine that looks at such groups between two calls; its lines go to the logger of that call's context. While the last
// good answers are younger than five minutes it returns errors only of kinds that an operator has to put right.
func (p *Provider) Refresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // nothing is learnt, which is no failure of AWS
		return fmt.Errorf("refreshing the Auto Scaling groups: %w", err)
	}
	p.watching.Do(func() { p.startWatching(ctx) })
	ctx, done := p.calls.Begin(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, refreshLimit)
	defer cancel()
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	if p.fullDue() {
		p.refreshAll(ctx)
	} else {
		p.lookAround(ctx)
	}
	p.refreshPrices(ctx)
	p.introduce(ctx)
	return p.verdict()
}

func (p *Provider) fullDue() bool {
	now := p.clock.Now()
	if !now.Before(p.schedule.next) || p.schedule.next.Sub(now) > max(2*p.interval, lastBackOff) { // the clock was set back
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
	before := p.traffic.total()
	s := p.sweep(ctx)
	took := p.clock.Now().Sub(began)
	if s.nothing() {
		p.event(cloudprovider.Event{Kind: cloudprovider.EventRefreshed, Code: codeOf(s.err), At: began, Duration: took})
		p.failed(ctx, began, s.err)
		return
	}
	p.event(cloudprovider.Event{Kind: cloudprovider.EventRefreshed, Code: codeOf(s.err), At: began, Duration: took})
	p.succeeded(ctx, s)
	p.schedule.reads = p.traffic.total() - before
	p.fill(ctx, s)
	p.mu.Lock()
	p.enter(ctx, s)
	due := p.restless(began)
	p.mu.Unlock()
	p.look(ctx, due, p.share())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = began
	p.schedule.next = p.later(began)
	p.publish()
	p.tellAll(ctx)
}

// codeOf is the word of AWS for what went wrong.
func codeOf(err error) string {
	if err == nil {
		return "success"
	}
	if faulty, ok := errors.AsType[*faults.Error](err); ok && faulty.Code != "" {
		return faulty.Code
	}
	return "error"
}

// succeeded plans the next full refresh; one that lacks a part comes sooner.
func (p *Provider) succeeded(ctx context.Context, s *sweep) {
	before := p.schedule
	p.schedule = schedule{told: before.told}
	if s.err != nil {
		p.schedule.failures = before.failures + 1
		klog.FromContext(ctx).V(1).Info("Cannot read a part of the Auto Scaling groups, keeping what is known of them", "reason", s.err.Error())
	}
	if !before.counted && s.complete && len(p.wanted.given) > 1 {
		p.tellRules(ctx, len(s.answers))
	}
	p.schedule.counted = before.counted || s.complete
	if nothing := s.complete && len(p.wanted.rules) > 0 && len(s.answers) == 0; nothing && !before.told {
		p.tellNothingFound(ctx)
		p.schedule.told = true
	}
}

// later is when the refresh after the one that began then is due. While groups are about to change it is never early, so that no minute has two of them.
// Call with mu held.
func (p *Provider) later(began time.Time) time.Time {
	if p.schedule.failures > 0 {
		return began.Add(min(backOff(p.schedule.failures), p.interval))
	}
	pause := p.interval
	if p.random != nil {
		pause += time.Duration((2*p.random.Float64() - 1) * jitter * float64(pause))
	}
	for _, b := range p.books {
		if b.restless() {
			pause = max(pause, p.interval)
		}
	}
	return began.Add(pause)
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
func backOff(failures int) time.Duration { return min(firstBackOff<<min(failures-1, 3), lastBackOff) }
