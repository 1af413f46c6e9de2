package asgapi

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// refreshPage is how many instance refreshes are looked at, the newest first: one that runs is among the first.
const refreshPage = 10

// Renewal is the status, in AWS's words, of the instance refresh that runs in a group; empty: none runs.
func (c *Client) Renewal(ctx context.Context, group string) (status string, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeInstanceRefreshes(ctx, &autoscaling.DescribeInstanceRefreshesInput{
		AutoScalingGroupName: aws.String(group), MaxRecords: aws.Int32(refreshPage),
	})
	if err != nil {
		return "", faults.Wrap("DescribeInstanceRefreshes", err)
	}
	for _, refresh := range out.InstanceRefreshes {
		switch refresh.Status {
		case types.InstanceRefreshStatusPending, types.InstanceRefreshStatusInProgress, types.InstanceRefreshStatusCancelling,
			types.InstanceRefreshStatusRollbackInProgress, types.InstanceRefreshStatusBaking:
			return string(refresh.Status), nil
		default: // over, one way or the other
		}
	}
	return "", nil
}
