package attempts

import (
	"context"
	"errors"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/throttle"
)

// Observe returns an API option of the SDK that reports each attempt of each call to the observer.
func Observe(provider string, observer cloudprovider.CallObserver, ticking clock.PassiveClock) func(*middleware.Stack) error {
	observe := middleware.FinalizeMiddlewareFunc("ClusterAutoscalerAttempts", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		start := ticking.Now()
		out, metadata, err := next.HandleFinalize(ctx, in)
		observer.ObserveCall(cloudprovider.Call{
			Provider: provider, Service: service(awsmiddleware.GetServiceID(ctx)), Operation: awsmiddleware.GetOperationName(ctx),
			Duration: ticking.Since(start), Code: code(err), Throttled: throttle.IsThrottled(err),
		})
		return out, metadata, err
	})
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(observe, "Retry", middleware.After)
	}
}

// service is the SDK's name of a service, such as Auto Scaling, as one word in lower case.
func service(id string) string { return strings.ToLower(strings.ReplaceAll(id, " ", "")) }

func code(err error) string {
	if err == nil {
		return "success"
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != "" {
		return api.ErrorCode()
	}
	return "error"
}
