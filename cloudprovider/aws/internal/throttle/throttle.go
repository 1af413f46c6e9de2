package throttle

import (
	"context"
	"errors"
	"slices"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"
)

// Rates are how many requests per second each API takes at most; 0: the default, below 0: as many as there are.
type Rates struct {
	AutoScaling float64 // 5 by default
	EC2         float64 // 10 by default
	EKS         float64 // 2 by default
}

const (
	autoScalingRate = 5
	ec2Rate         = 10
	eksRate         = 2
)

// Throttle holds the bucket of each API. Safe for concurrent use.
type Throttle struct {
	buckets map[string]*Bucket // by the SDK's name of the service
	told    func(service, operation string)
}

// New makes a Throttle whose buckets are full. told is called at each request that AWS refuses because there were too many; it must not block.
func New(rates Rates, ticking clock.Clock, told func(service, operation string)) *Throttle {
	t := &Throttle{buckets: map[string]*Bucket{}, told: told}
	for _, api := range []struct {
		service     string
		rate, usual float64
	}{
		{"Auto Scaling", rates.AutoScaling, autoScalingRate}, {"EC2", rates.EC2, ec2Rate}, {"EKS", rates.EKS, eksRate},
	} {
		switch {
		case api.rate < 0:
		case api.rate == 0:
			t.buckets[api.service] = NewBucket(api.service, api.usual, ticking)
		default:
			t.buckets[api.service] = NewBucket(api.service, api.rate, ticking)
		}
	}
	return t
}

// Install is an API option of the SDK. Each attempt of a call, retries too, waits for its turn.
func (t *Throttle) Install(stack *middleware.Stack) error {
	return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("ClusterAutoscalerThrottle", func(
		ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
	) (middleware.FinalizeOutput, middleware.Metadata, error) {
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		bucket := t.buckets[service]
		if bucket != nil {
			if err := bucket.pass(ctx, operation); err != nil {
				return middleware.FinalizeOutput{}, middleware.Metadata{}, err
			}
		}
		out, metadata, err := next.HandleFinalize(ctx, in)
		if IsThrottled(err) {
			if bucket != nil {
				bucket.Throttled()
			}
			t.told(service, operation)
		}
		return out, metadata, err
	}), "Retry", middleware.After)
}

func (b *Bucket) pass(ctx context.Context, operation string) error {
	if reads(operation) {
		return b.Read(ctx)
	}
	return b.Write(ctx)
}

// reads tells operations that change nothing by their names.
func reads(operation string) bool {
	return strings.HasPrefix(operation, "Describe") || strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "List")
}

// Codes are the error codes that mean too many requests.
func Codes() []string {
	return []string{
		"Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "RequestThrottledException", "RequestLimitExceeded",
		"TooManyRequestsException", "SlowDown", "PriorRequestNotComplete", "EC2ThrottledException", "BandwidthLimitExceeded",
	}
}

// IsThrottled tells whether an error is AWS's answer to too many requests.
func IsThrottled(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains(Codes(), api.ErrorCode())
}
