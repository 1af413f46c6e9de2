package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// latencies are the lines of the histogram that count.
func (w *world) latencies() string {
	w.Helper()
	families, err := w.metrics.Gather()
	w.must(err)
	var out []string
	for _, family := range families {
		if family.GetName() != "cluster_autoscaler_node_removal_latency_seconds" {
			continue
		}
		for _, series := range family.GetMetric() {
			var labels []string
			for _, label := range series.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			out = append(out, strings.Join(labels, " ")+" "+time.Duration(series.GetHistogram().GetSampleSum()*float64(time.Second)).String())
		}
	}
	return strings.Join(out, "; ")
}

func TestHowLongARemovableNodeWaits(t *testing.T) {
	for name, test := range map[string]struct {
		flags []string
		story func(*world)
		want  string
	}{
		"until it goes": {[]string{"--node-removal-latency-tracking-enabled"}, func(*world) {}, "none true 10s"},
		"until it is needed again": {[]string{"--node-removal-latency-tracking-enabled", "--scale-down-delay-after-add=2h"}, func(w *world) {
			w.at(12*time.Minute+5*time.Second, func() { w.put(pod("p", "3").On("g-0001").Build()) })
		}, "NotUnderutilized false 2m10s"},
		"nobody asks": {nil, func(*world) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.flags, group("g", 0, 9, 1))
			test.story(w)
			w.to(15 * time.Minute)
			if got := w.latencies(); got != test.want {
				t.Errorf("latencies %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheLongestTimeThatANodeWasNotLookedAt(t *testing.T) {
	w := newWorld(t, []string{"--max-node-skip-eval-time-tracker-enabled", "--max-scale-down-parallelism=1", "--scale-down-unneeded-time=2h"}, group("g", 0, 99, 60))
	w.to(50 * time.Second)
	if got := w.metric("cluster_autoscaler_max_node_skip_eval_duration_seconds"); got != 50 {
		t.Errorf("after 50 s it is %v s, want the whole time", got)
	}
	if n, err := testutil.GatherAndCount(w.metrics, "cluster_autoscaler_max_node_skip_eval_duration_seconds"); err != nil || n != 1 {
		t.Errorf("%d series, %v", n, err)
	}
	w.to(10 * time.Minute)
	if got := w.metric("cluster_autoscaler_max_node_skip_eval_duration_seconds"); got != 0 {
		t.Errorf("once all nodes are looked at it is %v s, want 0", got)
	}
}
