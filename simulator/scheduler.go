package simulator

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
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
	disabled    func(plugin string) bool
	namespaces  corelisters.NamespaceLister

	// rules are the plug-ins that filter, in order. framework: only the framework is asked, about everything.
	rules     []rule
	framework bool
	// ignored and ignoredGroups are extended resources that don't count, addedKeys the labels of nodes that an added affinity reads.
	ignored, ignoredGroups, addedKeys []string
	// spreadsByDefault: pods without spread constraints get hard ones, by their owners and Services.
	spreadsByDefault bool

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
	s := &Scheduler{
		parallelism: options.Parallelism, disabled: options.Disabled, question: &question{snapshot: NewSnapshot()},
		namespaces: factory.Core().V1().Namespaces().Lister(),
	}
	// The framework runs a goroutine for metrics that nobody records here, until its context ends.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	made := map[string]fwk.Plugin{}
	built, err := runtime.NewFramework(ctx, gated(recorded(plugins.NewInTreeRegistry(), made), options.Disabled), profile,
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
	s.learn(built.ListPlugins(), made, profile)
	s.framework = s.framework || options.FrameworkOnly
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
	known := snap.know(pod)
	q, err := s.query(ctx, snap, known)
	if err != nil {
		return nil, fmt.Errorf("checking pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if q != nil {
		return q.check(ctx, known, n)
	}
	a, rejection, err := s.begin(ctx, known)
	if err != nil || rejection != nil {
		return rejection, err
	}
	status := a.judge(ctx, n)
	if status.IsError() {
		return nil, a.broken(n, status)
	}
	return a.rejection(n, status), nil
}

// check is Check by what is known of classes.
func (q *query) check(ctx context.Context, known *knownPod, n *node) (*Rejection, error) {
	fits, err := q.fits(ctx, n)
	if err == nil && fits {
		return nil, nil //nolint:nilnil // no rejection: it fits
	}
	var status *fwk.Status
	if err == nil {
		status, err = q.refusal(ctx, n)
	}
	if err != nil {
		return nil, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", known.pod.Namespace, known.pod.Name, n.object.Name, err)
	}
	return rejectionBy(known, n, status, nil), nil
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
	known   *knownPod
	state   fwk.CycleState
	only    *fwk.PreFilterResult // the nodes that PreFilter left
	by      []string             // the plug-ins that ruled out the others, sorted
}

func newAttempt(filters filters, known *knownPod) *attempt {
	return &attempt{filters: filters, pod: known.pod, known: known, state: framework.NewCycleState()}
}

// begin starts the question about a pod. A rejection is by all nodes.
func (s *Scheduler) begin(ctx context.Context, known *knownPod) (*attempt, *Rejection, error) {
	pod := known.pod
	if podfacts.HasResourceClaims(pod) {
		return nil, &Rejection{Filter: ResourceClaimsNotSimulated, Unresolvable: true}, nil
	}
	s.question.snapshot.looked = true
	a := newAttempt(s.filters, known)
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
	if !a.only.AllNodes() && !a.only.NodeNames.Has(n.object.Name) {
		// In the words of kube-scheduler.
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", a.by))
	}
	return a.filters.RunFilterPlugins(ctx, a.state, a.pod, &n.view)
}

func (a *attempt) broken(n *node, status *fwk.Status) error {
	return fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", a.pod.Namespace, a.pod.Name, n.object.Name, status.AsError())
}

// rejection is what a status says; nil: the pod fits. A nil node stands for all.
func (a *attempt) rejection(n *node, status *fwk.Status) *Rejection {
	return rejectionBy(a.known, n, status, a.by)
}
