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

	"example.com/cluster-autoscaler/core/report"
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
	node := corev1.ObjectReference{Kind: "Node", Name: "n", UID: "n"}
	lease := corev1.ObjectReference{Kind: "Lease", Namespace: "kube-system", Name: "cluster-autoscaler", UID: "6"}
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
		"a node is told each step of its removal once, whatever errors there are": {steps: []step{
			{0, event(node, "ScaleDown", "marked the node as toBeDeleted/unschedulable"), true},
			{8 * time.Second, event(node, "ScaleDown", "nodes removed by cluster autoscaler"), true},
			{time.Second, event(node, "ScaleDown", "nodes removed by cluster autoscaler"), false},
			{time.Second, event(node, "ScaleDownFailed", "failed to mark the node as toBeDeleted/unschedulable: denied"), true},
			{time.Second, event(node, "ScaleDownFailed", "failed to mark the node as toBeDeleted/unschedulable: conflict 2"), false},
			{time.Second, event(node, "ScaleDownFailed", "failed to drain and delete node: pod a/b stays"), true},
			{time.Second, event(node, "ScaleDownFailed", "failed to drain and delete node: pod a/c stays"), false},
			{time.Minute, event(node, "ScaleDown", "marked the node as toBeDeleted/unschedulable"), false},
			{5 * time.Minute, event(node, "ScaleDown", "marked the node as toBeDeleted/unschedulable"), true},
		}},
		"winning and losing the election are told": {steps: []step{
			{0, event(lease, "LeaderElection", "a became leader"), true}, {time.Minute, event(lease, "LeaderElection", "a stopped leading"), true},
			{time.Second, event(lease, "LeaderElection", "a stopped leading"), false},
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

// correlated is a recorder that notes the events which client-go's correlator lets through.
type correlated struct {
	record.EventRecorder
	t          *testing.T
	correlator *record.EventCorrelator
	passed     []string
}

func (c *correlated) Event(object runtime.Object, kind, reason, message string) {
	ref, ok := object.(*corev1.ObjectReference)
	if !ok {
		c.t.Fatalf("an event about a %T", object)
	}
	result, err := c.correlator.EventCorrelate(&corev1.Event{
		InvolvedObject: *ref, Type: kind, Reason: reason, Message: message, Source: corev1.EventSource{Component: status.Component},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if !result.Skip {
		c.passed = append(c.passed, fmt.Sprintf("%s/%s %s %s", ref.Kind, ref.Name, result.Event.Reason, result.Event.Message))
	}
}

// newCorrelated returns a recorder in front of the strict correlator, and the function that moves its clock.
func newCorrelated(t *testing.T) (into *correlated, step func(time.Duration)) {
	clk := clocktesting.NewFakeClock(time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC))
	options := status.CorrelatorOptions("kube-system", "cluster-autoscaler-status", false)
	options.Clock = clk
	return &correlated{t: t, correlator: record.NewEventCorrelatorWithOptions(options)}, clk.Step
}

// The steps of a removal follow each other within seconds.
func TestEveryEventOfARemovalPassesOnce(t *testing.T) {
	into, step := newCorrelated(t)
	object := &corev1.ObjectReference{Kind: "ConfigMap", Namespace: "kube-system", Name: "cluster-autoscaler-status", UID: "3"}
	recorder := status.NewRecorder(into, object)
	going := report.Removal{Node: "n", Group: "g", Drain: true, Pods: []report.PodRef{{Namespace: "default", Name: "p"}}}
	evicted := &corev1.Pod{}
	evicted.Namespace, evicted.Name, evicted.UID = "default", "p", "1"
	recorder.Record(status.NodeTainted("n", nil), status.DrainBegun(going))
	step(5 * time.Second)
	recorder.Record(status.EvictionBegun(evicted))
	step(3 * time.Second)
	recorder.Record(status.RemovalEnded(report.RemovalOutcome{Removal: going, Result: report.RemovalOK})...)
	want := []string{
		"Node/n ScaleDown marked the node as toBeDeleted/unschedulable",
		"ConfigMap/cluster-autoscaler-status ScaleDown Scale-down: removing node n, utilization: {0 0 0  0}, pods to reschedule: default/p",
		"Pod/p ScaleDown deleting pod for node scale down",
		"Node/n ScaleDown nodes removed by cluster autoscaler",
		"ConfigMap/cluster-autoscaler-status ScaleDown Scale-down: node n removed with drain",
	}
	if diff := cmp.Diff(want, into.passed); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A node whose removal fails again and again, each time with another error, must not fill the API server with events.
func TestANodeThatFailsAgainAndAgainIsToldOfOnceInFiveMinutes(t *testing.T) {
	into, step := newCorrelated(t)
	recorder := status.NewRecorder(into, nil)
	for i := range 60 { // in an hour
		failed := report.RemovalOutcome{Removal: report.Removal{Node: "n", Drain: i%2 == 0}, Result: report.RemovalDeletionFailed, Err: fmt.Errorf("request %d: denied", i)}
		recorder.Record(status.NodeTainted("n", nil), status.NodeTainted("n", fmt.Errorf("conflict %d", i)))
		recorder.Record(status.RemovalEnded(failed)...)
		step(time.Minute)
	}
	const kinds, windows = 4, 12 // marked, not marked, two ways to fail
	if got := len(into.passed); got < kinds || got > kinds*(windows+1) {
		t.Errorf("%d events pass, want about one of each of %d kinds in five minutes", got, kinds)
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
