package scaledown_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// explained makes a plan that lists all that keeps nodes.
func explained(t *testing.T, planner *scaledown.Planner, w world, at time.Time) scaledown.Plan {
	t.Helper()
	in := w.in(t, at)
	in.Explain = true
	before := layout(in.Snapshot)
	p, err := planner.Plan(t.Context(), in)
	must(t, err)
	if after := layout(in.Snapshot); after != before || in.Snapshot.Depth() != 0 {
		t.Fatalf("the plan changed the snapshot:\nbefore %s\nafter  %s", before, after)
	}
	return p
}

func TestAVerdictListsAllThatKeepsTheNode(t *testing.T) {
	scratch := func(name string) simtest.PodBuilder { return pod(name, "10m", "n").EmptyDir("scratch", "") }
	rs := func(why string, pods int, detail string) report.Blocker {
		return report.Blocker{Why: why, Kind: "ReplicaSet", Namespace: "default", Name: "rs", Pods: pods, Detail: detail}
	}
	alone := report.Blocker{Why: "NotReplicated", Kind: "Pod", Namespace: "default", Name: "bare", Pods: 1}
	for name, test := range map[string]struct {
		pods []simtest.PodBuilder
		pdbs []*policyv1.PodDisruptionBudget
		want []report.Blocker
		text string
	}{
		"put together by controller and rule, fewest pods first": {
			pods: []simtest.PodBuilder{bare("bare", "10m", "n"), scratch("a-1"), scratch("a-2"), pod("moves", "10m", "n")},
			want: []report.Blocker{alone, rs("LocalStorageRequested", 2, "")},
			text: "pod default/a-1 blocks: LocalStorageRequested; all that blocks: " +
				"pod default/bare: NotReplicated, 2 pods of ReplicaSet default/rs: LocalStorageRequested",
		},
		"each budget is told": {
			pods: []simtest.PodBuilder{pod("a", "10m", "n").Label("app", "x"), pod("b", "10m", "n").Label("app", "y"), pod("c", "10m", "n").Label("app", "y")},
			pdbs: []*policyv1.PodDisruptionBudget{pdb("x", "x", 0), pdb("y", "y", 0)},
			want: []report.Blocker{rs("NotEnoughPdb", 1, "default/x"), rs("NotEnoughPdb", 2, "default/y")},
			text: "pod default/a blocks: NotEnoughPdb (default/x); all that blocks: " +
				"a pod of ReplicaSet default/rs: NotEnoughPdb (default/x), 2 pods of ReplicaSet default/rs: NotEnoughPdb (default/y)",
		},
		"pods without a place, too": {
			pods: []simtest.PodBuilder{bare("bare", "10m", "n"), pod("p", "150m", "n"), pod("q", "170m", "n"), pod("r", "10m", "n"), pod("s", "150m", "n")},
			want: []report.Blocker{alone, rs("NoPlaceToMovePods", 2, "other: Insufficient cpu")},
			text: "pod default/bare blocks: NotReplicated; all that blocks: " +
				"pod default/bare: NotReplicated, 2 pods of ReplicaSet default/rs: NoPlaceToMovePods (other: Insufficient cpu)",
		},
		"all pods without a place": {
			pods: []simtest.PodBuilder{pod("p", "240m", "n"), pod("q", "240m", "n")},
			want: []report.Blocker{rs("NoPlaceToMovePods", 2, "other: Insufficient cpu")},
			text: "no place for pod default/p, nearest is other: Insufficient cpu; all that blocks: " +
				"2 pods of ReplicaSet default/rs: NoPlaceToMovePods (other: Insufficient cpu)",
		},
		"not if the reason names it already": {
			pods: []simtest.PodBuilder{bare("bare", "10m", "n"), pod("moves", "10m", "n")}, text: "pod default/bare blocks: NotReplicated",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{
				nodes: []simtest.NodeBuilder{node("n", "1000m"), node("other", "1000m")}, pods: test.pods, pdbs: test.pdbs,
				groupOf: map[string]cloudprovider.GroupID{"other": ""},
			}
			w.pods = append(w.pods, bare("resident", "800m", "other"))
			why := verdicts(explained(t, newPlanner(t, defaults()), w, start))["n"]
			if diff := cmp.Diff(test.want, allOf(why)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			if why.String() != test.text {
				t.Errorf("text\n%s\nwant\n%s", why, test.text)
			}
			if got := allOf(verdicts(plan(t, newPlanner(t, defaults()), w, start))["n"]); got != nil {
				t.Errorf("nobody asked, but blockers are %v", got)
			}
		})
	}
}

func allOf(why report.Reason) []report.Blocker {
	switch r := why.(type) {
	case report.BlockedByPod:
		return r.All
	case report.NoPlaceToMovePods:
		return r.All
	case report.ResourceClaimsNotSimulated:
		return r.All
	default:
		return nil
	}
}

// What is said about a node must not change what is done about the next one.
func TestExplainingDecidesNothing(t *testing.T) {
	var w world
	w.groupOf = map[string]cloudprovider.GroupID{}
	w.options = map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": both}
	for i := range 12 {
		name := fmt.Sprintf("n%02d", i)
		w.nodes = append(w.nodes, node(name, "1000m"))
		for j := range 3 {
			p := pod(fmt.Sprintf("p%02d-%d", i, j), fmt.Sprintf("%dm", 100+50*((i+j)%4)), name)
			if i%5 == 1 && j == 0 {
				p = bare(fmt.Sprintf("b%02d", i), "50m", name)
			}
			w.pods = append(w.pods, p)
		}
	}
	options := defaults()
	options.ScaleDown.MaxDrainParallelism = 10
	silent, telling := newPlanner(t, options), newPlanner(t, options)
	explains := 0
	for at := start; at.Before(start.Add(12 * time.Minute)); at = at.Add(3 * time.Minute) {
		want, got := plan(t, silent, w, at), explained(t, telling, w, at)
		for _, kept := range got.Kept {
			if allOf(kept.Reason) != nil {
				explains++
			}
		}
		if going(want) != going(got) || unneeded(want) != unneeded(got) {
			t.Errorf("going %s, unneeded %s; without explanations %s, %s", going(got), unneeded(got), going(want), unneeded(want))
		}
		if diff := cmp.Diff(codes(want), codes(got)); diff != "" {
			t.Errorf("verdicts (-without +with explanations):\n%s", diff)
		}
		if diff := cmp.Diff(silent.Save().Hints, telling.Save().Hints); diff != "" {
			t.Errorf("hints (-without +with explanations):\n%s", diff)
		}
	}
	if explains == 0 {
		t.Error("nothing was explained")
	}
}
