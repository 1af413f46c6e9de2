package awstest

import "time"

// EventKind is what happened in the world.
type EventKind string

// The kinds of events.
const (
	EventGroupAdded     EventKind = "GroupAdded"
	EventGroupRemoved   EventKind = "GroupRemoved"
	EventDesiredChanged EventKind = "DesiredChanged" // From and To
	EventLaunched       EventKind = "Launched"       // an instance appeared
	EventInService      EventKind = "InService"
	EventLaunchFailed   EventKind = "LaunchFailed" // Detail is the StatusMessage
	EventDied           EventKind = "Died"         // the machine behind an instance is dead; the group doesn't know yet
	EventEnding         EventKind = "Ending"       // an instance was told to end
	EventGone           EventKind = "Gone"
	EventDetached       EventKind = "Detached" // an instance left its group and runs on
)

// Cause is why an instance ends or desired changed.
type Cause string

// The causes.
const (
	CauseRequest     Cause = "Request"     // a request named the instance, or set desired
	CauseDecrement   Cause = "Decrement"   // desired was lowered along with a terminated instance
	CauseScaleIn     Cause = "ScaleIn"     // the service chose the instance to get down to desired
	CauseHealth      Cause = "Health"      // the machine was dead or unhealthy
	CauseRefresh     Cause = "Refresh"     // an instance refresh replaces the instance
	CauseGroupDelete Cause = "GroupDelete" // the whole group goes
	CauseForeign     Cause = "Foreign"     // somebody else: SetDesired, SetBounds, an operator, a scheduled action, an alarm
)

// Event is one thing that happened in the world, whoever caused it.
type Event struct {
	Time     time.Time
	Kind     EventKind
	Group    string
	Instance string // empty for events of the group
	Cause    Cause  // of Ending, Gone and DesiredChanged
	Call     int    // Number of the request that caused it; for ScaleIn the one that last lowered desired; 0: none
	From, To int    // of DesiredChanged
	Detail   string
}

// tell records an event of this moment.
func (w *world) tell(e Event) {
	e.Time = w.now
	if e.Call == 0 && e.Cause != CauseScaleIn {
		e.Call = w.call
	}
	w.events = append(w.events, e)
}

// setDesired changes the desired capacity of a group, without a look at its bounds.
func (w *world) setDesired(g *group, n int, cause Cause) {
	if n == g.Desired {
		return
	}
	w.tell(Event{Kind: EventDesiredChanged, Group: g.Name, Cause: cause, From: g.Desired, To: n})
	if n > g.Desired {
		g.retryAt = time.Time{} // a new request is tried at once
		g.why = "a user request explicitly set group desired capacity"
	} else {
		g.loweredBy = w.call
	}
	g.Desired = n
	w.touch(g)
}
