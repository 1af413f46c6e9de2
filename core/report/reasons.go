package report

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator"
)

// Code is the stable name of a reason. Codes of node removals are values of a metric label.
type Code string

// Reason says why something was or was not done and carries the numbers that decided it. The set is closed: only types of
// this package implement it. Two equal reasons are equal values for go-cmp.
type Reason interface {
	// Code is the stable name.
	Code() Code
	// String is one clause for people, without names of pods and groups that the context gives already.
	String() string

	reason()
}

// Rejected: a filter of the scheduler refuses the pod on a fresh node of the group. Its code is the name of the filter's kind.
type Rejected struct{ Rejection simulator.Rejection }

// The reasons that concern a whole node group.
type (
	// GroupAtMaxSize: the group cannot grow.
	GroupAtMaxSize struct{ Target, Max int }
	// GroupBackedOff: growing failed lately.
	GroupBackedOff struct {
		Until time.Time
		Why   string // code of the failure
	}
	// GroupUnhealthy: too many of its nodes are missing or unready.
	GroupUnhealthy struct{ Missing, Expected int }
	// GroupSetAside: the group is left alone because of an error, until a time or (zero) until a refresh says otherwise.
	GroupSetAside struct {
		Error string
		// Since is when it was found; zero: unknown.
		Since, Until time.Time
	}
	// NoTemplate: nobody knows what a fresh node of the group looks like.
	NoTemplate struct{ Error string }
	// LimitReached: a cluster-wide limit forbids one more node.
	LimitReached struct {
		Limit     string   // id of the limit, such as "cluster-wide" or "max-nodes-total"
		Resources []string // ascending
	}
	// AtomicOverLimit: the group grows as a whole only, and that is more than a limit allows.
	AtomicOverLimit struct{ Nodes, Room int }
	// NotAllFit: the pods want all or nothing, and not all fit.
	NotAllFit struct{ Fit, Wanted int }
	// DroppedByExpander: another group was the better choice.
	DroppedByExpander struct {
		Expander string // its name in --expander
		Detail   string // the numbers, or why there are none; empty: the option itself says it all
	}
	// ExecutionFailed: the cloud refused.
	ExecutionFailed struct{ Error string }
	// NotGuaranteed: the group may deliver a node for the pod or one that does not fit it.
	NotGuaranteed struct{ Until time.Time }
	// EstimateLimit: the estimate stopped at a limit of nodes or of time before it reached the pod.
	EstimateLimit struct{ Nodes int }
)

// BeingRepaired is the error of a GroupSetAside for one iteration, because a repair has just changed the group. Nothing is wrong with it otherwise.
const BeingRepaired = "it is being repaired"

// The reasons that concern a pod, whatever the group.
type (
	// Upcoming: the pod fits on a node that exists or that is on its way.
	Upcoming struct {
		Node string
		// Group is the group of a node that is on its way; empty: the node exists.
		Group cloudprovider.GroupID
	}
	// WaitingForPreemption: the scheduler has nominated a node.
	WaitingForPreemption struct{ Node string }
	// TooYoung: the pod has to be older before it counts.
	TooYoung struct{ Age, Needed time.Duration }
	// Expendable: the priority is below the cut-off.
	Expendable struct{ Priority, Cutoff int32 }
	// DaemonSetPod: pods of DaemonSets never cause growth.
	DaemonSetPod struct{}
	// OtherScheduler: the pod's scheduler is not among the allowed ones.
	OtherScheduler struct{ Name string }
	// Gated: the pod has scheduling gates.
	Gated struct{}
	// PurchaseOnTheWay: a node was bought for the pod and is given time to get to work.
	PurchaseOnTheWay struct {
		Group cloudprovider.GroupID
		// Until is the end of that time; zero: it begins when the node is there.
		Until time.Time
	}
)

// The reasons that keep a node, with the names of scale-down 1.9.
type (
	// ScaleDownDisabledAnnotation: the node says so.
	ScaleDownDisabledAnnotation struct{}
	// ScaleDownUnreadyDisabled: unready nodes are not removed.
	ScaleDownUnreadyDisabled struct{}
	// NotAutoscaled: the node belongs to no group.
	NotAutoscaled struct{}
	// NotUnneededLongEnough: the node is ready and its time is not over.
	NotUnneededLongEnough struct {
		Since  time.Time
		Needed time.Duration
	}
	// NotUnreadyLongEnough: the node is unready and its time is not over.
	NotUnreadyLongEnough struct {
		Since  time.Time
		Needed time.Duration
	}
	// NodeGroupMinSizeReached: the group would fall below its minimum, counting the deletions in progress.
	NodeGroupMinSizeReached struct{ Size, Deleting, Min int }
	// AtMinSizeBefore: the group is at its minimum already, so that the node was not looked at.
	AtMinSizeBefore struct{ Target, Min int }
	// AtomicScaleDownFailed: the group shrinks as a whole only, and not all of it can go.
	AtomicScaleDownFailed struct{ Removable, Size int }
	// MinimalResourceLimitExceeded: the cluster would fall below a configured minimum.
	MinimalResourceLimitExceeded struct{ Resources []Minimum } // those, ascending
	// CurrentlyBeingDeleted: the node carries a recent deletion taint.
	CurrentlyBeingDeleted struct{ Since time.Time }
	// NotUnderutilized: the node is used more than the threshold.
	NotUnderutilized struct {
		Resource       corev1.ResourceName
		Got, Threshold float64
	}
	// RecentlyUnremovable: the node was found not removable lately; First is what was found then.
	RecentlyUnremovable struct {
		First Reason
		Until time.Time
	}
	// NoPlaceToMovePods: one of its pods fits nowhere else.
	NoPlaceToMovePods struct {
		Pod     PodRef
		Nearest string               // node that lacks least; empty: no candidate at all
		Lacks   *simulator.Rejection // what it lacks; nil with Nearest empty
		// All is as in BlockedByPod.
		All []Blocker `json:",omitempty"`
	}
	// BlockedByPod: one of its pods forbids the drain.
	BlockedByPod struct {
		Pod PodRef
		Why string // blocking reason of scale-down 2.2
		PDB string // namespace/name of the budget, where one blocks
		// Err says what could not be found out about the pod; empty: it is known to block.
		Err string `json:",omitempty"`
		// All is everything that would have to change for the node to go, what takes the fewest pods first, if that is more than the pod; nil
		// also if nobody asked.
		All []Blocker `json:",omitempty"`
	}
	// BlockedByOnCompletionPod: a pod has to end first.
	BlockedByOnCompletionPod struct {
		Pod PodRef
		// More is how many others have to end, too.
		More int `json:",omitempty"`
	}
	// UnexpectedError: something could not be found out.
	UnexpectedError struct{ Error string }
	// NoNodeInfo: the node is not in the snapshot.
	NoNodeInfo struct{}
	// NotReached: the search ended before it came to the node.
	NotReached struct{ Limit string }
	// CoolDown: nothing is removed for a while.
	CoolDown struct {
		// StartedBy is "scale-up", "deletion", "failure" or "young pods", with the group, the nodes or the error, as far as they are known.
		StartedBy string
		Until     time.Time
	}
	// DeletionInProgress: the node is on its way out.
	DeletionInProgress struct{ Since time.Time }
	// ResourceClaimsNotSimulated: a pod on the node has resource claims, whose move cannot be simulated yet.
	ResourceClaimsNotSimulated struct {
		Pod PodRef
		// All is as in BlockedByPod.
		All []Blocker `json:",omitempty"`
	}
)

// Code names the kind of filter that refused.
func (r Rejected) Code() Code { return Code(r.Rejection.Filter) }

// String is the scheduler's own wording; where it has none, it names the plug-in or the kind of filter.
func (r Rejected) String() string {
	switch {
	case len(r.Rejection.Reasons) > 0:
		return strings.Join(r.Rejection.Reasons, ", ")
	case r.Rejection.Plugin != "":
		return "refused by " + r.Rejection.Plugin
	default:
		return string(r.Rejection.Filter)
	}
}

func quote(resources []string) string { return strings.Join(resources, ", ") }

func left(until time.Time) string {
	if until.IsZero() {
		return "until the next refresh says otherwise"
	}
	return "until " + until.UTC().Format(time.RFC3339)
}

// String names the sizes.
func (r GroupAtMaxSize) String() string { return "max node group size reached" }

// String is the wording operators know.
func (r GroupBackedOff) String() string { return "in backoff after failed scale-up" }

// String is the wording operators know.
func (r GroupUnhealthy) String() string { return "not ready for scale-up" }

// String names the error.
func (r GroupSetAside) String() string {
	return fmt.Sprintf("set aside %s: %s", left(r.Until), r.Error)
}

// String names the error, if any.
func (r NoTemplate) String() string {
	if r.Error == "" {
		return "no template for new nodes"
	}
	return "no template for new nodes: " + r.Error
}

// String names limit and resources.
func (r LimitReached) String() string {
	return fmt.Sprintf("exceeded quota: %q, resources: %s", r.Limit, quote(r.Resources))
}

// String is the wording operators know.
func (r AtomicOverLimit) String() string { return "atomic scale-up exceeds cluster node count limit" }

// String is the wording operators know.
func (r NotAllFit) String() string {
	return "not all pods would fit and scale-up is using all-or-nothing strategy"
}

// String is the wording operators know, and what the expander adds.
func (r DroppedByExpander) String() string {
	const known = "expansion options filtered out and no longer considered"
	if r.Detail == "" {
		return known
	}
	return fmt.Sprintf("%s (%s: %s)", known, r.Expander, r.Detail)
}

// String names the error.
func (r ExecutionFailed) String() string { return "scale-up execution failed: " + r.Error }

// String says until when no further attempt is made.
func (r NotGuaranteed) String() string {
	return "the group may or may not deliver a node that fits, no further attempt " + left(r.Until)
}

// String names the limit.
func (r EstimateLimit) String() string { return fmt.Sprintf("estimate ended at %d nodes", r.Nodes) }

// String names the node, or the group that it will come from.
func (r Upcoming) String() string {
	if r.Group != "" {
		return fmt.Sprintf("fits on an upcoming node of %s", r.Group)
	}
	return "fits on " + r.Node
}

// String names the node.
func (r WaitingForPreemption) String() string { return "waits for preemption on " + r.Node }

// String names both ages.
func (r TooYoung) String() string { return fmt.Sprintf("is %s old, not yet %s", r.Age, r.Needed) }

// String names both priorities.
func (r Expendable) String() string {
	return fmt.Sprintf("priority %d is below the cut-off %d", r.Priority, r.Cutoff)
}

// String says what it is.
func (r DaemonSetPod) String() string { return "belongs to a DaemonSet" }

// String names the scheduler.
func (r OtherScheduler) String() string { return fmt.Sprintf("scheduler %q is not allowed", r.Name) }

// String says what it is.
func (r Gated) String() string { return "has scheduling gates" }

// String names the group.
func (r PurchaseOnTheWay) String() string {
	until := "until it is at work"
	if !r.Until.IsZero() {
		until = left(r.Until)
	}
	return fmt.Sprintf("a node of %s was bought for it, no other one %s", r.Group, until)
}

// String names the annotation's effect.
func (r ScaleDownDisabledAnnotation) String() string { return "its annotation forbids removal" }

// String says what forbids it.
func (r ScaleDownUnreadyDisabled) String() string {
	return "it is unready and --scale-down-unready-enabled is off"
}

// String says what it lacks.
func (r NotAutoscaled) String() string { return "it belongs to no node group" }

// String names start and length.
func (r NotUnneededLongEnough) String() string {
	return fmt.Sprintf("unneeded since %s, not yet for %s", r.Since.UTC().Format(time.RFC3339), r.Needed)
}

// String names start and length.
func (r NotUnreadyLongEnough) String() string {
	return fmt.Sprintf("unready and unneeded since %s, not yet for %s", r.Since.UTC().Format(time.RFC3339), r.Needed)
}

// String names the numbers.
func (r NodeGroupMinSizeReached) String() string {
	return fmt.Sprintf("group size %d with %d deletions in progress, minimum %d", r.Size, r.Deleting, r.Min)
}

// String names the numbers.
func (r AtMinSizeBefore) String() string {
	return fmt.Sprintf("group size %d is at its minimum %d", r.Target, r.Min)
}

// String names the numbers.
func (r AtomicScaleDownFailed) String() string {
	return fmt.Sprintf("the group goes as a whole only, %d of %d nodes can", r.Removable, r.Size)
}

// String names the resources and the numbers.
func (r MinimalResourceLimitExceeded) String() string {
	told := make([]string, 0, len(r.Resources))
	for _, of := range r.Resources {
		told = append(told, of.String())
	}
	return "a cluster minimum would be violated: " + strings.Join(told, ", ")
}

// String says since when.
func (r CurrentlyBeingDeleted) String() string {
	return "carries a deletion taint of " + r.Since.UTC().Format(time.RFC3339)
}

// String names the numbers.
func (r NotUnderutilized) String() string {
	return fmt.Sprintf("%s utilisation %.3g is above %.3g", r.Resource, r.Got, r.Threshold)
}

// String says what was found first.
func (r RecentlyUnremovable) String() string {
	if r.First == nil {
		return "not looked at again " + left(r.Until)
	}
	return fmt.Sprintf("%s (not looked at again %s)", r.First, left(r.Until))
}

// String names the pod and the nearest miss.
func (r NoPlaceToMovePods) String() string {
	text := fmt.Sprintf("no place for pod %s", r.Pod)
	if r.Nearest != "" && r.Lacks != nil {
		text += fmt.Sprintf(", nearest is %s: %s", r.Nearest, Rejected{Rejection: *r.Lacks})
	}
	return text + inAll(r.All)
}

// String names the pod, the reason, and what could not be found out.
func (r BlockedByPod) String() string {
	text := fmt.Sprintf("pod %s blocks: %s", r.Pod, r.Why)
	if r.PDB != "" {
		text += " (" + r.PDB + ")"
	}
	if r.Err != "" {
		text += ": " + r.Err
	}
	if len(r.All) == 0 {
		return text
	}
	all := make([]string, 0, len(r.All))
	for _, blocker := range r.All {
		all = append(all, blocker.String())
	}
	return text + "; all that blocks: " + strings.Join(all, ", ")
}

// String names the pod.
func (r BlockedByOnCompletionPod) String() string {
	if r.More > 0 {
		return fmt.Sprintf("waits for pod %s and %d more to end", r.Pod, r.More)
	}
	return fmt.Sprintf("waits for pod %s to end", r.Pod)
}

// String is the error.
func (r UnexpectedError) String() string { return r.Error }

// String says what it lacks.
func (r NoNodeInfo) String() string { return "it is not in the snapshot" }

// String names the limit.
func (r NotReached) String() string { return "not looked at: " + r.Limit }

// String names the cause.
func (r CoolDown) String() string {
	return fmt.Sprintf("cool-down after %s %s", r.StartedBy, left(r.Until))
}

// String says since when.
func (r DeletionInProgress) String() string {
	return "being removed since " + r.Since.UTC().Format(time.RFC3339)
}

// String names the pod.
func (r ResourceClaimsNotSimulated) String() string {
	return fmt.Sprintf("pod %s has resource claims, which are not simulated%s", r.Pod, inAll(r.All))
}
