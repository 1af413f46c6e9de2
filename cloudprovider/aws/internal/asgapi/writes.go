package asgapi

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

// SetDesired writes the desired capacity of a group and returns AWS's time of the answer.
func (c *Client) SetDesired(ctx context.Context, group string, desired int) (time.Time, error) {
	if desired < 0 || desired > math.MaxInt32 {
		return time.Time{}, &faults.Error{Operation: "SetDesiredCapacity", Class: faults.AboveMax, Message: "the number is out of range"}
	}
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	out, err := c.api.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: aws.String(group), DesiredCapacity: aws.Int32(int32(desired)), HonorCooldown: aws.Bool(false),
	})
	if err != nil {
		return time.Time{}, faults.Wrap("SetDesiredCapacity", err)
	}
	return c.serverTime(out.ResultMetadata), nil
}

// Terminate ends one machine. With decrement the group's desired capacity goes down with it, without AWS starts another one unless there is a surplus.
func (c *Client) Terminate(ctx context.Context, instance string, decrement bool) error {
	return c.terminate(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: aws.String(instance), ShouldDecrementDesiredCapacity: aws.Bool(decrement),
	})
}

// TerminateBatch ends up to BatchSize machines of a group in one call. If AWS refuses any of them it refuses all.
func (c *Client) TerminateBatch(ctx context.Context, group string, instances []string, decrement bool) error {
	return c.terminate(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		AutoScalingGroupName: aws.String(group), InstanceIds: instances, ShouldDecrementDesiredCapacity: aws.Bool(decrement),
	})
}

func (c *Client) terminate(ctx context.Context, in *autoscaling.TerminateInstanceInAutoScalingGroupInput) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	_, err := c.api.TerminateInstanceInAutoScalingGroup(ctx, in)
	return faults.Wrap("TerminateInstanceInAutoScalingGroup", err)
}

// Protect sets or clears the protection from scale-in. After an error some of the instances may have been changed.
func (c *Client) Protect(ctx context.Context, group string, instances []string, protected bool) error {
	for batch := range slices.Chunk(instances, protectIDs) {
		err := c.protect(ctx, &autoscaling.SetInstanceProtectionInput{
			AutoScalingGroupName: aws.String(group), InstanceIds: batch, ProtectedFromScaleIn: aws.Bool(protected),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) protect(ctx context.Context, in *autoscaling.SetInstanceProtectionInput) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	_, err := c.api.SetInstanceProtection(ctx, in)
	return faults.Wrap("SetInstanceProtection", err)
}
