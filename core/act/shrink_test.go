package act_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/taints"
)

// names are the nodes of removals.
func names(removals []report.Removal) []string {
	var out []string
	for _, r := range removals {
		out = append(out, r.Node)
	}
	return out
}

func refusedCodes(verdicts []report.NodeVerdict) map[string]report.Code {
	out := map[string]report.Code{}
	for _, v := range verdicts {
		out[v.Node] = v.Reason.Code()
	}
	return out
}

func TestIfOneNodeCannotBeTaintedItsPartDoesNotStart(t *testing.T) {
	away := errors.New("the API server is away")
	for name, test := range map[string]struct {
		fails   string
		started []string
		ended   []string // machines, in the end
		log     []string // up to the end of the start
	}{
		"SD144: one of two empty nodes": {
			fails: "e2", log: []string{"0 update e1 " + marked, "0 update e1 []"},
		},
		"SD145: one of two nodes to drain": {
			fails: "d2", started: []string{"e1", "e2"}, ended: []string{"e1", "e2"},
			log: []string{"0 update e1 " + marked, "0 update e2 " + marked, "0 update d1 " + marked, "0 update d1 []"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			s.add("g", node("e1"), node("e2"), node("d1"), node("d2"))
			s.run(pod("p1", "d1"), pod("p2", "d2"))
			plan := planOf(s.candidate("g", "e1"), s.candidate("g", "e2"), s.candidate("g", "d1", "p1"), s.candidate("g", "d2", "p2"))
			s.updateErr[test.fails] = away
			got := s.Shrink(silent(t), plan)
			if !errors.Is(got.Err, away) {
				t.Errorf("error %v, want that of the node", got.Err)
			}
			if diff := cmp.Diff(test.started, names(got.Started)); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.log, s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			s.play(time.Hour)
			if diff := cmp.Diff(wantedAll(test.ended), results(s.Finished())); diff != "" {
				t.Errorf("finished (-want +got):\n%s", diff)
			}
			for _, left := range []string{"d1", "d2"} {
				if got := s.look(left); got != unmarked {
					t.Errorf("node %s is left as %s", left, got)
				}
			}
		})
	}
}

func wantedAll(ended []string) (out []string) {
	for _, n := range ended {
		out = append(out, n+" Ok")
	}
	return out
}

func TestATaintOfWhichNobodyKnowsIsTakenAwayToo(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	s.lostAnswer["n"] = true
	if got := s.Shrink(silent(t), planOf(s.candidate("g", "n"))); got.Err == nil || len(got.Started) != 0 {
		t.Errorf("started %v, error %v; want an error", names(got.Started), got.Err)
	}
	want := []string{"0 update n " + marked, "0 update n []"}
	if diff := cmp.Diff(want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestConflictsWhileTainting(t *testing.T) {
	for name, test := range map[string]struct {
		conflicts int
		want      []string
		fails     bool
	}{
		"SD146: two conflicts": {2, []string{"0 conflict n", "0.75 conflict n", "1.5 update n " + marked}, false},
		"SD146: conflicts for ever": {1000, []string{
			"0 conflict n", "0.75 conflict n", "1.5 conflict n", "2.25 conflict n", "3 conflict n", "3.75 conflict n", "4.5 conflict n", "5.25 conflict n",
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wall := clock.RealClock{}
				w := newWorld(t, shifted{wall, start.Sub(wall.Now())})
				w.add("g", node("n"))
				a := newActuator(w, wall, defaults())
				w.conflicts["n"] = test.conflicts
				got := a.Shrink(silent(t), planOf(w.candidate("g", "n")))
				if (got.Err != nil) != test.fails {
					t.Errorf("error %v, want one: %t", got.Err, test.fails)
				}
				log := w.takeLog()
				if diff := cmp.Diff(test.want, log[:min(len(log), len(test.want))]); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// shifted is a clock that shows another date.
type shifted struct {
	clock.PassiveClock
	by time.Duration
}

func (s shifted) Now() time.Time                     { return s.PassiveClock.Now().Add(s.by) }
func (s shifted) Since(from time.Time) time.Duration { return s.Now().Sub(from) }

func TestANodeThatHasTheTaintAlreadyIsNotChanged(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n").Taint(taints.ToBeDeleted, "123", "NoSchedule"))
	got := s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	if len(got.Started) != 1 || s.look("n") != "[hard]" || len(s.takeLog()) != 0 {
		t.Errorf("SD147: started %v, node %s; want it started as it is", names(got.Started), s.look("n"))
	}
}

func TestANodeThatWasReplacedIsNotTouched(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"), node("m"), node("o"))
	plan := planOf(s.candidate("g", "n"), s.candidate("g", "m"), s.candidate("g", "o"))
	s.nodes["n"].UID = "anew"
	delete(s.nodes, "m")
	got := s.Shrink(silent(t), plan)
	want := map[string]report.Code{"n": report.CodeUnexpectedError, "m": report.CodeUnexpectedError}
	if diff := cmp.Diff(want, refusedCodes(got.Refused)); diff != "" || got.Err != nil {
		t.Errorf("error %v, refused (-want +got):\n%s", got.Err, diff)
	}
	if diff := cmp.Diff([]string{"o"}, names(got.Started)); diff != "" || s.look("n") != unmarked {
		t.Errorf("node n is %s, started (-want +got):\n%s", s.look("n"), diff)
	}
}

func TestTheMinimumIsCheckedOnTheNewestDataBeforeTheTaint(t *testing.T) {
	minReached := report.CodeNodeGroupMinSizeReached
	for name, test := range map[string]struct {
		fresh   *cloudprovider.GroupState
		err     error
		view    cloudprovider.GroupState
		atomic  bool
		started []string
		refused map[string]report.Code
	}{
		"the cloud has a higher minimum than the view": {
			fresh: &cloudprovider.GroupState{Min: 4, Max: 8, Target: 4}, view: cloudprovider.GroupState{Min: 2, Max: 8, Target: 4},
			refused: map[string]report.Code{"n1": minReached, "n2": minReached},
		},
		"there is room for one": {
			fresh: &cloudprovider.GroupState{Min: 3, Max: 8, Target: 4}, view: cloudprovider.GroupState{Min: 2, Max: 8, Target: 4},
			started: []string{"n1"}, refused: map[string]report.Code{"n2": minReached},
		},
		"where single groups cannot be read the newest view counts": {
			view: cloudprovider.GroupState{Min: 3, Max: 8, Target: 4}, started: []string{"n1"}, refused: map[string]report.Code{"n2": minReached},
		},
		"of a group that goes as a whole none goes then": {
			view: cloudprovider.GroupState{Min: 3, Max: 8, Target: 4}, atomic: true,
			refused: map[string]report.Code{"n1": minReached, "n2": minReached},
		},
		"a size that cannot be read": {
			fresh: &cloudprovider.GroupState{}, err: errors.New("denied"),
			refused: map[string]report.Code{"n1": report.CodeUnexpectedError, "n2": report.CodeUnexpectedError},
		},
		"a suspended group": {
			view:    cloudprovider.GroupState{Target: 4, Suspended: "Terminate"},
			refused: map[string]report.Code{"n1": report.CodeUnexpectedError, "n2": report.CodeUnexpectedError},
		},
		"a group that is not to be shrunk for now": {
			view:    cloudprovider.GroupState{Target: 4, Held: "it is being updated"},
			refused: map[string]report.Code{"n1": report.CodeUnexpectedError, "n2": report.CodeUnexpectedError},
		},
		"a machine that is not to be ended": {
			view: cloudprovider.GroupState{Target: 4, Instances: []cloudprovider.Instance{
				{ID: node("n1").Build().Spec.ProviderID, Held: "it is in standby"}, {ID: node("n2").Build().Spec.ProviderID},
			}},
			started: []string{"n2"}, refused: map[string]report.Code{"n1": report.CodeUnexpectedError},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			g := s.add("g", node("n1"), node("n2"))
			g.state, g.fresh, g.freshErr = test.view, test.fresh, test.err
			first, second := s.candidate("g", "n1"), s.candidate("g", "n2")
			first.Atomic, second.Atomic = test.atomic, test.atomic
			got := s.Shrink(silent(t), planOf(first, second))
			if diff := cmp.Diff(test.started, names(got.Started)); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.refused, refusedCodes(got.Refused)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			for node := range test.refused {
				if s.look(node) != unmarked {
					t.Errorf("node %s was touched: %s", node, s.look(node))
				}
			}
		})
	}
}

func TestRemovalsInProgressCountForTheMinimum(t *testing.T) {
	s := newStage(t, defaults())
	g := s.add("g", node("n1"), node("n2"), node("n3"))
	g.state.Min = 1
	s.Shrink(silent(t), planOf(s.candidate("g", "n1")))
	got := s.Shrink(silent(t), planOf(s.candidate("g", "n1"), s.candidate("g", "n2"), s.candidate("g", "n3")))
	want := []report.NodeVerdict{
		{Node: "n1", Group: "g", Reason: report.DeletionInProgress{Since: start}},
		{Node: "n3", Group: "g", Reason: report.NodeGroupMinSizeReached{Size: 3, Deleting: 1, Min: 1}},
	}
	if diff := cmp.Diff(want, got.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// The minimum was raised after the taint: the cloud refuses, and the node is in service again.
func TestAMinimumThatWasRaisedAfterTheTaintLeavesNothingBehind(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n")).errs = []error{&cloudprovider.StaleBoundsError{Group: "g", Asked: 1, Err: errors.New("minimum 4")}}
	s.Shrink(silent(t), planOf(s.candidate("g", "n")))
	s.play(10 * time.Second)
	if got := s.look("n"); got != unmarked {
		t.Errorf("node n is left as %s", got)
	}
}

func TestAPlanInItsCoolDownStartsNothing(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"))
	plan := planOf(s.candidate("g", "n"))
	plan.CoolDown = &report.CoolDown{}
	if got := s.Shrink(silent(t), plan); len(got.Started) != 0 || s.look("n") != unmarked {
		t.Errorf("started %v", names(got.Started))
	}
}

func TestAGroupThatGoesAsAWhole(t *testing.T) {
	fleet := func(s *stage) []scaledown.Candidate {
		s.add("g", node("e1"), node("e2"), node("d1"), node("d2"))
		s.run(pod("p1", "d1"), pod("p2", "d2"))
		return []scaledown.Candidate{
			together(s.candidate("g", "e1")), together(s.candidate("g", "e2")), together(s.candidate("g", "d1", "p1")), together(s.candidate("g", "d2", "p2")),
		}
	}
	for name, test := range map[string]struct {
		change func(*stage)
		want   []string // deletions
		result []string
	}{
		"goes in one order to the cloud, once the last is ready": {
			change: func(s *stage) { s.stops["p2"] = 20 * time.Second },
			want:   []string{"25 delete g e1,e2,d1,d2: <nil>"},
			result: []string{"d1 Ok", "d2 Ok", "e1 Ok", "e2 Ok"},
		},
		"SD166: none goes if one aborts": {
			change: func(s *stage) { s.run(pod("late", "e2")) },
			result: []string{"d1 FailedToDelete", "d2 FailedToDelete", "e1 FailedToDelete", "e2 Internal"},
		},
		"SD212: nor if a drain fails later": {
			change: func(s *stage) { s.refuse["p1"] = always(tooManyRequests) },
			result: []string{"d1 FailedToEvictPods", "d2 FailedToDelete", "e1 FailedToDelete", "e2 FailedToDelete"},
		},
		"nor if a pod comes to one at the last moment": {
			change: func(s *stage) {
				s.stops["p2"] = 20 * time.Second
				s.later(22*time.Second, func() { s.pods["late"] = pod("late", "e1").Build() })
			},
			result: []string{"d1 FailedToDelete", "d2 FailedToDelete", "e1 Internal", "e2 FailedToDelete"},
		},
		"nor if the cloud refuses": {
			change: func(s *stage) { s.groups["g"].errs = []error{errors.New("no")} },
			want:   []string{"5 delete g e1,e2,d1,d2: no"},
			result: []string{"d1 FailedToDelete", "d2 FailedToDelete", "e1 FailedToDelete", "e2 FailedToDelete"},
		},
		"nor if one of the second part cannot be tainted": {
			change: func(s *stage) { s.updateErr["d2"] = errors.New("away") },
			result: []string{"e1 FailedToDelete", "e2 FailedToDelete"},
		},
		"nor if one is gone": {
			change: func(s *stage) { delete(s.nodes, "d2") },
			result: []string{"d1 FailedToDelete", "e1 FailedToDelete", "e2 FailedToDelete"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			candidates := fleet(s)
			test.change(s)
			s.Shrink(silent(t), planOf(candidates...))
			s.play(time.Hour)
			var deletions []string
			for _, line := range s.takeLog() {
				if strings.Contains(line, "delete") {
					deletions = append(deletions, line)
				}
			}
			if diff := cmp.Diff(test.want, deletions); diff != "" {
				t.Errorf("deletions (-want +got):\n%s", diff)
			}
			got := results(s.Finished())
			sortStrings(got)
			if diff := cmp.Diff(test.result, got); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if got := s.Deletions(); len(got) != 0 && got[0].Accepted == false {
				t.Errorf("still in progress: %v", got)
			}
			for name := range s.nodes {
				if s.look(name) != unmarked && s.updateErr[name] == nil {
					t.Errorf("node %s is left as %s", name, s.look(name))
				}
			}
		})
	}
}

func TestTheBatcherCollectsTheNodesOfAGroup(t *testing.T) {
	options := defaults()
	options.ScaleDown.DeletionBatcherInterval = 10 * time.Second
	s := newStage(t, options)
	s.add("g", node("n1"), node("n2"), node("n3"))
	s.run(pod("p", "n3"))
	s.stops["p"] = 9 * time.Second
	s.add("h", node("m"))
	s.Shrink(silent(t), planOf(s.candidate("g", "n1"), s.candidate("g", "n2"), s.candidate("h", "m"), s.candidate("g", "n3", "p")))
	s.takeLog()
	s.play(time.Minute)
	want := []string{"5 evict p 30", "15 delete g n1,n2: <nil>", "15 delete h m: <nil>", "25 delete g n3: <nil>"}
	if diff := cmp.Diff(want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestARefusalOfABatchConcernsAllOfIt(t *testing.T) {
	for name, test := range map[string]struct {
		interval time.Duration
		want     []string
	}{
		"SD168: collected nodes":           {10 * time.Second, []string{"n1 FailedToDelete", "n2 FailedToDelete", "n3 FailedToDelete"}},
		"SD167: without batching only one": {0, []string{"n1 FailedToDelete", "n2 Ok", "n3 Ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.ScaleDown.DeletionBatcherInterval = test.interval
			s := newStage(t, options)
			s.add("g", node("n1"), node("n2"), node("n3")).errs = []error{errors.New("no")}
			s.Shrink(silent(t), planOf(s.candidate("g", "n1"), s.candidate("g", "n2"), s.candidate("g", "n3")))
			s.play(time.Minute)
			if diff := cmp.Diff(test.want, results(s.Finished())); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunDoesWhatStepDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := clock.RealClock{}
		w := newWorld(t, shifted{wall, start.Sub(wall.Now())})
		w.add("g", node("n"))
		w.add("h", node("m"))
		w.run(pod("p", "m"))
		w.stops["p"] = 42 * time.Second
		options := defaults()
		options.Parallelism = 5
		a := newActuator(w, wall, options)
		ctx, stop := cancellable(t)
		done := make(chan struct{})
		go func() { a.Run(ctx); close(done) }()
		time.Sleep(30 * time.Second) // it sleeps; work wakes it
		if got := a.Shrink(ctx, planOf(w.candidate("g", "n"), w.candidate("h", "m", "p"))); got.Err != nil {
			t.Fatal(got.Err)
		}
		time.Sleep(2 * time.Minute)
		want := []string{"30 update n " + marked, "30 update m " + marked, "35 delete g n: <nil>", "35 evict p 30", "80 delete h m: <nil>"}
		log := w.takeLog()
		sortStrings(log)
		sortStrings(want)
		if diff := cmp.Diff(want, log); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		stop()
		<-done
	})
}

func TestASlowGroupDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := clock.RealClock{}
		w := newWorld(t, shifted{wall, start.Sub(wall.Now())})
		w.add("g", node("n"))
		w.add("h", node("m"))
		w.groups["g"].slow = 45 * time.Second
		a := newActuator(w, wall, defaults())
		ctx, stop := cancellable(t)
		done := make(chan struct{})
		go func() { a.Run(ctx); close(done) }()
		a.Shrink(ctx, planOf(w.candidate("g", "n"), w.candidate("h", "m")))
		time.Sleep(6 * time.Second)
		if diff := cmp.Diff([]string{"m Ok"}, results(a.Finished())); diff != "" {
			t.Errorf("after 6 s (-want +got):\n%s", diff)
		}
		stop() // the call under way is not cut off
		<-done
		if diff := cmp.Diff([]string{"n Ok"}, results(a.Finished())); diff != "" {
			t.Errorf("in the end (-want +got):\n%s", diff)
		}
	})
}

func TestShutdownPutsNodesBackIntoService(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"), node("m"), node("q").Cordoned(), node("gone"))
	s.run(pod("p", "m"))
	s.stops["p"] = time.Hour
	s.Shrink(silent(t), planOf(s.candidate("g", "n"), s.candidate("g", "m", "p"), s.candidate("g", "q"), s.candidate("g", "gone")))
	delete(s.nodes, "gone")
	s.add("h", node("last"))
	s.play(4 * time.Second)
	if err := s.Shutdown(silent(t)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"n": unmarked, "m": unmarked, "q": "[cordoned]"} {
		if got := s.look(name); got != want {
			t.Errorf("node %s is left as %s, want %s", name, got, want)
		}
	}
	if got := s.Finished(); len(got) != 4 || len(s.Deletions()) != 0 {
		t.Errorf("finished %v, in progress %v; want all to have ended", results(got), s.Deletions())
	}
	s.takeLog()
	if got := s.Shrink(silent(t), planOf(s.candidate("h", "last"))); len(got.Started) != 0 {
		t.Errorf("work is taken after the shutdown: %v", names(got.Started))
	}
	if got, err := s.Resize(silent(t), []report.Resize{{Group: "g", From: 4, To: 5, Max: 10}}); err != nil || got[0].Err == nil {
		t.Error("a group is grown after the shutdown")
	}
	if next := s.Step(silent(t), start.Add(time.Hour)); !next.IsZero() || len(s.takeLog()) != 0 {
		t.Errorf("something goes on after the shutdown: next %v", next)
	}
}

func TestShutdownNamesWhatItCouldNotUndo(t *testing.T) {
	s := newStage(t, defaults())
	s.add("g", node("n"), node("m"))
	s.Shrink(silent(t), planOf(s.candidate("g", "n"), s.candidate("g", "m")))
	s.unmarkErr["n"] = errors.New("the API server is away")
	err := s.Shutdown(silent(t))
	if !containsText(err, "node n") || s.look("m") != unmarked {
		t.Errorf("error %v, node m %s; want n named and m back in service", err, s.look("m"))
	}
}

var _ act.Kube = (*world)(nil)
