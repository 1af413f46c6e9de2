package simulator

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Scheduler answers whether pods fit, by the PreFilter and Filter plug-ins of the real scheduler framework. No scores, no
// preemption. Safe for concurrent use, one question at a time; the snapshots asked about are not.
type Scheduler struct {
	filters     filters
	parallelism int

	mu       sync.Mutex
	question *question // guarded by mu
}

// Options configure a Scheduler.
type Options struct {
	// Profile is the scheduler profile to follow; the zero value is kube-scheduler's default one.
	Profile Profile
	// Parallelism is how many nodes are looked at at once, at least 1. It does not change any answer.
	Parallelism int
	// FrameworkOnly asks the framework about every pod and node, instead of taking what follows from earlier answers and from
	// arithmetic. The answers are the same (--simulator-fast-path=false).
	FrameworkOnly bool
	// Without names plug-ins that are left out because an API that they need is absent (see PluginsNeeding).
	Without []string
	// Disabled says of a plug-in whether it is out of action now; nil: none ever is. It is asked at every question, so that a plug-in can
	// go while what it needs cannot be read (see PluginsNeeding) and come back. It must be quick and safe for concurrent use.
	Disabled func(plugin string) bool
}

// initMetrics makes the instruments that the framework counts with. They are never registered, hence count nothing; without
// them the first call would panic. kube-scheduler keeps them in package variables, so this too is for the whole process.
var initMetrics = sync.OnceFunc(metrics.InitMetrics) //nolint:gochecknoglobals // guards globals of kube-scheduler

// NewScheduler builds the framework on the factory, whose informers it registers: start the factory afterwards, or again. One factory
// takes one Scheduler. It does no I/O and leaves no goroutine behind; ctx carries the logger.
func NewScheduler(ctx context.Context, factory informers.SharedInformerFactory, options Options) (*Scheduler, error) {
	if options.Parallelism < 1 {
		return nil, fmt.Errorf("making a scheduler: parallelism is %d, at least 1 is expected", options.Parallelism)
	}
	profile, err := options.Profile.restricted(options.Without)
	if err != nil {
		return nil, err
	}
	initMetrics()
	s := &Scheduler{parallelism: options.Parallelism, question: &question{snapshot: NewSnapshot()}}
	// The framework runs a goroutine for metrics that nobody records here, until its context ends.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	built, err := runtime.NewFramework(ctx, gated(plugins.NewInTreeRegistry(), options.Disabled), profile,
		runtime.WithInformerFactory(factory),
		runtime.WithSnapshotSharedLister(sharedLister{s.question}),
		runtime.WithSharedCSIManager(csiManager{s.question}),
		runtime.WithSharedDRAManager(noDevices{}),
		runtime.WithParallelism(options.Parallelism),
		// Building says much that matters to nobody here.
		runtime.WithLogger(klog.FromContext(ctx).V(4)),
	)
	if err != nil {
		return nil, fmt.Errorf("making a scheduler: %w", err)
	}
	stop()
	runtime.WaitForShutdown(built)
	s.filters = built
	return s, nil
}

// Check asks whether the pod fits on the node; a nil Rejection means that it does. A node that does not exist and a plug-in that breaks are
// errors.
func (s *Scheduler) Check(ctx context.Context, snap *Snapshot, pod *corev1.Pod, nodeName string) (*Rejection, error) {
	n, err := snap.find(nodeName)
	if err != nil {
		return nil, fmt.Errorf("checking pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	s.ask(snap)
	defer s.answered()
	a, rejection, err := s.begin(ctx, pod)
	if err != nil || rejection != nil {
		return rejection, err
	}
	status := a.judge(ctx, n)
	if status.IsError() {
		return nil, a.broken(n, status)
	}
	return a.rejection(n, status), nil
}

// Place is Check and, if the pod fits, AddPod.
func (s *Scheduler) Place(ctx context.Context, snap *Snapshot, pod *corev1.Pod, nodeName string) (*Rejection, error) {
	rejection, err := s.Check(ctx, snap, pod, nodeName)
	if err != nil || rejection != nil {
		return rejection, err
	}
	return rejection, snap.AddPod(pod, nodeName)
}

func (s *Scheduler) ask(snap *Snapshot) {
	s.mu.Lock()
	s.question.snapshot = snap
}

func (s *Scheduler) answered() { s.mu.Unlock() }

// attempt is the question about one pod after PreFilter. It is used once: the state belongs to the snapshot as it is.
type attempt struct {
	filters filters
	pod     *corev1.Pod
	state   fwk.CycleState
	only    *fwk.PreFilterResult // the nodes that PreFilter left
	by      []string             // the plug-ins that ruled out the others, sorted
}

func newAttempt(filters filters, pod *corev1.Pod) *attempt {
	return &attempt{filters: filters, pod: pod, state: framework.NewCycleState()}
}

// begin starts the question about a pod. A rejection is by all nodes.
func (s *Scheduler) begin(ctx context.Context, pod *corev1.Pod) (*attempt, *Rejection, error) {
	if podfacts.HasResourceClaims(pod) {
		return nil, &Rejection{Filter: ResourceClaimsNotSimulated, Unresolvable: true}, nil
	}
	a := newAttempt(s.filters, pod)
	status := a.preFilter(ctx)
	if !status.IsSuccess() && !status.IsRejected() {
		return nil, nil, fmt.Errorf("asking where pod %s/%s fits: %w", pod.Namespace, pod.Name, status.AsError())
	}
	return a, a.rejection(nil, status), nil
}

// preFilter judges the pod without looking at a single node.
func (a *attempt) preFilter(ctx context.Context) *fwk.Status {
	only, status, by := a.filters.RunPreFilterPlugins(ctx, a.state, a.pod)
	a.only, a.by = only, sets.List(by)
	return status
}

// judge runs the filters on the node. It may run for several nodes at once.
func (a *attempt) judge(ctx context.Context, n *node) *fwk.Status {
	if !a.only.AllNodes() && !a.only.NodeNames.Has(n.info.Node().Name) {
		// In the words of kube-scheduler.
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", a.by))
	}
	return a.filters.RunFilterPlugins(ctx, a.state, a.pod, n.info)
}

func (a *attempt) broken(n *node, status *fwk.Status) error {
	return fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", a.pod.Namespace, a.pod.Name, n.info.Node().Name, status.AsError())
}

// Search says where PlaceAnywhere looks.
type Search struct {
	// StartAfter is the index of the last match: the search starts at the node behind it and wraps around. A new
	// search starts with 0, hence at index 1; -1 starts at index 0.
	StartAfter int
	// Accept says whether a node may be taken at all; nil: every node. Nodes that it refuses are not reported. It is never called for
	// two nodes at once.
	Accept func(*corev1.Node) bool
}

// Placement is where a pod was placed.
type Placement struct {
	Node  string // empty: nowhere
	Index int    // of the node in canonical order; what the next search takes as StartAfter
}

// PlaceAnywhere places the pod on the first node in search order on which it fits: nodes in canonical order, from the one behind
// StartAfter and around; cordoned nodes are never taken, even by pods that tolerate that. Where it fits nowhere the Placement has no Node, and the
// rejections say why, one per acceptable node in search order, or a single one without node name if no node had to be looked at. A plug-in
// that breaks on a node before a fitting one is found is an error, as is the end of ctx.
func (s *Scheduler) PlaceAnywhere(ctx context.Context, snap *Snapshot, pod *corev1.Pod, search Search) (Placement, []NodeRejection, error) {
	placement, rejections, err := s.search(ctx, snap, pod, search)
	if err != nil || placement.Node == "" {
		return Placement{}, rejections, err
	}
	if err := snap.AddPod(pod, placement.Node); err != nil {
		return Placement{}, nil, err
	}
	return placement, nil, nil
}

func (s *Scheduler) search(ctx context.Context, snap *Snapshot, pod *corev1.Pod, search Search) (Placement, []NodeRejection, error) {
	s.ask(snap)
	defer s.answered()
	a, rejection, err := s.begin(ctx, pod)
	if err != nil {
		return Placement{}, nil, err
	}
	if rejection != nil {
		return Placement{}, []NodeRejection{{Rejection: *rejection}}, nil
	}
	sc := newScan(a, snap.index.order, search)
	found, err := sc.run(ctx, s.parallelism)
	if err != nil {
		return Placement{}, nil, err
	}
	if found < 0 {
		return Placement{}, sc.rejections(), nil
	}
	return Placement{Node: snap.index.order[found].info.Node().Name, Index: found}, nil, nil
}

// rejection is what a status says; nil: the pod fits. A nil node stands for all.
func (a *attempt) rejection(n *node, status *fwk.Status) *Rejection {
	if status.IsSuccess() {
		return nil
	}
	plugin := status.Plugin()
	if plugin == "" && len(a.by) > 0 {
		plugin = a.by[0]
	}
	reasons := slices.Sorted(slices.Values(status.Reasons()))
	r := &Rejection{
		Filter: filterCode(plugin, reasons), Plugin: plugin, Reasons: reasons,
		Unresolvable: status.Code() == fwk.UnschedulableAndUnresolvable,
	}
	if n == nil {
		return r
	}
	switch r.Filter {
	case InsufficientResource:
		r.Short = shortages(a.pod, n.info, reasons)
	case TaintNotTolerated:
		r.Taint = untolerated(a.pod, n.info.Node())
	default: // the others carry no numbers
	}
	return r
}
