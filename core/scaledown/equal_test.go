package scaledown_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// apps are what the pods of mixedWorld are made from: those of one app are equal but for their names.
func apps() []simtest.PodBuilder {
	app := func(name, cpu string) simtest.PodBuilder { return pod(name, cpu, "").Label("app", name) }
	return []simtest.PodBuilder{
		app("small", "100m"),
		app("big", "700m"),
		app("first", "200m").Priority(1000),
		app("last", "200m").Priority(-5),
		app("apart", "100m").AntiAffinity(corev1.LabelHostname, "app", "apart"),
		app("zoned", "100m").AntiAffinity(corev1.LabelTopologyZone, "app", "zoned"),
		app("shy", "100m").AntiAffinity(corev1.LabelHostname, "app", "small"),
		app("even", "100m").Spread(corev1.LabelHostname, 2, "app", "even"),
		app("balanced", "100m").Spread(corev1.LabelTopologyZone, 1, "app", "balanced"),
		app("near", "100m").Affinity(corev1.LabelTopologyZone, "app", "small"),
		app("port", "100m").HostPort(8080),
		app("guarded", "100m"),
		app("tough", "100m").Tolerates(""),
		app("pinned", "100m").NodeSelector(corev1.LabelTopologyZone, "a"),
		app("tpu", "100m").Request("cloud-tpus.google.com/v2", "1"),
		app("device", "100m").Request("example.com/device", "1"),
	}
}

// mixedWorld has up to 16 nodes of three zones with pods of several apps. Where they lie heeds nothing but the room, as after changes by hand.
func mixedWorld(random *rand.Rand) world {
	w := world{
		groupOf: map[string]cloudprovider.GroupID{},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": both},
	}
	w.pdbs = append(w.pdbs, pdb("guarded", "guarded", int32(random.IntN(4)))) //nolint:gosec // small
	kinds := apps()
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	kinds = kinds[:1+random.IntN(6)]
	for i := range 3 + random.IntN(14) {
		name := fmt.Sprintf("n%02d", i)
		n := node(name, fmt.Sprintf("%dm", 500+100*random.IntN(15))).Zone([]string{"a", "b", "c"}[random.IntN(3)]).MaxPods(fmt.Sprint(2 + random.IntN(9)))
		n = n.Resource("example.com/device", fmt.Sprint(random.IntN(4)))
		switch random.IntN(10) {
		case 0:
			n = n.Cordoned()
		case 1:
			n = n.Taint("kept", "for others", corev1.TaintEffectNoSchedule)
		case 2:
			w.groupOf[name] = ""
		}
		w.nodes = append(w.nodes, n)
		for j := range random.IntN(6) {
			kind := kinds[random.IntN(len(kinds))]
			example := kind.Build()
			made := kind.With(func(p *corev1.Pod) {
				p.Name = fmt.Sprintf("%s-%d-%s", name, j, example.Name)
				p.UID = types.UID("pod-default-" + p.Name)
			})
			w.pods = append(w.pods, made.On(name))
		}
	}
	if random.IntN(2) == 0 {
		w.upcoming = append(w.upcoming, node("up", "2000m").Zone("a"))
	}
	return w
}

// shared are the objects of the world's pods, where those of one app share their parts in memory, as those that informers brought do.
func (w world) shared() []*corev1.Pod {
	first := map[string]*corev1.Pod{}
	var pods []*corev1.Pod
	for _, builder := range w.pods {
		p := builder.Build()
		example, ok := first[p.Labels["app"]]
		if !ok {
			first[p.Labels["app"]] = p
		} else {
			on := p.Spec.NodeName
			p.Labels, p.Annotations, p.OwnerReferences, p.Spec = example.Labels, example.Annotations, example.OwnerReferences, example.Spec
			p.Spec.NodeName = on
		}
		pods = append(pods, p)
	}
	return pods
}

// sharedIn is in with the objects of shared.
func (w world) sharedIn(t *testing.T, at time.Time) scaledown.In {
	t.Helper()
	in := w.in(t, at)
	in.Snapshot = simtest.Snapshot(t, in.Seen.Nodes, w.shared())
	for _, builder := range w.upcoming {
		must(t, in.Snapshot.AddNode(simulator.NodeTemplate{Node: builder.Build()}))
	}
	return in
}

// A planner whose scheduler goes by what it knows of classes, and remembers which nodes are full, makes the same plans as one that asks the framework about
// each pod and node: the same nodes, the same places for their pods, the same reasons.
func TestPlansAreTheSameWithAndWithoutTheFastPath(t *testing.T) {
	fast := simtest.Scheduler(t)
	plain, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Parallelism: 1, FrameworkOnly: true})
	must(t, err)
	options := defaults()
	options.ScaleDown.MaxParallelism, options.ScaleDown.MaxDrainParallelism = 100, 100
	options.ScaleDown.UnremovableRecheckTimeout = 15 * time.Second
	moved, refused := 0, map[simulator.FilterCode]int{}
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 11))
		w := mixedWorld(random)
		planners := []*scaledown.Planner{scaledown.NewPlanner(fast, options), scaledown.NewPlanner(plain, options)}
		for step := range 3 {
			at := start.Add(time.Duration(step) * 10 * time.Second)
			var plans []scaledown.Plan
			for _, planner := range planners {
				in := w.sharedIn(t, at)
				before := layout(in.Snapshot)
				p, err := planner.Plan(t.Context(), in)
				must(t, err)
				if after := layout(in.Snapshot); after != before || in.Snapshot.Depth() != 0 {
					t.Fatalf("seed %d: the plan changed the snapshot:\nbefore %s\nafter  %s", seed, before, after)
				}
				plans = append(plans, p)
			}
			if !reflect.DeepEqual(plans[0], plans[1]) {
				t.Fatalf("seed %d, plan %d (-fast +framework):\n%s", seed, step, cmp.Diff(plans[0], plans[1]))
			}
			if diff := cmp.Diff(planners[0].Save(), planners[1].Save()); diff != "" {
				t.Fatalf("seed %d, what is remembered after plan %d (-fast +framework):\n%s", seed, step, diff)
			}
			moved += len(planners[0].Save().Hints)
			for _, kept := range plans[0].Kept {
				if why, ok := kept.Reason.(report.NoPlaceToMovePods); ok && why.Lacks != nil {
					refused[why.Lacks.Filter]++
				}
			}
			w.pods = append(w.pods[:0:0], w.pods...)
			for range min(len(w.pods), 2) { // some end before the next plan
				i := random.IntN(len(w.pods))
				w.pods = append(w.pods[:i], w.pods[i+1:]...)
			}
		}
	}
	t.Logf("%d pods found a place; nearest nodes refused by %v", moved, refused)
	for _, code := range []simulator.FilterCode{
		simulator.InsufficientResource, simulator.HostPortTaken, simulator.PodAntiAffinity, simulator.TopologySpread, simulator.TaintNotTolerated,
		simulator.NodeAffinityMismatch,
	} {
		if refused[code] < 3 {
			t.Errorf("%d nodes are nearest and refuse for %s: the test proves too little", refused[code], code)
		}
	}
}

// stopping is a budget that is spent after some nodes, and looks at the snapshot then.
type stopping struct {
	left int
	look func()
}

func (s *stopping) Spent() bool {
	s.left--
	if s.left == -1 {
		s.look()
	}
	return s.left < 0
}

// places says on which node each pod lies by name; a pod that lies on several fails the test.
func places(t *testing.T, snapshot *simulator.Snapshot) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, node := range snapshot.Nodes() {
		for _, pod := range snapshot.Pods(node.Name) {
			if other, twice := out[pod.Name]; twice {
				t.Fatalf("pod %s lies on %s and on %s", pod.Name, other, node.Name)
			}
			out[pod.Name] = node.Name
		}
	}
	return out
}

// Two removals never count on the same free space: with the pods of all nodes found removable where the simulation put them, each of them still fits, with
// all others there. Affinity and spreading depend on the order of the moves and are left out.
func TestAllPodsOfAPlanFitWhereItPutThemAtOnce(t *testing.T) {
	scheduler := simtest.Scheduler(t)
	plain, err := simulator.NewScheduler(t.Context(), simtest.Factory(t), simulator.Options{Parallelism: 1, FrameworkOnly: true})
	must(t, err)
	options := defaults()
	options.ScaleDown.MaxParallelism, options.ScaleDown.MaxDrainParallelism = 100, 100
	several := 0
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 13))
		w := mixedWorld(random)
		in := w.sharedIn(t, start)
		var found map[string]string
		in.Budget = &stopping{left: random.IntN(len(w.nodes)), look: func() { found = places(t, in.Snapshot) }}
		p, err := scaledown.NewPlanner(scheduler, options).Plan(t.Context(), in)
		must(t, err)
		if found == nil || len(p.Unneeded) == 0 {
			continue
		}
		if len(p.Unneeded) > 1 {
			several++
		}
		atOnce(t, w, plain, p, found, fmt.Sprintf("seed %d", seed))
	}
	if several < 30 {
		t.Errorf("only %d plans find several nodes: the test proves nothing", several)
	}
}

// atOnce fails unless all pods have a place, each of its own.
func atOnce(t *testing.T, w world, scheduler *simulator.Scheduler, p scaledown.Plan, found map[string]string, story string) {
	t.Helper()
	gone := map[string]bool{}
	for _, node := range p.Unneeded {
		gone[node.Node] = true
	}
	in := w.in(t, start)
	after := in.Snapshot
	var moved []*corev1.Pod
	for _, builder := range w.pods {
		pod := builder.Build()
		if !gone[pod.Spec.NodeName] {
			if found[pod.Name] != pod.Spec.NodeName {
				t.Fatalf("%s: pod %s lies on %s, where nothing moved it from %s", story, pod.Name, found[pod.Name], pod.Spec.NodeName)
			}
			continue
		}
		moved = append(moved, pod)
	}
	for name := range gone {
		must(t, after.RemoveNode(name))
	}
	for _, pod := range moved {
		pod.Spec.NodeName = ""
		for resource := range pod.Spec.Containers[0].Resources.Requests {
			if resource == "cloud-tpus.google.com/v2" {
				delete(pod.Spec.Containers[0].Resources.Requests, resource)
			}
		}
		if to := found[pod.Name]; to == "" || gone[to] {
			t.Fatalf("%s: pod %s of a node that goes lies on %q", story, pod.Name, to)
		}
		must(t, after.AddPod(pod, found[pod.Name]))
	}
	for _, pod := range moved {
		if len(pod.Spec.TopologySpreadConstraints) > 0 || pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAffinity != nil {
			continue
		}
		to := found[pod.Name]
		must(t, after.RemovePod(pod, to))
		rejection, err := scheduler.Check(t.Context(), after, pod, to)
		must(t, err)
		if rejection != nil {
			t.Fatalf("%s: pod %s does not fit on %s with all others in their places: %+v", story, pod.Name, to, rejection)
		}
		must(t, after.AddPod(pod, to))
	}
}
