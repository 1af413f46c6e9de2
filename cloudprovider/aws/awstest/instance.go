package awstest

import (
	"maps"
	"strings"
	"time"
)

// LifecycleState is the state of an instance in its group, as DescribeAutoScalingGroups tells it.
type LifecycleState string

// The states. SetLifecycle puts an instance into any of them, also into one that clients don't know; members of a warm pool have
// states of their own, Warmed:Stopped for example.
const (
	Pending             LifecycleState = "Pending"
	PendingWait         LifecycleState = "Pending:Wait"
	PendingProceed      LifecycleState = "Pending:Proceed"
	InService           LifecycleState = "InService"
	Quarantined         LifecycleState = "Quarantined"
	ReplacingRootVolume LifecycleState = "ReplacingRootVolume"
	RootVolumeReplaced  LifecycleState = "RootVolumeReplaced"
	EnteringStandby     LifecycleState = "EnteringStandby"
	Standby             LifecycleState = "Standby"
	Detaching           LifecycleState = "Detaching"
	Detached            LifecycleState = "Detached"
	Terminating         LifecycleState = "Terminating"
	TerminatingWait     LifecycleState = "Terminating:Wait"
	TerminatingProceed  LifecycleState = "Terminating:Proceed"
	TerminatingRetained LifecycleState = "Terminating:Retained"
	Terminated          LifecycleState = "Terminated"
)

// MachineState is the state of the EC2 machine behind an instance, as DescribeInstances tells it.
type MachineState string

// The machine states.
const (
	MachinePending      MachineState = "pending"
	MachineRunning      MachineState = "running"
	MachineShuttingDown MachineState = "shutting-down"
	MachineTerminated   MachineState = "terminated"
	MachineStopped      MachineState = "stopped" // in a warm pool
)

// Market is how a machine is paid for.
type Market string

// The markets.
const (
	OnDemand      Market = "on-demand"
	Spot          Market = "spot"
	CapacityBlock Market = "capacity-block"
)

// The values of Instance.Health.
const (
	Healthy   = "Healthy"
	Unhealthy = "Unhealthy"
)

// Instance is a snapshot of one instance of a group.
type Instance struct {
	ID                  string
	Group               string
	Zone                string
	Type                string // for example m5.large
	Lifecycle           LifecycleState
	Machine             MachineState // Terminated while Lifecycle is still InService: the machine died and the service hasn't noticed
	Health              string       // Healthy or Unhealthy
	Protected           bool         // from scale-in
	Market              Market
	Weight              int               // units that it counts for; 0: the group has no weights
	LaunchTemplate      LaunchTemplateRef // with the number of the version; zero for a launch configuration
	LaunchConfiguration string
	ImageID             string
	LaunchTime          time.Time
	PrivateDNSName      string // the name that the node usually registers with
	PrivateIP           string
	Tags                map[string]string // of the launch template, the propagated ones of the group, and the aws: ones
}

// ProviderID is the id that the node of this instance carries: aws:///ZONE/ID.
func (i Instance) ProviderID() string { return "aws:///" + i.Zone + "/" + i.ID }

// Ending tells whether the instance leaves its group or has left it.
func (i Instance) Ending() bool {
	return i.Lifecycle == Terminated || strings.HasPrefix(string(i.Lifecycle), string(Terminating)) || i.leaving()
}

// leaving tells whether the instance is being detached or was: it leaves the group and goes on running.
func (i Instance) leaving() bool { return strings.HasPrefix(string(i.Lifecycle), "Detach") }

// counts tells whether the service counts the instance toward the desired capacity. An instance in Standby left the count on the
// way there, with a lower desired or with a replacement.
func (i Instance) counts() bool {
	return !i.Ending() && !strings.HasSuffix(string(i.Lifecycle), "Standby") && !strings.HasPrefix(string(i.Lifecycle), "Warmed")
}

// units is what the instance counts toward desired.
func (i Instance) units() int { return max(i.Weight, 1) }

// clone copies everything that a caller could change later.
func (i Instance) clone() Instance {
	i.Tags = maps.Clone(i.Tags)
	return i
}

// machine is an instance with what is yet to come for it. Machines are never changed in place: a change puts a new one into
// the group, so that views of the past stay as they were.
type machine struct {
	Instance
	dieAt  time.Time // when a spot machine is taken away; zero: it isn't
	nextAt time.Time // when the next thing happens by itself; zero: nothing will
	launch *activity // nil for an initial instance
	end    *activity // nil until it is ended
	cause  Cause     // why it is ended; empty until then
}
