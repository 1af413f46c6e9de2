package simulator_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// A node that was full is taken again as soon as it has room, whatever has given it that.
func TestAMoverHearsOfRoomThatComesFree(t *testing.T) {
	t.Parallel()
	running := func(name, on string) *corev1.Pod { return simtest.Pod(name).Requests("1", "").On(on).Build() }
	node := func(name, cpu string) *corev1.Node { return simtest.Node(name).CPU(cpu).Build() }
	for name, change := range map[string]func(*testing.T, *simulator.Snapshot){
		"a pod leaves": func(t *testing.T, s *simulator.Snapshot) {
			t.Helper()
			must(t, s.RemovePod(running("full-b", "b"), "b"))
		},
		"the node is replaced by an empty one": func(t *testing.T, s *simulator.Snapshot) {
			t.Helper()
			must(t, s.ReplaceNode(node("b", "1")))
		},
		"a larger node joins": func(t *testing.T, s *simulator.Snapshot) {
			t.Helper()
			must(t, s.AddNode(simulator.NodeTemplate{Node: node("x", "1")}))
		},
		"the node of the cluster grows": func(t *testing.T, s *simulator.Snapshot) {
			t.Helper()
			must(t, s.SetNode(node("b", "4")))
		},
		"what filled it is undone": func(t *testing.T, s *simulator.Snapshot) {
			t.Helper()
			must(t, s.RemovePod(running("full-c", "c"), "c"))
			s.Fork()
			must(t, s.AddPod(running("more", "c"), "c"))
			must(t, s.Revert())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot := simtest.Snapshot(t, []*corev1.Node{node("a", "1"), node("b", "1"), node("c", "1")},
				[]*corev1.Pod{running("p", "a"), running("full-b", "b"), running("full-c", "c")})
			mover := simtest.Scheduler(t).Mover(snapshot, nil)
			defer mover.Close()
			for i := range 2 {
				placement, nearest, err := mover.Place(t.Context(), simulator.Resident{Pod: running("p", "a")}, "a", 0)
				must(t, err)
				if placement.Node != "" || nearest == nil || nearest.Node != "b" || nearest.Filter != simulator.InsufficientResource {
					t.Fatalf("search %d: %+v, nearest %+v; want none, nearest b", i, placement, nearest)
				}
			}
			change(t, snapshot)
			placement, _, err := mover.Place(t.Context(), simulator.Resident{Pod: running("p", "a")}, "a", 0)
			must(t, err)
			if placement.Node == "" || placement.Node == "a" {
				t.Errorf("placed on %q, want a node that has room now", placement.Node)
			}
		})
	}
}

// Positions are those of the nodes that are left, also where more than a machine word's worth of them have gone.
func TestAMoverGoesRoundTheNodesThatAreLeft(t *testing.T) {
	t.Parallel()
	var nodes []*corev1.Node
	for i := range 200 {
		nodes = append(nodes, simtest.Node(fmt.Sprintf("n%03d", i)).CPU("2").Build())
	}
	snapshot, scheduler := simtest.Snapshot(t, nodes, nil), simtest.Scheduler(t)
	mover := scheduler.Mover(snapshot, nil)
	defer mover.Close()
	last := 0
	for i := range 190 {
		leaving := fmt.Sprintf("n%03d", (i*37)%200)
		accept := func(n *corev1.Node) bool { return n.Name != leaving }
		pod := simtest.Pod(fmt.Sprint("p", i)).Requests("100m", "").Build()
		snapshot.Fork()
		want, _, err := scheduler.PlaceAnywhere(t.Context(), snapshot, pod, simulator.Search{StartAfter: last, Accept: accept})
		must(t, err)
		must(t, snapshot.Revert())
		got, _, err := mover.Place(t.Context(), simulator.Resident{Pod: pod}, leaving, last)
		must(t, err)
		if got != want || got.Node == "" {
			t.Fatalf("pod %d goes to %+v, want %+v", i, got, want)
		}
		last = got.Index
		must(t, snapshot.RemoveNode(leaving))
	}
}
