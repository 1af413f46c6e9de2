package clusterstate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// State is what the Registry makes of one Observation and of the outcomes since. It is a value: plans may read it at any time, nobody
// changes it.
type State struct {
	// At is the time of the iteration.
	At time.Time
	// Cluster is the state of the whole cluster.
	Cluster report.ClusterStatus
	// Groups are in the order of the cloud.
	Groups []GroupState
	// TimedOut and Failed are news of this iteration.
	TimedOut []report.RequestTimeout
	Failed   []report.FailedInstances
	// Foreign are changes of targets that this process did not make, also news of this iteration.
	Foreign []report.TargetChange
	// LastScaleUp, LastDeletion and LastFailure are the stamps of the cool-downs (scale-down 4.1).
	LastScaleUp, LastDeletion, LastFailure time.Time
	// DeletionOf names the nodes, and FailureBy the error, that set the stamps; empty: unknown.
	DeletionOf, FailureBy string
	// Purchases are the pods for which nodes were bought that are not at work yet, by UID of the pod.
	Purchases map[types.UID]report.PurchaseOnTheWay
}

// GroupState is what is known of one group.
type GroupState struct {
	report.GroupStatus
	// FailedPlaces are the parts of the group in which the cloud lately had no machines, by zone and type. As long as the group has other parts it is
	// not backed off as a whole: grow it as if the variants in these places did not exist (FailedAt tells which those are). It is once a purchase made
	// after the failure ends in the same place again.
	FailedPlaces []FailedPlace
	// Request is the open request for more nodes; nil: none.
	Request *Request
	// Ready and NotStarted are the names of registered nodes of these classes, ascending, without those whose machines are ending.
	Ready, NotStarted []string
	// Unregistered are the instances without a node, in the order of the cloud; those that take longer than the group's
	// provision time are marked.
	Unregistered []UnregisteredInstance
	// Failed are the instances that will not come because of an error, in the order of the cloud.
	Failed []cloudprovider.Instance
	// WrongSize is set while the registered nodes do not match the target.
	WrongSize *WrongSize
	// Deleting is how many removals of nodes of this group are in progress.
	Deleting int
	// LastScaleUp, LastDeletion and LastFailure are the stamps of the local cool-downs (scale-down 4.2); zero: never.
	LastScaleUp, LastDeletion, LastFailure time.Time
	// DeletionOf names the node, and FailureBy the error, that set the stamps; empty: unknown.
	DeletionOf, FailureBy string
	// ExpectedDeletions is how many registered nodes are on machines that are ending: the target does not count them any more.
	ExpectedDeletions int
	// Anonymous is how many nodes do not say which machine they are on. While there are any, no instance can be told to have no node.
	Anonymous int
	// Lost is how many places of the target, in units, have had nothing standing for them for longer than the provision time.
	Lost int
	// Incomplete is true if a part of a group that grows and shrinks as a whole will not come. It is set aside then.
	Incomplete bool
	// Missing and Expected are the numbers behind Healthy.
	Missing, Expected int
	// RepairFrom is from when on repairs of this group may be tried again after one failed; zero: at once.
	RepairFrom time.Time
}

// Request is an increase that the cloud accepted and whose nodes are not all there yet. Increase is in units of the group's size.
type Request struct {
	Increase       int
	Since, Expires time.Time
}

// UnregisteredInstance is a machine without a node.
type UnregisteredInstance struct {
	Instance  cloudprovider.Instance
	FirstSeen time.Time
	// Long is true once the group's provision time is over.
	Long bool
}

// WrongSize is a difference between the registered nodes and the target, in units of the group's size.
type WrongSize struct {
	Registered, Target int
	// Empty is how many places of the target neither a node nor an instance stands for.
	Empty int
	// Since is since when Registered and Target are as they are.
	Since time.Time
}

// Group returns the state of the group; ok is false if it is not known.
func (s State) Group(id cloudprovider.GroupID) (group GroupState, ok bool) {
	for i := range s.Groups {
		if s.Groups[i].Group == id {
			return s.Groups[i], true
		}
	}
	return GroupState{}, false
}

// SafeToScaleUp says why the group must not grow now; nil: it may.
func (g GroupState) SafeToScaleUp() report.Reason {
	switch {
	case g.SetAside != nil:
		return *g.SetAside
	case !g.Healthy:
		return report.GroupUnhealthy{Missing: g.Missing, Expected: g.Expected}
	case g.Backoff != nil:
		return report.GroupBackedOff{Until: g.Backoff.Until, Why: g.Backoff.Code}
	default:
		return nil
	}
}
