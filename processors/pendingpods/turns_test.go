package pendingpods_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/processors/podinjection"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestANominationIsTrustedForFiveMinutes(t *testing.T) {
	// The node is full: the victim takes its time. The room for the preemptor is kept on top of that.
	nominated := pod("p", "2").Nominated("n").Build()
	nodes := []*corev1.Node{simtest.Node("n").CPU("2").Build(), simtest.Node("m").CPU("1").Build()}
	elsewhere := pod("p", "2").Nominated("m").Build()
	type look struct {
		after time.Duration
		pod   *corev1.Pod
		left  int
	}
	for name, looks := range map[string][]look{
		"and no longer": {
			{0, nominated, 0}, {5*time.Minute - time.Second, nominated, 0}, {5 * time.Minute, nominated, 1}, {6 * time.Minute, nominated, 1},
		},
		"another node begins anew":                {{0, nominated, 0}, {4 * time.Minute, elsewhere, 0}, {8 * time.Minute, elsewhere, 0}, {9 * time.Minute, elsewhere, 1}},
		"so does one that was gone in between":    {{0, nominated, 0}, {4 * time.Minute, nil, 0}, {5 * time.Minute, nominated, 0}},
		"even if nobody looked for a long time":   {{0, nominated, 0}, {time.Hour, nominated, 1}},
		"P20, as amended: not for a missing node": {{0, pod("p", "2").Nominated("gone").Build(), 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var memory pendingpods.Memory
			for _, look := range looks {
				in := pendingpods.In{At: now.Add(look.after), Memory: memory}
				running := []*corev1.Pod{pod("victim", "2").On("n").DeletedAt(now).Build()}
				if look.pod != nil {
					in.Nominated, running = []*corev1.Pod{look.pod}, append(running, look.pod)
				}
				in.Snapshot = simtest.Snapshot(t, nodes, slices.DeleteFunc(running, func(p *corev1.Pod) bool { return p.Status.NominatedNodeName == "gone" }))
				out := run(t, in)
				memory = out.Memory
				if len(out.Left) != look.left {
					t.Errorf("after %s %d pods are left, want %d", look.after, len(out.Left), look.left)
				}
				if look.pod == nil {
					continue
				}
				node, placed := in.Snapshot.NodeOfPod(look.pod)
				if look.left == 1 {
					if placed || len(out.Settled) > 0 {
						t.Errorf("after %s the pod still takes room on %q, settled %v", look.after, node, told(out.Settled))
					}
					continue
				}
				want := []report.PodVerdict{{
					Pod:  report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"},
					Fate: report.PodLeftAlone, Own: report.WaitingForPreemption{Node: look.pod.Status.NominatedNodeName},
				}}
				if diff := cmp.Diff(want, out.Settled); diff != "" || node != look.pod.Status.NominatedNodeName {
					t.Errorf("after %s the room is kept on %q, verdicts (-want +got):\n%s", look.after, node, diff)
				}
			}
		})
	}
}

func TestANominationThatExpiredLeavesItsRoomToThePod(t *testing.T) {
	nominated := pod("p", "2").Nominated("n").Build()
	old := run(t, pendingpods.In{Snapshot: oneNode(t, "2", nominated), Nominated: []*corev1.Pod{nominated}})
	out := run(t, pendingpods.In{
		At: now.Add(time.Hour), Snapshot: oneNode(t, "2", nominated), Nominated: []*corev1.Pod{nominated}, Memory: old.Memory,
	})
	if diff := cmp.Diff([]string{"p: Fits Upcoming"}, told(out.Settled)); diff != "" {
		t.Error(diff)
	}
}

func TestPodsThatWereNotLookedAtComeFirst(t *testing.T) {
	// P17: 100 pods of falling priority, and time for 60 of them.
	var pods []*corev1.Pod
	for i := range 100 {
		pods = append(pods, pod(fmt.Sprintf("p%02d", i), "9").Priority(int32(100-i)).Build())
	}
	var memory pendingpods.Memory
	looked := map[string]bool{}
	for call := range 3 {
		out := run(t, pendingpods.In{Snapshot: oneNode(t, "1"), Unschedulable: pods, Budget: &after{60}, Memory: memory})
		memory = out.Memory
		for _, p := range out.Left {
			looked[p.Name] = true
		}
		if out.Unreached != 40 || out.Degraded != call+1 || out.Recovered {
			t.Errorf("call %d: %d pods were not reached, degraded %d, recovered %t; want 40 and %d", call, out.Unreached, out.Degraded, out.Recovered, call+1)
		}
		if call == 1 && len(looked) != 100 {
			t.Errorf("%d of 100 pods were looked at in two calls", len(looked))
		}
	}
	for call, recovered := range []bool{true, false} {
		out := run(t, pendingpods.In{Snapshot: oneNode(t, "1"), Unschedulable: pods, Budget: &after{1000}, Memory: memory})
		memory = out.Memory
		if out.Unreached != 0 || out.Degraded != 0 || out.Recovered != recovered {
			t.Errorf("call %d in time: degraded %d, recovered %t; want 0 and %t", call, out.Degraded, out.Recovered, recovered)
		}
	}
	// Once all were looked at, priority counts again.
	out := run(t, pendingpods.In{Snapshot: oneNode(t, "9"), Unschedulable: []*corev1.Pod{pods[99], pods[0]}, Memory: memory})
	if diff := cmp.Diff([]string{"p99"}, names(out.Left)); diff != "" {
		t.Error(diff)
	}
}

func copied(name, cpu string) *corev1.Pod {
	return pod(name, cpu).Annotation(podinjection.Annotation, podinjection.Copied).Build()
}

func TestCopiesGoThroughTheSameSteps(t *testing.T) {
	in := pendingpods.In{
		Snapshot: oneNode(t, "1"), Unschedulable: []*corev1.Pod{pod("big", "9").Build(), pod("real", "600m").Build()},
		Injected: []*corev1.Pod{copied("c0", "600m"), copied("c1", "300m"), copied("c2", "9"), copied("c3", "9")}, InjectionLimit: 3,
	}
	out := run(t, in)
	if diff := cmp.Diff([]string{"big", "c2", "c3"}, names(out.Left)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	want := []string{"real: Fits Upcoming", "c0: LeftAlone NotReached", "c1: Fits Upcoming"}
	if diff := cmp.Diff(want, told(out.Settled)); diff != "" {
		t.Errorf("settled (-want +got):\n%s", diff)
	}
}

func TestPodsThatExistComeBeforeCopies(t *testing.T) {
	out := run(t, pendingpods.In{
		Snapshot: oneNode(t, "1"), Unschedulable: []*corev1.Pod{pod("real", "600m").Build()}, Injected: []*corev1.Pod{copied("c", "600m")}, InjectionLimit: 5,
	})
	if diff := cmp.Diff([]string{"c"}, names(out.Left)); diff != "" {
		t.Error(diff)
	}
}

// P12 to P15 and P21, as amended: what counts is what the scheduler reads, not who owns a pod, and there may be any number of kinds.
func TestWhichPodsAreAlike(t *testing.T) {
	owned := func(name string) simtest.PodBuilder { return pod(name, "1").OwnedBy("ReplicaSet", "web") }
	env := func(p *corev1.Pod) {
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "a", Value: "b"}}
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}})
	}
	var many []simtest.PodBuilder
	for i := range 10 {
		many = append(many, owned(fmt.Sprint("single", i)).Label("kind", fmt.Sprint(i)))
	}
	for i := range 4 {
		many = append(many, owned(fmt.Sprint("same", i)).Label("kind", "10"))
	}
	reader := pod("reader", "1").AntiAffinity(corev1.LabelHostname, "kind", "x")
	for name, tc := range map[string]struct {
		pods []simtest.PodBuilder
		want int
	}{
		"P12: any number of kinds of one controller":           {append([]simtest.PodBuilder{reader}, many...), 12},
		"P13: environment and projected volumes":               {[]simtest.PodBuilder{owned("a"), owned("b").With(env)}, 1},
		"P14: a label that somebody reads":                     {[]simtest.PodBuilder{reader, owned("a").Label("kind", "1"), owned("b").Label("kind", "2")}, 3},
		"P14: a label that nobody reads":                       {[]simtest.PodBuilder{owned("a").Label("kind", "1"), owned("b").Label("kind", "2")}, 1},
		"P15: pods without controller":                         {[]simtest.PodBuilder{pod("a", "1"), pod("b", "1")}, 1},
		"P21: host name":                                       {[]simtest.PodBuilder{owned("a"), owned("b").With(func(p *corev1.Pod) { p.Spec.Hostname = "h" })}, 1},
		"P21: annotations":                                     {[]simtest.PodBuilder{owned("a"), owned("b").Annotation("x", "y")}, 1},
		"P21: spelling of an amount":                           {[]simtest.PodBuilder{owned("a"), pod("b", "1000m").OwnedBy("ReplicaSet", "web")}, 1},
		"P21: namespace, which selectors of the plug-ins read": {[]simtest.PodBuilder{owned("a"), owned("b").Namespace("other")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			for _, b := range tc.pods {
				pods = append(pods, b.Build())
			}
			classes := simtest.Scheduler(t).Classes(simtest.Snapshot(t, nil, nil), pods)
			if got := slices.Max(classes) + 1; got != tc.want {
				t.Errorf("there are %d classes: %v; want %d", got, classes, tc.want)
			}
		})
	}
}
