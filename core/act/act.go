package act

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/drain"
)

// Cloud finds the node groups that are written to. A cloudprovider.CloudProvider is one.
type Cloud interface {
	NodeGroups() []cloudprovider.NodeGroup
}

// NodeWriter reads and writes nodes at the API server. Errors keep their API status, so that apierrors.IsNotFound and
// apierrors.IsConflict work.
type NodeWriter interface {
	Node(ctx context.Context, name string) (*corev1.Node, error)
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
}

// Evictor moves pods away through the eviction API. Errors keep their API status. A pod that was replaced by another one of
// the same name since is not touched (conflict).
type Evictor interface {
	Evict(ctx context.Context, pod *corev1.Pod, graceSeconds int64) error
}

// LiveReader reads from the API server what decides whether a machine may be ended. Errors keep their API status.
type LiveReader interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	PodsOn(ctx context.Context, node string) ([]*corev1.Pod, error)
	Nodes(ctx context.Context) ([]*corev1.Node, error)
}

// Kube is all that the Actuator asks of the API server. Every write of the program to Kubernetes objects other than events and
// its own status goes through it, so that a client that writes nothing can take its place.
type Kube interface {
	NodeWriter
	Evictor
	LiveReader
}

// Lister answers from the informers: seconds old at most, and cheap. Objects are shared and must not be changed.
type Lister interface {
	// Node returns the node; ok is false if there is none.
	Node(name string) (node *corev1.Node, ok bool)
	// Pods lists the pods whose spec.nodeName is the node, in any order.
	Pods(node string) ([]*corev1.Pod, error)
	// PodsMatching lists the pods of the namespace that the selector selects, in any order.
	PodsMatching(namespace string, selector labels.Selector) ([]*corev1.Pod, error)
	// PodDisruptionBudgets lists all of them, in any order.
	PodDisruptionBudgets() ([]*policyv1.PodDisruptionBudget, error)
}

// Collaborators are what an Actuator works with; all are required.
type Collaborators struct {
	Cloud     Cloud
	Kube      Kube
	Lister    Lister
	Workloads drain.Workloads
	Observer  Observer
	// Clock stamps taints and outcomes, and waits between attempts of the calls that are not made in Step.
	Clock clock.WithTicker
}

// Options are the settings of an Actuator.
type Options struct {
	ScaleDown  config.ScaleDown
	Drain      config.Drain
	SoftTaints config.SoftTaints
	Pods       config.Pods
	// Minimums are what the cluster keeps of each resource: cores, bytes of memory, accelerators by their type. 0 or nil: nothing.
	Minimums map[string]int64
	// EvictedPodTTL is for how long evicted pods are remembered for Evicted; 0: not at all. No flag sets it.
	EvictedPodTTL time.Duration
	// MaxNodeProvisionTime is from the request until the node must have registered, for groups that do not say otherwise.
	MaxNodeProvisionTime time.Duration
	// Parallelism is how many calls of one kind are made at once, at least 1. With 1 all calls are made in a fixed order.
	Parallelism int
	// ParallelScaleUp asks for all nodes of a plan at once, however many groups there are, and does not stop at a failure. It does so one after the other
	// if Parallelism is 1.
	ParallelScaleUp bool
	// KubeTimeout and CloudTimeout bound each single call.
	KubeTimeout, CloudTimeout time.Duration
}

// What NewOptions sets.
const (
	// DefaultParallelism is how many nodes are tainted at once.
	DefaultParallelism = 5
	// DefaultKubeTimeout is above the API server's own limit for a mutating webhook (30 s).
	DefaultKubeTimeout = 40 * time.Second
	// DefaultCloudTimeout leaves time for the retries of a cloud's client library.
	DefaultCloudTimeout = time.Minute
)

// NewOptions takes from the command line's options what an Actuator needs.
func NewOptions(from config.Options) Options {
	return Options{
		ScaleDown: from.ScaleDown, Drain: from.Drain, SoftTaints: from.SoftTaints, Pods: from.Pods,
		Minimums:             minimums(from.Limits),
		MaxNodeProvisionTime: from.NodeGroupDefaults.MaxNodeProvisionTime, ParallelScaleUp: from.ScaleUp.Parallel,
		Parallelism: DefaultParallelism, KubeTimeout: DefaultKubeTimeout, CloudTimeout: DefaultCloudTimeout,
	}
}

// Actuator does what was decided. Repair, Resize, Shrink, SoftTaints and CleanLeftovers are called by the main loop, one at a
// time; Step, or Run, by one goroutine beside it; Deletions, Evicted and Finished by anybody.
type Actuator struct {
	cloud     Cloud
	kube      Kube
	lister    Lister
	workloads drain.Workloads
	observer  Observer
	clock     clock.WithTicker
	options   Options

	newcomers newcomers

	// wake makes Run look for work before its timer fires.
	wake chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// crews do the removals, one crew per node group, so that a slow or failing group delays no other.
	crews map[cloudprovider.GroupID]*crew
	// active are the removals in progress, by node.
	active map[string]observation.Deletion
	// chores are nodes whose taint is still to be taken away after their removal has ended.
	chores chores
	// accepted are the removals that the cloud has taken over lately, by node.
	accepted map[string]acceptedRemoval
	// latencies are how long taints took to show in the informers, oldest first; kept if the pause after the taint follows them.
	latencies []latency
	finished  []report.RemovalOutcome
	// evicted are the pods that were evicted lately.
	evicted []scaledown.Evicted
	stopped bool
}

// New returns an Actuator without any work. It starts nothing.
func New(with Collaborators, options Options) *Actuator {
	options.Parallelism = max(1, options.Parallelism)
	return &Actuator{
		cloud: with.Cloud, kube: with.Kube, lister: with.Lister, workloads: with.Workloads, observer: with.Observer, clock: with.Clock,
		options:   options,
		newcomers: newcomers{looked: map[string]look{}},
		wake:      make(chan struct{}, 1),
		crews:     map[cloudprovider.GroupID]*crew{},
		active:    map[string]observation.Deletion{},
		chores:    chores{by: map[string]chore{}},
		accepted:  map[string]acceptedRemoval{},
	}
}

// group finds a node group in the newest view; nil: there is none of this id.
func (a *Actuator) group(id cloudprovider.GroupID) cloudprovider.NodeGroup {
	for _, group := range a.cloud.NodeGroups() {
		if group != nil && group.ID() == id {
			return group
		}
	}
	return nil
}

// state is the newest that can be learnt about the group: from the cloud if the provider can read single groups, else from the view.
func (a *Actuator) state(ctx context.Context, group cloudprovider.NodeGroup) (cloudprovider.GroupState, error) {
	reader, ok := group.(cloudprovider.StateReader)
	if !ok {
		return group.State(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	return reader.ReadState(ctx)
}

// signal makes Run look for work now.
func (a *Actuator) signal() {
	select {
	case a.wake <- struct{}{}:
	default: // it will look anyway
	}
}
