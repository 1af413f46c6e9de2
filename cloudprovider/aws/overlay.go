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
	desired    int   // valid if superseded is not empty
	superseded []int // values that desired had before, since the last confirmed answer
	wroteAt    moment
	ending     map[string]moment // ids of instances that AWS has agreed to end
}

// moment is a point in the order of our own questions and writes, and the time of it.
type moment struct {
	sequence uint64
	at       time.Time
}

// active tells whether something waits to be confirmed.
func (o *overlay) active() bool { return len(o.superseded) > 0 || len(o.ending) > 0 }

// wrote notes that the desired capacity went from one value to another.
func (o *overlay) wrote(from, to int, at moment) {
	o.superseded = append(slices.DeleteFunc(o.superseded, func(d int) bool { return d == to }), from)
	o.desired, o.wroteAt = to, at
}

// ended notes that AWS agreed to end an instance.
func (o *overlay) ended(id string, at moment) {
	if o.ending == nil {
		o.ending = map[string]moment{}
	}
	o.ending[id] = at
}

// apply lays the writes over an answer to a question that was put at asked, and forgets what the answer confirms.
func (o *overlay) apply(group asg.Group, asked moment) asg.Group {
	if len(o.superseded) > 0 {
		switch {
		case asked.sequence < o.wroteAt.sequence:
			group.Desired = o.desired
		case group.Desired != o.desired && slices.Contains(o.superseded, group.Desired) && asked.at.Sub(o.wroteAt.at) < overlayLife:
			group.Desired = o.desired
		default: // confirmed, or somebody else has changed it since
			o.superseded = nil
		}
	}
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
		if !instance.Lifecycle.Phase().Counts() && asked.sequence > at.sequence {
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
