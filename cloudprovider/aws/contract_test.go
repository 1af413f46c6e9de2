package aws_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/cloudtest"
)

// harness lets the contract test play with Auto Scaling over the wire.
type harness struct {
	*rig
	remove []func()
}

// unhurried lets nothing happen before the time is moved on.
var unhurried = awstest.Timing{Request: 20 * time.Second, Launch: 30 * time.Second, Terminate: 30 * time.Second, Linger: 10 * time.Second, Retry: time.Hour}

// newHarness makes a provider that discovers its groups by a tag, but for one that is named; empty: none is.
func newHarness(tb testing.TB, named cloudprovider.GroupID, groups ...cloudtest.Group) *harness {
	tb.Helper()
	t, ok := tb.(*testing.T)
	if !ok {
		tb.Fatalf("the rig needs a *testing.T, got a %T", tb)
	}
	options := aws.Options{AutoDiscovery: []string{"asg:tag=shared"}}
	var described []awstest.Group
	for _, g := range groups {
		group := awstest.Group{Name: string(g.ID), Min: g.Min, Max: g.Max, Desired: g.Target, Timing: unhurried}
		if g.ID == named {
			options.Nodes = append(options.Nodes, fmt.Sprintf("0:100:%s", g.ID))
		} else {
			group.Tags = tags("shared")
		}
		described = append(described, group)
	}
	return &harness{rig: newRig(t, options, described...)}
}

func (h *harness) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) Provider() cloudprovider.CloudProvider { return h.provider }
func (h *harness) RefreshInterval() time.Duration        { return time.Minute }

func (h *harness) Advance(d time.Duration) {
	h.clock.Step(d)
	h.server.Advance()
}

func (h *harness) Settle() {
	for range 12 {
		h.Advance(10 * time.Second)
	}
}

func (h *harness) Truth(id cloudprovider.GroupID) cloudtest.Truth {
	truth := cloudtest.Truth{Target: h.desired(string(id))}
	for _, instance := range h.machines(string(id)) {
		truth.Machines = append(truth.Machines, instance.ProviderID())
	}
	slices.Sort(truth.Machines)
	return truth
}

func (h *harness) SetBounds(id cloudprovider.GroupID, minimum, maximum int) {
	h.must(h.server.SetBounds(string(id), minimum, maximum))
}

func (h *harness) SetTarget(id cloudprovider.GroupID, target int) {
	h.must(h.server.SetDesired(string(id), target))
}

func (h *harness) SetStock(id cloudprovider.GroupID, machines int) {
	h.server.SetStock(awstest.StockRule{Group: string(id), Left: machines})
}

func (h *harness) FailCloud() { h.server.SetCredentials(awstest.CredentialsExpired) }
func (h *harness) HealCloud() { h.server.SetCredentials(awstest.CredentialsValid) }

func (h *harness) inject(f awstest.Fault) {
	f.Count = awstest.Always
	h.remove = append(h.remove, h.server.Inject(f))
}

func (h *harness) heal() {
	for _, remove := range h.remove {
		remove()
	}
	h.remove = nil
}

func (h *harness) RefuseWrites(reason cloudtest.Refusal) {
	effect := map[cloudtest.Refusal]awstest.Effect{
		cloudtest.RefusalThrottled: awstest.Throttle{},
		cloudtest.RefusalDenied:    awstest.ErrorAnswer{Status: 403, Code: "AccessDenied", Message: "no policy allows it"},
		cloudtest.RefusalQuota:     awstest.ErrorAnswer{Status: 400, Code: "LimitExceeded", Message: "the limit of the account is reached"},
	}[reason]
	for _, action := range []string{"SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup", "SetInstanceProtection"} {
		h.inject(awstest.Fault{Action: action, Effect: effect})
	}
}

func (h *harness) AllowWrites() { h.heal() }

// LoseAnswers carries writes out and cuts the connection, for the look after the write as well.
func (h *harness) LoseAnswers() {
	for _, action := range []string{"SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup"} {
		h.inject(awstest.Fault{Action: action, Effect: awstest.Drop{Side: awstest.AfterEffect}})
		h.inject(awstest.Fault{Action: action, Effect: awstest.Hook{After: func() {
			h.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.ErrorAnswer{Status: 503}})
		}}})
	}
}

func (h *harness) KeepAnswers() { h.heal() }

func (h *harness) RemoveGroup(id cloudprovider.GroupID) { h.must(h.server.RemoveGroup(string(id))) }

// namedHarness can make the group that is named fail alone: the listing by name holds no other.
type namedHarness struct{ *harness }

func (h namedHarness) FailGroup(id cloudprovider.GroupID) {
	h.inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Group: string(id), Effect: awstest.Omit{Elements: []string{"MinSize"}}})
}

func (h namedHarness) HealGroup(cloudprovider.GroupID) { h.heal() }

func TestTheContractHoldsForNamedGroups(t *testing.T) {
	cloudtest.Run(t, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
		tb.Helper()
		return namedHarness{newHarness(tb, "a", groups...)}
	})
}

func TestTheContractHoldsForDiscoveredGroups(t *testing.T) {
	cloudtest.Run(t, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
		tb.Helper()
		return newHarness(tb, "", groups...)
	})
}
