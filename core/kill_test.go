package core_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	k8stesting "k8s.io/client-go/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// fate is what befalls one write of the autoscaler.
type fate string

const (
	killedBefore fate = "the process dies before it takes effect"
	killedAfter  fate = "the process dies after it took effect"
	refusedOnce  fate = "it is refused"
	answerLost   fate = "it takes effect and the answer is lost"
)

// downTime is how long nobody leads after a process has died.
const downTime = 15 * time.Second

var (
	errDied   = errors.New("the process is dead")
	errFailed = errors.New("the connection was reset")
)

// doom counts the writes of the autoscaler, to the API server and to the cloud, and lets its fate befall one of them.
type doom struct {
	world *world
	fate  fate
	// at is the number of the write concerned, from 1; 0: none.
	at int
	// writes are those so far, each by its kind.
	writes []string
	dead   bool
	armed  bool      // the cloud has a fault for the next write
	wakes  time.Time // when the next process starts
}

// cloudWrites are the operations that change something in the cloud of the story.
var cloudWrites = []simulated.Operation{simulated.IncreaseSize, simulated.DecreaseTargetSize, simulated.DeleteNodes}

// carry makes a write, unless its fate is another.
func (d *doom) carry(kind string, effect func() error) error {
	if d.dead {
		return errDied
	}
	d.disarm()
	d.writes = append(d.writes, kind)
	if len(d.writes) != d.at {
		defer d.arm()
		return effect()
	}
	if d.fate == refusedOnce {
		return errFailed
	}
	if d.fate == killedBefore {
		d.die()
		return errDied
	}
	if err := effect(); err != nil {
		return err
	}
	if d.fate == answerLost {
		return errFailed
	}
	d.die()
	return errDied
}

// arm prepares the cloud if the next write is the one concerned: should it go there, it fails as it shall.
func (d *doom) arm() {
	if len(d.writes)+1 != d.at || d.fate == killedAfter {
		return
	}
	d.armed = true
	err := errFailed
	if d.fate == killedBefore {
		err = errDied
	}
	for _, on := range cloudWrites {
		d.world.cloud.Inject(simulated.Fault{On: on, Err: err, Lost: d.fate == answerLost, Count: 1})
	}
}

func (d *doom) disarm() {
	if !d.armed {
		return
	}
	d.armed = false
	for _, on := range cloudWrites {
		d.world.cloud.Clear(on, "")
	}
}

// wrote notes a write to the cloud.
func (d *doom) wrote(write simulated.Write) {
	if d.dead {
		return
	}
	d.disarm()
	d.writes = append(d.writes, string(write.Operation))
	if len(d.writes) == d.at && (d.fate == killedBefore || d.fate == killedAfter) {
		d.die()
		return
	}
	d.arm()
}

// die ends the process: what it still tries has no effect.
func (d *doom) die() {
	d.dead = true
	d.wakes = d.world.clock.Now().Add(downTime)
	for _, on := range cloudWrites {
		d.world.cloud.Inject(simulated.Fault{On: on, Err: errDied})
	}
}

// revive starts the next process when it is time.
func (d *doom) revive() {
	if !d.dead || d.world.clock.Now().Before(d.wakes) {
		return
	}
	for _, on := range cloudWrites {
		d.world.cloud.Clear(on, "")
	}
	d.dead = false
	d.world.boot()
	d.world.pass()
	d.world.nextPass = d.world.clock.Now().Add(scanInterval)
	d.checkTidy()
}

// checkTidy checks that the first iteration of a process leaves no node with the deletion taint but those that it removes itself.
func (d *doom) checkTidy() {
	if d.world.err != nil {
		d.world.Errorf("the first iteration of the next process met %v", d.world.err)
	}
	own := map[string]bool{}
	for _, deletion := range d.world.actuator.Deletions() {
		own[deletion.Node] = true
	}
	for _, node := range all[*corev1.Node](d.world.source.nodes()) {
		if tainted(node, taints.ToBeDeleted) && !own[node.Name] {
			d.world.Errorf("the next process leaves node %s tainted", node.Name)
		}
	}
}

// objects lets the writes of the status meet their fate too.
func (d *doom) objects(action k8stesting.Action) (handled bool, answer runtime.Object, err error) {
	if action.GetVerb() == "get" || action.GetVerb() == "list" {
		return false, nil, nil
	}
	err = d.carry(action.GetVerb()+" status", func() error {
		var failed error
		_, answer, failed = k8stesting.ObjectReaction(d.world.client.Tracker())(action)
		return failed
	})
	return true, answer, err
}

// endsOf are the names of the nodes that the autoscaler ended, and raises by how much it raised each group.
func endsAndRaises(w *world) (ends []string, raises map[cloudprovider.GroupID]int) {
	raises = map[cloudprovider.GroupID]int{}
	for _, write := range w.cloud.Writes() {
		for _, machine := range write.Ended {
			ends = append(ends, machine.NodeName)
		}
		if write.To > write.From {
			raises[write.Group] += write.To - write.From
		}
	}
	slices.Sort(ends)
	return ends, raises
}

// shrinkingStory is a cluster in which empty nodes go, one that an administrator has cordoned among them, a group goes as a whole, pods move under
// their budget, and later a group grows. It is played until it has been at rest for long.
func shrinkingStory(t *testing.T, at int, what fate) (*world, *doom) {
	t.Helper()
	whole := group("whole", 0, 2, 2)
	whole.Options.ZeroOrMaxNodeScaling = new(true)
	w := newWorld(t, []string{
		"--scale-down-unneeded-time=30s", "--scale-down-delay-after-add=0s", "--scale-down-delay-after-failure=10s",
	}, group("g", 1, 9, 5), whole, group("late", 0, 3, 0))
	d := &doom{world: w, at: at, fate: what}
	w.doom = d
	w.client.PrependReactor("*", "configmaps", d.objects)
	budget := intstr.FromInt32(3)
	w.put(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "budget", Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &budget, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1},
	})
	w.put(
		pod("busy-1", "3").On("g-0001").Build(), pod("busy-2", "3").On("g-0002").Build(),
		pod("mover-1", "500m").On("g-0003").Build(), pod("mover-2", "500m").On("g-0003").Build(),
	)
	for _, node := range []string{"g-0001", "g-0005"} {
		w.change(node, func(node *corev1.Node) { node.Spec.Unschedulable = true })
	}
	d.arm()
	w.at(100*time.Second, func() {
		for _, p := range pods(2, "late", "3") {
			w.arrive(p.NodeSelector("group", "late").Label("app", "late"))
		}
	})
	w.to(9 * time.Minute)
	return w, d
}

// checkAtRest checks what must hold however often the autoscaler was interrupted.
func checkAtRest(t *testing.T, w *world) {
	t.Helper()
	for _, node := range all[*corev1.Node](w.source.nodes()) {
		if tainted(node, taints.ToBeDeleted) || tainted(node, taints.DeletionCandidate) || node.Annotations[act.CordonAnnotation] != "" {
			t.Errorf("node %s is left with taints %v and annotations %v", node.Name, node.Spec.Taints, node.Annotations)
		}
		if want := node.Name == "g-0001"; node.Spec.Unschedulable != want {
			t.Errorf("node %s: cordoned %t, want %t", node.Name, node.Spec.Unschedulable, want)
		}
	}
	if waiting := w.waiting(); len(waiting) > 0 {
		t.Errorf("pods %v wait for ever", waiting)
	}
	if left := w.actuator.Deletions(); slices.ContainsFunc(left, func(d observation.Deletion) bool { return !d.Accepted }) {
		t.Errorf("removals %v never end", left)
	}
}

// Invariants 1, 6 and 7: whatever happens to one write, the story ends as if nothing had happened. The world checks each write to the cloud.
func TestWhateverBefallsAWriteTheStoryEndsTheSame(t *testing.T) {
	undisturbed, counted := shrinkingStory(t, 0, "")
	checkAtRest(t, undisturbed)
	wantEnds, wantRaises := endsAndRaises(undisturbed)
	if diff := gocmp.Diff([]string{"g-0003", "g-0004", "g-0005", "whole-0001", "whole-0002"}, wantEnds); diff != "" {
		t.Fatalf("nodes ended without any disturbance (-want +got):\n%s", diff)
	}
	if wantRaises["late"] != 2 {
		t.Fatalf("raises %v, want two nodes for the late pods", wantRaises)
	}

	points := map[string]int{}
	every, statuses := 1, 0
	if slow || testing.Short() {
		every = 4
	}
	for at := 1; at <= len(counted.writes); at += every {
		if strings.HasSuffix(counted.writes[at-1], "status") { // most of them come while nothing else happens
			if statuses++; statuses%6 != 1 {
				continue
			}
		}
		for _, what := range []fate{killedBefore, killedAfter, refusedOnce, answerLost} {
			points[counted.writes[at-1]+": "+string(what)]++
			t.Run(fmt.Sprintf("write %d, %s: %s", at, counted.writes[at-1], what), func(t *testing.T) {
				w, d := shrinkingStory(t, at, what)
				if len(d.writes) < at || d.writes[at-1] != counted.writes[at-1] {
					t.Fatalf("write %d is not the one of the undisturbed story", at)
				}
				checkAtRest(t, w)
				ends, raises := endsAndRaises(w)
				if diff := gocmp.Diff(wantEnds, ends); diff != "" {
					t.Errorf("nodes ended (-undisturbed +disturbed):\n%s", diff)
				}
				if diff := gocmp.Diff(wantRaises, raises); diff != "" {
					t.Errorf("groups raised by (-undisturbed +disturbed):\n%s", diff)
				}
				if t.Failed() {
					t.Logf("writes to the cloud: %s\nlog:\n%s", strings.Join(w.writes(), "; "), w.logs)
				}
			})
		}
	}
	t.Log(table(points))
}

// table tells how many points there were of each kind.
func table(points map[string]int) string {
	var out strings.Builder
	sum := 0
	for _, kind := range slices.SortedFunc(maps.Keys(points), cmp.Compare[string]) {
		fmt.Fprintf(&out, "%4d  %s\n", points[kind], kind)
		sum += points[kind]
	}
	return fmt.Sprintf("%d points at which a write was disturbed:\n%s", sum, out.String())
}

// A node that an administrator has cordoned stays cordoned when the next process puts it back into service, and no node is tainted for longer than
// the first iteration of that process.
func TestTheNextProcessTidiesUpInItsFirstIteration(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=30s", "--max-scale-down-parallelism=5"}, group("g", 0, 9, 3))
	w.put(pod("busy", "3").On("g-0001").Build(), simtest.Node("other").Build())
	w.change("g-0003", func(node *corev1.Node) { node.Spec.Unschedulable = true })
	w.to(41 * time.Second)
	for _, name := range []string{"g-0002", "g-0003"} {
		if !tainted(w.node(name), taints.ToBeDeleted) {
			t.Fatalf("%s is not being removed", name)
		}
	}
	w.boot()
	w.pass()
	for _, name := range []string{"g-0002", "g-0003"} {
		node := w.node(name)
		if tainted(node, taints.ToBeDeleted) || node.Spec.Unschedulable != (name == "g-0003") || node.Annotations[act.CordonAnnotation] != "" {
			t.Errorf("%s: taints %v, cordoned %t, annotations %v", name, node.Spec.Taints, node.Spec.Unschedulable, node.Annotations)
		}
	}
}
