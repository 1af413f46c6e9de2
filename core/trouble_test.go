package core_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func noCapacity() *cloudprovider.InstanceError {
	return &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOutOfResources, Code: "NoCapacity", Message: "no capacity"}
}

// at once: what becomes of a machine is told by its fate alone.
func atOnce(g simulated.Group) simulated.Group {
	g.AppearDelay, g.LaunchDelay, g.RegisterDelay, g.FailDelay = 0, 0, 0, 0
	return g
}

// C01: what arrives during the clean-up of places that failed is kept.
func TestAMachineThatArrivesDuringACleanUpIsKept(t *testing.T) {
	w := newWorld(t, nil, atOnce(group("ci", 1, 20, 6)))
	w.fill("ci")
	w.must(w.cloud.Next("ci", simulated.Fate{Error: noCapacity(), Delay: 35 * time.Second}, simulated.Fate{Delay: 40 * time.Second}))
	w.arrive(pods(2, "p", "3")...)
	w.to(2 * time.Minute)
	if got := len(w.cloud.Nodes("ci")); got != 7 {
		t.Errorf("%d nodes, want the 6 and the late one; writes: %v", got, w.writes())
	}
	w.wantTarget("ci", 7)
}

// C02: the first failure cancels nothing that is still on its way, and each failure is replaced once.
func TestEachFailureIsReplacedOnceAndLateMachinesStay(t *testing.T) {
	w := newWorld(t, nil, atOnce(group("ci-a", 0, 40, 6)), of(group("ci-b", 0, 40, 0), simtest.Node("t").CPU("5")))
	w.fill("ci-a")
	var fates []simulated.Fate
	for i := range 4 {
		fates = append(fates, simulated.Fate{Error: noCapacity(), Delay: time.Duration(20*(i+1)) * time.Second})
	}
	for i := range 10 {
		fates = append(fates, simulated.Fate{Delay: 90*time.Second + time.Duration(12*i)*time.Second})
	}
	w.must(w.cloud.Next("ci-a", fates...))
	w.arrive(pods(14, "p", "3")...)
	w.to(10 * time.Minute)
	want := []string{
		"20 IncreaseSize ci-b 0->1", "40 IncreaseSize ci-b 1->2", "60 IncreaseSize ci-b 2->3", "80 IncreaseSize ci-b 3->4",
	}
	if diff := cmp.Diff(want, w.writes("ci-b")); diff != "" {
		t.Errorf("writes to ci-b (-want +got):\n%s", diff)
	}
	w.wantTarget("ci-a", 16)
	if got := len(w.cloud.Nodes()); got != 20 || len(w.waiting()) > 0 {
		t.Errorf("%d nodes and %v waiting, want 20 and nobody", got, w.waiting())
	}
}

// C03: right after a raise nothing is taken back, and what comes is not bought again.
func TestNothingIsTakenBackRightAfterARaise(t *testing.T) {
	w := newWorld(t, nil, atOnce(group("run", 2, 100, 30)))
	w.fill("run")
	fates := []simulated.Fate{{Error: noCapacity(), Delay: 5 * time.Second}}
	for range 15 {
		fates = append(fates, simulated.Fate{Delay: 60 * time.Second})
	}
	w.must(w.cloud.Next("run", fates...))
	w.arrive(pods(16, "p", "3")...)
	w.to(4 * time.Minute)
	if w.bought("run") != 16 || len(w.cloud.Nodes()) != 45 {
		t.Errorf("bought %d, %d nodes; want 16 and 45; writes %v", w.bought("run"), len(w.cloud.Nodes()), w.writes())
	}
	for _, write := range w.cloud.Writes() {
		if write.To < 45 {
			t.Errorf("the target was written as %d", write.To)
		}
	}
	w.to(10 * time.Minute) // the back-off is over
	if w.bought("run") != 17 || len(w.cloud.Nodes()) != 46 {
		t.Errorf("bought %d, %d nodes; want the failed one once more; writes %v", w.bought("run"), len(w.cloud.Nodes()), w.writes())
	}
}

// C04: a minimum that was raised behind our back.
func TestARaisedMinimumLeavesNoHalfDoneRemoval(t *testing.T) {
	w := newWorldOf(t, setting{
		groups: []simulated.Group{group("app", 2, 8, 4)}, cloud: simulated.Options{RefreshInterval: time.Minute}, flags: []string{"--scale-down-unneeded-time=1m"},
	})
	w.fill("app")
	w.leave("full-app-0004")
	w.at(61*time.Second, func() { w.must(w.cloud.Update("app", func(g *simulated.Group) { g.Min = 4 })) }) // the view is of 60 s
	w.to(2*time.Minute + 10*time.Second)
	if !w.event("app-0004") {
		t.Fatal("nothing was tried, so that nothing is tested")
	}
	if node := w.node("app-0004"); node == nil || len(node.Spec.Taints) > 0 && node.Spec.Taints[0].Effect == corev1.TaintEffectNoSchedule || node.Spec.Unschedulable {
		t.Errorf("the node is %+v, want it in service", node)
	}
	w.wantTarget("app", 4)
	for _, write := range w.cloud.Writes() {
		if write.Err == nil || len(write.Ended) > 0 {
			t.Errorf("%+v was not refused", write)
		}
	}
	if got := w.kept("app-0004"); got != report.CodeAtMinSizeBefore {
		t.Errorf("the node is kept for %q, want the minimum", got)
	}
}

// C05: a group that repairs itself is waited for, also by a process that remembers nothing.
func TestALostMachineIsReplacedByTheGroupAlone(t *testing.T) {
	spot := func(t *testing.T) *world {
		w := newWorld(t, nil, group("spot", 0, 20, 5))
		for _, node := range w.cloud.Nodes() {
			w.put(pod("a-"+node.Name, "2").On(node.Name).Build(), pod("b-"+node.Name, "2").On(node.Name).Build())
		}
		w.at(5*time.Second, func() { w.must(w.cloud.Lose(w.node("spot-0003").Spec.ProviderID)) })
		return w
	}
	t.Run("in one run", func(t *testing.T) {
		w := spot(t)
		w.to(10 * time.Second)
		if len(w.waiting()) != 2 {
			t.Fatalf("%v wait, want two pods", w.waiting())
		}
		w.to(30 * time.Second)
		for _, pod := range w.waiting() {
			if diff := cmp.Diff([]string{string(report.CodeUpcoming)}, w.reasons(pod)); diff != "" {
				t.Errorf("pod %s is told (-want +got):\n%s", pod, diff)
			}
		}
		w.to(10 * time.Minute)
		if len(w.writes()) > 0 || len(w.waiting()) > 0 {
			t.Errorf("writes %v, waiting %v; want neither", w.writes(), w.waiting())
		}
	})
	t.Run("over a restart", func(t *testing.T) {
		w := spot(t)
		w.at(15*time.Second, w.boot)
		w.to(10 * time.Minute)
		if len(w.writes()) > 0 || len(w.waiting()) > 0 {
			t.Errorf("writes %v, waiting %v; want neither", w.writes(), w.waiting())
		}
	})
	t.Run("without luck", func(t *testing.T) {
		w := spot(t)
		w.must(w.cloud.Next("spot", simulated.Fate{Error: noCapacity(), Delay: 22 * time.Second}))
		w.to(10 * time.Minute)
		if w.bought("spot") != 1 || len(w.waiting()) > 0 {
			t.Errorf("writes %v, waiting %v; want one machine bought after the back-off", w.writes(), w.waiting())
		}
	})
}

func TestARestartBuysNothingTwice(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 20, 0))
	w.arrive(pods(8, "p", "3")...)
	for after := 5 * time.Second; after < 70*time.Second; after += 15 * time.Second {
		w.at(after, w.boot)
	}
	w.to(5 * time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize g 0->8"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// C09: one group cannot be read; everything else goes on.
func TestAGroupThatCannotBeReadStopsNobodyElse(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-delay-after-add=0s", "--scale-down-unneeded-time=1m"}, group("a", 0, 5, 0), group("b", 0, 5, 2))
	w.put(pod("full", "4").On("b-0001").Build())
	w.change("b-0002", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "own", Value: "1", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.cloud.Inject(simulated.Fault{On: simulated.ReadSize, Group: "a", Err: errNotFound})
	w.at(60*time.Second, func() { w.arrive(pod("p", "3").NodeSelector("group", "b")) })
	w.to(60 * time.Second)
	w.wantTarget("b", 3)
	w.to(2 * time.Minute)
	if w.node("b-0002") != nil {
		t.Error("the idle node of b is still there")
	}
	if w.err != nil {
		t.Errorf("error %v, want none", w.err)
	}
	if got := w.metric("cluster_autoscaler_node_group_set_aside", `"a"`); got != 1 {
		t.Errorf("the metric says %v for group a, want 1", got)
	}
	if doc := w.status(); len(doc.SetAside) != 1 || doc.SetAside[0].Name != "a" || !strings.Contains(doc.SetAside[0].Error, errNotFound.Error()) || !doc.SetAside[0].Since.Equal(new(stamp(w.start))) {
		t.Errorf("the status says %+v, want group a since the start", doc.SetAside)
	}
	w.cloud.Clear(simulated.ReadSize, "a")
	w.arrive(pod("q", "3").NodeSelector("group", "a"))
	w.to(2*time.Minute + 10*time.Second)
	w.wantTarget("a", 1)
	if got := w.metric("cluster_autoscaler_node_group_set_aside", `"a"`); got != 0 {
		t.Errorf("the metric says %v for group a afterwards, want 0", got)
	}
}

// C11: a machine that never registers, and a call that is refused for good.
func TestTheRepairOfOneGroupStopsNobodyElse(t *testing.T) {
	repairing := func(t *testing.T) *world {
		w := newWorld(t, nil, group("d1", 1, 9, 4), group("d2", 0, 9, 0))
		w.fill("d1")
		w.must(w.cloud.Next("d1", simulated.Fate{Stuck: true}))
		_, err := w.cloud.SetTarget("d1", 5)
		w.must(err)
		w.at(15*time.Minute+15*time.Second, func() { w.arrive(pod("p", "3").NodeSelector("group", "d2")) })
		return w
	}
	t.Run("the machine is ended", func(t *testing.T) {
		w := repairing(t)
		w.to(15*time.Minute + 10*time.Second) // the machine was seen after ten seconds
		if len(w.writes()) > 0 {
			t.Errorf("writes %v before the provision time was over", w.writes())
		}
		w.to(15*time.Minute + 20*time.Second)
		if diff := cmp.Diff([]string{"920 DeleteNodes d1 5->4", "920 IncreaseSize d2 0->1"}, w.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if !w.event("DeleteUnregistered", "Removed unregistered node") {
			t.Errorf("events %v, want one about the machine", w.events)
		}
		w.to(40 * time.Minute)
		w.wantTarget("d1", 4)
	})
	t.Run("the call is denied", func(t *testing.T) {
		w := repairing(t)
		w.cloud.Inject(simulated.Fault{On: simulated.DeleteNodes, Group: "d1", Err: &cloudprovider.ConfigurationError{Group: "d1", Err: errors.New("AccessDenied")}})
		w.to(30 * time.Minute)
		if got := len(w.writes("d1")); got < 2 || got > 4 {
			t.Errorf("the refused call was made %d times in 15 minutes, want once in five", got)
		}
		if w.target("d2") != 1 || w.err != nil {
			t.Errorf("target of d2 %d, error %v; want 1 and none", w.target("d2"), w.err)
		}
	})
}

// C15: unready nodes of nobody's group, and idle timers while the cluster is unhealthy.
func TestForeignUnreadyNodesStopNothing(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		stops bool
	}{"managed nodes count": {}, "all nodes count": {flags: []string{"--health-scope-all-nodes"}, stops: true}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(test.flags, "--scale-down-delay-after-add=0s"), group("m", 1, 12, 6))
			w.fill("m")
			w.leave("full-m-0006")
			w.change("m-0006", func(node *corev1.Node) {
				node.Spec.Taints = []corev1.Taint{{Key: "own", Value: "1", Effect: corev1.TaintEffectNoSchedule}}
			})
			foreign := func(ready bool) {
				for i := range 10 {
					builder := simtest.Node(fmt.Sprintf("e%02d", i)).CreatedAt(w.start.Add(-time.Hour))
					if !ready && i < 8 {
						builder = builder.NotReady(w.clock.Now())
					}
					w.put(builder.Taint("theirs", "", corev1.TaintEffectNoSchedule).Build())
				}
			}
			foreign(true)
			t0 := 9*time.Minute + 50*time.Second // m6 is idle since
			w.at(t0-20*time.Second, func() { foreign(false) })
			w.at(t0+40*time.Second, func() { foreign(true) })
			w.at(t0, func() { w.arrive(pod("p", "3").NodeSelector("group", "m")) })
			w.to(t0)
			if got := w.target("m") == 7; got == test.stops {
				t.Errorf("the target is %d at t0 with the cluster stopped: %t", w.target("m"), test.stops)
			}
			if c := w.last.Cluster; c.Managed.Unready != 0 || c.Counts.Unready != 8 || c.Healthy == test.stops {
				t.Errorf("cluster %+v; want 8 foreign unready nodes and none of ours", c)
			}
			if w.event("ClusterUnhealthy") != test.stops {
				t.Errorf("events %v", w.events)
			}
			w.to(t0 + time.Minute)
			if node := w.node("m-0006"); node != nil && !node.Spec.Unschedulable {
				t.Error("the idle node is not being removed a minute later: its timer was lost")
			}
			w.wantTarget("m", 6)
		})
	}
}

// L31: what is done while the cluster is unhealthy.
func TestInAnUnhealthyClusterOnlyMachinesThatNeverRegisteredAreEnded(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 20, 8), group("h", 0, 20, 0))
	w.fill("g")
	w.must(w.cloud.Next("g", simulated.Fate{Stuck: true}))
	_, err := w.cloud.SetTarget("g", 9)
	w.must(err)
	w.at(14*time.Minute, func() {
		for _, node := range w.cloud.Nodes("g") {
			w.change(node.Name, func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionFalse })
		}
		w.must(w.cloud.Next("h", simulated.Fate{Error: noCapacity()}, simulated.Fate{Error: noCapacity()}))
		_, err := w.cloud.SetTarget("h", 2)
		w.must(err)
		w.arrive(pod("p", "3"))
	})
	w.to(20 * time.Minute)
	if w.last.Cluster.Healthy {
		t.Fatal("the cluster is healthy")
	}
	if diff := cmp.Diff([]string{"920 DeleteNodes g 9->8"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if w.err != nil || w.last.ScaleUp.Result != report.ScaleUpNotTried || w.last.ScaleDown.Result != report.ScaleDownNotTried {
		t.Errorf("error %v, scale-up %s, scale-down %s; want none and NotTried", w.err, w.last.ScaleUp.Result, w.last.ScaleDown.Result)
	}
}

// L19, SD180: a scale-up that fails is no error of the iteration.
func TestAFailedScaleUpIsNoErrorOfTheIteration(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=0s"}, group("g", 0, 9, 0), group("idle", 0, 9, 1))
	w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Err: errors.New("out of order")})
	w.arrive(pod("p", "3").NodeSelector("group", "g"))
	w.to(0)
	if w.err != nil || w.last.ScaleUp.Result != report.ScaleUpError || len(w.last.ScaleDown.Started) != 1 {
		t.Errorf("error %v, scale-up %s, removals %v; want none, Error, and the idle node", w.err, w.last.ScaleUp.Result, w.last.ScaleDown.Started)
	}
	if !w.event("FailedToScaleUpGroup", "g") || w.event("Pod/p") {
		t.Errorf("events %v; want one about the group and none about the pod", w.events)
	}
	w.to(10 * time.Second)
	if got := w.last.Groups[0].Backoff; got == nil || got.Code != "cloudProviderError" {
		t.Errorf("the group's back-off is %+v", got)
	}
	if !slices.Equal(w.reasons("p"), []string{"g GroupBackedOff", "idle NodeAffinityMismatch"}) {
		t.Errorf("reasons %v", w.reasons("p"))
	}
}

func TestACloudThatCannotBeReachedEndsTheIterationWithItsError(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.arrive(pod("p", "3"))
	w.cloud.Inject(simulated.Fault{On: simulated.Refresh, Count: 1, Err: errors.New("no route to host")})
	w.to(0)
	if w.err == nil || len(w.writes()) > 0 {
		t.Errorf("error %v, writes %v; want an error and no write", w.err, w.writes())
	}
	w.to(10 * time.Second)
	w.wantTarget("g", 1)
}
