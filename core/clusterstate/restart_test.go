package clusterstate_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// through is the memory as the next process reads it.
func through(t testing.TB, memory saved.Registry) saved.Registry {
	t.Helper()
	text, err := new(saved.Encoder).Encode(saved.State{Registry: memory}, saved.Limit)
	if err != nil {
		t.Fatal(err)
	}
	state, err := saved.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return state.Registry
}

// restarted is the registry of a process that finds what the one before has left at a time, and starts at another one.
func restarted(t testing.TB, memory saved.Registry, seen observation.Observation, last time.Time) *clusterstate.Registry {
	t.Helper()
	r := clusterstate.NewRegistry(options(), seen.At)
	r.Restore(through(t, memory), seen, last)
	return r
}

// waiting adds the pod p to those that wait.
func waiting(seen observation.Observation) observation.Observation {
	pod := simtest.Pod("p").Build()
	pod.UID = "p"
	seen.Unschedulable = []*corev1.Pod{pod}
	return seen
}

// Invariant 7, and other than T04: as long as nothing is older than it may be, restarts at any point change nothing in what is known.
func TestRestartsAtAnyPointChangeNothing(t *testing.T) {
	for seed := range uint64(30) {
		s := newStory(seed)
		chance := rand.New(rand.NewPCG(seed, 11))
		for _, f := range s.fleets {
			f.group.Options.MaxNodeProvisionTime = 1000 * time.Hour
		}
		always, again := newRegistry(), newRegistry()
		for step := range 30 {
			last := s.at
			seen := waiting(s.next())
			if chance.IntN(2) == 0 {
				memory := again.Save()
				if diff := cmp.Diff(memory, through(t, memory), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("seed %d, step %d: the memory changes when it is stored (-before +after):\n%s", seed, step, diff)
				}
				again = restarted(t, memory, seen, last)
			}
			same := func(what string, want, got clusterstate.State) clusterstate.State {
				t.Helper()
				want.Foreign, got.Foreign = nil, nil // the first look has nothing to compare with
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d, step %d, %s: restarts make a difference (-without +with):\n%s", seed, step, what, diff)
				}
				return want
			}
			state := same("observe", always.Observe(seen), again.Observe(seen))
			repairs := s.repairs(state)
			state = same("repair", always.AfterRepair(repairs), again.AfterRepair(repairs))
			resizes := s.resizes(state)
			same("scale-up", always.AfterScaleUp(resizes, triggered), again.AfterScaleUp(resizes, triggered))
			if len(state.Groups) > 0 && chance.IntN(4) == 0 {
				ended := []report.RemovalOutcome{
					{Removal: report.Removal{Group: state.Groups[0].Group, Node: "n"}, Result: report.RemovalOK, Ended: s.at},
					{
						Removal: report.Removal{Group: state.Groups[0].Group, Node: "m"}, Result: report.RemovalDeletionFailed, RefusedByCloud: true,
						Err: errors.New("denied"), Ended: s.at,
					},
				}
				always.Ended(ended)
				again.Ended(ended)
			}
			going, err := []report.Removal{{Node: fmt.Sprint("n", step)}}, fmt.Errorf("tainting %d", step)
			same("scale-down", always.AfterScaleDown(going, err), again.AfterScaleDown(going, err))
		}
	}
}

// S08, other than there: the request of the process before counts, for as long as it would have.
func TestARequestCountsAfterARestartWhileItIsYoung(t *testing.T) {
	for name, test := range map[string]struct {
		down    time.Duration
		request bool
	}{
		"at the provision time": {15 * time.Minute, true},
		"after it":              {15*time.Minute + time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 0)
			r := newRegistry()
			r.Observe(waiting(see(t0, f)))
			r.AfterScaleUp(grown(f, 2, t0), triggered)
			f.group.Target = 2
			seen := waiting(see(after(test.down), f))
			state := restarted(t, r.Save(), seen, t0).Observe(seen)
			got := groupOf(state, f)
			if (got.Request != nil) != test.request || got.ScalingUp != test.request || (len(state.Purchases) > 0) != test.request {
				t.Errorf("request %+v, scaling up %t, purchases %v; want them: %t", got.Request, got.ScalingUp, state.Purchases, test.request)
			}
			if got.Upcoming != 2 {
				t.Errorf("upcoming is %d, want 2", got.Upcoming)
			}
		})
	}
}

// A process died between the wish and its answer. For a short time what the cloud tells may be older than the wish.
func TestAnIntendedPurchaseIsWaitedForUntilTheCloudMustKnow(t *testing.T) {
	type look struct {
		at       time.Duration
		target   int // what the cloud shows
		want     int // what counts
		upcoming int
		request  int
	}
	for name, looks := range map[string][]look{
		"it was carried out":                                 {{15 * time.Second, 2, 2, 2, 2}, {time.Minute, 2, 2, 2, 2}},
		"it was carried out, and the cloud shows it late":    {{10 * time.Second, 0, 2, 2, 2}, {19 * time.Second, 0, 2, 2, 2}, {30 * time.Second, 2, 2, 2, 2}},
		"it was not carried out, as the cloud shows later":   {{10 * time.Second, 0, 2, 2, 2}, {20 * time.Second, 0, 0, 0, 0}},
		"it was not carried out, and the start took a while": {{time.Minute, 0, 0, 0, 0}},
		"a part of it was carried out":                       {{time.Minute, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 0)
			before := newRegistry()
			before.Observe(see(t0, f))
			resizes := []report.Resize{{Group: "g", From: 0, To: 2, Max: 10}}
			if diff := cmp.Diff(before.Save(), before.Save()); diff != "" {
				t.Fatal(diff)
			}
			memory := before.SaveIntending(resizes, t0)
			if groups := before.Save().Groups; len(groups) != 1 || groups[0].Request != nil {
				t.Errorf("the wish itself has changed the memory: %+v", groups)
			}
			f.group.Target = looks[0].target
			r := restarted(t, memory, see(after(looks[0].at), f), t0)
			for _, look := range looks {
				f.group.Target = look.target
				got := groupOf(r.Observe(see(after(look.at), f)), f)
				request := 0
				if got.Request != nil {
					request = got.Request.Increase
				}
				if got.Target != look.want || got.Upcoming != look.upcoming || request != look.request {
					t.Errorf("at %s: target %d, upcoming %d, request %d; want %+v", look.at, got.Target, got.Upcoming, request, look)
				}
			}
		})
	}
}

func TestAWishForAGroupWithARequestAddsToIt(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 2, t0), nil)
	memory := r.SaveIntending([]report.Resize{{Group: "g", From: 2, To: 5, Max: 10}, {Group: "a", From: 0, To: 1, Max: 1}}, after(time.Minute))
	want := []saved.Group{
		{ID: "a", Request: &saved.Request{Increase: 1, Since: after(time.Minute), Expires: after(time.Minute)}, Believed: &saved.Belief{Target: 1, Since: after(time.Minute), Intended: true}, LastScaleUp: after(time.Minute)},
		{ID: "g", Request: &saved.Request{Increase: 5, Since: after(time.Minute), Expires: after(16 * time.Minute)}, Believed: &saved.Belief{Target: 5, Since: after(time.Minute), Intended: true}, LastScaleUp: after(time.Minute)},
	}
	if diff := cmp.Diff(want, memory.Groups, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatIsNotThereAnyMoreIsForgotten(t *testing.T) {
	f, gone := newFleet("g", 0, 10, 1).creating(1), newFleet("gone", 0, 10, 1).creating(1)
	r := newRegistry()
	r.Observe(waiting(see(t0, f, gone)))
	r.AfterScaleUp(append(grown(f, 1, t0), grown(gone, 1, t0)...), triggered)
	r.Attempted([]report.PodVerdict{
		{Pod: report.PodRef{UID: "p"}, Fate: report.PodTriggered, Grown: "g", Own: report.NotGuaranteed{Until: after(time.Hour)}},
		{Pod: report.PodRef{UID: "left"}, Fate: report.PodTriggered, Grown: "g", Own: report.NotGuaranteed{Until: after(time.Hour)}},
		{Pod: report.PodRef{UID: "p"}, Fate: report.PodTriggered, Grown: "gone", Own: report.NotGuaranteed{Until: after(time.Hour)}},
	})
	template := func(group string, at time.Time) nodeinfos.LearntTemplate {
		return nodeinfos.LearntTemplate{Group: cloudprovider.GroupID(group), At: at, Template: simulator.NodeTemplate{Node: simtest.Node(group).Build()}}
	}
	r.Learn([]nodeinfos.LearntTemplate{
		template("g", t0), template("gone", t0), template("unreadable", t0), template("g", t0.Add(-31*24*time.Hour)), template("g", t0.Add(-29*24*time.Hour)),
	})
	seen := waiting(see(after(time.Minute), f))
	seen.GroupErrors = []cloudprovider.GroupError{{Group: "unreadable", Err: errors.New("no")}}
	next := restarted(t, r.Save(), seen, t0)

	memory := next.Save()
	if len(memory.Groups) != 1 || memory.Groups[0].ID != "g" || len(memory.Purchases) != 1 || memory.Purchases[0].Group != "g" {
		t.Errorf("groups %+v, purchases %+v; want those of g", memory.Groups, memory.Purchases)
	}
	if diff := cmp.Diff(map[clusterstate.Attempt]time.Time{{Pod: "p", Group: "g"}: after(time.Hour)}, next.Attempts(after(time.Minute))); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	var learnt []string
	for _, l := range next.Learnt() {
		learnt = append(learnt, fmt.Sprint(l.Group, " ", after(0).Sub(l.At)))
	}
	if diff := cmp.Diff([]string{"g 0s", "unreadable 0s", "g 696h0m0s"}, learnt); diff != "" {
		t.Errorf("learnt (-want +got):\n%s", diff)
	}

	gonePod := see(after(time.Minute), f)
	if got := restarted(t, r.Save(), gonePod, t0).Save().Purchases; len(got) != 0 {
		t.Errorf("purchases %+v for a pod that does not wait any more", got)
	}
}

func TestTheBackOffOfAGroupThatCannotBeDescribedForAWhileIsKept(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil)
	unreadable := see(after(10*time.Second), strangers())
	unreadable.GroupErrors = []cloudprovider.GroupError{{Group: "g", Err: errors.New("busy")}}
	next := restarted(t, r.Save(), unreadable, t0)
	next.Observe(unreadable)
	if got := groupOf(next.Observe(see(after(time.Minute), f)), f); got.Backoff == nil || !got.Backoff.Until.Equal(after(5*time.Minute)) {
		t.Errorf("back-off %+v, want one until 5m", got.Backoff)
	}
}

// S27 over a restart: the next failure doubles the back-off.
func TestABackOffThatHasEndedStillSaysHowLongTheNextOneIs(t *testing.T) {
	f := newFleet("g", 0, 10, 0)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil)
	seen := see(after(8*time.Minute), f)
	next := restarted(t, r.Save(), seen, after(7*time.Minute))
	next.Observe(seen)
	got := groupOf(next.AfterScaleUp(refused(f, 1, after(8*time.Minute), errors.New("no")), nil), f)
	if got.Backoff == nil || !got.Backoff.Until.Equal(after(18*time.Minute)) {
		t.Errorf("back-off %+v, want one until 18m", got.Backoff)
	}
}

func TestClocksThatWereAheadAreCut(t *testing.T) {
	ahead := after(48 * time.Hour)
	f := newFleet("g", 0, 10, 2).creating(1)
	r := newRegistry()
	r.Observe(waiting(see(ahead, f)))
	r.AfterScaleUp(grown(f, 1, ahead), triggered)
	r.AfterScaleUp(refused(f, 1, ahead, errors.New("no")), nil)
	r.AfterScaleUp(refused(f, 1, ahead, &cloudprovider.ConfigurationError{Group: "g", Err: errors.New("no")}), nil)
	r.Attempted([]report.PodVerdict{{Pod: report.PodRef{UID: "p"}, Fate: report.PodTriggered, Grown: "g", Own: report.NotGuaranteed{Until: ahead}}})
	seen := waiting(see(t0, f))
	next := restarted(t, r.Save(), seen, ahead)
	memory := next.Save()
	day := after(24 * time.Hour)
	g := memory.Groups[0]
	for what, at := range map[string]time.Time{
		"scale-up stamp": memory.LastScaleUp, "request": g.Request.Since, "belief": g.Believed.Since, "last failure": g.Backoff.LastFailed,
		"first seen": g.FirstSeen[0].Since, "empty place": g.EmptySince[0], "group's stamp": g.LastScaleUp, "set aside": g.SetAside.Since, "purchase": memory.Purchases[0].At,
	} {
		if at.After(t0) {
			t.Errorf("%s: %s is in the future", what, at)
		}
	}
	for what, until := range map[string]time.Time{"request": g.Request.Expires, "purchase": memory.Purchases[0].Expires} {
		if until.After(after(15 * time.Minute)) {
			t.Errorf("%s: ends at %s", what, until)
		}
	}
	for what, until := range map[string]time.Time{"back-off": g.Backoff.Until, "set aside": g.SetAside.Until, "attempt": memory.Attempts[0].Until} {
		if until.After(day) {
			t.Errorf("%s: ends at %s", what, until)
		}
	}
}

func TestNonsenseInTheStateDoesNoHarm(t *testing.T) {
	memory := saved.Registry{
		Groups: []saved.Group{{
			ID: "g", Request: &saved.Request{Increase: -3}, Believed: &saved.Belief{Target: -7, Certain: true}, Backoff: &saved.Backoff{Duration: -1},
			Places: []saved.Place{{}}, SetAside: &saved.SetAside{}, FirstSeen: []saved.FirstSeen{{}}, EmptySince: []time.Time{{}, {}, {}}, WrongSize: &saved.WrongSize{Registered: -1},
		}, {ID: "g"}, {}},
		Purchases: []saved.Purchase{{}, {Group: "g", Nodes: -1}}, Attempts: []saved.Attempt{{}}, Learnt: []nodeinfos.LearntTemplate{{Group: "g"}},
	}
	f := newFleet("g", 0, 10, 3).ready(1)
	r := newRegistry()
	r.Restore(memory, see(t0, f), time.Time{})
	addsUp(t, r.Observe(see(t0, f)))
	addsUp(t, r.Observe(see(after(time.Hour), f)))
}

// C05 over a restart: an instance that never registers is ended when its time is over, and an empty place is given back, unless nobody looked for
// so long that it may be another one.
func TestTheClocksOfMachinesThatDoNotComeGoOn(t *testing.T) {
	for name, test := range map[string]struct {
		last time.Duration
		want int
	}{
		"the last look was a short time ago":                    {14 * time.Minute, 1},
		"nobody looked for longer than a machine needs to come": {time.Minute - 2*time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 2).creating(1)
			r := newRegistry()
			r.Observe(see(t0, f))
			seen := see(after(16*time.Minute), f)
			got := groupOf(restarted(t, r.Save(), seen, after(test.last)).Observe(seen), f)
			if got.Counts.LongUnregistered != test.want || got.Lost != test.want {
				t.Errorf("long unregistered %d, lost %d; want %d of each", got.Counts.LongUnregistered, got.Lost, test.want)
			}
		})
	}
}

// S16 over a restart: what was told of failed machines is not told again, and does not renew the back-off.
func TestAFailureIsNewsOnceWhateverTheNumberOfProcesses(t *testing.T) {
	f := newFleet("g", 0, 10, 2).failing(2, "Q", "none")
	r := newRegistry()
	if got := r.Observe(see(t0, f)).Failed; len(got) != 1 {
		t.Fatalf("failed: %+v", got)
	}
	seen := see(after(time.Minute), f)
	state := restarted(t, r.Save(), seen, t0).Observe(seen)
	if got := groupOf(state, f); len(state.Failed) != 0 || got.Backoff == nil || !got.Backoff.Until.Equal(after(5*time.Minute)) {
		t.Errorf("news %+v, back-off %+v; want none, and the one until 5m", state.Failed, got.Backoff)
	}
}
