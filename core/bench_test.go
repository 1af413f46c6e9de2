package core_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// The API server, the cloud and the sink of events are in memory; what they cost is included.

func BenchmarkRunOnceIdle(b *testing.B) {
	for _, nodes := range []int{250, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			g := of(group("g", 0, 2*nodes, nodes), simtest.Node("t").CPU("10"))
			w := newWorld(b, nil, g)
			for _, node := range w.cloud.Nodes() {
				for i := range 30 {
					w.must(w.source.pods().Add(pod(fmt.Sprintf("%s-%02d", node.Name, i), "250m").On(node.Name).CreatedAt(w.start.Add(-time.Hour)).Build()))
				}
			}
			w.dirty = false
			w.pass()
			b.ReportAllocs()
			for b.Loop() {
				w.pass()
				if w.err != nil || w.last.ScaleDown.Result != report.ScaleDownNoNodeDelete || len(w.last.ScaleDown.Kept) != nodes {
					b.Fatalf("error %v, scale-down %s, %d nodes kept", w.err, w.last.ScaleDown.Result, len(w.last.ScaleDown.Kept))
				}
			}
			if len(w.cloud.Writes()) > 0 {
				b.Fatalf("writes %v", w.writes())
			}
		})
	}
}

func BenchmarkScaleUp(b *testing.B) {
	for _, pods := range []int{500, 2000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				w := newWorldOf(b, setting{groups: []simulated.Group{of(group("g", 0, 10_000, 0), simtest.Node("t").CPU("10"))}})
				for i := range pods {
					w.must(w.source.pods().Add(pod(fmt.Sprintf("p-%04d", i), "200m").CreatedAt(w.start.Add(-time.Minute)).Unschedulable(w.start).Build()))
				}
				b.StartTimer()
				w.pass()
				if w.err != nil || w.target("g") != pods/50 || len(w.last.ScaleUp.Pods) != pods {
					b.Fatalf("error %v, target %d, want %d", w.err, w.target("g"), pods/50)
				}
			}
		})
	}
}
