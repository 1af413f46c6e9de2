package serving

import (
	"context"
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"example.com/cluster-autoscaler/cloudprovider"
)

// domain is whose words the reasons in details are.
const domain = "cluster-autoscaler"

// statusOf gives an error of the contract the code that makes a client react in the same way, with the cloud's own word in the details where
// there is one.
func statusOf(err error) error {
	if err == nil {
		return nil
	}
	var (
		transient     *cloudprovider.TransientError
		gone          *cloudprovider.GoneError
		stale         *cloudprovider.StaleBoundsError
		quota         *cloudprovider.QuotaError
		short         *cloudprovider.OutOfResourcesError
		configuration *cloudprovider.ConfigurationError
	)
	switch {
	case errors.As(err, &transient) && transient.OutcomeUnknown:
		return status.Error(codes.Unavailable, err.Error())
	case errors.As(err, &transient):
		return status.Error(codes.Aborted, err.Error())
	case errors.As(err, &gone):
		return status.Error(codes.NotFound, err.Error())
	case errors.As(err, &stale):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.As(err, &quota):
		return detailed(err, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: quota.Code, Description: err.Error()}}})
	case errors.As(err, &short):
		return detailed(err, &errdetails.ErrorInfo{Reason: short.Code, Domain: domain})
	case errors.As(err, &configuration):
		return status.Error(codes.PermissionDenied, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	default:
		return status.Error(codes.Internal, err.Error())
	}
}

// detailed is ResourceExhausted with what exactly is exhausted.
func detailed(err error, detail protoadapt.MessageV1) error {
	plain := status.New(codes.ResourceExhausted, err.Error())
	if with, errDetails := plain.WithDetails(detail); errDetails == nil {
		return with.Err()
	}
	return plain.Err() // the text alone will do
}
