package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestABurstFromZeroIsBoughtOnceAndExactly(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 50, 0))
	w.arrive(pods(41, "p", "1")...)
	w.to(10 * time.Second)
	if upcoming := w.last.Groups[0].Upcoming; upcoming != 11 {
		t.Errorf("%d nodes are upcoming after the purchase, want 11", upcoming)
	}
	w.to(5 * time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize g 0->11"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if left := w.waiting(); len(left) > 0 {
		t.Errorf("pods %v still wait", left)
	}
	if w.last.ScaleUp.Result != report.ScaleUpNotNeeded {
		t.Errorf("at the end scale-up is %s, want NotNeeded", w.last.ScaleUp.Result)
	}
}

// SD219.
func TestPodsThatAreAllYoungWaitAndNothingIsRemovedMeanwhile(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=0s", "--scale-down-delay-after-add=0s"}, group("g", 0, 9, 1), group("idle", 0, 9, 1))
	w.fill("g")
	w.change("idle-0001", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.put(pod("new", "3").NodeSelector("group", "g").CreatedAt(w.start.Add(-time.Second)).Build())
	w.to(0)
	if w.last.ScaleUp.Result != report.ScaleUpInCooldown || w.last.ScaleDown.Result != report.ScaleDownInCooldown {
		t.Errorf("scale-up is %s, scale-down %s; want both InCooldown", w.last.ScaleUp.Result, w.last.ScaleDown.Result)
	}
	if got := w.kept("idle-0001"); got != report.CodeCoolDown {
		t.Errorf("the idle node is kept for %q, want the cool-down", got)
	}
	w.arrive(pod("older", "3").NodeSelector("group", "g")) // not all pods are new any more
	w.to(10 * time.Second)
	if diff := cmp.Diff([]string{"10 IncreaseSize g 1->3"}, w.writes("g")); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if len(w.last.ScaleDown.Started) != 1 {
		t.Errorf("removals %v began with the growth, want that of the idle node", w.last.ScaleDown.Started)
	}
}

func TestPodsOfABypassedSchedulerAreNotWaitedFor(t *testing.T) {
	w := newWorld(t, []string{"--bypassed-scheduler-names=foo"}, group("g", 0, 9, 0))
	w.put(pod("new", "3").CreatedAt(w.start.Add(-time.Second)).Build())
	w.to(0)
	w.wantTarget("g", 1)
}

func TestTheLimitOnAllNodesClosesTheGate(t *testing.T) {
	w := newWorld(t, []string{"--max-nodes-total=2"}, group("g", 0, 9, 2), group("h", 0, 9, 0))
	w.fill("g")
	w.arrive(pods(2, "p", "1")...)
	w.to(time.Minute)
	if w.last.ScaleUp.Result != report.ScaleUpLimitedByMaxNodesTotal || !w.event("MaxNodesTotalReached", "Max total nodes in cluster reached: 2") {
		t.Errorf("scale-up is %s, events %v; want LimitedByMaxNodesTotal and its event", w.last.ScaleUp.Result, w.events)
	}
	if !w.event("Pod/p-00 NotTriggerScaleUp", "max total nodes in cluster reached") {
		t.Errorf("the pod's event is missing: %v", w.events)
	}
	if len(w.writes()) > 0 || w.last.ScaleDown.Result == report.ScaleDownNotTried {
		t.Errorf("writes %v, scale-down %s; want none, and scale-down looked at", w.writes(), w.last.ScaleDown.Result)
	}
}

func TestTheLimitOnAllNodesCutsAPurchase(t *testing.T) {
	w := newWorld(t, []string{"--max-nodes-total=3"}, group("g", 0, 9, 1))
	w.fill("g")
	w.arrive(pods(5, "p", "3")...)
	w.to(10 * time.Minute)
	w.wantTarget("g", 3)
	if !w.event("MaxNodesTotalReached") {
		t.Errorf("the event about the limit is missing: %v", w.events)
	}
}

func TestGroupsBelowTheirMinimumGrowOnlyIfThatIsWanted(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		want  []string
	}{
		"off":                   {},
		"on":                    {flags: []string{"--enforce-node-group-min-size"}, want: []string{"0 IncreaseSize g 1->3"}},
		"within the total":      {flags: []string{"--enforce-node-group-min-size", "--max-nodes-total=2"}, want: []string{"0 IncreaseSize g 1->2"}},
		"beyond the total":      {flags: []string{"--enforce-node-group-min-size", "--max-nodes-total=1"}},
		"while pods make noise": {flags: []string{"--enforce-node-group-min-size", "--max-nodes-total=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.flags, group("g", 3, 9, 1))
			w.fill("g")
			if name == "while pods make noise" {
				w.arrive(pod("p", "1"))
			}
			w.to(0)
			if diff := cmp.Diff(test.want, w.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if name == "while pods make noise" && !w.event("Pod/p NotTriggerScaleUp", "max total nodes in cluster reached") {
				t.Errorf("the pod hears nothing of the limit: %v", w.events)
			}
		})
	}
}

func TestWithoutReadyNodesNothingIsDoneIfGrowthFromZeroIsOff(t *testing.T) {
	notReady := func(node *corev1.Node) {
		node.Status.Conditions[0].Status = corev1.ConditionFalse
	}
	for name, test := range map[string]struct {
		size  int
		after time.Duration
		want  string // the event; empty: none
	}{
		"no nodes":                        {want: "Cluster has no nodes."},
		"no ready nodes after 4 minutes":  {size: 2, after: 4 * time.Minute},
		"no ready nodes after 11 minutes": {size: 2, after: 11 * time.Minute, want: "Cluster has no ready nodes."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []string{"--scale-up-from-zero=false"}, group("g", 0, 9, test.size))
			for _, node := range w.cloud.Nodes() {
				w.change(node.Name, notReady)
			}
			w.arrive(pod("p", "1"))
			w.to(test.after)
			if w.err != nil || len(w.writes()) > 0 || w.last.ScaleUp.Result != "" {
				t.Errorf("error %v, writes %v, scale-up %q; want none at all", w.err, w.writes(), w.last.ScaleUp.Result)
			}
			if got := w.event("ClusterUnhealthy", test.want); got != (test.want != "") {
				t.Errorf("event %t, want %q; events %v", got, test.want, w.events)
			}
		})
	}
}

func TestACancelledContextWritesNothingAndIsNoError(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.arrive(pod("p", "1"))
	ctx, cancel := context.WithCancel(w.ctx)
	w.source.observed = cancel
	w.ctx = ctx
	w.pass()
	if w.err != nil || len(w.writes()) > 0 {
		t.Errorf("error %v, writes %v; want neither", w.err, w.writes())
	}
	if w.last.ScaleUp.Result != report.ScaleUpNotTried || w.last.ScaleDown.Result != report.ScaleDownNotTried {
		t.Errorf("scale-up is %s, scale-down %s; want both NotTried", w.last.ScaleUp.Result, w.last.ScaleDown.Result)
	}
}

// C16: the reasons come group by group, in the same iteration in which another pod is helped.
func TestAPodThatCannotBeHelpedIsToldWhyWhileAnotherOneIs(t *testing.T) {
	eight := simtest.Node("t").CPU("8")
	w := newWorld(t, nil,
		of(group("g1", 0, 3, 3), eight), group("g2", 0, 5, 1), of(group("g3", 0, 5, 0), eight.Taint("dedicated", "ml", corev1.TaintEffectNoSchedule)))
	w.fill("g1", "g2")
	w.arrive(pod("p", "6"), pod("q", "2"))
	w.to(0)
	if diff := cmp.Diff([]string{"0 IncreaseSize g2 1->2"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"g1 GroupAtMaxSize", "g2 InsufficientResource", "g3 TaintNotTolerated"}, w.reasons("p")); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if !w.event("Pod/p NotTriggerScaleUp") || !w.event("Pod/q TriggeredScaleUp", "{g2 1->2 (max: 5)}") {
		t.Errorf("events %v; want one for each pod", w.events)
	}
}

// C28: when one group has no machines, the next one helps without waiting for a time limit; a shortage known at once in the same iteration.
func TestWhereOneGroupHasNoMachinesTheNextOneHelps(t *testing.T) {
	short := &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOutOfResources, Code: "InsufficientInstanceCapacity"}
	spot, demand := group("spot", 0, 9, 0), of(group("od", 0, 9, 0), simtest.Node("t").CPU("5"))
	t.Run("the failure shows later", func(t *testing.T) {
		w := newWorld(t, nil, spot, demand)
		w.must(w.cloud.Next("spot", simulated.Fate{Error: short}))
		w.arrive(pod("a", "3"))
		w.at(20*time.Minute, func() { w.arrive(pod("b", "3").NodeSelector("new", "yes")) })
		w.to(time.Minute)
		if w.bought("spot") != 1 || w.bought("od") != 1 {
			t.Errorf("writes %v; want one node of each group", w.writes())
		}
		w.to(3 * time.Minute)
		w.wantTarget("spot", 0)
		if len(w.waiting()) > 0 {
			t.Errorf("%v wait, want nobody", w.waiting())
		}
		if backoff := w.last.Groups[0].Backoff; backoff == nil || backoff.Until.Sub(w.start) < 5*time.Minute || backoff.Until.Sub(w.start) > 6*time.Minute {
			t.Errorf("the back-off of spot is %+v, want five minutes", backoff)
		}
	})
	t.Run("the back-off ends", func(t *testing.T) {
		w := newWorld(t, nil, spot, demand)
		w.must(w.cloud.Next("spot", simulated.Fate{Error: short}))
		w.arrive(pod("a", "3"))
		w.at(20*time.Minute, func() { w.arrive(pod("b", "3")) })
		w.to(21 * time.Minute)
		if w.bought("spot") != 2 || w.bought("od") != 1 {
			t.Errorf("writes %v; want b on a second node of spot", w.writes())
		}
	})
	t.Run("the failure shows at once", func(t *testing.T) {
		w := newWorld(t, nil, spot, demand)
		w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Group: "spot", Err: &cloudprovider.OutOfResourcesError{Group: "spot", Err: errors.New("none left")}})
		w.arrive(pod("a", "3"))
		w.to(0)
		if diff := cmp.Diff([]string{"0 IncreaseSize spot 0->0 refused", "0 IncreaseSize od 0->1"}, w.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if w.err != nil || w.last.Groups[0].Backoff == nil {
			t.Errorf("error %v, back-off %v; want none, and spot backed off", w.err, w.last.Groups[0].Backoff)
		}
	})
}

// C29: a cloud that is busy is asked again, and nobody else.
func TestAThrottledGroupIsNeitherBackedOffNorReplaced(t *testing.T) {
	w := newWorld(t, nil, group("p", 0, 9, 1), of(group("q", 0, 9, 1), simtest.Node("t").CPU("5")))
	w.fill()
	w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Group: "p", Count: 1})
	w.arrive(pod("a", "3"))
	w.to(0)
	if w.last.Groups[0].Backoff != nil || w.err != nil {
		t.Errorf("back-off %v, error %v; want neither", w.last.Groups[0].Backoff, w.err)
	}
	w.to(time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize p 1->1 refused", "10 IncreaseSize p 1->2"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := w.metric("cluster_autoscaler_failed_scale_ups_total"); got != 0 {
		t.Errorf("%v failed scale-ups are counted, want none", got)
	}
}

// C32: a node bought for a pod is given time to let it in.
func TestANodeThatLetsPodsInLateCausesNoSecondPurchase(t *testing.T) {
	agent := corev1.Taint{Key: "vendor/agent-not-ready", Effect: corev1.TaintEffectNoSchedule}
	w := newWorld(t, nil, group("net", 0, 5, 0))
	w.born["net"] = func(node *corev1.Node) { node.Spec.Taints = append(node.Spec.Taints, agent) }
	w.arrive(pod("p", "3"))
	w.at(100*time.Second, func() { w.change("net-0001", func(node *corev1.Node) { node.Spec.Taints = nil }) })
	w.to(90 * time.Second)
	if diff := cmp.Diff([]string{string(report.CodePurchaseOnTheWay)}, w.reasons("p")); diff != "" {
		t.Errorf("reasons while the agent starts (-want +got):\n%s", diff)
	}
	w.to(10 * time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize net 0->1"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestAPodWhoseNodeWasTakenByAnotherOneCausesAnotherPurchase(t *testing.T) {
	w := newWorld(t, nil, group("net", 0, 5, 0))
	w.born["net"] = func(node *corev1.Node) {
		if node.Name == "net-0001" {
			w.put(pod("thief", "4").On(node.Name).Build())
		}
	}
	w.arrive(pod("p", "3"))
	w.to(5 * time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize net 0->1", "60 IncreaseSize net 1->2"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// C33: existing nodes never count as bought.
func TestPodsSpreadOverHostnamesGetExactlyTheNodesTheyNeed(t *testing.T) {
	w := newWorld(t, nil, of(group("h", 0, 50, 2), simtest.Node("t").MaxPods("50")))
	spread := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		}}
	}
	var builders []simtest.PodBuilder
	for _, p := range pods(20, "p", "1") {
		builders = append(builders, p.With(spread))
	}
	w.arrive(builders...)
	w.to(5 * time.Minute)
	if writes := w.writes(); w.bought("h") != 3 || len(writes) > 2 {
		t.Errorf("writes %v, want three nodes in at most two purchases", writes)
	}
	var counts []int
	for _, node := range w.cloud.Nodes() {
		counts = append(counts, len(w.podsOn(node.Name)))
	}
	if diff := cmp.Diff([]int{4, 4, 4, 4, 4}, counts); diff != "" {
		t.Errorf("pods per node (-want +got):\n%s", diff)
	}
}

func TestGraphicsPodsAreWaitedForLonger(t *testing.T) {
	w := newWorld(t, nil, of(group("g", 0, 9, 0), simtest.Node("t").Resource("nvidia.com/gpu", "1")))
	w.put(pod("old", "1").CreatedAt(w.start.Add(-10*time.Minute)).Build(), pod("gpu", "1").Request("nvidia.com/gpu", "1").CreatedAt(w.start.Add(-20*time.Second)).Build())
	w.to(0)
	if w.last.ScaleUp.Result != report.ScaleUpInCooldown || len(w.writes()) > 0 {
		t.Errorf("scale-up is %s after 20 s, writes %v; want InCooldown and none", w.last.ScaleUp.Result, w.writes())
	}
	w.to(10 * time.Second)
	w.wantTarget("g", 1)
}

// L09, as amended: who does not know which pods wait must not take room away.
func TestAnErrorWithOnePodKeepsNodesFromBeingRemoved(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=0s"}, group("g", 0, 9, 1))
	broken := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Perhaps"}}},
		}}
	}
	w.arrive(pod("p", "1").With(broken))
	w.to(0)
	if w.err != nil || len(w.last.Errors) == 0 || w.last.ScaleDown.Result != report.ScaleDownInCooldown || w.kept("g-0001") != report.CodeCoolDown {
		t.Errorf("error %v, told %v, scale-down %s, node kept for %q; want an error told and no removal", w.err, w.last.Errors, w.last.ScaleDown.Result, w.kept("g-0001"))
	}
	if len(w.last.ScaleDown.Unneeded) != 1 {
		t.Errorf("unneeded nodes %v; want the timer of the idle one to run", w.last.ScaleDown.Unneeded)
	}
	w.leave("p")
	w.to(10 * time.Second)
	if errors.Join(w.last.Errors...) != nil || len(w.last.ScaleDown.Started) != 1 {
		t.Errorf("error %v, removals %v; want the idle node to go now", errors.Join(w.last.Errors...), w.last.ScaleDown.Started)
	}
}
