package scaledown_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// stored is the memory of a planner as the next process reads it.
func stored(t *testing.T, planner *scaledown.Planner) saved.Planner {
	t.Helper()
	text, err := new(saved.Encoder).Encode(saved.State{Planner: planner.Save()}, saved.Limit)
	must(t, err)
	state, err := saved.Decode(text)
	must(t, err)
	return state.Planner
}

// restarted is a planner of the next process, which finds the world as it is at the time.
func restarted(t *testing.T, from saved.Planner, w world, at time.Time) *scaledown.Planner {
	t.Helper()
	planner := newPlanner(t, defaults())
	planner.RestoreSaved(from, w.in(t, at).Seen.Nodes, at)
	return planner
}

// 182: unneeded timers survive a restart.
func TestANodeGoesWhenItsTimeIsOverWhateverTheNumberOfProcesses(t *testing.T) {
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m"), node("o", "1000m")}}
	first := newPlanner(t, defaults())
	plan(t, first, idle, start)
	from := stored(t, first)
	over := start.Add(10*time.Minute + time.Second)
	for name, test := range map[string]struct {
		w    world
		want string
	}{
		"both are there still":             {idle, "n o/"},
		"one is another of the same name":  {world{nodes: []simtest.NodeBuilder{node("n", "1000m").With(renew), node("o", "1000m")}}, "o/"},
		"one is gone":                      {world{nodes: []simtest.NodeBuilder{node("o", "1000m")}}, "o/"},
		"one is in use since the restart":  {world{nodes: idle.nodes, pods: []simtest.PodBuilder{pod("p", "900m", "n")}}, "o/"},
		"another one joined them meantime": {world{nodes: append(slices.Clone(idle.nodes), node("p", "1000m"))}, "n o/"},
	} {
		t.Run(name, func(t *testing.T) {
			second := restarted(t, from, test.w, over)
			if got := going(plan(t, second, test.w, over)); got != test.want {
				t.Errorf("going: got %q, want %q", got, test.want)
			}
		})
	}
}

func TestATimerFromTheFutureStartsNow(t *testing.T) {
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}}
	first := newPlanner(t, defaults())
	plan(t, first, idle, start.Add(time.Hour))
	second := restarted(t, stored(t, first), idle, start)
	if diff := cmp.Diff(report.Reason(report.NotUnneededLongEnough{Since: start, Needed: 10 * time.Minute}), verdicts(plan(t, second, idle, start))["n"]); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestANodeThatWasFoundNotRemovableRestsOverARestart(t *testing.T) {
	blocked := world{nodes: []simtest.NodeBuilder{node("n", "1000m"), node("z", "1000m")}, pods: []simtest.PodBuilder{bare("p", "100m", "n"), pod("q", "900m", "z")}}
	first := newPlanner(t, defaults())
	found := verdicts(plan(t, first, blocked, start))["n"]
	if found.Code() != report.CodeBlockedByPod {
		t.Fatalf("the first verdict is %v", found)
	}
	from := stored(t, first)
	other := world{nodes: []simtest.NodeBuilder{node("n", "1000m").With(renew), blocked.nodes[1]}, pods: blocked.pods}
	resting := report.Reason(report.RecentlyUnremovable{First: found, Until: start.Add(5 * time.Minute)})
	for name, test := range map[string]struct {
		w    world
		at   time.Time
		want report.Reason
	}{
		"the same node":                    {blocked, start.Add(time.Minute), resting},
		"another one of the same name":     {other, start.Add(time.Minute), found},
		"the same node, its rest is over":  {blocked, start.Add(5 * time.Minute), found},
		"long ago by a clock that is late": {blocked, start.Add(-time.Hour), report.RecentlyUnremovable{First: found, Until: start.Add(-55 * time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdicts(plan(t, restarted(t, from, test.w, test.at), test.w, test.at))["n"]
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheFirstSearchOfTheNextProcessStartsWhereTheLastOneFoundRoom(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("a", "1000m"), node("b", "1000m"), node("c", "1000m"), node("n", "1000m")},
		pods:  []simtest.PodBuilder{pod("p", "100m", "n"), pod("x", "600m", "a"), pod("y", "600m", "b"), pod("z", "600m", "c")},
	}
	first := newPlanner(t, defaults())
	plan(t, first, w, start)
	from := stored(t, first)
	place := from.Hints["pod-default-p"]
	if place == "" {
		t.Fatalf("hints %v", from.Hints)
	}
	place = "c" // which is not where a search without a hint ends
	if from.Hints["pod-default-p"] == place {
		t.Fatalf("the search ends on %s: the test proves nothing", place)
	}
	from.Hints["pod-default-p"] = place
	second := newPlanner(t, defaults())
	second.RestoreSaved(from, w.in(t, start).Seen.Nodes, start)
	plan(t, second, w, start.Add(time.Minute))
	if got := second.Save().Hints["pod-default-p"]; got != place {
		t.Errorf("the pod goes to %s, want %s, where it fitted before", got, place)
	}
	// Where that node is gone, the hint is, too.
	w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(n simtest.NodeBuilder) bool { return n.Build().Name == place })
	w.pods = slices.DeleteFunc(slices.Clone(w.pods), func(p simtest.PodBuilder) bool { return p.Build().Spec.NodeName == place })
	if got := restarted(t, from, w, start).Save().Hints["pod-default-p"]; got != "" {
		t.Errorf("the hint still names %s", got)
	}
}
