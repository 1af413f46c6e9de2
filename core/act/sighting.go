package act

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/taints"
)

// The deletion taints of one part are looked for in the informers every sightPause. If one of them does not show within sightLimit, nothing was
// measured. A measurement counts for measuredFor (scale-down 5.5).
const (
	sightPause  = 50 * time.Millisecond
	sightLimit  = 30 * time.Second
	measuredFor = time.Hour
)

// sighting measures how long the deletion taints of the nodes of one part take to show in the informers, and keeps when the part has waited long
// enough for schedulers to see them, too. It is shared by the removals of the part. The nil sighting measures nothing.
type sighting struct {
	begun time.Time

	mu sync.Mutex // guards what follows
	// sought are the nodes whose taint did not show yet, by name.
	sought map[string]sought
	looked time.Time
	// longest is the longest time that a taint took so far; seen is true if any has shown.
	longest time.Duration
	seen    bool
	// over is the end of the wait; zero: it is still being measured.
	over time.Time
}

// sought is a node whose taint has to show.
type sought struct {
	node  *corev1.Node // as the plan knows it
	since time.Time    // when its tainting began
}

// latency is how long the taints of one part took to show, at most.
type latency struct {
	at   time.Time
	took time.Duration
}

// newSighting returns what measures a part, or nil if the pause after the taint is a fixed one.
func (a *Actuator) newSighting(at time.Time) *sighting {
	if !a.options.ScaleDown.DynamicDelayAfterTaint {
		return nil
	}
	return &sighting{begun: at, sought: map[string]sought{}}
}

// seek begins to look for the taint of the node.
func (s *sighting) seek(node *corev1.Node, since time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sought[node.Name] = sought{node: node, since: since}
}

// glance looks for the taints, unless that was done a moment ago.
func (a *Actuator) glance(s *sighting, now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.glanceLocked(s, now)
}

// glanceLocked is glance for those that hold s.mu. A node that is gone holds nobody up.
func (a *Actuator) glanceLocked(s *sighting, now time.Time) {
	if !s.looked.IsZero() && now.Sub(s.looked) < sightPause {
		return
	}
	s.looked = now
	for name, what := range s.sought {
		node, ok := a.lister.Node(name)
		if !ok || !same(node, what.node) {
			delete(s.sought, name)
			continue
		}
		if _, shows := taints.Find(node, taints.ToBeDeleted); shows {
			s.longest, s.seen = max(s.longest, now.Sub(what.since)), true
			delete(s.sought, name)
		}
	}
}

// waited returns until when the removals of a part that is tainted as a whole have to wait; while that is still being measured, until when for the
// next look.
func (a *Actuator) waited(s *sighting, now time.Time) time.Time {
	if s == nil {
		return now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over.IsZero() {
		return s.over
	}
	a.glanceLocked(s, now)
	switch {
	case len(s.sought) == 0 && s.seen:
		s.over = now.Add(2 * a.longestLatency(latency{at: now, took: s.longest}))
	case len(s.sought) == 0, now.Sub(s.begun) >= sightLimit:
		s.over = now.Add(a.options.ScaleDown.DeleteDelayAfterTaint)
	default:
		return earlier(s.looked.Add(sightPause), s.begun.Add(sightLimit))
	}
	return s.over
}

// longestLatency adds a measurement and returns the longest of those that count.
func (a *Actuator) longestLatency(newest latency) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	longest, kept := newest.took, a.latencies[:0]
	for _, l := range a.latencies {
		if newest.at.Sub(l.at) <= measuredFor {
			kept, longest = append(kept, l), max(longest, l.took)
		}
	}
	a.latencies = append(kept, newest)
	return longest
}
