package asg

import (
	"slices"
	"strings"
)

// Group is one answer of DescribeAutoScalingGroups about one group. Nobody changes it after it was read.
type Group struct {
	Name string
	// Min, Max and Desired count units: machines, unless the group has weights or another Unit.
	Min, Max, Desired int
	// Unit is what the three count: empty or "units", "vcpu", "memory-mib".
	Unit  string
	Zones []string // names, as AWS lists them; may be empty where ZoneIDs are told
	// ZoneIDs are ids such as euw1-az1, which mean the same zone in every account.
	ZoneIDs []string
	Launch  Launch
	// Candidates are the instance types that may be started, for a group whose launch source doesn't name them; nil: not known. AWS doesn't tell them along.
	Candidates []string
	Tags       map[string]string
	Instances  []Instance // as AWS lists them
	Suspended  []string   // names of suspended processes
	// Status is set while the group is being deleted.
	Status string
	// Operator is the AWS service that alone may change the group; empty: none.
	Operator string
}

// Instance is one machine of a group.
type Instance struct {
	ID        string
	Zone      string
	Type      string // empty: not told
	Lifecycle Lifecycle
	// Weight is how many units the machine counts; 0: the group has no weights.
	Weight    int
	Protected bool // from being chosen when the group shrinks
	Unhealthy bool // AWS is about to replace it, without asking
}

// Launch says where a group's machines come from. Exactly one of Configuration and Template is set; Template also is with Overrides.
type Launch struct {
	Configuration string // name of the launch configuration
	Template      TemplateRef
	// Overrides are those of a mixed instances policy, the preferred first; empty: the template decides.
	Overrides []Override
	// Distribution is how a mixed instances policy divides machines among markets and types; nil: there is no such policy.
	Distribution *Distribution
}

// Distribution is how a mixed instances policy divides machines, AWS's defaults filled in.
type Distribution struct {
	OnDemandBase       int // units that are on demand before anything else
	OnDemandPercentage int // of the units above the base
	// OnDemandStrategy and SpotStrategy say in AWS's words which of the types is taken, for example prioritized and lowest-price.
	OnDemandStrategy, SpotStrategy string
}

// TemplateRef names a version of a launch template. The zero value names none.
type TemplateRef struct {
	ID, Name string
	// Version is a number, $Latest or $Default; never empty in a ref that was read from AWS.
	Version string
}

// String names the template for people.
func (r TemplateRef) String() string {
	switch {
	case r.ID == "":
		return r.Name + " version " + r.Version
	case r.Name == "":
		return r.ID + " version " + r.Version
	}
	return r.Name + " (" + r.ID + ") version " + r.Version
}

// Override is one choice of a mixed instances policy.
type Override struct {
	// Type is empty where the choice is made by Requirements.
	Type string
	// Weight is how many units such a machine counts; 0: none given.
	Weight int
	// Template replaces the policy's own one for this choice; zero: it doesn't.
	Template TemplateRef
	// ImageID replaces the template's AMI for this choice; empty: it doesn't.
	ImageID string
	// Requirements are the attributes by which AWS chooses the types; empty: it doesn't.
	Requirements Requirements
}

// Requirements are attributes of instance types, all those that AWS has: the JSON of the SDK's structure, whose names are the same in its modules for
// Auto Scaling and EC2. Equal texts ask for the same types. Empty: there are none.
type Requirements string

// Lifecycle is the state of an instance in its group, in the words of AWS. Any word may come, also one that is not known here.
type Lifecycle string

// The states that something here asks for by name.
const (
	InService   Lifecycle = "InService"
	Terminating Lifecycle = "Terminating"
)

// Phase is what a Lifecycle means for us.
type Phase int

// The phases.
const (
	PhaseUnset    Phase = iota
	PhaseCreating       // on its way into service
	PhaseRunning        // in service, or as good as
	PhaseKept           // counts as running, and AWS keeps it for somebody to look at
	PhaseStandby        // runs, but the group doesn't reckon with it
	PhaseLeaving        // runs on, but no longer in this group
	PhaseEnding         // the machine is being ended or was
	PhaseRetained       // taken out of service and kept for inspection, maybe for good
	PhaseWarm           // a member of the warm pool, not of the group
)

// Phase reads the state. A word that isn't known means running, so that a new word of AWS never makes a machine vanish.
func (l Lifecycle) Phase() Phase {
	word := string(l)
	switch {
	case strings.HasPrefix(word, "Warmed:"):
		return PhaseWarm
	case word == "Terminating:Retained":
		return PhaseRetained
	case l == Terminating, strings.HasPrefix(word, "Terminating:"), word == "Terminated":
		return PhaseEnding
	case word == "Pending", strings.HasPrefix(word, "Pending:"):
		return PhaseCreating
	case word == "Standby", word == "EnteringStandby":
		return PhaseStandby
	case word == "Detaching", word == "Detached":
		return PhaseLeaving
	case word == "Quarantined":
		return PhaseKept
	default:
		return PhaseRunning
	}
}

// Known tells whether AWS documents the state.
func (l Lifecycle) Known() bool {
	switch l {
	case InService, "ReplacingRootVolume", "ReplacingRootVolume:Wait", "ReplacingRootVolume:Proceed", "RootVolumeReplaced":
		return true
	default:
		return l.Phase() != PhaseRunning
	}
}

// Counts tells whether AWS counts an instance in this phase toward the desired capacity.
func (p Phase) Counts() bool { return p == PhaseCreating || p == PhaseRunning || p == PhaseKept }

// SuspendedProcess tells whether the named process of AWS, for example Launch, is suspended.
func (g Group) SuspendedProcess(name string) bool { return slices.Contains(g.Suspended, name) }

// Deleting tells whether the group is about to vanish.
func (g Group) Deleting() bool { return g.Status != "" }

// Live returns the instances that count toward the desired capacity, in AWS's order.
func (g Group) Live() []Instance {
	var live []Instance
	for _, instance := range g.Instances {
		if instance.Lifecycle.Phase().Counts() {
			live = append(live, instance)
		}
	}
	return live
}

// Instance finds a machine by its id.
func (g Group) Instance(id string) (Instance, bool) {
	for _, instance := range g.Instances {
		if instance.ID == id {
			return instance, true
		}
	}
	return Instance{}, false
}

// Types lists the instance types that the launch source names, the preferred first, without repetition; empty where the launch
// template or configuration decides.
func (l Launch) Types() []string {
	var types []string
	for _, o := range l.Overrides {
		if o.Type != "" && !slices.Contains(types, o.Type) {
			types = append(types, o.Type)
		}
	}
	return types
}

// ByRequirements tells whether AWS chooses the types by attributes.
func (l Launch) ByRequirements() bool {
	return slices.ContainsFunc(l.Overrides, func(o Override) bool { return o.Requirements != "" })
}
