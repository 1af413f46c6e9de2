package scenario

import (
	"context"
	"fmt"
	"time"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/scenario/document"
)

// Options say how to play.
type Options struct {
	// Controller are the options of the autoscaler.
	Controller config.Options
	// Duration is how long to play; zero: as long as the scenario says.
	Duration time.Duration
	// GPULabel is the key that marks nodes with accelerators; empty: that of the simulated cloud.
	GPULabel string
	// BookkeepingLabels are the keys of labels that say nothing about what a node is good for; nil: there are none.
	BookkeepingLabels []string
	// EverySecond looks at seconds in which nothing can happen, too. The lines are the same; it is for tests of that.
	EverySecond bool
}

// Result is how a play ended.
type Result struct {
	// Failed is how many expectations were not met.
	Failed int
	// Iterations is how many the autoscaler made.
	Iterations int
}

// Play plays a cluster to its end and calls tell with each line, in order. It takes the cluster over. The lines follow from the arguments alone.
// An error means that the play broke off: what a timeline applies cannot be used, or ctx ended. ctx also carries the logger.
func Play(ctx context.Context, cluster document.Cluster, options Options, tell func(Line)) (Result, error) {
	var court *court
	early := []Line{} // told before there is anybody to judge
	w, err := newWorld(ctx, cluster, options, func(l line) {
		if court == nil {
			early = append(early, l)
			return
		}
		tell(l)
		court.hear(l)
	})
	if err != nil {
		return Result{}, fmt.Errorf("setting up scenario %s: %w", cluster.Scenario.Name, err)
	}
	duration := options.Duration
	if duration <= 0 {
		duration = cluster.Scenario.Duration
	}
	p := &player{w: w, end: ceil(duration), everySecond: options.EverySecond, pending: happenings(cluster.Scenario.Timeline, duration)}
	entries := make([]time.Duration, 0, len(p.pending))
	for _, h := range p.pending {
		entries = append(entries, h.at)
	}
	court = newCourt(w, cluster.Scenario.Expect, entries)
	p.court = court
	for _, l := range early {
		w.tell(l)
	}
	if err := p.play(ctx); err != nil {
		return Result{}, fmt.Errorf("playing scenario %s: %w", cluster.Scenario.Name, err)
	}
	return Result{Failed: court.failed, Iterations: w.counts.iterations}, nil
}

// player moves the clock.
type player struct {
	w           *world
	court       *court
	pending     []happening // what is still to happen
	end         time.Duration
	everySecond bool
}

func (p *player) play(ctx context.Context) error {
	w := p.w
	if err := w.boot(ctx); err != nil {
		return err
	}
	p.court.open()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		since := w.since()
		for len(p.pending) > 0 && p.pending[0].at <= since {
			if err := w.happen(ctx, p.pending[0].entry); err != nil {
				return fmt.Errorf("%s after the start: %w", since, err)
			}
			p.pending = p.pending[1:]
		}
		if err := w.step(ctx); err != nil {
			return err
		}
		p.court.judge()
		if since >= p.end {
			break
		}
		w.clock.set(w.start.Add(p.nextStep(since)))
	}
	p.court.close()
	w.tell(w.summary())
	return nil
}

// nextStep is when the next step has to be made: whole seconds after the start.
func (p *player) nextStep(since time.Duration) time.Duration {
	soonest := since + time.Second
	if p.everySecond {
		return soonest
	}
	next := p.end
	if at := p.w.next(); !at.IsZero() {
		next = min(next, ceil(at.Sub(p.w.start)))
	}
	if len(p.pending) > 0 {
		next = min(next, p.pending[0].at)
	}
	for _, e := range p.court.cases {
		if due := ceil(e.Time); !e.settled && due > since {
			next = min(next, due)
		}
	}
	return max(next, soonest)
}

// summary is the last line.
func (w *world) summary() Line {
	s := summary{
		heading: about("Summary", w.since()), NodeGroups: map[string]groupSummary{}, PendingPods: []string{},
		Nodes: len(w.nodes.by), Evictions: of(w.counts.evictions, ""), Iterations: w.counts.iterations,
	}
	ready := map[string]int{}
	for _, node := range w.nodes.all() {
		if isNodeReady(node) {
			ready[w.groupOf(node)]++
		}
	}
	for _, id := range sortedIDs(w.groups) {
		if group, ok := w.cloud.Group(id); ok {
			s.NodeGroups[string(id)] = groupSummary{Min: group.Min, Max: group.Max, Target: group.Target, Ready: ready[string(id)]}
		}
	}
	for _, pod := range w.pending() {
		s.PendingPods = append(s.PendingPods, keyOf(pod))
	}
	return s
}
