package cloudtest

import (
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Group is a node group that a check wants to find: with that many machines that run, and as many more as may be asked for.
// Every machine counts one, whatever it is made of.
type Group struct {
	ID               cloudprovider.GroupID
	Min, Max, Target int
}

// Factory makes a provider with its cloud for one check. The provider has not been refreshed yet. The groups are all there are,
// listed in any order that stays. It fails the test if it can't, and registers what has to be cleaned up.
type Factory func(tb testing.TB, groups ...Group) Harness

// Harness is a provider under test and the cloud behind it. What a check asks for through it happens in the cloud, behind the
// provider's back. Machines that are asked for don't come and ordered ends don't end before the time is moved on.
type Harness interface {
	// Provider is the provider under test, the same each time.
	Provider() cloudprovider.CloudProvider
	// RefreshInterval is how long after a Refresh the next one shows what has changed since.
	RefreshInterval() time.Duration
	// Advance moves time on for cloud and provider.
	Advance(d time.Duration)
	// Settle moves time on until all machines that can come run, what can't come has failed, and what is ending is gone.
	Settle()
	// Truth is the group as the cloud has it now.
	Truth(id cloudprovider.GroupID) Truth
	// SetBounds changes the bounds that the cloud or the operator has set for the group.
	SetBounds(id cloudprovider.GroupID, minimum, maximum int)
	// SetTarget is a resize by somebody else, within the bounds.
	SetTarget(id cloudprovider.GroupID, target int)
	// SetStock says how many more machines the group can get; what goes beyond fails for want of resources.
	SetStock(id cloudprovider.GroupID, machines int)
}

// Truth is a group as the cloud has it.
type Truth struct {
	Target int
	// Machines are the provider ids of the machines that exist, those that are ending left out, in ascending order.
	Machines []string
}

// The abilities below are optional. A check that needs one is skipped where the harness lacks it.

// GroupFailer is the ability to make one group unreadable.
type GroupFailer interface {
	// FailGroup makes every look at this group fail, in a way that tells nothing about the others. HealGroup ends that.
	FailGroup(id cloudprovider.GroupID)
	HealGroup(id cloudprovider.GroupID)
}

// CloudFailer is the ability to make the whole cloud unreadable.
type CloudFailer interface {
	// FailCloud makes every request fail. HealCloud ends that.
	FailCloud()
	HealCloud()
}

// WriteRefuser is the ability to have writes refused.
type WriteRefuser interface {
	// RefuseWrites has every write refused for that reason. AllowWrites ends that.
	RefuseWrites(reason Refusal)
	AllowWrites()
}

// AnswerLoser is the ability to lose answers.
type AnswerLoser interface {
	// LoseAnswers has every write carried out and its answer lost. KeepAnswers ends that.
	LoseAnswers()
	KeepAnswers()
}

// GroupRemover is the ability to delete a group.
type GroupRemover interface {
	// RemoveGroup deletes the group with its machines.
	RemoveGroup(id cloudprovider.GroupID)
}

// Refusal is a reason for refusing a write.
type Refusal int

// The reasons.
const (
	RefusalUnset     Refusal = iota
	RefusalThrottled         // too many requests; the write was not carried out
	RefusalDenied            // the credentials don't allow it
	RefusalQuota             // a limit of the account is reached
)

// String returns the word used in test output.
func (r Refusal) String() string {
	switch r {
	case RefusalUnset:
		return "unset"
	case RefusalThrottled:
		return "throttled"
	case RefusalDenied:
		return "denied"
	case RefusalQuota:
		return "quota"
	default:
		return "unknown"
	}
}

// Check is one promise of the contract.
type Check struct {
	// Name is the promise as a sentence.
	Name string

	groups []Group
	run    func(r *rig)
}

// Checks lists all promises.
func Checks() []Check {
	return concat(viewChecks(), sizeChecks(), deleteChecks(), abilityChecks(), failureChecks(), concurrencyChecks())
}

// Run fails tb if a provider made by factory breaks the promise.
func (c Check) Run(tb testing.TB, factory Factory) {
	tb.Helper()
	h := factory(tb, c.groups...)
	c.run(&rig{TB: tb, harness: h, cloud: h.Provider()})
}

// Run checks all promises, each on a provider of its own.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	for _, check := range Checks() {
		t.Run(check.Name, func(t *testing.T) { check.Run(t, factory) })
	}
}

func concat(lists ...[]Check) []Check {
	var all []Check
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
