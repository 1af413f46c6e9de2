package cloudprovider

import (
	"fmt"
	"time"
)

// CallObserver is told about each request to a cloud's API, retries included once each. It must not block and may be called concurrently.
type CallObserver interface {
	ObserveCall(call Call)
}

// Call is one finished request to a cloud's API.
type Call struct {
	Provider string // name of the provider
	// Service is the API that was asked, for example autoscaling; empty: the cloud has only one.
	Service   string
	Operation string // the API's own name for the operation
	Duration  time.Duration
	// Code is "success", else the API's error code, else "error".
	Code string
	// Throttled is true if the API refused the request because there were too many of them.
	Throttled bool
}

// ObserverFunc makes a function a CallObserver.
type ObserverFunc func(Call)

// ObserveCall calls the function.
func (f ObserverFunc) ObserveCall(call Call) { f(call) }

// EventObserver is what a CallObserver may be besides: it is told what happened in a provider. The same rules hold.
type EventObserver interface {
	ObserveEvent(event Event)
}

// Event is one thing that happened in a provider and is worth counting.
type Event struct {
	Kind     EventKind
	Provider string // name of the provider
	// Group is the node group that it is about; empty: none.
	Group GroupID
	// Code is the cloud's word for what went wrong; "success" where nothing did.
	Code string
	// At is when it began, Duration how long it took; zero for what takes no time.
	At       time.Time
	Duration time.Duration
}

// EventKind tells events apart.
type EventKind int

// The kinds.
const (
	EventUnset         EventKind = iota
	EventRefreshed               // all node groups were read, or could not be
	EventLaunchFailed            // a machine that was asked for did not come
	EventSizeCorrected           // a target was raised again because there were more machines than were known when it was written
)

// String returns the word used in logs.
func (k EventKind) String() string {
	switch k {
	case EventUnset:
		return "unset"
	case EventRefreshed:
		return "refreshed"
	case EventLaunchFailed:
		return "launch failed"
	case EventSizeCorrected:
		return "size corrected"
	default:
		return fmt.Sprintf("EventKind(%d)", int(k))
	}
}
