package observation

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/simulator"
)

const (
	// checkEvery is how many iterations pass from one check of the snapshot to the next, checkParts in how many parts the nodes are checked: at
	// one iteration in ten seconds each node is looked at every 83 minutes, and a check costs as much as a few hundred nodes and their pods.
	checkEvery = 50
	checkParts = 10
)

// checks is where the checks of the snapshot have got to.
type checks struct {
	iterations, done int
	// suspicion is what the iteration before has found to differ; empty: nothing.
	suspicion string
}

// check compares, every now and then, a part of the snapshot with the stores, and builds it anew if it differs.
//
// What an informer has stored a moment ago may not have been told yet. A difference therefore counts only if the next iteration finds the
// same one.
func (f *follower) check(ctx context.Context) error {
	c := &f.checks
	c.iterations++
	if c.iterations%checkEvery != 0 && c.suspicion == "" {
		return nil
	}
	part := uint32(c.done % checkParts)
	sampled := func(node string) bool { return partOf(node) == part }
	difference := f.verify(sampled)
	switch {
	case difference == nil:
		c.suspicion = ""
		c.done++
		return nil
	case !f.pods.isSilent() && difference.Error() != c.suspicion:
		c.suspicion = difference.Error()
		return nil
	}
	c.suspicion = ""
	c.done++
	klog.FromContext(ctx).Error(difference, "Building the snapshot anew, for it differs from what was read")
	if f.rebuilt != nil {
		f.rebuilt()
	}
	if err := f.startAnew(); err != nil {
		return err
	}
	return f.catchUp(f.gpuLabel)
}

// partOf is the part of the nodes to which the node belongs, whichever others there are.
func partOf(node string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(node)) // never fails
	return hash.Sum32() % checkParts
}

// verify compares the nodes that are sampled with what is in the stores.
func (f *follower) verify(sampled func(string) bool) error {
	var cluster simulator.Cluster
	for _, stored := range f.nodes.store.List() {
		node, ok := stored.(*corev1.Node)
		if !ok || !sampled(node.Name) {
			continue
		}
		cluster.Nodes = append(cluster.Nodes, f.shownOf(node))
		on, err := f.pods.store.ByIndex(podsByNode, node.Name)
		if err != nil {
			return fmt.Errorf("looking up the pods of node %s: %w", node.Name, err)
		}
		for _, stored := range on {
			if pod, ok := stored.(*corev1.Pod); ok && f.sort(pod).takesRoom() {
				cluster.Pods = append(cluster.Pods, pod)
			}
		}
		if csi, exists, err := f.csiNodes.store.GetByKey(node.Name); f.csiNodes.isReadable() && err == nil && exists {
			cluster.CSINodes = appendTyped(cluster.CSINodes, csi)
		}
	}
	return f.snapshot.Verify(cluster, sampled)
}

// shownOf is the node as the snapshot should have it: the very object, unless the node has changed since.
func (f *follower) shownOf(node *corev1.Node) *corev1.Node {
	if f.nodes.known[cache.ObjectName{Name: node.Name}] == node {
		if at, found := slices.BinarySearchFunc(f.shown.all, node, byName[*corev1.Node]); found {
			return f.shown.all[at]
		}
	}
	return f.show(node)
}

func appendTyped[T any](to []T, stored any) []T {
	if typed, ok := stored.(T); ok {
		return append(to, typed)
	}
	return to
}
