package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// wants sets how many pods the ReplicaSet of the story wants.
func (w *world) wants(replicas int32) {
	w.must(w.source.Factory().Apps().V1().ReplicaSets().Informer().GetStore().Update(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "rs", UID: "ReplicaSet-rs"},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
	}))
}

func TestRoomIsMadeForPodsThatAreYetToComeAndOnlyOnce(t *testing.T) {
	w := newWorld(t, []string{"--enable-proactive-scaleup"}, group("g", 0, 50, 0))
	w.wants(10)
	w.arrive(pods(2, "first", "1")...)
	w.to(0)
	want := []report.Injection{{
		Kind: "ReplicaSet", Namespace: "default", Name: "rs", UID: "ReplicaSet-rs", Missing: 8, Injected: 8, Triggered: 8,
	}}
	if diff := cmp.Diff(want, w.last.ScaleUp.Injected); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if len(w.last.ScaleUp.Pods) != 2 {
		t.Errorf("%d pods have a verdict, want the 2 that exist", len(w.last.ScaleUp.Pods))
	}
	if injected := w.metric("cluster_autoscaler_unschedulable_pods_count", `"injected"`); injected != 8 {
		t.Errorf("the metric says that %v pods are injected, want 8", injected)
	}
	w.to(20 * time.Second)
	if told := w.last.ScaleUp.Injected; told[0].Fitting != 8 {
		t.Errorf("while the nodes are coming it is told %+v, want 8 that fit", told)
	}
	w.arrive(pods(8, "late", "1")...) // the ReplicaSet gets on with its work; these pods have names and UIDs of their own
	w.to(10 * time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize g 0->3"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if left := w.waiting(); len(left) > 0 || len(w.last.ScaleUp.Injected) != 0 || w.last.ScaleUp.Injected == nil {
		t.Errorf("pods %v still wait, told %v", left, w.last.ScaleUp.Injected)
	}
	for _, event := range w.events {
		if strings.Contains(event, "copy") {
			t.Errorf("there was an event about a pod that does not exist: %s", event)
		}
	}
}

func TestTheLogTellsOfControllersWhosePodsAreYetToCome(t *testing.T) {
	w := newWorld(t, []string{"--enable-proactive-scaleup", "--enable-graceful-degradation", "--pending-pods-batching-timeout=0s"}, group("g", 0, 50, 0))
	w.ctx, w.logs = logging(t, 1)
	w.boot()
	w.wants(10)
	w.arrive(pods(2, "first", "1")...)
	w.to(0)
	for _, text := range []string{
		`Pods yet to come kind="ReplicaSet" controller="default/rs" missing=8 injected=8`, "The search for room was too slow unreached=10 loops=1",
	} {
		if !strings.Contains(w.logs.String(), text) {
			t.Errorf("the log does not say %q:\n%s", text, w.logs)
		}
	}
}

func TestWithoutTheFlagNobodyLooksForMissingPods(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 50, 0))
	w.wants(10)
	w.arrive(pods(2, "first", "1")...)
	w.to(0)
	w.wantTarget("g", 1)
	if w.last.ScaleUp.Injected != nil {
		t.Errorf("told %v", w.last.ScaleUp.Injected)
	}
}

// C32: the nodes are Ready, and a taint of their network agent keeps the pods away for a while.
func TestNothingIsBoughtTwiceForACopyNorForThePodThatTakesItsPlace(t *testing.T) {
	w := newWorld(t, []string{"--enable-proactive-scaleup"}, group("g", 0, 50, 0))
	w.born["g"] = func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "vendor/agent-not-ready", Effect: corev1.TaintEffectNoSchedule}}
	}
	w.wants(10)
	w.arrive(pods(2, "first", "1")...)
	ready := time.Duration(0)
	for at := time.Duration(0); at < 10*time.Minute && ready == 0; at += 10 * time.Second {
		w.to(at)
		if len(w.source.nodes().List()) == 3 {
			ready = at
		}
	}
	w.to(ready + time.Minute)
	w.wantTarget("g", 3)
	w.arrive(pods(8, "late", "1")...)
	w.to(ready + 2*time.Minute)
	w.wantTarget("g", 3)
	if got := w.reasons("late-00"); !cmp.Equal(got, []string{"PurchaseOnTheWay"}) {
		t.Errorf("the pod that took the place of a copy is told %v", got)
	}
}

// Q22, as amended (9.2-24): the controller is left out for a while.
func TestAControllerWhoseCopiesFitNowhereIsLeftOut(t *testing.T) {
	w := newWorld(t, []string{"--enable-proactive-scaleup"}, group("g", 0, 50, 0))
	w.wants(10)
	w.arrive(pods(2, "huge", "99")...)
	injected := map[int]int{}
	for _, seconds := range []int{0, 30, 60, 90, 290, 300, 310, 740, 750} {
		w.to(time.Duration(seconds) * time.Second)
		told := w.last.ScaleUp.Injected[0]
		injected[seconds] = told.Injected
		if told.Missing != 8 || told.BackedOff.IsZero() != (told.Injected > 0) {
			t.Errorf("after %d s it is told %+v", seconds, told)
		}
	}
	if diff := cmp.Diff(map[int]int{0: 8, 30: 0, 60: 0, 90: 0, 290: 0, 300: 8, 310: 0, 740: 0, 750: 8}, injected); diff != "" {
		t.Errorf("injected pods by second (-want +got):\n%s", diff)
	}
}

// L20, P17, SD181: there is never time to look for room.
func TestWhileTheSearchForRoomIsTooSlowOneLoopInFourRemovesNodes(t *testing.T) {
	w := newWorld(t, []string{
		"--enable-graceful-degradation", "--pending-pods-batching-timeout=0s", "--scale-down-unneeded-time=0s", "--scale-down-delay-after-add=0s",
	}, group("g", 0, 9, 1))
	w.arrive(pods(3, "p", "99")...)
	var got []string
	for loop := range 6 {
		if loop == 5 {
			w.leave("p-00", "p-01", "p-02")
		}
		w.to(time.Duration(loop) * scanInterval)
		line := fmt.Sprint(w.last.ScaleUp.Result, " ", w.last.ScaleDown.Result)
		if told := w.last.ScaleUp.Degraded; told != nil {
			line += fmt.Sprint(" ", told.Loops, " ", told.Unreached)
		}
		got = append(got, line)
		if skipped := w.metric("cluster_autoscaler_skipped_pods_count"); (skipped == 3) != (loop < 5) {
			t.Errorf("loop %d: the metric says that %v pods were not looked at", loop+1, skipped)
		}
	}
	want := []string{
		"NotNeeded NotTried 1 3", "NotNeeded NotTried 2 3", "NotNeeded NotTried 3 3", "NotNeeded NodeDeleteStarted 4 3", "NotNeeded NotTried 5 3",
		"NotNeeded NoCandidates",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("loops (-want +got):\n%s", diff)
	}
	var events []string
	for _, event := range w.events {
		if strings.Contains(event, "GracefulDegradation") {
			events = append(events, strings.Fields(event)[1])
		}
	}
	if diff := cmp.Diff([]string{"GracefulDegradationStarted", "GracefulDegradationStopped"}, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// P20, as amended: a nomination does not keep a pod waiting for ever.
func TestAPodWhoseNominationComesToNothingIsHelped(t *testing.T) {
	for name, tc := range map[string]struct {
		node   string
		bought time.Duration
		reason string
	}{
		"after five minutes":               {"g-0001", 5 * time.Minute, "WaitingForPreemption"},
		"at once if the node is not there": {"gone", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, group("g", 0, 9, 1))
			w.fill("g")
			w.arrive(pod("p", "3").Nominated(tc.node).Unschedulable(w.start))
			if tc.bought > 0 {
				w.to(tc.bought - scanInterval)
				w.wantTarget("g", 1)
				if got := w.reasons("p"); !cmp.Equal(got, []string{tc.reason}) {
					t.Errorf("the pod is told %v, want %s", got, tc.reason)
				}
			}
			w.to(tc.bought)
			w.wantTarget("g", 2)
		})
	}
}

// P16, as amended (9.2-14), and P22: whose running pods take room.
func TestWhoTakesRoom(t *testing.T) {
	other := func(p *corev1.Pod) { p.Spec.SchedulerName = "volcano" }
	for name, tc := range map[string]struct {
		running simtest.PodBuilder
		target  int
	}{
		"P16: a pod of a scheduler that is not allowed": {pod("r", "3").With(other), 2},
		"P22: not a pod below the cut-off":              {pod("r", "3").Priority(-11), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []string{"--allowed-scheduler-names=default-scheduler"}, group("g", 0, 9, 1))
			w.put(tc.running.On("g-0001").Build())
			w.arrive(pod("p", "2").Unschedulable(w.start), pod("foreign", "99").With(other).Unschedulable(w.start))
			w.to(0)
			w.wantTarget("g", tc.target)
			for _, verdict := range w.last.ScaleUp.Pods {
				if verdict.Pod.Name == "foreign" {
					t.Errorf("a pod of a scheduler that is not allowed has a verdict: %v", verdict)
				}
			}
		})
	}
}

func TestTheFlagsThatSayWhatIsReadReachTheSource(t *testing.T) {
	for flag, told := range map[string]func(observation.Options) bool{
		"--enable-proactive-scaleup":          func(o observation.Options) bool { return o.Controllers },
		"--enable-csi-node-aware-scheduling":  func(o observation.Options) bool { return o.AwaitDrivers },
		"--allowed-scheduler-names=volcano":   func(o observation.Options) bool { return len(o.AllowedSchedulers) == 1 },
		"--bypassed-scheduler-names=volcano":  func(o observation.Options) bool { return len(o.BypassedSchedulers) == 1 },
		"--expendable-pods-priority-cutoff=7": func(o observation.Options) bool { return o.ExpendableCutoff == 7 },
	} {
		for _, given := range [][]string{{"--cloud-provider=simulated"}, {"--cloud-provider=simulated", flag}} {
			parsed, err := config.Parse(given)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(core.ObservationOptions(parsed.Options)); got != (len(given) > 1) {
				t.Errorf("given %v, %s is told: %t", given, flag, got)
			}
		}
	}
}
