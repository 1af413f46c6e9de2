package report

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Report is what one iteration decided and did. It is complete when the iteration ends and is not changed afterwards.
type Report struct {
	// At is the time of the iteration.
	At time.Time
	// Cluster and Groups are the state that the decisions were made on, groups in the order of the cloud.
	Cluster ClusterStatus
	Groups  []GroupStatus
	// Repair, ScaleUp and ScaleDown are the three rounds.
	Repair    Repair
	ScaleUp   ScaleUp
	ScaleDown ScaleDown
	// GroupErrors are the groups that could not be described.
	GroupErrors []cloudprovider.GroupError
	// Features are the sources and whether they can be read, by ascending name.
	Features []Feature
	// Notices are what came up in the cloud and about the expanders' settings before the rounds began; see also those of ScaleUp.
	Notices []Notice
	// MaxNodesTotal is the limit on nodes of the whole cluster; 0: none.
	MaxNodesTotal int
	// Errors are what went wrong with single pods, nodes or groups. They were set aside and the iteration went on.
	Errors []error
}

// Feature is one source of knowledge. Error says why it cannot be read; empty: it can.
type Feature struct {
	Name  string
	Error string
	Since time.Time
}

// Notice is something that the operator has to know or put right. It is told when it comes up and not in every iteration while it lasts.
type Notice struct {
	// ConfigMap is what it is about; the zero value: the cluster as a whole, or Group.
	ConfigMap ObjectRef
	// Group is the node group that it is about; empty: none.
	Group cloudprovider.GroupID
	// Reason is the reason of the event; empty: there is only a line in the log.
	Reason  string
	Message string
	// Normal is true for what is no trouble.
	Normal bool
}

// Text is the message with the name of the group, if it is about one.
func (n Notice) Text() string {
	if n.Group == "" {
		return n.Message
	}
	return "Group " + string(n.Group) + ": " + n.Message
}

// ObjectRef names an object of a namespace.
type ObjectRef struct {
	Namespace, Name string
	UID             types.UID
}

// PodRef names a pod.
type PodRef struct {
	Namespace, Name string
	UID             types.UID
}

// String is namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// NodeCounts counts nodes and instances by their class (loop-and-scale-up 2.2).
type NodeCounts struct {
	Registered, Ready, NotStarted, Suspended, Unready, ResourceUnready int
	// Deleted are registered nodes whose machine is gone or going.
	Deleted int
	// Unregistered and LongUnregistered are instances without a node, before and after the provision time.
	Unregistered, LongUnregistered int
}

// ClusterStatus is the state of the whole cluster.
type ClusterStatus struct {
	// Counts covers all nodes; Managed only those of node groups, on which health is judged.
	Counts, Managed NodeCounts
	Healthy         bool
	// CPU and Memory are the capacity of all nodes that are not being deleted, in milli-CPU and bytes.
	MilliCPU, Memory int64
	// Pending is how many pods waited when the iteration began, before any was filtered out; Unprocessed how many of them
	// no scheduler had judged.
	Pending, Unprocessed int
	// Taints counts the taints of all nodes by kind (operator-surface 2.3, node_taints_count).
	Taints map[string]int
}

// GroupStatus is the state of one group.
type GroupStatus struct {
	Group            cloudprovider.GroupID
	Min, Max, Target int
	Counts           NodeCounts
	Healthy          bool
	// Upcoming is how many nodes are on their way.
	Upcoming int
	// ScalingUp is true while a request of ours is open and nodes are missing.
	ScalingUp bool
	// Backoff is set while the group is backed off.
	Backoff *Backoff
	// SetAside is set while the group is left alone because of an error.
	SetAside *GroupSetAside
	// Unneeded is how many of its nodes are candidates for removal.
	Unneeded int
	// LastProbe is when the group's nodes were last judged; zero: never, for want of any.
	LastProbe time.Time
	// Autoprovisioned is true for a group that an autoscaler created.
	Autoprovisioned bool
	// GPU describes the accelerators of its nodes; the zero value: none.
	GPU GPU
}

// GPU describes accelerators, in the words of metric labels (operator-surface 2.3).
type GPU struct {
	// Resource is the name of the extended resource, Name the type or one of the stand-ins.
	Resource, Name string
}

// Backoff says until when a group is not grown, and why.
type Backoff struct {
	Until time.Time
	Class cloudprovider.ErrorClass
	// Code is a metric label: an error type, "timeout", or the provider's code.
	Code    string
	Message string
}

// RepairKind is what a repair does.
type RepairKind string

// The repairs.
const (
	DeleteUnregistered RepairKind = "DeleteUnregistered" // machines that never became nodes
	DeleteFailed       RepairKind = "DeleteFailed"       // machines that failed to be created
	DecreaseTarget     RepairKind = "DecreaseTarget"     // places that were never filled
	RevertScaleUp      RepairKind = "RevertScaleUp"      // what did not come of a request that timed out
)

// RepairAction is one repair of one group.
type RepairAction struct {
	Kind  RepairKind
	Group cloudprovider.GroupID
	// Nodes are the machines to end; empty for the kinds that lower the target.
	Nodes []cloudprovider.NodeRef
	// By is how many places to withdraw; 0 for the kinds that end machines.
	By int
	// Force is true if the group's minimum does not matter.
	Force bool
	// Age is how long the trouble lasts.
	Age time.Duration
}

// RepairOutcome is what became of a repair.
type RepairOutcome struct {
	RepairAction
	// Outcomes has one entry per node that was handed to the cloud.
	Outcomes []cloudprovider.DeleteOutcome
	// Lowered is by how many places the target went down.
	Lowered int
	// Refused says which invariant forbade the write; empty: none.
	Refused string
	// Err is the cloud's error; nil: none.
	Err error
	// At is when the write was done.
	At time.Time
}

// Repair is the first round.
type Repair struct {
	Outcomes []RepairOutcome
	// TimedOut are the requests whose nodes did not register in time.
	TimedOut []RequestTimeout
	// Failed are the instances whose creation failed since the last iteration, by group and code.
	Failed []FailedInstances
	// Foreign are the changes of targets that somebody else made since the last iteration, in the order of the groups.
	Foreign []TargetChange
}

// TargetChange is a change of a group's target that did not come from this process.
type TargetChange struct {
	Group cloudprovider.GroupID
	// From is what the target would be without it.
	From, To int
}

// RequestTimeout is a request that was not fulfilled in time.
type RequestTimeout struct {
	Group    cloudprovider.GroupID
	Increase int
	After    time.Duration
}

// FailedInstances are new instances of one group that failed to be created for one reason.
type FailedInstances struct {
	Group    cloudprovider.GroupID
	Count    int
	Class    cloudprovider.ErrorClass
	Code     string
	Messages []string // distinct, ascending
}

// distinctMessages is how many different texts are quoted before a hint at more.
const distinctMessages = 3

// Message is one text of all messages; it ends in ", ..." where there are more than three (loop-and-scale-up 2.6a).
func (f FailedInstances) Message() string {
	text := strings.Join(f.Messages, ", ")
	if len(f.Messages) > distinctMessages {
		text += ", ..."
	}
	return text
}

// Resize is a wish to raise the target of one group.
type Resize struct {
	Group         cloudprovider.GroupID
	From, To, Max int
	// Atomic is true if a part of it would be of no use.
	Atomic bool
}

// ResizeOutcome is what became of a Resize. If the group had to be created first, Group is its id since then.
type ResizeOutcome struct {
	Resize
	// Granted is how many nodes the cloud promises because of it.
	Granted int
	// Err is the cloud's error; nil: none.
	Err error
	// At is when the cloud was asked.
	At time.Time
	// Deadline is by when the nodes must have registered.
	Deadline time.Time
}

// ScaleUpResult is the outcome of the second round.
type ScaleUpResult string

// The results (loop-and-scale-up 5.14).
const (
	ScaleUpSuccessful             ScaleUpResult = "Successful"
	ScaleUpError                  ScaleUpResult = "Error"
	ScaleUpNoOptionsAvailable     ScaleUpResult = "NoOptionsAvailable"
	ScaleUpNotNeeded              ScaleUpResult = "NotNeeded"
	ScaleUpNotTried               ScaleUpResult = "NotTried"
	ScaleUpInCooldown             ScaleUpResult = "InCooldown"
	ScaleUpLimitedByMaxNodesTotal ScaleUpResult = "LimitedByMaxNodesTotal"
)

// ScaleUp is the second round.
type ScaleUp struct {
	Result ScaleUpResult
	// Outcomes are the writes, in order.
	Outcomes []ResizeOutcome
	// Options are what could have been done, in the order of the groups.
	Options []Option
	// Estimates are those that were made, in order.
	Estimates []Estimate
	// Skipped are the groups that were not considered, in the order of the cloud.
	Skipped []GroupVerdict
	// Considered is how many groups exist and were looked at, skipped ones included.
	Considered int
	// Pods has one entry per pod that waited, in order. Copies of pods that do not exist yet are not among them.
	Pods []PodVerdict
	// Injected tells of the controllers that miss pods, for which room is made already; nil, not empty, where nobody asked for that.
	Injected []Injection
	// Degraded is set while the search for room takes longer than it may; nil otherwise.
	Degraded *Degradation
	// Recovered is true in the iteration in which that has ended.
	Recovered bool
	// MaxNodesTotal is set to the limit when it stopped or cut the scale-up; 0: it did not.
	MaxNodesTotal int
	// UncountedGPUs are nodes that are labelled as having an accelerator although nobody knows how many, ascending; the limits count none for them.
	UncountedGPUs []string
	// Notices are what came up while choosing.
	Notices []Notice
	// Err is what went wrong; nil: nothing, or see Outcomes.
	Err error
}

// Estimate is one calculation of how many nodes of a group the pods would need, by what went into it.
type Estimate struct {
	Group        cloudprovider.GroupID
	InstanceType string // empty: unknown
	// Kinds of pods were packed, with so many different CPU requests and of so many namespaces.
	Kinds, CPURequests, Namespaces int
}

// Injection is a controller that has yet to create pods, and what became of the copies that stood for them in one iteration. No copy exists outside of it.
type Injection struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Missing is how many pods it has yet to create, Injected how many copies stood for them.
	Missing, Injected int
	// Dropped is how many were left out because of --pod-injection-limit.
	Dropped int
	// Fitting copies have room, now or soon; nodes were bought for Triggered ones; groups could help Awaiting ones; none can help Unhelped ones. What is
	// missing to Injected was left alone.
	Fitting, Triggered, Awaiting, Unhelped int
	// BackedOff is until when the controller is left out because nobody could help its copies; zero: it is not.
	BackedOff time.Time
}

// Degradation says that the search for room for waiting pods did not get through in time (--enable-graceful-degradation).
type Degradation struct {
	// Loops is how many iterations in a row that has been so, this one included.
	Loops int
	// Unreached is how many pods were not looked at; they come first in the next iteration.
	Unreached int
}

// Option is one way to help pods: so many nodes of one group.
type Option struct {
	Group cloudprovider.GroupID
	// Similar are the groups among which the nodes are spread too, in the order of the cloud; nil: none.
	Similar []cloudprovider.GroupID
	Nodes   int
	Pods    int
	// Waste is the mean share of CPU and memory that would stay unused, 0 to 1.
	Waste float64
	// Chosen is true for what the expander took.
	Chosen bool
	// Reason says why it was not taken or came to nothing; nil: it was carried out, or another one was taken before the expander ruled it out.
	Reason Reason
}

// GroupVerdict is the reason why a group was not considered.
type GroupVerdict struct {
	Group  cloudprovider.GroupID
	Reason Reason
}

// PodFate is what became of a waiting pod in one iteration.
type PodFate string

// The fates.
const (
	// PodTriggered: nodes are bought for it.
	PodTriggered PodFate = "Triggered"
	// PodAwaiting: some group could help, but this iteration grew another one.
	PodAwaiting PodFate = "Awaiting"
	// PodUnschedulable: no group can help.
	PodUnschedulable PodFate = "Unschedulable"
	// PodFits: there is room for it, now or soon.
	PodFits PodFate = "Fits"
	// PodLeftAlone: it does not count (yet).
	PodLeftAlone PodFate = "LeftAlone"
)

// PodVerdict is what was decided about one waiting pod.
type PodVerdict struct {
	Pod  PodRef
	Fate PodFate
	// Grown is the group that was grown for it; empty unless Fate is PodTriggered.
	Grown cloudprovider.GroupID
	// Own is the reason that does not depend on a group; nil if there is none. With PodTriggered a NotGuaranteed says that the group may also
	// deliver a node that does not fit, and until when it is not to be tried again for this pod.
	Own Reason
	// Groups are the reasons group by group, in the order of the cloud; groups that could help are missing.
	Groups []GroupVerdict
}

// ScaleDownResult is the outcome of the third round.
type ScaleDownResult string

// The results (scale-down 0.6).
const (
	ScaleDownError        ScaleDownResult = "Error"
	ScaleDownNoNodeDelete ScaleDownResult = "NoNodeDeleted"
	ScaleDownStarted      ScaleDownResult = "NodeDeleteStarted"
	ScaleDownNotTried     ScaleDownResult = "NotTried"
	ScaleDownInCooldown   ScaleDownResult = "InCooldown"
	ScaleDownNoCandidates ScaleDownResult = "NoCandidates"
)

// ScaleDown is the third round.
type ScaleDown struct {
	Result ScaleDownResult
	// CoolDown is set while nothing is removed.
	CoolDown *CoolDown
	// Unneeded are the nodes that could go, in the order found.
	Unneeded []UnneededNode
	// Kept are the nodes that stay, with the reason, by ascending name.
	Kept []NodeVerdict
	// Unreached are the names of the nodes whose turn did not come in the search, in the order in which they would have been looked at.
	Unreached []string
	// Started are the removals that began.
	Started []Removal
	// Finished are the removals that ended since the last iteration.
	Finished []RemovalOutcome
	// Pending is how many removals are in progress after this round.
	Pending int
	// Err is what went wrong when starting removals; nil: nothing.
	Err error
}

// UnneededNode is a node that could go.
type UnneededNode struct {
	Node  string
	Group cloudprovider.GroupID
	Since time.Time
	// Needed is how long it has to be unneeded before it goes.
	Needed time.Duration
	// Drain is true if pods would have to be moved.
	Drain bool
}

// NodeVerdict is the reason why a node stays.
type NodeVerdict struct {
	Node   string
	Group  cloudprovider.GroupID
	Reason Reason
}

// Utilization is how used a node is; the values are shares of allocatable.
type Utilization struct {
	CPU, Memory, GPU float64
	// Resource is the one that decides, Highest its value.
	Resource string
	Highest  float64
}

// RemovalReason is a value of the metric label "reason".
type RemovalReason string

// The reasons of a removal.
const (
	Underutilized RemovalReason = "underutilized"
	Empty         RemovalReason = "empty"
	Unready       RemovalReason = "unready"
)

// Removal is the removal of one node.
type Removal struct {
	Node       string
	ProviderID string
	Group      cloudprovider.GroupID
	Reason     RemovalReason
	// Drain is true if pods are moved; Pods are those, in order.
	Drain bool
	Pods  []PodRef
	// Utilization is how used the node was when the removal was decided.
	Utilization Utilization
}

// RemovalResult is how a removal ended.
type RemovalResult string

// The results (scale-down 5.9).
const (
	RemovalOK              RemovalResult = "Ok"
	RemovalTaintFailed     RemovalResult = "FailedToMarkToBeDeleted"
	RemovalEvictionFailed  RemovalResult = "FailedToEvictPods"
	RemovalDeletionFailed  RemovalResult = "FailedToDelete"
	RemovalInternalFailure RemovalResult = "Internal"
)

// PodEviction is what became of one pod of a drain that failed.
type PodEviction struct {
	Pod PodRef
	// TimedOut is true if its eviction was refused, or its end awaited, for too long.
	TimedOut bool
	// Err is nil if the pod was evicted.
	Err error
}

// RemovalOutcome is what became of a removal.
type RemovalOutcome struct {
	Removal
	Result RemovalResult
	// Err says why it failed; nil if Result is RemovalOK.
	Err error
	// RefusedByCloud is true if it failed because the cloud would not end the machine.
	RefusedByCloud bool
	// Evictions has one entry per pod that had to go, if Result is RemovalEvictionFailed.
	Evictions []PodEviction
	// Started and Ended bound it in time.
	Started, Ended time.Time
}
