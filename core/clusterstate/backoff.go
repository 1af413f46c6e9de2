package clusterstate

import (
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// messageLimit is how many bytes of a provider's text the status shows, the mark of the cut included.
const messageLimit = 500

const truncated = "<truncated>"

// backoff is the memory of the failures of one group (loop-and-scale-up 2.7).
type backoff struct {
	until, lastFailed time.Time
	duration          time.Duration
	failure           failure
}

// failure is why a group did not grow.
type failure struct {
	class   cloudprovider.ErrorClass
	code    string
	message string
	// notBefore is the earliest end of the back-off that the cloud named; zero: none.
	notBefore time.Time
}

// durations are the three times that steer back-off.
type durations struct{ initial, longest, reset time.Duration }

// after returns the back-off once one more failure has happened at the given time. A failure while one is active starts
// the same duration again; one after it has ended doubles it.
func (b *backoff) after(f failure, at time.Time, d durations) *backoff {
	next := backoff{duration: d.initial, lastFailed: at, failure: f}
	if b != nil {
		next.duration = b.duration
		if b.until.Before(at) {
			next.duration = min(2*b.duration, d.longest)
		}
	}
	next.until = at.Add(next.duration)
	if next.until.Before(f.notBefore) {
		next.until = f.notBefore
	}
	return &next
}

// forgotten says whether the last failure is so long ago that the next one starts from the initial duration.
func (b *backoff) forgotten(at time.Time, d durations) bool {
	return b.lastFailed.Add(d.reset).Before(at) && b.until.Before(at)
}

// failedSince says whether a failure happened at or after the given time.
func (b *backoff) failedSince(at time.Time) bool { return b != nil && !b.lastFailed.Before(at) }

// status is the back-off as told to the world; nil while none is active.
func (b *backoff) status(at time.Time) *report.Backoff {
	if b == nil || b.until.Before(at) {
		return nil
	}
	return &report.Backoff{Until: b.until, Class: b.failure.class, Code: b.failure.code, Message: cut(b.failure.message)}
}

func cut(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit-len(truncated)], "") + truncated
}
