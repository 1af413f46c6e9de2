package nodes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"example.com/cluster-autoscaler/hack/playground/annotations"
)

var now = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

func pod(phase corev1.PodPhase, marks map[string]string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: marks}, Status: corev1.PodStatus{Phase: phase}}
	for _, f := range change {
		f(p)
	}
	return p
}

func ofJob(p *corev1.Pod)   { p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job"}} }
func deleted(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }

func node(ready corev1.ConditionStatus, marks map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: marks},
		Status: corev1.NodeStatus{
			Phase:      corev1.NodeRunning, //nolint:staticcheck // KWOK keeps its state in the old field
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}},
		},
	}
}

func TestWhatHappensNextToAnObjectAndWhen(t *testing.T) {
	tests := map[string]struct {
		object    metav1.Object
		wantStage string // "" for none
		wantDelay time.Duration
	}{
		"a new node is Ready at once":                      {object: node("False", nil), wantStage: "node-ready"},
		"a new node is Ready when its creator wants it":    {object: node("False", map[string]string{annotations.ReadyAt: "2026-05-01T10:00:09Z"}), wantStage: "node-ready", wantDelay: 9 * time.Second},
		"an unreachable node becomes Ready again":          {object: node("Unknown", nil), wantStage: "node-ready"},
		"a bound pod starts after a second":                {object: pod("Pending", nil), wantStage: "pod-start", wantDelay: time.Second},
		"a bound pod starts when it wants":                 {object: pod("Pending", map[string]string{annotations.StartAfter: "20s"}), wantStage: "pod-start", wantDelay: 20 * time.Second},
		"a running pod goes on":                            {object: pod("Running", nil)},
		"a Job's pod succeeds after a second":              {object: pod("Running", nil, ofJob), wantStage: "pod-complete", wantDelay: time.Second},
		"a Job's pod succeeds when it wants":               {object: pod("Running", map[string]string{annotations.RunFor: "1m"}, ofJob), wantStage: "pod-complete", wantDelay: time.Minute},
		"a succeeded pod stays":                            {object: pod("Succeeded", nil, ofJob)},
		"a deleted pod is gone after a second":             {object: pod("Running", nil, deleted), wantStage: "pod-stop", wantDelay: time.Second},
		"a deleted pod is gone when it wants":              {object: pod("Running", map[string]string{annotations.StopAfter: "3s"}, deleted), wantStage: "pod-stop", wantDelay: 3 * time.Second},
		"a deleted pod that never started is gone as well": {object: pod("Pending", nil, deleted), wantStage: "pod-stop", wantDelay: time.Second},
	}
	stages, err := loadStages()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			kind := internalversion.StageResourceRef{APIGroup: "v1", Kind: "Pod"}
			if _, ok := test.object.(*corev1.Node); ok {
				kind.Kind = "Node"
			}
			plan, err := lifecycle.NewLifecycle(stages[kind])
			if err != nil {
				t.Fatal(err)
			}
			event := &lifecycle.Event{Annotations: test.object.GetAnnotations(), Data: test.object}
			stage, err := plan.Match(t.Context(), event)
			if err != nil {
				t.Fatal(err)
			}
			if stage == nil {
				if test.wantStage != "" {
					t.Errorf("nothing happens, want %s", test.wantStage)
				}
				return
			}
			delay, _, err := stage.Delay(t.Context(), event, now)
			if err != nil || stage.Name() != test.wantStage || delay != test.wantDelay {
				t.Errorf("%s after %v, error %v; want %s after %v", stage.Name(), delay, err, test.wantStage, test.wantDelay)
			}
		})
	}
}
