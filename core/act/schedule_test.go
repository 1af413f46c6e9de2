package act_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// share is what every pod of a schedule asks for, in milli-CPU, so that room is a matter of counting.
const share = 100

// schedule is a cluster that shrinks by the decisions of the real Planner while chance makes trouble. Time moves by random steps.
type schedule struct {
	*stage
	random    *rand.Rand
	scheduler *simulator.Scheduler
	planner   *scaledown.Planner
	// unneeded is how long nodes must be unneeded, whole the group that goes as a whole only.
	unneeded time.Duration
	whole    cloudprovider.GroupID
	// calm: nothing changes what room there is but the removals themselves, so that every pod that is moved has a place at once.
	calm bool
	// known are the pods that have not been replaced yet, and waiting those without a node, both by name; cordoned are the nodes that somebody else cordoned.
	known    map[string]string // its app
	waiting  map[string]string
	cordoned map[string]bool
	budget   int // how many pods of app "a" must be there
	made     int
	drains   int // planned
}

// newSchedule makes two groups of nodes with room to spare.
func newSchedule(t *testing.T, scheduler *simulator.Scheduler, seed uint64) *schedule {
	random := rand.New(rand.NewPCG(seed, 13))
	options := defaults()
	d := &options.ScaleDown
	d.Enabled, d.UnreadyEnabled, d.UnremovableRecheckTimeout = true, true, 20*time.Second
	d.MaxParallelism, d.MaxDrainParallelism = 1+random.IntN(6), 1+random.IntN(4)
	d.DeletionBatcherInterval = time.Duration(random.IntN(2)) * 7 * time.Second
	s := &schedule{
		stage: newStage(t, options), random: random, scheduler: scheduler, calm: seed%3 == 0,
		planner:  scaledown.NewPlanner(scheduler, scaledown.Options{ScaleDown: *d, Drain: options.Drain, SoftTaints: options.SoftTaints}),
		unneeded: time.Duration(random.IntN(3)) * 20 * time.Second, whole: []cloudprovider.GroupID{"", "g", "h"}[random.IntN(3)],
		known: map[string]string{}, waiting: map[string]string{}, cordoned: map[string]bool{},
	}
	for _, id := range []cloudprovider.GroupID{"g", "h"} {
		for i := range 2 + random.IntN(5) {
			name, places := fmt.Sprintf("%s%d", id, i), 3+random.IntN(6)
			s.add(id, node(name).CPU(fmt.Sprintf("%dm", places*share)))
			for range random.IntN(places/2 + 1) {
				s.place(s.name(), []string{"a", "b"}[random.IntN(2)], name)
			}
		}
		s.groups[id].state.Min = random.IntN(2)
	}
	s.budget = max(0, s.healthy()-1-random.IntN(3))
	return s
}

func (s *schedule) name() string {
	s.made++
	return fmt.Sprintf("p%03d", s.made)
}

// chance is true once in so many times.
func (s *schedule) chance(in int) bool { return s.random.IntN(in) == 0 }

// within is a random time up to the limit.
func (s *schedule) within(limit time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(limit)))
}

// soon makes something happen within a time from now.
func (s *schedule) soon(limit time.Duration, do func()) {
	s.later(s.time.Since(start)+s.within(limit), do)
}

// place runs a pod on a node. It may take long to end.
func (s *schedule) place(name, app, on string) {
	s.pods[name] = pod(name, on).Requests(fmt.Sprintf("%dm", share), "").Label("app", app).CreatedAt(start.Add(-time.Hour)).Build()
	s.known[name] = app
	s.stops[name] = s.within(40 * time.Second)
	if s.chance(12) {
		s.stops[name] = 9*time.Minute + s.within(4*time.Minute)
	}
	s.refuse[name] = func() error {
		if app == "a" && s.healthy() <= s.budget {
			return tooManyRequests()
		}
		return nil
	}
}

// healthy are the pods under the budget that run.
func (s *schedule) healthy() (count int) {
	for _, p := range s.pods {
		if p.Labels["app"] == "a" && p.DeletionTimestamp == nil {
			count++
		}
	}
	return count
}

// open tells whether schedulers put pods on the node.
func (s *schedule) open(n *corev1.Node) bool {
	_, leaving := taints.Find(n, taints.ToBeDeleted)
	return !leaving && !n.Spec.Unschedulable
}

// free is how many more pods the node has room for.
func (s *schedule) free(n *corev1.Node) int {
	places := int(n.Status.Allocatable.Cpu().MilliValue()) / share
	for _, p := range s.pods {
		if p.Spec.NodeName == n.Name {
			places--
		}
	}
	return places
}

// follow is the controller that replaces pods as soon as they begin to end, and the scheduler.
func (s *schedule) follow() {
	s.settle()
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		if p := s.pods[name]; p == nil || p.DeletionTimestamp != nil {
			s.waiting[s.name()] = s.known[name]
			delete(s.known, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.waiting)) {
		for _, on := range slices.Sorted(maps.Keys(s.nodes)) {
			if n := s.nodes[on]; s.open(n) && s.free(n) > 0 {
				s.place(name, s.waiting[name], on)
				delete(s.waiting, name)
				break
			}
		}
	}
	if s.calm && len(s.waiting) > 0 {
		s.t.Errorf("after %v pods %v have no place, though nobody but removals took any", s.time.Since(start), slices.Sorted(maps.Keys(s.waiting)))
	}
}

// decide makes one iteration: a plan, and what it begins.
func (s *schedule) decide() {
	in := s.in()
	plan, err := s.planner.Plan(silent(s.t), in)
	if err != nil {
		s.t.Fatal(err)
	}
	s.checkRoom(in, plan)
	s.drains += len(plan.Drain)
	s.Shrink(silent(s.t), plan)
	_ = s.SoftTaints(silent(s.t), plan.SoftTaint) // the API server may refuse
	s.Finished()
}

// in is what the planner sees: the informers' view, in which pods that wait, and those that are still on leaving nodes, have taken their places already.
func (s *schedule) in() scaledown.In {
	now := s.time.Now()
	seen := observation.Observation{
		At: now, Workloads: everything{}, Deletions: s.Deletions(), Members: map[string]cloudprovider.GroupID{}, Gone: map[string]bool{},
		PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(max(0, s.healthy()-s.budget))}, //nolint:gosec // a handful
		}},
	}
	s.pdbs = seen.PodDisruptionBudgets
	state := clusterstate.State{At: now}
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		g := observation.Group{ID: id, GroupState: s.groups[id].state, Options: observation.GroupOptions{
			ScaleDownUtilizationThreshold: 0.7, ScaleDownUnneededTime: s.unneeded, ScaleDownUnreadyTime: s.unneeded, ZeroOrMaxNodeScaling: id == s.whole,
		}}
		seen.Groups = append(seen.Groups, g)
		state.Groups = append(state.Groups, clusterstate.GroupState{GroupStatus: report.GroupStatus{Group: id, Min: g.Min, Max: g.Max, Target: g.Target}})
	}
	leaving := map[string]bool{}
	for _, d := range seen.Deletions {
		leaving[d.Node] = true
	}
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		seen.Nodes = append(seen.Nodes, s.nodes[name])
		seen.Members[name] = cloudprovider.GroupID(name[:1])
	}
	var running, coming []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		p := s.pods[name]
		if s.hidden[name] || s.nodes[p.Spec.NodeName] == nil {
			continue
		}
		running = append(running, p)
		if leaving[p.Spec.NodeName] && p.DeletionTimestamp == nil {
			again := p.DeepCopy()
			again.UID = types.UID("again-" + name)
			coming = append(coming, again)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.waiting)) {
		coming = append(coming, pod(name, "").Requests(fmt.Sprintf("%dm", share), "").Label("app", s.waiting[name]).Build())
	}
	snapshot := simtest.Snapshot(s.t, seen.Nodes, running)
	mover := s.scheduler.Mover(snapshot, func(n *corev1.Node) bool { return !leaving[n.Name] })
	defer mover.Close()
	for _, p := range coming {
		p.Spec.NodeName = ""
		if _, _, err := mover.Place(silent(s.t), simulator.Resident{Pod: p}, "", 0); err != nil {
			s.t.Fatal(err)
		}
	}
	return scaledown.In{Seen: seen, State: state, Snapshot: snapshot, Budget: unlimited{}}
}

type unlimited struct{}

func (unlimited) Spent() bool { return false }

// checkRoom checks invariant 5: the pods of all nodes that the plan drains have a place each on nodes that stay.
func (s *schedule) checkRoom(in scaledown.In, plan scaledown.Plan) {
	leaving := map[string]bool{}
	moved := 0
	for _, c := range slices.Concat(plan.Empty, plan.Drain) {
		leaving[c.Removal.Node] = true
		moved += len(c.Removal.Pods)
	}
	for _, d := range in.Seen.Deletions {
		leaving[d.Node] = true
	}
	places := 0
	for _, n := range in.Snapshot.Nodes() {
		if !leaving[n.Name] && s.open(n) {
			places += max(0, int(n.Status.Allocatable.Cpu().MilliValue())/share-len(in.Snapshot.Pods(n.Name)))
		}
	}
	if moved > places {
		s.t.Errorf("after %v a plan moves %d pods to %d places", s.time.Since(start), moved, places)
	}
}

// stir makes a little trouble.
func (s *schedule) stir() {
	names := slices.Sorted(maps.Keys(s.nodes))
	if len(names) == 0 {
		return
	}
	name := names[s.random.IntN(len(names))]
	g := s.groups[cloudprovider.GroupID(name[:1])]
	failure := []error{errors.New("no"), &cloudprovider.TransientError{Err: errors.New("busy")}}[s.random.IntN(2)]
	switch s.random.IntN(16) {
	case 0:
		s.updateErr[name] = failure
		s.soon(time.Minute, func() { delete(s.updateErr, name) })
	case 1:
		s.unmarkErr[name] = failure
		s.soon(2*time.Minute, func() { delete(s.unmarkErr, name) })
	case 2:
		s.lostAnswer[name] = true
	case 3:
		s.evictErr = failure
		s.soon(3*time.Minute, func() { s.evictErr = nil })
	case 4:
		broken := []*error{&s.listErr, &s.budgetErr, &s.nodeErr, &s.nodesErr, &s.podErr}[s.random.IntN(5)]
		*broken = failure
		s.soon(30*time.Second, func() { *broken = nil })
	case 5:
		g.errs = append(g.errs, failure)
	case 6:
		if g.nodeErrs == nil {
			g.nodeErrs = map[string][]error{}
		}
		g.nodeErrs[name] = append(g.nodeErrs[name], failure)
	case 7:
		g.halves = append(g.halves, half{ends: s.random.IntN(3), err: failure})
	case 8:
		g.state.Min = s.random.IntN(3)
	case 9:
		s.lag = s.within(8 * time.Second) // of the informers
	default:
		if !s.calm {
			s.disturb(name, g)
		}
	}
}

// disturb changes what room there is.
func (s *schedule) disturb(name string, g *group) {
	n := s.nodes[name].DeepCopy()
	n.ResourceVersion += "1"
	switch s.random.IntN(8) {
	case 0, 1, 2, 3: // a pod comes, to a node that is leaving too, and perhaps the informers do not know yet
		late := s.name()
		if s.free(n) > 0 {
			s.place(late, "b", name)
			s.hidden[late] = s.chance(2)
			s.soon(20*time.Second, func() { delete(s.hidden, late) })
		}
	case 4: // the machine is another one by now
		n.UID, n.Spec.ProviderID = types.UID(s.name()), n.Spec.ProviderID+"'"
		n.Spec.Taints, n.Spec.Unschedulable, n.Annotations = nil, false, nil
		g.state.Instances = append(g.state.Instances, cloudprovider.Instance{ID: n.Spec.ProviderID, State: cloudprovider.InstanceRunning})
		s.lose(name)
		s.nodes[name] = n
	case 5:
		s.lose(name)
		g.state.Target--
	case 6:
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, scaledown.DisabledAnnotation, "true")
		s.nodes[name] = n
		s.soon(3*time.Minute, func() {
			if now := s.nodes[name]; now != nil {
				delete(now.Annotations, scaledown.DisabledAnnotation)
			}
		})
	case 7: // an administrator is at work
		if s.open(n) {
			n.Spec.Unschedulable = true
			s.cordoned[name] = true
			s.nodes[name] = n
		}
	}
}

// lose ends a machine with all that is on it.
func (s *schedule) lose(name string) {
	delete(s.nodes, name)
	delete(s.cordoned, name)
	maps.DeleteFunc(s.pods, func(_ string, p *corev1.Pod) bool { return p.Spec.NodeName == name })
}

// pass lets time go by for one step.
func (s *schedule) pass() {
	step := 200*time.Millisecond + s.within(8*time.Second)
	if s.chance(25) { // the process gets no time, or the clock jumps
		step = s.within(4 * time.Minute)
	}
	s.time.Step(step)
	s.follow()
	if contended := slices.Sorted(maps.Keys(s.nodes)); len(contended) > 0 && s.chance(4) {
		s.conflicts[contended[s.random.IntN(len(contended))]] = 1 + s.random.IntN(2)
	}
	s.Step(silent(s.t), s.time.Now())
	clear(s.conflicts) // nobody moves the clock while other writes wait for it
	s.follow()
}

// playOut lets the schedule go on with trouble, and then without it until nothing is left to do.
func (s *schedule) playOut() {
	next := start
	for s.time.Since(start) < 20*time.Minute {
		s.pass()
		if s.chance(3) {
			s.stir()
		}
		if !s.time.Now().Before(next) {
			s.decide()
			s.follow()
			next = s.time.Now().Add(5*time.Second + s.within(10*time.Second))
		}
	}
	s.plans, s.lag = nil, 0
	clear(s.updateErr)
	clear(s.unmarkErr)
	clear(s.hidden)
	s.evictErr, s.listErr, s.budgetErr, s.nodeErr, s.nodesErr, s.podErr = nil, nil, nil, nil, nil, nil
	for _, g := range s.groups {
		g.errs, g.nodeErrs, g.halves = nil, nil, nil
	}
	for range 1000 {
		if s.Step(silent(s.t), s.time.Now()).IsZero() {
			return
		}
		s.pass()
	}
	s.t.Errorf("there is no end of it: %v", s.Deletions())
}

// check checks what must hold at the end, and counts the removals by how they ended.
func (s *schedule) check() (removed, failed int) {
	for name, n := range s.nodes {
		_, leaving := taints.Find(n, taints.ToBeDeleted)
		if leaving || n.Annotations[act.CordonAnnotation] != "" || n.Spec.Unschedulable != s.cordoned[name] {
			s.t.Errorf("node %s is left as %s; cordoned by somebody else: %t", name, describe(n), s.cordoned[name])
		}
	}
	for id, g := range s.groups {
		if g.lowest < 0 {
			s.t.Errorf("group %s fell below its minimum by %d", id, -g.lowest)
		}
	}
	under := map[string]int{}
	for _, event := range s.events {
		words := strings.Fields(event)
		switch words[0] {
		case "begun":
			under[words[1]]++
		case "ended":
			under[words[1]]--
			if words[2] == string(report.RemovalOK) {
				removed++
			} else {
				failed++
			}
		}
		if count := under[words[len(words)-1]]; words[0] == "begun" && count != 1 {
			s.t.Errorf("node %s is being removed %d times at once", words[1], count)
		}
	}
	for name, count := range under {
		if count != 0 {
			s.t.Errorf("of the removals of node %s %d more began than ended", name, count)
		}
	}
	return removed, failed
}

// Invariants 1, 5 and 6, whatever the planner decides and whatever befalls it. The world complains about machines that are ended with pods on them.
func TestARandomScheduleHarmsNothingAndLeavesNothingBehind(t *testing.T) {
	scheduler := simtest.Scheduler(t)
	seeds := uint64(150)
	if slow || testing.Short() {
		seeds = 20
	}
	removed, failed, drains := 0, 0, 0
	for seed := range seeds {
		s := newSchedule(t, scheduler, seed)
		s.playOut()
		ok, undone := s.check()
		removed, failed, drains = removed+ok, failed+undone, drains+s.drains
		if t.Failed() {
			t.Fatalf("seed %d (calm: %t); the last of the log:\n%s", seed, s.calm, strings.Join(s.log[max(0, len(s.log)-60):], "\n"))
		}
	}
	t.Logf("%d nodes removed, %d removals undone, %d drains planned", removed, failed, drains)
	if least := int(seeds); removed < least || failed < least || drains < least { //nolint:gosec // small
		t.Errorf("%d nodes removed, %d removals undone, %d drains planned: the test proves nothing", removed, failed, drains)
	}
}
