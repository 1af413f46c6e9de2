package cloudprovider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// CloudProvider is one cloud as the autoscaler sees it.
//
// All methods may be called concurrently. Only those that take a context may block or do network I/O; the others answer
// from the immutable view that the latest successful Refresh has put in place, or from an empty view before the first.
type CloudProvider interface {
	// Name is the word that selects this provider in --cloud-provider.
	Name() string

	// Refresh replaces the view by a newer one if the present one is due. It returns an error only if nothing at all
	// could be learnt (no credentials, no network); the old view then stays in force. Trouble with a single group is
	// no error here: it stands in GroupErrors, and the group keeps its last good data or is left out.
	Refresh(ctx context.Context) error

	// NodeGroups lists the groups of the view in a stable order, those of size zero included.
	NodeGroups() []NodeGroup

	// GroupErrors lists the groups of the view that could not be described, in ascending order of their ids. A group
	// may stand in both lists: it is then known from older data and must not be written to.
	GroupErrors() []GroupError

	// GroupOf says which group a node belongs to. The empty id without an error means that the node is not managed.
	// It accepts nodes without a provider id and nodes made from instances that never registered.
	GroupOf(node *corev1.Node) (GroupID, error)

	// Changed wakes the loop: a value arrives, without blocking the sender, when the cloud is known to have changed
	// between two refreshes. The same channel is returned each time; it is never closed. A cloud that has no such
	// knowledge returns nil.
	Changed() <-chan struct{}

	// Cleanup releases what the provider holds. Called once, at exit.
	Cleanup(ctx context.Context) error
}

// NodeGroup is one group of the view it came from: getters keep answering from that view, the methods that take a
// context act on the cloud as it is now. All methods may be called concurrently.
type NodeGroup interface {
	// ID is unique in the cloud and stable for the life of the group.
	ID() GroupID

	// State is the group as of the view. The value is shared and must not be changed.
	State() GroupState

	// Templates returns the variants of a fresh node of this group, at least one when the error is nil; usually exactly
	// one, several where machines of one group may differ (zones, instance types). It may ask the cloud for what the view
	// lacks and blocks for that long; answers are cached by the provider. Every call returns objects that the caller owns.
	// A provider that knows no templates returns ErrNoTemplate.
	Templates(ctx context.Context) ([]TemplateVariant, error)

	// IncreaseSize asks for delta more nodes (delta > 0) and returns when the cloud has accepted the new size, not when nodes
	// exist. granted is how many more nodes the cloud now promises because of this call: delta, or 0 with an error, or less
	// than delta with a StaleBoundsError. A TransientError with OutcomeUnknown may have been carried out.
	IncreaseSize(ctx context.Context, delta int) (granted int, err error)

	// DecreaseTargetSize withdraws up to by nodes (by > 0) that were asked for and never came. It is judged on data read right
	// before the write; the target is never lowered below the number of instances that exist or may still arrive, nor below
	// the minimum. lowered says by how much; 0 without an error means that there was nothing that could safely be withdrawn.
	DecreaseTargetSize(ctx context.Context, by int) (lowered int, err error)

	// DeleteNodes ends exactly these machines and lowers the target by as many. The minimum is checked on fresh data before
	// anything is written: if it would be violated nothing is deleted and a StaleBoundsError returned. Calling it again
	// for a node that is gone or ending is a success. There is one outcome per node, in the order given, whenever err is nil;
	// with err not nil no node was touched.
	DeleteNodes(ctx context.Context, nodes []NodeRef) ([]DeleteOutcome, error)
}

// InstanceChecker is the ability to tell whether the machine behind a node still exists.
type InstanceChecker interface {
	// InstanceExists answers from the view. known is false where the provider cannot tell, for instance for a
	// machine it never saw; exists then means nothing.
	InstanceExists(node *corev1.Node) (exists, known bool)
}

// GPULabeler is the ability to tell nodes with accelerators.
type GPULabeler interface {
	// GPULabel is the key of the node label whose value is the type of the accelerator.
	GPULabel() string
	// GPUTypes lists the known types in ascending order; they bound the values of metric labels.
	GPUTypes() []string
}

// BookkeepingLabeler is the ability to tell which labels of nodes say nothing about what a node is good for.
type BookkeepingLabeler interface {
	// BookkeepingLabels are the keys of labels by which the cloud or its tools tell groups, machines and places apart. Groups that differ in nothing
	// else are similar. A key that ends in * stands for all keys that begin like it.
	BookkeepingLabels() []string
}

// Pricer is the ability to tell what nodes and pods cost. All prices of one provider are in one currency.
type Pricer interface {
	// NodePricePerHour is the price of one such node for one hour.
	NodePricePerHour(node *corev1.Node) (float64, error)
	// PodPricePerHour is the lowest price of the share of a machine that the pod would fill, for one hour.
	PodPricePerHour(pod *corev1.Pod) (float64, error)
}

// GroupPricer is the ability of a Pricer to tell what a group buys next: machines that look the same may be bought in several ways.
type GroupPricer interface {
	// GroupPricePerHour is the price for one hour of the next node of the group, of which node is an example without a machine behind it. An unknown
	// group leaves the node alone to go by. Errors are those of NodePricePerHour.
	GroupPricePerHour(group GroupID, node *corev1.Node) (float64, error)
}

// PriceReader is the ability of a Pricer that has to ask for its prices.
type PriceReader interface {
	// ReadPrices makes the prices of these nodes and pods known to the methods of Pricer. It may ask the cloud and blocks for that long. What it
	// cannot learn, Pricer has an error for.
	ReadPrices(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod)
}

// AtomicIncreaser is the ability of a NodeGroup to grow by all or nothing.
type AtomicIncreaser interface {
	// IncreaseSizeAtomically is IncreaseSize, except that granted is delta or 0.
	IncreaseSizeAtomically(ctx context.Context, delta int) (granted int, err error)
}

// GroupCreator is the ability of a NodeGroup that does not exist in the cloud yet to be created. Its State has Theoretical set.
type GroupCreator interface {
	// Create makes the group and returns it as it is then, of size zero or of what the cloud gives it at first; it may have another id. A group that
	// exists meanwhile is a success. Errors are those of the writes.
	Create(ctx context.Context) (created NodeGroup, err error)
}

// ForceDeleter is the ability of a NodeGroup to end machines without regard to its minimum size.
type ForceDeleter interface {
	// ForceDeleteNodes is DeleteNodes without the check of the minimum.
	ForceDeleteNodes(ctx context.Context, nodes []NodeRef) ([]DeleteOutcome, error)
}

// StateReader is the ability of a NodeGroup to read its state from the cloud now instead of from the view.
type StateReader interface {
	// ReadState asks the cloud, which may block. Errors are those of the writes.
	ReadState(ctx context.Context) (GroupState, error)
}

// GroupReader is the ability of a cloud to read several groups in fewer calls than one by one.
type GroupReader interface {
	// ReadGroups asks the cloud for groups whose state is about to be read or that are about to be written to, which may block. What goes wrong shows when a
	// group is read or written to for itself. Unknown ids are passed over.
	ReadGroups(ctx context.Context, groups []GroupID)
}

// ShrinkChecker is the ability of a NodeGroup to look, before any of its nodes is drained, whether the cloud is at something that they should stay for.
type ShrinkChecker interface {
	// CheckShrink asks the cloud, which may block. held says why no machine of the group is to be ended by choice at present; empty: nothing speaks
	// against it, or the cloud can't tell.
	CheckShrink(ctx context.Context) (held string)
}

// Limiter is the ability to bring cluster-wide limits of the provider's own instead of those of the flags.
type Limiter interface {
	// ResourceLimits returns the limits to use, given those of the flags.
	ResourceLimits(defaults ResourceLimits) ResourceLimits
}

// Notifier is the ability to tell the operator what came up in the cloud between two iterations.
type Notifier interface {
	// Notices hands over what came up since the call before, each once, the oldest first; nil: nothing did. The provider notes a thing when it
	// begins, changes or is over, not each time it is seen again, and keeps a bounded number while nobody asks. It answers at once.
	Notices() []Notice
}
