package core

import (
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
	if r.ScaleDown.Result == report.ScaleDownNotTried || r.ScaleDown.Result == "" {
		return nil, w.longest(r.At)
	}
	started := make(map[string]bool, len(r.ScaleDown.Started))
	for i := range r.ScaleDown.Started {
		started[r.ScaleDown.Started[i].Node] = true
	}
	now := make(map[string]removableNode, len(r.ScaleDown.Unneeded))
	for _, node := range r.ScaleDown.Unneeded {
		known := w.removable[node.Node]
		now[node.Node] = removableNode{due: node.Since.Add(node.Needed), held: known.held}
		if started[node.Node] {
			ended = append(ended, removal{deleted: true, reason: known.held, took: r.At.Sub(now[node.Node].due)})
			delete(now, node.Node)
			delete(w.removable, node.Node)
		}
	}
	passed := map[string]time.Time{}
	for _, kept := range r.ScaleDown.Kept {
		code := kept.Reason.Code()
		if node, removable := now[kept.Node]; removable && !ownReason(code) && code != report.CodeNotUnneededLongEnough && code != report.CodeNotUnreadyLongEnough {
			node.held = string(code)
			now[kept.Node] = node
		}
		if before, waited := w.removable[kept.Node]; waited {
			if _, still := now[kept.Node]; !still && code != report.CodeNotReached { // its timer is over, too
				why := before.held
				if !ownReason(code) {
					why = string(code)
				}
				ended = append(ended, removal{reason: why, took: r.At.Sub(before.due)})
			} else if !still {
				now[kept.Node] = before
			}
		}
	}
	for _, name := range r.ScaleDown.Unreached {
		passed[name] = r.At
		if since, before := w.passed[name]; before {
			passed[name] = since
		}
	}
	w.removable, w.passed = now, passed
	return ended, w.longest(r.At)
}

func (w *waits) longest(at time.Time) (longest time.Duration) {
	for _, since := range w.passed {
		longest = max(longest, at.Sub(since))
	}
	return longest
}
