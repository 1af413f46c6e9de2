package scaleup

import (
	"context"
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
)

// Choose takes one of the options; it may ask another process.
type Choose func(ctx context.Context, asked expander.Question) expander.Choice

// Act asks the cloud for nodes, in the order given, and returns what became of each wish that it came to.
type Act func(ctx context.Context, resizes []report.Resize) []report.ResizeOutcome

// Grow makes one round: plan, choose, shape, act; and while a group refuses and options are left, once more without it. It has no effects but those
// of the two functions.
func Grow(ctx context.Context, in In, choose Choose, act Act) report.ScaleUp {
	c, err := Options(ctx, in)
	if err != nil {
		return report.ScaleUp{Result: report.ScaleUpError, Pods: inOrder(in.Pending, nil), Err: fmt.Errorf("planning a scale-up: %w", err)}
	}
	ended := Ended{Reasons: map[cloudprovider.GroupID]report.Reason{}, Dropped: map[cloudprovider.GroupID]report.Reason{}}
	for open := c.Options; len(open) > 0 && ctx.Err() == nil; {
		choice := choose(ctx, expander.Question{Options: open, ClusterNodes: c.accounts.nodes})
		if choice.Taken < 0 {
			note(ended.Reasons, choice.Dropped)
			break
		}
		note(ended.Dropped, choice.Dropped)
		taken := open[choice.Taken]
		open = without(open, taken.Group)
		shaped := c.Shape(taken)
		ended.MaxNodesTotal = max(ended.MaxNodesTotal, shaped.MaxNodesTotal)
		if len(shaped.Resizes) == 0 {
			ended.Reasons[taken.Group] = shaped.Reason
			continue
		}
		outcomes := act(ctx, shaped.Resizes)
		ended.Outcomes = append(ended.Outcomes, outcomes...)
		if !refused(outcomes, ended.Reasons) {
			break
		}
	}
	ended.Err = ctx.Err()
	return c.Verdicts(ended)
}

func note(reasons map[cloudprovider.GroupID]report.Reason, dropped []report.GroupVerdict) {
	for _, d := range dropped {
		reasons[d.Group] = d.Reason
	}
}

// refused notes which groups refused, and tells whether all did in a way that makes it right to try another one at once.
func refused(outcomes []report.ResizeOutcome, reasons map[cloudprovider.GroupID]report.Reason) bool {
	all := len(outcomes) > 0
	for _, outcome := range outcomes {
		if outcome.Granted <= 0 && outcome.Err != nil {
			reasons[outcome.Group] = report.ExecutionFailed{Error: outcome.Err.Error()}
		}
		all = all && outcome.Granted <= 0 && elsewhere(outcome.Err)
	}
	return all
}

// elsewhere tells an error after which another group is to help at once. One that only says that the cloud is busy, or that our view is old, will be
// gone in the next iteration, and one of which nobody knows what came of it may have bought the nodes.
func elsewhere(err error) bool {
	if err == nil {
		return false
	}
	_, transient := errors.AsType[*cloudprovider.TransientError](err)
	_, stale := errors.AsType[*cloudprovider.StaleBoundsError](err)
	return !transient && !stale
}

func without(options []expander.Option, group cloudprovider.GroupID) []expander.Option {
	var left []expander.Option
	for _, o := range options {
		if o.Group != group {
			left = append(left, o)
		}
	}
	return left
}
