package clusterstate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// repairPause is how long a group's repairs rest after one failed, so that a call that is refused for good is not made in every loop.
const repairPause = 5 * time.Minute

// setAsidePause is how long a group is left alone after an error that an operator has to mend.
const setAsidePause = 5 * time.Minute

// gonePause is how long a group that the cloud does not know any more is left alone before the newest view decides.
const gonePause = time.Minute

// settlingTime is how long a node bought for a pod is given after it became Ready, before the pod may cause another purchase.
const settlingTime = 3 * time.Minute

// Registry is the memory of requests, failures and back-off. It is not safe for concurrent use: the loop owns it.
type Registry struct {
	options   config.ClusterState
	durations durations
	groups    map[cloudprovider.GroupID]*memory
	purchases map[types.UID]purchase

	lastScaleUp, lastDeletion, lastFailure time.Time

	learnt learnt

	seen  observation.Observation
	state State
}

// memory is what the Registry keeps of one group from one iteration to the next.
type memory struct {
	request  *Request
	backoff  *backoff
	setAside *report.GroupSetAside
	// firstSeen is when an instance without a node was first seen, by its id.
	firstSeen map[string]time.Time
	// failing holds the ids of instances that had an error when last seen.
	failing map[string]bool
	// missingSince is when places without any instance were first seen; zero: none are missing.
	missingSince                           time.Time
	wrongSize                              *WrongSize
	repairFrom                             time.Time
	lastScaleUp, lastDeletion, lastFailure time.Time
}

// purchase is the memory that a node of a group was bought for a pod.
type purchase struct {
	group cloudprovider.GroupID
	at    time.Time
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
		purchases:   map[types.UID]purchase{},
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
		gs := r.group(group, nodes.of[group.ID])
		state.TimedOut = append(state.TimedOut, r.timeOut(&gs, group)...)
		state.Failed = append(state.Failed, r.newFailures(&gs, group)...)
		r.finish(&gs, group)
		state.Groups = append(state.Groups, gs)
	}
	state.Purchases = r.settlePurchases(state, nodes)
	r.state = state
	return r.stamped()
}

// AfterRepair shows the Registry what became of repairs. It returns the state with the sizes that the repairs left.
func (r *Registry) AfterRepair(outcomes []report.RepairOutcome) State {
	for _, outcome := range outcomes {
		m := r.memory(outcome.Group)
		lowered, failed := outcome.Lowered, outcome.Err != nil
		for _, o := range outcome.Outcomes {
			if o.Err != nil {
				failed = true
				continue
			}
			lowered++
		}
		if failed {
			m.repairFrom = outcome.At.Add(repairPause)
		}
		r.change(outcome.Group, func(gs *GroupState) {
			gs.Target = max(gs.Min, gs.Target-lowered)
			gs.Upcoming = max(0, gs.Upcoming-outcome.Lowered)
			gs.RepairFrom = m.repairFrom
		})
	}
	return r.stamped()
}

// AfterScaleUp shows the Registry which groups were asked to grow, and for which pods. The state it returns counts the new nodes as
// upcoming, also those of a request whose answer was lost.
func (r *Registry) AfterScaleUp(outcomes []report.ResizeOutcome, triggered []report.PodRef) State {
	for _, outcome := range outcomes {
		granted := outcome.Granted
		if outcome.Err != nil {
			granted += r.refused(outcome)
		}
		if granted <= 0 {
			continue
		}
		r.asked(outcome, granted)
		if outcome.Granted > 0 {
			r.lastScaleUp = r.seen.At
			for _, pod := range triggered {
				r.purchases[pod.UID] = purchase{group: outcome.Group, at: outcome.At}
			}
		}
	}
	return r.stamped()
}

// AfterScaleDown shows the Registry which removals began in this iteration and whether starting them failed.
func (r *Registry) AfterScaleDown(started []report.Removal, err error) State {
	if len(started) > 0 {
		r.lastDeletion = r.seen.At
	}
	if err != nil {
		r.lastFailure = r.seen.At
	}
	return r.stamped()
}

// Ended shows the Registry removals that ended since the last iteration.
func (r *Registry) Ended(outcomes []report.RemovalOutcome) {
	for _, outcome := range outcomes {
		m := r.memory(outcome.Group)
		switch outcome.Result {
		case report.RemovalOK:
			m.lastDeletion = outcome.Ended
		case report.RemovalDeletionFailed:
			m.lastFailure = outcome.Ended
		case report.RemovalTaintFailed, report.RemovalEvictionFailed, report.RemovalInternalFailure:
		}
	}
}

// asked records an accepted increase: a new request, or more of an open one (loop-and-scale-up 2.5).
func (r *Registry) asked(outcome report.ResizeOutcome, granted int) {
	m := r.memory(outcome.Group)
	group, _ := r.seen.GroupOf(outcome.Group)
	if m.request == nil {
		m.request = &Request{}
	}
	m.request.Increase += granted
	m.request.Since = outcome.At
	m.request.Expires = outcome.At.Add(group.Options.MaxNodeProvisionTime)
	m.lastScaleUp = outcome.At
	r.change(outcome.Group, func(gs *GroupState) {
		request := *m.request
		gs.Request = &request
		gs.Target += granted
		gs.Upcoming += granted
		gs.ScalingUp = true
		gs.LastScaleUp = m.lastScaleUp
	})
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
	return r.state
}

func (r *Registry) memory(id cloudprovider.GroupID) *memory {
	m := r.groups[id]
	if m == nil {
		m = &memory{firstSeen: map[string]time.Time{}, failing: map[string]bool{}}
		r.groups[id] = m
	}
	return m
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
