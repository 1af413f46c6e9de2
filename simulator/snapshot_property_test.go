package simulator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// choices makes random decisions from bytes, so that a fuzzer can vary them; once they are used up it always takes the first choice.
type choices struct{ bytes []byte }

func (c *choices) left() bool { return len(c.bytes) > 0 }

func (c *choices) of(n int) int {
	if len(c.bytes) == 0 {
		return 0
	}
	chosen := int(c.bytes[0]) % n
	c.bytes = c.bytes[1:]
	return chosen
}

// reference is a snapshot as simple as can be: lists, copied at every fork.
type reference struct {
	nodes []referenceNode // in canonical order
	lies  []lying         // in the order of placement
}

type referenceNode struct {
	object   *corev1.Node
	csi      *storagev1.CSINode
	injected bool
}

type lying struct {
	pod  *corev1.Pod
	node string
}

func (r reference) clone() reference {
	return reference{nodes: slices.Clone(r.nodes), lies: slices.Clone(r.lies)}
}

func (r reference) find(name string) int {
	return slices.IndexFunc(r.nodes, func(n referenceNode) bool { return n.object.Name == name })
}

func (r reference) holds(pod *corev1.Pod, node string) int {
	return slices.IndexFunc(r.lies, func(l lying) bool { return podfacts.Key(l.pod) == podfacts.Key(pod) && l.node == node })
}

func (r *reference) dropPods(node string) {
	r.lies = slices.DeleteFunc(r.lies, func(l lying) bool { return l.node == node })
}

// build makes a snapshot from scratch.
func (r reference) build(t *testing.T) *simulator.Snapshot {
	t.Helper()
	snapshot := simulator.NewSnapshot()
	var cluster simulator.Cluster
	for _, n := range r.nodes {
		if n.injected {
			continue
		}
		cluster.Nodes = append(cluster.Nodes, n.object)
		if n.csi != nil {
			cluster.CSINodes = append(cluster.CSINodes, n.csi)
		}
	}
	must(t, second(snapshot.Sync(cluster)))
	for _, n := range r.nodes {
		if n.injected {
			must(t, snapshot.AddNode(simulator.NodeTemplate{Node: n.object, CSINode: n.csi}))
		}
	}
	for _, l := range r.lies {
		must(t, snapshot.AddPod(l.pod, l.node))
	}
	return snapshot
}

func second[T any](_ T, err error) error { return err }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// trial drives a snapshot and a reference through the same changes.
type trial struct {
	choices  *choices
	snapshot *simulator.Snapshot
	now      reference
	saved    []reference
	cluster  simulator.Cluster // the real one, which changes under way and is synced from time to time
	count    int
	history  []string
}

func (tr *trial) note(format string, args ...any) {
	tr.history = append(tr.history, fmt.Sprintf(format, args...))
}

// expect fails unless the snapshot did exactly what was to be expected.
func (tr *trial) expect(t *testing.T, err error, ok bool) {
	t.Helper()
	if (err == nil) != ok {
		t.Fatalf("error = %v, expected to succeed: %t\n%s", err, ok, strings.Join(tr.history, "\n"))
	}
}

func (tr *trial) step(t *testing.T) {
	t.Helper()
	switch tr.choices.of(16) {
	case 0, 14, 15:
		tr.sync(t)
	case 1, 2:
		tr.changeCluster()
	case 3:
		tr.addNode(t)
	case 4:
		tr.removeNode(t)
	case 5:
		tr.replaceNode(t)
	case 6, 7, 8:
		tr.addPod(t)
	case 9, 10:
		tr.removePod(t)
	case 11:
		tr.note("fork")
		tr.snapshot.Fork()
		tr.saved = append(tr.saved, tr.now.clone())
	case 12:
		tr.note("revert")
		tr.expect(t, tr.snapshot.Revert(), len(tr.saved) > 0)
		if last := len(tr.saved) - 1; last >= 0 {
			tr.now, tr.saved = tr.saved[last], tr.saved[:last]
		}
	case 13:
		tr.note("commit")
		tr.expect(t, tr.snapshot.Commit(), len(tr.saved) > 0)
		if last := len(tr.saved) - 1; last >= 0 {
			tr.saved = tr.saved[:last]
		}
	}
}

func (tr *trial) sync(t *testing.T) {
	t.Helper()
	tr.note("sync")
	strays, err := tr.snapshot.Sync(tr.cluster)
	tr.expect(t, err, len(tr.saved) == 0)
	if err != nil {
		return
	}
	tr.now = reference{}
	for _, object := range tr.cluster.Nodes {
		n := referenceNode{object: object}
		if i := slices.IndexFunc(tr.cluster.CSINodes, func(c *storagev1.CSINode) bool { return c.Name == object.Name }); i >= 0 {
			n.csi = tr.cluster.CSINodes[i]
		}
		tr.now.nodes = append(tr.now.nodes, n)
	}
	slices.SortFunc(tr.now.nodes, func(a, b referenceNode) int { return strings.Compare(a.object.Name, b.object.Name) })
	var wantStrays []*corev1.Pod
	for _, pod := range tr.cluster.Pods {
		name := pod.Spec.NodeName
		if name == "" {
			name = pod.Status.NominatedNodeName
		}
		if tr.now.find(name) < 0 {
			wantStrays = append(wantStrays, pod)
			continue
		}
		tr.now.lies = append(tr.now.lies, lying{pod: pod, node: name})
	}
	if diff := cmp.Diff(wantStrays, strays); diff != "" {
		t.Fatalf("strays (-want +got):\n%s\n%s", diff, strings.Join(tr.history, "\n"))
	}
}

func (tr *trial) changeCluster() {
	tr.count++
	cluster := simulator.Cluster{
		Nodes: slices.Clone(tr.cluster.Nodes), Pods: slices.Clone(tr.cluster.Pods), CSINodes: slices.Clone(tr.cluster.CSINodes),
	}
	switch tr.choices.of(10) {
	case 0, 1:
		name := tr.nodeName()
		cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(n *corev1.Node) bool { return n.Name == name })
		cluster.Nodes = append(cluster.Nodes, tr.randomNode(name))
	case 2:
		name := tr.nodeName()
		cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(n *corev1.Node) bool { return n.Name == name })
	case 3, 4:
		pod := tr.randomPod()
		cluster.Pods = slices.DeleteFunc(cluster.Pods, func(p *corev1.Pod) bool { return podfacts.Key(p) == podfacts.Key(pod) })
		if tr.choices.of(4) == 0 {
			pod.Status.NominatedNodeName = tr.nodeName()
		} else {
			pod.Spec.NodeName = tr.nodeName()
		}
		cluster.Pods = append(cluster.Pods, pod)
	case 8, 9: // an update of a pod where it runs
		if count := len(cluster.Pods); count > 0 {
			i := tr.choices.of(count)
			updated := tr.randomPod()
			old := cluster.Pods[i]
			updated.Name, updated.UID, updated.Spec.NodeName, updated.Status.NominatedNodeName = old.Name, old.UID, old.Spec.NodeName, old.Status.NominatedNodeName
			cluster.Pods[i] = updated
		}
	case 5, 6, 7:
		name := tr.nodeName()
		cluster.CSINodes = slices.DeleteFunc(cluster.CSINodes, func(c *storagev1.CSINode) bool { return c.Name == name })
		if tr.choices.of(2) == 0 {
			cluster.CSINodes = append(cluster.CSINodes, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	tr.cluster = cluster
}

func (tr *trial) addNode(t *testing.T) {
	t.Helper()
	tr.count++
	template := simulator.NodeTemplate{Node: tr.randomNode(tr.nodeName())}
	name := template.Node.Name
	if tr.choices.of(2) == 0 {
		template.CSINode = &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	twice := false
	for range tr.choices.of(4) {
		pod := tr.randomPod()
		twice = twice || slices.ContainsFunc(template.Pods, func(p *corev1.Pod) bool { return podfacts.Key(p) == podfacts.Key(pod) })
		template.Pods = append(template.Pods, pod)
	}
	tr.note("add node %s with %d pods", name, len(template.Pods))
	free := tr.now.find(name) < 0
	tr.expect(t, tr.snapshot.AddNode(template), free && !twice)
	if free && !twice {
		tr.now.nodes = append(tr.now.nodes, referenceNode{object: template.Node, csi: template.CSINode, injected: true})
		for _, pod := range template.Pods {
			tr.now.lies = append(tr.now.lies, lying{pod: pod, node: name})
		}
	}
}

func (tr *trial) removeNode(t *testing.T) {
	t.Helper()
	name := tr.nodeName()
	tr.note("remove node %s", name)
	i := tr.now.find(name)
	tr.expect(t, tr.snapshot.RemoveNode(name), i >= 0)
	if i >= 0 {
		tr.now.nodes = slices.Delete(tr.now.nodes, i, i+1)
		tr.now.dropPods(name)
	}
}

func (tr *trial) replaceNode(t *testing.T) {
	t.Helper()
	tr.count++
	name := tr.nodeName()
	tr.note("replace node %s", name)
	ghost := tr.randomNode(name)
	i := tr.now.find(name)
	tr.expect(t, tr.snapshot.ReplaceNode(ghost), i >= 0)
	if i >= 0 {
		tr.now.nodes[i].object = ghost
		tr.now.dropPods(name)
	}
}

func (tr *trial) addPod(t *testing.T) {
	t.Helper()
	tr.count++
	pod, name := tr.randomPod(), tr.nodeName()
	tr.note("add pod %s to %s", pod.Name, name)
	ok := tr.now.find(name) >= 0 && tr.now.holds(pod, name) < 0
	tr.expect(t, tr.snapshot.AddPod(pod, name), ok)
	if ok {
		tr.now.lies = append(tr.now.lies, lying{pod: pod, node: name})
	}
}

func (tr *trial) removePod(t *testing.T) {
	t.Helper()
	pod, name := tr.randomPod(), tr.nodeName()
	if count := len(tr.now.lies); count > 0 && tr.choices.of(4) > 0 {
		l := tr.now.lies[tr.choices.of(count)]
		pod, name = l.pod, l.node
	}
	tr.note("remove pod %s from %s", pod.Name, name)
	i := tr.now.holds(pod, name)
	ok := tr.now.find(name) >= 0 && i >= 0
	tr.expect(t, tr.snapshot.RemovePod(pod, name), ok)
	if ok {
		tr.now.lies = slices.Delete(tr.now.lies, i, i+1)
	}
}

// nodeName is one of a few, so that names meet again.
func (tr *trial) nodeName() string { return fmt.Sprintf("n%d", tr.choices.of(6)) }

func (tr *trial) randomNode(name string) *corev1.Node {
	node := simtest.Node(name).CPU("2").Zone(fmt.Sprintf("z%d", tr.choices.of(2))).Label("made", fmt.Sprint(tr.count))
	switch tr.choices.of(6) {
	case 0:
		node = node.Taint("t", "", corev1.TaintEffectNoSchedule)
	case 1:
		node = node.Cordoned()
	case 2:
		node = node.MaxPods("2")
	}
	return node.Build()
}

func (tr *trial) randomPod() *corev1.Pod {
	app := fmt.Sprintf("a%d", tr.choices.of(3))
	pod := simtest.Pod(fmt.Sprintf("p%d", tr.choices.of(8))).Label("app", app).Requests(fmt.Sprintf("%d00m", 1+tr.choices.of(4)), "100Mi")
	switch tr.choices.of(12) {
	case 0:
		pod = pod.HostPort(8080)
	case 1:
		pod = pod.HostPort(8080).HostPort(8081)
	case 2:
		pod = pod.AntiAffinity(corev1.LabelHostname, "app", app)
	case 3:
		pod = pod.AntiAffinity(corev1.LabelTopologyZone, "app", app)
	case 4:
		pod = pod.Affinity(corev1.LabelTopologyZone, "app", app)
	case 5:
		pod = pod.Spread(corev1.LabelHostname, 1, "app", app)
	case 6:
		pod = pod.Claim("c").Claim("d")
	case 7:
		pod = pod.Request("example.com/device", "1")
	case 8:
		pod = pod.Tolerates("")
	}
	if tr.choices.of(4) == 0 { // from a file, not from an API server
		pod = pod.With(func(p *corev1.Pod) { p.UID = "" })
	}
	return pod.Build()
}

// check compares the snapshot with one built from scratch.
func (tr *trial) check(t *testing.T) *simulator.Snapshot {
	t.Helper()
	rebuilt := tr.now.build(t)
	ignore := cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b *corev1.Pod) bool { return a == b }),
		cmp.Comparer(func(a, b *corev1.Node) bool { return a == b }),
		cmp.Comparer(func(a, b *storagev1.CSINode) bool { return a == b }),
	}
	if diff := cmp.Diff(simulator.ContentsOf(rebuilt), simulator.ContentsOf(tr.snapshot), ignore); diff != "" {
		t.Fatalf("contents (-built from scratch +changed step by step):\n%s\n%s", diff, strings.Join(tr.history, "\n"))
	}
	if want, got := len(tr.saved), tr.snapshot.Depth(); want != got {
		t.Fatalf("%d forks are open, want %d", got, want)
	}
	for _, l := range tr.now.lies {
		last := ""
		for _, other := range tr.now.lies {
			if podfacts.Key(other.pod) == podfacts.Key(l.pod) {
				last = other.node
			}
		}
		if got, ok := tr.snapshot.NodeOfPod(l.pod); !ok || got != last {
			t.Fatalf("pod %s lies on %q, want %q\n%s", l.pod.Name, got, last, strings.Join(tr.history, "\n"))
		}
	}
	return rebuilt
}

// ask compares the scheduler's answers on the two snapshots.
func (tr *trial) ask(t *testing.T, scheduler *simulator.Scheduler, rebuilt *simulator.Snapshot) {
	t.Helper()
	pod := tr.randomPod()
	pod.Name, pod.UID = "asked", "asked"
	for _, node := range rebuilt.Nodes() {
		want, err := scheduler.Check(t.Context(), rebuilt, pod, node.Name)
		must(t, err)
		got, err := scheduler.Check(t.Context(), tr.snapshot, pod, node.Name)
		must(t, err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("answer for node %s (-built from scratch +changed step by step):\n%s\n%s", node.Name, diff, strings.Join(tr.history, "\n"))
		}
	}
	search := simulator.Search{StartAfter: tr.choices.of(8) - 1}
	wantPlace, wantRejections, err := scheduler.PlaceAnywhere(t.Context(), rebuilt, pod, search)
	must(t, err)
	tr.snapshot.Fork()
	gotPlace, gotRejections, err := scheduler.PlaceAnywhere(t.Context(), tr.snapshot, pod, search)
	must(t, err)
	if diff := cmp.Diff([]any{wantPlace, wantRejections}, []any{gotPlace, gotRejections}); diff != "" {
		t.Fatalf("placement (-built from scratch +changed step by step):\n%s\n%s", diff, strings.Join(tr.history, "\n"))
	}
	must(t, tr.snapshot.Revert())
}

func runTrial(t *testing.T, scheduler *simulator.Scheduler, bytes []byte) {
	t.Helper()
	tr := &trial{choices: &choices{bytes: bytes}, snapshot: simulator.NewSnapshot()}
	for range 6 {
		tr.changeCluster()
	}
	tr.sync(t)
	for steps := 0; tr.choices.left(); steps++ {
		tr.step(t)
		rebuilt := tr.check(t)
		if steps%10 == 9 {
			tr.ask(t, scheduler, rebuilt)
			tr.check(t)
		}
	}
	for len(tr.saved) > 0 { // all the way back
		last := len(tr.saved) - 1
		must(t, tr.snapshot.Revert())
		tr.now, tr.saved = tr.saved[last], tr.saved[:last]
		tr.check(t)
	}
	if got := simulator.LogLength(tr.snapshot); got != 0 {
		t.Fatalf("without a fork %d changes are kept for undoing", got)
	}
}

func propertyScheduler(tb testing.TB) *simulator.Scheduler {
	tb.Helper()
	return simtest.Scheduler(tb, boundClaim("c", "pv-c"), boundClaim("d", "pv-d"), volume("pv-c"), volume("pv-d"))
}

func TestASnapshotEqualsOneBuiltFromScratchAfterAnyChanges(t *testing.T) {
	t.Parallel()
	scheduler := propertyScheduler(t)
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // repeatable on purpose
		bytes := make([]byte, 400)
		for i := range bytes {
			bytes[i] = byte(random.UintN(256))
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runTrial(t, scheduler, bytes) })
	}
}

func FuzzASnapshotEqualsOneBuiltFromScratch(f *testing.F) {
	scheduler := propertyScheduler(f)
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Add([]byte("\x0b\x06\x01\x02\x03\x04\x05\x0c\x03\x03\x03\x0d\x0b\x0b\x04\x00\x0c\x0c"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 2000 {
			t.Skip("long inputs find nothing that short ones don't")
		}
		runTrial(t, scheduler, bytes)
	})
}
