package externalgrpc

import (
	"cmp"
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"example.com/cluster-autoscaler/cloudprovider"
)

// question is what an answer of the server is about.
type question struct {
	group cloudprovider.GroupID // empty: all of them
	write bool                  // a call that changes something
	asked int                   // how many machines more or fewer were wanted
}

// translate turns a status of the server into the error of the contract that asks for the right reaction. What tells nothing, such as Unknown
// and Internal, is a failure of this one call.
func translate(err error, q question) error {
	if err == nil {
		return nil
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return &cloudprovider.TransientError{OutcomeUnknown: q.write, Err: err}
	case codes.Aborted:
		return &cloudprovider.TransientError{Err: err}
	case codes.NotFound:
		if q.group != "" {
			return &cloudprovider.GoneError{Group: q.group, Err: err}
		}
		return err
	case codes.ResourceExhausted:
		return exhausted(err, q)
	case codes.FailedPrecondition, codes.OutOfRange:
		if q.write {
			return &cloudprovider.StaleBoundsError{Group: q.group, Asked: q.asked, Err: err}
		}
		return err
	case codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented, codes.InvalidArgument:
		return &cloudprovider.ConfigurationError{Group: q.group, Err: fmt.Errorf("%w (see to the server behind --cloud-config)", err)}
	default:
		return err
	}
}

// exhausted tells a limit of the account from a shortage by the details of the status, which few servers send.
func exhausted(err error, q question) error {
	for _, detail := range status.Convert(err).Details() {
		switch d := detail.(type) {
		case *errdetails.QuotaFailure:
			code := ""
			for _, violation := range d.GetViolations() {
				code = cmp.Or(code, violation.GetSubject())
			}
			return &cloudprovider.QuotaError{Group: q.group, Code: cmp.Or(code, codes.ResourceExhausted.String()), Err: err}
		case *errdetails.ErrorInfo:
			return &cloudprovider.OutOfResourcesError{Group: q.group, Code: cmp.Or(d.GetReason(), codes.ResourceExhausted.String()), Err: err}
		}
	}
	return &cloudprovider.OutOfResourcesError{Group: q.group, Code: codes.ResourceExhausted.String(), Err: err}
}

// unanswered tells errors that leave open whether the call was carried out.
func unanswered(err error) bool {
	transient, ok := errors.AsType[*cloudprovider.TransientError](err)
	return ok && transient.OutcomeUnknown
}

// unimplemented tells that the server doesn't have the call.
func unimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }
