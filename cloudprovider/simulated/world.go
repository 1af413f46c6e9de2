package simulated

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

// This file is the door for whoever plays the rest of the world: operators, other programs, the market for spot machines. What
// comes through it is not part of Writes, binds itself to no bounds, and is seen by the autoscaler at the next Refresh.

var (
	errNoSuchGroup = errors.New("there is no such node group")
	errNotCreated  = errors.New("it has not been created")
	errGroupExists = errors.New("there is a node group of that id already")
)

// AddGroup adds a group at the end of the list. Its target is met at once.
func (c *Cloud) AddGroup(g Group) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addGroup(g)
}

func (c *Cloud) addGroup(g Group) error {
	if err := g.validate(); err != nil {
		return err
	}
	if c.pool(g.ID) != nil {
		return fmt.Errorf("adding node group %q: %w", g.ID, errGroupExists)
	}
	p, err := newPool(g.clone(), c.index, c.clock.Now())
	if err != nil {
		return err
	}
	p.news = true
	c.pools = append(c.pools, p)
	return nil
}

// RemoveGroup deletes a group with all its machines at once. The autoscaler then gets GoneErrors for its writes.
func (c *Cloud) RemoveGroup(id cloudprovider.GroupID) error {
	return c.interfere("removing", id, func(p *pool, now time.Time) error {
		c.pools = slices.DeleteFunc(c.pools, func(other *pool) bool { return other == p })
		for _, m := range p.machines {
			m.end(now, 0)
		}
		delete(c.failing, id)
		c.wake() // the next settling won't see this pool
		return nil
	})
}

// Update changes the description of a group: bounds, templates, delays, stock (what is left of it), price, and so on. Machines
// that exist or are asked for keep what they were made with. ID, Target and Existing can't be changed here.
func (c *Cloud) Update(id cloudprovider.GroupID, change func(*Group)) error {
	return c.interfere("updating", id, func(p *pool, _ time.Time) error {
		g := p.spec.clone()
		change(&g)
		if g.ID != p.spec.ID || g.Target != p.spec.Target || !slices.Equal(g.Existing, p.spec.Existing) {
			return errors.New("id, target and existing machines cannot be changed by an update")
		}
		if err := g.validate(); err != nil {
			return err
		}
		p.spec = g.clone()
		p.variants = variantsOf(p.spec)
		return nil
	})
}

// SetTarget is a resize by somebody else, bounds or no bounds. Lowering it cancels what is on its way, and then, unless the group
// has KeepSurplus, ends machines whether drained or not. These are returned as they were before.
func (c *Cloud) SetTarget(id cloudprovider.GroupID, target int) ([]Machine, error) {
	var ended []Machine
	err := c.interfere("resizing", id, func(p *pool, now time.Time) error {
		if target < 0 {
			return fmt.Errorf("the target is %d, want at least 0", target)
		}
		p.resize(target)
		ended = p.shed(now)
		p.launch(now)
		return nil
	})
	return ended, err
}

// Join adds a machine that runs and has registered already, as when somebody attaches one to the group. The target rises by it.
func (c *Cloud) Join(id cloudprovider.GroupID, joining Existing) error {
	return c.interfere("joining a machine to", id, func(p *pool, now time.Time) error {
		if joining.Since.IsZero() {
			joining.Since = now
		}
		m, err := p.existing(joining)
		if err != nil {
			return err
		}
		p.add(m)
		p.resize(p.target + m.variant.Weight)
		return nil
	})
}

// Next settles the fates of the next machines of a group that are asked for, in their order, after those settled earlier.
func (c *Cloud) Next(id cloudprovider.GroupID, fates ...Fate) error {
	return c.interfere("settling fates of", id, func(p *pool, _ time.Time) error {
		for _, f := range fates {
			if f.Delay < 0 {
				return fmt.Errorf("the delay is %s, want at least 0", f.Delay)
			}
			if f.Variant != "" && p.variant(f.Variant) == nil {
				return fmt.Errorf("there is no template %q", f.Variant)
			}
		}
		p.fates = append(p.fates, fates...)
		return nil
	})
}

// ForgetNext takes back what Next has settled for machines that were not asked for yet.
func (c *Cloud) ForgetNext(id cloudprovider.GroupID) error {
	return c.interfere("forgetting fates of", id, func(p *pool, _ time.Time) error {
		p.fates = nil
		return nil
	})
}

// Retry lets the cloud try anew what failed in a group without a machine coming of it, as clouds do that go on trying. The
// new requests have new placeholders.
func (c *Cloud) Retry(id cloudprovider.GroupID) error {
	return c.interfere("retrying", id, func(p *pool, now time.Time) error {
		for _, m := range p.machines {
			if m.withdrawable(now) {
				m.end(now, 0)
			}
		}
		p.launch(now)
		return nil
	})
}

// Lose takes a machine away at once, node and all, as when a spot machine is called back. The group replaces it; its target stays.
func (c *Cloud) Lose(providerID string) error {
	return c.strike("losing", providerID, func(p *pool, m *machine, now time.Time) {
		m.end(now, 0)
		p.launch(now)
	})
}

// Terminate is an end ordered by somebody else, who lowers the target too. The machine goes after DeleteDelay.
func (c *Cloud) Terminate(providerID string) error {
	return c.strike("terminating", providerID, func(p *pool, m *machine, now time.Time) {
		m.end(now, p.spec.DeleteDelay)
		p.resize(max(min(p.target, p.units(now)), 0))
	})
}

// Break makes a machine show an error from now on. What was to come of it by itself doesn't come: a placeholder stays one, a
// machine in creation never runs. A node that registered stays.
func (c *Cloud) Break(providerID string, failure cloudprovider.InstanceError) error {
	return c.strike("breaking", providerID, func(_ *pool, m *machine, now time.Time) {
		m.failsAt, m.failure = now, failure
		m.appearsAt = unlessLater(m.appearsAt, now)
		m.runsAt, m.registersAt = unlessLater(m.runsAt, now), unlessLater(m.registersAt, now)
	})
}

// interfere changes a group as somebody else than the autoscaler.
func (c *Cloud) interfere(doing string, id cloudprovider.GroupID, change func(*pool, time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle()
	p := c.pool(id)
	if p == nil {
		return fmt.Errorf("%s node group %q: %w", doing, id, errNoSuchGroup)
	}
	if err := change(p, now); err != nil {
		return fmt.Errorf("%s node group %q: %w", doing, id, err)
	}
	p.dirty, p.news = true, true
	return nil
}

// strike changes one machine, found by its provider id or that of its placeholder, as somebody else than the autoscaler.
func (c *Cloud) strike(doing, providerID string, change func(*pool, *machine, time.Time)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle()
	e := c.index.byID[providerID]
	if e == nil || e.machine.ending(now) {
		return fmt.Errorf("%s machine %q: there is no such machine, or it is ending", doing, providerID)
	}
	p := c.pool(e.machine.group)
	change(p, e.machine, now)
	p.dirty, p.news = true, true
	return nil
}

// Group is the description of a group as it is now, with the present target and what is left of the stock.
func (c *Cloud) Group(id cloudprovider.GroupID) (g Group, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pool(id)
	if p == nil {
		return Group{}, false
	}
	g = p.spec.clone()
	g.Target = p.target
	return g, true
}

// Machines lists the machines and placeholders of the given groups, or of all, as they are now: group by group in the order
// of the requests. It is the truth, not the view of the autoscaler.
func (c *Cloud) Machines(groups ...cloudprovider.GroupID) []Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle()
	var all []Machine
	for _, p := range c.pools {
		if len(groups) > 0 && !slices.Contains(groups, p.spec.ID) {
			continue
		}
		for _, m := range p.machines {
			if !m.gone(now) {
				all = append(all, m.at(now))
			}
		}
	}
	return all
}

// Nodes makes the nodes that are registered now, in the order of Machines. The caller owns them.
func (c *Cloud) Nodes(groups ...cloudprovider.GroupID) []*corev1.Node {
	var nodes []*corev1.Node
	for _, m := range c.Machines(groups...) {
		if node := m.Node(); node != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// NextChange is when the next machine appears, runs, registers, fails or goes, so that a player of virtual time knows how far it
// may go. ok is false if nothing is to come by itself.
func (c *Cloud) NextChange() (at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, p := range c.pools {
		at = earliest(at, p.next)
	}
	return at, !at.IsZero()
}
