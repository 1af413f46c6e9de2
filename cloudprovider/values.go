package cloudprovider

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// GroupID names a node group within a cloud.
type GroupID string

// GroupState is one node group as of one view. It is a value that nobody changes after the view was published.
type GroupState struct {
	// Min and Max bound the target size, in nodes.
	Min, Max int
	// Target is the number of nodes the cloud tries to have, those in creation included, those being deleted not.
	Target int
	// Instances lists every machine, creating, failed and ending ones included, and one placeholder for each machine that
	// was asked for and has no id yet. Ids are unique. Order: as the cloud lists them.
	Instances []Instance
	// Options holds what this group overrides; the zero value overrides nothing.
	Options OptionOverrides
	// Theoretical is true for a group that does not exist in the cloud yet.
	Theoretical bool
	// Autoprovisioned is true for a group that an autoscaler created.
	Autoprovisioned bool
	// Suspended says why the cloud would not carry out a write to this group at present; empty: it would.
	Suspended string
	// Held says why no machine of the group should be ended by choice at present, such as an update that replaces them one by one; empty: they may. The
	// group may grow all the same, and machines that failed or never became nodes are ended.
	Held string
	// Shortages are parts of the group in which the cloud is known to have no machines now, also by what it told of other groups; nil: none are known.
	Shortages []Shortage
	// Debug is one line for logs.
	Debug string
}

// Shortage is a kind of machine that a cloud has none of. An empty word stands for all.
type Shortage struct {
	Zone, Type string
	// Until is how long that is to be believed.
	Until time.Time
	// Code is the provider's word for it.
	Code string
}

// Instance is one machine of a group, or the placeholder of one that has no id yet.
type Instance struct {
	// ID equals the spec.providerID that the machine's node has, or will have once it registers.
	ID string
	// State tells the phase of its life; InstanceUnset means: assume it runs.
	State InstanceState
	// Placeholder is true where the machine was asked for but does not exist yet.
	Placeholder bool
	// Error says why the machine will not come or will not work; nil: nothing is wrong.
	Error *InstanceError
	// Held says why the machine is not to be ended by choice, such as that an operator has taken it out of service; empty: it may.
	Held string
	// Doomed says why the cloud is about to end the machine by itself; empty: it is not known to be. Nothing is moved to such a machine.
	Doomed string
	// Zone and Type describe the machine where the cloud knows; empty: unknown.
	Zone, Type string
	// RequestedAt is when the machine was asked for, if the cloud knows; zero: unknown.
	RequestedAt time.Time
}

// InstanceState is the phase of a machine's life.
type InstanceState int

// The phases. InstanceUnset is no state: core then assumes a running machine.
const (
	InstanceUnset InstanceState = iota
	InstanceRunning
	InstanceCreating
	InstanceDeleting
)

// String returns the word used in logs.
func (s InstanceState) String() string {
	switch s {
	case InstanceUnset:
		return "unset"
	case InstanceRunning:
		return "running"
	case InstanceCreating:
		return "creating"
	case InstanceDeleting:
		return "deleting"
	default:
		return fmt.Sprintf("InstanceState(%d)", int(s))
	}
}

// InstanceError says why a machine failed.
type InstanceError struct {
	// Class tells a shortage from everything else.
	Class ErrorClass
	// Code is the provider's own word, used as a metric label and in the status.
	Code string
	// Message is for people.
	Message string
	// Until is the moment before which the same attempt is known to be in vain, such as one beyond a quota; zero: the usual back-off decides.
	Until time.Time
}

// ErrorClass groups the reasons for which machines fail to come.
type ErrorClass int

// The classes; the numbers are those of the external gRPC protocol.
const (
	ErrorClassUnset          ErrorClass = 0
	ErrorClassOutOfResources ErrorClass = 1
	ErrorClassOther          ErrorClass = 99
)

// String returns the word that operators know from events.
func (c ErrorClass) String() string {
	switch c {
	case ErrorClassUnset:
		return ""
	case ErrorClassOutOfResources:
		return "OutOfResource"
	case ErrorClassOther:
		return "Other"
	default:
		return fmt.Sprintf("%d", int(c))
	}
}

// OptionOverrides is what one group says about itself in tags or annotations; nil means: as the flags say.
type OptionOverrides struct {
	ScaleDownUtilizationThreshold    *float64       // share of allocatable, 0 to 1
	ScaleDownGPUUtilizationThreshold *float64       // share of allocatable, 0 to 1
	ScaleDownUnneededTime            *time.Duration // how long a ready node must be unneeded
	ScaleDownUnreadyTime             *time.Duration // how long an unready node must be unneeded
	MaxNodeProvisionTime             *time.Duration // from the request until the node must have registered
	MaxNodeStartupTime               *time.Duration // from registration until the node must be ready
	IgnoreDaemonSetsUtilization      *bool
	ZeroOrMaxNodeScaling             *bool // all nodes or none
	AllowNonAtomicScaleUpToMax       *bool // keep what came of a ZeroOrMax start
}

// Promise says how sure it is that a new machine is of a given variant.
type Promise int

// The degrees of certainty.
const (
	PromiseUnset    Promise = iota
	PromiseCertain          // the cloud will deliver this variant, or each of the certain ones in turn
	PromisePossible         // the cloud may deliver this variant
)

// String returns the word used in logs.
func (p Promise) String() string {
	switch p {
	case PromiseUnset:
		return "unset"
	case PromiseCertain:
		return "certain"
	case PromisePossible:
		return "possible"
	default:
		return fmt.Sprintf("Promise(%d)", int(p))
	}
}

// TemplateVariant is one shape that a fresh node of a group can have. The receiver owns all objects in it.
type TemplateVariant struct {
	// Key tells the variants of a group apart and is stable over refreshes, for example "eu-west-1a" or "eu-west-1a/m6i.large".
	Key string
	// Node is the fresh, ready node: labels, taints, capacity, allocatable, conditions. Its name is not meaningful.
	Node *corev1.Node
	// CSINode holds the attach limits of a fresh node; nil: unknown.
	CSINode *storagev1.CSINode
	// Pods run on a fresh node from the start, such as static pods.
	Pods []*corev1.Pod
	// Weight is how many units of the group's size one such node counts; 0 is read as 1.
	Weight int
	// Promise says whether this variant is certain to come.
	Promise Promise
}

// NodeRef names one machine for the cloud. Of a machine that never registered only ProviderID and Name are set, to the same text.
type NodeRef struct {
	Name        string
	ProviderID  string
	Labels      map[string]string
	Annotations map[string]string
}

// RefOf is the reference to a registered node. The maps are the node's own and must not be changed.
func RefOf(node *corev1.Node) NodeRef {
	return NodeRef{Name: node.Name, ProviderID: node.Spec.ProviderID, Labels: node.Labels, Annotations: node.Annotations}
}

// RefOfInstance is the reference to a machine without a node.
func RefOfInstance(instance Instance) NodeRef {
	return NodeRef{Name: instance.ID, ProviderID: instance.ID}
}

// DeleteOutcome is what became of one node of a DeleteNodes call. With Err nil and Kept empty it ends, or was gone already.
type DeleteOutcome struct {
	Node NodeRef
	Err  error
	// Kept says why the place of a machine that never came was left alone for now, which is no failure: it may still be filled, or the group's minimum
	// holds it. Asking again later may do.
	Kept string
}

// GroupError says that one group could not be described, why, and since when.
type GroupError struct {
	Group GroupID
	Err   error
	Since time.Time
}

// ResourceLimits are the cluster-wide limits per resource name: "cpu" in cores, "memory" in bytes, else a GPU type in pieces.
// A name that is missing is not limited.
type ResourceLimits struct {
	Min, Max map[string]int64
}

// Notice is something about the cloud that the operator has to know or put right. It becomes a line of the log and, with a Reason, an event about the
// autoscaler's status.
type Notice struct {
	// Reason is the reason of the event, one word in upper camel case that begins with the provider's name, for example AWSLaunchFailed; empty: no event.
	Reason string
	// Group is what the notice is about; empty: the whole cloud.
	Group GroupID
	// Message is one sentence for people. Core puts the name of the group before it.
	Message string
	// Normal is true for what is no trouble, such as the end of one.
	Normal bool
}
