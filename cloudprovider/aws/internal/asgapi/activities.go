package asgapi

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// maxActivityPages bounds one question; a page has 100 activities, and a group that had more in the time asked for is in trouble anyway.
const maxActivityPages = 20

// Activities lists the scaling activities of a group that began at since or later, the newest first, and AWS's time of the answer.
func (c *Client) Activities(ctx context.Context, group string, since time.Time) ([]asg.Activity, time.Time, error) {
	in := autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String(group), MaxRecords: aws.Int32(pageSize),
		Filters: []types.Filter{{Name: aws.String("StartTimeLowerBound"), Values: []string{since.UTC().Format(time.RFC3339)}}},
	}
	activities, at, err := c.activities(ctx, in, since)
	if faulty, ok := errors.AsType[*faults.Error](err); ok && faulty.Class == faults.Refused && faulty.Code == "ValidationError" {
		in.Filters = nil // an endpoint that doesn't know the filter
		return c.activities(ctx, in, since)
	}
	return activities, at, err
}

func (c *Client) activities(ctx context.Context, in autoscaling.DescribeScalingActivitiesInput, since time.Time) ([]asg.Activity, time.Time, error) {
	var activities []asg.Activity
	var at time.Time
	for range maxActivityPages {
		out, err := c.activityPage(ctx, &in)
		if err != nil {
			return nil, time.Time{}, err
		}
		if at.IsZero() {
			at = c.serverTime(out.ResultMetadata)
		}
		older := false
		for _, a := range out.Activities {
			activity := convertActivity(a)
			if activity.Start.Before(since) {
				older = true
				continue
			}
			activities = append(activities, activity)
		}
		if older || aws.ToString(out.NextToken) == "" {
			break
		}
		in.NextToken = out.NextToken
	}
	return activities, at, nil
}

func (c *Client) activityPage(ctx context.Context, in *autoscaling.DescribeScalingActivitiesInput) (*autoscaling.DescribeScalingActivitiesOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeScalingActivities(ctx, in)
	return out, faults.Wrap("DescribeScalingActivities", err)
}

func convertActivity(in types.Activity) asg.Activity {
	return asg.Activity{
		ID: aws.ToString(in.ActivityId), Description: aws.ToString(in.Description), Cause: aws.ToString(in.Cause), Details: aws.ToString(in.Details),
		Status: string(in.StatusCode), Message: aws.ToString(in.StatusMessage), Start: aws.ToTime(in.StartTime), End: aws.ToTime(in.EndTime),
	}
}
