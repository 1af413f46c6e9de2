package aws

import (
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// overlayLife is how long an answer of AWS that contradicts our own write is taken for an old one. AWS's listings lag by seconds.
const overlayLife = time.Minute

// overlay is what our own writes did to a group and AWS may not show yet. It is laid over every answer until an answer that was asked
// for after the write shows it.
type overlay struct {
	writes []desiredWrite    // that no answer has confirmed yet, in their order
	ending map[string]moment // ids of instances that AWS has agreed to end
}

// desiredWrite is one write of ours that changed the desired capacity.
type desiredWrite struct {
	from, to int
	ended    string // the machine that was ended with it; empty: the capacity itself was written
	at       moment
}

// moment is a point in the order of our own questions and writes, and the time of it.
type moment struct {
	sequence uint64
	at       time.Time // by our own clock, which may jump
	server   time.Time // by that of AWS, as far as known
}

// since is how long before m another moment was. Where our own clock and that of AWS differ, one of them jumped: the shorter time counts, for
// all that waits is safe. A time that never passes isn't: clocks that went backwards are passed over.
func (m moment) since(earlier moment) time.Duration {
	own, theirs := m.at.Sub(earlier.at), m.server.Sub(earlier.server)
	switch {
	case m.server.IsZero() || earlier.server.IsZero() || theirs < 0:
		return max(own, 0)
	case own < 0:
		return theirs
	default:
		return min(own, theirs)
	}
}

// active tells whether something waits to be confirmed.
func (o *overlay) active() bool { return len(o.writes) > 0 || len(o.ending) > 0 }

// wrote notes that the desired capacity went from one value to another.
func (o *overlay) wrote(from, to int, at moment) {
	o.writes = append(o.writes, desiredWrite{from: from, to: to, at: at})
}

// ended notes that AWS agreed to end an instance. from and to are the desired capacity before and after, equal if it stays.
func (o *overlay) ended(id string, from, to int, at moment) {
	if o.ending == nil {
		o.ending = map[string]moment{}
	}
	o.ending[id] = at
	if from != to {
		o.writes = append(o.writes, desiredWrite{from: from, to: to, ended: id, at: at})
	}
}

// apply lays the writes over an answer to a question that was put at asked, and forgets what the answer confirms.
func (o *overlay) apply(group asg.Group, asked moment) asg.Group {
	group.Desired = o.desired(group, asked)
	if len(o.ending) == 0 {
		return group
	}
	group.Instances = slices.Clone(group.Instances)
	listed := map[string]bool{}
	for i, instance := range group.Instances {
		at, ours := o.ending[instance.ID]
		if !ours {
			continue
		}
		old := asked.sequence < at.sequence || asked.since(at) < overlayLife
		if !instance.Lifecycle.Phase().Counts() && asked.sequence > at.sequence || !old {
			continue
		}
		listed[instance.ID] = true
		group.Instances[i].Lifecycle = asg.Terminating
	}
	for id, at := range o.ending {
		if !listed[id] && asked.sequence > at.sequence {
			delete(o.ending, id)
		}
	}
	return group
}

// desired reads the desired capacity of an answer in the light of our own writes. An answer may be older than the last of them although it was asked
// for later. How many of them it shows at least and at most, the machines tell that were ended with them: AWS changes both together. Between
// those two the value itself decides, for as long as answers may lag.
func (o *overlay) desired(group asg.Group, asked moment) int {
	if len(o.writes) == 0 {
		return group.Desired
	}
	last := o.writes[len(o.writes)-1]
	if asked.sequence < last.at.sequence {
		return last.to
	}
	least, most := 0, len(o.writes)
	for i, w := range o.writes {
		if w.ended == "" {
			continue
		}
		if instance, listed := group.Instance(w.ended); listed && instance.Lifecycle.Phase().Counts() {
			most = min(most, i)
		} else {
			least = i + 1
		}
	}
	lagging := asked.since(last.at) < overlayLife
	if lagging && group.Desired == last.to && most < len(o.writes) {
		return last.to // the capacity is new, the list of machines isn't
	}
	for shown := least; lagging && shown <= most && shown < len(o.writes); shown++ {
		if group.Desired == o.writes[shown].from && group.Desired != last.to {
			return last.to
		}
	}
	if !lagging || most == len(o.writes) { // confirmed, or somebody else has changed it since
		o.writes = nil
		return group.Desired
	}
	// Somebody else wrote, and AWS is still to take away what goes with machines that the answer lists as running.
	for _, w := range o.writes[most:] {
		if w.ended != "" {
			group.Desired -= w.from - w.to
		}
	}
	return max(group.Desired, 0)
}
