package scaleup_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// none is the cloud's answer if it has no machines for the group.
func none(id cloudprovider.GroupID) error {
	return &cloudprovider.OutOfResourcesError{Group: id, Err: errors.New("none left")}
}

// refusing are errors by group.
type refusing = map[cloudprovider.GroupID]error

// noneOf is what pods are told of a group that has no machines.
func noneOf(id string) string {
	return id + `: scale-up execution failed: the cloud is out of its machines for node group "` + id + `": none left`
}

func TestWhatIsRefusedIsPlannedAnew(t *testing.T) {
	// Six nodes for six pods: a+3, b+2, c+1, in this order.
	three := []group{zone("a", 1, 10), zone("b", 2, 10), zone("c", 3, 10)}
	six := world{groups: three, pods: big(6), balancing: balanced(), first: true}
	with := func(w world, change func(*world)) world { change(&w); return w }
	for name, tc := range map[string]struct {
		world
		result report.ScaleUpResult
		sizes  []string
		pods   map[string]string // of some pods
	}{
		"R01, replaced: behind a failure the rest is shared by the others at once": {
			world:  with(six, func(w *world) { w.refuse = refusing{"b": none("b")} }),
			result: report.ScaleUpSuccessful, sizes: []string{"a 1->4", "c 3->5", "a 4->5"},
			pods: map[string]string{"p-00": "Triggered by a; " + noneOf("b"), "p-03": "Triggered by c; " + noneOf("b"), "p-05": "Triggered by a; " + noneOf("b")},
		},
		"R02, replaced: in parallel only the failed part is": {
			world:  with(six, func(w *world) { w.refuse, w.parallel = refusing{"b": none("b")}, true }),
			result: report.ScaleUpSuccessful, sizes: []string{"a 1->4", "c 3->4", "a 4->5", "c 4->5"},
			pods: map[string]string{"p-05": "Triggered by c; " + noneOf("b"), "p-03": "Triggered by a; " + noneOf("b"), "p-04": "Triggered by c; " + noneOf("b")},
		},
		"R03, replaced: pods whose other group was not tried yet are helped by it": {
			world: with(six, func(w *world) {
				w.groups, w.pods, w.refuse = []group{zone("b", 0, 5), zone("c", 1, 5)}, big(3), refusing{"b": none("b")}
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"c 1->4"},
			pods: map[string]string{"p-00": "Triggered by c; " + noneOf("b")},
		},
		"R03: those that have no group left are told so": {
			world: with(six, func(w *world) {
				w.groups, w.pods, w.refuse = []group{zone("a", 0, 1), zone("b", 0, 5), zone("c", 3, 3)}, big(3), refusing{"b": none("b")}
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"a 0->1"},
			pods: map[string]string{
				"p-00": "Triggered by a; " + noneOf("b") + "; c: max node group size reached",
				"p-02": "Unschedulable; a: max node group size reached; " + noneOf("b") + "; c: max node group size reached",
			},
		},
		"one group after the other refuses": {
			world: with(six, func(w *world) {
				w.groups = append([]group{{id: "d", max: 9, variants: machine("4")}}, three...)
				w.refuse, w.parallel = refusing{"a": none("a"), "b": none("b"), "d": none("d")}, true
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"c 3->4", "c 4->9"}, // after d alone, beside a and b, alone
			pods: map[string]string{"p-00": "Triggered by c; " + noneOf("d") + "; " + noneOf("a") + "; " + noneOf("b")},
		},
		"what one group does not grant in full another one completes": {
			world: with(six, func(w *world) {
				w.groups, w.refuse = []group{zone("a", 0, 10), {id: "d", max: 9, variants: machine("4")}}, refusing{"a": none("a")}
				w.grants = map[cloudprovider.GroupID]int{"a": 4}
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"a 0->4", "d 0->1"},
			pods: map[string]string{"p-03": "Triggered by a", "p-04": "Triggered by d; " + noneOf("a")},
		},
		"pods that fit beside others on what was bought need no other node": {
			world: world{
				groups: []group{zone("a", 0, 9), zone("b", 0, 1), {id: "small", max: 9, variants: machine("1")}}, balancing: balanced(), first: true, parallel: true,
				pods: append(many(2, "x", "800m"), pod("y", "500m")), refuse: refusing{"a": none("a")},
			},
			result: report.ScaleUpSuccessful, sizes: []string{"b 0->1", "small 0->1"},
			pods: map[string]string{
				"y": "Triggered by b; " + noneOf("a"), "x-00": "Triggered by b; " + noneOf("a"), "x-01": "Triggered by small; " + noneOf("a") + "; b: max node group size reached",
			},
		},
		"C29: what a busy cloud did not do waits, what was not tried does not": {
			world: with(six, func(w *world) { w.refuse = refusing{"a": &cloudprovider.TransientError{Err: errors.New("throttled")}} }),
			// b and c share the three pods that were theirs
			result: report.ScaleUpSuccessful, sizes: []string{"b 2->4", "c 3->4"},
			pods: map[string]string{
				"p-00": "Awaiting; a: scale-up execution failed: the cloud could not answer for now: throttled",
				"p-03": "Triggered by b; a: scale-up execution failed: the cloud could not answer for now: throttled",
			},
		},
		"of a group whose nodes count for several units, one that was granted in part is not bought elsewhere": {
			world: with(six, func(w *world) {
				w.groups, w.pods, w.refuse = []group{zone("a", 0, 10), zone("b", 0, 10)}, big(3), refusing{"a": none("a")}
				w.groups[0].weight, w.grants = 2, map[cloudprovider.GroupID]int{"a": 1}
				w.balancing = nil
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"a 0->1", "b 0->2"},
			pods: map[string]string{"p-00": "Triggered by a", "p-01": "Triggered by b; " + noneOf("a")},
		},
		"limits count what was bought": {
			world: with(six, func(w *world) {
				w.refuse, w.parallel, w.limits = refusing{"b": none("b")}, true, map[string]int64{"cpu": 12}
				w.grants = map[cloudprovider.GroupID]int{"b": 1}
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"a 1->4", "b 2->3", "c 3->4", "a 4->5"},
		},
		"also for pods of nodes that they cut off": {
			world: world{
				groups: []group{zone("a", 0, 9), zone("b", 0, 9)}, pods: big(6), balancing: balanced(), first: true, parallel: true,
				refuse: refusing{"a": none("a")}, limits: map[string]int64{"cpu": 8}, // 4 nodes, of which a refuses 2
			},
			result: report.ScaleUpSuccessful, sizes: []string{"b 0->2", "b 2->4"},
		},
		"and what may have been bought": {
			world: world{
				groups: []group{zone("c", 0, 9), zone("a", 0, 9), zone("b", 0, 9)}, pods: big(9), balancing: balanced(), first: true, parallel: true,
				refuse: refusing{"c": none("c"), "a": &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("cut off")}},
				limits: map[string]int64{"cpu": 12}, // 6 nodes, 2 of each group
			},
			result: report.ScaleUpSuccessful, sizes: []string{"b 0->2", "b 2->4"},
		},
		"so does the number of nodes of the cluster": {
			world: with(six, func(w *world) {
				w.groups = append([]group{{id: "d", max: 9, variants: machine("2")}}, w.groups...) // takes what is left, but there is room for one only
				w.refuse, w.grants, w.maxNodes, w.balancing = refusing{"d": none("d")}, map[cloudprovider.GroupID]int{"d": 3}, 4, nil
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"d 0->3", "a 1->2"},
		},
		"nothing was bought: other pods may have their turn": {
			world: world{
				groups: []group{
					{id: "a", max: 5, variants: []simtest.NodeBuilder{simtest.Node("cloud").Label("only", "a")}},
					{id: "b", max: 5, variants: []simtest.NodeBuilder{simtest.Node("cloud").Label("only", "b")}},
				},
				pods:   []simtest.PodBuilder{pod("p", "1").NodeSelector("only", "a"), pod("q", "1").NodeSelector("only", "b")},
				refuse: refusing{"a": none("a")}, first: true,
			},
			result: report.ScaleUpSuccessful, sizes: []string{"b 0->1"},
			pods: map[string]string{
				"p": "Unschedulable; " + noneOf("a") + "; b: node(s) didn't match Pod's node affinity/selector",
				"q": "Triggered by b; a: node(s) didn't match Pod's node affinity/selector",
			},
		},
		"R12: nobody is left": {
			world: with(six, func(w *world) {
				w.refuse, w.parallel = refusing{"a": none("a"), "b": none("b"), "c": none("c")}, true
			}),
			result: report.ScaleUpError, pods: map[string]string{"p-00": "Unschedulable; " + noneOf("a") + "; " + noneOf("b") + "; " + noneOf("c")},
		},
		"a group that was created takes part in the next iteration only": {
			world: with(six, func(w *world) {
				w.groups = []group{{id: "new", max: 10, theoretical: true, variants: zone("new", 0, 0).variants}, zone("b", 0, 10)}
				w.refuse, w.parallel = refusing{"b": none("b")}, true
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"new 0->3"},
		},
		"R08: by the groups in turn": {
			world: with(six, func(w *world) {
				w.groups, w.limits = []group{zone("a", 0, 9), zone("b", 0, 9)}, map[string]int64{"cpu": 8}
			}),
			result: report.ScaleUpSuccessful, sizes: []string{"a 0->2", "b 0->2"},
			pods: map[string]string{"p-01": "Triggered by a", "p-03": "Triggered by b", "p-04": "Triggered by a", "p-05": "Triggered by a"},
		},
		"R08: pods of nodes that a limit cuts off count as helped": {
			world: with(six, func(w *world) { w.groups, w.limits = []group{zone("a", 0, 9)}, map[string]int64{"cpu": 2} }), result: report.ScaleUpSuccessful,
			sizes: []string{"a 0->1"}, pods: map[string]string{"p-00": "Triggered by a", "p-05": "Triggered by a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			grown := tc.grow(t)
			if grown.Result != tc.result || grown.Err != nil {
				t.Errorf("the result is %s (%v), want %s", grown.Result, grown.Err, tc.result)
			}
			if diff := cmp.Diff(tc.sizes, sizes(grown)); diff != "" {
				t.Errorf("sizes: %s", diff)
			}
			got := verdicts(grown)
			if len(got) != len(tc.world.pods) {
				t.Errorf("%d pods have a verdict, want %d", len(got), len(tc.world.pods))
			}
			for pod, want := range tc.pods {
				if got[pod] != want {
					t.Errorf("%s: %s\nwant %s", pod, got[pod], want)
				}
			}
			checkCredits(t, grown)
		})
	}
}

func TestGroupsThatRefuseAreNeitherSkippedNorAskedAgain(t *testing.T) {
	grown := world{
		groups: []group{zone("a", 0, 10), zone("b", 0, 10)}, pods: big(2), balancing: balanced(), first: true, parallel: true, refuse: refusing{"a": none("a")},
	}.grow(t)
	if len(grown.Skipped) > 0 {
		t.Errorf("skipped: %v", grown.Skipped)
	}
	asked := map[cloudprovider.GroupID]int{}
	for _, o := range grown.Outcomes {
		asked[o.Group]++
	}
	if diff := cmp.Diff(map[cloudprovider.GroupID]int{"a": 1, "b": 2}, asked); diff != "" {
		t.Error(diff)
	}
	var reasons []string
	for _, o := range grown.Options {
		text := string(o.Group)
		if o.Chosen {
			text += " chosen"
		}
		reasons = append(reasons, text)
	}
	if diff := cmp.Diff([]string{"a chosen", "b chosen"}, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestAnOptionWhoseNodesWereAllForSimilarGroupsIsToldToHaveFailed(t *testing.T) {
	grown := world{groups: []group{zone("a", 5, 10), zone("b", 0, 1)}, pods: big(1), balancing: balanced(), first: true, refuse: refusing{"b": errors.New("boom")}}
	got := grown.grow(t).Options
	if len(got) != 2 || got[0].Reason != nil || !got[0].Chosen {
		t.Errorf("got %+v, want that a was taken again without b", got)
	}
	grown.refuse["a"] = errors.New("boom")
	got = grown.grow(t).Options
	if diff := cmp.Diff(report.Reason(report.ExecutionFailed{Error: "boom"}), got[0].Reason); diff != "" || got[0].Chosen {
		t.Errorf("chosen: %t, %s", got[0].Chosen, diff)
	}
}

func TestAPlanThatContradictsItselfIsAnError(t *testing.T) {
	// R04 as Grow sees it.
	w := world{groups: []group{{id: "g", max: 5, variants: machine("4")}, {id: "h", max: 5, variants: machine("8")}}, pods: many(1, "p", "4")}
	asked := 0
	grown := scaleup.Grow(t.Context(), w.in(t), w.choose(t), func(context.Context, []report.Resize) ([]report.ResizeOutcome, error) {
		asked++
		return nil, errors.New("g twice")
	})
	if asked != 1 || grown.Result != report.ScaleUpError || grown.Err == nil || grown.Pods[0].Fate != report.PodAwaiting {
		t.Errorf("asked %d times, %s, %v, %s", asked, grown.Result, grown.Err, grown.Pods[0].Fate)
	}
}

func TestACallThatWasCutShortIsNotMadeElsewhere(t *testing.T) {
	grown := world{
		groups: []group{{id: "g", max: 5, variants: machine("4")}, {id: "h", max: 5, variants: machine("8")}}, pods: many(1, "p", "1"),
		refuse: refusing{"g": context.DeadlineExceeded},
	}.grow(t)
	if len(grown.Outcomes) != 1 || grown.Result != report.ScaleUpError {
		t.Errorf("%d writes with result %s, want one and an error", len(grown.Outcomes), grown.Result)
	}
}

func TestAGroupThatWasCreatedIsToldOfByTheNameThatItHasNow(t *testing.T) {
	grown := world{
		groups: []group{{id: "new", max: 9, theoretical: true, variants: machine("2")}}, pods: big(2),
		renames: map[cloudprovider.GroupID]cloudprovider.GroupID{"new": "new-1"},
	}.grow(t)
	if diff := cmp.Diff(map[string]string{"p-00": "Triggered by new-1", "p-01": "Triggered by new-1"}, verdicts(grown)); diff != "" {
		t.Error(diff)
	}
}

func TestAnOptionWhoseNodesWereAllForABusySimilarGroupIsToldToHaveFailed(t *testing.T) {
	grown := world{
		groups: []group{zone("a", 5, 10), zone("b", 0, 1)}, pods: big(1), balancing: balanced(), first: true,
		refuse: refusing{"b": &cloudprovider.TransientError{Err: errors.New("busy")}},
	}.grow(t)
	if got := grown.Options[0]; got.Chosen || got.Reason == nil || got.Reason.Code() != (report.ExecutionFailed{}).Code() {
		t.Errorf("got %+v", got)
	}
}

func TestPodsThatFindRoomBecauseOfNewNodesAreHelpedByThem(t *testing.T) {
	// E09, replaced: two new nodes make three domains, and so let pods onto the node that exists, too.
	w := world{groups: []group{zone("a", 0, 10), zone("b", 0, 10)}, balancing: balanced(), first: true}
	domains := int32(3)
	for _, p := range many(8, "p", "100m") {
		w.pods = append(w.pods, p.Label("app", "a").Spread(corev1.LabelHostname, 1, "app", "a").With(func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints[0].MinDomains = &domains
		}))
	}
	w = w.on("", simtest.Node("n").CPU("4"), "")
	w.running = append(w.running, pod("there", "1").OwnedBy("ReplicaSet", "old").Label("app", "a").On("n").Build())
	for name, tc := range map[string]struct {
		refuse           refusing
		nodes, triggered int
	}{
		"all is bought":     {nil, 2, 8},
		"one group refuses": {refusing{"a": none("a")}, 2, 8},
		"one group is busy": {refusing{"a": &cloudprovider.TransientError{Err: errors.New("busy")}}, 1, 5}, // all but the three of its node
	} {
		t.Run(name, func(t *testing.T) {
			w.refuse, w.parallel = tc.refuse, true
			grown := w.grow(t)
			nodes, triggered := 0, 0
			for _, o := range grown.Outcomes {
				nodes += o.Granted
			}
			for _, v := range grown.Pods {
				if v.Fate == report.PodTriggered {
					triggered++
				}
			}
			if nodes != tc.nodes || triggered != tc.triggered {
				t.Errorf("%d nodes for %d pods were bought, want %d for %d: %v, %v", nodes, triggered, tc.nodes, tc.triggered, sizes(grown), verdicts(grown))
			}
		})
	}
}

func TestGroupsAreEstimatedAnewOnlyIfSomethingHasChanged(t *testing.T) {
	w := world{
		groups: []group{zone("a", 0, 10), {id: "b", max: 10, variants: machine("4")}, {id: "c", max: 10, variants: machine("8")}}, pods: big(4), first: true,
		refuse: refusing{"a": none("a"), "b": none("b"), "c": none("c")},
	}
	in := w.in(t)
	estimates := 0
	in.GroupBudget = func() scaleup.Budget { estimates++; return spent(false) }
	if grown := scaleup.Grow(t.Context(), in, w.choose(t), w.act); len(grown.Outcomes) != 3 || estimates != 3 {
		t.Errorf("%d groups were asked after %d estimates, want 3 after 3", len(grown.Outcomes), estimates)
	}
	w.balancing, w.groups[1].variants = balanced(), zone("b", 0, 10).variants
	in = w.in(t)
	in.GroupBudget, estimates = func() scaleup.Budget { estimates++; return spent(false) }, 0
	if grown := scaleup.Grow(t.Context(), in, w.choose(t), w.act); len(grown.Outcomes) != 3 || estimates != 4 {
		t.Errorf("%d groups were asked after %d estimates, want 3 after 4: b has lost the room of a", len(grown.Outcomes), estimates)
	}
}
