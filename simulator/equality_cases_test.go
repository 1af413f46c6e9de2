package simulator_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"a node without one of the labels that pods are spread over, which counts for none of them": {
			nodes: []simtest.NodeBuilder{node.Zone("a").Label("rack", "1"), simtest.Node("m").Zone("b")},
			there: []simtest.PodBuilder{simtest.Pod("r").Label("app", "a").On("n")},
			asked: []simtest.PodBuilder{pod.Label("app", "a").With(func(p *corev1.Pod) {
				for _, key := range []string{corev1.LabelTopologyZone, "rack"} {
					p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
						MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
						LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
					})
				}
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

func TestALabelCountsAsSoonAsAPodComesThatReadsIt(t *testing.T) {
	t.Parallel()
	scheduler, snapshot := simtest.Scheduler(t), simtest.Snapshot(t, nodes("n"), nil)
	asked := simtest.Pod("p").Label("tier", "web").Build()
	fits := func() bool {
		rejection, err := scheduler.Check(t.Context(), snapshot, asked, "n")
		must(t, err)
		return rejection == nil
	}
	if !fits() {
		t.Fatal("the pod does not fit on an empty node")
	}
	must(t, snapshot.AddPod(simtest.Pod("shy").AntiAffinity(corev1.LabelHostname, "tier", "web").Build(), "n"))
	if fits() {
		t.Error("the pod fits beside one that wants to be away from it")
	}
}
