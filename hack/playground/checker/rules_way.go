package checker

import (
	"fmt"
	"strings"
	"time"
)

// CauseRequest is the cause of an Ending whose machine somebody named, and of a DesiredChanged that somebody asked for.
const CauseRequest = "Request"

// causeDecrement is the cause of a DesiredChanged that went along with the end of a machine that somebody named, and of that end.
const causeDecrement = "Decrement"

// nothingUndrainedEnded looks at each machine at the moment when it was told to end, whoever told it.
func nothingUndrainedEnded(h *history) (string, []string) {
	var faults []string
	ended := 0
	for _, r := range h.log {
		if r.Cloud == nil || r.Cloud.Kind != Ending {
			continue
		}
		ended++
		for _, node := range h.nodes[r.Cloud.Instance] {
			var left []*podLife
			for _, pod := range h.on(node, r.Time) {
				if pod.mustMove() {
					left = append(left, pod)
				}
			}
			if len(left) > 0 {
				faults = append(faults, fmt.Sprintf("%s: machine %s (node %s) was ended with %s on it", clock(r.Time), r.Cloud.Instance, node, names(left)))
			}
		}
	}
	return fmt.Sprintf("%d machines ended", ended), faults
}

// nothingCutOff looks at each request that lowered a desired size, and for machines that the cloud then chose to end.
func nothingCutOff(h *history) (string, []string) {
	var faults []string
	lowered := 0
	failed := map[string]int{} // launches that failed since desired was last raised, by group
	for _, r := range h.log {
		if c := r.Cloud; c != nil {
			switch {
			case c.Kind == LaunchFailed:
				failed[c.Group]++
			case c.Kind == DesiredChanged && c.To > c.From:
				failed[c.Group] = 0
			case c.Kind == Ending && c.Cause != CauseRequest && c.Cause != causeDecrement:
				faults = append(faults, fmt.Sprintf("%s: nobody named machine %s of group %s, and it was ended (%s)", clock(r.Time), c.Instance, c.Group, c.Cause))
			}
			continue
		}
		c := r.Call
		if c == nil || c.DesiredTo >= c.DesiredFrom {
			continue
		}
		lowered++
		left := c.LiveFrom
		if named(c.Action) && c.LiveTo < c.LiveFrom {
			left-- // the machine that was named
		}
		coming := max(0, c.DesiredFrom-c.LiveFrom-failed[c.Group])
		if c.DesiredTo < left+coming {
			faults = append(faults, fmt.Sprintf("%s: request %d (%s) lowered group %s to %d, with %d machines left and %d on their way",
				clock(r.Time), c.Number, c.Action, c.Group, c.DesiredTo, left, coming))
		}
	}
	return fmt.Sprintf("%d requests lowered one", lowered), faults
}

// named tells whether an action ends a machine that it names.
func named(action string) bool {
	return action == "TerminateInstanceInAutoScalingGroup" || action == "DeleteNode"
}

// withinBounds looks at every change of a desired size.
func withinBounds(h *history) (string, []string) {
	var faults []string
	changes := 0
	for _, r := range h.log {
		c := r.Cloud
		if c == nil || c.Kind != DesiredChanged {
			continue
		}
		changes++
		group, ok := h.group(c.Group)
		switch {
		case !ok:
			faults = append(faults, fmt.Sprintf("%s: group %s isn't part of the story", clock(r.Time), c.Group))
		case c.To > group.Max:
			faults = append(faults, fmt.Sprintf("%s: group %s was set to %d, above its maximum of %d", clock(r.Time), c.Group, c.To, group.Max))
		case c.To < c.From && c.To < group.Min:
			faults = append(faults, fmt.Sprintf("%s: group %s was lowered to %d, below its minimum of %d", clock(r.Time), c.Group, c.To, group.Min))
		}
	}
	return fmt.Sprintf("%d changes of size", changes), faults
}

// nothingBoughtTwice compares what was ordered and launched with what the story says, and looks for a pod on each new machine.
func nothingBoughtTwice(h *history) (string, []string) {
	var faults []string
	used := map[string]bool{}
	for _, life := range h.pods {
		used[life.Node] = used[life.Node] || life.mustMove()
	}
	ordered := map[string]int{}
	for _, r := range h.log {
		if c := r.Cloud; c != nil && c.Kind == DesiredChanged && c.To > c.From {
			ordered[c.Group] += c.To - c.From
		}
	}
	launched := h.launched()
	sum := 0
	for _, group := range h.story.Groups {
		machines := launched[group.Name]
		sum += len(machines)
		if ordered[group.Name] != group.Bought || len(machines) != group.Bought {
			faults = append(faults, fmt.Sprintf("group %s: %d machines ordered and %d launched, want %d", group.Name, ordered[group.Name], len(machines), group.Bought))
		}
		for _, id := range machines {
			idle := true
			for _, node := range h.nodes[id] {
				idle = idle && !used[node]
			}
			if idle {
				faults = append(faults, fmt.Sprintf("group %s: no pod ever ran on machine %s", group.Name, id))
			}
		}
	}
	return fmt.Sprintf("%d machines bought", sum), faults
}

// budgetsKept counts the healthy pods behind each budget after every change. Before there were enough of them for the first time, a
// budget forbids nothing that could have been overdrawn.
func budgetsKept(h *history) (string, []string) {
	var faults []string
	w := budgetWatch{budgets: map[string]PDB{}, healthy: map[string]map[string]bool{}, filled: map[string]bool{}, short: map[string]bool{}, lowest: map[string]int{}}
	evictions := 0
	for _, r := range h.log {
		switch {
		case r.Write != nil && r.Write.Resource == "pods/eviction" && r.Write.accepted():
			evictions++
		case r.PDB != nil || r.Pod != nil:
			w.see(r)
			faults = append(faults, w.judge(r.Time)...)
		}
	}
	if len(w.filled) == 0 {
		faults = append(faults, "there was no budget to keep")
	}
	seen := []string{fmt.Sprintf("%d evictions", evictions)}
	for _, name := range keys(w.lowest) {
		seen = append(seen, fmt.Sprintf("fewest healthy pods behind budget %s: %d", name, w.lowest[name]))
	}
	return strings.Join(seen, "; "), faults
}

// budgetWatch is the budgets and the pods behind them at a time.
type budgetWatch struct {
	budgets map[string]PDB             // by name
	healthy map[string]map[string]bool // app → UIDs of its healthy pods
	filled  map[string]bool            // by budget: there were enough of them once
	short   map[string]bool            // by budget: there are too few
	lowest  map[string]int             // by budget: fewest healthy pods since it was filled
}

func (w *budgetWatch) see(r Record) {
	switch pdb, pod := r.PDB, r.Pod; {
	case pdb != nil && pdb.Gone:
		delete(w.budgets, pdb.Name)
	case pdb != nil:
		w.budgets[pdb.Name] = *pdb
	default:
		if w.healthy[pod.App] == nil {
			w.healthy[pod.App] = map[string]bool{}
		}
		delete(w.healthy[pod.App], pod.UID)
		if pod.Healthy && !pod.Ending && !pod.ended() {
			w.healthy[pod.App][pod.UID] = true
		}
	}
}

// judge returns the budgets that have just become overdrawn.
func (w *budgetWatch) judge(now time.Time) []string {
	var faults []string
	for _, name := range keys(w.budgets) {
		budget := w.budgets[name]
		n := len(w.healthy[budget.App])
		enough := n >= budget.Least
		w.filled[name] = w.filled[name] || enough && budget.Least > 0
		if !w.filled[name] {
			continue
		}
		if low, ok := w.lowest[name]; !ok || n < low {
			w.lowest[name] = n
		}
		if !enough && !w.short[name] {
			faults = append(faults, fmt.Sprintf("%s: app %s has %d healthy pods, its budget %s demands %d", clock(now), budget.App, n, name, budget.Least))
		}
		w.short[name] = !enough
	}
	return faults
}

// nobodyElse looks for writes that weren't the autoscaler's, or not of the kind that it may do.
func nobodyElse(h *history) (string, []string) {
	var faults []string
	calls := 0
	for _, r := range h.log {
		switch w, c := r.Write, r.Cloud; {
		case r.Call != nil:
			calls++
		case c != nil && c.Call == 0 && (c.Kind == DesiredChanged || c.Kind == Ending):
			faults = append(faults, fmt.Sprintf("%s: %s in group %s without a request (%s)", clock(r.Time), c.Kind, c.Group, c.Cause))
		case w == nil || !w.accepted():
		case w.Resource == "pods/eviction" && w.User != h.story.Autoscaler:
			faults = append(faults, fmt.Sprintf("%s: %s evicted pod %s/%s", clock(r.Time), w.User, w.Namespace, w.Name))
		case w.Resource == "pods" && w.User == h.story.Autoscaler:
			faults = append(faults, fmt.Sprintf("%s: the autoscaler did a %s on pod %s/%s; it may only evict", clock(r.Time), w.Verb, w.Namespace, w.Name))
		case w.Resource == "nodes" && w.Verb == "delete" && w.User != h.story.Machines:
			faults = append(faults, fmt.Sprintf("%s: %s removed node %s; its machine's end does that", clock(r.Time), w.User, w.Name))
		}
	}
	return fmt.Sprintf("%d writing requests to the cloud", calls), faults
}

// clock shows a time of the story.
func clock(t time.Time) string { return t.Format("15:04:05.000") }
