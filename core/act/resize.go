package act

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// Resize asks the cloud for more nodes. Outcomes are in the order of the wishes. One after the other, it stops at the first failure: what comes after it
// has no outcome. With Options.ParallelScaleUp all are asked at once and each has an outcome; then it is an error, and nothing is done, if a group is
// named twice. A group that somebody else has raised meanwhile is raised by the rest only; one that does not exist yet is created first. It blocks for
// the calls to the cloud.
func (a *Actuator) Resize(ctx context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error) {
	groups := make([]cloudprovider.GroupID, 0, len(resizes))
	for _, resize := range resizes {
		groups = append(groups, resize.Group)
	}
	a.readGroups(ctx, groups)
	if a.options.ParallelScaleUp {
		return a.resizeAll(ctx, resizes)
	}
	var outcomes []report.ResizeOutcome
	for _, resize := range resizes {
		outcome := a.resize(ctx, resize)
		outcomes = append(outcomes, outcome)
		if outcome.Err != nil {
			break
		}
	}
	return outcomes, nil //nolint:nilerr // an outcome has its error with it
}

// resizeAll asks for all at once and waits for all.
func (a *Actuator) resizeAll(ctx context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error) {
	named := make(map[cloudprovider.GroupID]bool, len(resizes))
	for _, resize := range resizes {
		if named[resize.Group] {
			return nil, fmt.Errorf("resizing several groups at once: the plan names group %s twice", resize.Group)
		}
		named[resize.Group] = true
	}
	outcomes := make([]report.ResizeOutcome, len(resizes))
	var all sync.WaitGroup
	for i, resize := range resizes {
		if a.options.Parallelism == 1 { // whoever wants a fixed order gets one
			outcomes[i] = a.resize(ctx, resize)
			continue
		}
		all.Go(func() { outcomes[i] = a.resize(ctx, resize) })
	}
	all.Wait()
	return outcomes, nil
}

func (a *Actuator) resize(ctx context.Context, resize report.Resize) report.ResizeOutcome {
	out := report.ResizeOutcome{Resize: resize, At: a.clock.Now()}
	out.Deadline = out.At.Add(a.options.MaxNodeProvisionTime)
	group, err := a.groupToGrow(ctx, resize.Group)
	if err != nil {
		out.Err = err
		return out
	}
	out.Group = group.ID()
	if own := group.State().Options.MaxNodeProvisionTime; own != nil {
		out.Deadline = out.At.Add(*own)
	}
	out.Granted, out.Err = a.increase(ctx, group, resize)
	return out
}

// groupToGrow finds the group, and creates it if it does not exist yet (loop-and-scale-up 5.12).
func (a *Actuator) groupToGrow(ctx context.Context, id cloudprovider.GroupID) (cloudprovider.NodeGroup, error) {
	if a.isStopped() {
		return nil, errShutdown
	}
	group := a.group(id)
	if group == nil {
		return nil, &cloudprovider.GoneError{Group: id, Err: errors.New("the cloud does not list it")}
	}
	if !group.State().Theoretical {
		return group, nil
	}
	creator, ok := group.(cloudprovider.GroupCreator)
	if !ok {
		return nil, &cloudprovider.ConfigurationError{Group: id, Err: errors.New("it does not exist and the cloud provider cannot create groups")}
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	created, err := creator.Create(ctx)
	if err == nil && created == nil {
		err = errors.New("the cloud provider returned no group")
	}
	if err != nil {
		return nil, fmt.Errorf("creating node group %s: %w", id, err)
	}
	return created, nil
}

func (a *Actuator) increase(ctx context.Context, group cloudprovider.NodeGroup, resize report.Resize) (granted int, err error) {
	resize.Group = group.ID()
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
	if atomic, ok := group.(cloudprovider.AtomicIncreaser); ok && resize.Atomic {
		granted, err = atomic.IncreaseSizeAtomically(ctx, delta)
	} else {
		granted, err = group.IncreaseSize(ctx, delta)
	}
	if err != nil { // in the words that operators know from events and the status
		err = fmt.Errorf("failed to increase node group size: %w", err)
	}
	return max(granted, 0), err
}
