package cloudprovider

import (
	"errors"
	"fmt"
	"time"
)

// ErrNoTemplate is returned by NodeGroup.Templates where the provider cannot know what a fresh node looks like. The group
// then lives on templates made from its own nodes.
var ErrNoTemplate = errors.New("the cloud provider has no template for this node group")

// TransientError: the cloud could not answer now (throttled, 5xx, time-out, busy). Reaction: try again in the next loop; no
// back-off, not a failed scale-up.
type TransientError struct {
	// OutcomeUnknown is true if the request may have been carried out. Reaction: count it as carried out until a refresh tells.
	OutcomeUnknown bool
	Err            error
}

// GoneError: the group does not exist any more. Reaction: leave it out until a refresh lists it again; no back-off.
type GoneError struct {
	Group GroupID
	Err   error
}

// StaleBoundsError: the size asked for is outside the bounds of the group as they are now. Reaction: refresh and plan anew.
type StaleBoundsError struct {
	Group GroupID
	// Asked is how many nodes more or fewer were wanted, Room how many were possible.
	Asked, Room int
	Err         error
}

// ConfigurationError: an operator has to do something (permissions, credentials, a broken launch template, a suspended
// process). Reaction: set the group aside for Retry, tell the operator once per change; not a failed scale-up.
type ConfigurationError struct {
	// Group is empty when the whole cloud is concerned.
	Group GroupID
	// Retry is how long to leave the group alone; zero: five minutes.
	Retry time.Duration
	Err   error
}

// QuotaError: an account limit is reached. Reaction: back the group off as usual and take the next best option.
type QuotaError struct {
	Group GroupID
	// Code is the provider's word for the limit.
	Code string
	Err  error
}

// OutOfResourcesError: the cloud has no such machine now. Reaction: back the group off, at least until Until, and take the
// next best option at once.
type OutOfResourcesError struct {
	Group        GroupID
	InstanceType string    // empty: whatever the group asks for
	Zone         string    // empty: all zones of the group
	Until        time.Time // zero: the usual back-off decides
	// Code is the provider's word for the shortage.
	Code string
	Err  error
}

// Error tells what happened; Unwrap leads to the cause.
func (e *TransientError) Error() string {
	if e.OutcomeUnknown {
		return fmt.Sprintf("the cloud gave no answer and may have carried the request out: %v", e.Err)
	}
	return fmt.Sprintf("the cloud could not answer for now: %v", e.Err)
}

// Unwrap returns the cause.
func (e *TransientError) Unwrap() error { return e.Err }

// Error names the group.
func (e *GoneError) Error() string {
	return fmt.Sprintf("node group %q does not exist any more: %v", e.Group, e.Err)
}

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// Error names the group and the numbers.
func (e *StaleBoundsError) Error() string {
	return fmt.Sprintf("node group %q has room for a change of %d, not %d: %v", e.Group, e.Room, e.Asked, e.Err)
}

// Unwrap returns the cause.
func (e *StaleBoundsError) Unwrap() error { return e.Err }

// Error names the group.
func (e *ConfigurationError) Error() string {
	if e.Group == "" {
		return fmt.Sprintf("the cloud refuses, an operator has to act: %v", e.Err)
	}
	return fmt.Sprintf("node group %q cannot be used until an operator acts: %v", e.Group, e.Err)
}

// Unwrap returns the cause.
func (e *ConfigurationError) Unwrap() error { return e.Err }

// Error names the group.
func (e *QuotaError) Error() string {
	return fmt.Sprintf("an account limit stops node group %q: %v", e.Group, e.Err)
}

// Unwrap returns the cause.
func (e *QuotaError) Unwrap() error { return e.Err }

// Error names the group, and the type and zone where known.
func (e *OutOfResourcesError) Error() string {
	what := "its machines"
	if e.InstanceType != "" {
		what = e.InstanceType
	}
	if e.Zone != "" {
		what += " in " + e.Zone
	}
	return fmt.Sprintf("the cloud is out of %s for node group %q: %v", what, e.Group, e.Err)
}

// Unwrap returns the cause.
func (e *OutOfResourcesError) Unwrap() error { return e.Err }
