package asgapi

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go/middleware"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
)

const (
	// readLimit and writeLimit bound one call, retries included: a call that hangs must not hold the loop.
	readLimit  = 30 * time.Second
	writeLimit = 60 * time.Second

	pageSize    = 100 // the most that DescribeAutoScalingGroups takes, as names and as records
	configNames = 50  // the most names that DescribeLaunchConfigurations takes
	protectIDs  = 50  // the most ids that SetInstanceProtection takes
	// BatchSize is the most ids that one call of TerminateBatch takes.
	BatchSize = 100
)

// service is what is used of the SDK's client.
type service interface {
	reader
	writer
}

type reader interface {
	DescribeAutoScalingGroups(ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error)
	DescribeScalingActivities(ctx context.Context, in *autoscaling.DescribeScalingActivitiesInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeScalingActivitiesOutput, error)
	DescribeInstanceRefreshes(ctx context.Context, in *autoscaling.DescribeInstanceRefreshesInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeInstanceRefreshesOutput, error)
	DescribeLaunchConfigurations(ctx context.Context, in *autoscaling.DescribeLaunchConfigurationsInput, opts ...func(*autoscaling.Options)) (*autoscaling.DescribeLaunchConfigurationsOutput, error)
}

type writer interface {
	SetDesiredCapacity(ctx context.Context, in *autoscaling.SetDesiredCapacityInput, opts ...func(*autoscaling.Options)) (*autoscaling.SetDesiredCapacityOutput, error)
	TerminateInstanceInAutoScalingGroup(ctx context.Context, in *autoscaling.TerminateInstanceInAutoScalingGroupInput, opts ...func(*autoscaling.Options)) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error)
	SetInstanceProtection(ctx context.Context, in *autoscaling.SetInstanceProtectionInput, opts ...func(*autoscaling.Options)) (*autoscaling.SetInstanceProtectionOutput, error)
}

// Client asks the Auto Scaling service of one region. Safe for concurrent use; all methods block. Errors are of type *faults.Error.
type Client struct {
	api service
	now func() time.Time
}

// New makes a client. override is zero where the SDK knows where the service is; now tells the time for answers without a date.
func New(config aws.Config, override endpoint.Override, now func() time.Time) *Client {
	api := autoscaling.NewFromConfig(config, func(o *autoscaling.Options) {
		if override.URL != "" {
			o.EndpointResolverV2 = resolver{override: override}
		}
	})
	return &Client{api: api, now: now}
}

// serverTime is the date of an answer; times of activities are compared with it and not with our own clock.
func (c *Client) serverTime(metadata middleware.Metadata) time.Time {
	if at, ok := awsmiddleware.GetServerTime(metadata); ok && !at.IsZero() {
		return at
	}
	return c.now()
}
