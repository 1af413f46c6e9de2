package simulated

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Write is one request of the autoscaler that changed the cloud, or that the cloud refused. Requests that had nothing to do,
// such as the deletion of a machine that is gone, are none.
type Write struct {
	At        time.Time
	Group     cloudprovider.GroupID
	Operation Operation
	// Asked is the number that was asked for: of units, for deletions of nodes.
	Asked int
	// From and To are the target before and after.
	From, To int
	// Created is true if the group did not exist before.
	Created bool
	// Ended are the machines and placeholders that were ended, as they were right before, in the order in which they were given.
	Ended []Machine
	// Err is what the caller was told; for deletions the errors of single nodes are joined.
	Err error
}

// Writes lists all writes in their order. What somebody else did to the cloud is not among them.
func (c *Cloud) Writes() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.writes)
}

// request is what a write asks for.
type request struct {
	on    Operation
	group cloudprovider.GroupID
	asked int
}

// transaction is a write in progress: the cloud as it is now, and nobody else in it.
type transaction struct {
	cloud *Cloud
	pool  *pool
	now   time.Time
	log   *Write
	// lost is what the caller gets in place of the answer; nil: the answer arrives.
	lost error
}

// write carries out a request on the group as it is now, or refuses it, and logs it. act returns by how much the target changed.
func (c *Cloud) write(ctx context.Context, r request, act func(*transaction) (int, error)) (int, error) {
	if err := cancelled(ctx); err != nil {
		return 0, err
	}
	log := Write{Group: r.group, Operation: r.on, Asked: r.asked}
	changed, err := c.transact(&log, act)
	c.observe(r.on, log.Err)
	if c.options.OnWrite != nil && log.counts() {
		c.options.OnWrite(log)
	}
	return changed, err
}

// counts tells whether something was changed or refused.
func (w Write) counts() bool { return w.Err != nil || w.Created || w.From != w.To || len(w.Ended) > 0 }

// transact is the part of a write that excludes all others. It completes the log and adds it to the others.
func (c *Cloud) transact(log *Write, act func(*transaction) (int, error)) (changed int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &transaction{cloud: c, now: c.settle(), pool: c.pool(log.Group), log: log}
	log.At = t.now
	if t.pool != nil {
		log.From = t.pool.target
	}
	if err = t.refusal(); err == nil {
		changed, err = act(t)
	}
	if err == nil && t.lost != nil {
		changed, err = 0, t.lost
	}
	if err != nil {
		log.Err = err
	}
	log.To = log.From
	if t.pool != nil {
		log.To = t.pool.target
	}
	if log.counts() {
		c.writes = append(c.writes, *log)
	}
	return changed, err
}

// refusal is why the cloud does not even look at the request; nil: it does.
func (t *transaction) refusal() error {
	if f := t.cloud.fault(t.log.Operation, t.log.Group); f != nil {
		if !f.Lost {
			return f.Err
		}
		t.lost = &cloudprovider.TransientError{OutcomeUnknown: true, Err: f.Err}
	}
	if t.pool == nil {
		return &cloudprovider.GoneError{Group: t.log.Group, Err: errNoSuchGroup}
	}
	if t.pool.spec.Theoretical && t.log.Operation != CreateGroup {
		return &cloudprovider.GoneError{Group: t.log.Group, Err: errNotCreated}
	}
	if why := t.pool.spec.Suspended; why != "" {
		return &cloudprovider.ConfigurationError{Group: t.log.Group, Err: fmt.Errorf("the group is suspended: %s", why)}
	}
	return nil
}

// create makes the group exist.
func (t *transaction) create() {
	t.log.Created = t.pool.spec.Theoretical
	if t.log.Created {
		t.pool.spec.Theoretical, t.pool.spec.Autoprovisioned = false, true
		t.pool.dirty = true
	}
}

// increase raises the target by delta, or where partial by what room there is.
func (t *transaction) increase(delta int, partial bool) (granted int, err error) {
	room := max(t.pool.spec.Max-t.pool.target, 0)
	granted = delta
	if delta > room {
		err = &cloudprovider.StaleBoundsError{
			Group: t.log.Group, Asked: delta, Room: room,
			Err: fmt.Errorf("the target is %d of at most %d", t.pool.target, t.pool.spec.Max),
		}
		granted = 0
		if partial {
			granted = room
		}
	}
	t.pool.resize(t.pool.target + granted)
	t.pool.launch(t.now)
	return granted, err
}

// increaseAtomically is increase where stock is there for all of delta.
func (t *transaction) increaseAtomically(delta int) (granted int, err error) {
	if have := t.pool.affordable(delta, t.now); have < delta && t.pool.target+delta <= t.pool.spec.Max {
		return 0, &cloudprovider.OutOfResourcesError{
			Group: t.log.Group, Code: codeOutOfStock,
			Err: fmt.Errorf("%d can be had of %d", have, delta),
		}
	}
	return t.increase(delta, false)
}

// withdraw lowers the target by at most by, down to what exists or may still arrive and not below the minimum.
func (t *transaction) withdraw(by int) (lowered int) {
	p := t.pool
	bottom := max(p.floor(t.now), p.spec.Min)
	lowered = min(by, p.target-bottom)
	if lowered <= 0 {
		return 0
	}
	p.resize(p.target - lowered)
	p.withdraw(t.now)
	return lowered
}
