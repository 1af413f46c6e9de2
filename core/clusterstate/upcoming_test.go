package clusterstate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestUpcomingIsWhatTheTargetStillOwes(t *testing.T) {
	suspended := func(b simtest.NodeBuilder) simtest.NodeBuilder { return b.Condition("Suspended", "True", t0) }
	tests := map[string]struct {
		fleet *fleet
		want  int
	}{
		"nothing in a group that has all its nodes":                           {newFleet("g", 0, 20, 3).ready(3), 0},
		"instances without nodes":                                             {newFleet("g", 0, 20, 3).ready(1).creating(2), 2},
		"nodes that have not started":                                         {newFleet("g", 0, 20, 3).ready(1).starting(2, t0.Add(-time.Minute)), 2},
		"places that the cloud lists no instance for, whoever asked for them": {newFleet("g", 0, 20, 3).ready(1), 2},
		"everything in a group without a single machine":                      {newFleet("g", 0, 20, 3), 3},
		"neither unready nor suspended nodes":                                 {newFleet("g", 0, 20, 4).ready(1).unready(1).join(1, suspended), 1},
		"no instance that failed":                                             {newFleet("g", 0, 20, 4).ready(1).creating(1).failing(2, "Q", ""), 1},
		"no instance that runs with a fault":                                  {newFleet("g", 0, 20, 2).ready(1).instances(1, broken(cloudprovider.InstanceRunning)), 0},
		"never less than nothing":                                             {newFleet("g", 0, 20, 1).ready(3), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := groupOf(newRegistry().Observe(see(t0, test.fleet)), test.fleet).Upcoming; got != test.want {
				t.Errorf("upcoming is %d, want %d", got, test.want)
			}
		})
	}
}

func TestANodeOnItsWayOutDoesNotHideOneOnItsWay(t *testing.T) {
	t.Run("the node of a machine that is ending", func(t *testing.T) {
		f := newFleet("g", 0, 10, 3).ready(3).creating(1)
		f.machines[0].instance.State = cloudprovider.InstanceDeleting
		group := groupOf(newRegistry().Observe(see(t0, f)), f)
		if group.Upcoming != 1 || group.ExpectedDeletions != 1 {
			t.Errorf("upcoming %d and deletions %d, want 1 and 1", group.Upcoming, group.ExpectedDeletions)
		}
		if diff := cmp.Diff([]string{"g-02", "g-03"}, group.Ready); diff != "" {
			t.Errorf("ready nodes (-want +got):\n%s", diff)
		}
	})
	t.Run("the node of a machine that was taken away and is being replaced", func(t *testing.T) {
		f := newFleet("g", 0, 10, 5).ready(5)
		f.machines[2].instance, f.machines[2].gone = nil, true
		if got := groupOf(newRegistry().Observe(see(t0, f)), f).Upcoming; got != 1 {
			t.Errorf("upcoming is %d, want the replacement", got)
		}
	})
	t.Run("but a node being drained is nothing that is owed, where the cloud cannot tell and a taint stands for its end", func(t *testing.T) {
		f := newFleet("g", 0, 10, 3).ready(3)
		f.machines[0].gone = true // still listed
		if got := groupOf(newRegistry().Observe(see(t0, f)), f).Upcoming; got != 0 {
			t.Errorf("upcoming is %d, want 0", got)
		}
	})
}

// Case S01, in what our registry keeps of it: of 12 places one is overdue and four are on their way; that three more nodes are still registered while their
// machines end is neither too many nor too few.
func TestNodesOnTheirWayOutDoNotDisturbTheSize(t *testing.T) {
	f := newFleet("g", 0, 20, 12).creating(1)
	r := newRegistry()
	r.Observe(see(t0.Add(-16*time.Minute), f))
	f.ready(10)
	for _, m := range f.machines[1:4] {
		m.instance.State = cloudprovider.InstanceDeleting
	}
	f.group.Target = 8
	r.Observe(see(t0.Add(-time.Second), f))
	r.AfterScaleUp(grown(f, 4, t0.Add(-time.Second)), nil)
	f.group.Target = 12
	f.creating(4)
	state := r.Observe(see(t0, f))
	got := groupOf(state, f)
	if got.Counts.Registered != 10 || got.ExpectedDeletions != 3 || got.Counts.LongUnregistered != 1 || got.Upcoming != 4 || got.Missing != 0 || got.WrongSize != nil || len(state.Foreign) != 0 {
		t.Errorf("group %+v, changes by others %+v", got, state.Foreign)
	}
	if got.Request == nil || got.Request.Increase != 4 || !got.ScalingUp {
		t.Errorf("request %+v", got.Request)
	}
}

// Other than S31: the group whose size cannot be read is left out, and the other one is judged as always.
func TestAGroupWhoseSizeCannotBeReadDisturbsNoOther(t *testing.T) {
	f, other := newFleet("f", 0, 10, 5).ready(5), newFleet("g", 0, 10, 3).ready(2).creating(1)
	r := newRegistry()
	before := groupOf(r.Observe(see(t0, f, other)), other)
	unreadable := see(t0, other)
	unreadable.GroupErrors = []cloudprovider.GroupError{{Group: "f", Err: errors.New("no")}}
	state := r.Observe(unreadable)
	if diff := cmp.Diff(before, groupOf(state, other)); diff != "" || len(state.Groups) != 1 || !state.Cluster.Healthy {
		t.Errorf("%d groups, healthy %t; the other one (-before +now):\n%s", len(state.Groups), state.Cluster.Healthy, diff)
	}
}

// Case S07: three upcoming, and the two nodes that have not started are named.
func TestNodesThatHaveNotStartedAreNamed(t *testing.T) {
	f := newFleet("g", 0, 20, 10).ready(5).unready(1).starting(2, t0.Add(-time.Minute)).creating(1)
	r := newRegistry()
	f.group.Target = 9
	r.Observe(see(t0.Add(-16*time.Minute), f))
	f.group.Target = 10
	group := groupOf(r.Observe(see(t0, f)), f)
	if group.Counts.LongUnregistered != 1 || group.Upcoming != 3 {
		t.Errorf("long unregistered %d, upcoming %d, want 1 and 3", group.Counts.LongUnregistered, group.Upcoming)
	}
	if diff := cmp.Diff([]string{"g-07", "g-08"}, group.NotStarted); diff != "" {
		t.Errorf("nodes that have not started (-want +got):\n%s", diff)
	}
}

// Other than S08 and S09: a restart and a back-off change nothing about machines that are on their way.
func TestUpcomingNeedsNoRequestAndSurvivesBackOff(t *testing.T) {
	f := newFleet("g", 0, 20, 10).ready(5).creating(5)
	fresh := newRegistry()
	if got := groupOf(fresh.Observe(see(t0, f)), f); got.Upcoming != 5 || got.ScalingUp || got.Request != nil {
		t.Errorf("after a restart: upcoming %d, scaling up %t, request %v; want 5 without a request", got.Upcoming, got.ScalingUp, got.Request)
	}
	state := fresh.AfterScaleUp(refused(f, 1, t0, &cloudprovider.OutOfResourcesError{Group: "g", Err: errors.New("none")}), nil)
	if got := groupOf(state, f); got.Backoff == nil || got.Upcoming != 5 {
		t.Errorf("backed off: back-off %v, upcoming %d, want a back-off and 5", got.Backoff, got.Upcoming)
	}
	if got := groupOf(fresh.Observe(see(after(10*time.Second), f)), f); got.Backoff == nil || got.Upcoming != 5 {
		t.Errorf("in the next iteration: back-off %v, upcoming %d, want a back-off and 5", got.Backoff, got.Upcoming)
	}
}

func TestPlacesWithoutAnInstanceAreUpcomingForTheProvisionTime(t *testing.T) {
	f := newFleet("g", 0, 20, 3).ready(2)
	r := newRegistry()
	check := func(at time.Duration, upcoming, lost int) {
		t.Helper()
		if got := groupOf(r.Observe(see(after(at), f)), f); got.Upcoming != upcoming || got.Lost != lost {
			t.Errorf("at %s: upcoming %d and lost %d, want %d and %d", at, got.Upcoming, got.Lost, upcoming, lost)
		}
	}
	check(0, 1, 0)
	check(15*time.Minute, 1, 0)
	check(15*time.Minute+time.Second, 0, 1)

	// A purchase does not inherit the clock of the place that was lost.
	r.AfterScaleUp(grown(f, 2, after(16*time.Minute)), nil)
	f.group.Target = 5
	check(16*time.Minute+10*time.Second, 2, 1)
	check(31*time.Minute, 2, 1)
	// The first one to come fills the oldest place: what may still come is waited for.
	f.ready(1)
	check(31*time.Minute+5*time.Second, 2, 0)
	check(31*time.Minute+11*time.Second, 0, 2)
	f.ready(2)
	check(32*time.Minute, 0, 0)
}

func TestAGroupThatAlwaysLacksMachinesIsFilledNoMoreThanItsTarget(t *testing.T) {
	f := newFleet("g", 0, 20, 4).ready(1).creating(1).failing(1, "Q", "")
	r := newRegistry()
	r.Observe(see(t0, f))
	got := groupOf(r.Observe(see(after(16*time.Minute), f)), f)
	if sum := len(got.Ready) + got.Upcoming + got.Lost + got.Counts.LongUnregistered + len(got.Failed); sum != got.Target {
		t.Errorf("ready %d, upcoming %d, lost %d, long unregistered %d and failed %d make %d, want the target %d",
			len(got.Ready), got.Upcoming, got.Lost, got.Counts.LongUnregistered, len(got.Failed), sum, got.Target)
	}
}

func TestAViewThatLagsBehindOurIncreaseIsNotBelieved(t *testing.T) {
	tests := map[string]struct {
		outcome func(*fleet) []report.ResizeOutcome
		change  func(*fleet) // before the second look
		at      time.Duration
		want    int // upcoming
		request bool
	}{
		"as long as it may lag": {
			outcome: func(f *fleet) []report.ResizeOutcome { return grown(f, 2, t0) }, at: time.Minute, want: 2, request: true,
		},
		"but no longer": {
			outcome: func(f *fleet) []report.ResizeOutcome { return grown(f, 2, t0) }, at: 2 * time.Minute, want: 0,
		},
		"and as long as the group is known from older data only": {
			outcome: func(f *fleet) []report.ResizeOutcome { return grown(f, 2, t0) },
			change:  func(f *fleet) { f.group.Stale = errors.New("throttled") }, at: 10 * time.Minute, want: 2, request: true,
		},
		"nor once it has shown it": {
			outcome: func(f *fleet) []report.ResizeOutcome { return grown(f, 2, t0) },
			change:  func(f *fleet) { f.group.Target = 5 }, at: time.Minute, want: 3, request: true,
		},
		"but if the answer was lost, the next view is": {
			outcome: func(f *fleet) []report.ResizeOutcome {
				return refused(f, 2, t0, &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("cut off")})
			},
			at: 10 * time.Second, want: 0,
		},
		"unless that shows the group as it was": {
			outcome: func(f *fleet) []report.ResizeOutcome {
				return refused(f, 2, t0, &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("cut off")})
			},
			change: func(f *fleet) { f.group.Stale = errors.New("cut off") }, at: 10 * time.Second, want: 2, request: true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 20, 2).ready(2)
			r := newRegistry()
			r.Observe(see(t0, f))
			if got := groupOf(r.AfterScaleUp(test.outcome(f), nil), f); got.Target != 4 || got.Upcoming != 2 || got.Request == nil {
				t.Fatalf("in the iteration itself: target %d, upcoming %d, request %v; want 4, 2 and a request", got.Target, got.Upcoming, got.Request)
			}
			if test.change != nil {
				test.change(f)
			}
			got := groupOf(r.Observe(see(after(test.at), f)), f)
			if got.Upcoming != test.want || (got.Request != nil) != test.request {
				t.Errorf("upcoming %d, request %v; want %d and a request: %t", got.Upcoming, got.Request, test.want, test.request)
			}
			if got.Backoff != nil {
				t.Errorf("back-off %+v, want none", got.Backoff)
			}
		})
	}
}

func TestABelievedTargetFollowsWhatElseWeDo(t *testing.T) {
	f := newFleet("g", 0, 20, 2).ready(2)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 3, t0), nil)
	r.Ended([]report.RemovalOutcome{{Removal: report.Removal{Group: "g", Node: "g-01"}, Result: report.RemovalOK, Ended: after(20 * time.Second)}})
	if got := groupOf(r.Observe(see(after(30*time.Second), f)), f).Target; got != 4 {
		t.Errorf("target is %d, want 2+3-1", got)
	}
	r.AfterRepair([]report.RepairOutcome{{
		RepairAction: report.RepairAction{Kind: report.DecreaseTarget, Group: "g", By: 1}, Lowered: 1, At: after(40 * time.Second),
	}})
	if got := groupOf(r.Observe(see(after(50*time.Second), f)), f).Target; got != 3 {
		t.Errorf("target is %d, want 2+3-1-1", got)
	}
}

// A process that starts anew while machines are on their way has nothing to buy for pods that fit on them.
func TestAFreshRegistryCountsWhatTheOneBeforeAskedFor(t *testing.T) {
	f := newFleet("g", 0, 20, 2).ready(2)
	before := newRegistry()
	before.Observe(see(t0, f))
	want := groupOf(before.AfterScaleUp(grown(f, 3, t0), nil), f).Upcoming
	f.group.Target = 5
	f.creating(3)
	fresh := clusterstate.NewRegistry(options(), after(20*time.Second))
	if got := groupOf(fresh.Observe(see(after(30*time.Second), f)), f).Upcoming; got != want {
		t.Errorf("upcoming is %d after the restart, %d before", got, want)
	}
}

// Case C05: the group repairs itself after a machine was taken away.
func TestALostMachineThatTheGroupReplacesIsUpcoming(t *testing.T) {
	for _, name := range []string{"main", "restart"} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("spot", 0, 20, 5).ready(5)
			r := newRegistry()
			r.Observe(see(t0, f))
			f.machines = f.machines[:4]
			if name == "restart" {
				r = newRegistry()
			}
			if got := groupOf(r.Observe(see(after(10*time.Second), f)), f); got.Upcoming != 1 || got.SafeToScaleUp() != nil {
				t.Errorf("upcoming %d and %v against growing, want 1 and nothing", got.Upcoming, got.SafeToScaleUp())
			}
		})
	}
	t.Run("no-luck: a failed replacement backs the group off although nobody asked for it", func(t *testing.T) {
		f := newFleet("spot", 0, 20, 5).ready(4)
		r := newRegistry()
		r.Observe(see(t0, f))
		f.failing(1, "InsufficientInstanceCapacity", "no capacity")
		state := r.Observe(see(after(30*time.Second), f))
		got := groupOf(state, f)
		if got.Upcoming != 0 || got.Backoff == nil || got.Backoff.Code != "InsufficientInstanceCapacity" {
			t.Errorf("upcoming %d, back-off %+v; want 0 and the cloud's code", got.Upcoming, got.Backoff)
		}
		if len(state.Failed) != 1 {
			t.Errorf("%d news about failures, want 1", len(state.Failed))
		}
	})
}

// Cases C02 and C03: the first failure cancels none of the machines that are still on their way.
func TestAFailureTakesOnlyTheFailedMachinesOffWhatIsUpcoming(t *testing.T) {
	f := newFleet("ci-a", 0, 40, 6).ready(6)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 14, t0), nil)
	f.group.Target = 20
	f.creating(14)
	r.Observe(see(after(10*time.Second), f))
	for i := range 4 {
		broken(cloudprovider.InstanceCreating)(f.machines[6+i].instance)
		got := groupOf(r.Observe(see(after(time.Duration(20*(i+1))*time.Second), f)), f)
		if got.Upcoming != 14-(i+1) || got.Backoff == nil || got.Request.Increase != 14-(i+1) {
			t.Fatalf("after failure %d: upcoming %d, request %+v, back-off %v", i+1, got.Upcoming, got.Request, got.Backoff)
		}
	}
}
