package observation

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator"
)

// Observation is what one iteration sees. It is read-only: objects in it are shared with the informers.
//
// Everything a plan may ask is in it; a plan asks neither Kubernetes nor the cloud.
type Observation struct {
	// At is the time of this iteration, the only one its plans know.
	At time.Time

	// Snapshot holds all nodes, and all pods that are scheduled or nominated to one, without the expendable ones. Plans fork it
	// and revert what they did.
	Snapshot *simulator.Snapshot

	// Nodes are all nodes by ascending name, with the readiness overrides applied: a node that is Ready for Kubernetes but not yet
	// for work is replaced by a copy that is not.
	Nodes []*corev1.Node

	// Unschedulable are the pods that wait for room, in ascending order of creation time, namespace and name. Unprocessed are
	// those that no scheduler has judged, of schedulers that --bypassed-scheduler-names lists.
	Unschedulable, Unprocessed []*corev1.Pod
	// Nominated are pods that wait while the scheduler makes room for them on a node, in the same order. They take that room in the Snapshot already, if the
	// node is there. Gated are those that may not be scheduled yet; nil unless Options.Controllers is set.
	Nominated, Gated []*corev1.Pod

	// DaemonSets in ascending order of namespace and name.
	DaemonSets []*appsv1.DaemonSet
	// PodDisruptionBudgets in ascending order of namespace and name.
	PodDisruptionBudgets []*policyv1.PodDisruptionBudget
	// Workloads looks up controllers of pods.
	Workloads Workloads
	// Controllers are those that make pods; empty unless Options.Controllers is set.
	Controllers Controllers

	// Groups are the node groups in the order of the cloud, without those that could not be described at all.
	Groups []Group
	// GroupErrors are the groups that could not be described, by ascending id.
	GroupErrors []cloudprovider.GroupError
	// Members maps the names of nodes to their groups; a node that is missing belongs to none.
	Members map[string]cloudprovider.GroupID
	// Unknown are the nodes whose group could not be told, by ascending name. They are neither managed nor foreign: leave them alone.
	Unknown []UnknownNode
	// Gone holds the names of nodes whose machine does not exist any more.
	Gone map[string]bool
	// GPULabel is the key that marks nodes with accelerators; empty: the cloud has none.
	GPULabel string
	// GPUTypes are the values of that label that the cloud knows, ascending.
	GPUTypes []string
	// BookkeepingLabels are the keys of labels that say nothing about what a node is good for, as the cloud names them; nil: it names none.
	BookkeepingLabels []string
	// Limits are the cluster-wide limits in force.
	Limits cloudprovider.ResourceLimits

	// Deletions are the removals in progress as of before the cloud was refreshed, by ascending node name.
	Deletions []Deletion

	// Features are the optional sources and whether they could be read, by ascending name.
	Features []Feature
}

// Group is one node group as the plans see it.
type Group struct {
	ID cloudprovider.GroupID
	cloudprovider.GroupState
	// Options are in force for this group: the flags with the group's overrides.
	Options GroupOptions
	// Variants are the templates by the cloud, possibly none. Plans use the templates that processors/nodeinfos makes of
	// them and of live nodes. The objects are shared: copy before changing.
	Variants []cloudprovider.TemplateVariant
	// TemplateErr says why Variants is empty; nil if it is not, or if the provider has no templates at all.
	TemplateErr error
	// Stale is set while the group is known from older data only; it must not be written to.
	Stale error
}

// GroupOptions are the options that a group can override, with all values in force.
type GroupOptions struct {
	ScaleDownUtilizationThreshold    float64       // share of allocatable, 0 to 1
	ScaleDownGPUUtilizationThreshold float64       // share of allocatable, 0 to 1
	ScaleDownUnneededTime            time.Duration // how long a ready node must be unneeded
	ScaleDownUnreadyTime             time.Duration // how long an unready node must be unneeded
	MaxNodeProvisionTime             time.Duration // from the request until the node must have registered
	MaxNodeStartupTime               time.Duration // from registration until the node must be ready
	IgnoreDaemonSetsUtilization      bool
	ZeroOrMaxNodeScaling             bool
	AllowNonAtomicScaleUpToMax       bool
}

// Override returns the options with those set that the group brings.
func (o GroupOptions) Override(by cloudprovider.OptionOverrides) GroupOptions {
	set(&o.ScaleDownUtilizationThreshold, by.ScaleDownUtilizationThreshold)
	set(&o.ScaleDownGPUUtilizationThreshold, by.ScaleDownGPUUtilizationThreshold)
	set(&o.ScaleDownUnneededTime, by.ScaleDownUnneededTime)
	set(&o.ScaleDownUnreadyTime, by.ScaleDownUnreadyTime)
	set(&o.MaxNodeProvisionTime, by.MaxNodeProvisionTime)
	set(&o.MaxNodeStartupTime, by.MaxNodeStartupTime)
	set(&o.IgnoreDaemonSetsUtilization, by.IgnoreDaemonSetsUtilization)
	set(&o.ZeroOrMaxNodeScaling, by.ZeroOrMaxNodeScaling)
	set(&o.AllowNonAtomicScaleUpToMax, by.AllowNonAtomicScaleUpToMax)
	return o
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Workloads looks up the controllers of pods. ok is false where the object does not exist; err is set where this cannot be told.
type Workloads interface {
	ReplicationController(namespace, name string) (rc *corev1.ReplicationController, ok bool, err error)
	ReplicaSet(namespace, name string) (rs *appsv1.ReplicaSet, ok bool, err error)
	StatefulSet(namespace, name string) (ss *appsv1.StatefulSet, ok bool, err error)
	DaemonSet(namespace, name string) (ds *appsv1.DaemonSet, ok bool, err error)
	Job(namespace, name string) (job *batchv1.Job, ok bool, err error)
}

// Controllers are objects that make pods, kind by kind in ascending order of namespace and name. A kind that cannot be read is empty; Features says so.
type Controllers struct {
	ReplicaSets  []*appsv1.ReplicaSet
	StatefulSets []*appsv1.StatefulSet
	Jobs         []*batchv1.Job
}

// UnknownNode is a node whose group could not be told, and why.
type UnknownNode struct {
	Node string
	Err  error
}

// Deletion is the removal of one node in progress.
type Deletion struct {
	Node  string
	Group cloudprovider.GroupID
	// Drain is true if pods have to be moved, false for an empty node.
	Drain bool
	// Since is when the node was tainted for it.
	Since time.Time
	// Accepted is true once the cloud has taken the order to end the machine.
	Accepted bool
}

// Feature is one optional source of knowledge and whether it can be read.
type Feature struct {
	// Name is the resource, such as "persistentvolumeclaims" or "resourceclaims.resource.k8s.io".
	Name string
	// Err says why it is off; nil: it is on.
	Err error
	// Since is when it went on or off.
	Since time.Time
}

// GroupOf returns the group of the id; ok is false if it is not among the groups.
func (o Observation) GroupOf(id cloudprovider.GroupID) (group Group, ok bool) {
	for i := range o.Groups {
		if o.Groups[i].ID == id {
			return o.Groups[i], true
		}
	}
	return Group{}, false
}
