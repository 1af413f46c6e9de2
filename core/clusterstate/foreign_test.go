package clusterstate_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

func TestAChangeOfTheTargetThatIsNotOursIsNamedOnce(t *testing.T) {
	const second = time.Second
	type step struct {
		at      time.Duration
		target  int
		removal string // in progress
		do      func(*clusterstate.Registry, *fleet, time.Time)
		want    []report.TargetChange
	}
	change := func(from, to int) []report.TargetChange {
		return []report.TargetChange{{Group: "g", From: from, To: to}}
	}
	grow := func(by int) func(*clusterstate.Registry, *fleet, time.Time) {
		return func(r *clusterstate.Registry, f *fleet, at time.Time) { r.AfterScaleUp(grown(f, by, at), nil) }
	}
	lost := func(r *clusterstate.Registry, f *fleet, at time.Time) {
		r.AfterScaleUp(refused(f, 2, at, &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("reset")}), nil)
	}
	ended := func(result report.RemovalResult) func(*clusterstate.Registry, *fleet, time.Time) {
		return func(r *clusterstate.Registry, _ *fleet, at time.Time) {
			r.Ended([]report.RemovalOutcome{{Removal: report.Removal{Group: "g"}, Result: result, Ended: at}})
		}
	}
	repaired := func(r *clusterstate.Registry, _ *fleet, at time.Time) {
		r.AfterRepair([]report.RepairOutcome{{RepairAction: report.RepairAction{Group: "g"}, Outcomes: make([]cloudprovider.DeleteOutcome, 1), Lowered: 1, At: at}})
	}
	for name, steps := range map[string][]step{
		"a raise":             {{at: 0, target: 3}, {at: 10 * second, target: 5, want: change(3, 5)}, {at: 20 * second, target: 5}},
		"a cut":               {{at: 0, target: 3}, {at: 10 * second, target: 1, want: change(3, 1)}, {at: 20 * second, target: 1}},
		"back and forth":      {{at: 0, target: 3}, {at: 10 * second, target: 5, want: change(3, 5)}, {at: 20 * second, target: 3, want: change(5, 3)}},
		"but not our raise":   {{at: 0, target: 3, do: grow(2)}, {at: 10 * second, target: 5}, {at: 20 * second, target: 5}},
		"nor shown late":      {{at: 0, target: 3, do: grow(2)}, {at: 10 * second, target: 3}, {at: 100 * second, target: 4}, {at: 110 * second, target: 5}},
		"nor without answer":  {{at: 0, target: 3, do: lost}, {at: 10 * second, target: 5}},
		"a raise beside ours": {{at: 0, target: 3, do: grow(2)}, {at: 10 * second, target: 8, want: change(5, 8)}, {at: 20 * second, target: 8}},
		"a raise after ours":  {{at: 0, target: 3, do: grow(2)}, {at: 10 * second, target: 5}, {at: 20 * second, target: 6, want: change(5, 6)}},
		"a raise as large as one of ours that never showed": {{at: 0, target: 3, do: grow(2)}, {at: 130 * second, target: 5, want: change(3, 5)}},
		"but not a removal in progress":                     {{at: 0, target: 3, removal: "n"}, {at: 10 * second, target: 2, removal: "n"}},
		"nor one that has ended":                            {{at: 0, target: 3, do: ended(report.RemovalOK)}, {at: 10 * second, target: 3}, {at: 60 * second, target: 2}},
		"nor one that may have ended":                       {{at: 0, target: 3, do: ended(report.RemovalDeletionFailed)}, {at: 10 * second, target: 2}},
		"more than was removed":                             {{at: 0, target: 5, do: ended(report.RemovalOK)}, {at: 10 * second, target: 2, want: change(4, 2)}},
		"a cut after a drain was given up":                  {{at: 0, target: 3, do: ended(report.RemovalEvictionFailed)}, {at: 10 * second, target: 2, want: change(3, 2)}},
		"but not our repairs":                               {{at: 0, target: 5, do: repaired}, {at: 10 * second, target: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 20, 0)
			r := newRegistry()
			for i, step := range steps {
				f.group.Target = step.target
				seen := see(after(step.at), f)
				if step.removal != "" {
					seen.Deletions = []observation.Deletion{{Node: step.removal, Group: "g"}}
				}
				if diff := cmp.Diff(step.want, r.Observe(seen).Foreign); diff != "" {
					t.Errorf("step %d (-want +got):\n%s", i, diff)
				}
				if step.do != nil {
					step.do(r, f, after(step.at))
				}
			}
		})
	}
}

func TestAnOldViewSaysNothingAboutChanges(t *testing.T) {
	f := newFleet("g", 0, 20, 3)
	r := newRegistry()
	r.Observe(see(t0, f))
	f.group.Target, f.group.Stale = 5, errors.New("old")
	if got := r.Observe(see(after(time.Second), f)).Foreign; len(got) != 0 {
		t.Errorf("changes %+v", got)
	}
	f.group.Stale = nil
	if got := r.Observe(see(after(2*time.Second), f)).Foreign; len(got) != 1 {
		t.Errorf("changes %+v, want the one", got)
	}
}
