package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/estimator"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// breaking is a scheduler in which a plug-in breaks on some pods.
type breaking struct {
	*simulator.Scheduler
	on string // prefix of the names
}

var errBroken = errors.New("a plug-in broke")

func (b breaking) Fill(
	ctx context.Context, snap *simulator.Snapshot, pods []*corev1.Pod, node string,
) (placed int, no *simulator.Rejection, err error) {
	for _, pod := range pods {
		if strings.HasPrefix(pod.Name, b.on) {
			return placed, nil, errBroken
		}
		one, no, err := b.Scheduler.Fill(ctx, snap, []*corev1.Pod{pod}, node)
		if err != nil || no != nil {
			return placed, no, err
		}
		placed += one
	}
	return placed, nil, nil
}

// world is a random cluster with a node group and waiting pods.
type world struct {
	nodes   []*corev1.Node
	running []*corev1.Pod
	shapes  []simulator.NodeTemplate
	classes []estimator.Class
	limit   int
}

func randomWorld(r *rand.Rand) world {
	var w world
	zones := []string{"a", "b", "c"}
	for i := range r.IntN(4) {
		w.nodes = append(w.nodes, simtest.Node(fmt.Sprintf("n%d", i)).Zone(zones[r.IntN(3)]).Build())
	}
	for i, n := range w.nodes {
		for j := range r.IntN(4) {
			w.running = append(w.running, simtest.Pod(fmt.Sprintf("r%d-%d", i, j)).Requests("900m", "1Gi").Label("app", fmt.Sprint(r.IntN(3))).On(n.Name).Build())
		}
	}
	for _, z := range zones[:1+r.IntN(3)] {
		w.shapes = append(w.shapes, shape(simtest.Node("t-"+z).Zone(z).CPU(fmt.Sprint(2+2*r.IntN(3))).MaxPods(fmt.Sprint(4+r.IntN(20)))))
	}
	for i := range 1 + r.IntN(5) {
		app := fmt.Sprint(r.IntN(3))
		pod := requesting(fmt.Sprintf("%dm", 100*(1+r.IntN(25))), "200Mi").Label("app", app)
		switch r.IntN(7) {
		case 0:
			pod = pod.Spread(hostname, int32(1+r.IntN(2)), "app", app)
		case 1:
			pod = pod.Spread(zone, int32(1+r.IntN(2)), "app", app)
		case 2:
			pod = pod.AntiAffinity(hostname, "app", app)
		case 3:
			pod = pod.HostPort(80)
		case 4:
			pod = pod.AntiAffinity(zone, "app", app)
		}
		w.classes = append(w.classes, estimator.Class{Pods: many(1+r.IntN(12), fmt.Sprintf("p%d", i), pod)})
	}
	w.limit = r.IntN(6) * r.IntN(2)
	return w
}

func (w world) in(t *testing.T) estimator.In {
	t.Helper()
	return estimator.In{
		Snapshot: simtest.Snapshot(t, w.nodes, w.running), Scheduler: simtest.Scheduler(t), Classes: w.classes, Shapes: w.shapes, MaxNodes: w.limit,
	}
}

// TestNoNodeIsBoughtInVain is invariant 4: every new node holds a pod, and the pods of the last one do not all fit on those before it.
func TestNoNodeIsBoughtInVain(t *testing.T) {
	bought := 0
	for seed := range uint64(400) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 1)))
		in := w.in(t)
		result, err := estimator.Estimate(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		bought += len(result.New)
		held := 0
		for _, n := range result.New {
			held += len(n.Pods)
			if len(n.Pods) == 0 {
				t.Fatalf("seed %d: a new node holds nothing", seed)
			}
		}
		if held > len(result.Pods) || (w.limit > 0 && len(result.New) > w.limit) {
			t.Fatalf("seed %d: %d nodes with %d pods of %d, limit %d", seed, len(result.New), held, len(result.Pods), w.limit)
		}
		if held < len(result.Pods) {
			continue // some pods went to existing nodes; which ones is not told
		}
		if name := superfluous(t, in, result); name != "" {
			t.Fatalf("seed %d: all pods of the last new node, of shape %s, fit on the new nodes before it", seed, name)
		}
	}
	if bought < 1000 {
		t.Errorf("only %d nodes were bought in all: the worlds are too easy to prove anything", bought)
	}
}

// superfluous rebuilds what the estimate came to without the last node and tries its pods on the new nodes before it.
func superfluous(t *testing.T, in estimator.In, result estimator.Result) (name string) {
	t.Helper()
	if len(result.New) < 2 {
		return ""
	}
	in.Snapshot.Fork()
	defer func() {
		if err := in.Snapshot.Revert(); err != nil {
			t.Fatal(err)
		}
	}()
	names := map[string]bool{}
	last := result.New[len(result.New)-1]
	for i, n := range result.New[:len(result.New)-1] {
		var fresh simulator.NodeTemplate
		for _, s := range in.Shapes {
			if s.Node.Name == n.Shape {
				fresh = s.Copy(fmt.Sprintf("again-%d", i))
			}
		}
		if err := in.Snapshot.AddNode(fresh); err != nil {
			t.Fatal(err)
		}
		names[fresh.Node.Name] = true
		for _, pod := range n.Pods {
			if err := in.Snapshot.AddPod(pod, fresh.Node.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pod := range last.Pods {
		at, _, err := in.Scheduler.PlaceAnywhere(t.Context(), in.Snapshot, pod, simulator.Search{
			StartAfter: -1, Accept: func(n *corev1.Node) bool { return names[n.Name] },
		})
		if err != nil {
			t.Fatal(err)
		}
		if at.Node == "" {
			return ""
		}
	}
	return last.Shape
}

func TestTheSameClusterInAnotherOrderGivesTheSameEstimate(t *testing.T) {
	for seed := range uint64(40) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 2)))
		first, err := estimator.Estimate(t.Context(), w.in(t))
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 3))
		r.Shuffle(len(w.nodes), func(i, j int) { w.nodes[i], w.nodes[j] = w.nodes[j], w.nodes[i] })
		r.Shuffle(len(w.running), func(i, j int) { w.running[i], w.running[j] = w.running[j], w.running[i] })
		second, err := estimator.Estimate(t.Context(), w.in(t))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}
