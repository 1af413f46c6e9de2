package scenario

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"

	"github.com/go-logr/logr"

	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// emptyWorld is a world without anything in it.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	ctx := klog.NewContext(t.Context(), logr.Discard())
	w, err := newWorld(ctx, document.Cluster{Start: simtest.Epoch}, Options{Controller: config.Defaults()}, func(Line) {})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheVirtualClockRingsWhenItIsSet(t *testing.T) {
	c := newClock(simtest.Epoch)
	timer, stopped, ticker := c.NewTimer(10*time.Second), c.NewTimer(5*time.Second), c.NewTicker(4*time.Second)
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer can be stopped once")
	}
	rings := func(out <-chan time.Time) bool {
		select {
		case <-out:
			return true
		default:
			return false
		}
	}
	type state struct{ timer, stopped, ticker bool }
	for _, step := range []struct {
		at   time.Duration
		want state
	}{
		{3 * time.Second, state{}},
		{4 * time.Second, state{ticker: true}},
		{9 * time.Second, state{ticker: true}},
		{11 * time.Second, state{timer: true}},
		{12 * time.Second, state{ticker: true}},
		{30 * time.Second, state{ticker: true}},
	} {
		c.set(simtest.Epoch.Add(step.at))
		if got := (state{rings(timer.C()), rings(stopped.C()), rings(ticker.C())}); got != step.want {
			t.Errorf("after %s %+v, want %+v", step.at, got, step.want)
		}
	}
	ticker.Stop()
	if timer.Reset(time.Second) {
		t.Error("a timer that has rung was still armed")
	}
	c.set(simtest.Epoch.Add(time.Hour))
	if !rings(timer.C()) || rings(ticker.C()) {
		t.Error("want the timer to ring again and the ticker to be silent")
	}
	if !rings(c.After(0)) || rings(c.After(time.Second)) || c.Since(simtest.Epoch) != time.Hour {
		t.Error("want a time that has come to ring at once")
	}
}

func TestBudgetsAllowWhatTheyShould(t *testing.T) {
	percent := func(text string) *intstr.IntOrString { v := intstr.FromString(text); return &v }
	number := func(n int) *intstr.IntOrString { v := intstr.FromInt32(int32(n)); return &v }
	for name, test := range map[string]struct {
		spec    policyv1.PodDisruptionBudgetSpec
		unready int // of the four pods
		want    [4]int32
	}{
		"a minimum":             {spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: number(3)}, want: [4]int32{4, 3, 4, 1}},
		"a minimum not reached": {spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: number(3)}, unready: 2, want: [4]int32{2, 3, 4, 0}},
		"a share of what the controllers want": {
			spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: percent("50%")}, want: [4]int32{4, 3, 6, 1},
		},
		"a number that may be missing": {spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: number(3)}, want: [4]int32{4, 3, 6, 1}},
		"nothing said":                 {want: [4]int32{4, 1, 4, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyWorld(t)
			w.ownerOf["ReplicaSet-rs"] = &workload{wanted: 6}
			for i, pod := range []string{"a", "b", "c", "d"} {
				built := simtest.Pod(pod).OwnedBy("ReplicaSet", "rs").Label("app", "x").On("n").Build()
				built.Status.Phase = corev1.PodRunning
				setReadyCondition(built, i >= test.unready, w.now())
				if err := w.putPod(built); err != nil {
					t.Fatal(err)
				}
			}
			test.spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
			budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "b"}, Spec: test.spec}
			if err := w.budgets.put(budget); err != nil {
				t.Fatal(err)
			}
			if err := w.countBudgets(); err != nil {
				t.Fatal(err)
			}
			s := w.budgets.all()[0].Status
			if got := [4]int32{s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods, s.DisruptionsAllowed}; got != test.want {
				t.Errorf("healthy, desired, expected, allowed: %v, want %v", got, test.want)
			}
			err := apiServer{w}.Evict(t.Context(), w.pods.by["default/d"], 30)
			if refused := apierrors.IsTooManyRequests(err); refused != (test.want[3] == 0) || !refused && err != nil {
				t.Errorf("eviction: %v with %d disruptions allowed", err, test.want[3])
			}
		})
	}
}

func TestEvictionsKeepTheRulesOfTheAPIServer(t *testing.T) {
	always := policyv1.AlwaysAllow
	w := emptyWorld(t)
	put := func(name string, ready bool, apps ...string) *corev1.Pod {
		builder := simtest.Pod(name).On("n")
		for _, app := range apps {
			builder = builder.Label(app, "x")
		}
		pod := builder.Build()
		pod.Status.Phase = corev1.PodRunning
		setReadyCondition(pod, ready, w.now())
		if err := w.putPod(pod); err != nil {
			t.Fatal(err)
		}
		return pod
	}
	for name, policy := range map[string]*policyv1.UnhealthyPodEvictionPolicyType{"strict": nil, "lax": &always} {
		one := intstr.FromInt32(1)
		err := w.budgets.put(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{name: "x"}}, UnhealthyPodEvictionPolicy: policy,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pods := map[string]*corev1.Pod{
		"free": put("free", true), "strict": put("strict", true, "strict"), "both": put("both", true, "strict", "lax"),
		"sick and lax": put("sick-lax", false, "lax"),
	}
	stranger := pods["free"].DeepCopy()
	stranger.UID = "another"
	pods["replaced"] = stranger
	pods["gone"] = simtest.Pod("gone").Build()
	if err := w.countBudgets(); err != nil {
		t.Fatal(err)
	}
	got := map[string]metav1.StatusReason{}
	for _, name := range []string{"replaced", "gone", "both", "sick and lax", "free"} {
		got[name] = apierrors.ReasonForError(apiServer{w}.Evict(t.Context(), pods[name], 20))
	}
	want := map[string]metav1.StatusReason{
		"free": "", "sick and lax": "", "both": metav1.StatusReasonInternalError, "replaced": metav1.StatusReasonConflict, "gone": metav1.StatusReasonNotFound,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if free := w.pods.by["default/free"]; free.DeletionTimestamp == nil || !free.DeletionTimestamp.Equal(&metav1.Time{Time: w.now().Add(20 * time.Second)}) {
		t.Errorf("the pod ends at %v, want 20 seconds from now", free.DeletionTimestamp)
	}
}

func TestPodsLeaveTaintedNodesWhenTheirPatienceEnds(t *testing.T) {
	at := metav1.NewTime(simtest.Epoch)
	node := simtest.Node("n").Build()
	node.Spec.Taints = []corev1.Taint{{Key: "hot", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at}, {Key: "soft", Effect: corev1.TaintEffectNoSchedule}}
	seconds := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		tolerations []corev1.Toleration
		want        time.Duration // -1: it stays
	}{
		"none at all":            {want: 0},
		"for ever":               {tolerations: []corev1.Toleration{{Key: "hot", Operator: corev1.TolerationOpExists}}, want: -1},
		"everything, for ever":   {tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, want: -1},
		"for a while":            {tolerations: []corev1.Toleration{{Key: "hot", Operator: corev1.TolerationOpExists, TolerationSeconds: seconds(300)}}, want: 300 * time.Second},
		"the shorter of two":     {tolerations: []corev1.Toleration{{Key: "hot", Operator: corev1.TolerationOpExists, TolerationSeconds: seconds(300)}, {Key: "hot", Operator: corev1.TolerationOpExists, TolerationSeconds: seconds(30)}}, want: 30 * time.Second},
		"another taint":          {tolerations: []corev1.Toleration{{Key: "cold", Operator: corev1.TolerationOpExists}}, want: 0},
		"another value":          {tolerations: []corev1.Toleration{{Key: "hot", Value: "very"}}, want: 0},
		"the effect that it has": {tolerations: []corev1.Toleration{{Key: "hot", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}, want: -1},
		"another effect":         {tolerations: []corev1.Toleration{{Key: "hot", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod := simtest.Pod("p").On("n").Build()
			pod.Spec.Tolerations = test.tolerations
			got := time.Duration(-1)
			if until, leaves := leavesAt(pod, node); leaves {
				got = until.Sub(simtest.Epoch)
			}
			if got != test.want {
				t.Errorf("it leaves after %s, want %s", got, test.want)
			}
		})
	}
}

func TestControllersEndTheYoungestPodsFirst(t *testing.T) {
	pod := func(name, node string, age time.Duration, ready bool) *corev1.Pod {
		built := simtest.Pod(name).CreatedAt(simtest.Epoch.Add(-age)).Build()
		built.Spec.NodeName = node
		setReadyCondition(built, ready, simtest.Epoch)
		return built
	}
	active := []*corev1.Pod{
		pod("w-1", "n", time.Hour, true), pod("w-10", "n", time.Minute, true), pod("w-9", "n", time.Minute, true),
		pod("w-2", "n", time.Hour, false), pod("w-3", "", time.Hour, false),
	}
	var got []string
	for _, p := range surplus(active, 9) {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"w-3", "w-2", "w-10", "w-9", "w-1"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
