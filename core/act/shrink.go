package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
)

// Shrunk is what became of a plan to remove nodes.
type Shrunk struct {
	// Started are the removals that are under way now, in the order of the plan.
	Started []report.Removal
	// Refused are the nodes that were not touched because the newest data spoke against it, in the order of the plan.
	Refused []report.NodeVerdict
	// Err is set if nodes could not be tainted; those of the same part (the empty or the drained ones) are back in service.
	Err error
}

// Shrink starts the removals of the plan: it taints the nodes, first the empty ones and then the others, and leaves the rest to
// Step. The minimums of the groups and of the cluster are checked on the newest data before. It blocks until the taints are set, for some seconds in the
// worst case. A plan in its cool-down starts nothing.
func (a *Actuator) Shrink(ctx context.Context, plan scaledown.Plan) Shrunk {
	var out Shrunk
	if plan.CoolDown != nil || len(plan.Empty)+len(plan.Drain) == 0 || a.isStopped() {
		return out
	}
	going, refused := a.allowed(ctx, slices.Concat(plan.Empty, plan.Drain))
	going, spared := a.spare(ctx, going)
	out.Refused = slices.Concat(refused, spared)
	batches := batchesOf(going)
	empty := slices.DeleteFunc(slices.Clone(going), func(c scaledown.Candidate) bool { return c.Removal.Drain })
	drained := slices.DeleteFunc(going, func(c scaledown.Candidate) bool { return !c.Removal.Drain })
	for _, part := range [][]scaledown.Candidate{empty, drained} {
		started, gone, err := a.startPart(ctx, part, batches)
		out.Started = append(out.Started, started...)
		out.Refused = append(out.Refused, gone...)
		if err != nil {
			a.failBatchesOf(part, batches)
			out.Err = err
			break
		}
		a.failBatchesOf(slices.DeleteFunc(slices.Clone(part), func(c scaledown.Candidate) bool {
			return !slices.ContainsFunc(gone, func(v report.NodeVerdict) bool { return v.Node == c.Removal.Node })
		}), batches)
	}
	a.signal()
	return out
}

// batchesOf makes one batch for each group among the candidates that goes as a whole only.
func batchesOf(candidates []scaledown.Candidate) map[cloudprovider.GroupID]*batch {
	batches := map[cloudprovider.GroupID]*batch{}
	for _, candidate := range candidates {
		if !candidate.Atomic {
			continue
		}
		id := candidate.Removal.Group
		if batches[id] == nil {
			batches[id] = &batch{}
		}
		batches[id].size++
	}
	return batches
}

// failBatchesOf lets the batches of these nodes fail, since they will not be complete, and their crews notice.
func (a *Actuator) failBatchesOf(candidates []scaledown.Candidate, batches map[cloudprovider.GroupID]*batch) {
	now := a.clock.Now()
	for _, candidate := range candidates {
		b := batches[candidate.Removal.Group]
		if !candidate.Atomic || b == nil {
			continue
		}
		b.failed.Store(true)
		a.mu.Lock()
		if c := a.crews[candidate.Removal.Group]; c != nil {
			c.next, c.poked = now, c.busy
		}
		a.mu.Unlock()
	}
}

func (a *Actuator) isStopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

// room is how many nodes a group can lose, by the newest data.
type room struct {
	state    cloudprovider.GroupState
	deleting int
	left     int
	// wanted is how many the plan takes from the group.
	wanted int
	// closed says why nothing can be taken at all; nil: something can.
	closed report.Reason
}

// held says why the machine is not to be ended by choice; empty: it may.
func (r *room) held(providerID string) string {
	for i := range r.state.Instances {
		if r.state.Instances[i].ID == providerID {
			return r.state.Instances[i].Held
		}
	}
	return ""
}

// allowed sorts out the candidates that the newest data speaks against. Of a group that goes as a whole only, all go or none.
func (a *Actuator) allowed(ctx context.Context, candidates []scaledown.Candidate) (going []scaledown.Candidate, refused []report.NodeVerdict) {
	groups := make([]cloudprovider.GroupID, 0, len(candidates))
	for _, candidate := range candidates {
		groups = append(groups, candidate.Removal.Group)
	}
	a.readGroups(ctx, groups)
	rooms := map[cloudprovider.GroupID]*room{}
	for _, candidate := range candidates {
		id := candidate.Removal.Group
		if rooms[id] == nil {
			rooms[id] = a.roomOf(ctx, id)
		}
		rooms[id].wanted++
	}
	broken := map[cloudprovider.GroupID]report.Reason{}
	for _, candidate := range candidates {
		if why := a.objection(candidate, rooms[candidate.Removal.Group]); why != nil {
			refused = append(refused, verdict(candidate, why))
			if candidate.Atomic {
				broken[candidate.Removal.Group] = why
			}
			continue
		}
		going = append(going, candidate)
	}
	kept := going[:0]
	for _, candidate := range going {
		if why := broken[candidate.Removal.Group]; why != nil {
			refused = append(refused, verdict(candidate, why))
			continue
		}
		kept = append(kept, candidate)
	}
	return kept, refused
}

func verdict(candidate scaledown.Candidate, why report.Reason) report.NodeVerdict {
	return report.NodeVerdict{Node: candidate.Removal.Node, Group: candidate.Removal.Group, Reason: why}
}

func (a *Actuator) roomOf(ctx context.Context, id cloudprovider.GroupID) *room {
	group := a.group(id)
	if group == nil {
		return &room{closed: report.UnexpectedError{Error: fmt.Sprintf("the cloud does not list node group %q any more", id)}}
	}
	deleting := a.deleting(id) // before the size: what is accepted in between then counts twice rather than not at all
	state, err := a.state(ctx, group)
	switch {
	case err != nil:
		return &room{closed: report.UnexpectedError{Error: fmt.Sprintf("reading the size of node group %q: %v", id, err)}}
	case state.Suspended != "":
		return &room{closed: report.UnexpectedError{Error: fmt.Sprintf("node group %q is suspended: %s", id, state.Suspended)}}
	case state.Held != "":
		return &room{closed: report.UnexpectedError{Error: fmt.Sprintf("node group %q is not shrunk: %s", id, state.Held)}}
	}
	if why := a.speaksAgainst(ctx, group); why != "" {
		return &room{closed: report.UnexpectedError{Error: fmt.Sprintf("node group %q is not shrunk: %s", id, why)}}
	}
	return &room{state: state, deleting: deleting, left: state.Target - deleting - state.Min}
}

// speaksAgainst says what the cloud is at in the group that its nodes should stay for; empty: nothing.
func (a *Actuator) speaksAgainst(ctx context.Context, group cloudprovider.NodeGroup) string {
	checker, ok := group.(cloudprovider.ShrinkChecker)
	if !ok {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	return checker.CheckShrink(ctx)
}

// readGroups lets the cloud read several groups at once that are each about to be read or written to.
func (a *Actuator) readGroups(ctx context.Context, groups []cloudprovider.GroupID) {
	reader, ok := a.cloud.(cloudprovider.GroupReader)
	slices.Sort(groups)
	groups = slices.Compact(groups)
	if !ok || len(groups) < 2 { // one alone is read when its turn comes
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	reader.ReadGroups(ctx, groups)
}

// deleting counts the removals of the group that the cloud has not accepted yet.
func (a *Actuator) deleting(id cloudprovider.GroupID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	count := 0
	for _, deletion := range a.active {
		if deletion.Group == id {
			count++
		}
	}
	return count
}

// objection says why the node must not be touched now; nil: it may. Room that it takes is counted.
func (a *Actuator) objection(candidate scaledown.Candidate, group *room) report.Reason {
	what := candidate.Removal
	a.mu.Lock()
	active, going := a.active[what.Node]
	_, chore := a.chores.by[what.Node]
	a.mu.Unlock()
	switch {
	case going:
		return report.DeletionInProgress{Since: active.Since}
	case chore:
		return report.UnexpectedError{Error: "its old deletion taint could not be taken away yet"}
	case group.closed != nil:
		return group.closed
	case group.held(what.ProviderID) != "":
		return report.UnexpectedError{Error: "its machine is not to be ended: " + group.held(what.ProviderID)}
	case group.left <= 0, candidate.Atomic && group.left < group.wanted:
		why := report.NodeGroupMinSizeReached{Size: group.state.Target, Deleting: group.deleting, Min: group.state.Min}
		a.refuse(KeepBounds, what.Node, why.String())
		return why
	}
	group.left--
	group.wanted--
	return nil
}

// startPart taints all nodes and then hands them to their crews. If a node cannot be tainted, none of them is started. Nodes
// that do not exist any more are refused.
func (a *Actuator) startPart(ctx context.Context, part []scaledown.Candidate, batches map[cloudprovider.GroupID]*batch) (
	started []report.Removal, refused []report.NodeVerdict, err error,
) {
	if len(part) == 0 {
		return nil, nil, nil
	}
	at := a.clock.Now()
	seeing := a.newSighting(at)
	nodes, errs := a.taint(ctx, part, at, seeing)
	if err := errors.Join(slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return errors.Is(err, errReplaced) })...); err != nil {
		a.untaint(ctx, part, errs)
		return nil, nil, fmt.Errorf("tainting the nodes to be removed: %w", err)
	}
	due := a.clock.Now()
	if seeing == nil {
		due = due.Add(a.options.ScaleDown.DeleteDelayAfterTaint)
	}
	for i, candidate := range part {
		if errs[i] != nil {
			refused = append(refused, verdict(candidate, report.UnexpectedError{Error: errReplaced.Error()}))
			continue
		}
		r := newRemoval(candidate, nodes[i], at, due)
		r.seeing = seeing
		if candidate.Atomic {
			r.batch = batches[candidate.Removal.Group]
		}
		a.register(r)
		started = append(started, candidate.Removal)
	}
	return started, refused, nil
}

// taint sets the deletion taint on all nodes of the part, some at a time, and returns the nodes as they are then, or the errors.
// What they take to show is measured from here on.
func (a *Actuator) taint(ctx context.Context, part []scaledown.Candidate, at time.Time, seeing *sighting) ([]*corev1.Node, []error) {
	nodes, errs := make([]*corev1.Node, len(part)), make([]error, len(part))
	change := mark(at, a.options.ScaleDown.CordonBeforeTerminating)
	var calls errgroup.Group
	calls.SetLimit(a.options.Parallelism)
	for i, candidate := range part {
		calls.Go(func() error {
			seeing.seek(candidate.Node, a.clock.Now())
			nodes[i], errs[i] = a.editNode(ctx, candidate.Removal.Node, candidate.Node, change)
			a.glance(seeing, a.clock.Now())
			return nil
		})
	}
	_ = calls.Wait() // the errors are in errs
	logger := klog.FromContext(ctx)
	for i, candidate := range part {
		switch {
		case errs[i] == nil:
			logger.V(1).Info("Tainted node for its removal", "node", candidate.Removal.Node)
			a.observer.Observe(NodeTainted{Node: nodes[i]})
		case !errors.Is(errs[i], errReplaced):
			a.observer.Observe(TaintFailed{Node: candidate.Node, Err: errs[i]})
		}
	}
	return nodes, errs
}

// untaint puts the nodes of a part back into service, those included of which nobody knows whether the taint was set. What fails becomes
// a chore.
func (a *Actuator) untaint(ctx context.Context, part []scaledown.Candidate, errs []error) {
	var calls errgroup.Group
	calls.SetLimit(a.options.Parallelism)
	for i, candidate := range part {
		if errors.Is(errs[i], errReplaced) {
			continue
		}
		calls.Go(func() error {
			if err := a.release(ctx, candidate.Removal.Node); err != nil {
				a.addChore(candidate.Removal.Node, a.clock.Now())
			}
			return nil
		})
	}
	_ = calls.Wait() // what fails is a chore
}

// register hands a removal to the crew of its group.
func (a *Actuator) register(r *removal) {
	id := r.what.Group
	a.mu.Lock()
	a.active[r.what.Node] = observation.Deletion{Node: r.what.Node, Group: id, Drain: r.what.Drain, Since: r.taintedAt}
	c := a.crews[id]
	if c == nil {
		c = &crew{group: id}
		a.crews[id] = c
	}
	c.arriving = append(c.arriving, r)
	if !c.busy && (c.next.IsZero() || r.due.Before(c.next)) {
		c.next = r.due
	}
	a.mu.Unlock()
	a.observer.Observe(RemovalBegun{Node: r.node, Removal: r.what})
}
