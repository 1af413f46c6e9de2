package nodeinfos

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/taints"
)

// Source says where a variant was taken from.
type Source int

// The sources, best first.
const (
	SourceUnset Source = iota
	LiveNode           // a node of the group that is ready and settled
	Learnt             // such a node of an earlier iteration
	Cloud              // the cloud's description
	LastResort         // a node that is unready, cordoned, young or being deleted
)

// String returns the word used in logs.
func (s Source) String() string {
	switch s {
	case SourceUnset:
		return "unset"
	case LiveNode:
		return "live node"
	case Learnt:
		return "learnt"
	case Cloud:
		return "cloud"
	case LastResort:
		return "last resort"
	default:
		return fmt.Sprintf("Source(%d)", int(s))
	}
}

// Template is what is known of the fresh nodes of one group.
type Template struct {
	Group cloudprovider.GroupID
	// Variants are the shapes that a fresh node can have, in the order in which new nodes take them in turn: the zones with the fewest nodes
	// first, else as the cloud lists them. Empty if Err is set.
	Variants []Variant
	// Err says why nothing is known; nil if Variants is not empty.
	Err error
}

// Variant is one shape of the fresh nodes of a group. The objects are shared and must not be changed.
type Variant struct {
	// Key tells the variants of a group apart. It is the cloud's, or made of zone and instance type where the cloud names none.
	Key string
	simulator.NodeTemplate
	// Weight is how many units of the group's size such a node counts, at least 1.
	Weight  int
	Promise cloudprovider.Promise
	Source  Source
}

// LearntTemplate is a template made from a live node, kept for the time when the group has none. It can be stored as JSON.
type LearntTemplate struct {
	Group cloudprovider.GroupID
	// Place is the zone and the instance type of the node, by which it is matched with variants.
	Place Place
	// At is when the node was last seen in good order.
	At       time.Time
	Template simulator.NodeTemplate
	// Described is what the cloud said of such a node when this one was made, as far as is known; nil: nothing.
	Described *Description
	// Newest is what it has come to say since; nil: the same. Changed is since when it says what it says now; zero: ever since it is known.
	Newest  *Description
	Changed time.Time
}

// In is what templates are made from. All of it is read only.
type In struct {
	At time.Time
	// Groups and GroupErrors as observed; Nodes by ascending name, with the readiness overrides applied.
	Groups      []observation.Group
	GroupErrors []cloudprovider.GroupError
	Nodes       []*corev1.Node
	// Members maps the names of nodes to their groups.
	Members map[string]cloudprovider.GroupID
	// Snapshot tells the pods and the CSINode of a node; nothing is injected yet.
	Snapshot   *simulator.Snapshot
	DaemonSets []*appsv1.DaemonSet
	// Learnt is what the previous call returned, in any order; nil: nothing yet.
	Learnt  []LearntTemplate
	Options config.Templates
}

// Out is what Build makes of it.
type Out struct {
	// Templates has one entry per group.
	Templates map[cloudprovider.GroupID]Template
	// Learnt is to be kept for the next call: by group in the order of the cloud, then zone and type.
	Learnt []LearntTemplate
}

// Build makes the templates of all groups. Trouble with one group is in its template and concerns no other one.
func Build(in In) Out {
	b := builder{in: in, examples: survey(in), rules: simulator.TemplateRules{
		Taints: taints.Rules{
			StartupKeys: in.Options.StartupTaints, StartupPrefixes: in.Options.StartupTaintPrefixes, StatusKeys: in.Options.StatusTaints,
		},
		IgnoreCordon: in.Options.FromUnschedulable,
	}}
	out := Out{Templates: make(map[cloudprovider.GroupID]Template, len(in.Groups))}
	known := recall(in)
	for i := range in.Groups {
		group := &in.Groups[i]
		learnt := b.learn(group, known[group.ID])
		out.Learnt = append(out.Learnt, learnt...)
		out.Templates[group.ID] = b.template(group, learnt)
	}
	for _, trouble := range in.GroupErrors { // a group that cannot be described for a while keeps what was learnt of it
		if _, listed := out.Templates[trouble.Group]; !listed {
			out.Learnt = append(out.Learnt, known[trouble.Group]...)
		}
	}
	return out
}

// Match returns the index of the variant that a machine at the place belongs to; ok is false if there is none, or if the place tells too
// little to choose between several.
func (t Template) Match(place Place) (index int, ok bool) {
	belongs := belonging(len(t.Variants))
	for i := range t.Variants {
		if belongs(place, PlaceOf(t.Variants[i].Node)) {
			return i, true
		}
	}
	return 0, false
}

// Weight is how many units of size one more node counts at least, as the estimate reckons with the smallest variant; 1 without variants.
func (t Template) Weight() int {
	weight := 0
	for i := range t.Variants {
		if weight == 0 || t.Variants[i].Weight < weight {
			weight = t.Variants[i].Weight
		}
	}
	return max(weight, 1)
}
