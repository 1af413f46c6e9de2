package core

import (
	"cmp"
	"time"

	"example.com/cluster-autoscaler/core/report"
)

// waits knows how long nodes wait: those that could have gone, and those whose turn does not come. Owned by a Teller.
type waits struct {
	removable map[string]removableNode // by name
	passed    map[string]time.Time     // since when a node was not looked at, by name
}

// removableNode is a node that could go.
type removableNode struct {
	// due is when it was unneeded for long enough.
	due time.Time
	// held is the latest reason why it did not go then; empty: none.
	held string
}

// removal is how long a node could have gone until it did, or was needed again.
type removal struct {
	deleted bool
	reason  string
	took    time.Duration
}

// note takes in a report of an iteration that has planned removals. ended are the waits that are over; longest is for how long the node was not looked
// at for which it is longest (scale-down 5.9).
func (w *waits) note(r report.Report) (ended []removal, longest time.Duration) {
	if !planned(r.ScaleDown) {
		return nil, w.longest(r.At)
	}
	started := make(map[string]bool, len(r.ScaleDown.Started))
	for i := range r.ScaleDown.Started {
		started[r.ScaleDown.Started[i].Node] = true
	}
	before := w.removable
	w.removable = make(map[string]removableNode, len(r.ScaleDown.Unneeded))
	for _, node := range r.ScaleDown.Unneeded {
		now := removableNode{due: node.Since.Add(node.Needed), held: before[node.Node].held}
		if started[node.Node] {
			ended = append(ended, removal{deleted: true, reason: now.held, took: r.At.Sub(now.due)})
		} else {
			w.removable[node.Node] = now
		}
	}
	for _, kept := range r.ScaleDown.Kept {
		if over := w.keep(kept, before, r.At); over != nil {
			ended = append(ended, *over)
		}
	}
	passed := make(map[string]time.Time, len(r.ScaleDown.Unreached))
	for _, name := range r.ScaleDown.Unreached {
		passed[name] = r.At
		if since, known := w.passed[name]; known {
			passed[name] = since
		}
	}
	w.passed = passed
	return ended, w.longest(r.At)
}

// keep takes in why a node stays. It returns the wait of a node that could have gone before and cannot any more; nil: none is over.
func (w *waits) keep(kept report.NodeVerdict, before map[string]removableNode, at time.Time) *removal {
	code := kept.Reason.Code()
	reason := "" // as the metric knows it
	if !ownReason(code) && code != report.CodeNotUnneededLongEnough && code != report.CodeNotUnreadyLongEnough {
		reason = string(code)
	}
	if now, removable := w.removable[kept.Node]; removable {
		now.held = cmp.Or(reason, now.held)
		w.removable[kept.Node] = now
		return nil
	}
	was, waited := before[kept.Node]
	switch {
	case !waited:
		return nil
	case code == report.CodeNotReached: // its timer goes on
		w.removable[kept.Node] = was
		return nil
	default:
		return &removal{reason: cmp.Or(reason, was.held), took: at.Sub(was.due)}
	}
}

func (w *waits) longest(at time.Time) (longest time.Duration) {
	for _, since := range w.passed {
		longest = max(longest, at.Sub(since))
	}
	return longest
}
