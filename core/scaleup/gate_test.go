package scaleup_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/simulator/simtest"

	"example.com/cluster-autoscaler/cloudprovider"
)

func TestGate(t *testing.T) {
	aged := func(ages ...time.Duration) []*corev1.Pod {
		var out []*corev1.Pod
		for i, age := range ages {
			out = append(out, pod(fmt.Sprintf("p%d", i), "1").CreatedAt(now.Add(-age)).Build())
		}
		return out
	}
	accelerated := func(age time.Duration) *corev1.Pod {
		return pod("gpu", "1").Request("nvidia.com/gpu", "1").CreatedAt(now.Add(-age)).Build()
	}
	nodes := func(ready, unready int) []*corev1.Node {
		var out []*corev1.Node
		for i := range ready + unready {
			b := simtest.Node(fmt.Sprintf("n%d", i))
			if i >= ready {
				b = b.NotReady(now)
			}
			out = append(out, b.Build())
		}
		return append(out, simtest.Node("cordoned").Cordoned().Build())
	}
	second := time.Second
	for name, tc := range map[string]struct {
		in     scaleup.GateIn
		result report.ScaleUpResult // empty: open
		young  time.Duration        // until when nodes stay, from now; 0: not at all
		own    report.Reason
		// growOnly: nothing is removed in this iteration.
		growOnly bool
	}{
		"no pods": {result: report.ScaleUpNotNeeded},
		"L10: all pods are new": {
			in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(second, second, second)}}, result: report.ScaleUpInCooldown, young: second,
			own: report.CoolDown{StartedBy: "young pods", Until: now.Add(second)},
		},
		"L11: one of them is older": {in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(second, 5*second)}}},
		"two seconds are enough":    {in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(2 * second)}}},
		"L12: with bypassed schedulers there is no pause": {
			in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(second)}, Bypassed: true},
		},
		"L13: a young pod with an accelerator holds all back": {
			in:     scaleup.GateIn{Pending: pendingpods.Out{Left: append(aged(10*time.Minute), accelerated(20*second))}},
			result: report.ScaleUpInCooldown, young: 10 * second, own: report.CoolDown{StartedBy: "young pods", Until: now.Add(10 * second)},
		},
		"L14: for half a minute": {in: scaleup.GateIn{Pending: pendingpods.Out{Left: append(aged(10*time.Minute), accelerated(31*second))}}},
		"P19: pods from the future are new": {
			in: scaleup.GateIn{Pending: pendingpods.Out{Newborn: 2}}, result: report.ScaleUpInCooldown, young: 2 * second,
		},
		"L15: the cluster is as large as it may be": {
			in:     scaleup.GateIn{Pending: pendingpods.Out{Left: aged(time.Minute, time.Minute)}, Nodes: nodes(10, 0), MaxNodes: 10},
			result: report.ScaleUpLimitedByMaxNodesTotal, own: report.LimitReached{Limit: "max-nodes-total", Resources: []string{"nodes"}},
		},
		"L16: unready and cordoned nodes do not close the gate": {
			in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(time.Minute)}, Nodes: nodes(9, 1), MaxNodes: 10},
		},
		"L20: a slow search grows in most loops": {in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(time.Minute)}, Degraded: 3}, growOnly: true},
		"L20: even with nothing to grow for":     {in: scaleup.GateIn{Degraded: 5}, result: report.ScaleUpNotNeeded, growOnly: true},
		"L20: and shrinks in every fourth": {
			in: scaleup.GateIn{Pending: pendingpods.Out{Left: aged(time.Minute)}, Degraded: 4}, result: report.ScaleUpInCooldown,
			own: report.NotReached{Limit: "--enable-graceful-degradation"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.in.At = now
			tc.in.Pending.Waited = tc.in.Pending.Left
			got := scaleup.Gate(tc.in)
			if got.Open != (tc.result == "") || got.ScaleUp.Result != tc.result {
				t.Errorf("open: %v, result %q; want %q", got.Open, got.ScaleUp.Result, tc.result)
			}
			if got.GrowOnly != tc.growOnly {
				t.Errorf("for growing alone: %t, want %t", got.GrowOnly, tc.growOnly)
			}
			var young *report.CoolDown
			if tc.young != 0 {
				young = &report.CoolDown{StartedBy: "young pods", Until: now.Add(tc.young)}
			}
			if diff := cmp.Diff(young, got.Young); diff != "" {
				t.Error(diff)
			}
			if tc.result != "" && len(got.ScaleUp.Pods) != len(tc.in.Pending.Left) {
				t.Errorf("%d pods have a verdict, want %d", len(got.ScaleUp.Pods), len(tc.in.Pending.Left))
			}
			for _, v := range got.ScaleUp.Pods {
				if diff := cmp.Diff(tc.own, v.Own); diff != "" {
					t.Error(diff)
				}
			}
			if want := map[bool]int{true: tc.in.MaxNodes}[tc.result == report.ScaleUpLimitedByMaxNodesTotal]; got.ScaleUp.MaxNodesTotal != want {
				t.Errorf("the limit told is %d, want %d", got.ScaleUp.MaxNodesTotal, want)
			}
		})
	}
}

func TestVerdictsKeepTheOrderInWhichPodsWaited(t *testing.T) {
	w := world{groups: []group{{id: "g", max: 5, variants: machine("2")}}, pods: []simtest.PodBuilder{
		pod("b", "2"), pod("a", "1").Priority(-20), pod("c", "9"),
	}}
	var got []string
	for _, v := range w.grow(t).Pods {
		got = append(got, v.Pod.Name+" "+string(v.Fate))
	}
	if diff := cmp.Diff([]string{"b Triggered", "a LeftAlone", "c Unschedulable"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMinSizes(t *testing.T) {
	for name, tc := range map[string]struct {
		world
		grown report.ScaleUp
		want  []report.Resize
	}{
		"L33: a group below its minimum is brought up to it": {
			world: world{groups: []group{{id: "g", min: 3, target: 1, max: 5, variants: machine("2")}, {id: "h", min: 1, target: 1, max: 5, variants: machine("2")}}},
			want:  []report.Resize{{Group: "g", From: 1, To: 3, Max: 5}},
		},
		"L34: the nodes of the whole cluster count": {
			world: func() world {
				w := world{groups: []group{{id: "g", min: 3, target: 1, max: 5, variants: machine("2")}}, maxNodes: 10}
				for i := range 12 {
					w = w.on("", simtest.Node(fmt.Sprintf("n%d", i)), "")
				}
				return w
			}(),
		},
		"a limit is shared between the groups": {
			world: world{
				groups: []group{{id: "g", min: 2, max: 5, variants: machine("2")}, {id: "h", min: 2, max: 5, variants: machine("2")}}, limits: map[string]int64{"cpu": 7},
			},
			want: []report.Resize{{Group: "g", From: 0, To: 2, Max: 5}, {Group: "h", From: 0, To: 1, Max: 5}},
		},
		"what this iteration has bought counts": {
			world: world{groups: []group{{id: "g", min: 2, max: 5, variants: machine("2")}, {id: "h", target: 1, max: 5, variants: machine("2")}}, maxNodes: 2},
			grown: report.ScaleUp{Outcomes: []report.ResizeOutcome{{Resize: report.Resize{Group: "h"}, Granted: 1}}},
			want:  []report.Resize{{Group: "g", From: 0, To: 1, Max: 5}},
		},
		"neither a group in back-off nor one without template": {
			world: world{groups: []group{{id: "g", min: 2, max: 5, variants: machine("2"), state: backedOff}, {id: "h", min: 2, max: 5}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, scaleup.MinSizes(tc.in(t), tc.grown)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUpcoming(t *testing.T) {
	state := clusterstate.State{Groups: []clusterstate.GroupState{
		{GroupStatus: report.GroupStatus{Group: "none"}},
		{
			GroupStatus: report.GroupStatus{Group: "g", Upcoming: 3}, NotStarted: []string{"n"},
			Unregistered: []clusterstate.UnregisteredInstance{
				{Instance: cloudprovider.Instance{Zone: "a", Type: "m"}}, {Instance: cloudprovider.Instance{Zone: "b"}, Long: true}, {},
			},
		},
	}}
	want := []pendingpods.Upcoming{{Group: "g", Count: 3, NotStarted: []string{"n"}, Machines: []nodeinfos.Place{{Zone: "a", Type: "m"}}}}
	if diff := cmp.Diff(want, scaleup.Upcoming(state)); diff != "" {
		t.Error(diff)
	}
}
