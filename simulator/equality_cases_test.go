package simulator_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/simtest/randomcluster"
)

// What was once answered differently, as small as it can be. Each pod is asked about on each node.
func TestTheFastPathAnswersAsTheFrameworkWhereItOnceDidNot(t *testing.T) {
	t.Parallel()
	node, pod := simtest.Node("n"), simtest.Pod("p")
	for name, c := range map[string]struct {
		nodes []simtest.NodeBuilder
		there []simtest.PodBuilder
		asked []simtest.PodBuilder
	}{
		"a pod with a claim that the scheduler made for an extended resource, after its like without one": {
			nodes: []simtest.NodeBuilder{node},
			asked: []simtest.PodBuilder{pod, simtest.Pod("q").With(func(p *corev1.Pod) {
				p.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "made"}
			})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var world randomcluster.World
			for _, n := range c.nodes {
				world.Cluster.Nodes = append(world.Cluster.Nodes, n.Build())
			}
			for _, p := range c.there {
				world.Cluster.Pods = append(world.Cluster.Pods, p.Build())
			}
			for _, p := range c.asked {
				world.Pending = append(world.Pending, p.Build())
			}
			contest := contestIn(t, world, randomcluster.New(randomcluster.FromBytes(nil)), &coverage{rejected: map[string]int{}})
			contest.compareAll(t)
			must(t, second(contest.snapshot.Sync(simulator.Cluster{Nodes: world.Cluster.Nodes, Pods: world.Cluster.Pods})))
			contest.compareAll(t)
		})
	}
}
