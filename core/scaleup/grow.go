package scaleup

import (
	"context"
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
)

// Choose takes one of the options; it may ask another process.
type Choose func(ctx context.Context, asked expander.Question) expander.Choice

// Act asks the cloud for nodes and returns what became of the wishes, in their order; wishes at the end that it did not come to have no outcome. An
// error means that the plan contradicts itself, and that nothing was done.
type Act func(ctx context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error)

// Grow makes one round. It plans, chooses, shapes and acts, which is one turn. What the cloud refuses is planned anew at once, without the groups that
// refused, in another turn: if nothing was bought yet, for all pods, else for those that the refused nodes were for. In a salvo more turns follow for the pods
// that were not helped. It has no effects but those of the
// two functions; the snapshot is as before when it returns.
func Grow(ctx context.Context, in In, choose Choose, act Act) report.ScaleUp {
	plan, err := Options(ctx, in)
	if err != nil {
		return report.ScaleUp{Result: report.ScaleUpError, Pods: inOrder(in.Pending, nil), Err: fmt.Errorf("planning a scale-up: %w", err)}
	}
	r := round{plan: &plan}
	depth := in.Snapshot.Depth()
	for next, again := &plan, true; again; {
		t := next.turn(ctx, choose, act)
		r.turns = append(r.turns, t)
		if next, again, err = t.rest(ctx); err == nil && !again {
			next, again, err = t.more(ctx)
		}
		if err != nil {
			r.err = fmt.Errorf("planning anew: %w", err)
		}
	}
	for in.Snapshot.Depth() > depth { // what was bought stands in it
		if err := in.Snapshot.Revert(); err != nil {
			r.err = errors.Join(r.err, fmt.Errorf("taking what was bought out of the snapshot: %w", err))
			break
		}
	}
	r.err = errors.Join(r.err, ctx.Err())
	return r.told()
}
