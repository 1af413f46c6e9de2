package scaledown

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/drain"
)

// DisabledAnnotation on a node, with the value "true", forbids its removal.
const DisabledAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

// Options are the settings of a Planner.
type Options struct {
	ScaleDown  config.ScaleDown
	Drain      config.Drain
	SoftTaints config.SoftTaints
	// UnneededTime is how long a node must be unneeded where its group does not say otherwise. Only the limit on how many nodes
	// are found unneeded depends on it (scale-down 3.4).
	UnneededTime time.Duration
	// EvictedPodTTL is for how long room is kept for a pod that was evicted until its controller makes it anew; 0: not at all. No flag sets it.
	EvictedPodTTL time.Duration
}

// NewOptions takes from the command line's options what a Planner needs.
func NewOptions(from config.Options) Options {
	return Options{
		ScaleDown: from.ScaleDown, Drain: from.Drain, SoftTaints: from.SoftTaints,
		UnneededTime: from.NodeGroupDefaults.ScaleDownUnneededTime,
	}
}

// DrainRules are the options of the rules about pods.
func DrainRules(from config.ScaleDown) drain.Options {
	return drain.Options{
		SkipNodesWithSystemPods:           from.SkipNodesWithSystemPods,
		SkipNodesWithLocalStorage:         from.SkipNodesWithLocalStorage,
		SkipNodesWithCustomControllerPods: from.SkipCustomControllerPods,
		MinReplicaCount:                   from.MinReplicaCount,
		SystemPodTimeout:                  from.SystemPodDisruptionTimeout,
	}
}

// Budget says whether the time for a search is used up.
type Budget interface{ Spent() bool }

// Scheduler finds places for pods in a snapshot. *simulator.Scheduler is one.
type Scheduler interface {
	Mover(snap *simulator.Snapshot, accept func(*corev1.Node) bool) *simulator.Mover
}

// In is what one plan is made from.
type In struct {
	Seen observation.Observation
	// State is that after the repairs and the growth of this iteration.
	State clusterstate.State
	// Snapshot is that of Seen with upcoming nodes added, starting ones taken out, and pending pods placed. It is as before
	// when Plan returns.
	Snapshot *simulator.Snapshot
	// Evicted are pods that removals have moved away, in any order; those that are older than Options.EvictedPodTTL do not count.
	Evicted []Evicted
	// Budget bounds the search.
	Budget Budget
	// YoungPods: pods wait that are too young to be helped, so nothing is removed in this iteration.
	YoungPods bool
	// Explain: the reasons of nodes that are kept by their pods list all that would have to change, not just what was found first. Such a node then costs
	// as much again whenever it is looked at.
	Explain bool
}

// Plan is what is to be removed, and what is known about all other nodes.
type Plan struct {
	// Unneeded are the nodes that could go, in the order found.
	Unneeded []report.UnneededNode
	// Kept has every node that is neither in Empty nor in Drain, with the reason, by ascending name.
	Kept []report.NodeVerdict
	// Unreached are the names of the nodes whose turn did not come in the search, in its order.
	Unreached []string
	// NoRoom is the first of the evicted pods for which no room could be kept; nil: there was room for all.
	NoRoom *report.PodRef
	// CoolDown is set while nothing is removed; Empty and Drain are then empty.
	CoolDown *report.CoolDown
	// Candidates is how many nodes were candidates at all.
	Candidates int
	// Empty and Drain are the nodes to remove now, groups that go as a whole first.
	Empty, Drain []Candidate
	// SoftTaint is which nodes to mark.
	SoftTaint SoftTaint
}

// Candidate is a node to be removed.
type Candidate struct {
	Removal report.Removal
	// Node is the node as observed; shared.
	Node *corev1.Node
	// Atomic is true if the nodes of its group in one plan go together or not at all.
	Atomic bool
}

// SoftTaint is which nodes get the mark of an unneeded node and which lose it, both by ascending name.
type SoftTaint struct {
	Add, Remove []string
}

// Planner decides which nodes go. It remembers, from one plan to the next, since when nodes are unneeded, which were found not
// removable, and where pods found a place. Not safe for concurrent use: the loop owns it.
type Planner struct {
	scheduler Scheduler
	options   Options

	// unneeded holds the nodes that could go as of the latest plan, and resting those whose turn did not come in it.
	unneeded, resting map[string]timer
	recheck           map[string]recheckEntry
	hints             hints
	rhythm            rhythm
	// facts is what is known of nodes, by name; plans numbers the plans.
	facts map[string]*facts
	plans int
}

// timer is since when a node is unneeded. The UID tells it from another node of the same name; empty: unknown.
type timer struct {
	uid   types.UID
	since time.Time
}

// recheckEntry is a node that was found not removable and is not looked at for a while.
type recheckEntry struct {
	uid   types.UID
	first report.Reason
	until time.Time
}

// NewPlanner returns a Planner that remembers nothing.
func NewPlanner(scheduler Scheduler, options Options) *Planner {
	return &Planner{
		scheduler: scheduler, options: options,
		unneeded: map[string]timer{}, resting: map[string]timer{}, recheck: map[string]recheckEntry{}, facts: map[string]*facts{},
	}
}

// Plan simulates the removal of every node that may be removed, and selects those that go now. Timers are kept over plans that
// are not made at all and over those in which a node's turn did not come; only nodes whose removal succeeded in this very simulation are selected.
// An error means that the snapshot could not be used; the timers are then as before.
func (p *Planner) Plan(ctx context.Context, in In) (Plan, error) {
	u := p.newUpdate(in)
	candidates := u.candidates()
	if err := u.search(ctx, candidates); err != nil {
		return Plan{}, fmt.Errorf("planning removals: %w", err)
	}
	u.remember()
	u.forgetFacts()
	coolDown := u.coolDown()
	empty, drained := u.crop(u.wholeGroups(u.selectable()))
	if coolDown != nil {
		for _, r := range slices.Concat(empty, drained) {
			u.keep(r.node, *coolDown)
		}
		empty, drained = nil, nil
	}
	plan := Plan{CoolDown: coolDown, Candidates: len(candidates), Empty: u.chosen(empty), Drain: u.chosen(drained)}
	for _, r := range u.found {
		plan.Unneeded = append(plan.Unneeded, report.UnneededNode{Node: r.node.Name, Group: r.group.ID, Since: r.since, Needed: r.needed(), Drain: len(r.move) > 0})
	}
	plan.Kept, plan.Unreached, plan.NoRoom = u.kept(empty, drained), u.unreached, u.noRoom
	plan.SoftTaint = u.softTaint(empty, drained)
	return plan, nil
}

// update is one plan in the making.
type update struct {
	*Planner
	in   In
	now  time.Time
	byID map[string]*group
	// asked is the node whose group was asked for last, groupAsked that group: several steps ask about one node.
	asked      *corev1.Node
	groupAsked *group
	// deleting are the nodes whose removal is in progress.
	deleting map[string]observation.Deletion
	// destinations are the nodes that may take pods in.
	destinations map[string]bool
	workloads    drain.Workloads
	budgets      *drain.Budgets
	// rulings are the rules about pods, with these workloads and budgets.
	rulings  *drain.Rulings
	verdicts map[string]report.Reason
	// found are the nodes whose removal succeeded, in the order found.
	found []*removable
	// mover finds places in the snapshot while it is simulated.
	mover *simulator.Mover
	// lastMatch is where the search for a place last ended.
	lastMatch int
	// notReached are the nodes whose turn did not come.
	notReached map[string]bool
	unreached  []string
	// noRoom is that of the plan.
	noRoom *report.PodRef
}

// group is what the plan knows of a node group.
type group struct {
	observation.Group
	state clusterstate.GroupState
	// target is the size that the cloud tries to have, size the same less what was selected, deleting the removals in progress that the target
	// still counts.
	target, size, deleting int
	// trouble says why the group must not be written to; empty: it may.
	trouble string
	// held and doomed say, by provider id, why a machine is not to be ended and why the cloud is about to end it by itself.
	held, doomed map[string]string
}

func (p *Planner) newUpdate(in In) *update {
	u := &update{
		Planner: p, in: in, now: in.Seen.At, budgets: drain.NewBudgets(in.Seen.PodDisruptionBudgets), workloads: recall(in.Seen.Workloads),
		byID: map[string]*group{}, deleting: map[string]observation.Deletion{},
		destinations: make(map[string]bool, len(in.Seen.Nodes)), verdicts: make(map[string]report.Reason, len(in.Seen.Nodes)), notReached: map[string]bool{},
	}
	u.rulings = drain.NewRulings(drain.Context{At: u.now, Workloads: u.workloads, Budgets: u.budgets, Options: DrainRules(u.options.ScaleDown)})
	for _, seen := range in.Seen.Groups {
		u.addGroup(seen)
	}
	for _, deletion := range in.Seen.Deletions {
		u.deleting[deletion.Node] = deletion
		if g := u.byID[string(deletion.Group)]; g != nil && !deletion.Accepted {
			g.deleting++
		}
	}
	p.rhythm.note(u.now)
	p.hints.begin()
	p.plans++
	return u
}

// groupOf is the group of the node; nil: it has none, or one that could not be described.
func (u *update) groupOf(node *corev1.Node) *group {
	if u.asked == node {
		return u.groupAsked
	}
	u.asked, u.groupAsked = node, nil
	if id, member := u.in.Seen.Members[node.Name]; member {
		u.groupAsked = u.byID[string(id)]
	}
	return u.groupAsked
}

func (u *update) addGroup(seen observation.Group) {
	g := &group{Group: seen, target: seen.Target}
	if state, known := u.in.State.Group(seen.ID); known {
		g.state, g.target = state, state.Target
	}
	g.size = g.target
	switch {
	case seen.Stale != nil:
		g.trouble = "its node group is known from older data only: " + seen.Stale.Error()
	case g.state.SetAside != nil:
		g.trouble = "its node group is " + g.state.SetAside.String()
	case seen.Suspended != "":
		g.trouble = "its node group is suspended: " + seen.Suspended
	case seen.Held != "":
		g.trouble = "its node group is not shrunk: " + seen.Held
	}
	g.held, g.doomed = map[string]string{}, map[string]string{}
	for i := range seen.Instances {
		instance := &seen.Instances[i]
		if instance.Held != "" {
			g.held[instance.ID] = instance.Held
		}
		if instance.Doomed != "" {
			g.doomed[instance.ID] = instance.Doomed
		}
	}
	u.byID[string(seen.ID)] = g
}

// keep notes why a node stays; a later reason replaces an earlier one.
func (u *update) keep(node *corev1.Node, why report.Reason) { u.verdicts[node.Name] = why }

// kept lists the verdicts about all nodes that are not removed.
func (u *update) kept(empty, drained []*removable) []report.NodeVerdict {
	going := map[string]bool{}
	for _, r := range slices.Concat(empty, drained) {
		going[r.node.Name] = true
	}
	verdicts := make([]report.NodeVerdict, 0, len(u.verdicts))
	for _, node := range u.in.Seen.Nodes { // which are by name
		name := node.Name
		if why, judged := u.verdicts[name]; judged && !going[name] {
			verdicts = append(verdicts, report.NodeVerdict{Node: name, Group: u.in.Seen.Members[name], Reason: why})
		}
	}
	return verdicts
}

func (u *update) chosen(removables []*removable) []Candidate {
	var candidates []Candidate
	for _, r := range removables {
		candidates = append(candidates, Candidate{Removal: r.removal(), Node: r.node, Atomic: r.group.Options.ZeroOrMaxNodeScaling})
	}
	return candidates
}
