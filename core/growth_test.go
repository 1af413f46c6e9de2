package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/core/report"
)

func TestABurstFromZeroIsBoughtOnceAndExactly(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 50, 0))
	w.arrive(pods(41, "p", "1")...)
	w.to(10 * time.Second)
	if upcoming := w.last.Groups[0].Upcoming; upcoming != 11 {
		t.Errorf("%d nodes are upcoming after the purchase, want 11", upcoming)
	}
	w.to(5 * time.Minute)
	if diff := cmp.Diff([]string{"0 IncreaseSize g 0->11"}, w.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if left := w.waiting(); len(left) > 0 {
		t.Errorf("pods %v still wait", left)
	}
	if w.last.ScaleUp.Result != report.ScaleUpNotNeeded {
		t.Errorf("at the end scale-up is %s, want NotNeeded", w.last.ScaleUp.Result)
	}
}

var _ = slices.Contains[[]string]
