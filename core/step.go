package core

import (
	"context"
	"time"

	"example.com/cluster-autoscaler/core/report"
)

// rhythm is when Step makes its iterations.
type rhythm struct {
	begun bool
	// last and previous are when the last two iterations began.
	last, previous time.Time
	kind           pauseKind
	// ends is when the pause ends at the latest.
	ends time.Time
	// calm is when the burst is over unless another pod joins it, with pauseBurst.
	calm time.Time
}

// Step is Run for those who play time: it makes an iteration if Run would have begun one by now, and says whether it did. The first call makes
// one, and no two are made at one time. A wake-up that came together with the end of a pause is the iteration's own. Report and error are those of
// RunOnce. Not to be called while Run runs.
func (a *Autoscaler) Step(ctx context.Context) (told report.Report, made bool, err error) {
	now := a.clock.Now()
	if !a.due(now) {
		return report.Report{}, false, nil
	}
	a.drain()
	r := &a.rhythm
	since := r.last // of the iteration before the one that is made now
	if !r.begun {
		since = now
	}
	r.begun, r.previous, r.last = true, since, now
	told, err = a.iterate(ctx)
	kind, length := a.pause(r.previous)
	r.kind, r.ends, r.calm = kind, now.Add(length), now.Add(quiet)
	return told, true, err
}

// NextStep is when Step makes the next iteration unless a pod turns unschedulable, or the cloud changes, before; zero: at once.
func (a *Autoscaler) NextStep() time.Time {
	r := a.rhythm
	switch {
	case !r.begun:
		return time.Time{}
	case r.kind == pauseBurst && r.calm.Before(r.ends):
		return r.calm
	default:
		return r.ends
	}
}

// due tells whether an iteration has to begin.
func (a *Autoscaler) due(now time.Time) bool {
	r := &a.rhythm
	if !r.begun {
		return true
	}
	if !now.After(r.last) {
		return false
	}
	switch r.kind {
	case pauseBurst:
		if !now.Before(r.ends) {
			return true
		}
		if !now.Before(r.calm) {
			a.settled = true
			return true
		}
		if a.drain() {
			r.calm = now.Add(quiet)
		}
		return false
	case pauseOpen:
		return !now.Before(r.ends) || a.drain() || a.changed()
	case pauseNone, pauseClosed, pauseUnset:
		return !now.Before(r.ends)
	default:
		return !now.Before(r.ends)
	}
}

// changed tells whether the cloud says that something happened there.
func (a *Autoscaler) changed() bool {
	select {
	case <-a.cloud.Changed():
		return true
	default:
		return false
	}
}
