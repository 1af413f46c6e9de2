package podinjection

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/report"
)

const (
	// firstPause and longestPause bound for how long a controller is left out whose copies nobody could help; each pause in a row is half as long again
	// as the one before.
	firstPause   = 5 * time.Minute
	longestPause = 30 * time.Minute
)

// BackOff says which controllers are left out, by their UIDs. It can be stored as JSON; nil: none is. It is a value: After makes another one.
type BackOff map[types.UID]Pause

// Pause is until when a controller is left out, and for how long it is in all.
type Pause struct {
	Until  time.Time
	Length time.Duration
}

// active says whether the controller is left out.
func (b BackOff) active(controller types.UID, at time.Time) bool {
	return at.Before(b[controller].Until)
}

// After is what follows from an iteration: a controller whose copies nobody could help is left out for a while, longer each time in a row; one whose
// copies were helped, or that misses no pods any more, begins anew. told is what Settle told; controllers that are not in it and not left out
// any more are forgotten.
func (b BackOff) After(at time.Time, told []report.Injection) BackOff {
	var out BackOff
	keep := func(controller types.UID, pause Pause) {
		if out == nil {
			out = BackOff{}
		}
		out[controller] = pause
	}
	for controller, pause := range b {
		if at.Before(pause.Until) {
			keep(controller, pause)
		}
	}
	for _, injection := range told {
		before, known := b[injection.UID]
		switch {
		case b.active(injection.UID, at), injection.Fitting+injection.Triggered+injection.Awaiting > 0:
		case injection.Unhelped > 0:
			length := firstPause
			if known {
				length = min(before.Length+before.Length/2, longestPause)
			}
			keep(injection.UID, Pause{Until: at.Add(length), Length: length})
		case known: // nothing is known of its copies: they wait for a purchase, or are too young
			keep(injection.UID, before)
		}
	}
	return out
}
