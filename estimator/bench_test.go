package estimator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/estimator"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// BenchmarkEstimate packs pods of 1/50 node from zero: alike ones of one controller, and ones that nothing tells apart but that have no
// controller in common. Making the objects is left out.
func BenchmarkEstimate(b *testing.B) {
	for _, pods := range []int{500, 1000, 2000} {
		pod := requesting("200m", "200")
		alike := many(pods, "a", pod)
		single := make([]estimator.Class, 0, pods)
		for i := range pods {
			single = append(single, estimator.Class{Pods: []*corev1.Pod{pod.With(func(p *corev1.Pod) {
				p.Name, p.UID = fmt.Sprintf("p%05d", i), ""
			}).Build()}})
		}
		for name, classes := range map[string][]estimator.Class{"alike": {{Pods: alike}}, "single": single} {
			b.Run(fmt.Sprintf("%s-%d", name, pods), func(b *testing.B) {
				scheduler, snapshot := simtest.Scheduler(b), simtest.Snapshot(b, nil, nil)
				shapes := []simulator.NodeTemplate{shape(simtest.Node("t").CPU("10").Memory("10k"))}
				b.ReportAllocs()
				for b.Loop() {
					result, err := estimator.Estimate(b.Context(), estimator.In{Snapshot: snapshot, Scheduler: scheduler, Classes: classes, Shapes: shapes})
					if err != nil || len(result.New) != pods/50 {
						b.Fatalf("got %d nodes, %v; want %d", len(result.New), err, pods/50)
					}
				}
			})
		}
	}
}
