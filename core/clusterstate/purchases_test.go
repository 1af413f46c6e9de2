package clusterstate_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var triggered = triggeredBy("g")

func triggeredBy(group cloudprovider.GroupID) []report.PodVerdict {
	return []report.PodVerdict{{Pod: report.PodRef{Namespace: "default", Name: "p", UID: "p"}, Fate: report.PodTriggered, Grown: group}}
}

func onTheWay(until time.Time) map[types.UID]report.PurchaseOnTheWay {
	return map[types.UID]report.PurchaseOnTheWay{"p": {Group: "g", Until: until}}
}

// Case C32: a node bought for a pod gets three minutes after it became ready.
func TestAPodIsHeldUntilTheNodeBoughtForItHasSettled(t *testing.T) {
	nothing := map[types.UID]report.PurchaseOnTheWay{}
	type step struct {
		at     time.Duration
		change func(*fleet)
		want   map[types.UID]report.PurchaseOnTheWay
	}
	readyAt := func(at time.Duration) func(*fleet) {
		return func(f *fleet) {
			for _, m := range f.machines {
				if m.node != nil && m.node.CreationTimestamp.After(t0) {
					m.node = simtest.Node(m.node.Name).CreatedAt(m.node.CreationTimestamp.Time).Condition(corev1.NodeReady, corev1.ConditionTrue, after(at)).Build()
				}
			}
		}
	}
	came := func(n int, at time.Duration) func(*fleet) {
		return func(f *fleet) { f.registers(n, after(at)) }
	}
	tests := map[string]struct {
		nodes int // bought
		steps []step
	}{
		"from the purchase on, whatever the node is called": {1, []step{
			{at: 10 * time.Second, want: onTheWay(time.Time{})},
			{at: time.Minute, change: came(1, 50*time.Second), want: onTheWay(after(3*time.Minute + 50*time.Second))},
			{at: 3*time.Minute + 49*time.Second, want: onTheWay(after(3*time.Minute + 50*time.Second))},
			{at: 3*time.Minute + 50*time.Second, want: nothing},
			{at: 4 * time.Minute, change: func(f *fleet) { f.group.Target++ }, want: nothing},
		}},
		"while the node has registered and not started": {1, []step{
			{at: time.Minute, change: func(f *fleet) { f.withoutUnregistered(); f.starting(1, after(50*time.Second)) }, want: onTheWay(time.Time{})},
			{at: 2 * time.Minute, change: readyAt(110 * time.Second), want: onTheWay(after(290 * time.Second))},
		}},
		"until all the nodes bought in one go are there": {2, []step{
			{at: time.Minute, change: came(1, 50*time.Second), want: onTheWay(time.Time{})},
			{at: 5 * time.Minute, change: came(1, 290*time.Second), want: onTheWay(after(470 * time.Second))},
			{at: 8 * time.Minute, want: nothing},
		}},
		"but not for nodes that were bought for others later": {1, []step{
			{at: time.Minute, change: came(1, 50*time.Second), want: onTheWay(after(230 * time.Second))},
			{at: 2 * time.Minute, change: func(f *fleet) { f.group.Target += 3; f.creating(3) }, want: onTheWay(after(230 * time.Second))},
			{at: 4 * time.Minute, change: came(1, 220*time.Second), want: nothing},
		}},
		"no longer than the provision time if the node does not come": {1, []step{
			{at: 15 * time.Minute, want: onTheWay(time.Time{})},
			{at: 15*time.Minute + time.Second, want: nothing},
		}},
		"not once a machine of the group has failed": {2, []step{
			{at: 10 * time.Second, change: func(f *fleet) { broken(cloudprovider.InstanceCreating)(f.machines[1].instance) }, want: nothing},
		}},
		"not once the node is unready for good": {1, []step{
			{at: time.Minute, change: func(f *fleet) {
				f.withoutUnregistered()
				f.starting(1, after(50*time.Second))
				f.group.Options.MaxNodeStartupTime = time.Second
			}, want: nothing},
		}},
		"not once nothing is upcoming any more": {1, []step{
			{at: 3 * time.Minute, change: func(f *fleet) { f.withoutUnregistered(); f.group.Target = 1 }, want: nothing},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 20, 1).ready(1)
			r := newRegistry()
			r.Observe(see(t0, f))
			r.AfterScaleUp(grown(f, test.nodes, t0), triggered)
			f.group.Target += test.nodes
			f.creating(test.nodes)
			for _, step := range test.steps {
				if step.change != nil {
					step.change(f)
				}
				if diff := cmp.Diff(step.want, r.Observe(see(after(step.at), f)).Purchases); diff != "" {
					t.Errorf("at %s (-want +got):\n%s", step.at, diff)
				}
			}
		})
	}
}

func TestAPodIsHeldNoLongerOnceItsNodeRunsAnotherPod(t *testing.T) {
	for name, test := range map[string]struct {
		pod  simtest.PodBuilder
		held bool
	}{
		"a pod of a workload":      {pod: simtest.Pod("other").OwnedBy("ReplicaSet", "rs")},
		"a pod of a DaemonSet":     {pod: simtest.Pod("agent").OwnedBy("DaemonSet", "ds"), held: true},
		"a pod of the kubelet":     {pod: simtest.Pod("static").Annotation(corev1.MirrorPodAnnotationKey, "x"), held: true},
		"a pod on another machine": {pod: simtest.Pod("elsewhere").OwnedBy("ReplicaSet", "rs").On("foreign"), held: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 20, 0)
			r := newRegistry()
			r.Observe(see(t0, f))
			r.AfterScaleUp(grown(f, 1, t0), triggered)
			f.group.Target++
			f.creating(1).registers(1, after(time.Minute))
			seen := see(after(time.Minute), f)
			own := seen.Nodes[len(seen.Nodes)-1].Name
			pod := test.pod.Build()
			if pod.Spec.NodeName == "" {
				pod.Spec.NodeName = own
			}
			seen.Snapshot = simtest.Snapshot(t, append(seen.Nodes, simtest.Node("foreign").Build()), []*corev1.Pod{pod})
			if _, held := r.Observe(seen).Purchases["p"]; held != test.held {
				t.Errorf("held: %t, want %t", held, test.held)
			}
		})
	}
}

func TestAPodIsHeldWhileTheGroupCannotBeDescribed(t *testing.T) {
	f := newFleet("g", 0, 20, 1).ready(1)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 1, t0), triggered)
	missing := func(at time.Duration) map[types.UID]report.PurchaseOnTheWay {
		seen := see(after(at), strangers())
		seen.GroupErrors = []cloudprovider.GroupError{{Group: "g", Err: errors.New("unreadable")}}
		return r.Observe(seen).Purchases
	}
	if diff := cmp.Diff(onTheWay(time.Time{}), missing(time.Minute)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := missing(15*time.Minute + time.Second); len(got) > 0 {
		t.Errorf("held beyond the provision time: %v", got)
	}
}

func TestAPodIsHeldByTheGroupThatGrewForIt(t *testing.T) {
	f, g := newFleet("f", 0, 20, 1).ready(1), newFleet("g", 0, 20, 1).ready(1)
	r := newRegistry()
	r.Observe(see(t0, f, g))
	r.AfterScaleUp(append(grown(f, 1, t0), grown(g, 1, t0)...), triggered)
	f.group.Target, g.group.Target = 2, 2
	f.creating(1)
	g.creating(1).registers(1, after(time.Minute))
	if diff := cmp.Diff(onTheWay(after(4*time.Minute)), r.Observe(see(after(time.Minute), f, g)).Purchases); diff != "" {
		t.Errorf("when its node is there and another one's is not (-want +got):\n%s", diff)
	}
}

func TestAPodForWhichAGroupGrewAgainIsHeldByTheLastNode(t *testing.T) {
	g := newFleet("g", 0, 20, 1).ready(1)
	r := newRegistry()
	r.Observe(see(t0, g))
	r.AfterScaleUp(append(grown(g, 1, t0), grown(g, 1, t0)...), triggered)
	g.group.Target = 3
	g.creating(2).registers(1, after(time.Minute))
	if got := r.Observe(see(after(5*time.Minute), g)).Purchases; len(got) != 1 {
		t.Errorf("held: %v, want the pod for which two nodes were bought and one came", got)
	}
}

func TestPodsThatWereNotHelpedAreNotHeld(t *testing.T) {
	g := newFleet("g", 0, 20, 1).ready(1)
	r := newRegistry()
	r.Observe(see(t0, g))
	other := triggeredBy("g")
	other[0].Fate, other[0].Grown = report.PodAwaiting, ""
	r.AfterScaleUp(grown(g, 1, t0), append(other, report.PodVerdict{Pod: report.PodRef{UID: "q"}, Fate: report.PodUnschedulable}))
	if got := r.Observe(see(after(10*time.Second), g)).Purchases; len(got) > 0 {
		t.Errorf("held: %v", got)
	}
}

func TestARefusalHoldsNoPod(t *testing.T) {
	f := newFleet("g", 0, 20, 1).ready(1)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), triggered)
	if got := r.Observe(see(after(10*time.Second), f)).Purchases; len(got) > 0 {
		t.Errorf("held: %v", got)
	}
}

func TestPodsThatShareAPurchaseAreHeldAtTheCostOfOne(t *testing.T) {
	const nodes = 200
	cost := func(pods int) float64 {
		f := newFleet("g", 0, nodes, 0)
		r := newRegistry()
		r.Observe(see(t0, f))
		var verdicts []report.PodVerdict
		for i := range pods {
			ref := report.PodRef{Namespace: "default", Name: "p", UID: types.UID(fmt.Sprint(i))}
			verdicts = append(verdicts, report.PodVerdict{Pod: ref, Fate: report.PodTriggered, Grown: "g"})
		}
		r.AfterScaleUp(grown(f, nodes, t0), verdicts)
		f.group.Target = nodes
		f.creating(nodes).registers(nodes, after(time.Minute))
		seen := see(after(2*time.Minute), f)
		if held := r.Observe(seen).Purchases; len(held) != pods || held["7"].Until != after(4*time.Minute) {
			t.Fatalf("%d pods are held, pod 7 because of %v, want %d", len(held), held["7"], pods)
		}
		return testing.AllocsPerRun(3, func() { r.Observe(seen) })
	}
	few, many := cost(100), cost(2000)
	if perPod := (many - few) / 1900; perPod > 3 {
		t.Errorf("each pod costs %.1f allocations, want no more than it takes to name the purchase", perPod)
	}
}
