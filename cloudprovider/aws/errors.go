package aws

import (
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// question is what an error of AWS is about.
type question struct {
	group cloudprovider.GroupID // empty: all of them
	write bool                  // a request that changes something
	asked int                   // how many machines more or fewer were wanted
	room  int                   // how many were possible as far as is known
}

// translate turns an error of AWS into the one of the contract that asks for the right reaction. Errors that are not from AWS are left as
// they are.
func (p *Provider) translate(err error, q question) error {
	if err == nil {
		return nil
	}
	worst, ok := errors.AsType[*faults.Error](err)
	if !ok {
		return err
	}
	switch worst.Class {
	case faults.Throttled, faults.Unreachable:
		return &cloudprovider.TransientError{Err: worst}
	case faults.Unanswered:
		return &cloudprovider.TransientError{OutcomeUnknown: q.write, Err: worst}
	case faults.NotFound:
		if q.group != "" {
			return &cloudprovider.GoneError{Group: q.group, Err: worst}
		}
		return &cloudprovider.ConfigurationError{Err: worst}
	case faults.AboveMax, faults.BelowMin:
		return &cloudprovider.StaleBoundsError{Group: q.group, Asked: q.asked, Room: q.room, Err: worst}
	case faults.Quota:
		return &cloudprovider.QuotaError{Group: q.group, Code: worst.Code, Err: worst}
	case faults.Credentials:
		return &cloudprovider.ConfigurationError{Group: q.group, Err: fmt.Errorf("%w (check the credentials of this process, and that they are for region %s)", worst, p.wanted.region)}
	case faults.Denied:
		return &cloudprovider.ConfigurationError{Group: q.group, Err: fmt.Errorf("%w (allow it in the IAM policy of this process)", worst)}
	case faults.NoSuchEndpoint:
		return &cloudprovider.ConfigurationError{
			Group: q.group,
			Err:   fmt.Errorf("%w (is %q a region? it comes from %s; or is the endpoint's URL wrong?)", worst, p.wanted.region, p.wanted.regionSource),
		}
	default:
		return &cloudprovider.ConfigurationError{Group: q.group, Err: worst}
	}
}
