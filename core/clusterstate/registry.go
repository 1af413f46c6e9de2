package clusterstate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// repairPause is how long a group's repairs rest after one failed, so that a call that is refused for good is not made in every loop.
const repairPause = 5 * time.Minute

// keptPause is how long they rest after the cloud left a place alone that may yet be filled.
const keptPause = 30 * time.Second

// setAsidePause is how long a group is left alone after an error that an operator has to mend.
const setAsidePause = 5 * time.Minute

// gonePause is how long a group that the cloud does not know any more is left alone before the newest view decides.
const gonePause = time.Minute

// viewLag is for how long the cloud's view may still show a group as it was before a write. Providers refresh their views at least
// once a minute, and what they read may itself be late.
const viewLag = 2 * time.Minute

// Registry is the memory of requests, failures and back-off. It is not safe for concurrent use: the loop owns it.
type Registry struct {
	options   config.ClusterState
	durations durations
	groups    map[cloudprovider.GroupID]*memory
	purchases map[types.UID][]purchase

	lastScaleUp, lastDeletion, lastFailure time.Time
	deletionOf, failureBy                  string

	learnt learnt

	seen  observation.Observation
	state State
}

// memory is what the Registry keeps of one group from one iteration to the next.
type memory struct {
	request *Request
	backoff *backoff
	// places are the failures that concern a part of the group only.
	places   map[nodeinfos.Place]*backoff
	setAside *report.GroupSetAside
	// asideSince is since when the cloud itself keeps the group from being used; zero: it does not.
	asideSince time.Time
	// believed is the target after our last write while no view has shown it yet; nil: the view is right.
	believed *belief
	// firstSeen is when an instance without a node was first seen, by its id.
	firstSeen map[string]time.Time
	// failing holds the ids of instances that had an error when last seen.
	failing map[string]bool
	// emptySince has one entry, ascending, for each place of the target that nothing stands for.
	emptySince []time.Time
	// shown is the target of the latest view, in units; nil: there was none. writes are ours that views may still have to show.
	shown  *int
	writes []written
	// weights are those of the group's machines when it was last described.
	weights                                weights
	wrongSize                              *WrongSize
	repairFrom                             time.Time
	lastScaleUp, lastDeletion, lastFailure time.Time
	deletionOf, failureBy                  string
}

// belief is a target that follows from what was written.
type belief struct {
	target int
	since  time.Time
	// certain is false if the answer to the write was lost.
	certain bool
	// intended is true if an earlier process was about to write it and was not heard of again.
	intended bool
}

// target is the group's target. A view that does not show our last increase yet must not make us buy the same again.
func (m *memory) target(group observation.Group, at time.Time) int {
	b := m.believed
	switch {
	case b == nil:
		return group.Target
	case group.Target >= b.target:
	case group.Stale != nil:
		return b.target
	case b.certain && at.Sub(b.since) < viewLag, b.intended && at.Sub(b.since) < answerLag:
		return b.target
	}
	m.believed = nil
	if missing := b.target - group.Target; missing > 0 && m.request != nil { // it was not carried out after all, or somebody took it back
		m.reduce(missing)
	}
	return group.Target
}

// reduce takes nodes that will not come off the open request.
func (m *memory) reduce(by int) {
	m.request.Increase -= by
	if m.request.Increase <= 0 {
		m.request = nil
	}
}

// lower takes places that were given back off the believed target.
func (m *memory) lower(by int) {
	if m.believed != nil {
		m.believed.target -= by
	}
}

// NewRegistry returns an empty memory. start is when the process started; the stamps of the cool-downs begin one hour before it.
func NewRegistry(options config.ClusterState, start time.Time) *Registry {
	past := start.Add(-time.Hour)
	return &Registry{
		options: options,
		durations: durations{
			initial: options.InitialBackoff, longest: options.MaxBackoff, reset: options.BackoffResetTimeout,
		},
		groups:      map[cloudprovider.GroupID]*memory{},
		purchases:   map[types.UID][]purchase{},
		lastScaleUp: past, lastDeletion: past, lastFailure: past,
	}
}

// Observe shows the Registry what one iteration sees and returns the state of the cluster.
func (r *Registry) Observe(seen observation.Observation) State {
	r.seen = seen
	r.keepGroups(seen)
	nodes := classify(seen)
	state := State{At: seen.At, Cluster: r.cluster(seen, nodes)}
	for _, group := range seen.Groups {
		m := r.memory(group.ID)
		m.forget(seen.At, r.durations)
		m.weights = weightsOf(group)
		gs := r.group(group, nodes)
		if change := m.foreign(group, m.weights.units(removals(seen, group.ID)), seen.At); change != nil {
			state.Foreign = append(state.Foreign, *change)
		}
		state.TimedOut = append(state.TimedOut, r.timeOut(gs, group)...)
		state.Failed = append(state.Failed, r.newFailures(gs)...)
		r.finish(&gs, group)
		state.Groups = append(state.Groups, gs)
	}
	state.Purchases = r.settlePurchases(state, nodes)
	r.state = state
	return r.stamped()
}

// AfterRepair shows the Registry what became of repairs. It returns the state with the sizes that the repairs left, in which the groups
// concerned are set aside: their sizes are known for sure only in the next iteration.
func (r *Registry) AfterRepair(outcomes []report.RepairOutcome) State {
	for _, outcome := range outcomes {
		m := r.memory(outcome.Group)
		ended, kept, errs := 0, false, []error{outcome.Err}
		for _, o := range outcome.Outcomes {
			errs = append(errs, o.Err)
			kept = kept || o.Kept != ""
			if o.Err == nil && o.Kept == "" {
				ended++
			}
		}
		err := errors.Join(errs...)
		if kept {
			m.repairFrom = outcome.At.Add(keptPause)
		}
		if slices.ContainsFunc(errs, lasting) || err == nil && outcome.Refused != "" {
			m.repairFrom = outcome.At.Add(repairPause)
			r.avoid(outcome.Group, err, outcome.At)
		}
		r.change(outcome.Group, func(gs *GroupState) {
			m.lower(gs.repaired(ended, outcome.Lowered))
			m.wrote(-m.weights.units(ended)-outcome.Lowered, outcome.At)
			gs.RepairFrom = m.repairFrom
			if gs.SetAside == nil && (err != nil || kept || ended+outcome.Lowered > 0) {
				gs.SetAside = &report.GroupSetAside{Error: report.BeingRepaired, Since: outcome.At}
			}
		})
	}
	return r.stamped()
}

// repaired changes the sizes after so many machines were ended and so many places withdrawn, and returns by how much that lowered the target.
// At the minimum the cloud replaces a machine that was ended.
func (gs *GroupState) repaired(ended, withdrawn int) (lowered int) {
	target := max(min(gs.Target, gs.Min), gs.Target-ended-withdrawn)
	lowered = gs.Target - target
	replaced := max(0, ended+withdrawn-lowered)
	fromLost := min(withdrawn, gs.Lost)
	gs.Target, gs.Lost = target, gs.Lost-fromLost
	gs.Upcoming = max(0, min(gs.Upcoming+replaced-(withdrawn-fromLost), target))
	gs.ScalingUp = gs.Upcoming > 0 && gs.Request != nil
	return lowered
}

// AfterScaleUp shows the Registry which groups were asked to grow, and what became of the pods. The state it returns counts the new nodes as
// upcoming, also those of a request whose answer was lost. Triggered pods wait for the nodes of the group that was grown for them.
func (r *Registry) AfterScaleUp(outcomes []report.ResizeOutcome, pods []report.PodVerdict) State {
	purchases := map[cloudprovider.GroupID]purchase{}
	for _, outcome := range outcomes {
		unknown := 0
		if outcome.Err != nil {
			unknown = r.refused(outcome)
		}
		if outcome.Granted+unknown <= 0 {
			continue
		}
		expires := r.asked(outcome, unknown)
		nodes := r.memory(outcome.Group).weights.nodes(outcome.Granted + unknown)
		bought := purchase{group: outcome.Group, nodes: nodes, at: outcome.At, expires: expires}
		if earlier, again := purchases[outcome.Group]; again { // in the same iteration
			bought.nodes, bought.at = nodes+earlier.nodes, earlier.at
		}
		purchases[outcome.Group] = bought
		if outcome.Granted > 0 {
			r.lastScaleUp = r.seen.At
		}
	}
	for _, verdict := range pods {
		if own, bought := purchases[verdict.Grown]; bought && verdict.Fate == report.PodTriggered {
			r.purchases[verdict.Pod.UID] = append(slices.Clip(r.purchases[verdict.Pod.UID]), own)
		}
	}
	return r.stamped()
}

// AfterScaleDown shows the Registry which removals began in this iteration and whether starting them failed.
func (r *Registry) AfterScaleDown(started []report.Removal, err error) State {
	if len(started) > 0 {
		r.lastDeletion, r.deletionOf = r.seen.At, started[0].Node
		if more := len(started) - 1; more > 0 {
			r.deletionOf += fmt.Sprintf(" and %d more", more)
		}
	}
	if err != nil {
		r.lastFailure, r.failureBy = r.seen.At, cut(err.Error())
	}
	return r.stamped()
}

// Ended shows the Registry removals that ended since the last iteration.
func (r *Registry) Ended(outcomes []report.RemovalOutcome) {
	for _, outcome := range outcomes {
		m := r.memory(outcome.Group)
		switch outcome.Result {
		case report.RemovalOK:
			m.lastDeletion, m.deletionOf = outcome.Ended, outcome.Node
			m.lower(1)
			m.wrote(-m.weights.units(1), outcome.Ended)
		case report.RemovalDeletionFailed:
			if outcome.RefusedByCloud {
				m.lastFailure, m.failureBy = outcome.Ended, outcome.Node
				if outcome.Err != nil {
					m.failureBy = cut(outcome.Node + ": " + outcome.Err.Error())
				}
			}
			m.wrote(-m.weights.units(1), outcome.Ended) // it may have been carried out all the same
		case report.RemovalTaintFailed, report.RemovalEvictionFailed, report.RemovalInternalFailure:
		}
	}
}

// asked records an increase, accepted or possibly so: a new request, or more of an open one (loop-and-scale-up 2.5). It returns by when the
// nodes must have registered.
func (r *Registry) asked(outcome report.ResizeOutcome, unknown int) (expires time.Time) {
	m := r.memory(outcome.Group)
	expires = outcome.Deadline
	if expires.IsZero() {
		group, _ := r.seen.GroupOf(outcome.Group)
		expires = outcome.At.Add(group.Options.MaxNodeProvisionTime)
	}
	if m.request == nil {
		m.request = &Request{}
	}
	m.request.Increase += outcome.Granted + unknown
	m.request.Since, m.request.Expires = outcome.At, expires
	if outcome.Granted > 0 {
		m.lastScaleUp = outcome.At
	}
	r.change(outcome.Group, func(gs *GroupState) {
		request := *m.request
		gs.Request = &request
		gs.Target += outcome.Granted + unknown
		gs.Upcoming += m.weights.nodes(outcome.Granted + unknown)
		gs.ScalingUp = true
		gs.LastScaleUp = m.lastScaleUp
		m.believed = &belief{target: gs.Target, since: outcome.At, certain: unknown == 0}
	})
	m.wrote(outcome.Granted+unknown, outcome.At)
	return expires
}

// change edits the state of one group in a copy of the list, so that states handed out before stay as they were.
func (r *Registry) change(id cloudprovider.GroupID, edit func(*GroupState)) {
	groups := make([]GroupState, len(r.state.Groups))
	copy(groups, r.state.Groups)
	for i := range groups {
		if groups[i].Group == id {
			edit(&groups[i])
		}
	}
	r.state.Groups = groups
}

func (r *Registry) stamped() State {
	r.state.LastScaleUp, r.state.LastDeletion, r.state.LastFailure = r.lastScaleUp, r.lastDeletion, r.lastFailure
	r.state.DeletionOf, r.state.FailureBy = r.deletionOf, r.failureBy
	return r.state
}

// forget drops a back-off whose last failure is long ago (loop-and-scale-up 2.7).
func (m *memory) forget(at time.Time, d durations) {
	if m.backoff != nil && m.backoff.forgotten(at, d) {
		m.backoff = nil
	}
	m.forgetPlaces(at, d)
}

func (r *Registry) memory(id cloudprovider.GroupID) *memory {
	m := r.groups[id]
	if m == nil {
		m = newMemory()
		r.groups[id] = m
	}
	return m
}

func newMemory() *memory {
	return &memory{firstSeen: map[string]time.Time{}, failing: map[string]bool{}, places: map[nodeinfos.Place]*backoff{}}
}

// removals is how many removals of nodes of the group are in progress.
func removals(seen observation.Observation, id cloudprovider.GroupID) int {
	count := 0
	for _, deletion := range seen.Deletions {
		if deletion.Group == id {
			count++
		}
	}
	return count
}

// keepGroups forgets groups that the cloud does not list any more.
func (r *Registry) keepGroups(seen observation.Observation) {
	listed := make(map[cloudprovider.GroupID]bool, len(seen.Groups))
	for _, group := range seen.Groups {
		listed[group.ID] = true
	}
	for _, group := range seen.GroupErrors {
		listed[group.Group] = true
	}
	for id := range r.groups {
		if !listed[id] {
			delete(r.groups, id)
		}
	}
}
