package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

const (
	// crewsAtOnce is how many node groups are worked on at the same time.
	crewsAtOnce = 10
	// idleWait is how long Run sleeps without work; it is woken when work arrives.
	idleWait = time.Minute
	// A taint that could not be taken away is tried again after chorePause, which doubles up to choreLongestPause.
	chorePause        = 10 * time.Second
	choreLongestPause = 5 * time.Minute
)

// errShutdown: the process ends, and what it has not handed over to the cloud goes back into service.
var errShutdown = errors.New("the autoscaler shuts down")

// chore is a node whose deletion taint is still to be taken away.
type chore struct {
	due   time.Time
	pause time.Duration
}

// chores are guarded by Actuator.mu.
type chores struct {
	by   map[string]chore
	busy bool
}

// Step advances every removal to its next wait and returns when it wants to be called again; zero: there is nothing to do until
// something is started. It blocks for as long as the calls that are due take, and makes them in a fixed order if Options.Parallelism
// is 1. Not to be called while Run runs.
func (a *Actuator) Step(ctx context.Context, now time.Time) (next time.Time) {
	for _, c := range a.takeDue(now) {
		a.putBack(c, a.step(ctx, c, now))
	}
	if due := a.takeChores(now); len(due) > 0 {
		a.doChores(ctx, due, now)
	}
	return a.nextDue()
}

// Run calls for what Step does as time goes by and as work is started, one goroutine per node group at work, so that no group waits
// for another one. It returns once ctx is done and the calls under way have ended; these are not cut off, since nobody would know what
// came of them.
func (a *Actuator) Run(ctx context.Context) {
	var work errgroup.Group
	work.SetLimit(crewsAtOnce)
	defer func() { _ = work.Wait() }() // steps return no errors
	calls := context.WithoutCancel(ctx)
	for {
		a.dispatch(calls, &work)
		wait := idleWait
		if next := a.nextDue(); !next.IsZero() {
			wait = min(wait, max(0, next.Sub(a.clock.Now())))
		}
		timer := a.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-a.wake:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// dispatch starts a goroutine for each crew that is due. Each of them wakes Run when it is done.
func (a *Actuator) dispatch(ctx context.Context, work *errgroup.Group) {
	now := a.clock.Now()
	for _, c := range a.takeDue(now) {
		work.Go(func() error { // waits while crewsAtOnce are at work
			a.putBack(c, a.step(ctx, c, a.clock.Now()))
			a.signal()
			return nil
		})
	}
	if due := a.takeChores(now); len(due) > 0 {
		work.Go(func() error {
			a.doChores(ctx, due, a.clock.Now())
			a.signal()
			return nil
		})
	}
}

// takeDue returns the idle crews with something to do, in ascending order of their groups, and marks them busy.
func (a *Actuator) takeDue(now time.Time) []*crew {
	a.mu.Lock()
	defer a.mu.Unlock()
	var due []*crew
	for _, id := range slices.Sorted(maps.Keys(a.crews)) {
		if c := a.crews[id]; !c.busy && !c.next.IsZero() && !c.next.After(now) {
			c.busy = true
			due = append(due, c)
		}
	}
	return due
}

// putBack marks the crew idle until next, and dissolves it if there is nothing to come.
func (a *Actuator) putBack(c *crew, next time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.poked {
		next = a.clock.Now()
	}
	c.busy, c.next, c.poked = false, next, false
	for _, r := range c.arriving {
		if c.next.IsZero() || r.due.Before(c.next) {
			c.next = r.due
		}
	}
	if c.next.IsZero() && len(c.removals) == 0 {
		delete(a.crews, c.group)
	}
}

func (a *Actuator) nextDue() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	var next time.Time
	note := func(due time.Time) {
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	for _, c := range a.crews {
		if !c.busy && !c.next.IsZero() {
			note(c.next)
		}
	}
	if !a.chores.busy {
		for _, c := range a.chores.by {
			note(c.due)
		}
	}
	return next
}

// Deletions are the removals in progress, and those that the cloud took over in the last five minutes (Accepted), by ascending name of
// their nodes.
func (a *Actuator) Deletions() []observation.Deletion {
	now := a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	deletions := make([]observation.Deletion, 0, len(a.active)+len(a.accepted))
	for _, deletion := range a.active {
		deletions = append(deletions, deletion)
	}
	for name, accepted := range a.accepted {
		_, again := a.active[name]
		switch {
		case now.Sub(accepted.at) >= acceptedFor:
			delete(a.accepted, name)
		case !again:
			deletions = append(deletions, accepted.deletion)
		}
	}
	slices.SortFunc(deletions, func(x, y observation.Deletion) int { return cmp.Compare(x.Node, y.Node) })
	return deletions
}

// Finished returns the removals that ended since it was last called, in the order in which they ended. Each is returned once.
func (a *Actuator) Finished() []report.RemovalOutcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	finished := a.finished
	a.finished = nil
	slices.SortStableFunc(finished, func(x, y report.RemovalOutcome) int {
		return cmp.Or(x.Ended.Compare(y.Ended), cmp.Compare(x.Node, y.Node))
	})
	return finished
}

// Shutdown takes no new work from now on and puts every node back into service whose machine was not handed over to the cloud: pods
// evicted so far stay evicted. Call it when neither Run nor Step runs any more. What cannot be undone before ctx is done is named by the
// error, and is left for the clean-up of the next start.
func (a *Actuator) Shutdown(ctx context.Context) error {
	a.mu.Lock()
	a.stopped = true
	crews := make([]*crew, 0, len(a.crews))
	for _, id := range slices.Sorted(maps.Keys(a.crews)) {
		crews = append(crews, a.crews[id])
	}
	a.crews = map[cloudprovider.GroupID]*crew{}
	left := slices.Sorted(maps.Keys(a.chores.by))
	a.chores.by = map[string]chore{}
	a.mu.Unlock()

	var errs []error
	for _, c := range crews {
		removals := append(c.removals, c.arriving...) //nolint:gocritic // the crew is dissolved
		failed := make([]error, len(removals))
		var calls errgroup.Group
		calls.SetLimit(a.options.Parallelism)
		for i, r := range removals {
			calls.Go(func() error {
				failed[i] = a.stop(ctx, r)
				return nil
			})
		}
		_ = calls.Wait() // the errors are in failed
		errs = append(errs, failed...)
	}
	for _, name := range left {
		errs = append(errs, a.release(ctx, name))
	}
	return errors.Join(errs...)
}

func (a *Actuator) stop(ctx context.Context, r *removal) error {
	if r.phase != phaseUndoing {
		r.fail(a.clock.Now(), failure{result: report.RemovalInternalFailure, err: errShutdown})
	}
	err := a.release(ctx, r.what.Node)
	a.giveBack(ctx, r, err)
	return err
}

// release takes the taint away; a node that is gone needs nothing.
func (a *Actuator) release(ctx context.Context, name string) error {
	_, err := a.editNode(ctx, name, nil, unmark(a.options.ScaleDown.CordonBeforeTerminating))
	if err == nil || errors.Is(err, errReplaced) {
		return nil
	}
	return fmt.Errorf("taking the deletion taint of node %s away: %w", name, err)
}

func (a *Actuator) addChore(node string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chores.by[node] = chore{due: now.Add(chorePause), pause: chorePause}
}

// takeChores returns the nodes whose chore is due, by ascending name.
func (a *Actuator) takeChores(now time.Time) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chores.busy {
		return nil
	}
	var due []string
	for name, c := range a.chores.by {
		if !c.due.After(now) {
			due = append(due, name)
		}
	}
	slices.Sort(due)
	a.chores.busy = len(due) > 0
	return due
}

// doChores tries once more to take the taints away.
func (a *Actuator) doChores(ctx context.Context, nodes []string, now time.Time) {
	for _, name := range nodes {
		_, err := a.tryEdit(ctx, name, nil, unmark(a.options.ScaleDown.CordonBeforeTerminating))
		a.mu.Lock()
		if err == nil || errors.Is(err, errReplaced) {
			delete(a.chores.by, name)
		} else {
			pause := min(2*a.chores.by[name].pause, choreLongestPause)
			a.chores.by[name] = chore{due: now.Add(pause), pause: pause}
			klog.FromContext(ctx).V(1).Info("Could not take the deletion taint away", "node", name, "err", err, "nextIn", pause)
		}
		a.mu.Unlock()
	}
	a.mu.Lock()
	a.chores.busy = false
	a.mu.Unlock()
}

func conflict(err error) bool { return apierrors.IsConflict(err) }
