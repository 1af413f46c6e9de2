package scaledown

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/taints"
)

// remember replaces the timers by those of the nodes found removable and of those whose turn did not come, and ages the hints.
func (u *update) remember() {
	unneeded, resting := map[string]timer{}, map[string]timer{}
	for _, r := range u.found {
		t, was := u.timerOf(r.node)
		if !was {
			t = timer{since: u.now}
		}
		t.uid = r.node.UID
		unneeded[r.node.Name], r.since = t, t.since
	}
	if len(u.notReached) > 0 {
		for _, node := range u.in.Seen.Nodes {
			if t, was := u.timerOf(node); was && u.notReached[node.Name] {
				resting[node.Name] = t
			}
		}
	}
	u.unneeded, u.resting = unneeded, resting
	u.hints.age()
}

// timerOf is the node's timer; ok is false if it has none, or if that was of another node of the same name.
func (p *Planner) timerOf(node *corev1.Node) (t timer, ok bool) {
	if t, ok = p.unneeded[node.Name]; !ok {
		t, ok = p.resting[node.Name]
	}
	return t, ok && (t.uid == "" || t.uid == node.UID)
}

// refreshRecheck drops the entries that are over or whose node is gone.
func (u *update) refreshRecheck() {
	maps.DeleteFunc(u.recheck, func(name string, entry recheckEntry) bool {
		_, there := u.in.Snapshot.Node(name)
		return !there || !entry.until.After(u.now)
	})
}

// limit is how many nodes, of groups that need not go as a whole, are found unneeded at most (scale-down 3.4).
func (u *update) limit() int {
	n, interval := u.options.ScaleDown.MaxParallelism, u.rhythm.shortest(u.options.UnneededTime)
	longest := max(u.options.UnneededTime, interval)
	return min(len(u.unneeded)+2*n, n*int(longest/interval)+n)
}

// rhythmLength is how many of the latest intervals between plans count.
const rhythmLength = 10

// rhythm knows the intervals between the latest plans.
type rhythm struct {
	last      time.Time
	intervals []time.Duration
}

func (r *rhythm) note(now time.Time) {
	if !r.last.IsZero() {
		r.intervals = append(r.intervals, now.Sub(r.last))
		r.intervals = r.intervals[max(0, len(r.intervals)-rhythmLength):]
	}
	r.last = now
}

// shortest is the shortest of the latest intervals, but no longer than the default, and above zero.
func (r *rhythm) shortest(longest time.Duration) time.Duration {
	shortest := longest
	for _, interval := range r.intervals {
		shortest = min(shortest, interval)
	}
	return max(shortest, 1)
}

// hints remember where pods found a place in earlier simulations, over two generations: that of the plan in the making and the one before.
type hints struct {
	// current are the hints of the plan in the making, by the number of the pod.
	current []hint
	// latest are those of the plan before, old the same by pod as far as they were put in there: nobody may ask.
	latest []hint
	old    map[string]string
}

// hint is where a pod found a place; an empty node is none.
type hint struct{ pod, node string }

// of is the hint for a pod.
func (h *hints) of(who simulator.Resident) (node string, ok bool) {
	if number := who.Number(); number < len(h.current) && number >= 0 && h.current[number].node != "" {
		return h.current[number].node, true
	}
	if len(h.latest)+len(h.old) == 0 {
		return "", false
	}
	node, ok = h.before()[who.Key()]
	return node, ok
}

func (h *hints) note(who simulator.Resident, node string) {
	number := who.Number()
	if number < 0 {
		return
	}
	if number >= len(h.current) {
		h.current = append(h.current, make([]hint, number+1-len(h.current))...)
	}
	h.current[number] = hint{pod: who.Key(), node: node}
}

// before are the hints of the plan before.
func (h *hints) before() map[string]string {
	if len(h.latest) > 0 {
		h.old = make(map[string]string, len(h.latest))
		for _, hint := range h.latest {
			h.old[hint.pod] = hint.node
		}
		h.latest = nil
	}
	return h.old
}

// begin begins a plan. What one has left behind that came to nothing counts as found before: numbers of pods are good for one plan only.
func (h *hints) begin() {
	if len(h.current) == 0 {
		return
	}
	known := maps.Clone(h.before())
	if known == nil {
		known = map[string]string{}
	}
	for _, left := range h.current {
		if left.node != "" {
			known[left.pod] = left.node
		}
	}
	h.old, h.current = known, nil
}

// age ends the plan in the making.
func (h *hints) age() {
	h.latest, h.current, h.old = slices.DeleteFunc(h.current, func(h hint) bool { return h.node == "" }), nil, nil
}

// Timer is since when a node is unneeded, in a form that can be stored.
type Timer struct {
	Node string
	// UID tells the node from another one of the same name; empty: unknown.
	UID   types.UID
	Since time.Time
}

// Timers are the unneeded timers in force, by ascending name of the node.
func (p *Planner) Timers() []Timer {
	all := maps.Clone(p.resting)
	maps.Copy(all, p.unneeded)
	timers := make([]Timer, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		timers = append(timers, Timer{Node: name, UID: all[name].uid, Since: all[name].since})
	}
	return timers
}

// Restore takes over the timers of an earlier process, before the first plan; a timer that is known already stays. The caller knows how old they may
// be. A node must still be found removable by the first plan, else its timer is lost.
func (p *Planner) Restore(timers []Timer) {
	for _, t := range timers {
		if _, known := p.unneeded[t.Node]; !known {
			p.unneeded[t.Node] = timer{uid: t.UID, since: t.Since}
		}
	}
}

// Save returns the memory as it is to be stored: timers and rechecks by ascending name of the node, times in UTC. Timers of nodes whose UID is not
// known are left out. The map is shared and must not be changed.
func (p *Planner) Save() saved.Planner {
	out := saved.Planner{Hints: p.hints.before()}
	for _, t := range p.Timers() {
		if t.UID != "" {
			out.Timers = append(out.Timers, saved.Timer{Node: t.Node, UID: t.UID, Since: t.Since.UTC()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.recheck)) {
		entry := p.recheck[name]
		out.Rechecks = append(out.Rechecks, saved.Recheck{Node: name, UID: entry.uid, Until: entry.until.UTC(), First: entry.first})
	}
	return out
}

// RestoreSaved takes over the memory of an earlier process, before the first plan; what is known already stays. nodes are those that there are now:
// what was remembered of others, also of others with the same name, is dropped. Times in the future are cut. The caller knows how long
// ago the memory was current, and whether that is too long for it.
func (p *Planner) RestoreSaved(from saved.Planner, nodes []*corev1.Node, now time.Time) {
	there := make(map[string]types.UID, len(nodes))
	for _, node := range nodes {
		there[node.Name] = node.UID
	}
	var timers []Timer
	for _, t := range from.Timers {
		if uid, ok := there[t.Node]; ok && t.UID != "" && uid == t.UID {
			timers = append(timers, Timer{Node: t.Node, UID: t.UID, Since: soonest(t.Since, now)})
		}
	}
	p.Restore(timers)
	for _, r := range from.Rechecks {
		_, known := p.recheck[r.Node]
		if uid, ok := there[r.Node]; ok && uid == r.UID && !known && r.First != nil && r.Until.After(now) {
			until := soonest(r.Until, now.Add(p.options.ScaleDown.UnremovableRecheckTimeout))
			p.recheck[r.Node] = recheckEntry{uid: r.UID, first: r.First, until: until}
		}
	}
	for pod, node := range from.Hints {
		if _, ok := there[node]; !ok {
			continue
		}
		hints := p.hints.before()
		if hints == nil {
			hints = map[string]string{}
			p.hints.old = hints
		}
		hints[pod] = node
	}
}

func soonest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// RestoreFrom takes over the times that the soft taints on the nodes tell, as Restore does, where they are no older than ttl;
// 0 takes none over.
func (p *Planner) RestoreFrom(nodes []*corev1.Node, ttl time.Duration, now time.Time) {
	var timers []Timer
	for _, node := range nodes {
		taint, has := taints.Find(node, taints.DeletionCandidate)
		if !has {
			continue
		}
		if since, err := taints.Time(taint); err == nil && ttl > 0 && now.Sub(since) <= ttl {
			timers = append(timers, Timer{Node: node.Name, UID: node.UID, Since: since})
		}
	}
	p.Restore(timers)
}

// softTaint compares the marks that nodes carry with what was found. Nodes that are being removed, or are about to be, are left alone, and
// so are those whose turn did not come (scale-down 5.4).
func (u *update) softTaint(empty, drained []*removable) SoftTaint {
	var out SoftTaint
	if u.options.SoftTaints.MaxBulkCount <= 0 {
		return out
	}
	going := map[string]bool{}
	for _, r := range slices.Concat(empty, drained) {
		going[r.node.Name] = true
	}
	for _, node := range u.in.Seen.Nodes {
		_, marked := taints.Find(node, taints.DeletionCandidate)
		_, unneeded := u.unneeded[node.Name]
		if marked == unneeded {
			continue
		}
		_, hard := taints.Find(node, taints.ToBeDeleted)
		_, resting := u.resting[node.Name]
		switch {
		case u.groupOf(node) == nil || hard || going[node.Name] || resting:
		case marked:
			out.Remove = append(out.Remove, node.Name)
		default:
			out.Add = append(out.Add, node.Name)
		}
	}
	return out
}

// tooEarly says that the node has not been unneeded for long enough; nil: it has.
func (r *removable) tooEarly(now time.Time) report.Reason {
	needed := r.needed()
	switch {
	case needed <= 0 || r.since.Add(needed).Before(now):
		return nil
	case r.ready:
		return report.NotUnneededLongEnough{Since: r.since, Needed: needed}
	default:
		return report.NotUnreadyLongEnough{Since: r.since, Needed: needed}
	}
}

// needed is how long the node has to be unneeded.
func (r *removable) needed() time.Duration {
	if r.ready {
		return r.group.Options.ScaleDownUnneededTime
	}
	return r.group.Options.ScaleDownUnreadyTime
}
