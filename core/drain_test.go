package core_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// SD176: evictions that are refused until their time is over begin no cool-down; the node waits for its time once more.
func TestRefusedEvictionsBeginNoCoolDown(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 2))
	w.put(pod("busy", "3").On("g-0001").Build(), pod("small", "500m").On("g-0002").Build())
	w.refuse = func(operation, _ string) error {
		if operation == "evict" {
			return errors.New("the API server is out of order")
		}
		return nil
	}
	w.to(10*time.Minute + 10*time.Second)
	if !tainted(w.node("g-0002"), taints.ToBeDeleted) {
		t.Fatal("the drain has not begun")
	}
	w.to(13 * time.Minute)
	if tainted(w.node("g-0002"), taints.ToBeDeleted) || !w.event("Node/g-0002 ScaleDownFailed") {
		t.Errorf("the node has taints %v after two minutes of refusals; events %v", w.node("g-0002").Spec.Taints, w.events)
	}
	if w.last.ScaleDown.CoolDown != nil || w.kept("g-0002") != report.CodeNotUnneededLongEnough {
		t.Errorf("cool-down %v, node kept for %q; want none, and that it waits for its time again", w.last.ScaleDown.CoolDown, w.kept("g-0002"))
	}
	w.refuse = nil
	w.to(22 * time.Minute)
	if tainted(w.node("g-0002"), taints.ToBeDeleted) {
		t.Error("the next attempt begins before the time is over")
	}
	w.to(24 * time.Minute)
	w.wantTarget("g", 1)
}

// SD218: a process that remembers nothing takes it that all was quiet for an hour, and no longer.
func TestALongCoolDownHoldsAFreshProcess(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-delay-after-add=2h"}, group("g", 0, 9, 1))
	w.to(time.Hour - scanInterval)
	if w.last.ScaleDown.Result != report.ScaleDownInCooldown {
		t.Errorf("scale-down is %s before an hour is over, want InCooldown", w.last.ScaleDown.Result)
	}
	w.to(time.Hour)
	if w.last.ScaleDown.Result != report.ScaleDownStarted {
		t.Errorf("scale-down is %s after an hour, want the node to go", w.last.ScaleDown.Result)
	}
}

// SD228: a pod that nothing makes anew but that may go is given a node when its place is gone by the time it has to leave.
func TestAPodOnItsWayOutThatLostItsPlaceIsGivenANode(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=30s", "--node-delete-delay-after-taint=15s"}, group("g", 0, 9, 2))
	w.put(pod("busy", "3").On("g-0001").Build(), simtest.Pod("bare").Requests("1", "").Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "true").On("g-0002").Build())
	w.at(42*time.Second, func() { w.put(pod("thief", "1").On("g-0001").Build()) })
	w.to(41 * time.Second)
	if !tainted(w.node("g-0002"), taints.ToBeDeleted) {
		t.Fatal("the drain has not begun")
	}
	w.to(50 * time.Second)
	if !slices.Contains(w.writes(), "50 IncreaseSize g 2->3") || w.last.ScaleDown.Result != report.ScaleDownInCooldown {
		t.Errorf("writes %v, scale-down %s; want a node for the pod, and a cool-down", w.writes(), w.last.ScaleDown.Result)
	}
}

// What befalls a node or its pods from outside while it is drained.
func TestWhileANodeIsDrained(t *testing.T) {
	for name, test := range map[string]struct {
		meanwhile func(*world)
		writes    []string
	}{
		"nothing happens": {func(*world) {}, []string{"60 DeleteNodes g 2->1"}},
		"its machine is lost": {func(w *world) {
			w.must(w.cloud.Lose(w.node("g-0002").Spec.ProviderID))
		}, nil},
		"a budget that allows nothing comes": {func(w *world) {
			w.put(never("a"))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []string{"--scale-down-unneeded-time=30s"}, group("g", 1, 9, 2))
			w.put(pod("busy", "3").On("g-0001").Build(), pod("small", "500m").On("g-0002").Build())
			w.grace = func(*corev1.Pod, time.Duration) time.Duration { return 15 * time.Second }
			w.at(42*time.Second, func() { test.meanwhile(w) })
			w.to(80 * time.Second)
			if diff := cmp.Diff(test.writes, w.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			w.to(5 * time.Minute)
			for _, node := range w.cloud.Nodes("g") {
				if got := w.node(node.Name); got != nil && (tainted(got, taints.ToBeDeleted) || got.Spec.Unschedulable) {
					t.Errorf("node %s is left with taints %v, cordoned %t", got.Name, got.Spec.Taints, got.Spec.Unschedulable)
				}
			}
			if slices.ContainsFunc(w.actuator.Deletions(), func(d observation.Deletion) bool { return !d.Accepted }) {
				t.Errorf("removals %v never end", w.actuator.Deletions())
			}
		})
	}
}

// never is a budget that allows no disruption of pods with the label app.
func never(app string) *policyv1.PodDisruptionBudget {
	all := intstr.FromInt32(100)
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "never", Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1},
	}
}
