package core_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func tainted(node *corev1.Node, key string) bool {
	_, found := taints.Find(node, key)
	return found
}

// SD182.
func TestAnIdleNodeIsMarkedThenTaintedThenEnded(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 2))
	w.put(pod("busy", "3").On("g-0001").Build())
	w.to(10 * time.Second)
	if node := w.node("g-0002"); !tainted(node, taints.DeletionCandidate) || tainted(node, taints.ToBeDeleted) {
		t.Errorf("taints %v, want the mark of a candidate", node.Spec.Taints)
	}
	if tainted(w.node("g-0001"), taints.DeletionCandidate) {
		t.Error("the busy node is marked too")
	}
	w.to(10 * time.Minute)
	if len(w.writes()) > 0 || w.node("g-0002").Spec.Unschedulable {
		t.Errorf("writes %v before the unneeded time is over", w.writes())
	}
	w.to(10*time.Minute + 10*time.Second)
	if node := w.node("g-0002"); !tainted(node, taints.ToBeDeleted) || !node.Spec.Unschedulable {
		t.Errorf("taints %v, cordoned %t; want the deletion taint and a cordon", node.Spec.Taints, node.Spec.Unschedulable)
	}
	if w.last.ScaleDown.Result != report.ScaleDownStarted || len(w.last.ScaleDown.Started) != 1 || w.last.ScaleDown.Pending != 1 {
		t.Errorf("scale-down %+v, want one removal under way", w.last.ScaleDown)
	}
	w.to(11 * time.Minute)
	if diff := cmp.Diff([]string{"615 DeleteNodes g 2->1"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	for _, want := range [][]string{{"ScaleDownEmpty", "g-0002"}, {"Node/g-0002 ScaleDown", "marked the node"}, {"Node/g-0002 ScaleDown", "removed by cluster autoscaler"}} {
		if !w.event(want...) {
			t.Errorf("there is no event %v: %v", want, w.events)
		}
	}
	if w.metric("cluster_autoscaler_scaled_down_nodes_total", `"empty"`) != 1 {
		t.Error("the metric does not count the node")
	}
}

func TestPodsOfAnUnderusedNodeMoveUnderTheirBudget(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=1m"}, group("g", 1, 9, 3))
	one := intstr.FromInt32(3)
	w.put(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "budget", Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1},
	})
	for i, name := range []string{"a", "b", "c", "d"} {
		w.put(pod(name, "500m").On([]string{"g-0001", "g-0001", "g-0002", "g-0003"}[i]).Build())
	}
	w.to(30 * time.Minute)
	w.wantTarget("g", 1)
	if len(w.waiting()) > 0 || len(w.podsOn(w.cloud.Nodes()[0].Name)) != 4 {
		t.Errorf("pods wait: %v, on the last node: %d; want all four on it", w.waiting(), len(w.podsOn(w.cloud.Nodes()[0].Name)))
	}
	if w.metric("cluster_autoscaler_evicted_pods_total") < 2 {
		t.Errorf("%v evictions are counted", w.metric("cluster_autoscaler_evicted_pods_total"))
	}
}

// L17, L18, L38, C37; SD174, SD179, SD220: who waits for whom.
func TestGrowthStartsTheCoolDownOfShrinking(t *testing.T) {
	for name, test := range map[string]struct {
		flags   []string
		removal string // the first write to the idle group
	}{
		"for ten minutes": {removal: "1215 DeleteNodes dear 2->1"},
		"not at all if that is wanted": {
			flags: []string{"--scale-down-delay-after-add=0s"}, removal: "615 DeleteNodes dear 2->1",
		},
		"only of its own group": {
			flags: []string{"--scale-down-delay-type-local"}, removal: "615 DeleteNodes dear 2->1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(test.flags, "--node-deletion-batcher-interval=0s"), group("cheap", 0, 9, 0), group("dear", 0, 9, 2))
			for _, at := range []time.Duration{time.Minute, 4 * time.Minute, 7 * time.Minute, 10*time.Minute + 10*time.Second} {
				w.at(at, func() { w.arrive(pod("p"+at.String(), "3").NodeSelector("group", "cheap")) })
			}
			w.to(10*time.Minute + 10*time.Second)
			if w.bought("cheap") != 4 {
				t.Fatalf("writes %v, want four purchases", w.writes())
			}
			if test.flags == nil {
				cool := w.last.ScaleDown.CoolDown
				if cool == nil || !cool.Until.Equal(w.start.Add(20*time.Minute+10*time.Second)) || w.kept("dear-0001") != report.CodeCoolDown {
					t.Errorf("cool-down %+v, node kept for %q; want until ten minutes after the last purchase", cool, w.kept("dear-0001"))
				}
				if len(w.last.ScaleDown.Unneeded) != 2 {
					t.Errorf("unneeded nodes %v, want both: timers run on", w.last.ScaleDown.Unneeded)
				}
			} else if len(w.last.ScaleDown.Started) != 2 || len(w.last.ScaleUp.Outcomes) != 1 {
				t.Errorf("removals %v, growth %v; want both in one iteration", w.last.ScaleDown.Started, w.last.ScaleUp.Outcomes)
			}
			w.to(25 * time.Minute)
			if writes := w.writes("dear"); len(writes) == 0 || writes[0] != test.removal || len(w.cloud.Machines("dear")) > 0 {
				t.Errorf("writes %v, want both nodes to go and first %s", writes, test.removal)
			}
		})
	}
}

func TestTheNodeAPodWillNeedIsNotRemoved(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=0s", "--scale-down-delay-after-add=0s"}, group("g", 0, 9, 0))
	w.arrive(pods(2, "p", "3")...)
	w.to(70 * time.Second)
	if diff := cmp.Diff([]string{"0 IncreaseSize g 0->2"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// L05, L06: what a process leaves behind when it dies.
func TestANewProcessPutsNodesBackIntoService(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 1))
	w.put(pod("busy", "3").On("g-0001").Build(), simtest.Node("b").Build())
	spoil := func() {
		for _, name := range []string{"g-0001", "b"} {
			w.change(name, func(node *corev1.Node) {
				node.Spec.Taints = []corev1.Taint{{Key: taints.ToBeDeleted, Value: "1", Effect: corev1.TaintEffectNoSchedule}}
				node.Spec.Unschedulable = true
			})
		}
	}
	spoil()
	w.to(0)
	if node := w.node("g-0001"); len(node.Spec.Taints) > 0 || node.Spec.Unschedulable {
		t.Errorf("the node of the group has taints %v, cordoned %t", node.Spec.Taints, node.Spec.Unschedulable)
	}
	if node := w.node("b"); !tainted(node, taints.ToBeDeleted) || !node.Spec.Unschedulable {
		t.Errorf("the node of no group has taints %v, cordoned %t; want it untouched", node.Spec.Taints, node.Spec.Unschedulable)
	}
	if !w.event("Node/g-0001 ClusterAutoscalerCleanup") {
		t.Errorf("events %v", w.events)
	}
	spoil()
	w.to(10 * time.Second)
	if !tainted(w.node("g-0001"), taints.ToBeDeleted) {
		t.Error("the second iteration tidied up too")
	}
}

func TestARemovalThatARestartCutOffEndsNoBusyNode(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=1m"}, group("g", 0, 9, 3))
	for _, node := range []string{"g-0001", "g-0002"} {
		w.put(pod("big-"+node, "2500m").On(node).Build())
	}
	w.put(pod("small", "500m").On("g-0003").Build())
	w.grace = func(*corev1.Pod, time.Duration) time.Duration { return 30 * time.Second }
	w.at(75*time.Second, w.boot) // while the small pod ends
	w.to(80 * time.Second)
	if node := w.node("g-0003"); node == nil || tainted(node, taints.ToBeDeleted) {
		t.Fatalf("the node is %v, want it in service after the restart", node)
	}
	w.to(10 * time.Minute)
	w.wantTarget("g", 2)
	if len(w.waiting()) > 0 {
		t.Errorf("%v wait", w.waiting())
	}
}

func TestADisabledScaleDownLooksAtNothing(t *testing.T) {
	w := newWorldOf(t, setting{groups: []simulated.Group{group("g", 0, 9, 1)}, flags: []string{"--scale-down-enabled=false", "--scale-down-unneeded-time=0s"}})
	w.to(time.Minute)
	if len(w.writes()) > 0 || w.last.ScaleDown.Result != report.ScaleDownNotTried || len(w.node("g-0001").Spec.Taints) > 0 {
		t.Errorf("writes %v, scale-down %s, taints %v; want nothing", w.writes(), w.last.ScaleDown.Result, w.node("g-0001").Spec.Taints)
	}
}
