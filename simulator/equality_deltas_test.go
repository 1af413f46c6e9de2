package simulator_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest/randomcluster"
)

// deltas is a contest on a snapshot that follows a cluster object by object. What it is compared with is made from the stores at once.
type deltas struct {
	*contest

	nodes map[string]*corev1.Node
	pods  map[string]*corev1.Pod // by key
	csi   map[string]*storagev1.CSINode
}

func newDeltas(t *testing.T, choices *randomcluster.Choices, counted *coverage) *deltas {
	t.Helper()
	d := &deltas{
		contest: newContest(t, choices, counted),
		nodes:   map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, csi: map[string]*storagev1.CSINode{},
	}
	for _, node := range d.world.Cluster.Nodes {
		d.nodes[node.Name] = node
	}
	for _, pod := range d.world.Cluster.Pods {
		d.pods[podfacts.Key(pod)] = pod
	}
	for _, csi := range d.world.Cluster.CSINodes {
		d.csi[csi.Name] = csi
	}
	if d.generator.Chance(50) { // from nothing, instead of on top of a cluster that was synced
		d.snapshot = simulator.NewSnapshot()
		d.relist(t)
	}
	return d
}

func sorted[T any](objects map[string]T) []T {
	var list []T
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, objects[name])
	}
	return list
}

// scratch is a snapshot that was made from the stores at once.
func (d *deltas) scratch(t *testing.T) *simulator.Snapshot {
	t.Helper()
	cluster := simulator.Cluster{Nodes: sorted(d.nodes), Pods: sorted(d.pods), CSINodes: sorted(d.csi)}
	d.now = clusterOf(cluster.Nodes, cluster.CSINodes, cluster.Pods)
	d.kube.look(d.now)
	snapshot := simulator.NewSnapshot()
	must(t, second(snapshot.Sync(cluster)))
	return snapshot
}

// podKey is that of a pod that exists, if one does.
func (d *deltas) podKey() string {
	keys := slices.Sorted(maps.Keys(d.pods))
	if len(keys) == 0 {
		return "nobody"
	}
	return keys[d.generator.Of(min(len(keys), 256))]
}

func (d *deltas) setPod(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	d.note("set pod %s (%s) on %q, nominated for %q", keyOf(pod), podfacts.Key(pod), pod.Spec.NodeName, pod.Status.NominatedNodeName)
	must(t, d.snapshot.SetPod(pod))
	d.pods[podfacts.Key(pod)] = pod
}

func (d *deltas) setNode(t *testing.T, node *corev1.Node) {
	t.Helper()
	d.note("set node %s (%s)", node.Name, node.UID)
	must(t, d.snapshot.SetNode(node))
	d.nodes[node.Name] = node
}

// delta is one change of the cluster.
func (d *deltas) delta(t *testing.T) {
	t.Helper()
	g := d.generator
	switch g.Of(14) {
	case 0, 1:
		d.setPod(t, g.Running(g.NodeName()))
	case 2:
		d.setPod(t, g.Pod())
	case 3, 4, 5:
		d.updatePod(t)
	case 6, 7:
		key := d.podKey()
		d.note("delete pod %s", key)
		must(t, d.snapshot.DeletePod(key))
		delete(d.pods, key)
	case 8:
		d.setNode(t, g.Node(g.NodeName()))
	case 9, 10:
		if node, ok := d.nodes[g.NodeName()]; ok {
			d.updateNode(t, node)
		}
	case 11:
		name := g.NodeName()
		d.note("delete node %s", name)
		must(t, d.snapshot.DeleteNode(name))
		delete(d.nodes, name)
	case 12:
		csi := g.CSINode(g.NodeName())
		d.note("set CSINode %s", csi.Name)
		must(t, d.snapshot.SetCSINode(csi))
		d.csi[csi.Name] = csi
	case 13:
		name := g.NodeName()
		d.note("delete CSINode %s", name)
		must(t, d.snapshot.DeleteCSINode(name))
		delete(d.csi, name)
	}
}

// updatePod sets a newer object of a pod: it differs in something, or was bound, nominated or freed, or is the same as before.
func (d *deltas) updatePod(t *testing.T) {
	t.Helper()
	old, ok := d.pods[d.podKey()]
	if !ok {
		return
	}
	g := d.generator
	updated := old.DeepCopy()
	switch g.Of(5) {
	case 0:
		updated = g.Changed(old)
	case 1:
		updated.Spec.NodeName, updated.Status.NominatedNodeName = g.NodeName(), ""
	case 2:
		updated.Spec.NodeName, updated.Status.NominatedNodeName = "", g.NodeName()
	case 3:
		updated.Spec.NodeName, updated.Status.NominatedNodeName = "", ""
	}
	d.setPod(t, updated)
}

// updateNode sets a newer object of a node.
func (d *deltas) updateNode(t *testing.T, old *corev1.Node) {
	t.Helper()
	g := d.generator
	updated := old.DeepCopy()
	switch fresh := g.Node(old.Name); g.Of(7) {
	case 0:
		updated.Spec.Unschedulable = !updated.Spec.Unschedulable
	case 1:
		updated.Spec.Taints = fresh.Spec.Taints
	case 2:
		updated.Labels = fresh.Labels
	case 3:
		updated.Status = fresh.Status
	case 4:
		updated.Status.DeclaredFeatures = fresh.Status.DeclaredFeatures
	case 5:
		updated.UID = fresh.UID // another machine of the same name and kind
	}
	d.setNode(t, updated)
}

// relist sets everything again, as new objects, kind by kind in any order, and deletes what nobody has.
func (d *deltas) relist(t *testing.T) {
	t.Helper()
	d.note("relist:")
	nodes := func() {
		for _, node := range sorted(d.nodes) {
			d.setNode(t, node.DeepCopy())
		}
		must(t, d.snapshot.DeleteNode("nobody"))
	}
	pods := func() {
		for _, pod := range sorted(d.pods) {
			d.setPod(t, pod.DeepCopy())
		}
		must(t, d.snapshot.DeletePod("nobody"))
	}
	csiNodes := func() {
		for _, csi := range sorted(d.csi) {
			d.csi[csi.Name] = csi.DeepCopy()
			must(t, d.snapshot.SetCSINode(d.csi[csi.Name]))
		}
		must(t, d.snapshot.DeleteCSINode("nobody"))
	}
	kinds := []func(){nodes, pods, csiNodes}
	for len(kinds) > 0 {
		i := d.generator.Of(len(kinds))
		kinds[i]()
		kinds = slices.Delete(kinds, i, i+1)
	}
}

// forked tries things on forks, and takes all of them back. Meanwhile no delta is taken.
func (d *deltas) forked(t *testing.T) {
	t.Helper()
	d.note("fork and try")
	before := d.now.clone()
	d.snapshot.Fork()
	for range 1 + d.generator.Of(6) {
		depth := d.snapshot.Depth()
		if d.step(t); d.snapshot.Depth() == 0 {
			t.Fatalf("the outermost of %d forks was closed", depth)
		}
	}
	clear(d.disabled)
	d.refused(t)
	d.compare(t, randomcluster.Pick(d.generator.Choices, d.world.Pending...), d.rebuild(t))
	d.note("take it back")
	for d.snapshot.Depth() > 0 {
		must(t, d.snapshot.Revert())
	}
	d.now, d.saved = before, nil
}

// refused checks that a cluster can't change under what is being tried.
func (d *deltas) refused(t *testing.T) {
	t.Helper()
	node, pod, csi := d.generator.Node("n0"), d.generator.Running("n0"), d.generator.CSINode("n0")
	for name, err := range map[string]error{
		"SetNode": d.snapshot.SetNode(node), "DeleteNode": d.snapshot.DeleteNode("n0"), "SetPod": d.snapshot.SetPod(pod),
		"DeletePod": d.snapshot.DeletePod(d.podKey()), "SetCSINode": d.snapshot.SetCSINode(csi), "DeleteCSINode": d.snapshot.DeleteCSINode("n0"),
		"Sync": second(d.snapshot.Sync(simulator.Cluster{})),
	} {
		if err == nil || !strings.Contains(err.Error(), "open") {
			t.Fatalf("%s in a fork: error = %v, want one about the open fork", name, err)
		}
	}
}

// equals compares all that can be asked of the two snapshots.
func (d *deltas) equals(t *testing.T, scratch *simulator.Snapshot) {
	t.Helper()
	same := func(what string, want, got any) {
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-built from scratch +changed step by step):\n%s\nafter\n%s", what, diff, d.story())
		}
	}
	if want, got := scratch.Nodes(), d.snapshot.Nodes(); !slices.Equal(want, got) || d.snapshot.Len() != len(got) {
		same("nodes", want, got)
		t.Fatalf("nodes are equal, but other objects\nafter\n%s", d.story())
	}
	for _, node := range scratch.Nodes() {
		name := node.Name
		if got, ok := d.snapshot.Node(name); !ok || got != node {
			t.Fatalf("node %s is not to be found\nafter\n%s", name, d.story())
		}
		if want, got := scratch.Pods(name), d.snapshot.Pods(name); !slices.Equal(want, got) {
			same("pods on "+name, want, got)
			t.Fatalf("pods on %s are equal, but other objects\nafter\n%s", name, d.story())
		}
		same("requested of "+name, scratch.Requested(name), d.snapshot.Requested(name))
		same("free on "+name, scratch.Free(name), d.snapshot.Free(name))
		if scratch.CSINode(name) != d.snapshot.CSINode(name) {
			t.Fatalf("the CSINode of %s is another one\nafter\n%s", name, d.story())
		}
	}
	for _, pod := range d.pods {
		want, wantOK := scratch.NodeOfPod(pod)
		got, ok := d.snapshot.NodeOfPod(pod)
		same("node of pod "+keyOf(pod), fmt.Sprint(want, wantOK), fmt.Sprint(got, ok))
	}
}

// run changes the cluster, tries things and asks, and compares what there is with what was built from scratch.
func (d *deltas) run(t *testing.T, rounds int) {
	t.Helper()
	probes := append(slices.Clone(d.world.Pending), d.generator.Pod(), d.generator.Pod())
	for i := 0; i < rounds && d.generator.Left(); i++ {
		d.note("round %d", i)
		d.expect(probes, i)
		switch d.generator.Of(8) {
		case 5:
			d.scratch(t)
			d.forked(t)
		case 6:
			d.relist(t)
		case 0:
			for range 1 + d.generator.Of(6) {
				d.note("advance")
				d.snapshot.Advance()
			}
		case 7:
			d.note("sync")
			must(t, second(d.snapshot.Sync(simulator.Cluster{Nodes: sorted(d.nodes), Pods: sorted(d.pods), CSINodes: sorted(d.csi)})))
			d.forgetStrays()
		default:
			for range 1 + d.generator.Of(5) {
				d.delta(t)
			}
		}
		scratch := d.scratch(t)
		d.equals(t, scratch)
		d.compare(t, randomcluster.Pick(d.generator.Choices, probes...), scratch)
	}
	scratch := d.scratch(t)
	for _, pod := range probes {
		d.compare(t, pod, scratch)
	}
}

// expect has the snapshot expect half of the probes, in every other round the other half.
func (d *deltas) expect(probes []*corev1.Pod, round int) {
	for i, pod := range probes {
		if (i+round)%2 == 0 {
			d.snapshot.Expect(pod)
		} else {
			d.snapshot.Dismiss(pod)
		}
	}
}

// forgetStrays drops what a Sync does not keep: pods and CSINodes without a node.
func (d *deltas) forgetStrays() {
	maps.DeleteFunc(d.pods, func(_ string, pod *corev1.Pod) bool {
		name := pod.Spec.NodeName
		if name == "" {
			name = pod.Status.NominatedNodeName
		}
		return d.nodes[name] == nil
	})
	maps.DeleteFunc(d.csi, func(name string, _ *storagev1.CSINode) bool { return d.nodes[name] == nil })
}

func TestASnapshotThatFollowsAClusterEqualsOneBuiltFromScratch(t *testing.T) {
	t.Parallel()
	counted := &coverage{rejected: map[string]int{}}
	for seed := range uint64(90) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			newDeltas(t, randomcluster.FromSeed(1000+seed), counted).run(t, 16)
		})
		if t.Failed() {
			return // others would only say the same again
		}
	}
	counted.table(t)
}

func FuzzDeltas(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 4000 {
			t.Skip("long inputs find nothing that short ones don't")
		}
		newDeltas(t, randomcluster.FromBytes(bytes), &coverage{rejected: map[string]int{}}).run(t, 40)
	})
}
