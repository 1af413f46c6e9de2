package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func namesOf(nodes []*corev1.Node) []string {
	var names []string
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}

func podNames(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

func nodes(names ...string) []*corev1.Node {
	var nodes []*corev1.Node
	for _, name := range names {
		nodes = append(nodes, simtest.Node(name).Build())
	}
	return nodes
}

func TestNodesAreInCanonicalOrder(t *testing.T) {
	t.Parallel()
	snapshot := simtest.Snapshot(t, nodes("m", "z", "b"), nil)
	for _, name := range []string{"y", "a"} {
		must(t, snapshot.AddNode(simulator.NodeTemplate{Node: simtest.Node(name).Build()}))
	}
	if diff := cmp.Diff([]string{"b", "m", "z", "y", "a"}, namesOf(snapshot.Nodes())); diff != "" {
		t.Fatalf("nodes (-want +got):\n%s", diff)
	}
	snapshot.Fork()
	must(t, snapshot.RemoveNode("m"))
	must(t, snapshot.RemoveNode("y"))
	must(t, snapshot.AddNode(simulator.NodeTemplate{Node: simtest.Node("m").Build()}))
	if diff := cmp.Diff([]string{"b", "z", "a", "m"}, namesOf(snapshot.Nodes())); diff != "" {
		t.Errorf("a node that comes back counts as injected (-want +got):\n%s", diff)
	}
	must(t, snapshot.Revert())
	if diff := cmp.Diff([]string{"b", "m", "z", "y", "a"}, namesOf(snapshot.Nodes())); diff != "" {
		t.Errorf("nodes after the revert (-want +got):\n%s", diff)
	}
}

func TestSyncPutsPodsWhereTheyRunOrAreNominated(t *testing.T) {
	t.Parallel()
	running, nominated := simtest.Pod("running").On("a").Build(), simtest.Pod("nominated").Nominated("a").Build()
	both := simtest.Pod("both").On("b").Nominated("a").Build()
	lost, pending := simtest.Pod("lost").On("gone").Build(), simtest.Pod("pending").Build()
	snapshot := simulator.NewSnapshot()
	strays, err := snapshot.Sync(simulator.Cluster{
		Nodes: nodes("a", "b"), Pods: []*corev1.Pod{running, lost, nominated, pending, both, running},
		CSINodes: []*storagev1.CSINode{attachLimit("a", 3), attachLimit("gone", 3)},
	})
	must(t, err)
	if diff := cmp.Diff([]string{"lost", "pending", "running"}, podNames(strays)); diff != "" {
		t.Errorf("strays (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nominated", "running"}, podNames(snapshot.Pods("a"))); diff != "" {
		t.Errorf("pods on a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"both"}, podNames(snapshot.Pods("b"))); diff != "" {
		t.Errorf("pods on b (-want +got):\n%s", diff)
	}
	if snapshot.CSINode("a") == nil || snapshot.CSINode("b") != nil || snapshot.CSINode("gone") != nil {
		t.Error("volume limits are not those of the cluster")
	}
}

func TestSyncUndoesWhatWasInjectedAndPlaced(t *testing.T) {
	t.Parallel()
	cluster := simulator.Cluster{Nodes: nodes("a"), Pods: []*corev1.Pod{simtest.Pod("p").On("a").Build()}}
	snapshot := simulator.NewSnapshot()
	must(t, second(snapshot.Sync(cluster)))
	must(t, snapshot.AddNode(simulator.NodeTemplate{Node: simtest.Node("injected").Build(), Pods: []*corev1.Pod{simtest.Pod("q").Build()}}))
	must(t, snapshot.AddPod(simtest.Pod("r").Build(), "a"))
	must(t, snapshot.RemovePod(cluster.Pods[0], "a"))
	must(t, second(snapshot.Sync(cluster)))
	if diff := cmp.Diff([]string{"a"}, namesOf(snapshot.Nodes())); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"p"}, podNames(snapshot.Pods("a"))); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if _, ok := snapshot.NodeOfPod(simtest.Pod("q").Build()); ok {
		t.Error("a pod of an injected node still lies somewhere")
	}
}

func TestSyncIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		forks   int
		cluster simulator.Cluster
		want    string
	}{
		"inside a fork":             {forks: 2, cluster: simulator.Cluster{Nodes: nodes("b")}, want: "2 forks are open"},
		"for two nodes of one name": {cluster: simulator.Cluster{Nodes: nodes("b", "c", "b")}, want: "two nodes are named b"},
	} {
		snapshot := simtest.Snapshot(t, nodes("a"), nil)
		for range c.forks {
			snapshot.Fork()
		}
		if _, err := snapshot.Sync(c.cluster); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
		if diff := cmp.Diff([]string{"a"}, namesOf(snapshot.Nodes())); diff != "" {
			t.Errorf("%s: nodes afterwards (-want +got):\n%s", name, diff)
		}
	}
}

func TestImpossibleChangesAreErrorsThatNameTheObject(t *testing.T) {
	t.Parallel()
	pod, other := simtest.Pod("p").On("a").Build(), simtest.Pod("other").Build()
	snapshot := simtest.Snapshot(t, nodes("a"), []*corev1.Pod{pod})
	before := simulator.ContentsOf(snapshot)
	twice := simulator.NodeTemplate{Node: simtest.Node("b").Build(), Pods: []*corev1.Pod{other, other}}
	for want, err := range map[string]error{
		"node a":                                   snapshot.AddNode(simulator.NodeTemplate{Node: simtest.Node("a").Build()}),
		"node b with its pods":                     snapshot.AddNode(twice),
		`no node "x"`:                              snapshot.RemoveNode("x"),
		`no node "y"`:                              snapshot.ReplaceNode(simtest.Node("y").Build()),
		"node a holds it already":                  snapshot.AddPod(pod, "a"),
		`default/other: the snapshot`:              snapshot.AddPod(other, "z"),
		"it is not on node a":                      snapshot.RemovePod(other, "a"),
		`default/p: the snapshot`:                  snapshot.RemovePod(pod, "z"),
		"reverting the snapshot: no fork is open":  snapshot.Revert(),
		"committing the snapshot: no fork is open": snapshot.Commit(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
	if diff := cmp.Diff(before, simulator.ContentsOf(snapshot)); diff != "" {
		t.Errorf("contents afterwards (-before +after):\n%s", diff)
	}
}

func TestACopyOfAPodMayLieBesideTheOriginal(t *testing.T) {
	t.Parallel()
	pod := simtest.Pod("p").On("drained").Build()
	snapshot := simtest.Snapshot(t, nodes("drained", "other"), []*corev1.Pod{pod})
	moved := pod.DeepCopy()
	moved.Spec.NodeName = ""
	snapshot.Fork()
	must(t, snapshot.AddPod(moved, "other"))
	if got, _ := snapshot.NodeOfPod(pod); got != "other" {
		t.Errorf("the pod lies on %q, want other", got)
	}
	if len(snapshot.Pods("drained")) != 1 || len(snapshot.Pods("other")) != 1 {
		t.Error("the pod should lie on both nodes")
	}
	must(t, snapshot.Revert())
	if got, _ := snapshot.NodeOfPod(pod); got != "drained" {
		t.Errorf("after the revert the pod lies on %q, want drained", got)
	}
}

func TestRequestedAndFreeAreInTheUnitsOfTheScheduler(t *testing.T) {
	t.Parallel()
	node := simtest.Node("n").CPU("4").Memory("8Gi").MaxPods("10").Resource("example.com/device", "2").Build()
	pods := []*corev1.Pod{
		simtest.Pod("a").On("n").Requests("1500m", "1Gi").Request("example.com/device", "1").Build(), simtest.Pod("b").On("n").Requests("250m", "").Build(),
	}
	snapshot := simtest.Snapshot(t, []*corev1.Node{node}, pods)
	wantRequested := simulator.Resources{"cpu": 1750, "memory": 1 << 30, "pods": 2, "example.com/device": 1}
	if diff := cmp.Diff(wantRequested, snapshot.Requested("n")); diff != "" {
		t.Errorf("requested (-want +got):\n%s", diff)
	}
	wantFree := simulator.Resources{"cpu": 2250, "memory": 7 << 30, "pods": 8, "example.com/device": 1}
	if diff := cmp.Diff(wantFree, snapshot.Free("n")); diff != "" {
		t.Errorf("free (-want +got):\n%s", diff)
	}
	must(t, snapshot.RemovePod(pods[0], "n"))
	if diff := cmp.Diff(simulator.Resources{"cpu": 250, "pods": 1}, snapshot.Requested("n")); diff != "" {
		t.Errorf("requested afterwards (-want +got):\n%s", diff)
	}
	if snapshot.Requested("x") != nil || snapshot.Free("x") != nil || snapshot.Pods("x") != nil {
		t.Error("a node that doesn't exist has resources")
	}
}

// What the snapshot counts with is what everybody else counts with.
func TestRequestsOfPodsAreTheSchedulers(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	for name, pod := range map[string]simtest.PodBuilder{
		"plain":    simtest.Pod("p").Requests("150m", "3Mi"),
		"overhead": simtest.Pod("p").Requests("1", "").With(func(p *corev1.Pod) { p.Spec.Overhead = simtest.Node("n").Build().Status.Allocatable }),
		"sidecar": simtest.Pod("p").Requests("1", "1Gi").With(func(p *corev1.Pod) {
			init := *p.Spec.Containers[0].DeepCopy()
			init.Name, init.RestartPolicy = "side", &always
			p.Spec.InitContainers = []corev1.Container{init}
		}),
		"pod level": simtest.Pod("p").Requests("1", "1Gi").With(func(p *corev1.Pod) {
			resources := *p.Spec.Containers[0].Resources.DeepCopy()
			resources.Requests[corev1.ResourceCPU] = resources.Requests[corev1.ResourceMemory]
			p.Spec.Resources = &resources
		}),
		"being resized": simtest.Pod("p").Requests("1", "1Gi").With(func(p *corev1.Pod) {
			given := corev1.ResourceList{corev1.ResourceCPU: *simtest.Node("n").Build().Status.Allocatable.Cpu()}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "main", AllocatedResources: given, Resources: &corev1.ResourceRequirements{Requests: given},
			}}
		}),
	} {
		snapshot := simtest.Snapshot(t, nodes("n"), []*corev1.Pod{pod.On("n").Build()})
		requests := podfacts.Requests(pod.Build())
		want := simulator.Resources{"pods": 1, "cpu": requests.Cpu().MilliValue(), "memory": requests.Memory().Value()}
		if requests.Memory().IsZero() {
			delete(want, "memory")
		}
		got := snapshot.Requested("n")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-podfacts +snapshot):\n%s", name, diff)
		}
	}
}

func TestUnchangedObjectsAreNotRebuilt(t *testing.T) {
	cluster := bigCluster(100, 10)
	snapshot := simulator.NewSnapshot()
	must(t, second(snapshot.Sync(cluster)))
	again := testing.AllocsPerRun(5, func() {
		for _, node := range cluster.Nodes {
			must(t, snapshot.SetNode(node))
		}
		for _, pod := range cluster.Pods {
			must(t, snapshot.SetPod(pod))
		}
		snapshot.Advance()
	})
	if again > 5 {
		t.Errorf("taking over an unchanged cluster makes %v allocations, want hardly any", again)
	}
}

func TestAForkCostsNothing(t *testing.T) {
	cluster := bigCluster(100, 10)
	snapshot := simulator.NewSnapshot()
	must(t, second(snapshot.Sync(cluster)))
	snapshot.Fork()
	must(t, snapshot.Revert()) // makes room for the mark
	if allocations := testing.AllocsPerRun(10, func() { snapshot.Fork(); _ = snapshot.Revert() }); allocations != 0 {
		t.Errorf("fork and revert make %v allocations, want none", allocations)
	}
}

func TestASnapshotThatRemembersTooMuchOfWhatHasGoneIsFoundedAnew(t *testing.T) {
	t.Parallel()
	scheduler, snapshot := simtest.Scheduler(t), simulator.NewSnapshot()
	apart := func(name, app string) simtest.PodBuilder {
		return simtest.Pod(name).Requests("1", "1Gi").Label("app", app).AntiAffinity(corev1.LabelHostname, "app", app)
	}
	for _, node := range nodes("a", "b") {
		must(t, snapshot.SetNode(node))
	}
	must(t, snapshot.SetPod(apart("web-0", "web").On("a").Build()))
	must(t, snapshot.SetPod(simtest.Pod("early").On("late").Build()))
	must(t, snapshot.SetCSINode(attachLimit("late", 3)))
	for i := range 50 {
		pod := apart(fmt.Sprint("gone-", i), fmt.Sprint("app-", i)).On("b").Build()
		must(t, snapshot.SetPod(pod))
		must(t, snapshot.DeletePod(string(pod.UID)))
	}
	asked := apart("web-1", "web").Build()
	where := func() string {
		snapshot.Fork()
		defer func() { must(t, snapshot.Revert()) }()
		placement, _, err := scheduler.PlaceAnywhere(t.Context(), snapshot, asked, simulator.Search{StartAfter: -1})
		must(t, err)
		return placement.Node
	}
	before, remembered := simulator.ContentsOf(snapshot), simulator.Remembered(snapshot)
	if got := where(); got != "b" {
		t.Fatalf("the pod was placed on %q, want b", got)
	}
	simulator.NeverRemember(snapshot)
	snapshot.Advance()
	if now := simulator.Remembered(snapshot); now >= remembered/2 {
		t.Errorf("%d things are remembered, %d before", now, remembered)
	}
	if diff := cmp.Diff(before, simulator.ContentsOf(snapshot)); diff != "" {
		t.Errorf("contents (-before +after):\n%s", diff)
	}
	if got := where(); got != "b" {
		t.Errorf("afterwards the pod was placed on %q, want b", got)
	}
	must(t, snapshot.SetNode(simtest.Node("late").Build()))
	if got := podNames(snapshot.Pods("late")); len(got) != 1 || snapshot.CSINode("late") == nil {
		t.Errorf("what waited for a node is lost: pods %v, volume limits %v", got, snapshot.CSINode("late"))
	}
}

func TestClassesOfNodesThatHaveGoneAreForgotten(t *testing.T) {
	t.Parallel()
	scheduler, snapshot := simtest.Scheduler(t), simulator.NewSnapshot()
	simulator.SetSlack(snapshot, 10)
	// A selector by host name makes each node a class of its own.
	asked := simtest.Pod("p").NodeSelector(corev1.LabelHostname, "n-99").Build()
	for i := range 100 {
		snapshot.Advance()
		name := fmt.Sprint("n-", i)
		must(t, snapshot.SetNode(simtest.Node(name).Build()))
		rejection, err := scheduler.Check(t.Context(), snapshot, asked, name)
		must(t, err)
		if (rejection == nil) != (i == 99) {
			t.Errorf("node %s: rejection %v", name, rejection)
		}
		must(t, snapshot.DeleteNode(name))
	}
	if classes, verdicts := simulator.RememberedClasses(snapshot); classes > 15 || verdicts > 15 {
		t.Errorf("%d classes and %d verdicts are remembered for no node at all", classes, verdicts)
	}
}

func TestPodsAreExpectedUntilTheyAreDismissed(t *testing.T) {
	snapshot := simulator.NewSnapshot()
	web, db := simtest.Pod("web").Build(), simtest.Pod("db").Build()
	snapshot.Expect(web)
	snapshot.Expect(web)
	snapshot.Expect(db)
	snapshot.Advance()
	must(t, second(snapshot.Sync(simulator.Cluster{})))
	if got := snapshot.Expected(); got != 2 {
		t.Errorf("%d pods are expected, want 2: web and db, each once, whatever became of the cluster", got)
	}
	snapshot.Dismiss(web)
	snapshot.Dismiss(web)
	if got := snapshot.Expected(); got != 1 {
		t.Errorf("%d pods are expected, want 1", got)
	}
}
