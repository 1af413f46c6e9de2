package clusterstate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
)

func TestHowLongAGroupIsBackedOff(t *testing.T) {
	minutes := func(list ...int) []time.Duration {
		var out []time.Duration
		for _, m := range list {
			out = append(out, time.Duration(m)*time.Minute)
		}
		return out
	}
	tests := map[string]struct {
		failures, until []time.Duration
	}{
		// Case S10.
		"the same time again while it lasts, double after it has ended, at most the longest": {minutes(0, 3, 9, 20, 41), minutes(5, 8, 19, 40, 71)},
		"a failure at the very end of a back-off still falls into it":                        {minutes(0, 5), minutes(5, 10)},
		// Case S11: the third failure has 20 minutes.
		"the shortest time again after three quiet hours": {minutes(0, 6, 17, 17+181), minutes(5, 16, 37, 17+181+5)},
		"but not after exactly three":                     {minutes(0, 6, 17, 17+180), minutes(5, 16, 37, 17+180+30)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 100, 0)
			r := newRegistry()
			for i, at := range test.failures {
				r.Observe(see(after(at), f))
				got := groupOf(r.AfterScaleUp(refused(f, 1, after(at), errors.New("no")), nil), f).Backoff
				if got == nil || !got.Until.Equal(after(test.until[i])) {
					t.Fatalf("failure at %s: back-off %+v, want until %s", at, got, after(test.until[i]))
				}
			}
			last := test.until[len(test.until)-1]
			if got := groupOf(r.Observe(see(after(last), f)), f); got.Backoff == nil || got.SafeToScaleUp() == nil {
				t.Error("the back-off does not hold at its end")
			}
			if got := groupOf(r.Observe(see(after(last+time.Second), f)), f); got.Backoff != nil || got.SafeToScaleUp() != nil {
				t.Error("the back-off holds after its end")
			}
		})
	}
}

// Case S27.
func TestSuccessDoesNotResetTheBackOff(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil)
	r.Observe(see(after(6*time.Minute), f))
	r.AfterScaleUp(grown(f, 1, after(6*time.Minute)), nil)
	f.group.Target = 1
	f.ready(1)
	r.Observe(see(after(7*time.Minute), f))
	r.Observe(see(after(8*time.Minute), f))
	got := groupOf(r.AfterScaleUp(refused(f, 1, after(8*time.Minute), errors.New("no")), nil), f).Backoff
	if got == nil || !got.Until.Equal(after(18*time.Minute)) {
		t.Errorf("back-off %+v, want ten minutes", got)
	}
}

// Other than S19: nobody needs to know what a node of the group would look like.
func TestAGroupWithoutTemplateIsBackedOff(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	f.group.TemplateErr = errors.New("none")
	r := newRegistry()
	r.Observe(see(t0, f))
	if got := groupOf(r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil), f).Backoff; got == nil {
		t.Error("the group is not backed off")
	}
}

// Case S35.
func TestALongMessageOfTheCloudIsCut(t *testing.T) {
	for name, message := range map[string]string{"of letters": strings.Repeat("x", 700), "of wide letters": strings.Repeat("é", 350)} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 0)
			r := newRegistry()
			r.Observe(see(t0, f))
			got := groupOf(r.AfterScaleUp(refused(f, 1, t0, errors.New(message)), nil), f).Backoff.Message
			if len(got) > 500 || len(got) < 499 || !strings.HasSuffix(got, "<truncated>") {
				t.Errorf("message of %d bytes ending in %q, want 500 bytes and the mark of the cut", len(got), got[len(got)-15:])
			}
			if strings.ToValidUTF8(got, "?") != got {
				t.Error("the cut goes through a letter")
			}
		})
	}
	f := newFleet("g", 0, 10, 0)
	r := newRegistry()
	r.Observe(see(t0, f))
	if got := groupOf(r.AfterScaleUp(refused(f, 1, t0, errors.New(strings.Repeat("x", 500))), nil), f).Backoff.Message; len(got) != 500 || strings.Contains(got, "<") {
		t.Error("a message of exactly 500 bytes is cut")
	}
}

func TestFailedInstancesAreNewsOnce(t *testing.T) {
	type news struct {
		Failed  []report.FailedInstances
		Request int // what is left of it
		Backoff string
	}
	short := cloudprovider.ErrorClassOutOfResources
	tests := map[string]struct {
		asked  int
		change func(*fleet)
		want   news
	}{
		// Case S15.
		"two of five take two off the request": {
			asked: 5, change: func(f *fleet) { f.creating(3).failing(2, "Q", "sold out") },
			want: news{[]report.FailedInstances{{Group: "g", Count: 2, Class: short, Code: "Q", Messages: []string{"sold out"}}}, 3, "Q"},
		},
		// Case S17.
		"five of five end the request": {
			asked: 5, change: func(f *fleet) { f.failing(5, "Q", "sold out") },
			want: news{[]report.FailedInstances{{Group: "g", Count: 5, Class: short, Code: "Q", Messages: []string{"sold out"}}}, 0, "Q"},
		},
		// Other than S18: both kinds are told, whichever used the request up.
		"two kinds are told one by one, by code": {
			asked: 2, change: func(f *fleet) { f.failing(1, "B", "b").failing(2, "A", "a") },
			want: news{[]report.FailedInstances{
				{Group: "g", Count: 2, Class: short, Code: "A", Messages: []string{"a"}},
				{Group: "g", Count: 1, Class: short, Code: "B", Messages: []string{"b"}},
			}, 0, "B"},
		},
		"different texts of one kind are told together, each once": {
			asked: 3, change: func(f *fleet) { f.failing(1, "Q", "zone b").failing(1, "Q", "zone a").failing(1, "Q", "zone b") },
			want: news{[]report.FailedInstances{{Group: "g", Count: 3, Class: short, Code: "Q", Messages: []string{"zone a", "zone b"}}}, 0, "Q"},
		},
		"and without a request of ours, too": {
			change: func(f *fleet) { f.failing(1, "Q", "sold out") },
			want:   news{[]report.FailedInstances{{Group: "g", Count: 1, Class: short, Code: "Q", Messages: []string{"sold out"}}}, 0, "Q"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 1).ready(1)
			r := newRegistry()
			r.Observe(see(t0, f))
			if test.asked > 0 {
				r.AfterScaleUp(grown(f, test.asked, t0), nil)
			}
			f.group.Target += max(1, test.asked)
			test.change(f)
			state := r.Observe(see(after(10*time.Second), f))
			got := news{Failed: state.Failed}
			if g := groupOf(state, f); g.Request != nil {
				got.Request = g.Request.Increase
			}
			if b := groupOf(state, f).Backoff; b != nil {
				got.Backoff = b.Code
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			until := groupOf(state, f).Backoff.Until
			// Case S16.
			state = r.Observe(see(after(20*time.Second), f))
			if len(state.Failed) > 0 || !groupOf(state, f).Backoff.Until.Equal(until) {
				t.Errorf("the same instances fail again: %v", state.Failed)
			}
			if len(groupOf(state, f).Failed) == 0 {
				t.Error("instances that failed before are not listed for deletion any more")
			}
		})
	}
}

// Case S34.
func TestAnEventQuotesDistinctMessagesAndHintsAtMoreThanThree(t *testing.T) {
	if got, want := (report.FailedInstances{Messages: []string{"a", "b", "c"}}).Message(), "a, b, c"; got != want {
		t.Errorf("three messages are %q, want %q", got, want)
	}
	if got, want := (report.FailedInstances{Messages: []string{"a", "b", "c", "d"}}).Message(), "a, b, c, d, ..."; got != want {
		t.Errorf("four messages are %q, want %q", got, want)
	}
}

func TestARegisteredMachineIsNoFailedOne(t *testing.T) {
	f := newFleet("g", 0, 10, 1).ready(1)
	broken(cloudprovider.InstanceCreating)(f.machines[0].instance)
	got := groupOf(newRegistry().Observe(see(t0, f)), f)
	if len(got.Failed) > 0 || got.Backoff != nil || got.Counts.Ready != 1 {
		t.Errorf("failed %v, back-off %v, counts %+v; want a ready node and no failure", got.Failed, got.Backoff, got.Counts)
	}
}

func TestHealthOfTheCluster(t *testing.T) {
	mixed := func(good, bad int) *fleet { return newFleet("g", 0, 100, good+bad).ready(good).unready(bad) }
	foreign := func(good, bad int) *fleet { return strangers().ready(good).unready(bad) }
	all := options()
	all.HealthScopeAllNodes = true
	tests := map[string]struct {
		fleets []*fleet
		all    bool
		want   bool
	}{
		// Cases S04 and S05; SD183, SD184.
		"9 of 20 unready nodes are not more than 45 %": {[]*fleet{mixed(11, 9)}, false, true},
		"10 of 20 are": {[]*fleet{mixed(10, 10)}, false, false},
		"3 of 4 are no more than the three that are let be": {[]*fleet{mixed(1, 3)}, false, true},
		// Case C15.
		"unready strangers do not count":                   {[]*fleet{mixed(6, 0), foreign(2, 8)}, false, true},
		"unless all nodes count":                           {[]*fleet{mixed(6, 0), foreign(2, 8)}, true, false},
		"nor do ready strangers make up for unready nodes": {[]*fleet{mixed(2, 4), foreign(20, 0)}, false, false},
		"unless all nodes count, again":                    {[]*fleet{mixed(2, 4), foreign(20, 0)}, true, true},
		"nodes that have not started are not unready":      {[]*fleet{newFleet("g", 0, 100, 10).starting(10, t0)}, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			if test.all {
				r = clusterstate.NewRegistry(all, t0)
			}
			if got := r.Observe(see(t0, test.fleets...)).Cluster.Healthy; got != test.want {
				t.Errorf("healthy is %t, want %t", got, test.want)
			}
		})
	}
}

func TestHealthOfAGroup(t *testing.T) {
	long := after(16 * time.Minute) // when whatever is missing from the start is overdue
	tests := map[string]struct {
		fleet *fleet
		at    time.Time
		want  bool
	}{
		// Cases S02 and S03.
		"5 of 12 missing are not more than 45 %": {newFleet("g", 0, 20, 12).ready(7).unready(5), t0, true},
		"6 of 12 are":                            {newFleet("g", 0, 20, 12).ready(6).unready(6), t0, false},
		// Case S06; other than there, the third is healthy while the machines may still come.
		"a group that is to have no machine":                       {newFleet("g", 0, 20, 0), t0, true},
		"one whose machines may still come, whoever asked":         {newFleet("g", 0, 20, 3), t0, true},
		"but not one that has waited for all of them for too long": {newFleet("g", 0, 20, 3), long, false},
		"not even for a single one":                                {newFleet("g", 0, 20, 1), long, false},
		// Other than S33: all 20 - 10 are on their way, started or not.
		"10 ready nodes, 6 starting, 4 on their way": {newFleet("g", 0, 20, 20).ready(10).starting(6, t0), t0, true},
		"surplus unready nodes do not count":         {newFleet("g", 0, 20, 2).ready(2).unready(5), t0, true},
		"suspended nodes are not missing": {newFleet("g", 0, 20, 10).ready(2).
			join(8, func(b nodeBuilder) nodeBuilder { return b.Condition("Suspended", "True", t0) }), t0, true},
		"machines that never registered are ended, hence not missing": {newFleet("g", 0, 20, 10).ready(2).creating(8), long, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			r.Observe(see(t0, test.fleet))
			got := groupOf(r.Observe(see(test.at, test.fleet)), test.fleet)
			if got.Healthy != test.want {
				t.Errorf("healthy is %t with %d missing of %d, want %t", got.Healthy, got.Missing, got.Expected, test.want)
			}
			var want report.Reason
			if !test.want {
				want = report.GroupUnhealthy{Missing: got.Missing, Expected: got.Expected}
			}
			if diff := cmp.Diff(want, got.SafeToScaleUp()); diff != "" {
				t.Errorf("against growing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGroupThatCannotBeWrittenToIsSetAside(t *testing.T) {
	tests := map[string]struct {
		change func(*fleet)
		want   string
	}{
		"it is known from older data only": {func(f *fleet) { f.group.Stale = errors.New("group not found") }, "group not found"},
		"the cloud has suspended it":       {func(f *fleet) { f.group.Suspended = "Launch is suspended" }, "Launch is suspended"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 2).ready(2)
			r := newRegistry()
			r.Observe(see(t0, f))
			test.change(f)
			r.Observe(see(after(time.Minute), f))
			got := groupOf(r.Observe(see(after(2*time.Minute), f)), f)
			want := &report.GroupSetAside{Error: test.want, Since: after(time.Minute)}
			if diff := cmp.Diff(want, got.SetAside); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(report.Reason(*want), got.SafeToScaleUp()); diff != "" {
				t.Errorf("against growing (-want +got):\n%s", diff)
			}
			f.group.Stale, f.group.Suspended = nil, ""
			if got = groupOf(r.Observe(see(after(3*time.Minute), f)), f); got.SetAside != nil {
				t.Errorf("set aside %+v after it is over", got.SetAside)
			}
		})
	}
}

func TestWrongSizes(t *testing.T) {
	type step struct {
		at     time.Duration
		change func(*fleet)
		want   *clusterstate.WrongSize
	}
	wrong := func(registered, target, empty int, since time.Duration) *clusterstate.WrongSize {
		return &clusterstate.WrongSize{Registered: registered, Target: target, Empty: empty, Since: after(since)}
	}
	tests := map[string]struct {
		fleet *fleet
		steps []step
	}{
		// Also SD229.
		"too few nodes, since the pair of numbers is as it is": {newFleet("g", 0, 10, 3).ready(1), []step{
			{at: 0, want: wrong(1, 3, 2, 0)},
			{at: time.Minute, want: wrong(1, 3, 2, 0)},
			{at: 10 * time.Minute, change: func(f *fleet) { f.group.Target = 4 }, want: wrong(1, 4, 3, 10*time.Minute)},
			{at: 11 * time.Minute, change: func(f *fleet) { f.ready(3) }},
		}},
		"too many nodes": {newFleet("g", 0, 10, 5).ready(6), []step{{at: 0, want: wrong(6, 5, 0, 0)}}},
		// Case L30.
		"not with instances that have no node yet": {newFleet("g", 0, 10, 5).ready(3).creating(2), []step{{at: 0}}},
		"not with instances that failed":           {newFleet("g", 0, 10, 5).ready(3).failing(2, "Q", ""), []step{{at: 0}}},
		"not in a group without any machine":       {newFleet("g", 0, 10, 5), []step{{at: 0}}},
		"nodes whose machine is ending do not count": {newFleet("g", 0, 10, 2).ready(2).join(1, nil), []step{
			{at: 0, change: func(f *fleet) { f.machines[2].instance.State = cloudprovider.InstanceDeleting }},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			for _, step := range test.steps {
				if step.change != nil {
					step.change(test.fleet)
				}
				got := groupOf(r.Observe(see(after(step.at), test.fleet)), test.fleet).WrongSize
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("at %s (-want +got):\n%s", step.at, diff)
				}
			}
		})
	}
}

func TestAGroupThatGoesAsAWholeIsSetAsideWhileAPartOfItWillNotCome(t *testing.T) {
	atomic := func(partial bool, f *fleet) *fleet {
		f.group.Options.ZeroOrMaxNodeScaling, f.group.Options.AllowNonAtomicScaleUpToMax = true, partial
		return f
	}
	tests := map[string]struct {
		fleet *fleet
		want  bool
	}{
		"one of four never registered":        {atomic(false, newFleet("g", 0, 4, 4).ready(3).creating(1)), true},
		"one of four failed":                  {atomic(false, newFleet("g", 0, 4, 4).ready(3).failing(1, "Q", "")), true},
		"unless the part may work alone":      {atomic(true, newFleet("g", 0, 4, 4).ready(3).creating(1)), false},
		"unless nothing of it came":           {atomic(false, newFleet("g", 0, 4, 4).creating(4)), false},
		"unless it is one of single machines": {newFleet("g", 0, 4, 4).ready(3).creating(1), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			r.Observe(see(t0, test.fleet))
			got := groupOf(r.Observe(see(after(16*time.Minute), test.fleet)), test.fleet)
			if got.Incomplete != test.want || (got.SetAside != nil) != test.want {
				t.Errorf("incomplete %t, set aside %v, want %t", got.Incomplete, got.SetAside, test.want)
			}
		})
	}
}

func TestWhatRepairsChange(t *testing.T) {
	ended := func(n int, errs ...error) report.RepairOutcome {
		out := report.RepairOutcome{RepairAction: report.RepairAction{Kind: report.DeleteUnregistered, Group: "g"}, At: t0}
		for i := range n {
			out.Outcomes = append(out.Outcomes, cloudprovider.DeleteOutcome{Node: cloudprovider.NodeRef{Name: fmt.Sprint(i)}})
		}
		for _, err := range errs {
			out.Outcomes = append(out.Outcomes, cloudprovider.DeleteOutcome{Err: err})
		}
		return out
	}
	lowered := func(n int) report.RepairOutcome {
		return report.RepairOutcome{RepairAction: report.RepairAction{Kind: report.DecreaseTarget, Group: "g", By: n}, Lowered: n, At: t0}
	}
	failed := func(err error) report.RepairOutcome {
		return report.RepairOutcome{RepairAction: report.RepairAction{Kind: report.DeleteUnregistered, Group: "g"}, Err: err, At: t0}
	}
	type effect struct {
		Target, Upcoming int
		Busy             bool // out of this iteration
		Rests            bool // its repairs rest
		Aside            bool // in later iterations, too
	}
	denied := &cloudprovider.ConfigurationError{Group: "g", Err: errors.New("AccessDenied")}
	tests := map[string]struct {
		fleet   *fleet
		outcome report.RepairOutcome
		want    effect
	}{
		"machines that were ended lower the target": {newFleet("g", 1, 9, 5).ready(4).failing(1, "Q", ""), ended(1), effect{Target: 4, Busy: true}},
		"machines of the minimum are replaced": {newFleet("g", 2, 9, 2).failing(2, "Q", ""), ended(2),
			effect{Target: 2, Upcoming: 2, Busy: true}},
		"a target below the minimum is not raised": {newFleet("g", 3, 9, 1).failing(1, "Q", ""), ended(1),
			effect{Target: 1, Upcoming: 1, Busy: true}},
		"the end of a whole group takes along what was still to come": {newFleet("g", 0, 4, 4).creating(3).failing(1, "Q", ""), ended(4), effect{Busy: true}},
		"places that were withdrawn are not upcoming any more":        {newFleet("g", 0, 9, 6).ready(4).creating(1), lowered(1), effect{Target: 5, Upcoming: 1, Busy: true}},
		"a repair that was refused changes nothing but rests": {newFleet("g", 0, 9, 4).ready(4),
			report.RepairOutcome{RepairAction: report.RepairAction{Group: "g"}, Refused: "all places are filled", At: t0}, effect{Target: 4, Rests: true}},
		"a repair that failed for good rests":              {newFleet("g", 0, 9, 4).ready(4), failed(errors.New("no")), effect{Target: 4, Busy: true, Rests: true}},
		"so does one of which a part failed":               {newFleet("g", 0, 9, 4).ready(2).failing(2, "Q", ""), ended(1, errors.New("no")), effect{Target: 3, Busy: true, Rests: true}},
		"one that failed for now does not":                 {newFleet("g", 0, 9, 4).ready(4), failed(&cloudprovider.TransientError{Err: errors.New("busy")}), effect{Target: 4, Busy: true}},
		"nor one that meets a bound that has changed":      {newFleet("g", 0, 9, 4).ready(4), failed(&cloudprovider.StaleBoundsError{Group: "g", Err: errors.New("min")}), effect{Target: 4, Busy: true}},
		"one that an operator has to mend sets aside, too": {newFleet("g", 0, 9, 4).ready(4), failed(denied), effect{Target: 4, Busy: true, Rests: true, Aside: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			r.Observe(see(t0, test.fleet))
			state := r.AfterRepair([]report.RepairOutcome{test.outcome})
			group := groupOf(state, test.fleet)
			got := effect{Target: group.Target, Upcoming: group.Upcoming, Busy: group.SetAside != nil, Rests: group.RepairFrom.Equal(after(5 * time.Minute))}
			next := groupOf(r.Observe(see(after(10*time.Second), test.fleet)), test.fleet)
			got.Aside = next.SetAside != nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if test.want.Rests != next.RepairFrom.Equal(after(5*time.Minute)) {
				t.Errorf("in the next iteration repairs are due from %s", next.RepairFrom)
			}
		})
	}
}

// A place that the cloud leaves alone for now was not ended, and the cloud is not asked again at once.
func TestAPlaceThatWasLeftAloneStaysAndItsRepairRestsAWhile(t *testing.T) {
	f := newFleet("g", 1, 9, 5).ready(4).failing(1, "Q", "")
	r := newRegistry()
	r.Observe(see(t0, f))
	group := groupOf(r.AfterRepair([]report.RepairOutcome{{
		RepairAction: report.RepairAction{Kind: report.DeleteFailed, Group: "g"}, At: t0,
		Outcomes: []cloudprovider.DeleteOutcome{{Kept: "a machine may still come for it"}},
	}}), f)
	if group.Target != 5 || group.SetAside == nil || !group.RepairFrom.Equal(after(30*time.Second)) {
		t.Errorf("target %d, set aside %v, repairs from %s; want 5, for this iteration, and in 30 s", group.Target, group.SetAside, group.RepairFrom)
	}
	if next := groupOf(r.Observe(see(after(10*time.Second), f)), f); next.SetAside != nil {
		t.Errorf("in the next iteration it is set aside: %v", next.SetAside)
	}
}

func TestWithdrawnPlacesThatWereLostAreNotTakenOffWhatIsUpcoming(t *testing.T) {
	f := newFleet("g", 0, 9, 5).ready(3)
	r := newRegistry()
	r.Observe(see(t0, f))
	f.creating(1)
	f.group.Target = 6
	group := groupOf(r.Observe(see(after(16*time.Minute), f)), f)
	if group.Upcoming != 1 || group.Lost != 2 {
		t.Fatalf("upcoming %d and lost %d, want 1 and 2", group.Upcoming, group.Lost)
	}
	group = groupOf(r.AfterRepair([]report.RepairOutcome{{
		RepairAction: report.RepairAction{Kind: report.DecreaseTarget, Group: "g", By: 2}, Lowered: 2, At: after(16 * time.Minute),
	}}), f)
	if group.Upcoming != 1 || group.Lost != 0 || group.Target != 4 {
		t.Errorf("upcoming %d, lost %d, target %d, want 1, 0 and 4", group.Upcoming, group.Lost, group.Target)
	}
}

func TestTheCloudMayNameTheEarliestEndOfABackOff(t *testing.T) {
	for name, test := range map[string]struct {
		until time.Time
		want  time.Duration
	}{
		"none":   {time.Time{}, 5 * time.Minute},
		"sooner": {after(time.Minute), 5 * time.Minute},
		"later":  {after(30 * time.Minute), 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 0)
			r := newRegistry()
			f.group.Target = 2
			f.failing(2, "quota", "no more")
			f.machines[1].instance.Error.Until = test.until
			if got := groupOf(r.Observe(see(t0, f)), f).Backoff; got == nil || !got.Until.Equal(after(test.want)) {
				t.Errorf("back-off %+v, want until %s", got, after(test.want))
			}
		})
	}
}
