package act_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// start is when every test begins.
var start = simtest.Epoch.Add(24 * time.Hour)

var nodeResource = schema.GroupResource{Resource: "nodes"}

// world is a Kubernetes cluster and a cloud in memory. The informers are as new as the API server, unless a pod is hidden from them.
type world struct {
	t     testing.TB
	clock clock.PassiveClock

	mu     sync.Mutex
	nodes  map[string]*corev1.Node
	pods   map[string]*corev1.Pod // by name
	pdbs   []*policyv1.PodDisruptionBudget
	groups map[cloudprovider.GroupID]*group
	log    []string
	events []string

	// Faults and behaviours:

	conflicts  map[string]int           // so many updates of the node meet a conflict
	updateErr  map[string]error         // updates of the node fail
	lostAnswer map[string]bool          // the next update of the node is carried out and its answer lost
	unmarkErr  map[string]error         // updates of the node that take the deletion taint away fail
	refuse     map[string]func() error  // says what the eviction of the pod meets; nil: it is accepted
	stops      map[string]time.Duration // how long the pod takes to be gone after its eviction
	endsAt     map[string]time.Time     // when the pod will be gone
	lag        time.Duration            // how long the informers take to show an update of a node
	shows      map[string]shown         // what they show meanwhile
	evictErr   error                    // every eviction fails
	listErr    error                    // the informers cannot list pods
	budgetErr  error                    // nor budgets
	nodeErr    error                    // nodes cannot be read at the API server
	nodesErr   error                    // nor listed
	podErr     error                    // pods of a node cannot be listed at the API server
	hidden     map[string]bool          // pods that the informers don't know yet
	onEviction func(pod string)
	onUpdate   func(node string)
	plans      []planned // what the test wants to happen later
}

type planned struct {
	at time.Time
	do func()
}

// shown is a node as the informers know it until they hear of an update.
type shown struct {
	node  *corev1.Node
	until time.Time
}

// later makes something happen at a time after the start, before anything looks at the world.
func (w *world) later(after time.Duration, do func()) {
	w.plans = append(w.plans, planned{start.Add(after), do})
}

func newWorld(t testing.TB, c clock.PassiveClock) *world {
	return &world{
		t: t, clock: c, nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, groups: map[cloudprovider.GroupID]*group{},
		conflicts: map[string]int{}, lostAnswer: map[string]bool{}, updateErr: map[string]error{}, unmarkErr: map[string]error{}, refuse: map[string]func() error{},
		shows: map[string]shown{}, stops: map[string]time.Duration{}, endsAt: map[string]time.Time{}, hidden: map[string]bool{},
	}
}

// add puts nodes of the group into cluster and cloud.
func (w *world) add(id cloudprovider.GroupID, builders ...simtest.NodeBuilder) *group {
	g := w.groups[id]
	if g == nil {
		g = &group{w: w, id: id, state: cloudprovider.GroupState{Max: 10}}
		w.groups[id] = g
	}
	for _, builder := range builders {
		n := builder.Build()
		n.ResourceVersion = "1"
		w.nodes[n.Name] = n
		g.state.Target++
		g.state.Instances = append(g.state.Instances, cloudprovider.Instance{ID: n.Spec.ProviderID, State: cloudprovider.InstanceRunning})
	}
	return g
}

func (w *world) run(builders ...simtest.PodBuilder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, builder := range builders {
		p := builder.Build()
		w.pods[p.Name] = p
	}
}

// note writes down what happened and when, in seconds since the start.
func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v ", w.clock.Since(start).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) takeLog() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

// settle lets pods be gone whose time is over.
func (w *world) settle() {
	w.plans = slices.DeleteFunc(w.plans, func(p planned) bool {
		due := !w.clock.Now().Before(p.at)
		if due {
			p.do()
		}
		return due
	})
	for name, at := range w.endsAt {
		if !w.clock.Now().Before(at) {
			delete(w.pods, name)
			delete(w.endsAt, name)
		}
	}
}

func (w *world) Node(_ context.Context, name string) (*corev1.Node, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if w.nodeErr != nil {
		return nil, w.nodeErr
	}
	n, ok := w.nodes[name]
	if !ok {
		return nil, apierrors.NewNotFound(nodeResource, name)
	}
	return n.DeepCopy(), nil
}

func (w *world) UpdateNode(_ context.Context, n *corev1.Node) (*corev1.Node, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old, ok := w.nodes[n.Name]
	_, marked := taints.Find(n, taints.ToBeDeleted)
	switch {
	case !ok:
		return nil, apierrors.NewNotFound(nodeResource, n.Name)
	case w.conflicts[n.Name] > 0, n.ResourceVersion != old.ResourceVersion:
		w.conflicts[n.Name]--
		w.note("conflict %s", n.Name)
		return nil, apierrors.NewConflict(nodeResource, n.Name, errors.New("it changed"))
	case w.updateErr[n.Name] != nil:
		return nil, w.updateErr[n.Name]
	case !marked && w.unmarkErr[n.Name] != nil:
		return nil, w.unmarkErr[n.Name]
	}
	w.note("update %s %s", n.Name, describe(n))
	n = n.DeepCopy()
	n.ResourceVersion += "1"
	w.nodes[n.Name] = n
	if w.lag > 0 {
		w.shows[n.Name] = shown{node: old, until: w.clock.Now().Add(w.lag)}
	}
	if w.onUpdate != nil {
		w.onUpdate(n.Name)
	}
	if w.lostAnswer[n.Name] {
		delete(w.lostAnswer, n.Name)
		return nil, errors.New("the answer was lost")
	}
	return n.DeepCopy(), nil
}

// describe lists what concerns removals: the taints with their times, the cordon, whose it is.
func describe(n *corev1.Node) string {
	var out []string
	for _, taint := range n.Spec.Taints {
		switch taint.Key {
		case taints.ToBeDeleted:
			out = append(out, "hard")
		case taints.DeletionCandidate:
			out = append(out, "soft")
		}
	}
	if n.Spec.Unschedulable {
		out = append(out, "cordoned")
	}
	if by := n.Annotations[act.CordonAnnotation]; by != "" {
		out = append(out, "by="+by)
	}
	return "[" + strings.Join(out, " ") + "]"
}

func (w *world) look(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.nodes[name]; n != nil {
		return describe(n)
	}
	return "gone"
}

func (w *world) Nodes(context.Context) ([]*corev1.Node, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		out = append(out, w.nodes[name])
	}
	return out, w.nodesErr
}

func (w *world) Evict(_ context.Context, p *corev1.Pod, grace int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	live := w.pods[p.Name]
	if live == nil {
		w.note("evict %s: gone", p.Name)
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, p.Name)
	}
	if live.UID != p.UID {
		w.note("evict %s: another", p.Name)
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, p.Name, errors.New("another UID"))
	}
	if w.evictErr != nil {
		w.note("evict %s: refused", p.Name)
		return w.evictErr
	}
	if refuse := w.refuse[p.Name]; refuse != nil {
		if err := refuse(); err != nil {
			w.note("evict %s: refused", p.Name)
			return err
		}
	}
	w.note("evict %s %d", p.Name, grace)
	end := metav1.NewTime(w.clock.Now().Add(time.Duration(grace) * time.Second))
	ending := live.DeepCopy()
	ending.DeletionTimestamp = &end
	w.pods[p.Name] = ending
	w.endsAt[p.Name] = w.clock.Now().Add(w.stops[p.Name])
	if w.onEviction != nil {
		w.onEviction(p.Name)
	}
	return nil
}

func (w *world) Pod(_ context.Context, _, name string) (*corev1.Pod, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	if p := w.pods[name]; p != nil {
		return p, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

func (w *world) PodsOn(_ context.Context, node string) ([]*corev1.Pod, error) {
	found := w.podsOn(func(p *corev1.Pod) bool { return p.Spec.NodeName == node })
	return found, w.podErr
}

func (w *world) podsOn(wanted func(*corev1.Pod) bool) []*corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	var out []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if wanted(w.pods[name]) {
			out = append(out, w.pods[name])
		}
	}
	return out
}

// listers is the view of the informers.
type listers struct{ w *world }

func (l listers) Node(name string) (*corev1.Node, bool) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.settle()
	if old, behind := l.w.shows[name]; behind && l.w.clock.Now().Before(old.until) {
		return old.node, true
	}
	n, ok := l.w.nodes[name]
	return n, ok
}

func (l listers) Pods(node string) ([]*corev1.Pod, error) {
	return l.w.podsOn(func(p *corev1.Pod) bool { return p.Spec.NodeName == node && !l.w.hidden[p.Name] }), l.w.listErr
}

func (l listers) PodsMatching(namespace string, selector labels.Selector) ([]*corev1.Pod, error) {
	return l.w.podsOn(func(p *corev1.Pod) bool { return p.Namespace == namespace && selector.Matches(labels.Set(p.Labels)) }), nil
}

func (l listers) PodDisruptionBudgets() ([]*policyv1.PodDisruptionBudget, error) {
	return l.w.pdbs, l.w.budgetErr
}

// NodeGroups is the view of the cloud.
func (w *world) NodeGroups() []cloudprovider.NodeGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := []cloudprovider.NodeGroup{nil} // which providers should not return
	for _, id := range slices.Sorted(maps.Keys(w.groups)) {
		switch g := w.groups[id]; {
		case g.fresh != nil:
			out = append(out, readableGroup{g})
		case g.atomic:
			out = append(out, atomicGroup{g})
		case g.created != nil:
			out = append(out, creatableGroup{g})
		default:
			out = append(out, g)
		}
	}
	return out
}

// Observe writes the events down.
func (w *world) Observe(event act.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var text string
	switch e := event.(type) {
	case act.NodeTainted:
		text = "tainted " + e.Node.Name
	case act.TaintFailed:
		text = "taint failed " + e.Node.Name
	case act.TaintCleaned:
		text = fmt.Sprintf("cleaned %s of %s: %v", e.Key, e.Node.Name, e.Err)
	case act.RemovalBegun:
		text = "begun " + e.Removal.Node
	case act.RemovalEnded:
		text = fmt.Sprintf("ended %s %s", e.Outcome.Node, e.Outcome.Result)
	case act.EvictionBegun:
		text = "evicting " + e.Pod.Name
	case act.EvictionEnded:
		text = fmt.Sprintf("evicted %s %t", e.Pod.Name, e.Err == nil)
	case act.ResizeBegun:
		text = fmt.Sprintf("resizing %s %d->%d", e.Resize.Group, e.Resize.From, e.Resize.To)
	case act.WriteRefused:
		text = fmt.Sprintf("refused %s %s", e.Invariant, e.Subject)
	}
	w.events = append(w.events, text)
}

// group is one node group of the cloud. Its calls fail with the errors given, one after the other, and then succeed.
type group struct {
	cloudprovider.NodeGroup
	w     *world
	id    cloudprovider.GroupID
	state cloudprovider.GroupState
	// fresh, if set, is what the cloud says when asked anew.
	fresh     *cloudprovider.GroupState
	freshErr  error
	errs      []error
	nodeErrs  map[string][]error // for single nodes of DeleteNodes
	halves    []half             // how the next calls of DeleteNodes end
	grantLess int
	silent    int           // of so many nodes the outcome is not told
	slow      time.Duration // a deletion takes so long
	lowest    int           // how far the target was lowered below the minimum, as a negative number
	atomic    bool          // whether it can grow by all or nothing
	created   *group        // what comes of creating it; nil: it cannot be created
	meet      func()        // called when it is about to grow
	busy      string        // what the cloud is at in it, if it can be read
}

// half is a call that ends so many machines of those named and then fails. Their nodes stay for a while if lingers is set.
type half struct {
	ends    int
	err     error
	lingers bool
}

// fail carries the call out in part.
func (g *group) fail(h half, refs []cloudprovider.NodeRef) {
	for _, ref := range refs[:min(h.ends, len(refs))] {
		node := g.w.nodes[ref.Name]
		g.state.Target--
		g.w.die(ref.Name)
		if h.lingers {
			g.w.nodes[ref.Name] = node
		}
	}
}

// atomicGroup can grow by all or nothing.
type atomicGroup struct{ *group }

func (g atomicGroup) IncreaseSizeAtomically(_ context.Context, delta int) (int, error) {
	return g.increase("increase atomically", delta)
}

// creatableGroup does not exist until it is created. That fails with the errors given, too.
type creatableGroup struct{ *group }

func (g creatableGroup) Create(context.Context) (cloudprovider.NodeGroup, error) {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	err := g.next()
	g.w.note("create %s: %v", g.id, err)
	if err != nil || g.created.id == "" {
		return nil, err
	}
	return g.created, nil
}

// readableGroup can be read anew, one by one.
type readableGroup struct{ *group }

func (g readableGroup) ReadState(context.Context) (cloudprovider.GroupState, error) {
	return *g.fresh, g.freshErr
}

func (g *group) ID() cloudprovider.GroupID       { return g.id }
func (g *group) State() cloudprovider.GroupState { return g.state }

func (g *group) next() error {
	if len(g.errs) == 0 {
		return nil
	}
	err := g.errs[0]
	g.errs = g.errs[1:]
	return err
}

func (g *group) DeleteNodes(_ context.Context, refs []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	if g.slow > 0 {
		time.Sleep(g.slow)
	}
	return g.delete("delete", refs)
}

func (g *group) delete(verb string, refs []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	var names []string
	for _, ref := range refs {
		names = append(names, ref.Name)
	}
	g.w.settle()
	err := g.next()
	if err == nil && len(g.halves) > 0 {
		g.fail(g.halves[0], refs)
		err, g.halves = g.halves[0].err, g.halves[1:]
	}
	asked := 0
	for _, ref := range refs {
		if g.w.nodes[ref.Name] != nil {
			asked++
		}
	}
	if err == nil && verb == "delete" && g.state.Target-asked < g.state.Min {
		err = &cloudprovider.StaleBoundsError{Group: g.id, Asked: asked, Room: g.state.Target - g.state.Min, Err: errors.New("minimum")}
	}
	g.w.note("%s %s %s: %v", verb, g.id, strings.Join(names, ","), err)
	if err != nil {
		return nil, err
	}
	var out []cloudprovider.DeleteOutcome
	for _, ref := range refs {
		outcome := cloudprovider.DeleteOutcome{Node: ref}
		if errs := g.nodeErrs[ref.Name]; len(errs) > 0 {
			outcome.Err, g.nodeErrs[ref.Name] = errs[0], errs[1:]
		} else if n := g.w.nodes[ref.Name]; n != nil { // else it is gone already
			if n.Spec.ProviderID != ref.ProviderID {
				g.w.t.Errorf("machine %s, which is meant, is gone; node %s is another one", ref.ProviderID, ref.Name)
			}
			g.state.Target--
			g.lowest = min(g.lowest, g.state.Target-g.state.Min)
			g.w.die(ref.Name)
		}
		out = append(out, outcome)
	}
	return out[:len(out)-g.silent], nil
}

// die ends a machine, and complains if it was not drained.
func (w *world) die(node string) {
	for _, p := range w.pods {
		_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
		daemon := len(p.OwnerReferences) > 0 && p.OwnerReferences[0].Kind == "DaemonSet"
		expendable := p.Spec.Priority != nil && *p.Spec.Priority < -10
		ended := w.endsAt[p.Name]
		gone := !ended.IsZero() && !w.clock.Now().Before(ended) || podfacts.IsLongTerminating(p, w.clock.Now())
		if p.Spec.NodeName == node && !mirror && !daemon && !expendable && !gone {
			w.t.Errorf("machine %s is ended with pod %s on it", node, p.Name)
		}
	}
	delete(w.nodes, node)
}

func (g *group) IncreaseSize(_ context.Context, delta int) (int, error) {
	return g.increase("increase", delta)
}

func (g *group) increase(verb string, delta int) (int, error) {
	if g.meet != nil {
		g.meet()
	}
	g.w.mu.Lock()
	defer g.w.mu.Unlock()
	err := g.next()
	g.w.note("%s %s %d: %v", verb, g.id, delta, err)
	if err != nil {
		return 0, err
	}
	g.state.Target += delta - g.grantLess
	return delta - g.grantLess, nil
}

func (g *group) DecreaseTargetSize(_ context.Context, by int) (int, error) {
	err := g.next()
	g.w.note("decrease %s %d: %v", g.id, by, err)
	if err != nil {
		return 0, err
	}
	g.state.Target -= by
	return by, nil
}

// defaults are the flags' defaults, with one call at a time so that the order is fixed.
func defaults() act.Options {
	return act.Options{
		ScaleDown: config.ScaleDown{
			DeletionDelayTimeout: 2 * time.Minute, DeleteDelayAfterTaint: 5 * time.Second, CordonBeforeTerminating: true,
			SkipNodesWithSystemPods: true, SystemPodDisruptionTimeout: time.Hour, SkipNodesWithLocalStorage: true, SkipCustomControllerPods: true,
		},
		Drain:                config.Drain{MaxGracefulTermination: 10 * time.Minute, MaxPodEvictionTime: 2 * time.Minute, DaemonSetsWhenDrained: true},
		SoftTaints:           config.SoftTaints{MaxBulkCount: 10, MaxBulkTime: 3 * time.Second},
		Pods:                 config.Pods{ExpendablePriorityCutoff: -10},
		MaxNodeProvisionTime: 15 * time.Minute,
		Parallelism:          1, KubeTimeout: time.Minute, CloudTimeout: time.Minute,
	}
}

// stage is an Actuator in a world whose time the test moves.
type stage struct {
	*world
	*act.Actuator
	time *clocktesting.FakeClock
}

func newStage(t testing.TB, options act.Options) *stage {
	c := clocktesting.NewFakeClock(start)
	w := newWorld(t, c)
	return &stage{world: w, Actuator: newActuator(w, c, options), time: c}
}

func newActuator(w *world, c clock.WithTicker, options act.Options) *act.Actuator {
	return act.New(act.Collaborators{Cloud: w, Kube: w, Lister: listers{w}, Workloads: everything{}, Observer: w, Clock: c}, options)
}

// play steps the Actuator whenever it asks for it, until the time after the start, or until it has nothing to do.
func (s *stage) play(until time.Duration) {
	s.t.Helper()
	end := start.Add(until)
	for range 10000 {
		next := s.Step(silent(s.t), s.time.Now())
		if next.IsZero() || next.After(end) {
			s.time.SetTime(end)
			return
		}
		if !next.After(s.time.Now()) {
			s.t.Fatalf("asks for a step at %v, which is not later", next)
		}
		s.time.SetTime(next)
	}
	s.t.Fatal("never has nothing to do")
}

// everything finds every controller.
type everything struct{}

func (everything) ReplicationController(string, string) (*corev1.ReplicationController, bool, error) {
	return &corev1.ReplicationController{}, true, nil
}

func (everything) ReplicaSet(string, string) (*appsv1.ReplicaSet, bool, error) {
	return &appsv1.ReplicaSet{}, true, nil
}

func (everything) StatefulSet(string, string) (*appsv1.StatefulSet, bool, error) {
	return &appsv1.StatefulSet{}, true, nil
}

func (everything) DaemonSet(string, string) (*appsv1.DaemonSet, bool, error) {
	return &appsv1.DaemonSet{}, true, nil
}

func (everything) Job(string, string) (*batchv1.Job, bool, error) { return &batchv1.Job{}, true, nil }

// candidate is one node of a plan; with pods it is drained.
func (w *world) candidate(id cloudprovider.GroupID, name string, pods ...string) scaledown.Candidate {
	n := w.nodes[name].DeepCopy()
	c := scaledown.Candidate{
		Node:    n,
		Removal: report.Removal{Node: name, ProviderID: n.Spec.ProviderID, Group: id, Reason: report.Empty},
	}
	for _, p := range pods {
		c.Removal.Drain, c.Removal.Reason = true, report.Underutilized
		c.Removal.Pods = append(c.Removal.Pods, report.PodRef{Namespace: "default", Name: p, UID: types.UID("pod-default-" + p)})
	}
	return c
}

// planOf sorts candidates into the parts of a plan.
func planOf(candidates ...scaledown.Candidate) (plan scaledown.Plan) {
	for _, c := range candidates {
		if c.Removal.Drain {
			plan.Drain = append(plan.Drain, c)
		} else {
			plan.Empty = append(plan.Empty, c)
		}
	}
	return plan
}

func together(c scaledown.Candidate) scaledown.Candidate {
	c.Atomic = true
	return c
}

func node(name string) simtest.NodeBuilder { return simtest.Node(name).ProviderID(name) }

// pod is owned by a ReplicaSet and runs on the node.
func pod(name, on string) simtest.PodBuilder {
	return simtest.Pod(name).OwnedBy("ReplicaSet", "rs").On(on)
}

func tooManyRequests() error {
	return apierrors.NewTooManyRequests("the budget allows no disruption", 10)
}

// results are the outcomes that were fetched, as "node result".
func results(outcomes []report.RemovalOutcome) []string {
	var out []string
	for _, o := range outcomes {
		out = append(out, o.Node+" "+string(o.Result))
	}
	return out
}

func notFound() error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p")
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("another UID"))
}

func sortStrings(all []string) { slices.Sort(all) }

func cancellable(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(silent(t))
}

// silent is the test's context without a log.
func silent(t testing.TB) context.Context { return klog.NewContext(t.Context(), klog.Logger{}) }
