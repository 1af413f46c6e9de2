package podinjection_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/podinjection"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var now = simtest.Epoch.Add(time.Hour)

func object(kind, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(kind + "-" + name)}
}

func replicaSet(name string, replicas *int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: object("ReplicaSet", name), Spec: appsv1.ReplicaSetSpec{Replicas: replicas}}
}

func statefulSet(policy appsv1.PodManagementPolicyType, replicas *int32) observation.Controllers {
	return observation.Controllers{StatefulSets: []*appsv1.StatefulSet{{
		ObjectMeta: object("StatefulSet", "web"), Spec: appsv1.StatefulSetSpec{Replicas: replicas, PodManagementPolicy: policy},
	}}}
}

func job(completions, parallelism *int32, succeeded int32) observation.Controllers {
	return observation.Controllers{Jobs: []*batchv1.Job{{
		ObjectMeta: object("Job", "web"), Spec: batchv1.JobSpec{Completions: completions, Parallelism: parallelism},
		Status: batchv1.JobStatus{Succeeded: succeeded},
	}}}
}

func sets(sets ...*appsv1.ReplicaSet) observation.Controllers {
	return observation.Controllers{ReplicaSets: sets}
}

// pods are so many of the controller, the first one the oldest.
func pods(kind, prefix string, count int) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range count {
		out = append(out, simtest.Pod(fmt.Sprint(prefix, i)).OwnedBy(kind, "web").CreatedAt(now.Add(time.Duration(i-100)*time.Second)).Build())
	}
	return out
}

func on(node string, pods []*corev1.Pod) []*corev1.Pod {
	for _, pod := range pods {
		pod.Spec.NodeName = node
	}
	return pods
}

func inject(t *testing.T, in podinjection.In, running ...*corev1.Pod) podinjection.Round {
	t.Helper()
	in.At = now
	if in.Limit == 0 {
		in.Limit = 5000
	}
	in.Snapshot = simtest.Snapshot(t, []*corev1.Node{simtest.Node("n").Build()}, running)
	return podinjection.Inject(in)
}

func TestHowManyPodsAreInjected(t *testing.T) {
	suspended := job(new(int32(10)), new(int32(4)), 0)
	suspended.Jobs[0].Spec.Suspend = new(true)
	going := replicaSet("web", new(int32(10)))
	going.DeletionTimestamp = &metav1.Time{Time: now}
	for name, tc := range map[string]struct {
		of               observation.Controllers
		running, waiting []*corev1.Pod
		schedulers       []string
		want             int
	}{
		"Q01: what a ReplicaSet misses, counting running, pending and gated pods": {
			of: sets(replicaSet("web", new(int32(10)))), running: on("n", pods("ReplicaSet", "run", 3)), waiting: pods("ReplicaSet", "wait", 3), want: 4,
		},
		"Q02: nothing without a pod to copy":  {of: sets(replicaSet("web", new(int32(10))))},
		"other controllers' pods don't count": {of: sets(replicaSet("web", new(int32(10)))), waiting: pods("ReplicationController", "other", 3)},
		"nothing if there are enough":         {of: sets(replicaSet("web", new(int32(3)))), waiting: pods("ReplicaSet", "wait", 3)},
		"nothing if there are too many":       {of: sets(replicaSet("web", new(int32(2)))), waiting: pods("ReplicaSet", "wait", 3)},
		"one replica where none is given":     {of: sets(replicaSet("web", nil)), waiting: pods("ReplicaSet", "wait", 1)},
		"nothing for what is being deleted":   {of: sets(going), waiting: pods("ReplicaSet", "wait", 3)},
		"a nominated pod is counted once": {
			of: sets(replicaSet("web", new(int32(5)))), want: 4,
			running: []*corev1.Pod{simtest.Pod("nominated").OwnedBy("ReplicaSet", "web").Nominated("n").Build()},
			waiting: []*corev1.Pod{simtest.Pod("nominated").OwnedBy("ReplicaSet", "web").Nominated("n").Build()},
		},
		"a set whose pods start all at once":   {of: statefulSet(appsv1.ParallelPodManagement, new(int32(5))), waiting: pods("StatefulSet", "wait", 2), want: 3},
		"a set whose pods wait for each other": {of: statefulSet(appsv1.OrderedReadyPodManagement, new(int32(5))), waiting: pods("StatefulSet", "wait", 2)},
		"Q03: of a Job what it has yet to do":  {of: job(new(int32(10)), new(int32(4)), 8), waiting: pods("Job", "wait", 1), want: 1},
		"of a Job no more than may run":        {of: job(new(int32(10)), new(int32(4)), 0), waiting: pods("Job", "wait", 1), want: 3},
		"of a Job that is done nothing":        {of: job(new(int32(10)), new(int32(4)), 11), waiting: pods("Job", "wait", 1)},
		"of a Job that says nothing one":       {of: job(nil, nil, 0), waiting: pods("Job", "wait", 1)},
		"of a Job with a queue of work all":    {of: job(nil, new(int32(4)), 0), waiting: pods("Job", "wait", 1), want: 3},
		"until some work is done":              {of: job(nil, new(int32(4)), 1), waiting: pods("Job", "wait", 1)},
		"of a suspended Job nothing":           {of: suspended, waiting: pods("Job", "wait", 1)},
		"nothing for a scheduler that doesn't count": {
			of: sets(replicaSet("web", new(int32(5)))), waiting: pods("ReplicaSet", "wait", 1), schedulers: []string{"volcano"},
		},
		"the default scheduler also goes without a name": {
			of: sets(replicaSet("web", new(int32(5)))), waiting: pods("ReplicaSet", "wait", 1), schedulers: []string{"default-scheduler"}, want: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			round := inject(t, podinjection.In{Controllers: tc.of, Waiting: tc.waiting, Schedulers: tc.schedulers}, tc.running...)
			if len(round.Pods) != tc.want {
				t.Errorf("%d pods are injected, want %d", len(round.Pods), tc.want)
			}
		})
	}
}

func TestACopyIsTheNewestPodWithoutANode(t *testing.T) {
	older := simtest.Pod("older").OwnedBy("ReplicaSet", "web").Requests("1", "").CreatedAt(now.Add(-time.Hour)).Unschedulable(now).Build()
	newest := simtest.Pod("newest").OwnedBy("ReplicaSet", "web").Requests("2", "").CreatedAt(now.Add(-time.Minute)).Annotation("a", "b").On("n").
		DeletedAt(now).With(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }).Build()
	before := newest.DeepCopy()
	round := inject(t, podinjection.In{Controllers: sets(replicaSet("web", new(int32(4)))), Waiting: []*corev1.Pod{older}}, newest)
	var want []*corev1.Pod
	for i := range 2 {
		pod := simtest.Pod(fmt.Sprint("newest-copy-", i)).OwnedBy("ReplicaSet", "web").Requests("2", "").CreatedAt(now.Add(-time.Minute)).
			Annotation("a", "b").Annotation("podtype", "fakepod").Build()
		pod.UID = types.UID(fmt.Sprint("ReplicaSet-web-", i))
		pod.Status = corev1.PodStatus{}
		want = append(want, pod)
	}
	if diff := cmp.Diff(want, round.Pods); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, newest); diff != "" {
		t.Errorf("the pod was changed (-before +after):\n%s", diff)
	}
	for i, pod := range append(round.Pods, newest, older) {
		if podinjection.IsCopy(pod) != (i < 2) {
			t.Errorf("%s counts as a copy: %t", pod.Name, podinjection.IsCopy(pod))
		}
	}
}

func TestAnAbsurdNumberOfReplicasIsNotTakenLiterally(t *testing.T) {
	in := podinjection.In{Controllers: sets(replicaSet("web", new(int32(math.MaxInt32)))), Waiting: pods("ReplicaSet", "wait", 1), Limit: 10}
	round := inject(t, in)
	_, told := round.Settle(nil)
	if len(round.Pods) != 40 || told[0].Missing != math.MaxInt32-1 || told[0].Dropped != math.MaxInt32-41 {
		t.Errorf("%d pods are injected, told %+v; want 40, and that the others are missing", len(round.Pods), told)
	}
	in.Limit = -1
	if round := inject(t, in); len(round.Pods) != 0 {
		t.Errorf("%d pods are injected with a limit below zero", len(round.Pods))
	}
}

func TestWhatIsOverTheLimit(t *testing.T) {
	made := map[string]*corev1.Pod{}
	for _, name := range []string{"r1", "r2", "r3", "r4"} {
		made[name] = simtest.Pod(name).Build()
	}
	for _, name := range []string{"f1", "f2", "f3"} {
		made[name] = simtest.Pod(name).Annotation(podinjection.Annotation, podinjection.Copied).Build()
	}
	for name, tc := range map[string]struct {
		given         []string
		limit         int
		kept, dropped []string
	}{
		"Q04: as many copies go as there are too many pods": {
			given: []string{"r1", "r2", "r3", "r4", "f1", "f2", "f3"}, limit: 5, kept: []string{"r1", "r2", "r3", "r4", "f3"}, dropped: []string{"f1", "f2"},
		},
		"Q25: the first copies go": {given: []string{"r1", "f1", "r2", "f2", "f3"}, limit: 3, kept: []string{"r1", "r2", "f3"}, dropped: []string{"f1", "f2"}},
		"Q25: pods that exist stay": {
			given: []string{"r1", "f1", "r2", "f2", "f3"}, limit: 1, kept: []string{"r1", "r2"}, dropped: []string{"f1", "f2", "f3"},
		},
		"below the limit all stay": {given: []string{"r1", "f1"}, limit: 2, kept: []string{"r1", "f1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var given []*corev1.Pod
			for _, name := range tc.given {
				given = append(given, made[name])
			}
			kept, dropped := podinjection.Enforce(given, tc.limit)
			if diff := cmp.Diff([2][]string{tc.kept, tc.dropped}, [2][]string{names(kept), names(dropped)}); diff != "" {
				t.Errorf("kept and dropped (-want +got):\n%s", diff)
			}
		})
	}
}

func names(pods []*corev1.Pod) (out []string) {
	for _, pod := range pods {
		out = append(out, pod.Name)
	}
	return out
}

// verdicts gives the copies these fates, one after the other.
func verdicts(round podinjection.Round, fates ...report.PodFate) []report.PodVerdict {
	var out []report.PodVerdict
	for i, pod := range round.Pods {
		verdict := report.PodVerdict{Pod: report.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, Fate: fates[min(i, len(fates)-1)]}
		if verdict.Fate == report.PodLeftAlone {
			verdict.Own = report.NotReached{Limit: podinjection.LimitFlag}
		}
		out = append(out, verdict)
	}
	return out
}

func TestNobodyIsToldOfCopiesButOfTheirController(t *testing.T) {
	round := inject(t, podinjection.In{Controllers: sets(replicaSet("web", new(int32(9)))), Waiting: pods("ReplicaSet", "wait", 1)})
	real := report.PodVerdict{Pod: report.PodRef{Namespace: "default", Name: "wait0", UID: "pod-default-wait0"}, Fate: report.PodTriggered}
	given := append([]report.PodVerdict{real}, verdicts(round, report.PodFits, report.PodTriggered, report.PodTriggered, report.PodAwaiting,
		report.PodUnschedulable, report.PodUnschedulable, report.PodUnschedulable, report.PodLeftAlone)...)
	pods, told := round.Settle(given)
	if diff := cmp.Diff([]report.PodVerdict{real}, pods); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	want := []report.Injection{{
		Kind: "ReplicaSet", Namespace: "default", Name: "web", UID: "ReplicaSet-web",
		Missing: 8, Injected: 8, Fitting: 1, Triggered: 2, Awaiting: 1, Unhelped: 3, Dropped: 1,
	}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if pods, told := (podinjection.Round{}).Settle(given); len(pods) != len(given) || told != nil {
		t.Errorf("without injection %d verdicts are left and %v is told", len(pods), told)
	}
}

// Q22, as amended: who could not be helped is left out for a while, by the UID of the controller.
func TestAControllerThatNobodyCanHelpIsLeftOut(t *testing.T) {
	in := podinjection.In{Controllers: sets(replicaSet("web", new(int32(10)))), Waiting: pods("ReplicaSet", "wait", 2), Limit: 5000}
	in.Snapshot = simtest.Snapshot(t, nil, nil)
	injected := map[time.Duration]int{}
	play := func(after time.Duration, fate report.PodFate) {
		in.At = now.Add(after)
		round := podinjection.Inject(in)
		_, told := round.Settle(verdicts(round, fate))
		injected[after] = len(round.Pods)
		if left := told[0].BackedOff; left.IsZero() != (len(round.Pods) > 0) {
			t.Errorf("at %s %d pods are injected and the controller is left out until %v", after, len(round.Pods), left)
		}
		in.BackOff = in.BackOff.After(in.At, told)
		stored, err := json.Marshal(in.BackOff) // as over a restart
		if err != nil {
			t.Fatal(err)
		}
		in.BackOff = nil
		if err := json.Unmarshal(stored, &in.BackOff); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Duration(0)
	for _, minutes := range []float64{5, 7.5, 11.25, 16.875, 25.3125, 30, 30} {
		pause := time.Duration(minutes * float64(time.Minute))
		play(at, report.PodUnschedulable)
		play(at+30*time.Second, report.PodUnschedulable)
		play(at+pause-time.Second, report.PodUnschedulable)
		if got := [3]int{injected[at], injected[at+30*time.Second], injected[at+pause-time.Second]}; got != [3]int{8, 0, 0} {
			t.Errorf("at %s, 30 s later and just before %s are over: %v pods are injected, want 8 and then none", at, pause, got)
		}
		at += pause
	}
	play(at, report.PodAwaiting) // somebody could help
	play(at+time.Second, report.PodUnschedulable)
	play(at+time.Second+5*time.Minute, report.PodUnschedulable)
	if injected[at+time.Second+5*time.Minute] != 8 {
		t.Error("after help the pauses do not begin anew")
	}
}

func TestWhatIsKeptOfPauses(t *testing.T) {
	past, later := podinjection.Pause{Until: now, Length: 5 * time.Minute}, podinjection.Pause{Until: now.Add(time.Second), Length: 5 * time.Minute}
	before := podinjection.BackOff{"over": past, "left alone": past, "helped": past, "in part": past, "running": later}
	got := before.After(now, []report.Injection{
		{UID: "left alone", Injected: 1}, {UID: "helped", Injected: 1, Fitting: 1}, {UID: "in part", Injected: 2, Triggered: 1, Unhelped: 1}, {UID: "running"},
	})
	if diff := cmp.Diff(podinjection.BackOff{"left alone": past, "running": later}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(before) != 5 {
		t.Error("the value that was given has changed")
	}
}

func TestThePodThatComesInheritsThePurchaseForItsCopy(t *testing.T) {
	round := inject(t, podinjection.In{Controllers: sets(replicaSet("web", new(int32(6)))), Waiting: pods("ReplicaSet", "wait", 4)}) // copies 0 and 1
	coming := func(group string) report.PurchaseOnTheWay {
		return report.PurchaseOnTheWay{Group: "g", Until: now.Add(time.Duration(len(group)) * time.Minute)}
	}
	given := map[types.UID]report.PurchaseOnTheWay{
		"ReplicaSet-web-0": coming("a"), "ReplicaSet-web-10": coming("aaa"), "ReplicaSet-web-3": coming("aa"), "ReplicaSet-other-4": coming("a"),
		"pod-default-wait1": coming("aaaa"), "odd": coming("a"), "ReplicaSet-web-x": coming("a"),
	}
	other := simtest.Pod("bare").Build()
	got := round.Inherit(given, append([]*corev1.Pod{other}, pods("ReplicaSet", "wait", 4)...))
	want := map[types.UID]report.PurchaseOnTheWay{"pod-default-wait0": coming("aa"), "pod-default-wait2": coming("aaa")}
	maps.Copy(want, given)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("purchases (-want +got):\n%s", diff)
	}
	if len(given) != 7 {
		t.Error("the map that was given has changed")
	}
}
