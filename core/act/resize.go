package act

import (
	"context"
	"errors"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// Resize asks the cloud for more nodes, group by group in the order given, and stops at the first failure: what comes after it has
// no outcome. A group that somebody else has raised meanwhile is raised by the rest only. It blocks for the calls to the cloud.
func (a *Actuator) Resize(ctx context.Context, resizes []report.Resize) []report.ResizeOutcome {
	var outcomes []report.ResizeOutcome
	for _, resize := range resizes {
		outcome := a.resize(ctx, resize)
		outcomes = append(outcomes, outcome)
		if outcome.Err != nil {
			break
		}
	}
	return outcomes
}

func (a *Actuator) resize(ctx context.Context, resize report.Resize) report.ResizeOutcome {
	out := report.ResizeOutcome{Resize: resize, At: a.clock.Now()}
	out.Granted, out.Err = a.increase(ctx, resize)
	out.Deadline = out.At.Add(a.options.MaxNodeProvisionTime)
	if group := a.group(resize.Group); group != nil {
		if own := group.State().Options.MaxNodeProvisionTime; own != nil {
			out.Deadline = out.At.Add(*own)
		}
	}
	return out
}

func (a *Actuator) increase(ctx context.Context, resize report.Resize) (granted int, err error) {
	if a.isStopped() {
		return 0, errShutdown
	}
	group := a.group(resize.Group)
	if group == nil {
		return 0, &cloudprovider.GoneError{Group: resize.Group, Err: errors.New("the cloud does not list it")}
	}
	state, err := a.state(ctx, group)
	if err != nil {
		return 0, fmt.Errorf("reading the size of node group %s: %w", resize.Group, err)
	}
	if state.Suspended != "" {
		return 0, &cloudprovider.ConfigurationError{Group: resize.Group, Err: fmt.Errorf("the group is suspended: %s", state.Suspended)}
	}
	delta := resize.To - max(resize.From, state.Target)
	if room := state.Max - state.Target; delta <= 0 || delta > room {
		stale := &cloudprovider.StaleBoundsError{
			Group: resize.Group, Asked: resize.To - resize.From, Room: max(0, min(delta, room)),
			Err: fmt.Errorf("its target is %d now and its maximum %d", state.Target, state.Max),
		}
		a.refuse(KeepBounds, string(resize.Group), stale.Error())
		return 0, stale
	}
	a.observer.Observe(ResizeBegun{Resize: resize})
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	granted, err = group.IncreaseSize(ctx, delta)
	if err != nil {
		err = fmt.Errorf("resizing node group %s from %d to %d: %w", resize.Group, resize.From, resize.To, err)
	}
	return granted, err
}
