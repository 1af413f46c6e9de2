package document

import (
	"encoding/json"
	"slices"
	"strings"
)

// expectationSpec is an expectation as it is written.
type expectationSpec struct {
	By        *Duration `json:"by,omitempty"`
	At        *Duration `json:"at,omitempty"`
	Always    *bool     `json:"always,omitempty"`
	Never     *bool     `json:"never,omitempty"`
	Total     *bool     `json:"total,omitempty"`
	OrAlready bool      `json:"orAlready,omitempty"`

	NodeGroup      string   `json:"nodeGroup,omitempty"`
	TargetSize     *int     `json:"targetSize,omitempty"`
	MinTargetSize  *int     `json:"minTargetSize,omitempty"`
	MaxTargetSize  *int     `json:"maxTargetSize,omitempty"`
	PendingPods    *int     `json:"pendingPods,omitempty"`
	Removed        []string `json:"removed,omitempty"`
	UndrainedEnded *int     `json:"undrainedEnded,omitempty"`

	Event  string `json:"event,omitempty"`
	Pod    string `json:"pod,omitempty"`
	Node   string `json:"node,omitempty"`
	Reason string `json:"reason,omitempty"`

	Increases *int `json:"increases,omitempty"`
	Deletes   *int `json:"deletes,omitempty"`
	Evictions *int `json:"evictions,omitempty"`
}

// eventTypes are the types of the lines of the output that tell of something that happened.
func eventTypes() []string {
	return []string{
		"GroupBackedOff", "GroupSetAside", "IterationFailed", "NoScaleUp", "NodeKept", "NodeNeeded", "NodeReady", "NodeRemoved", "NodeUnneeded", "Notice", "Restarted",
		"ScaleDown", "ScaleDownFailed", "ScaleUp", "ScaleUpFailed",
	}
}

// expectation makes an expectation of what is written and reports what is wrong with it.
func (w *expectationSpec) expectation(report at) Expectation {
	e := Expectation{
		OrAlready: w.OrAlready, NodeGroup: w.NodeGroup, TargetSize: w.TargetSize, MinTargetSize: w.MinTargetSize, MaxTargetSize: w.MaxTargetSize,
		PendingPods: w.PendingPods, Removed: w.Removed, UndrainedEnded: w.UndrainedEnded, Event: w.Event, Pod: w.Pod, Node: w.Node, Reason: w.Reason,
		Increases: w.Increases, Deletes: w.Deletes, Evictions: w.Evictions,
	}
	if text, err := json.Marshal(w); err == nil {
		e.Text = string(text)
	}
	w.when(&e, report)
	for _, count := range []struct {
		name  string
		value *int
	}{
		{"targetSize", w.TargetSize}, {"minTargetSize", w.MinTargetSize}, {"maxTargetSize", w.MaxTargetSize}, {"pendingPods", w.PendingPods},
		{"undrainedEnded", w.UndrainedEnded}, {"increases", w.Increases}, {"deletes", w.Deletes}, {"evictions", w.Evictions},
	} {
		notNegative(count.value, count.name, report)
	}
	e.check(report)
	return e
}

// when takes over at which times the expectation must hold.
func (w *expectationSpec) when(e *Expectation, report at) {
	var said []string
	for _, t := range []struct {
		name  string
		when  When
		value *Duration
	}{{"by", WhenBy, w.By}, {"at", WhenAt, w.At}} {
		if t.value != nil {
			said = append(said, t.name)
			e.When, e.Time = t.when, t.value.Duration
			notNegativeTime(t.value, t.name, report)
		}
	}
	for _, t := range []struct {
		name  string
		when  When
		value *bool
	}{{"always", WhenAlways, w.Always}, {"never", WhenNever, w.Never}, {"total", WhenTotal, w.Total}} {
		if t.value == nil {
			continue
		}
		said = append(said, t.name)
		e.When = t.when
		if !*t.value {
			report.bad(t.name, "is false: want true, or leave it out")
		}
	}
	switch len(said) {
	case 0:
		report.bad("", "says not when: want one of by, at, always, never and total")
	case 1:
	default:
		report.bad("", "has %s: want one of by, at, always, never and total", strings.Join(said, " and "))
	}
	if e.OrAlready && e.When != WhenBy {
		report.bad("orAlready", "goes with by only")
	}
}

// check reports what doesn't go together.
func (e *Expectation) check(report at) {
	sorts := 0
	for _, sort := range []bool{e.conditional(), e.Event != "", e.totals()} {
		if sort {
			sorts++
		}
	}
	switch {
	case sorts == 0:
		report.bad("", "expects nothing: want sizes, pendingPods, removed, undrainedEnded, an event or totals")
	case sorts > 1:
		report.bad("", "mixes conditions, events and totals: want an expectation for each")
	case e.totals() && e.When != WhenTotal:
		report.bad("", "increases, deletes and evictions go with total only")
	case !e.totals() && e.When == WhenTotal:
		report.bad("total", "goes with increases, deletes and evictions only")
	}
	switch {
	case e.sizes() && e.NodeGroup == "":
		report.bad("nodeGroup", "is required with a target size")
	case !e.sizes() && e.NodeGroup != "" && e.conditional():
		report.bad("nodeGroup", "goes with a target size, an event or totals")
	}
	if e.When == WhenAlways && len(e.Removed) > 0 {
		report.bad("removed", "can't hold always: want by, at or never")
	}
	e.checkEvent(report)
}

// sizes tells whether it is about the size of a group.
func (e *Expectation) sizes() bool {
	return e.TargetSize != nil || e.MinTargetSize != nil || e.MaxTargetSize != nil
}

// conditional tells whether it is about conditions of the cluster.
func (e *Expectation) conditional() bool {
	return e.sizes() || e.PendingPods != nil || len(e.Removed) > 0 || e.UndrainedEnded != nil
}

// totals tells whether it is about the play as a whole.
func (e *Expectation) totals() bool {
	return e.Increases != nil || e.Deletes != nil || e.Evictions != nil
}

func (e *Expectation) checkEvent(report at) {
	if e.Event == "" {
		for _, narrowing := range []struct{ name, value string }{{"pod", e.Pod}, {"node", e.Node}, {"reason", e.Reason}} {
			if narrowing.value != "" {
				report.bad(narrowing.name, "goes with an event only")
			}
		}
		return
	}
	if !slices.Contains(eventTypes(), e.Event) {
		report.bad("event", "there is no event %q: want one of %s", e.Event, strings.Join(eventTypes(), ", "))
	}
	if e.When == WhenAt || e.When == WhenAlways {
		report.bad("event", "happens once: want by or never")
	}
	if e.Pod != "" && strings.Count(e.Pod, "/") != 1 {
		report.bad("pod", "is %q, want namespace/name", e.Pod)
	}
}
