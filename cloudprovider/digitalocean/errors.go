package digitalocean

import (
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// question is what an error of the API is about.
type question struct {
	group cloudprovider.GroupID // empty: all of them
	write bool                  // a request that changes something
}

// codeQuota and codeCapacity are the codes of shortages.
const (
	codeQuota    = "DROPLET_LIMIT"
	codeCapacity = "CAPACITY"
	codeFailed   = "NODE_FAILED"
)

// translate turns an error of the API into the one of the contract that asks for the right reaction. Errors that are not from
// the API, and those that were judged before, are left as they are.
func (p *Provider) translate(err error, q question) error {
	failure, ok := errors.AsType[*doapi.Error](err)
	if !ok || isTransient(err) {
		return err
	}
	if !q.write { // reads fail again and again, and are told once if their text stays
		copied := *failure
		copied.Request = ""
		failure = &copied
	}
	advise := func(text string) error {
		return &cloudprovider.ConfigurationError{Group: q.group, Err: fmt.Errorf("%w (%s)", failure, text)}
	}
	switch failure.Class {
	case doapi.Throttled, doapi.Unreachable, doapi.Busy:
		return &cloudprovider.TransientError{Err: failure}
	case doapi.Unanswered:
		return &cloudprovider.TransientError{OutcomeUnknown: q.write, Err: failure}
	case doapi.Broken:
		if q.write { // looked after, and found not to have been carried out
			return failure
		}
		return &cloudprovider.TransientError{Err: failure}
	case doapi.NotFound:
		if q.group != "" {
			return &cloudprovider.GoneError{Group: q.group, Err: failure}
		}
		return advise(fmt.Sprintf("is %q the id of the cluster? it comes from cluster_id in --cloud-config", p.config.ClusterID))
	case doapi.Credentials:
		return advise("check the token that --cloud-config gives")
	case doapi.Denied:
		return advise("give the token the scope " + scopeOf(failure.Operation))
	case doapi.Quota, doapi.Capacity:
		return shortage(failure, q)
	default:
		return &cloudprovider.ConfigurationError{Group: q.group, Err: failure}
	}
}

// shortage is what a write is refused for when something is used up; to a read it means nothing of the kind.
func shortage(failure *doapi.Error, q question) error {
	switch {
	case q.write && failure.Class == doapi.Quota:
		return &cloudprovider.QuotaError{Group: q.group, Code: codeQuota, Err: failure}
	case q.write:
		return &cloudprovider.OutOfResourcesError{Group: q.group, Code: codeCapacity, Err: failure}
	default:
		return &cloudprovider.ConfigurationError{Group: q.group, Err: failure}
	}
}

// scopeOf is the scope that an operation needs.
func scopeOf(operation string) string {
	switch operation {
	case "UpdateNodePool", "DeleteNode":
		return "kubernetes:update"
	case "ListSizes":
		return "sizes:read"
	default:
		return "kubernetes:read"
	}
}

func isTransient(err error) bool {
	_, ok := errors.AsType[*cloudprovider.TransientError](err)
	return ok
}

func isGone(err error) bool {
	_, ok := errors.AsType[*cloudprovider.GoneError](err)
	return ok
}

func isConfiguration(err error) bool {
	_, ok := errors.AsType[*cloudprovider.ConfigurationError](err)
	return ok
}
