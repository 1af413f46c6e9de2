package simulator_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func every(string) bool { return true }

func TestASnapshotThatDiffersFromTheClusterIsToldByTheFirstDifference(t *testing.T) {
	t.Parallel()
	on := func(name, node string) *corev1.Pod { return simtest.Pod(name).Requests("1", "1Gi").On(node).Build() }
	a, b := simtest.Node("a").Build(), simtest.Node("b").Build()
	p, q, csi := on("p", "a"), on("q", "b"), attachLimit("a", 3)
	cluster := simulator.Cluster{Nodes: []*corev1.Node{a, b}, Pods: []*corev1.Pod{p, q}, CSINodes: []*storagev1.CSINode{csi}}
	for name, c := range map[string]struct {
		change  func(*simulator.Cluster)
		sampled func(string) bool
		want    string // empty: no difference
	}{
		"nothing": {change: func(*simulator.Cluster) {}},
		"equal objects": {change: func(c *simulator.Cluster) {
			c.Nodes, c.Pods = []*corev1.Node{a.DeepCopy(), b}, []*corev1.Pod{p.DeepCopy(), q}
		}},
		"a node that has gone":       {change: func(c *simulator.Cluster) { c.Nodes, c.Pods = c.Nodes[:1], c.Pods[:1] }, want: "node b is in the snapshot only"},
		"a node that nobody sampled": {change: func(c *simulator.Cluster) { c.Nodes = c.Nodes[:1] }, sampled: func(n string) bool { return n == "a" }},
		"a node that has come":       {change: func(c *simulator.Cluster) { c.Nodes = append(c.Nodes, simtest.Node("c").Build()) }, want: "node c is missing"},
		"a node with another taint": {change: func(c *simulator.Cluster) {
			c.Nodes = []*corev1.Node{a, simtest.Node("b").Taint("k", "v", corev1.TaintEffectNoSchedule).Build()}
		}, want: "node b: the snapshot has another version"},
		"a pod that has gone": {change: func(c *simulator.Cluster) { c.Pods = c.Pods[:1] }, want: "node b: pod default/q is in the snapshot only"},
		"a pod that has come": {change: func(c *simulator.Cluster) { c.Pods = append(c.Pods, on("r", "a")) }, want: "node a: 1 pods are missing"},
		"a pod that has grown": {change: func(c *simulator.Cluster) {
			c.Pods = []*corev1.Pod{p, simtest.Pod("q").Requests("2", "1Gi").On("b").Build()}
		}, want: "another version of pod default/q"},
		"no volume limits":    {change: func(c *simulator.Cluster) { c.CSINodes = nil }, want: "node a has other volume limits"},
		"other volume limits": {change: func(c *simulator.Cluster) { c.CSINodes = []*storagev1.CSINode{attachLimit("a", 4)} }, want: "node a has other volume limits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot := simulator.NewSnapshot()
			must(t, second(snapshot.Sync(cluster)))
			must(t, snapshot.AddNode(simulator.NodeTemplate{Node: simtest.Node("injected").Build()}))
			must(t, snapshot.AddPod(on("trial", ""), "a"))
			changed := cluster
			c.change(&changed)
			sampled := c.sampled
			if sampled == nil {
				sampled = every
			}
			err := snapshot.Verify(changed, sampled)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the difference is %v, want %q", err, c.want)
			}
		})
	}
}
