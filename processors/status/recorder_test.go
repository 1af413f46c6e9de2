package status_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/processors/status"
)

// recorded is a recorder that notes what it is given.
type recorded struct {
	record.EventRecorder
	got []string
}

func (r *recorded) Event(object runtime.Object, kind, reason, message string) {
	ref, ok := object.(*corev1.ObjectReference)
	if !ok {
		r.got = append(r.got, fmt.Sprintf("%T", object))
		return
	}
	r.got = append(r.got, fmt.Sprintf("%s %s %s/%s %s %s: %s", kind, ref.Kind, ref.Namespace, ref.Name, ref.UID, reason, message))
}

func TestEventsAreRecordedOnTheirObjects(t *testing.T) {
	events := []status.Event{
		{Object: status.Object{Kind: status.KindStatus}, Warning: true, Reason: "A", Message: "a"},
		{Object: status.Node("n"), Reason: "B", Message: "b"},
		{Object: status.Object{Kind: status.KindPod, Namespace: "web", Name: "p", UID: "1"}, Reason: "C", Message: "c"},
		{Object: status.Object{Kind: status.KindConfigMap, Namespace: "kube-system", Name: "m", UID: "2"}, Warning: true, Reason: "E", Message: "e"},
		{Object: status.Object{Kind: "Other"}, Reason: "D", Message: "d"},
	}
	object := status.Reference(&corev1.ConfigMap{})
	object.Namespace, object.Name, object.UID = "kube-system", "cluster-autoscaler-status", "42"
	tests := map[string]struct {
		object *corev1.ObjectReference
		want   []string
	}{
		"with a status": {object, []string{
			"Warning ConfigMap kube-system/cluster-autoscaler-status 42 A: a", "Normal Node /n n B: b", "Normal Pod web/p 1 C: c",
			"Warning ConfigMap kube-system/m 2 E: e",
		}},
		"without one": {nil, []string{"Normal Node /n n B: b", "Normal Pod web/p 1 C: c", "Warning ConfigMap kube-system/m 2 E: e"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			into := &recorded{}
			status.NewRecorder(into, test.object).Record(events...)
			if diff := cmp.Diff(test.want, into.got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func event(object corev1.ObjectReference, reason, message string) *corev1.Event {
	return &corev1.Event{
		InvolvedObject: object, Reason: reason, Message: message, Type: corev1.EventTypeNormal, Source: corev1.EventSource{Component: status.Component},
	}
}

// Operator-surface 3.5, with client-go's own correlator.
func TestWhichRepeatedEventsPass(t *testing.T) {
	pod := corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p", UID: "1"}
	otherPod := corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "q", UID: "2"}
	object := corev1.ObjectReference{Kind: "ConfigMap", Namespace: "autoscaling", Name: "my-status", UID: "3"}
	named := corev1.ObjectReference{Kind: "ConfigMap", Namespace: "kube-system", Name: "cluster-autoscaler-status", UID: "4"}
	priorities := corev1.ObjectReference{Kind: "ConfigMap", Namespace: "autoscaling", Name: "cluster-autoscaler-priority-expander", UID: "5"}
	type step struct {
		after time.Duration
		event *corev1.Event
		want  bool
	}
	tests := map[string]struct {
		duplicates bool
		steps      []step
	}{
		"a second event of one reason about one pod is held back for five minutes": {steps: []step{
			{0, event(pod, "TriggeredScaleUp", "a"), true},
			{0, event(pod, "TriggeredScaleUp", "b"), false},
			{4 * time.Minute, event(pod, "TriggeredScaleUp", "c"), false},
			{61 * time.Second, event(pod, "TriggeredScaleUp", "d"), true},
		}},
		"another reason or another pod is not": {steps: []step{
			{0, event(pod, "NotTriggerScaleUp", "a"), true}, {0, event(pod, "TriggeredScaleUp", "a"), true}, {0, event(otherPod, "TriggeredScaleUp", "a"), true},
		}},
		"on the status every different message passes, the same one does not": {steps: []step{
			{0, event(object, "ScaledUpGroup", "a"), true}, {0, event(object, "ScaledUpGroup", "b"), true}, {0, event(object, "ScaledUpGroup", "a"), false},
		}},
		"on the map of priorities every different message passes too": {steps: []step{
			{0, event(priorities, "PriorityConfigMapNotMatchedGroup", "a"), true}, {0, event(priorities, "PriorityConfigMapNotMatchedGroup", "b"), true},
			{0, event(priorities, "PriorityConfigMapNotMatchedGroup", "a"), false},
		}},
		"that holds for the names in use, not for the usual ones": {steps: []step{
			{0, event(named, "ScaledUpGroup", "a"), true}, {0, event(named, "ScaledUpGroup", "b"), false},
		}},
		"with duplicates allowed, repeats pass too": {duplicates: true, steps: []step{
			{0, event(pod, "TriggeredScaleUp", "a"), true}, {0, event(pod, "TriggeredScaleUp", "a"), true},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC))
			options := status.CorrelatorOptions("autoscaling", "my-status", test.duplicates)
			options.Clock = clk
			correlator := record.NewEventCorrelatorWithOptions(options)
			for i, step := range test.steps {
				clk.Step(step.after)
				result, err := correlator.EventCorrelate(step.event)
				if err != nil {
					t.Fatal(err)
				}
				if result.Skip == step.want {
					t.Errorf("event %d passes: %t, want %t", i+1, !result.Skip, step.want)
				}
			}
		})
	}
}

func TestABurstOfDuplicatesIsBounded(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC))
	options := status.CorrelatorOptions("kube-system", "cluster-autoscaler-status", true)
	options.Clock = clk
	correlator := record.NewEventCorrelatorWithOptions(options)
	passed := 0
	for i := range 40 {
		result, err := correlator.EventCorrelate(event(corev1.ObjectReference{Kind: "Pod", Name: "p", UID: types.UID("1")}, "A", fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		if !result.Skip {
			passed++
		}
	}
	if passed != 25 {
		t.Errorf("%d of 40 events pass, want client-go's 25", passed)
	}
}

func TestEventsAreCopiedToTheLog(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(4)))
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the logger has no buffer")
	}
	status.LogEvents(logger)(event(corev1.ObjectReference{Kind: "Pod", Namespace: "web", Name: "p"}, "ScaleDown", "deleting pod"))
	log := underlier.GetBuffer().Data()
	if len(log) != 1 || log[0].Verbosity != 4 {
		t.Fatalf("%d lines in the log, want one at verbosity 4: %+v", len(log), log)
	}
	want := []any{"object", klog.KRef("web", "p"), "kind", "Pod", "type", "Normal", "reason", "ScaleDown", "message", "deleting pod"}
	if diff := cmp.Diff(want, log[0].ParameterKVList); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
