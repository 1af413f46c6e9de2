package simulator_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// bigCluster has that many nodes of 4 CPUs in three zones with that many pods of 100m each.
func bigCluster(nodeCount, podsPerNode int) simulator.Cluster {
	var cluster simulator.Cluster
	node, pod := simtest.Node("node"), simtest.Pod("pod").OwnedBy("ReplicaSet", "rs").Label("app", "filler").Requests("100m", "100Mi")
	for i := range nodeCount {
		name := fmt.Sprintf("node-%05d", i)
		cluster.Nodes = append(cluster.Nodes, node.Zone(fmt.Sprint("z", i%3)).Label(corev1.LabelHostname, name).
			With(func(n *corev1.Node) { n.Name = name }).Build())
		for j := range podsPerNode {
			p := pod.On(name).Build()
			p.Name = fmt.Sprintf("pod-%05d-%03d", i, j)
			p.UID = types.UID(p.Name)
			cluster.Pods = append(cluster.Pods, p)
		}
	}
	return cluster
}
