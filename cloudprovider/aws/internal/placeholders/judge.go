package placeholders

import (
	"cmp"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

const (
	// slack allows for launches that AWS dates a little before the request.
	slack = 60 * time.Second
	// patience is how long AWS may take to turn to another zone after a failure, while nothing is under way. It is less than the time between two
	// looks, so that a failure is held by the second look that shows it.
	patience = 8 * time.Second
	// persistence is how long AWS may go on trying and failing, with something under way all the time, until a place counts as failed.
	persistence = 30 * time.Second
	// forgotten is when a failure that was not held against a place is no longer news: AWS has tried again since, or it succeeded.
	forgotten = 90 * time.Second
)

// Look is what DescribeScalingActivities said.
type Look struct {
	Activities []asg.Activity // since Since, any order
	Launching  int            // launches under way whose machine isn't listed
	Zones      []string       // of the group
	// Type is the one that all machines of the group have; empty: there are several.
	Type string
	Now  time.Time // of AWS
	// Ours is the same moment by our own clock, which the ends of pauses are told in.
	Ours time.Time
}

// Failure is a failed launch that was held against a place.
type Failure struct {
	cloudprovider.InstanceError
	Cause asg.Cause
	// Zone and Type are empty where they aren't known.
	Zone, Type string
	Spot       bool
}

// Since is the start of the first activity that can tell something about the open places, or notBefore if that is later. It is the zero
// time when there is nothing to ask.
func (l *Ledger) Since(notBefore time.Time) time.Time {
	var since time.Time
	for _, p := range l.open {
		if since.IsZero() || p.from.Before(since) {
			since = p.from
		}
	}
	if len(l.open) == 0 {
		return time.Time{}
	}
	since = since.Add(-slack)
	if since.Before(notBefore) {
		return notBefore
	}
	return since
}

// Judge holds failed launches against places, one each, and returns the failures it held. Places for which a launch is under way stay hopeful: a
// failed first try that AWS repeats is no failure until it has lasted for a while.
func (l *Ledger) Judge(look Look) []Failure {
	failures := l.news(look)
	l.looked = true
	var held []Failure
	for _, a := range failures {
		age := look.Now.Sub(ended(a))
		if age < patience && mayGoElsewhere(a, look) {
			continue
		}
		room := l.hopeful() - look.Launching
		if room <= 0 && age >= persistence && l.hopeful() > 0 && l.hopeful() == len(l.open) {
			room = 1 // AWS keeps trying and failing: one place at least is in trouble
		}
		if room <= 0 && age < forgotten {
			continue
		}
		if failure := failureOf(a, look); room > 0 && l.condemn(failure) {
			held = append(held, failure)
		}
		l.remember(a)
	}
	l.forget(look)
	return held
}

// news lists the failed launches that have not been reckoned with, the oldest first.
func (l *Ledger) news(look Look) []asg.Activity {
	var failures []asg.Activity
	var success time.Time
	for _, a := range look.Activities {
		if !a.Launches() {
			continue
		}
		if a.Status == asg.StatusSuccessful && a.Start.After(success) {
			success = a.Start
		}
		if _, known := l.judged[a.ID]; !known && a.Failure() != nil {
			failures = append(failures, a)
		}
	}
	if !l.looked { // what failed before we were watching and before the last success is history
		failures = slices.DeleteFunc(failures, func(a asg.Activity) bool { return a.Start.Before(success) })
	}
	slices.SortStableFunc(failures, func(a, b asg.Activity) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
	})
	return failures
}

// failureOf says what failed, and until when the same would fail again.
func failureOf(a asg.Activity, look Look) Failure {
	failure := Failure{InstanceError: *a.Failure(), Cause: a.FailureCause(), Zone: a.Zone(), Type: cmp.Or(a.InstanceType(), look.Type), Spot: a.Spot()}
	if pause := failure.Cause.Pause(); pause > 0 {
		failure.Until = look.Ours.Add(pause - max(0, look.Now.Sub(ended(a))))
	}
	return failure
}

func (l *Ledger) condemn(failure Failure) bool {
	i := slices.IndexFunc(l.open, func(p Place) bool { return p.Failure == nil })
	if i < 0 {
		return false
	}
	l.open[i].Failure, l.open[i].Zone, l.open[i].Type = &failure.InstanceError, failure.Zone, failure.Type
	return true
}

func (l *Ledger) remember(a asg.Activity) {
	if l.judged == nil {
		l.judged = map[string]time.Time{}
	}
	l.judged[a.ID] = a.Start
}

// forget drops the memory of activities that no later look can contain.
func (l *Ledger) forget(look Look) {
	since := l.Since(time.Time{})
	for id, start := range l.judged {
		if since.IsZero() && look.Now.Sub(start) > time.Hour || start.Before(since) {
			delete(l.judged, id)
		}
	}
}

// mayGoElsewhere tells whether AWS has a zone left in which it has not failed for lack of capacity.
func mayGoElsewhere(a asg.Activity, look Look) bool {
	if a.Zone() == "" || a.Failure().Class != cloudprovider.ErrorClassOutOfResources {
		return false
	}
	for _, zone := range look.Zones {
		failed := slices.ContainsFunc(look.Activities, func(other asg.Activity) bool {
			return other.Launches() && other.Failed() && other.Zone() == zone
		})
		if !failed {
			return true
		}
	}
	return false
}

func ended(a asg.Activity) time.Time {
	if a.End.IsZero() {
		return a.Start
	}
	return a.End
}
