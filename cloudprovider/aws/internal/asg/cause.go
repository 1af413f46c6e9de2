package asg

import (
	"regexp"
	"strings"
	"time"
)

// Cause groups the reasons for which launches fail by what helps against them.
type Cause int

// The causes.
const (
	CauseUnset         Cause = iota
	CauseCapacity            // AWS has no such machine now; it may have one elsewhere, or in a while
	CauseQuota               // a limit of the account
	CausePrice               // the highest price that is offered for Spot is too low
	CauseAddresses           // the subnet has no address left
	CauseConfiguration       // the group asks for something that doesn't exist or isn't allowed
	CauseOther
)

// String returns the word used in messages.
func (c Cause) String() string {
	switch c {
	case CauseCapacity:
		return "capacity"
	case CauseQuota:
		return "quota"
	case CausePrice:
		return "Spot price"
	case CauseAddresses:
		return "addresses"
	case CauseConfiguration:
		return "configuration"
	case CauseUnset, CauseOther:
		return "other"
	default:
		return "other"
	}
}

// Pause is for how long another launch is known to fail for the same cause; 0: that isn't known.
func (c Cause) Pause() time.Duration {
	switch c {
	case CauseQuota, CauseConfiguration:
		return 30 * time.Minute
	case CauseAddresses:
		return 10 * time.Minute
	case CauseUnset, CauseCapacity, CausePrice, CauseOther:
		return 0
	default:
		return 0
	}
}

// FailureCause groups the failure of a launch; CauseUnset for what is no failure.
func (a Activity) FailureCause() Cause {
	failure := a.Failure()
	if failure == nil {
		return CauseUnset
	}
	return causeOf(failure.Code)
}

func causeOf(code string) Cause {
	switch code {
	case CodeInsufficientCapacity, "ReservationCapacityExceeded", "InsufficientCapacityOnOutpost", codeUnsupported, codePlacementGroup:
		return CauseCapacity
	case codeVCPULimit, codeInstanceLimit, codeSpotCount, "MaxFleetCountExceeded", "VolumeLimitExceeded", "MaxIOPSLimitExceeded":
		return CauseQuota
	case codeSpotPrice:
		return CausePrice
	case codeNoAddresses:
		return CauseAddresses
	case codeUnauthorized, codeNoSpotRole, codeInvalid:
		return CauseConfiguration
	default:
		if strings.HasPrefix(code, "Invalid") {
			return CauseConfiguration
		}
		return CauseOther
	}
}

// Spot tells whether a failed launch asked for Spot capacity, as far as its text tells.
func (a Activity) Spot() bool { return strings.Contains(strings.ToLower(a.Message), "spot") }

// InstanceType is the type that the text of a failure names, or empty.
func (a Activity) InstanceType() string {
	return regexp.MustCompile(`\b[a-z][a-z0-9-]*[0-9][a-z0-9-]*\.(nano|micro|small|medium|large|[0-9]*xlarge|metal)(-[0-9]+xl)?\b`).FindString(a.Message)
}

// zoneIn is the name of an Availability Zone, Local Zones too, that stands in brackets in a text, or empty.
func zoneIn(text string) string {
	found := regexp.MustCompile(`\(([a-z]{2}(-[a-z]+)+-[0-9](-[a-z]+-[0-9])?[a-z])\)`).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}
