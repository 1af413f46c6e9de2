package document

import (
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Group is the API group of the documents that only scenarios have, APIVersion the one version of it.
const (
	Group      = "scenario.cluster-autoscaler"
	APIVersion = Group + "/v1"
)

// The kinds of our own group.
const (
	KindNodeGroup = "NodeGroup"
	KindPods      = "Pods"
	KindScenario  = "Scenario"
)

// Source is one file of a stream.
type Source struct {
	// Name is what errors call it: the path, or "-" for standard input.
	Name string
	// Reader is read once, to its end, and not closed.
	Reader io.Reader
}

// Input is what a stream says, decoded and defaulted as an API server does, but not yet finished: nodes without groups, Pods documents
// not expanded. The objects are the receiver's own.
type Input struct {
	Objects
	// Scenario is that of the stream; without one, a scenario named "scenario" in which nothing happens and nothing is expected.
	Scenario Scenario

	newest time.Time // the newest time stamp of an object; zero: there is none
	places *places   // where everything stands, for the errors of Resolve
}

// Objects are the objects of a stream or of one entry of a timeline, each kind in the order of the documents.
type Objects struct {
	Nodes                  []*corev1.Node
	Pods                   []*corev1.Pod
	Namespaces             []*corev1.Namespace
	Services               []*corev1.Service
	ConfigMaps             []*corev1.ConfigMap
	ReplicationControllers []*corev1.ReplicationController
	PersistentVolumes      []*corev1.PersistentVolume
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim
	ReplicaSets            []*appsv1.ReplicaSet
	Deployments            []*appsv1.Deployment
	StatefulSets           []*appsv1.StatefulSet
	DaemonSets             []*appsv1.DaemonSet
	Jobs                   []*batchv1.Job
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget
	StorageClasses         []*storagev1.StorageClass
	CSINodes               []*storagev1.CSINode
	CSIDrivers             []*storagev1.CSIDriver
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity
	VolumeAttachments      []*storagev1.VolumeAttachment
	PriorityClasses        []*schedulingv1.PriorityClass

	NodeGroups []*NodeGroup
	// PodsDocuments are the Pods documents.
	PodsDocuments []*Pods
}

// Metadata is that of the documents of our own.
type Metadata struct {
	Name string `json:"name"`
	// Namespace, of Pods only; "default" where the document has none.
	Namespace string `json:"namespace,omitempty"`
}

// Duration is a time.Duration that documents write as Go does, or as plain 0.
type Duration struct{ time.Duration }

// NodeGroup is the document of that kind, with the defaults of the format filled in.
type NodeGroup struct {
	Metadata Metadata      `json:"metadata"`
	Spec     NodeGroupSpec `json:"spec"`
}

// NodeGroupSpec describes a group of machines.
type NodeGroupSpec struct {
	// MinSize and MaxSize bound what the autoscaler may ask for.
	MinSize int  `json:"minSize"`
	MaxSize *int `json:"maxSize"` // never nil after Read
	// TargetSize nil: what the group's nodes count together, each as the weight of its template says.
	TargetSize *int `json:"targetSize"`
	// NodeSelector, unless empty, takes the nodes with these labels that no annotation sends elsewhere.
	NodeSelector map[string]string `json:"nodeSelector"`
	// ProvisionTime passes from the request until the node is ready; DeletionTime from the delete call until the node is gone;
	// FailAfter from the request until a failing machine shows its error. Never nil after Read.
	ProvisionTime *Duration `json:"provisionTime"`
	DeletionTime  *Duration `json:"deletionTime"`
	FailAfter     *Duration `json:"failAfter"`
	// Stock is how many more machines the cloud has; nil: no limit.
	Stock *int `json:"stock"`
	// LateTaints are on new nodes for a while, LateResources come a while after the node is ready.
	LateTaints    []LateTaint    `json:"lateTaints"`
	LateResources []LateResource `json:"lateResources"`
	// PriceHour of one machine; zero: it has no price.
	PriceHour float64 `json:"priceHour"`
	// Template is what a new node looks like, Variants several such looks; at most one of the two is given.
	Template *corev1.Node `json:"template"`
	Variants []Variant    `json:"variants"`
	// Options are what the group overrides of the flags.
	Options GroupOptions `json:"options"`
	// WithoutTemplate: the cloud can't say what a new node looks like, although it makes them like Template.
	WithoutTemplate bool `json:"withoutTemplate"`
	// Nodes is how many ready nodes to make of the template.
	Nodes int `json:"nodes"`
}

// Variant is one look that a new node may have.
type Variant struct {
	Template *corev1.Node `json:"template"`
	// Weight is how many units of the group's size such a node counts; zero is one.
	Weight int `json:"weight"`
}

// LateTaint is a taint that a new node loses by itself.
type LateTaint struct {
	Key    string             `json:"key"`
	Value  string             `json:"value"`
	Effect corev1.TaintEffect `json:"effect"`
	// For is how long after the node became ready the taint goes.
	For Duration `json:"for"`
}

// LateResource is a resource that a device plug-in brings after a new node became ready.
type LateResource struct {
	Name     corev1.ResourceName `json:"name"`
	Quantity resource.Quantity   `json:"quantity"`
	// After is how long after the node became ready it comes.
	After Duration `json:"after"`
}

// GroupOptions are the overrides that a group may have, named as the flags are; nil: as the flag says.
type GroupOptions struct {
	ScaleDownUtilizationThreshold    *float64  `json:"scaleDownUtilizationThreshold"`
	ScaleDownGPUUtilizationThreshold *float64  `json:"scaleDownGpuUtilizationThreshold"`
	ScaleDownUnneededTime            *Duration `json:"scaleDownUnneededTime"`
	ScaleDownUnreadyTime             *Duration `json:"scaleDownUnreadyTime"`
	MaxNodeProvisionTime             *Duration `json:"maxNodeProvisionTime"`
	MaxNodeStartupTime               *Duration `json:"maxNodeStartupTime"`
	IgnoreDaemonSetsUtilization      *bool     `json:"ignoreDaemonsetsUtilization"`
	ZeroOrMaxNodeScaling             *bool     `json:"zeroOrMaxNodeScaling"`
	AllowNonAtomicScaleUpToMax       *bool     `json:"allowNonAtomicScaleUpToMax"`
}

// The owners that Pods may have; any other word is a kind that nobody plays the controller of.
const (
	OwnerReplicaSet  = "ReplicaSet"
	OwnerStatefulSet = "StatefulSet"
	OwnerJob         = "Job"
	OwnerDaemonSet   = "DaemonSet"
	OwnerNone        = "None"
)

// Pods is the document of that kind: many pods that are alike, and their owner.
type Pods struct {
	Metadata Metadata `json:"metadata"`
	Spec     PodsSpec `json:"spec"`
}

// PodsSpec describes pods that are alike.
type PodsSpec struct {
	// Count is how many there are; left out: one, of a DaemonSet as many as OnNodes. Never nil after Read.
	Count *int `json:"count"`
	// Owner is the kind of their controller; never empty after Read.
	Owner string `json:"owner"`
	// OnNodes are the nodes they run on, in turn; empty: they are pending.
	OnNodes []string `json:"onNodes"`
	// Age is how long they have existed when they come into play; left out: 10 minutes, or none if they come from a timeline.
	// Never nil after Read.
	Age *Duration `json:"age"`
	// Template is what they look like, defaulted.
	Template corev1.PodTemplateSpec `json:"template"`
}

// Scenario is the document of that kind.
type Scenario struct {
	// File and Document are where it stands; Document is 0 if the stream has none.
	File     string
	Document int

	Name string
	// Description is one sentence for people.
	Description string
	// Flags are the controller's, as on a command line.
	Flags []string
	// Start as the document gives it; nil: it follows from the objects. Cluster.Start is never unset.
	Start *time.Time
	// Duration is how long to play.
	Duration time.Duration
	// Timeline and Expect are in the order of the document.
	Timeline []Entry
	Expect   []Expectation
}

// Entry is something that happens once, or again and again. Where several of its actions are set, they happen in the order of the fields.
type Entry struct {
	// At is when it happens first, counted from the start.
	At time.Duration
	// Every is the time from one to the next; zero: it happens once. Until is the last moment at which it may; negative: no end.
	Every, Until time.Duration

	Apply   *Objects // nil: none. Finish makes finished objects of them
	Delete  []Reference
	Scale   *Scale
	Cloud   *CloudChange
	Nodes   *NodesChange
	Restart *Restart

	paths map[key]string // where what is applied stands in the document
}

// Reference names one object.
type Reference struct {
	// APIVersion may be empty.
	APIVersion string `json:"apiVersion"`
	// Kind is Pods, NodeGroup, or a kind of the API.
	Kind string `json:"kind"`
	// Namespace is "default" where the document leaves it out and the kind has one.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Scale sets how many pods something has.
type Scale struct {
	// Kind is Pods, ReplicaSet, StatefulSet or Job; for a Job the count is its parallelism.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Count     *int   `json:"count"` // never nil after Read
}

// CloudChange changes how the cloud behaves from then on; nil fields stay as they are.
type CloudChange struct {
	// NodeGroup is the group concerned; empty: all of them, and what concerns none.
	NodeGroup string `json:"nodeGroup"`
	// OutOfResources makes new machines fail, Stuck makes them never become nodes; false ends it.
	OutOfResources *bool `json:"outOfResources"`
	Stuck          *bool `json:"stuck"`
	// The errors that calls end with; an empty text ends it.
	IncreaseError *string `json:"increaseError"`
	DeleteError   *string `json:"deleteError"`
	RefreshError  *string `json:"refreshError"`
	TemplateError *string `json:"templateError"`
	SizeError     *string `json:"sizeError"`
	NodesError    *string `json:"nodesError"`
	// What somebody else sets; only with NodeGroup.
	TargetSize *int `json:"targetSize"`
	MinSize    *int `json:"minSize"`
	MaxSize    *int `json:"maxSize"`
}

// NodesChange changes what becomes of nodes; nil fields stay as they are.
type NodesChange struct {
	Names []string `json:"names"`
	// Ready is the Ready condition, Cordoned is spec.unschedulable.
	Ready    *bool `json:"ready"`
	Cordoned *bool `json:"cordoned"`
	// Gone: the machines vanish, and their groups replace them. Never with the others.
	Gone *bool `json:"gone"`
}

// Restart ends the process of the autoscaler and starts it anew.
type Restart struct {
	// Downtime passes in between; left out: 15 seconds. Never nil after Read.
	Downtime *Duration `json:"downtime"`
	// Graceful: it is told to end and may tidy up.
	Graceful bool `json:"graceful"`
}

// When says at which times an expectation must hold.
type When int

// The ways.
const (
	WhenUnset  When = iota
	WhenBy          // it becomes true at some time up to Time
	WhenAt          // it is true at Time
	WhenAlways      // it is true at every step
	WhenNever       // it is true at no step
	WhenTotal       // it is true of the whole play, at its end
)

// Expectation is what must come true. Exactly one of these sorts is set: conditions of the cluster (sizes, PendingPods, Removed,
// UndrainedEnded; where several are set, all must hold at once), Event, or totals.
type Expectation struct {
	When When
	// Time is set for WhenBy and WhenAt.
	Time time.Duration
	// OrAlready, of WhenBy: it is enough that it was true from the start.
	OrAlready bool
	// Text is the expectation as compact JSON, the way to name it in outputs.
	Text string

	// NodeGroup is the group of the sizes, or narrows Event and the totals; empty: any, or all.
	NodeGroup                                string
	TargetSize, MinTargetSize, MaxTargetSize *int
	PendingPods                              *int
	// Removed are nodes that were removed.
	Removed        []string
	UndrainedEnded *int

	// Event is the type of a line of the output; with it Pod ("namespace/name"), Node and Reason may narrow it.
	Event             string
	Pod, Node, Reason string

	// The totals, of calls to the cloud and of evictions.
	Increases, Deletes, Evictions *int
}

// Warning is something about the input that is passed over.
type Warning struct {
	// File and Document say where it was first met; Document counts from 1.
	File     string
	Document int
	Message  string
}

// Cluster is the start of a play: finished objects.
type Cluster struct {
	Finished
	Scenario Scenario
	// Start is the virtual time at which the play begins.
	Start time.Time
}

// Finished are objects as they lie in an API server and a cloud. Objects of one Pods document share the parts of its template: copy
// before changing.
type Finished struct {
	// Objects are those of the API, nodes and pods of the shorthands and their owners among them. NodeGroups and PodsDocuments are the
	// documents that they came from.
	Objects
	// Groups are the node groups, in the order of the documents.
	Groups []ResolvedGroup
	// PodSets are the Pods documents in being, in the order of the documents.
	PodSets []*PodSet
}

// ResolvedGroup is a node group with all that follows from the nodes there are.
type ResolvedGroup struct {
	NodeGroup *NodeGroup
	// Target is its size at the start.
	Target int
	// Existing are its nodes, in the order of the documents.
	Existing []*corev1.Node
	// ExistingVariants are, for each of Existing, the key of the template that it looks like: the first of the same zone and type, else of
	// the same zone, else the first. Empty without Templates.
	ExistingVariants []string
	// Templates are what its new nodes look like: from the document, else copied from its nodes. Empty, for a group that takes the place of one
	// that exists: as that one's.
	Templates []cloudprovider.TemplateVariant
}

// Surroundings are what Finish has to know of a cluster that exists already.
type Surroundings struct {
	// At is the virtual time.
	At time.Time
	// NodeGroups are those of the cluster, whatever became of them; new ones of the same name go before.
	NodeGroups []*NodeGroup
	// PriorityClasses are those of the cluster.
	PriorityClasses []*schedulingv1.PriorityClass
}
