package simulator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func TestSearchOrder(t *testing.T) {
	t.Parallel()
	roomy, full := simtest.Node("").CPU("4"), simtest.Node("").CPU("100m")
	type found struct {
		Node  string
		Index int
	}
	not := func(names ...string) func(*corev1.Node) bool {
		return func(node *corev1.Node) bool { return !slices.Contains(names, node.Name) }
	}
	cases := map[string]struct {
		nodes  []simtest.NodeBuilder // named a, b, c …
		search simulator.Search
		pod    simtest.PodBuilder
		want   found
	}{
		"the first search starts at index 1":            {nodes: []simtest.NodeBuilder{roomy, roomy, roomy}, want: found{"b", 1}},
		"index 0 comes last":                            {nodes: []simtest.NodeBuilder{roomy, full, full}, want: found{"a", 0}},
		"it starts behind the last match":               {nodes: []simtest.NodeBuilder{roomy, roomy, roomy}, search: simulator.Search{StartAfter: 1}, want: found{"c", 2}},
		"and wraps around":                              {nodes: []simtest.NodeBuilder{roomy, roomy, roomy}, search: simulator.Search{StartAfter: 2}, want: found{"a", 0}},
		"the node of the last match comes last":         {nodes: []simtest.NodeBuilder{full, roomy, full}, search: simulator.Search{StartAfter: 1}, want: found{"b", 1}},
		"a last match beyond the end wraps":             {nodes: []simtest.NodeBuilder{roomy, roomy, roomy}, search: simulator.Search{StartAfter: 7}, want: found{"c", 2}},
		"-1 starts at index 0":                          {nodes: []simtest.NodeBuilder{roomy, roomy}, search: simulator.Search{StartAfter: -1}, want: found{"a", 0}},
		"one node":                                      {nodes: []simtest.NodeBuilder{roomy}, want: found{"a", 0}},
		"nodes that aren't accepted are passed over":    {nodes: []simtest.NodeBuilder{roomy, roomy, roomy}, search: simulator.Search{Accept: not("b")}, want: found{"c", 2}},
		"so are cordoned ones":                          {nodes: []simtest.NodeBuilder{roomy, roomy.Cordoned(), roomy}, want: found{"c", 2}},
		"even by pods that tolerate it":                 {nodes: []simtest.NodeBuilder{roomy, roomy.Cordoned(), roomy}, pod: simtest.Pod("p").Tolerates(""), want: found{"c", 2}},
		"so are those that the pod's affinity excludes": {nodes: []simtest.NodeBuilder{roomy, roomy, roomy}, pod: simtest.Pod("p").With(onlyOn("a")), want: found{"a", 0}},
		"no node at all":                                {want: found{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var nodes []*corev1.Node
			for i, node := range c.nodes {
				nodes = append(nodes, node.With(func(n *corev1.Node) { n.Name = string(rune('a' + i)) }).Build())
			}
			if c.pod == (simtest.PodBuilder{}) {
				c.pod = simtest.Pod("p").Requests("1", "")
			}
			snapshot := simtest.Snapshot(t, nodes, nil)
			placement, rejections, err := simtest.Scheduler(t).PlaceAnywhere(t.Context(), snapshot, c.pod.Build(), c.search)
			must(t, err)
			if diff := cmp.Diff(c.want, found(placement)); diff != "" || rejections != nil {
				t.Errorf("placement (-want +got):\n%s\nrejections: %+v", diff, rejections)
			}
			if got, _ := snapshot.NodeOfPod(c.pod.Build()); got != c.want.Node {
				t.Errorf("the pod lies on %q, want %q", got, c.want.Node)
			}
		})
	}
}

func TestSearchesOneAfterTheOtherGoRound(t *testing.T) {
	t.Parallel()
	snapshot, scheduler := simtest.Snapshot(t, nodes("a", "b", "c"), nil), simtest.Scheduler(t)
	last := 0
	var got []string
	for i := range 5 {
		placement, _, err := scheduler.PlaceAnywhere(t.Context(), snapshot, simtest.Pod(fmt.Sprint("p", i)).Build(), simulator.Search{StartAfter: last})
		must(t, err)
		last = placement.Index
		got = append(got, placement.Node)
	}
	if diff := cmp.Diff([]string{"b", "c", "a", "b", "c"}, got); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestAPodThatFitsNowhereGetsAReasonFromEachAcceptableNode(t *testing.T) {
	t.Parallel()
	nodes := []*corev1.Node{
		simtest.Node("a").CPU("1").Build(), simtest.Node("b").Cordoned().Build(), simtest.Node("c").Taint("t", "", corev1.TaintEffectNoSchedule).Build(),
		simtest.Node("d").Build(),
	}
	snapshot := simtest.Snapshot(t, nodes, nil)
	search := simulator.Search{Accept: func(n *corev1.Node) bool { return n.Name != "d" }}
	placement, rejections, err := simtest.Scheduler(t).PlaceAnywhere(t.Context(), snapshot, simtest.Pod("p").Requests("2", "").Build(), search)
	must(t, err)
	got := map[string]simulator.FilterCode{}
	var order []string
	for _, rejection := range rejections {
		got[rejection.Node] = rejection.Filter
		order = append(order, rejection.Node)
	}
	want := map[string]simulator.FilterCode{
		"a": simulator.InsufficientResource, "b": simulator.NodeUnschedulable, "c": simulator.TaintNotTolerated,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "c", "a"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if placement != (simulator.Placement{}) {
		t.Errorf("placement = %+v, want none", placement)
	}
}

func TestAPodThatIsRefusedBeforeAnyNodeIsLookedAtGetsOneReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pod  simtest.PodBuilder
		want simulator.FilterCode
	}{
		"resource claims": {pod: simtest.Pod("p").With(withClaim), want: simulator.ResourceClaimsNotSimulated},
		"a missing claim": {pod: simtest.Pod("p").Claim("missing"), want: simulator.VolumeUnbound},
	} {
		_, rejections, err := simtest.Scheduler(t).PlaceAnywhere(t.Context(), simtest.Snapshot(t, nodes("a", "b"), nil), c.pod.Build(), simulator.Search{})
		must(t, err)
		if len(rejections) != 1 || rejections[0].Node != "" || rejections[0].Filter != c.want {
			t.Errorf("%s: rejections = %+v, want one without node, %s", name, rejections, c.want)
		}
	}
}

func TestQuestionsThatCannotBeAnsweredAreErrors(t *testing.T) {
	t.Parallel()
	scheduler, snapshot, pod := simtest.Scheduler(t), simtest.Snapshot(t, nodes("a"), nil), simtest.Pod("p").Build()
	if _, err := scheduler.Check(t.Context(), snapshot, pod, "x"); err == nil || !strings.Contains(err.Error(), `default/p: the snapshot has no node "x"`) {
		t.Errorf("error = %v, want one that names pod and node", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := scheduler.PlaceAnywhere(ended, snapshot, pod, simulator.Search{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the context", err)
	}
	if _, ok := snapshot.NodeOfPod(pod); ok {
		t.Error("the pod was placed all the same")
	}
}

func TestParallelismDoesNotChangeAnswers(t *testing.T) {
	t.Parallel()
	alone := simtest.Scheduler(t)
	together, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Parallelism: 8})
	must(t, err)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable on purpose
	for range 20 {
		var nodes []*corev1.Node
		for i := range 40 + random.IntN(60) {
			node := simtest.Node(fmt.Sprintf("n%03d", i)).CPU(fmt.Sprint(1 + random.IntN(4))).Zone(fmt.Sprint("z", random.IntN(3)))
			if random.IntN(5) == 0 {
				node = node.Cordoned()
			}
			nodes = append(nodes, node.Build())
		}
		snapshot := simtest.Snapshot(t, nodes, nil)
		last := random.IntN(100)
		for i := range 20 {
			pod := simtest.Pod(fmt.Sprint("p", i)).Requests(fmt.Sprint(1+random.IntN(5)), "").Label("app", "a")
			if random.IntN(3) == 0 {
				pod = pod.Spread(corev1.LabelTopologyZone, 1, "app", "a")
			}
			search := simulator.Search{StartAfter: last, Accept: func(n *corev1.Node) bool { return n.Name[3] != '7' }}
			snapshot.Fork()
			want, wantRejections, err := alone.PlaceAnywhere(t.Context(), snapshot, pod.Build(), search)
			must(t, err)
			must(t, snapshot.Revert())
			got, gotRejections, err := together.PlaceAnywhere(t.Context(), snapshot, pod.Build(), search)
			must(t, err)
			if diff := cmp.Diff([]any{want, wantRejections}, []any{got, gotRejections}); diff != "" {
				t.Fatalf("placement (-alone +together):\n%s", diff)
			}
			last = got.Index
		}
	}
}

// The ghost of scale-down 3.5: the node that leaves keeps its domain alive for spreading, as the tainted node does in reality.
func TestAGhostKeepsItsTopologyDomain(t *testing.T) {
	t.Parallel()
	spread := func(name string) simtest.PodBuilder {
		return simtest.Pod(name).Label("app", "a").Spread(corev1.LabelHostname, 1, "app", "a")
	}
	leaving := simtest.Node("leaving")
	moved := spread("p1").On("leaving").Build()
	snapshot := simtest.Snapshot(t, []*corev1.Node{leaving.Build(), simtest.Node("other").Build()}, []*corev1.Pod{moved, spread("p2").On("other").Build()})
	scheduler := simtest.Scheduler(t)
	again := spread("p1").Build()

	snapshot.Fork()
	must(t, snapshot.RemoveNode("leaving"))
	rejection, err := scheduler.Check(t.Context(), snapshot, again, "other")
	must(t, err)
	if rejection != nil {
		t.Errorf("with the node removed: rejection = %+v, want none", rejection)
	}
	must(t, snapshot.Revert())

	ghost := leaving.With(func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taints.NewToBeDeleted(simtest.Epoch)) }).Build()
	must(t, snapshot.ReplaceNode(ghost))
	rejection, err = scheduler.Check(t.Context(), snapshot, again, "other")
	must(t, err)
	if rejection == nil || rejection.Filter != simulator.TopologySpread {
		t.Errorf("with the ghost: rejection = %+v, want one by topology spread", rejection)
	}
	if got := namesOf(snapshot.Nodes()); got[0] != "leaving" || len(snapshot.Pods("leaving")) != 0 {
		t.Errorf("nodes = %v with %d pods on the ghost, want it in place and empty", got, len(snapshot.Pods("leaving")))
	}
}

// Two callers, each with a snapshot of its own, never get answers about the other's.
func TestQuestionsAreAskedOneAtATime(t *testing.T) {
	t.Parallel()
	scheduler, pod := simtest.Scheduler(t), simtest.Pod("p").Requests("2", "").Build()
	var callers sync.WaitGroup
	for cpu, fits := range map[string]bool{"1": false, "4": true} {
		snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("n").CPU(cpu).Build()}, nil)
		callers.Go(func() {
			for range 200 {
				if rejection, err := scheduler.Check(t.Context(), snapshot, pod, "n"); err != nil || (rejection == nil) != fits {
					t.Errorf("with %s CPU: rejection = %+v, error = %v, expected to fit: %t", cpu, rejection, err, fits)
					return
				}
			}
		})
	}
	callers.Wait()
}

func TestTheLowestPositionWinsInWhateverOrderAnswersCome(t *testing.T) {
	t.Parallel()
	for _, answers := range [][]int{{3, 5, 4}, {5, 4, 3}, {4, 3, 5}} {
		if got := simulator.DecidedAfter(answers...); got != 3 {
			t.Errorf("answers in the order %v decide for %d, want 3", answers, got)
		}
	}
}

// Many nodes fit, all behind those that are looked at before others join in: the first must win, whoever answers first.
func TestTheFirstFittingNodeWinsHoweverManyLookAtOnce(t *testing.T) {
	t.Parallel()
	scheduler, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Parallelism: 8})
	must(t, err)
	var nodes []*corev1.Node
	for i := range 60 {
		cpu := "1"
		if i >= 20 {
			cpu = "4"
		}
		nodes = append(nodes, simtest.Node(fmt.Sprintf("n%02d", i)).CPU(cpu).Build())
	}
	snapshot, pod := simtest.Snapshot(t, nodes, nil), simtest.Pod("p").Requests("2", "").Build()
	for range 500 {
		snapshot.Fork()
		placement, _, err := scheduler.PlaceAnywhere(t.Context(), snapshot, pod, simulator.Search{})
		must(t, err)
		if placement.Node != "n20" {
			t.Fatalf("the pod was placed on %s, want n20", placement.Node)
		}
		must(t, snapshot.Revert())
	}
}
