package saved

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// State is what one process leaves to the next. The zero value is that of a process that remembers nothing.
type State struct {
	Registry Registry
	Planner  Planner
}

// Registry is the memory of what was asked of the cloud. All lists are sorted, so that equal memories are equal values.
type Registry struct {
	// LastScaleUp, LastDeletion and LastFailure are the stamps of the cluster's cool-downs; zero: never.
	LastScaleUp  time.Time `json:"lastScaleUp,omitzero"`
	LastDeletion time.Time `json:"lastDeletion,omitzero"`
	LastFailure  time.Time `json:"lastFailure,omitzero"`
	// DeletionOf names the nodes, and FailureBy the error, that set them; empty: unknown.
	DeletionOf string `json:"deletionOf,omitempty"`
	FailureBy  string `json:"failureBy,omitempty"`
	// Groups by ascending id.
	Groups []Group `json:"groups,omitempty"`
	// Purchases as they were made, then by group.
	Purchases []Purchase `json:"purchases,omitempty"`
	// Attempts by their ends, then group.
	Attempts []Attempt `json:"attempts,omitempty"`
	// Learnt are templates of fresh nodes, in the order of the memory. They are stored apart from the rest: the oldest are left out where room
	// is short.
	Learnt []nodeinfos.LearntTemplate `json:"-"`
}

// Group is what is remembered of one group.
type Group struct {
	ID       cloudprovider.GroupID `json:"id"`
	Request  *Request              `json:"request,omitempty"`
	Believed *Belief               `json:"believed,omitempty"`
	Backoff  *Backoff              `json:"backoff,omitempty"`
	// Places are back-offs of one zone or instance type only, by zone and type.
	Places   []Place   `json:"places,omitempty"`
	SetAside *SetAside `json:"setAside,omitempty"`
	// AsideSince is since when the cloud itself keeps the group from being used; zero: it does not.
	AsideSince time.Time `json:"asideSince,omitzero"`
	// FirstSeen is since when instances have no node, by ascending id.
	FirstSeen []FirstSeen `json:"firstSeen,omitempty"`
	// Failing are the instances whose failure was reported, ascending.
	Failing []string `json:"failing,omitempty"`
	// EmptySince has one entry, ascending, for each place of the target that nothing stood for.
	EmptySince   []time.Time `json:"emptySince,omitempty"`
	WrongSize    *WrongSize  `json:"wrongSize,omitempty"`
	RepairFrom   time.Time   `json:"repairFrom,omitzero"`
	LastScaleUp  time.Time   `json:"lastScaleUp,omitzero"`
	LastDeletion time.Time   `json:"lastDeletion,omitzero"`
	LastFailure  time.Time   `json:"lastFailure,omitzero"`
	// DeletionOf names the node, and FailureBy the error, that set them; empty: unknown.
	DeletionOf string `json:"deletionOf,omitempty"`
	FailureBy  string `json:"failureBy,omitempty"`
}

// Request is an open request for more nodes, in units of the group's size.
type Request struct {
	Increase int       `json:"increase"`
	Since    time.Time `json:"since"`
	Expires  time.Time `json:"expires"`
}

// Belief is the target that follows from what was written while no view has shown it yet.
type Belief struct {
	Target  int       `json:"target"`
	Since   time.Time `json:"since"`
	Certain bool      `json:"certain,omitempty"`
	// Intended: this was laid down before the cloud was asked, and whether it came to that is not known.
	Intended bool `json:"intended,omitempty"`
}

// Backoff is the memory of failures.
type Backoff struct {
	Until      time.Time                `json:"until"`
	LastFailed time.Time                `json:"lastFailed"`
	Duration   time.Duration            `json:"durationNanoseconds"`
	Class      cloudprovider.ErrorClass `json:"class"`
	Code       string                   `json:"code,omitempty"`
	Message    string                   `json:"message,omitempty"`
}

// Place is the back-off of one zone, one instance type, or one type in one zone; an empty word stands for all.
type Place struct {
	Zone    string  `json:"zone,omitempty"`
	Type    string  `json:"type,omitempty"`
	Backoff Backoff `json:"backoff"`
}

// SetAside is a group that is left alone because of an error.
type SetAside struct {
	Error string    `json:"error"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
}

// FirstSeen is since when an instance is known that has no node.
type FirstSeen struct {
	Instance string    `json:"instance"`
	Since    time.Time `json:"since"`
}

// WrongSize is since when the registered nodes do not match the target.
type WrongSize struct {
	Registered int       `json:"registered"`
	Target     int       `json:"target"`
	Since      time.Time `json:"since"`
}

// Purchase is that nodes of a group were bought for some pods.
type Purchase struct {
	Group   cloudprovider.GroupID `json:"group"`
	Nodes   int                   `json:"nodes"`
	At      time.Time             `json:"at"`
	Expires time.Time             `json:"expires"`
	Pods    Marks                 `json:"pods"`
}

// Attempt is a purchase that may not have brought nodes that fit, and until when it is not repeated for these pods.
type Attempt struct {
	Group cloudprovider.GroupID `json:"group"`
	Until time.Time             `json:"until"`
	Pods  Marks                 `json:"pods"`
}

// Planner is the memory of which nodes could go.
type Planner struct {
	// Timers by ascending name of the node.
	Timers []Timer `json:"timers,omitempty"`
	// Rechecks by ascending name of the node.
	Rechecks []Recheck `json:"rechecks,omitempty"`
	// Hints are the nodes on which pods, by podfacts.Key, found a place.
	Hints map[string]string `json:"hints,omitempty"`
}

// Timer is since when a node is unneeded.
type Timer struct {
	Node  string    `json:"node"`
	UID   types.UID `json:"uid"`
	Since time.Time `json:"since"`
}

// Recheck is a node that was found not removable and is not looked at for a while.
type Recheck struct {
	Node  string        `json:"node"`
	UID   types.UID     `json:"uid"`
	Until time.Time     `json:"until"`
	First report.Reason `json:"-"`
}
