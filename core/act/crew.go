package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// A hand-over that met a passing trouble is tried again after deliveryPause, deliveryTries times in all. What the cloud may
// have carried out already is a success the second time.
const (
	deliveryPause = 10 * time.Second
	deliveryTries = 4
)

// acceptedFor is how long a removal that the cloud has taken over is told of: as long as a machine may take to end.
const acceptedFor = 5 * time.Minute

// errDragged is told of a node that could have gone but for others of its group.
var errDragged = errors.New("couldn't scale down other nodes in this node group")

// crew is the removals of one node group.
type crew struct {
	group cloudprovider.GroupID

	// Guarded by Actuator.mu:

	busy     bool       // a goroutine is stepping it
	arriving []*removal // not seen by a step yet
	next     time.Time  // when there is something to do; meaningless while busy
	poked    bool       // a batch failed while it was busy: it has to look again at once

	// Owned by the goroutine that steps it:

	removals   []*removal
	handovers  []*handover
	collecting *handover // one of handovers that still takes nodes in; nil: there is none
}

// batch is the nodes that one start took from a group that goes as a whole only.
type batch struct {
	size    int
	waiting []*removal
	// failed is set by the crew, or by the start if not all of the batch could be tainted.
	failed atomic.Bool
}

// handover is the nodes of one order to the cloud.
type handover struct {
	removals []*removal
	// together: if one of them cannot go, none goes.
	together bool
	due      time.Time
	tries    int
	// told is true once the cloud was asked.
	told bool
}

// acceptedRemoval is a removal that the cloud has taken over.
type acceptedRemoval struct {
	deletion observation.Deletion
	at       time.Time
}

// step does what is due for the crew and returns when something will be; zero: there is nothing to do any more.
func (a *Actuator) step(ctx context.Context, c *crew, now time.Time) time.Time {
	a.mu.Lock()
	c.removals = append(c.removals, c.arriving...)
	c.arriving = nil
	a.mu.Unlock()

	a.each(c.removals, func(r *removal) { a.advance(ctx, r, now) })
	a.gather(c, now)
	a.hand(ctx, c, now)
	failBatches(c, now)
	a.each(c.removals, func(r *removal) {
		if r.phase == phaseUndoing && !r.due.After(now) {
			a.undo(ctx, r, now)
		}
	})
	c.removals = slices.DeleteFunc(c.removals, func(r *removal) bool { return r.phase == phaseEnded })
	return c.dueNext()
}

// each calls do for each removal, several at once.
func (a *Actuator) each(removals []*removal, do func(*removal)) {
	var calls errgroup.Group
	calls.SetLimit(a.options.Parallelism)
	for _, r := range removals {
		calls.Go(func() error {
			do(r)
			return nil
		})
	}
	_ = calls.Wait() // removals keep their errors themselves
}

func (c *crew) dueNext() time.Time {
	var next time.Time
	note := func(due time.Time) {
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	for _, r := range c.removals {
		if r.phase != phaseReady {
			note(r.due)
		}
	}
	for _, h := range c.handovers {
		note(h.due)
	}
	return next
}

// gather puts the removals that are ready into hand-overs: at once, with all of their batch, or with what else becomes ready in
// the batcher's interval (scale-down 5.8).
func (a *Actuator) gather(c *crew, now time.Time) {
	failBatches(c, now)
	for _, r := range c.removals {
		if r.phase != phaseReady || r.handed {
			continue
		}
		r.handed = true
		if r.batch == nil {
			a.hasten(c, now, r)
			continue
		}
		r.batch.waiting = append(r.batch.waiting, r)
		if len(r.batch.waiting) >= r.batch.size {
			a.hasten(c, now, r.batch.waiting...)
			r.batch.waiting = nil
		}
	}
}

// hasten puts removals into a hand-over.
func (a *Actuator) hasten(c *crew, now time.Time, removals ...*removal) {
	interval := a.options.ScaleDown.DeletionBatcherInterval
	together := removals[0].batch != nil
	if c.collecting != nil && c.collecting.due.After(now) && c.collecting.together == together {
		c.collecting.removals = append(c.collecting.removals, removals...)
		return
	}
	h := &handover{removals: removals, together: together, due: now.Add(interval)}
	c.handovers = append(c.handovers, h)
	if interval > 0 {
		c.collecting = h
	}
}

// failBatches lets every removal of a batch fail of which one failed.
func failBatches(c *crew, now time.Time) {
	for _, r := range c.removals {
		if r.phase == phaseUndoing && r.batch != nil {
			r.batch.failed.Store(true)
		}
	}
	for _, r := range c.removals {
		if r.phase == phaseReady && r.batch != nil && r.batch.failed.Load() {
			r.fail(now, failure{result: report.RemovalDeletionFailed, err: errDragged})
		}
	}
}

// hand delivers the hand-overs that are due.
func (a *Actuator) hand(ctx context.Context, c *crew, now time.Time) {
	var due []*handover
	c.handovers = slices.DeleteFunc(c.handovers, func(h *handover) bool {
		if h.due.After(now) {
			return false
		}
		due = append(due, h)
		return true
	})
	again := make([]*handover, len(due))
	var calls errgroup.Group
	calls.SetLimit(a.options.Parallelism)
	for i, h := range due {
		calls.Go(func() error {
			again[i] = a.deliver(ctx, c.group, h, now)
			return nil
		})
	}
	_ = calls.Wait() // removals keep their errors themselves
	for _, h := range again {
		if h != nil {
			c.handovers = append(c.handovers, h)
		}
	}
}

// deliver orders the end of the machines, after a last look at their pods. It returns what has to be tried again; nil: nothing.
func (a *Actuator) deliver(ctx context.Context, id cloudprovider.GroupID, h *handover, now time.Time) *handover {
	h.removals = slices.DeleteFunc(h.removals, func(r *removal) bool { return r.phase != phaseReady })
	h.tries++
	if err := a.lastLook(ctx, h, now); err != nil {
		return h.again(now, failure{result: report.RemovalInternalFailure, err: err})
	}
	if len(h.removals) == 0 {
		return nil
	}
	group := a.group(id)
	if group == nil {
		err := &cloudprovider.GoneError{Group: id, Err: errors.New("the cloud does not list it")}
		h.giveUp(now, failure{result: report.RemovalDeletionFailed, err: err, byCloud: true})
		return nil
	}
	refs := make([]cloudprovider.NodeRef, 0, len(h.removals))
	for _, r := range h.removals {
		refs = append(refs, cloudprovider.RefOf(r.node))
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	h.told = true
	outcomes, err := group.DeleteNodes(ctx, refs)
	switch {
	case err == nil && len(outcomes) != len(refs):
		err = fmt.Errorf("the cloud told the fate of %d nodes of %d", len(outcomes), len(refs))
	case err == nil:
		return a.settle(h, outcomes, now)
	}
	why := failure{result: report.RemovalDeletionFailed, err: err, byCloud: true}
	if passing(err) {
		return h.again(now, why)
	}
	h.giveUp(now, why)
	return nil
}

// lastLook takes out of the hand-over, and lets fail, what must not be ended: nodes with a pod that scale-down would have to
// move, and those that somebody has replaced or annotated. An error means that this cannot be told.
func (a *Actuator) lastLook(ctx context.Context, h *handover, now time.Time) error {
	spoilt := false
	for _, r := range h.removals {
		why, err := a.stillMeant(ctx, r, h.told)
		if err != nil {
			return err
		}
		if why != nil {
			r.fail(now, failure{result: report.RemovalInternalFailure, err: why})
			spoilt = true
			continue
		}
		pod, err := a.undrained(ctx, r.what.Node)
		if err != nil {
			return err
		}
		if pod != nil {
			occupied := &OccupiedError{Node: r.what.Node, Pod: nameOf(pod)}
			a.refuse(KeepUndrained, r.what.Node, occupied.Error())
			r.fail(now, failure{result: report.RemovalInternalFailure, err: occupied})
			spoilt = true
		}
	}
	h.removals = slices.DeleteFunc(h.removals, func(r *removal) bool { return r.phase == phaseUndoing })
	if spoilt && h.together {
		h.giveUp(now, failure{result: report.RemovalDeletionFailed, err: errDragged})
		h.removals = nil
	}
	return nil
}

// stillMeant asks the API server whether the node is the one that was to be removed, and says why it must not be removed any more; nil: it may.
// told is true if the cloud was asked already: then a node that is gone shows that it has listened, and is to be confirmed.
func (a *Actuator) stillMeant(ctx context.Context, r *removal, told bool) (why, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	node, err := a.kube.Node(ctx, r.what.Node)
	switch {
	case apierrors.IsNotFound(err) && told:
		return nil, nil
	case apierrors.IsNotFound(err):
		return errReplaced, nil
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", r.what.Node, err)
	}
	return forbids(node, r.node), nil
}

// settle concludes the removals by what the cloud says about each node.
func (a *Actuator) settle(h *handover, outcomes []cloudprovider.DeleteOutcome, now time.Time) *handover {
	var left []*removal
	for i, r := range h.removals {
		switch err := outcomes[i].Err; {
		case err == nil:
			a.accept(r)
		case passing(err) && h.tries < deliveryTries:
			left = append(left, r)
		default:
			r.fail(now, failure{result: report.RemovalDeletionFailed, err: err, byCloud: true})
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &handover{removals: left, due: now.Add(deliveryPause), tries: h.tries, told: true}
}

// passing tells an error that may be gone at the next attempt.
func passing(err error) bool {
	_, transient := errors.AsType[*cloudprovider.TransientError](err)
	return transient || errors.Is(err, context.DeadlineExceeded)
}

// again is the same hand-over a while later, or nil after too many tries.
func (h *handover) again(now time.Time, why failure) *handover {
	if h.tries >= deliveryTries {
		h.giveUp(now, why)
		return nil
	}
	h.due = now.Add(deliveryPause)
	return h
}

func (h *handover) giveUp(now time.Time, why failure) {
	for _, r := range h.removals {
		r.fail(now, why)
	}
}

// accept notes that the cloud ends the machine.
func (a *Actuator) accept(r *removal) {
	a.conclude(r, report.RemovalOutcome{Removal: r.what, Result: report.RemovalOK})
}

// undo puts the node back into service: once per call, and again later on conflicts. What does not succeed becomes a chore.
func (a *Actuator) undo(ctx context.Context, r *removal, now time.Time) {
	if r.undoSince.IsZero() {
		r.undoSince = now
	}
	_, err := a.tryEdit(ctx, r.what.Node, r.node, unmark(a.options.ScaleDown.CordonBeforeTerminating))
	if errors.Is(err, errReplaced) {
		err = nil
	}
	if conflict(err) && now.Sub(r.undoSince) < conflictLimit {
		r.due = now.Add(conflictPause)
		return
	}
	if err != nil {
		a.addChore(r.what.Node, now)
	}
	a.giveBack(ctx, r, err)
}

// giveBack concludes a removal that failed. untaint is the error of taking the taint away; nil: it is gone.
func (a *Actuator) giveBack(ctx context.Context, r *removal, untaint error) {
	if untaint != nil {
		klog.FromContext(ctx).Error(untaint, "Cannot put a node back into service yet", "node", r.what.Node, "nodeGroup", r.what.Group)
	}
	a.conclude(r, report.RemovalOutcome{
		Removal: r.what, Result: r.failure.result, Err: r.failure.err, RefusedByCloud: r.failure.byCloud, Evictions: r.failure.pods,
	})
}

// conclude ends the removal in all books.
func (a *Actuator) conclude(r *removal, outcome report.RemovalOutcome) {
	r.phase = phaseEnded
	outcome.Started, outcome.Ended = r.taintedAt, a.clock.Now()
	a.mu.Lock()
	if outcome.Result == report.RemovalOK {
		deletion := a.active[r.what.Node]
		deletion.Accepted = true
		a.accepted[r.what.Node] = acceptedRemoval{deletion: deletion, at: outcome.Ended}
	}
	delete(a.active, r.what.Node)
	a.finished = append(a.finished, outcome)
	a.mu.Unlock()
	a.observer.Observe(RemovalEnded{Node: r.node, Outcome: outcome})
}
