package asg

import (
	"fmt"
	"slices"
	"time"
)

// The times of the safe cut, from spec page aws §5.5.
const (
	// settle is how long the picture of a group must have stood still. Less, and a machine on its way is easily missed.
	settle = 10 * time.Second
	// afterRaise is how long nothing is taken back after a raise of our own; AWS may not even have begun to launch.
	afterRaise = 60 * time.Second
	// raiseOver is when launches that are still under way are no longer taken for those of the last raise. They keep their place
	// all the same, but the places beside them may go.
	raiseOver = 15 * time.Minute
)

// Picture is what one look at a group showed of its machines, in as far as a cut depends on it.
type Picture struct {
	Live      []string // ids of the instances that count, sorted
	Launching int
}

// PictureOf takes the picture. now is AWS's time of the activities.
func PictureOf(group Group, activities []Activity, now time.Time) Picture {
	var ids []string
	for _, instance := range group.Live() {
		ids = append(ids, instance.ID)
	}
	slices.Sort(ids)
	return Picture{Live: ids, Launching: Launching(activities, group, now)}
}

// Equal tells whether nothing has moved between two looks.
func (p Picture) Equal(other Picture) bool {
	return p.Launching == other.Launching && slices.Equal(p.Live, other.Live)
}

// Cut is all that the decision to lower a desired capacity depends on.
type Cut struct {
	Group   Group // read just now
	Sizes   Sizes // of Group
	Picture Picture
	// Machines is how many places to withdraw, at least 1.
	Machines int
	// KeepUnits are on top of the minimum: machines that are to be ended by name in the same breath.
	KeepUnits int
	// SameFor is for how long the picture has been as it is now.
	SameFor time.Duration
	// RaisedFor is how long ago the desired capacity was last raised by us.
	RaisedFor time.Duration
}

// Decision is the answer. Desired is the capacity to write; where Why is not empty nothing may be written, and Desired is as it is.
type Decision struct {
	Desired int
	Why     string
}

// Decide applies the rules of the safe cut: never below what exists or may still arrive, never below the minimum, and not
// while something moves.
func (c Cut) Decide() Decision {
	stay := func(format string, args ...any) Decision {
		return Decision{Desired: c.Group.Desired, Why: fmt.Sprintf(format, args...)}
	}
	if c.RaisedFor < afterRaise {
		return stay("the desired capacity was raised %s ago, machines may still be on their way", c.RaisedFor.Round(time.Second))
	}
	if c.Picture.Launching > 0 && c.RaisedFor < raiseOver {
		return stay("%d launches are under way", c.Picture.Launching)
	}
	floor := max(c.Sizes.LiveUnits+c.Picture.Launching*c.Sizes.MaxUnitsPerMachine, c.Sizes.MinUnits+c.KeepUnits)
	desired := max(c.Group.Desired-c.Machines*c.Sizes.UnitsPerMachine, floor)
	if desired >= c.Group.Desired {
		return stay("the desired capacity of %d is the minimum of the group or what its machines are worth", c.Group.Desired)
	}
	if c.endsNothing() {
		return Decision{Desired: desired}
	}
	if c.SameFor < settle {
		return stay("the group has looked the same for %s only", c.SameFor.Round(time.Second))
	}
	return Decision{Desired: desired}
}

// endsNothing tells whether AWS could not end a machine even if the cut came too late.
func (c Cut) endsNothing() bool {
	if c.Group.SuspendedProcess("Terminate") {
		return true
	}
	for _, instance := range c.Group.Live() {
		if !instance.Protected {
			return false
		}
	}
	return len(c.Picture.Live) > 0
}

// Unprotected lists the ids of the instances that AWS might choose as victims and that can be protected, which only those in service can.
func (g Group) Unprotected() []string {
	var ids []string
	for _, instance := range g.Live() {
		if !instance.Protected && instance.Lifecycle == InService {
			ids = append(ids, instance.ID)
		}
	}
	return ids
}
