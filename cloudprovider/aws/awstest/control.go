package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// change brings the world up to date, changes it, and lets happen what follows at once.
func (s *Server) change(f func(*world) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.nudge()
	s.settle()
	err := f(s.world)
	s.settle()
	return err
}

// changeGroup is change for one group.
func (s *Server) changeGroup(name string, f func(*world, *group) error) error {
	return s.change(func(w *world) error {
		g, ok := w.groups[name]
		if !ok {
			return fmt.Errorf("the AWS stand-in has no group %q", name)
		}
		err := f(w, g)
		w.touch(g)
		return err
	})
}

// changeInstance is change for one instance of a group.
func (s *Server) changeInstance(id string, f func(*world, *group, *machine) error) error {
	return s.change(func(w *world) error {
		g, m := w.find(id)
		if m == nil {
			return fmt.Errorf("the AWS stand-in has no instance %q", id)
		}
		return f(w, g, m)
	})
}

// Advance lets everything happen that is due at the clock's time. Requests and snapshots do that by themselves.
func (s *Server) Advance() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}

// AddGroup puts a group into the world. Its template may be missing; then launches fail, and so does AddGroup when instances are to exist
// at once. A group of the same name is refused.
func (s *Server) AddGroup(spec Group) error {
	if err := spec.validate(); err != nil {
		return fmt.Errorf("adding a group to the AWS stand-in: %w", err)
	}
	return s.change(func(w *world) error {
		if _, ok := w.groups[spec.Name]; ok {
			return fmt.Errorf("adding group %s to the AWS stand-in: there is one of that name", spec.Name)
		}
		g := &group{Group: spec.clone(), created: w.now}
		g.Initial = nil
		w.completeRefs(g)
		g.arn = fmt.Sprintf("arn:aws:autoscaling:%s:%s:autoScalingGroup:%s:autoScalingGroupName/%s", w.cfg.Region, w.cfg.Account, w.uuid("group"), g.Name)
		if err := w.populate(g, spec.Initial); err != nil {
			return fmt.Errorf("adding group %s to the AWS stand-in: %w", spec.Name, err)
		}
		w.groups[g.Name] = g
		w.touch(g)
		w.tell(Event{Kind: EventGroupAdded, Group: g.Name})
		return nil
	})
}

// populate puts the instances in that exist from the beginning.
func (w *world) populate(g *group, initial []InitialInstance) error {
	for initial == nil && g.units() < g.Desired {
		if err := w.place(g, InitialInstance{}); err != nil {
			return err
		}
	}
	for _, i := range initial {
		if err := w.place(g, i); err != nil {
			return err
		}
	}
	return nil
}

// place puts one instance in that exists from the beginning.
func (w *world) place(g *group, i InitialInstance) error {
	spec := g.Group
	if i.TemplateVersion > 0 && g.LaunchTemplate != nil {
		ref := *g.LaunchTemplate
		ref.Version = fmt.Sprint(i.TemplateVersion)
		spec.LaunchTemplate = &ref
	}
	candidates, why := w.candidates(spec)
	if why != "" {
		return fmt.Errorf("an initial instance can't be made: %s", why.message(placement{}))
	}
	zone := cmp.Or(i.Zone, w.zonesByLoad(g)[0])
	m := &machine{Instance: w.newInstance(g, w.placed(g, zone, only(i.Type, candidates)[0]))}
	m.Lifecycle, m.Machine = cmp.Or(i.Lifecycle, InService), MachineRunning
	m.LaunchTime = w.now.Add(-i.Age)
	m.Protected = m.Protected || i.Protected
	if m.Lifecycle == Pending {
		m.Machine, m.nextAt = MachinePending, w.now.Add(g.Timing.Launch)
	}
	g.machines = append(g.machines, m)
	w.changed = true
	return nil
}

// RemoveGroup takes a group and all its machines away at once.
func (s *Server) RemoveGroup(name string) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		w.drop(g)
		return nil
	})
}

// DeleteGroup starts a forced deletion: the group is listed with a status until its last instance is gone.
func (s *Server) DeleteGroup(name string) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		g.deleting = true
		w.setDesired(g, 0, CauseGroupDelete)
		for _, l := range g.launches {
			l.activity.finish(w.now, ActivityCancelled, "")
		}
		g.launches = nil
		for _, m := range slices.Clone(g.machines) {
			w.end(g, m, CauseGroupDelete)
		}
		return nil
	})
}

// UpdateGroup changes the settings of a group, for example its template, processes or timing. Name and Initial can't be changed; for
// Desired use SetDesired.
func (s *Server) UpdateGroup(name string, change func(*Group)) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		spec := g.clone()
		change(&spec)
		spec.Name, spec.Desired, spec.Initial = g.Name, g.Desired, nil
		if err := spec.validate(); err != nil {
			return fmt.Errorf("updating the AWS stand-in: %w", err)
		}
		g.Group = spec.clone()
		w.completeRefs(g)
		return nil
	})
}

// SetTags replaces the tags of a group.
func (s *Server) SetTags(name string, tags ...Tag) error {
	return s.UpdateGroup(name, func(g *Group) { g.Tags = tags })
}

// SetBounds changes minimum and maximum as an operator would: a desired capacity outside of them moves to the nearest bound.
func (s *Server) SetBounds(name string, least, most int) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		if least < 0 || most < least {
			return fmt.Errorf("bounds of group %s: want 0 <= min <= max, got %d and %d", name, least, most)
		}
		g.Min, g.Max = least, most
		w.setDesired(g, min(max(g.Desired, least), most), CauseForeign)
		return nil
	})
}

// SetDesired changes the desired capacity as another client would, within the bounds.
func (s *Server) SetDesired(name string, n int) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		if n < g.Min || n > g.Max {
			return fmt.Errorf("desired capacity %d of group %s isn't between %d and %d", n, name, g.Min, g.Max)
		}
		w.setDesired(g, n, CauseForeign)
		return nil
	})
}

// SetStock limits launches; see StockRule. A launch that waits after a failure is tried again when its pause is over.
func (s *Server) SetStock(rule StockRule) {
	_ = s.change(func(w *world) error { w.setStock(rule); return nil }) // can't fail
}

// ScriptLaunches says how the next launches of a group go, in the order of their start, behind those scripted before.
func (s *Server) ScriptLaunches(name string, launches ...ScriptedLaunch) error {
	return s.changeGroup(name, func(_ *world, g *group) error {
		g.script = append(g.script, launches...)
		return nil
	})
}

// LaunchNow lets the oldest launch that is under way in a group come to its end at once, whether it succeeds or fails. It is an
// error when none is under way.
func (s *Server) LaunchNow(name string) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		if len(g.launches) == 0 {
			return fmt.Errorf("group %s has no launch under way", name)
		}
		l := g.launches[0]
		g.launches = g.launches[1:]
		w.arrive(g, l)
		return nil
	})
}

// Rebalance does what the service does when zones are out of balance: it starts one instance beyond desired, and ends one of its
// choice when that one is there. It is an error when AZRebalance is suspended.
func (s *Server) Rebalance(name string) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		if g.suspended(ProcessAZRebalance) {
			return fmt.Errorf("rebalancing group %s: AZRebalance is suspended", name)
		}
		w.startLaunch(g, causeAt(w.now, "an instance was launched to aid in balancing the group's zones."))
		return nil
	})
}

// KillInstance ends the machine behind an instance, like a spot interruption or somebody who terminates it in EC2. The group notices
// after Timing.HealthCheck and replaces it, unless HealthCheck or ReplaceUnhealthy is suspended.
func (s *Server) KillInstance(id string) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		w.die(g, m)
		return nil
	})
}

// SetHealth calls an instance Healthy or Unhealthy. An unhealthy one in service is replaced after Timing.HealthCheck unless
// ReplaceUnhealthy is suspended.
func (s *Server) SetHealth(id, health string) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		w.put(g, m, func(m *machine) {
			m.Health = health
			if health == Unhealthy && m.Lifecycle == InService {
				m.nextAt = w.now.Add(g.Timing.HealthCheck)
			}
		})
		return nil
	})
}

// SetLifecycle puts an instance into any state, where it stays until something else is done to it.
func (s *Server) SetLifecycle(id string, state LifecycleState) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		w.put(g, m, func(m *machine) { m.Lifecycle, m.nextAt = state, time.Time{} })
		return nil
	})
}

// SetProtection sets or clears an instance's protection from scale-in.
func (s *Server) SetProtection(id string, protected bool) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		w.put(g, m, func(m *machine) { m.Protected = protected })
		return nil
	})
}
