package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// prefer writes the map of priorities.
func (w *world) prefer(text string) {
	w.priorities = &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler-priority-expander", UID: "prio"},
		Data:       map[string]string{"priorities": text},
	}
}

// C40 as the operator sees it: one event, one line of the log, and the status says since when.
func TestAMapOfPrioritiesThatIsMistypedIsToldOnceAndStandsInTheStatus(t *testing.T) {
	w := newWorld(t, []string{"--expander=priority,least-waste"}, group("ng-x", 0, 5, 0), group("ng-y", 0, 5, 0))
	w.prefer(`{"10": [ng-x], "50": [ng-y]}`)
	w.at(time.Minute, func() { w.arrive(pod("a", "1")) })
	w.at(20*time.Minute, func() { w.prefer(`{"high": [ng-x]}`) })
	w.at(21*time.Minute, func() { w.arrive(pod("b", "4")) })
	w.to(19 * time.Minute)
	if off := w.status().FeaturesOff; len(off) > 0 {
		t.Errorf("before the mistake the status says %v", off)
	}
	w.to(30 * time.Minute)
	w.wantTarget("ng-y", 2)
	w.wantTarget("ng-x", 0)
	const mistake = `key "priorities": line 1 has the key "high", want a priority, which is a whole number; until then the last valid map stays in force`
	var events []string
	for _, e := range w.events {
		if strings.HasPrefix(e, "ConfigMap/cluster-autoscaler-priority-expander ") {
			events = append(events, e)
		}
	}
	if diff := cmp.Diff([]string{"ConfigMap/cluster-autoscaler-priority-expander PriorityConfigMapInvalid " + mistake}, events); diff != "" {
		t.Errorf("events: %s", diff)
	}
	if got := strings.Count(w.logs.String(), `has the key`); got != 1 {
		t.Errorf("%d lines of the log tell of it, want 1:\n%s", got, w.logs)
	}
	off := w.status().FeaturesOff
	if len(off) != 1 || off[0].Name != "configmaps/cluster-autoscaler-priority-expander" || off[0].Error != mistake || !off[0].Since.Equal(new(stamp(w.start.Add(20*time.Minute)))) {
		t.Errorf("the status says %+v, want the mistake and since when", off)
	}
	w.prefer(`{"10": [ng-y], "50": [ng-x]}`)
	w.to(31 * time.Minute)
	if off := w.status().FeaturesOff; len(off) > 0 {
		t.Errorf("after the mistake was mended the status says %v", off)
	}
}

func TestWhatTheExpanderDropsIsReportedWithItsNumbers(t *testing.T) {
	w := newWorld(t, []string{"--expander=priority"}, group("ng-x", 0, 5, 0), group("ng-y", 0, 5, 0), group("other", 0, 5, 0))
	w.prefer("10: [ng-x]\n50: [ng-y]")
	w.arrive(pod("a", "1"))
	w.to(0)
	got := map[string]string{}
	for _, option := range w.last.ScaleUp.Options {
		if option.Reason != nil {
			got[string(option.Group)] = option.Reason.String()
		}
	}
	want := map[string]string{
		"ng-x":  `expansion options filtered out and no longer considered (priority: priority 10 by "ng-x", the highest is 50)`,
		"other": "expansion options filtered out and no longer considered (priority: no expression matches it, the highest priority is 50)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !w.event("PriorityConfigMapNotMatchedGroup", "other") {
		t.Errorf("no event names the group without priority: %v", w.events)
	}
}
