package pendingpods_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var now = simtest.Epoch.Add(time.Hour)

// counting is a scheduler that counts searches and breaks on some pods.
type counting struct {
	*simulator.Scheduler
	searches int
	broken   string // prefix of the names of pods on which a plug-in breaks
}

func (c *counting) PlaceAnywhere(
	ctx context.Context, snap *simulator.Snapshot, pod *corev1.Pod, search simulator.Search,
) (simulator.Placement, []simulator.NodeRejection, error) {
	c.searches++
	if c.broken != "" && strings.HasPrefix(pod.Name, c.broken) {
		return simulator.Placement{}, nil, errors.New("a plug-in broke")
	}
	return c.Scheduler.PlaceAnywhere(ctx, snap, pod, search)
}

// after is a budget of so many questions.
type after struct{ left int }

func (a *after) Spent() bool {
	a.left--
	return a.left < 0
}

func pod(name, cpu string) simtest.PodBuilder { return simtest.Pod(name).Requests(cpu, "") }

func oneNode(t *testing.T, cpu string, running ...*corev1.Pod) *simulator.Snapshot {
	t.Helper()
	return simtest.Snapshot(t, []*corev1.Node{simtest.Node("n").CPU(cpu).Build()}, running)
}

func run(t *testing.T, in pendingpods.In) pendingpods.Out {
	t.Helper()
	if in.At.IsZero() {
		in.At = now
	}
	if in.Scheduler == nil {
		in.Scheduler = simtest.Scheduler(t)
	}
	if in.Options.ExpendablePriorityCutoff == 0 {
		in.Options.ExpendablePriorityCutoff = -10
	}
	out, err := pendingpods.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(pods []*corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// told renders the verdicts as "name: fate code".
func told(verdicts []report.PodVerdict) []string {
	var out []string
	for _, v := range verdicts {
		out = append(out, fmt.Sprintf("%s: %s %s", v.Pod.Name, v.Fate, v.Own.Code()))
	}
	return out
}

func TestWhichPodsAreLeft(t *testing.T) {
	ds := config.Pods{ExpendablePriorityCutoff: -10, NewPodScaleUpDelay: 30 * time.Second}
	aged := func(name string, age time.Duration) simtest.PodBuilder {
		return pod(name, "9").CreatedAt(now.Add(-age))
	}
	delay := func(name, wish string) *corev1.Pod {
		b := aged(name, 45*time.Second)
		if wish != "" {
			b = b.Annotation(pendingpods.ScaleUpDelayAnnotation, wish)
		}
		return b.Build()
	}
	for name, tc := range map[string]struct {
		cpu     string // of the only node; empty: 1
		running []*corev1.Pod
		pods    []simtest.PodBuilder
		built   []*corev1.Pod
		options config.Pods
		left    []string
		settled []string
	}{
		"P02: the room of a nominated pod is taken": {
			running: []*corev1.Pod{pod("nominated", "800m").Nominated("n").Build()}, pods: []simtest.PodBuilder{pod("other", "500m")},
			left: []string{"other"},
		},
		"P05: only priorities below the cut-off are expendable": {
			pods: []simtest.PodBuilder{pod("a", "9").Priority(-11), pod("b", "9").Priority(-10), pod("c", "9")},
			left: []string{"b", "c"}, settled: []string{"a: LeftAlone Expendable"},
		},
		"P06: the important pods are found room for first": {
			cpu: "3", pods: []simtest.PodBuilder{pod("low", "400m").Priority(0), pod("mid", "800m").Priority(50), pod("high", "2500m").Priority(100)},
			left: []string{"mid"}, settled: []string{"low: Fits Upcoming", "high: Fits Upcoming"},
		},
		"P08: an annotation lengthens the delay, a shorter or malformed one does not count": {
			built: []*corev1.Pod{delay("none", ""), delay("longer", "1m"), delay("shorter", "10s"), delay("malformed", "abc")}, options: ds,
			left: []string{"none", "shorter", "malformed"}, settled: []string{"longer: LeftAlone TooYoung"},
		},
		"P09: the pod must be older than the delay": {
			pods: []simtest.PodBuilder{
				aged("equal", time.Minute).Annotation(pendingpods.ScaleUpDelayAnnotation, "1m"),
				aged("older", 61*time.Second).Annotation(pendingpods.ScaleUpDelayAnnotation, "1m"),
			},
			left: []string{"older"}, settled: []string{"equal: LeftAlone TooYoung"},
		},
		"P10: a pod of a DaemonSet causes nothing": {
			pods: []simtest.PodBuilder{pod("ds", "9").DaemonSet("agent")}, settled: []string{"ds: LeftAlone DaemonSetPod"},
		},
		"a TPU request keeps no pod from fitting": {
			pods:    []simtest.PodBuilder{pod("tpu", "500m").Request("cloud-tpus.google.com/v2", "8")},
			settled: []string{"tpu: Fits Upcoming"},
		},
		"the room that a pod takes is gone for the next": {
			pods: []simtest.PodBuilder{pod("a", "600m"), pod("b", "600m")}, left: []string{"b"}, settled: []string{"a: Fits Upcoming"},
		},
		"a young pod can take room": {
			pods: []simtest.PodBuilder{pod("young", "600m").CreatedAt(now), pod("old", "600m")}, left: []string{"old"}, settled: []string{"young: Fits Upcoming"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.cpu == "" {
				tc.cpu = "1"
			}
			for _, b := range tc.pods {
				tc.built = append(tc.built, b.Build())
			}
			out := run(t, pendingpods.In{Snapshot: oneNode(t, tc.cpu, tc.running...), Unschedulable: tc.built, Options: tc.options})
			if diff := cmp.Diff(tc.left, names(out.Left)); diff != "" {
				t.Errorf("left: %s", diff)
			}
			if diff := cmp.Diff(tc.settled, told(out.Settled)); diff != "" {
				t.Errorf("settled: %s", diff)
			}
			if diff := cmp.Diff(names(tc.built), names(out.Waited)); diff != "" {
				t.Errorf("waited: %s", diff)
			}
			if len(out.Errs) > 0 {
				t.Error(out.Errs)
			}
		})
	}
}

func TestUnprocessedPodsJoinTheOthers(t *testing.T) {
	out := run(t, pendingpods.In{
		Snapshot: oneNode(t, "1"), Unschedulable: []*corev1.Pod{pod("a", "9").Build()}, Unprocessed: []*corev1.Pod{pod("b", "9").Build()},
	})
	if diff := cmp.Diff([]string{"a", "b"}, names(out.Left)); diff != "" {
		t.Error(diff)
	}
}

func TestPodsNoOlderThanTheIterationAreCounted(t *testing.T) {
	out := run(t, pendingpods.In{Snapshot: oneNode(t, "1"), Unschedulable: []*corev1.Pod{
		pod("now", "9").CreatedAt(now).Build(), pod("later", "9").CreatedAt(now.Add(2 * time.Second)).Build(),
	}})
	if out.Newborn != 2 || len(out.Left) > 0 {
		t.Errorf("%d pods count as newborn and %v are left, want 2 and none", out.Newborn, names(out.Left))
	}
}

func templates(builders ...simtest.NodeBuilder) map[cloudprovider.GroupID]nodeinfos.Template {
	t := nodeinfos.Template{Group: "g"}
	for _, b := range builders {
		t.Variants = append(t.Variants, nodeinfos.Variant{Weight: 1, NodeTemplate: simulator.NodeTemplate{Node: b.Build()}})
	}
	return map[cloudprovider.GroupID]nodeinfos.Template{"g": t}
}

func TestPodsFitOnUpcomingNodes(t *testing.T) {
	// P07, and C05: a spot machine is on its way.
	snapshot := simtest.Snapshot(t, nil, nil)
	out := run(t, pendingpods.In{
		Snapshot: snapshot, Templates: templates(simtest.Node("t").CPU("2")), Upcoming: []pendingpods.Upcoming{{Group: "g", Count: 1}},
		Unschedulable: []*corev1.Pod{pod("a", "900m").Build(), pod("b", "900m").Build(), pod("c", "900m").Build()},
	})
	if diff := cmp.Diff([]string{"c"}, names(out.Left)); diff != "" {
		t.Error(diff)
	}
	want := report.Upcoming{Node: "t-upcoming-0", Group: "g"}
	for _, v := range out.Settled {
		if diff := cmp.Diff(report.Reason(want), v.Own); diff != "" {
			t.Error(diff)
		}
	}
	if diff := cmp.Diff(map[string]cloudprovider.GroupID{"t-upcoming-0": "g"}, out.Placeholders); diff != "" {
		t.Error(diff)
	}
	node, ok := snapshot.Node("t-upcoming-0")
	if !ok || node.Annotations[pendingpods.UpcomingAnnotation] != "true" || len(snapshot.Pods("t-upcoming-0")) != 2 {
		t.Error("the snapshot does not hold the marked placeholder with two pods")
	}
}

func TestPlaceholdersStandForNodesThatHaveNotStarted(t *testing.T) {
	nodes := []*corev1.Node{simtest.Node("ready").Build(), simtest.Node("starting").Zone("b").NotReady(now).Build()}
	snapshot := simtest.Snapshot(t, nodes, nil)
	out := run(t, pendingpods.In{
		Snapshot: snapshot, Templates: templates(simtest.Node("a").Zone("a"), simtest.Node("b").Zone("b"), simtest.Node("c").Zone("c")),
		Upcoming: []pendingpods.Upcoming{{
			Group: "g", Count: 4, NotStarted: []string{"gone", "starting"}, Machines: []nodeinfos.Place{{Zone: "c"}},
		}},
	})
	if diff := cmp.Diff([]string{"starting"}, out.NotStarted); diff != "" {
		t.Error(diff)
	}
	var got []string
	for _, node := range snapshot.Nodes() {
		got = append(got, node.Name)
	}
	// The zones of the first two are known, the others take the zones in turn.
	if diff := cmp.Diff([]string{"ready", "b-upcoming-0", "c-upcoming-1", "a-upcoming-2", "b-upcoming-3"}, got); diff != "" {
		t.Error(diff)
	}
}

// A pod is bound before its node counts as ready, and the next pod comes: there is no room for it.
func TestPodsThatANotStartedNodeHasTakeRoomOnItsPlaceholder(t *testing.T) {
	big := func(name string) *corev1.Pod { return pod(name, "6").OwnedBy("ReplicaSet", "web").Build() }
	first := pod("first", "6").OwnedBy("ReplicaSet", "web").On("starting").Build()
	daemon := pod("daemon", "1").DaemonSet("agent").On("starting").Build() // the template has its own
	snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("starting").NotReady(now).Build()}, []*corev1.Pod{first, daemon})
	out := run(t, pendingpods.In{
		Snapshot: snapshot, Templates: templates(simtest.Node("t").CPU("10")), Unschedulable: []*corev1.Pod{big("second"), big("third")},
		Upcoming: []pendingpods.Upcoming{{Group: "g", Count: 2, NotStarted: []string{"starting"}}},
	})
	got := map[string][]string{}
	for _, node := range snapshot.Nodes() {
		for _, placed := range snapshot.Pods(node.Name) {
			got[node.Name] = append(got[node.Name], placed.Name)
		}
	}
	if diff := cmp.Diff(map[string][]string{"t-upcoming-0": {"first"}, "t-upcoming-1": {"second"}}, got); diff != "" {
		t.Error(diff)
	}
	if len(out.Left) != 1 || out.Left[0].Name != "third" {
		t.Errorf("%d pods are left, want the third", len(out.Left))
	}
}

func TestAGroupWithoutTemplateGetsNoPlaceholders(t *testing.T) {
	snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("starting").NotReady(now).Build()}, nil)
	out := run(t, pendingpods.In{Snapshot: snapshot, Upcoming: []pendingpods.Upcoming{{Group: "g", Count: 1, NotStarted: []string{"starting"}}}})
	if snapshot.Len() != 1 || len(out.NotStarted) > 0 || len(out.Errs) > 0 {
		t.Errorf("got %d nodes, %v not started, errors %v", snapshot.Len(), out.NotStarted, out.Errs)
	}
}

func TestPodsOfANodeBeingDrainedNeedRoom(t *testing.T) {
	// P11
	running := []*corev1.Pod{
		pod("web", "500m").OwnedBy("ReplicaSet", "web").On("n").Build(), pod("ds", "").DaemonSet("agent").On("n").Build(),
		pod("mirror", "").Mirror().On("n").Build(), pod("ending", "").OwnedBy("ReplicaSet", "web").DeletedAt(now).On("n").Build(),
		pod("nominated", "100m").Nominated("n").Build(),
	}
	snapshot := oneNode(t, "4", running...)
	out := run(t, pendingpods.In{Snapshot: snapshot, Deletions: []observation.Deletion{{Node: "n", Drain: true}, {Node: "empty"}}})
	if diff := cmp.Diff([]string{"web"}, names(out.Left)); diff != "" {
		t.Fatal(diff)
	}
	if out.Left[0].Spec.NodeName != "" || running[0].Spec.NodeName != "n" || len(snapshot.Pods("n")) != 5 {
		t.Error("the copy is not free of the node, or the original was moved")
	}
}

func TestAPodWaitsForTheNodeThatWasBoughtForIt(t *testing.T) {
	// C32: the node is Ready, and a taint of its network agent keeps the pod away for a while.
	bought := report.PurchaseOnTheWay{Group: "net", Until: now.Add(time.Minute)}
	for name, tc := range map[string]struct {
		purchases map[types.UID]report.PurchaseOnTheWay
		left      int
	}{
		"until its time is over":      {map[types.UID]report.PurchaseOnTheWay{"pod-default-p": bought}, 0},
		"as long as no end is known":  {map[types.UID]report.PurchaseOnTheWay{"pod-default-p": {Group: "net"}}, 0},
		"and no longer":               {map[types.UID]report.PurchaseOnTheWay{"pod-default-p": {Group: "net", Until: now}}, 1},
		"another pod's does not help": {map[types.UID]report.PurchaseOnTheWay{"pod-default-q": bought}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := simtest.Snapshot(t, []*corev1.Node{
				simtest.Node("n").Taint("vendor/agent-not-ready", "", corev1.TaintEffectNoSchedule).Build(),
			}, nil)
			out := run(t, pendingpods.In{Snapshot: snapshot, Unschedulable: []*corev1.Pod{pod("p", "3").Build()}, Purchases: tc.purchases})
			if len(out.Left) != tc.left {
				t.Errorf("%v are left, want %d", names(out.Left), tc.left)
			}
			if tc.left == 0 {
				if diff := cmp.Diff(report.Reason(tc.purchases["pod-default-p"]), out.Settled[0].Own); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestHints(t *testing.T) {
	// P18: the pod fits on both nodes; by itself the search would take n2 first, then n1.
	nodes := []*corev1.Node{simtest.Node("n1").Build(), simtest.Node("n2").Build(), simtest.Node("n3").Build()}
	first := simtest.Snapshot(t, nodes, []*corev1.Pod{pod("full", "4").On("n2").Build()})
	p := []*corev1.Pod{pod("p", "1").Build()}
	out := run(t, pendingpods.In{Snapshot: first, Unschedulable: p})
	where := func(s *simulator.Snapshot) string {
		node, _ := s.NodeOfPod(p[0])
		return node
	}
	if where(first) != "n3" {
		t.Fatalf("the pod was placed on %q, want n3", where(first))
	}
	for generation, want := range []string{"n3", "n3"} {
		snapshot := simtest.Snapshot(t, nodes, nil)
		if run(t, pendingpods.In{Snapshot: snapshot, Unschedulable: p, Memory: out.Memory}); where(snapshot) != want {
			t.Errorf("generation %d: the pod was placed on %q, want %q", generation, where(snapshot), want)
		}
		out = run(t, pendingpods.In{Snapshot: simtest.Snapshot(t, nodes, nil), Memory: out.Memory}) // a call without the pod
	}
	snapshot := simtest.Snapshot(t, nodes, nil)
	if run(t, pendingpods.In{Snapshot: snapshot, Unschedulable: p, Memory: out.Memory}); where(snapshot) != "n2" {
		t.Errorf("a hint outlived two calls: the pod was placed on %q, want n2", where(snapshot))
	}
	gone := simtest.Snapshot(t, nodes[:2], nil)
	if run(t, pendingpods.In{Snapshot: gone, Unschedulable: p, Memory: run(t, pendingpods.In{
		Snapshot: simtest.Snapshot(t, nodes, []*corev1.Pod{pod("full", "4").On("n2").Build()}), Unschedulable: p,
	}).Memory}); where(gone) != "n2" {
		t.Errorf("with the hinted node gone the pod was placed on %q, want n2", where(gone))
	}
}

func TestEqualPodsAreSearchedForOnce(t *testing.T) {
	// P23, but for the owner, which does not matter
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, pod(fmt.Sprintf("web%d", i), "9").OwnedBy("ReplicaSet", "web").Build())
	}
	for i, cpu := range []string{"9", "9", "10"} {
		pods = append(pods, pod(fmt.Sprintf("single%d", i), cpu).Build())
	}
	scheduler := &counting{Scheduler: simtest.Scheduler(t)}
	out := run(t, pendingpods.In{Snapshot: oneNode(t, "1"), Scheduler: scheduler, Unschedulable: pods})
	if scheduler.searches != 2 || len(out.Left) != 8 {
		t.Errorf("%d searches left %d pods, want 2, whoever owns them, and 8", scheduler.searches, len(out.Left))
	}
}

func TestASpentBudgetEndsTheSearch(t *testing.T) {
	// P17
	var pods []*corev1.Pod
	for i := range 100 {
		pods = append(pods, pod(fmt.Sprintf("p%02d", i), "9").Build())
	}
	out := run(t, pendingpods.In{Snapshot: oneNode(t, "1"), Unschedulable: pods, Budget: &after{60}})
	if out.Unreached != 40 || len(out.Left) != 60 || len(out.Settled) != 40 || out.Settled[0].Own.Code() != report.CodeNotReached {
		t.Errorf("%d pods were not reached, %d are left, %d settled; want 40, 60, 40", out.Unreached, len(out.Left), len(out.Settled))
	}
}

func TestAnErrorSetsOnePodAside(t *testing.T) {
	scheduler := &counting{Scheduler: simtest.Scheduler(t), broken: "bad"}
	out := run(t, pendingpods.In{
		Snapshot: oneNode(t, "1"), Scheduler: scheduler, Unschedulable: []*corev1.Pod{pod("bad", "9").Build(), pod("good", "9").Build()},
	})
	if diff := cmp.Diff([]string{"good"}, names(out.Left)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bad: LeftAlone UnexpectedError"}, told(out.Settled)); diff != "" || len(out.Errs) != 1 {
		t.Errorf("errors %v, %s", out.Errs, diff)
	}
}

func TestAGroupWhosePlaceholdersCannotBeInjectedDisturbsNoOther(t *testing.T) {
	known := templates(simtest.Node("n"))
	known["h"] = nodeinfos.Template{Group: "h", Variants: templates(simtest.Node("h"))["g"].Variants}
	snapshot := simtest.Snapshot(t, []*corev1.Node{simtest.Node("n-upcoming-0").Build()}, nil)
	out := run(t, pendingpods.In{
		Snapshot: snapshot, Templates: known, Upcoming: []pendingpods.Upcoming{{Group: "g", Count: 1}, {Group: "h", Count: 1}},
	})
	if _, ok := snapshot.Node("h-upcoming-0"); !ok || len(out.Errs) != 1 {
		t.Errorf("errors %v; the other group's placeholder is there: %v", out.Errs, ok)
	}
}

func TestTheEndOfTheContextEndsTheSteps(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pendingpods.Run(ctx, pendingpods.In{
		At: now, Snapshot: oneNode(t, "1"), Scheduler: simtest.Scheduler(t), Unschedulable: []*corev1.Pod{pod("p", "1").Build()},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was cancelled", err)
	}
}
