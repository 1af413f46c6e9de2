package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/scenario/document"
)

// expectation is one expectation while it is watched.
type expectation struct {
	document.Expectation
	// contrary is set once it could become true: its value was seen to be false, or an entry of the timeline has happened.
	contrary bool
	// settled is set once nothing more can come of it.
	settled bool
	// last is the value that was seen last, in words.
	last string
}

// court watches the expectations of a play.
type court struct {
	w       *world
	cases   []*expectation
	entries []time.Duration // when the timeline's entries happen, ascending
	failed  int
}

// undrained is the expectation that nobody has to ask for.
const undrained = `{"always":true,"undrainedEnded":0}`

func newCourt(w *world, expected []document.Expectation, entries []time.Duration) *court {
	c := &court{w: w, entries: entries}
	asked := false
	for _, e := range expected {
		asked = asked || e.UndrainedEnded != nil
		c.cases = append(c.cases, &expectation{Expectation: e})
	}
	if !asked {
		zero := 0
		c.cases = append(c.cases, &expectation{Expectation: document.Expectation{When: document.WhenAlways, UndrainedEnded: &zero, Text: undrained}})
	}
	return c
}

// open looks at the world before anything has happened: what is not true then may become so.
func (c *court) open() {
	for _, e := range c.cases {
		if e.When == document.WhenBy && e.Event == "" {
			holds, _ := c.holds(e)
			e.contrary = !holds
		}
	}
}

// hear lets expectations about events know of a line.
func (c *court) hear(l line) {
	h := l.head()
	for _, e := range c.cases {
		if e.settled || e.Event == "" || e.Event != h.Type || !l.subjects().has(e.Pod, e.Node, e.NodeGroup, e.Reason) {
			continue
		}
		at := time.Duration(h.At * float64(time.Second))
		switch e.When {
		case document.WhenBy:
			e.settled = at <= e.Time
		case document.WhenAt:
			e.settled = at == ceil(e.Time)
		case document.WhenNever:
			c.fail(e, "it happened")
		case document.WhenAlways, document.WhenTotal, document.WhenUnset:
		}
	}
}

// judge looks at the world at the end of a step.
func (c *court) judge() {
	since := c.w.since()
	for _, e := range c.cases {
		if e.settled || e.When == document.WhenTotal {
			continue
		}
		if e.Event != "" {
			c.overdue(e, since, "no such line")
			continue
		}
		holds, got := c.holds(e)
		e.last = got
		switch e.When {
		case document.WhenAlways:
			if !holds {
				c.fail(e, got)
			}
		case document.WhenNever:
			if holds {
				c.fail(e, got)
			}
		case document.WhenAt:
			if since >= ceil(e.Time) {
				e.settled = holds
				c.overdue(e, since, got)
			}
		case document.WhenBy:
			c.watch(e, holds, since)
			c.overdue(e, since, e.words())
		case document.WhenTotal, document.WhenUnset:
		}
	}
}

// watch settles an expectation that something becomes true: it is true after it was false, or after the last entry of the timeline before its
// time.
func (c *court) watch(e *expectation, holds bool, since time.Duration) {
	latest, entered := c.latestEntry(e.Time)
	switch {
	case !holds:
		e.contrary = true
	case entered && since < latest: // that entry may undo it
	case e.contrary, e.OrAlready, entered:
		e.settled = since <= e.Time
	}
}

// latestEntry is when the last entry of the timeline up to a time happens; false: none does.
func (c *court) latestEntry(until time.Duration) (at time.Duration, found bool) {
	for _, entry := range c.entries {
		if entry <= until {
			at, found = entry, true
		}
	}
	return at, found
}

func (e *expectation) words() string {
	if e.contrary {
		return e.last
	}
	return e.last + " from the start"
}

// overdue fails an expectation whose time has come. Until then it may still be met.
func (c *court) overdue(e *expectation, since time.Duration, got string) {
	if !e.settled && (e.When == document.WhenBy || e.When == document.WhenAt) && since >= ceil(e.Time) {
		c.fail(e, got)
	}
}

// ceil is the first step that is not before a time.
func ceil(at time.Duration) time.Duration { return (at + time.Second - 1).Truncate(time.Second) }

// holds tells whether the conditions of an expectation are true now, and what they found.
func (c *court) holds(e *expectation) (holds bool, got string) {
	holds = true
	var found []string
	number := func(name string, value int, right bool) {
		found = append(found, fmt.Sprintf("%s %d", name, value))
		holds = holds && right
	}
	if e.TargetSize != nil || e.MinTargetSize != nil || e.MaxTargetSize != nil {
		target := c.target(e.NodeGroup)
		number("targetSize", target, (e.TargetSize == nil || target == *e.TargetSize) &&
			(e.MinTargetSize == nil || target >= *e.MinTargetSize) && (e.MaxTargetSize == nil || target <= *e.MaxTargetSize))
	}
	if e.PendingPods != nil {
		pending := len(c.w.pending())
		number("pendingPods", pending, pending == *e.PendingPods)
	}
	if e.UndrainedEnded != nil {
		number("undrainedEnded", c.w.counts.undrained, c.w.counts.undrained == *e.UndrainedEnded)
	}
	if len(e.Removed) > 0 {
		removed := slices.DeleteFunc(slices.Clone(e.Removed), func(name string) bool { return !c.w.gone[name] })
		found = append(found, fmt.Sprintf("removed [%s]", strings.Join(removed, ", ")))
		if e.When == document.WhenNever { // none of them may go
			holds = holds && len(removed) > 0
		} else {
			holds = holds && len(removed) == len(e.Removed)
		}
	}
	return holds, strings.Join(found, ", ")
}

// target is the target size of a group; -1: there is no such group.
func (c *court) target(name string) int {
	id := cloudprovider.GroupID(name)
	if target, known := c.w.targets[id]; known {
		return target
	}
	target := -1
	if group, ok := c.w.cloud.Group(id); ok {
		target = group.Target
	}
	c.w.targets[id] = target
	return target
}

// close judges what could not be judged before the end.
func (c *court) close() {
	for _, e := range c.cases {
		switch {
		case e.settled:
		case e.When == document.WhenTotal:
			c.total(e)
		case e.When == document.WhenBy || e.When == document.WhenAt:
			got := e.last
			if e.Event != "" {
				got = "no such line"
			}
			c.fail(e, strings.TrimPrefix(got+", and the play ended before", ", "))
		}
	}
}

func (c *court) total(e *expectation) {
	var found []string
	right := true
	for _, count := range []struct {
		name string
		want *int
		by   map[string]int
	}{
		{"increases", e.Increases, c.w.counts.increases},
		{"deletes", e.Deletes, c.w.counts.deletes},
		{"evictions", e.Evictions, c.w.counts.evictions},
	} {
		if count.want == nil {
			continue
		}
		got := of(count.by, e.NodeGroup)
		found = append(found, fmt.Sprintf("%s %d", count.name, got))
		right = right && got == *count.want
	}
	if !right {
		c.fail(e, strings.Join(found, ", "))
	}
}

// fail tells of an expectation that is not met, once.
func (c *court) fail(e *expectation, got string) {
	e.settled = true
	c.failed++
	text := json.RawMessage(e.Text)
	if !json.Valid(text) {
		text, _ = json.Marshal(e.Text) // a text is always encoded
	}
	c.w.tell(expectationFailed{about("ExpectationFailed", c.w.since()), text, got})
}

// pending are the pods without a node, in the order of their keys.
func (w *world) pending() []*corev1.Pod {
	return slices.DeleteFunc(byKey(w.pods.waiting), func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}
