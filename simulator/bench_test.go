package simulator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// One question each, on a snapshot of 100, 1,000 and 4,000 nodes with 16 pods; what is placed is taken back within the measured
// time. Left out: making the pods and syncing.
func BenchmarkPlaceAnywhere(b *testing.B) {
	pod := simtest.Pod("p").Label("app", "a").Requests("100m", "100Mi")
	for name, c := range map[string]struct {
		pod  simtest.PodBuilder
		fits bool
	}{
		"fits the first node":       {pod: pod, fits: true},
		"fits nowhere":              {pod: pod.Requests("5", "")},
		"anti-affinity by hostname": {pod: pod.AntiAffinity(corev1.LabelHostname, "app", "a"), fits: true},
		"spread over zones":         {pod: pod.Spread(corev1.LabelTopologyZone, 1, "app", "a"), fits: true},
	} {
		for _, size := range []int{100, 1000, 4000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", name, size), func(b *testing.B) {
				scheduler, snapshot := simtest.Scheduler(b), simulator.NewSnapshot()
				if _, err := snapshot.Sync(bigCluster(size, 16)); err != nil {
					b.Fatal(err)
				}
				asked, last := c.pod.Build(), 0
				b.ReportAllocs()
				for b.Loop() {
					placement, _, err := scheduler.PlaceAnywhere(b.Context(), snapshot, asked, simulator.Search{StartAfter: last})
					if err != nil || (placement.Node != "") != c.fits {
						b.Fatalf("placement = %+v, error = %v", placement, err)
					}
					if last = placement.Index; c.fits {
						if err := snapshot.RemovePod(asked, placement.Node); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// A cluster is handed over object by object, as at start.
func BenchmarkSetPod(b *testing.B) {
	for _, size := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) {
			cluster := bigCluster(size, 16)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := simulator.NewSnapshot().Sync(cluster); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(cluster.Pods)), "ns/pod")
		})
	}
}

// A fork in which a node and ten pods are added and taken back: what one step of an estimate costs without the questions.
func BenchmarkForkAndRevert(b *testing.B) {
	for _, size := range []int{100, 1000, 4000} {
		b.Run(fmt.Sprint("nodes=", size), func(b *testing.B) {
			snapshot := simulator.NewSnapshot()
			if _, err := snapshot.Sync(bigCluster(size, 16)); err != nil {
				b.Fatal(err)
			}
			template := simulator.NodeTemplate{Node: simtest.Node("fresh").Build()}
			var pods []*corev1.Pod
			for i := range 10 {
				pods = append(pods, simtest.Pod(fmt.Sprint("p", i)).Requests("100m", "1Gi").Build())
			}
			b.ReportAllocs()
			for b.Loop() {
				snapshot.Fork()
				if err := snapshot.AddNode(template); err != nil {
					b.Fatal(err)
				}
				for _, pod := range pods {
					if err := snapshot.AddPod(pod, "fresh"); err != nil {
						b.Fatal(err)
					}
				}
				if err := snapshot.Revert(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
