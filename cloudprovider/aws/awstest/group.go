package awstest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Group describes an Auto Scaling group: what AddGroup makes and what Groups tells.
type Group struct {
	Name              string
	Min, Max, Desired int      // in units when weights or DesiredCapacityType are used, else in machines
	Zones             []string // may be empty, as in groups that only name zone ids
	Subnets           []string // empty: one is made up per zone

	// Where machines come from: exactly one of the three.
	LaunchTemplate      *LaunchTemplateRef
	LaunchConfiguration string
	MixedInstances      *MixedInstances

	Tags                []Tag
	SuspendedProcesses  []Process
	TerminationPolicy   TerminationPolicy
	ProtectNewInstances bool          // new instances start with ProtectedFromScaleIn
	DesiredCapacityType string        // units, vcpu or memory-mib; empty: units, and the element isn't sent
	CapacityRebalance   bool          // Interrupt starts a replacement at the notice
	Operator            string        // principal of the AWS service that manages the group; empty: none
	Cooldown            time.Duration // for requests that honour it; 0: 300 s as in the service
	Timing              Timing

	WarmPool           *WarmPool // nil: none
	DeletionProtection string    // none, prevent-force-deletion or prevent-all-deletion; empty: not sent
	ZoneIDsOnly        bool      // the answer has AvailabilityZoneIds and no AvailabilityZones, as for groups made that way

	LaunchHookAbandons bool // a launch hook that nobody ends in time fails the launch; false: the launch goes on
	RetainsAbandoned   bool // a termination hook that nobody ends in time, or that is abandoned, leaves the machine in Terminating:Retained
	RebalancesByItself bool // AZRebalance acts whenever the zones are out of balance, not just when Rebalance is called

	// JointFailures lets one failed activity stand for all launches that fail at the same moment, as the service does when a
	// fleet request gets nothing. Its cause tells the change of capacity.
	JointFailures bool

	// DecrementsAgain makes each further Terminate call on an ending instance lower desired once more, as some users saw.
	DecrementsAgain bool

	// Initial are the instances that AddGroup puts in at once. Nil: Desired instances, all InService. Not nil: just these,
	// also none, and what is missing is launched in the normal way. Groups doesn't fill this field.
	Initial []InitialInstance
}

// Timing says how long things take in a group. All zero: everything happens at once.
type Timing struct {
	Request       time.Duration // from missing capacity to an instance id that clients can see (Pending)
	Launch        time.Duration // from Pending to the end of the launch
	LaunchHook    time.Duration // how long Pending:Wait lasts; 0: no hook
	ScaleIn       time.Duration // from surplus to the choice of victims
	HealthCheck   time.Duration // from the death of a machine until the service notices
	TerminateHook time.Duration // how long Terminating:Wait lasts; 0: no hook
	Terminate     time.Duration // from Terminating (or Terminating:Proceed) until the machine is gone
	Linger        time.Duration // how long a gone machine is still listed as Terminated
	Retry         time.Duration // pause after a failed launch; 0: 30 s
}

// InitialInstance is an instance that exists when its group is added. Zero fields are chosen as for a launch.
type InitialInstance struct {
	Type            string
	Zone            string
	Lifecycle       LifecycleState // empty: InService. Pending goes on by itself, other states stay until something is done to them
	Age             time.Duration
	Protected       bool
	TemplateVersion int // empty: what the group's reference means now
}

// Process is one of the service's processes that can be suspended in a group. Others are told to clients, without effect here.
type Process string

// The processes that this package honours.
const (
	ProcessLaunch           Process = "Launch"
	ProcessTerminate        Process = "Terminate"
	ProcessHealthCheck      Process = "HealthCheck"
	ProcessReplaceUnhealthy Process = "ReplaceUnhealthy"
	ProcessAZRebalance      Process = "AZRebalance"

	ProcessScheduledActions  Process = "ScheduledActions"
	ProcessAlarmNotification Process = "AlarmNotification"
	ProcessInstanceRefresh   Process = "InstanceRefresh"
)

// TerminationPolicy is how the service chooses among surplus instances of the zone with the most instances.
type TerminationPolicy string

// The policies. Empty means TerminationDefault.
const (
	TerminationDefault TerminationPolicy = "Default"        // oldest launch template version or configuration, then the oldest instance
	TerminationOldest  TerminationPolicy = "OldestInstance" // the oldest instance
	TerminationNewest  TerminationPolicy = "NewestInstance" // the newest instance
)

// Tag is a tag of a group.
type Tag struct {
	Key, Value        string
	PropagateAtLaunch bool // new instances get it too
	Valueless         bool // the answer has no Value element
}

// LaunchTemplateRef names a launch template by id, by name or both, and a version: a number, $Latest, $Default or empty, which
// means $Default. The missing one of id and name is filled in as soon as the template is known.
type LaunchTemplateRef struct {
	ID, Name, Version string
}

// MixedInstances is a mixed instances policy.
type MixedInstances struct {
	LaunchTemplate       LaunchTemplateRef
	Overrides            []Override // empty: the template's own type
	OnDemandBase         int        // this many units are on demand before the percentage counts
	SpotPercentAboveBase int        // 0 to 100

	OnDemandStrategy AllocationStrategy // empty: Prioritized
	SpotStrategy     AllocationStrategy // empty: CapacityOptimizedPrioritized
	SpotMaxPrice     string             // USD per hour as text; empty: the on-demand price, which is never too low here
}

// AllocationStrategy is how the service chooses among the types of a mixed instances policy.
type AllocationStrategy string

// The strategies. Those that aren't for both markets say so.
const (
	Prioritized                  AllocationStrategy = "prioritized"                    // on demand; in the order of the overrides
	LowestPrice                  AllocationStrategy = "lowest-price"                   // by price of a unit
	CapacityOptimized            AllocationStrategy = "capacity-optimized"             // spot; most stock first
	CapacityOptimizedPrioritized AllocationStrategy = "capacity-optimized-prioritized" // spot; in the order of the overrides
	PriceCapacityOptimized       AllocationStrategy = "price-capacity-optimized"       // spot; by price among those in stock
)

// Override is one entry of a mixed instances policy. It has an InstanceType or Requirements.
type Override struct {
	InstanceType   string
	Weight         int // 0: no WeightedCapacity, counts as one
	LaunchTemplate *LaunchTemplateRef
	ImageID        string
	Requirements   *Requirements
}

// validate checks what the service itself would refuse on creation.
func (g Group) validate() error {
	if g.Name == "" || strings.Contains(g.Name, ":") {
		return fmt.Errorf("group name %q: want at least one character and no colon", g.Name)
	}
	if g.Min < 0 || g.Desired < g.Min || g.Max < g.Desired {
		return fmt.Errorf("group %s: want 0 <= min <= desired <= max, got %d, %d, %d", g.Name, g.Min, g.Desired, g.Max)
	}
	sources := 0
	if g.LaunchTemplate != nil {
		sources++
	}
	if g.LaunchConfiguration != "" {
		sources++
	}
	if g.MixedInstances != nil {
		sources++
	}
	if sources != 1 {
		return fmt.Errorf("group %s: want exactly one of launch template, launch configuration and mixed instances, got %d", g.Name, sources)
	}
	return nil
}

// clone copies everything that a caller could change later.
func (g Group) clone() Group {
	g.Zones = slices.Clone(g.Zones)
	g.Subnets = slices.Clone(g.Subnets)
	g.Tags = slices.Clone(g.Tags)
	g.SuspendedProcesses = slices.Clone(g.SuspendedProcesses)
	g.Initial = slices.Clone(g.Initial)
	if g.WarmPool != nil {
		pool := *g.WarmPool
		g.WarmPool = &pool
	}
	if g.LaunchTemplate != nil {
		ref := *g.LaunchTemplate
		g.LaunchTemplate = &ref
	}
	if g.MixedInstances != nil {
		mixed := *g.MixedInstances
		mixed.Overrides = slices.Clone(mixed.Overrides)
		g.MixedInstances = &mixed
	}
	return g
}

// suspended tells whether a process of the group is suspended.
func (g Group) suspended(p Process) bool { return slices.Contains(g.SuspendedProcesses, p) }

// retryPause is how long the service waits after a failed launch.
func (g Group) retryPause() time.Duration {
	if g.Timing.Retry > 0 {
		return g.Timing.Retry
	}
	return 30 * time.Second
}

// cooldown is how long a request that honours the cooldown is refused after an activity.
func (g Group) cooldown() time.Duration {
	if g.Cooldown > 0 {
		return g.Cooldown
	}
	return 300 * time.Second
}
