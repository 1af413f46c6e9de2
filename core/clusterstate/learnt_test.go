package clusterstate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
)

func TestAnUncertainPurchaseIsNotRepeatedForAWhile(t *testing.T) {
	unsure := report.NotGuaranteed{Until: after(30 * time.Minute)}
	r := newRegistry()
	r.Attempted([]report.PodVerdict{
		{Pod: report.PodRef{UID: "certain"}, Fate: report.PodTriggered, Grown: "g"},
		{Pod: report.PodRef{UID: "waiting"}, Fate: report.PodAwaiting, Own: unsure},
		{Pod: report.PodRef{UID: "uncertain"}, Fate: report.PodTriggered, Grown: "g", Own: unsure},
	})
	want := map[clusterstate.Attempt]time.Time{{Pod: "uncertain", Group: "g"}: after(30 * time.Minute)}
	got := r.Attempts(after(29 * time.Minute))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	clear(got)
	if len(r.Attempts(after(29*time.Minute))) != 1 {
		t.Error("the map handed out is the registry's own")
	}
	if got := r.Attempts(after(30 * time.Minute)); len(got) != 0 {
		t.Errorf("at the end of the pause: %v", got)
	}
}
