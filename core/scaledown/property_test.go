package scaledown_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// podSize is what every pod of a random cluster asks for, in milli-CPU. Equal sizes make the question whether pods fit a matter of
// counting places.
const podSize = 100

// randomWorld has up to 30 nodes in two zones, some of them cordoned, unready, of no group, or being removed, with pods of equal
// size, some of which are bound to a zone.
func randomWorld(random *rand.Rand) world {
	w := world{
		groupOf: map[string]cloudprovider.GroupID{}, min: map[cloudprovider.GroupID]int{"g": random.IntN(3), "h": random.IntN(3)},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": both, "h": noWait},
	}
	for i := range 2 + random.IntN(29) {
		name := fmt.Sprintf("n%02d", i)
		places := 1 + random.IntN(10)
		zone := []string{"a", "b"}[random.IntN(2)]
		n := node(name, fmt.Sprintf("%dm", places*podSize)).Zone(zone)
		switch random.IntN(12) {
		case 0:
			n = n.Cordoned()
		case 1:
			n = n.NotReady(start)
		case 2:
			w.groupOf[name] = ""
		case 3:
			n = n.Taint("ToBeDeletedByClusterAutoscaler", unix(start), corev1.TaintEffectNoSchedule)
			w.deletions = append(w.deletions, observation.Deletion{Node: name, Group: "g", Drain: random.IntN(2) == 0})
		case 4, 5, 6:
			w.groupOf[name] = "h"
		}
		w.nodes = append(w.nodes, n)
		for j := range random.IntN(places + 1) {
			p := pod(fmt.Sprintf("%s-%d", name, j), fmt.Sprintf("%dm", podSize), name)
			if random.IntN(3) == 0 {
				p = p.NodeSelector(corev1.LabelTopologyZone, zone)
			}
			w.pods = append(w.pods, p)
		}
	}
	for i := range random.IntN(3) {
		w.upcoming = append(w.upcoming, node(fmt.Sprintf("up%d", i), "1000m").Zone("a"))
	}
	return w
}

// shortOfRoom says what is missing if all nodes of the plan leave at once; empty: every pod has a place on a node that stays and takes pods in.
func shortOfRoom(t *testing.T, w world, p scaledown.Plan) string {
	t.Helper()
	leaving := map[string]bool{}
	for _, c := range append(append([]scaledown.Candidate{}, p.Empty...), p.Drain...) {
		leaving[c.Removal.Node] = true
	}
	for _, deletion := range w.deletions {
		leaving[deletion.Node] = true
	}
	places := map[string]int{}
	used := map[string]int{}
	moved := map[string]int{} // by zone; "" for pods that may go anywhere
	for _, builder := range w.pods {
		pod := builder.Build()
		used[pod.Spec.NodeName]++
		for _, c := range p.Drain {
			if c.Removal.Node == pod.Spec.NodeName {
				moved[pod.Spec.NodeSelector[corev1.LabelTopologyZone]]++
			}
		}
		for _, c := range p.Empty {
			if c.Removal.Node == pod.Spec.NodeName {
				return fmt.Sprintf("node %s, which is to go as empty, holds pod %s", c.Removal.Node, pod.Name)
			}
		}
	}
	for _, builder := range w.nodes {
		n := builder.Build()
		tainted := false
		for _, taint := range n.Spec.Taints {
			tainted = tainted || taint.Effect == corev1.TaintEffectNoSchedule
		}
		if leaving[n.Name] || n.Spec.Unschedulable || tainted {
			continue
		}
		places[n.Labels[corev1.LabelTopologyZone]] += int(n.Status.Allocatable.Cpu().MilliValue())/podSize - used[n.Name]
	}
	for _, zone := range []string{"a", "b"} {
		if moved[zone] > places[zone] {
			return fmt.Sprintf("%d pods of zone %s have %d places", moved[zone], zone, places[zone])
		}
	}
	if all, room := moved["a"]+moved["b"]+moved[""], places["a"]+places["b"]; all > room {
		return fmt.Sprintf("%d pods have %d places", all, room)
	}
	return ""
}

func TestAllPodsHaveAPlaceWhenAllRemovalsHappenTogether(t *testing.T) {
	scheduler := simtest.Scheduler(t)
	options := defaults()
	options.ScaleDown.MaxParallelism, options.ScaleDown.MaxDrainParallelism = 100, 100
	drains, several := 0, 0
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 5))
		w := randomWorld(random)
		planner := scaledown.NewPlanner(scheduler, options)
		for step := range 3 { // later plans have hints
			p := plan(t, planner, w, start.Add(time.Duration(step)*10*time.Second))
			if short := shortOfRoom(t, w, p); short != "" {
				t.Fatalf("seed %d, plan %d (%s): %s", seed, step, going(p), short)
			}
			for id, minimum := range w.min {
				if left := staying(w, p, id); left < minimum {
					t.Fatalf("seed %d, plan %d (%s): group %s keeps %d nodes, minimum %d", seed, step, going(p), id, left, minimum)
				}
			}
			drains += len(p.Drain)
			if len(p.Drain) > 1 {
				several++
			}
		}
	}
	t.Logf("%d drains planned, %d plans with several", drains, several)
	if several < 30 {
		t.Errorf("only %d plans drain several nodes: the test proves nothing", several)
	}
}

// staying counts the nodes of the group that neither the plan nor a removal in progress takes; a group that was below its minimum
// before counts as keeping it.
func staying(w world, p scaledown.Plan, id cloudprovider.GroupID) int {
	count, taken := 0, 0
	for _, builder := range w.nodes {
		if w.group(builder.Build().Name) == id {
			count++
		}
	}
	for _, c := range append(append([]scaledown.Candidate{}, p.Empty...), p.Drain...) {
		if c.Removal.Group == id {
			taken++
		}
	}
	if taken == 0 {
		return w.min[id]
	}
	for _, deletion := range w.deletions {
		if deletion.Group == id {
			taken++
		}
	}
	return count - taken
}
