package scaledown_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// start is the time of the first plan of a test.
var start = simtest.Epoch.Add(24 * time.Hour)

// world is a cluster that a test changes between plans. Every node is of group "g" unless groupOf says otherwise; the empty group means none.
type world struct {
	nodes     []simtest.NodeBuilder
	pods      []simtest.PodBuilder
	groupOf   map[string]cloudprovider.GroupID
	min       map[cloudprovider.GroupID]int
	target    map[cloudprovider.GroupID]int // default: the number of the group's nodes
	options   map[cloudprovider.GroupID]func(*observation.GroupOptions)
	pdbs      []*policyv1.PodDisruptionBudget
	deletions []observation.Deletion
	limits    map[string]int64
	missing   []string // nodes that the snapshot lacks
	upcoming  []simtest.NodeBuilder
	pending   map[string]string // pods of the list that wait, by the node where the earlier steps placed them
	state     func(*clusterstate.State)
	seen      func(*observation.Observation)
	young     bool
	budget    *budget
}

// budget lets so many nodes be simulated; nil: all.
type budget struct{ left int }

func (b *budget) Spent() bool {
	if b == nil {
		return false
	}
	b.left--
	return b.left < 0
}

// defaults are the flags' defaults.
func defaults() scaledown.Options {
	return scaledown.Options{
		ScaleDown: config.ScaleDown{
			Enabled: true, UnreadyEnabled: true, DelayAfterAdd: 10 * time.Minute, DelayAfterFailure: 3 * time.Minute,
			SimulationTimeout: 30 * time.Second, UnremovableRecheckTimeout: 5 * time.Minute, MaxParallelism: 10, MaxDrainParallelism: 1,
			SkipNodesWithSystemPods: true, SystemPodDisruptionTimeout: time.Hour, SkipNodesWithLocalStorage: true, SkipCustomControllerPods: true,
		},
		SoftTaints:   config.SoftTaints{MaxBulkCount: 10, MaxBulkTime: 3 * time.Second},
		UnneededTime: 10 * time.Minute,
	}
}

func groupDefaults() observation.GroupOptions {
	return observation.GroupOptions{
		ScaleDownUtilizationThreshold: 0.5, ScaleDownGPUUtilizationThreshold: 0.5,
		ScaleDownUnneededTime: 10 * time.Minute, ScaleDownUnreadyTime: 20 * time.Minute,
		MaxNodeProvisionTime: 15 * time.Minute, MaxNodeStartupTime: 15 * time.Minute,
	}
}

// noWait lets nodes go in the plan in which they are found; anything lets also full nodes be candidates.
func noWait(o *observation.GroupOptions) { o.ScaleDownUnneededTime, o.ScaleDownUnreadyTime = 0, 0 }

func anything(o *observation.GroupOptions) { o.ScaleDownUtilizationThreshold = 1 }

func both(o *observation.GroupOptions) { noWait(o); anything(o) }

func atomic(o *observation.GroupOptions) { both(o); o.ZeroOrMaxNodeScaling = true }

func (w world) group(name string) cloudprovider.GroupID {
	if id, ok := w.groupOf[name]; ok {
		return id
	}
	return "g"
}

// in is what a plan at the time sees.
func (w world) in(t testing.TB, at time.Time) scaledown.In {
	t.Helper()
	seen := observation.Observation{
		At: at, Workloads: w, PodDisruptionBudgets: w.pdbs, Deletions: w.deletions, Members: map[string]cloudprovider.GroupID{},
		Gone: map[string]bool{}, Limits: cloudprovider.ResourceLimits{Min: w.limits},
	}
	var order []cloudprovider.GroupID
	instances := map[cloudprovider.GroupID][]cloudprovider.Instance{}
	var snapshotted []*corev1.Node
	for _, builder := range w.nodes {
		node := builder.Build()
		seen.Nodes = append(seen.Nodes, node)
		if !contains(w.missing, node.Name) {
			snapshotted = append(snapshotted, node)
		}
		id := w.group(node.Name)
		if id == "" {
			continue
		}
		seen.Members[node.Name] = id
		if instances[id] == nil {
			order = append(order, id)
		}
		instances[id] = append(instances[id], cloudprovider.Instance{ID: node.Spec.ProviderID, State: cloudprovider.InstanceRunning})
	}
	state := clusterstate.State{At: at, LastScaleUp: start.Add(-time.Hour), LastDeletion: start.Add(-time.Hour), LastFailure: start.Add(-time.Hour)}
	for _, id := range order {
		g := observation.Group{ID: id, Options: groupDefaults()}
		g.Min, g.Max, g.Target, g.Instances = w.min[id], 1000, len(instances[id]), instances[id]
		if target, ok := w.target[id]; ok {
			g.Target = target
		}
		if change := w.options[id]; change != nil {
			change(&g.Options)
		}
		seen.Groups = append(seen.Groups, g)
		state.Groups = append(state.Groups, clusterstate.GroupState{
			GroupStatus: report.GroupStatus{Group: id, Min: g.Min, Max: g.Max, Target: g.Target},
		})
	}
	if w.state != nil {
		w.state(&state)
	}
	if w.seen != nil {
		w.seen(&seen)
	}
	return scaledown.In{Seen: seen, State: state, Snapshot: w.snapshot(t, snapshotted), Budget: w.budget, YoungPods: w.young}
}

func (w world) snapshot(t testing.TB, nodes []*corev1.Node) *simulator.Snapshot {
	t.Helper()
	var scheduled []*corev1.Pod
	var pending []*corev1.Pod
	for _, builder := range w.pods {
		pod := builder.Build()
		if w.pending[pod.Name] != "" {
			pending = append(pending, pod)
		} else if !contains(w.missing, pod.Spec.NodeName) {
			scheduled = append(scheduled, pod)
		}
	}
	snapshot := simtest.Snapshot(t, nodes, scheduled)
	for _, builder := range w.upcoming {
		must(t, snapshot.AddNode(simulator.NodeTemplate{Node: builder.Build()}))
	}
	for _, pod := range pending {
		must(t, snapshot.AddPod(pod, w.pending[pod.Name]))
	}
	return snapshot
}

func contains(all []string, one string) bool {
	return slices.Contains(all, one)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ReplicationController and its like find every controller but those whose name begins with "missing" or "broken".
func (w world) ReplicationController(_, name string) (*corev1.ReplicationController, bool, error) {
	ok, err := found(name)
	return &corev1.ReplicationController{}, ok, err
}

func (w world) ReplicaSet(_, name string) (*appsv1.ReplicaSet, bool, error) {
	ok, err := found(name)
	return &appsv1.ReplicaSet{}, ok, err
}

func (w world) StatefulSet(_, name string) (*appsv1.StatefulSet, bool, error) {
	ok, err := found(name)
	return &appsv1.StatefulSet{}, ok, err
}

func (w world) DaemonSet(_, name string) (*appsv1.DaemonSet, bool, error) {
	ok, err := found(name)
	return &appsv1.DaemonSet{}, ok, err
}

func (w world) Job(_, name string) (*batchv1.Job, bool, error) {
	ok, err := found(name)
	return &batchv1.Job{}, ok, err
}

func found(name string) (bool, error) {
	if strings.HasPrefix(name, "broken") {
		return false, errors.New("the cache is broken")
	}
	return !strings.HasPrefix(name, "missing"), nil
}

// plan makes one plan.
func plan(t testing.TB, planner *scaledown.Planner, w world, at time.Time) scaledown.Plan {
	t.Helper()
	in := w.in(t, at)
	before := layout(in.Snapshot)
	out, err := planner.Plan(t.Context(), in)
	must(t, err)
	if after := layout(in.Snapshot); after != before || in.Snapshot.Depth() != 0 {
		t.Fatalf("the plan changed the snapshot:\nbefore %s\nafter  %s", before, after)
	}
	seen := map[string]int{}
	for _, kept := range out.Kept {
		seen[kept.Node]++
	}
	for _, going := range append(append([]scaledown.Candidate{}, out.Empty...), out.Drain...) {
		seen[going.Removal.Node]++
	}
	for _, node := range in.Seen.Nodes {
		if seen[node.Name] != 1 {
			t.Errorf("node %s has %d verdicts, want 1", node.Name, seen[node.Name])
		}
	}
	return out
}

// layout lists the nodes of a snapshot with their pods.
func layout(snapshot *simulator.Snapshot) string {
	var out strings.Builder
	for _, node := range snapshot.Nodes() {
		out.WriteString(node.Name + "[")
		for _, pod := range snapshot.Pods(node.Name) {
			out.WriteString(" " + pod.Name)
		}
		out.WriteString(" ] ")
	}
	return out.String()
}

// unneeded are the names of the unneeded nodes in the order found, separated by blanks.
func unneeded(p scaledown.Plan) string {
	var names []string
	for _, node := range p.Unneeded {
		names = append(names, node.Node)
	}
	return strings.Join(names, " ")
}

// going are the names of the nodes to remove: empty ones, a slash, drained ones.
func going(p scaledown.Plan) string {
	names := func(candidates []scaledown.Candidate) string {
		var out []string
		for _, c := range candidates {
			out = append(out, c.Removal.Node)
		}
		return strings.Join(out, " ")
	}
	return names(p.Empty) + "/" + names(p.Drain)
}

// verdicts are the reasons by node.
func verdicts(p scaledown.Plan) map[string]report.Reason {
	out := map[string]report.Reason{}
	for _, kept := range p.Kept {
		out[kept.Node] = kept.Reason
	}
	return out
}

// codes are the codes of the reasons by node.
func codes(p scaledown.Plan) map[string]report.Code {
	out := map[string]report.Code{}
	for _, kept := range p.Kept {
		out[kept.Node] = kept.Reason.Code()
	}
	return out
}

func node(name, cpu string) simtest.NodeBuilder { return simtest.Node(name).CPU(cpu) }

// pod is owned by a ReplicaSet that exists and runs on the node.
func pod(name, cpu, on string) simtest.PodBuilder {
	return simtest.Pod(name).Requests(cpu, "").OwnedBy("ReplicaSet", "rs").On(on).CreatedAt(start.Add(-10 * time.Minute))
}

// bare is a pod that nothing would make anew.
func bare(name, cpu, on string) simtest.PodBuilder { return simtest.Pod(name).Requests(cpu, "").On(on) }

// pdb allows so many disruptions of the pods with the label app.
func pdb(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func newPlanner(t testing.TB, options scaledown.Options) *scaledown.Planner {
	return scaledown.NewPlanner(simtest.Scheduler(t), options)
}

// renew makes it another node of the same name.
func renew(n *corev1.Node) { n.UID = "another" }
