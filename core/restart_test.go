package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8stesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
)

const statusName = "cluster-autoscaler-status"

// object is the status ConfigMap as it is now.
func (w *world) object() *corev1.ConfigMap {
	w.Helper()
	object, err := w.client.CoreV1().ConfigMaps("kube-system").Get(w.ctx, statusName, metav1.GetOptions{})
	w.must(err)
	return object
}

// stored is the state in the status ConfigMap.
func (w *world) stored() saved.State {
	w.Helper()
	return w.decoded(w.object())
}

func (w *world) decoded(object *corev1.ConfigMap) saved.State {
	w.Helper()
	text := object.Data["state"]
	if text == "" {
		return saved.State{}
	}
	state, err := saved.Decode(text)
	w.must(err)
	return state
}

// putBack makes the status ConfigMap what it was, as if nothing had been written since.
func (w *world) putBack(object *corev1.ConfigMap) {
	w.Helper()
	object = object.DeepCopy()
	object.ResourceVersion = ""
	w.must(w.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), object, "kube-system"))
}

// down lets so much time pass without autoscaler, and starts a new process.
func (w *world) down(pause time.Duration) {
	w.Helper()
	fake, ok := w.clock.(*clocktesting.FakeClock)
	if !ok {
		w.Fatal("only a FakeClock can be moved")
	}
	for end := w.clock.Now().Add(pause); w.clock.Now().Before(end); fake.Step(time.Second) {
		w.settle()
	}
	w.boot()
	w.nextPass = w.clock.Now()
}

func TestABackOffIsKeptOverARestart(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		calls int
	}{
		"with state":    {nil, 1},
		"without state": {[]string{"--persist-state=false"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.flags, group("g", 0, 9, 0))
			w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Group: "g", Err: errors.New("out of order"), Count: test.calls})
			w.arrive(pod("p", "3"))
			w.to(20 * time.Second)
			w.down(15 * time.Second)
			w.to(4 * time.Minute)
			if got := strings.Count(w.logs.String(), "Cannot resize node group"); got != test.calls {
				t.Errorf("%d calls within the back-off, want %d", got, test.calls)
			}
			w.to(11 * time.Minute)
			w.wantTarget("g", 1)
		})
	}
}

func TestAnUnneededTimerGoesOnAfterAShortAbsence(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		down  time.Duration
		after time.Duration // the removal
	}{
		"two scan intervals and a minute": {nil, 80 * time.Second, 10*time.Minute + 10*time.Second},
		"more than that":                  {nil, 91 * time.Second, 16*time.Minute + 50*time.Second},
		"without state":                   {[]string{"--persist-state=false"}, 15 * time.Second, 15*time.Minute + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			flags := append([]string{"--max-bulk-soft-taint-count=0"}, test.flags...)
			w := newWorld(t, flags, group("g", 0, 9, 1))
			w.to(5 * time.Minute)
			w.down(test.down)
			w.to(test.after - 20*time.Second)
			w.wantTarget("g", 1)
			w.to(test.after + 20*time.Second)
			w.wantTarget("g", 0)
		})
	}
}

func TestThePurchaseIsLaidDownBeforeAndAfterTheCloudIsAsked(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	var got []string
	w.client.PrependReactor("update", "configmaps", func(action k8stesting.Action) (bool, runtime.Object, error) {
		update, ok := action.(k8stesting.UpdateAction)
		if !ok {
			return false, nil, nil
		}
		object, ok := update.GetObject().(*corev1.ConfigMap)
		if !ok {
			return false, nil, nil
		}
		state := w.decoded(object)
		parts := []string{fmt.Sprintf("target %d", w.target("g"))}
		for _, g := range state.Registry.Groups {
			if g.Request != nil {
				parts = append(parts, fmt.Sprintf("request %d, intended %t", g.Request.Increase, g.Believed.Intended))
			}
		}
		parts = append(parts, fmt.Sprintf("bought for pods %t", len(state.Registry.Purchases) > 0))
		got = append(got, strings.Join(parts, ", "))
		return false, nil, nil
	})
	w.arrive(pod("p", "3"))
	w.to(0)
	want := []string{
		"target 0, request 1, intended true, bought for pods false",
		"target 1, request 1, intended false, bought for pods true",
		"target 1, request 1, intended false, bought for pods true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

// Whatever the last thing is that a process writes, the next one buys nothing again, nor does it forget for whom was bought.
func TestAProcessThatDiesWhileItBuysLeavesEnoughBehind(t *testing.T) {
	for last := range 3 {
		t.Run(fmt.Sprintf("after write %d of the iteration", last+1), func(t *testing.T) {
			w := newWorld(t, nil, group("g", 0, 9, 0))
			var written []*corev1.ConfigMap
			w.client.PrependReactor("update", "configmaps", func(action k8stesting.Action) (bool, runtime.Object, error) {
				if update, ok := action.(k8stesting.UpdateAction); ok {
					if object, ok := update.GetObject().(*corev1.ConfigMap); ok {
						written = append(written, object.DeepCopy())
					}
				}
				return false, nil, nil
			})
			w.arrive(pod("p", "3"), pod("q", "3"))
			w.to(0)
			w.putBack(written[last])
			w.down(15 * time.Second)
			w.to(3 * time.Minute)
			if got := w.bought("g"); got != 2 {
				t.Errorf("%d nodes were bought, want 2", got)
			}
			if w.event("ScaleUpTimedOut") {
				t.Error("the request timed out")
			}
			for _, g := range w.stored().Registry.Groups {
				if g.Request != nil || g.Believed != nil {
					t.Errorf("once the nodes are there the request is %+v, the belief %+v", g.Request, g.Believed)
				}
			}
		})
	}
}

func TestARequestTimesOutAtItsTimeAlsoAfterARestart(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.must(w.cloud.Next("g", simulated.Fate{Stuck: true}))
	w.arrive(pod("p", "3"))
	w.to(10 * time.Minute)
	w.down(15 * time.Second)
	w.to(14*time.Minute + 50*time.Second)
	if w.event("ScaleUpTimedOut") {
		t.Fatal("the request timed out too early")
	}
	w.to(15*time.Minute + 30*time.Second)
	if !w.event("ScaleUpTimedOut", "g") {
		t.Errorf("the request has not timed out; events %q", w.events)
	}
}

// C32 over a restart: the pod does not cause another purchase while its node settles.
func TestAPodForWhichANodeWasBoughtIsStillKnownAfterARestart(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.born["g"] = func(node *corev1.Node) { // the first node does not take the pod at once
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "vendor/late", Effect: corev1.TaintEffectNoSchedule})
	}
	w.arrive(pod("p", "3"))
	w.to(20 * time.Second)
	w.down(15 * time.Second)
	w.to(2 * time.Minute)
	if got := w.bought("g"); got != 1 {
		t.Errorf("%d nodes were bought, want 1", got)
	}
	if got := w.reasons("p"); len(got) != 1 || got[0] != string(report.CodePurchaseOnTheWay) {
		t.Errorf("the pod waits because of %q", got)
	}
}

func TestAQuietIterationWritesTheSameStateOnce(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 2))
	w.fill("g")
	w.to(time.Minute)
	before, actions := w.object().Data["state"], len(w.client.Actions())
	w.to(70 * time.Second)
	var writes []string
	for _, action := range w.client.Actions()[actions:] {
		if action.GetVerb() != "get" {
			writes = append(writes, action.GetVerb()+" "+action.GetResource().Resource)
		}
	}
	if diff := cmp.Diff([]string{"update configmaps"}, writes); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if w.object().Data["state"] != before || before == "" {
		t.Error("the state is another one although nothing happened")
	}
	if got, want := w.object().Annotations["cluster-autoscaler.kubernetes.io/state-seen"], w.clock.Now().UTC().Format(time.RFC3339Nano); got != want {
		t.Errorf("the cluster was last seen at %q, want %q", got, want)
	}
}

func TestAGracefulEndKeepsTheStatusWithTheState(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.arrive(pod("p", "3"))
	w.to(10 * time.Second)
	w.must(w.teller.Stop(w.ctx, w.clock.Now(), w.autoscaler.Memory()))
	if got := w.status().AutoscalerStatus; got != "Initializing" {
		t.Errorf("the status is %q", got)
	}
	if got := w.stored().Registry.Groups; len(got) != 1 || got[0].Request == nil {
		t.Errorf("the groups in the state are %+v, want one with a request", got)
	}
	// One that ends before it has begun leaves everything as it is.
	kept := w.object().Data["state"]
	w.boot()
	w.must(w.teller.Stop(w.ctx, w.clock.Now(), w.autoscaler.Memory()))
	if w.object().Data["state"] != kept {
		t.Error("a process that never made an iteration has changed the state")
	}
}

func TestWithoutPersistedStateWhatAnotherProcessLeftIsTakenAway(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.to(0)
	if w.object().Data["state"] == "" {
		t.Fatal("there is no state")
	}
	w.options.Process.PersistState = false
	w.boot()
	w.to(10 * time.Second)
	object := w.object()
	if len(object.Data) != 1 || len(object.Annotations) != 1 {
		t.Errorf("data %v, annotations %v; want the status alone", object.Data, object.Annotations)
	}
}

func TestWhereTheStatusMayNotBeWrittenEverythingElseWorksAndOneLineSaysSo(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, statusName, errors.New("no such right"))
	for _, verb := range []string{"get", "update", "*"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, nil, group("g", 0, 9, 0))
			w.client.PrependReactor(verb, "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, denied })
			w.boot()
			w.arrive(pod("p", "3"))
			w.to(2 * time.Minute)
			w.wantTarget("g", 1)
			if got := strings.Count(w.logs.String(), "ERROR"); got != 1 || !strings.Contains(w.logs.String(), "nothing is kept over restarts") {
				t.Errorf("%d errors in the log, want one:\n%s", got, w.logs)
			}
			w.must(w.teller.Stop(w.ctx, w.clock.Now(), w.autoscaler.Memory()))
		})
	}
}

func TestAfterATimeOfTroubleTheStatusIsWrittenAgain(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.to(0)
	broken := true
	w.client.PrependReactor("update", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		return broken, nil, apierrors.NewInternalError(errors.New("no leader"))
	})
	w.to(time.Minute)
	broken = false
	w.to(2 * time.Minute)
	want := []string{"Cannot write the status; nothing is kept over restarts until it can be written again", "The status can be written again"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestAStateThatCannotBeReadIsToldOnceAndLeftBehind(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.to(0)
	damaged := w.object()
	damaged.Data["state"] = "H4sIAAAA" + damaged.Data["state"][20:]
	w.putBack(damaged)
	w.down(time.Second)
	w.arrive(pod("p", "3"))
	w.to(time.Minute)
	w.wantTarget("g", 1)
	log := w.logs.String()
	if strings.Count(log, "Cannot use what an earlier process has left") != 1 || !strings.Contains(log, `configMap="kube-system/`+statusName+`"`) {
		t.Errorf("the log says:\n%s", log)
	}
	if got := w.stored().Registry.Groups; len(got) != 1 {
		t.Errorf("the new state has the groups %+v", got)
	}
}

func TestSomebodyElsesChangeOfATargetIsTold(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-enabled=false"}, group("g", 0, 9, 2), group("h", 0, 9, 0))
	w.fill("g")
	w.arrive(pod("p", "3").NodeSelector("group", "h"))
	w.at(2*time.Minute, func() {
		_, err := w.cloud.SetTarget("g", 4)
		w.must(err)
	})
	w.to(5 * time.Minute)
	var got []string
	for _, event := range w.events {
		if strings.Contains(event, "TargetSizeChangedExternally") {
			got = append(got, event)
		}
	}
	want := []string{"ConfigMap/" + statusName + " TargetSizeChangedExternally Size of group g is now 4 instead of 2: somebody else has changed it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got := strings.Count(w.logs.String(), "Somebody else has changed the target of node group"); got != 1 {
		t.Errorf("%d lines in the log, want one", got)
	}
}
