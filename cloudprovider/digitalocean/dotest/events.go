package dotest

import (
	"slices"
	"time"
)

// EventKind is what happened in the world.
type EventKind string

// The kinds of events.
const (
	EventCountChanged EventKind = "CountChanged" // From and To
	EventLaunched     EventKind = "Launched"     // a node got its Droplet
	EventLaunchFailed EventKind = "LaunchFailed" // a node appeared for which there is none
	EventEnding       EventKind = "Ending"       // a node was told to end
	EventGone         EventKind = "Gone"
)

// Event is one thing that happened in the world, whoever caused it.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Pool     string // id
	Node     string // id; empty for events of the pool
	Droplet  string // id of the node's; empty: it has none
	Cause    Cause  // of Ending
	Call     int    // Number of the request that caused it; 0: none
	From, To int    // of CountChanged
}

// Events lists all that happened, in its order.
func (s *Server) Events() []Event {
	var events []Event
	s.look(func(w *world) { events = slices.Clone(w.events) })
	return events
}

// tell records an event of this moment.
func (w *world) tell(e Event) {
	e.Time, e.Call = w.now, w.call
	w.events = append(w.events, e)
}

// count changes how many nodes a pool is to have.
func (w *world) count(p *pool, n int) {
	if n == p.Count {
		return
	}
	w.tell(Event{Kind: EventCountChanged, Pool: p.ID, From: p.Count, To: n})
	p.Count = n
}
