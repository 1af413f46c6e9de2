package awstest

import (
	"fmt"
	"time"
)

// HookResult is how an action of a lifecycle hook ended.
type HookResult string

// The results.
const (
	HookContinue HookResult = "CONTINUE"
	HookAbandon  HookResult = "ABANDON"
)

// CompleteHook ends the lifecycle action of an instance in Pending:Wait or Terminating:Wait, as the hook's owner does. Abandoning a
// launch ends the instance, and its launch activity fails; abandoning a termination goes on with it, or keeps the machine where
// Group.RetainsAbandoned says so.
func (s *Server) CompleteHook(id string, result HookResult) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		switch m.Lifecycle {
		case PendingWait:
			if result == HookAbandon {
				w.abandon(g, m, LifecycleResultAbandon)
				return nil
			}
			w.inService(g, m)
		case TerminatingWait:
			w.endHookOver(g, m, result == HookAbandon)
		default:
			return fmt.Errorf("instance %s is %s: no lifecycle action waits", id, m.Lifecycle)
		}
		return nil
	})
}

// wait puts a new machine into its launch hook.
func (w *world) wait(g *group, m *machine) {
	w.put(g, m, func(m *machine) {
		m.Lifecycle, m.Machine, m.nextAt = PendingWait, MachineRunning, w.now.Add(g.Timing.LaunchHook)
	})
	if m.launch != nil {
		m.launch.hookAt = w.now
	}
}

// launchHookOver is what happens when nobody ended the launch hook in time.
func (w *world) launchHookOver(g *group, m *machine) {
	if g.LaunchHookAbandons {
		w.abandon(g, m, LifecycleHookAbandoned)
		return
	}
	w.inService(g, m)
}

// abandon ends a launch that was as good as done.
func (w *world) abandon(g *group, m *machine, why LaunchFailure) {
	message := why.message(placement{})
	if m.launch != nil {
		m.launch.finish(w.now, ActivityFailed, message)
	}
	g.retryAt = w.now.Add(g.retryPause())
	w.tell(Event{Kind: EventLaunchFailed, Group: g.Name, Detail: message})
	w.end(g, m, CauseHealth)
}

// endHookOver goes on with a termination behind its hook.
func (w *world) endHookOver(g *group, m *machine, abandoned bool) {
	if abandoned && g.RetainsAbandoned {
		w.put(g, m, func(m *machine) { m.Lifecycle, m.nextAt = TerminatingRetained, time.Time{} })
		return
	}
	w.put(g, m, func(m *machine) {
		m.Lifecycle, m.Machine, m.nextAt = TerminatingProceed, MachineShuttingDown, w.now.Add(g.Timing.Terminate)
	})
}

// EnterStandby puts an instance into Standby, as an operator does: it goes on running and no longer counts. With decrement desired
// goes down by its weight; otherwise the group replaces it.
func (s *Server) EnterStandby(id string, decrement bool) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		if m.Lifecycle != InService {
			return fmt.Errorf("instance %s is %s: only one in service can go to standby", id, m.Lifecycle)
		}
		if err := w.leave(g, m, decrement); err != nil {
			return err
		}
		w.put(g, m, func(m *machine) { m.Lifecycle, m.nextAt = Standby, time.Time{} })
		return nil
	})
}

// ExitStandby brings an instance back into service. Desired goes up by its weight.
func (s *Server) ExitStandby(id string) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		switch {
		case m.Lifecycle != Standby:
			return fmt.Errorf("instance %s is %s, not in standby", id, m.Lifecycle)
		case g.Desired+m.units() > g.Max:
			return fmt.Errorf("instance %s can't come back: desired would be above the maximum %d of group %s", id, g.Max, g.Name)
		}
		w.setDesired(g, g.Desired+m.units(), CauseForeign)
		w.put(g, m, func(m *machine) { m.Lifecycle = InService })
		return nil
	})
}

// Detach takes an instance out of its group, as an operator does. The machine goes on running outside. With decrement desired goes down
// by its weight; otherwise the group replaces it.
func (s *Server) Detach(id string, decrement bool) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		if err := w.leave(g, m, decrement); err != nil {
			return err
		}
		g.remove(m)
		left := m.Instance
		left.Lifecycle = Detached
		w.detached = append(w.detached, left)
		w.touch(g)
		w.changed = true
		w.tell(Event{Kind: EventDetached, Group: g.Name, Instance: id})
		return nil
	})
}

// leave lowers desired along with an instance that stops counting, if wanted.
func (w *world) leave(g *group, m *machine, decrement bool) error {
	switch {
	case !decrement || !m.counts():
	case g.Desired-m.units() < g.Min:
		return fmt.Errorf("instance %s can't leave group %s: desired would be below the minimum %d", m.ID, g.Name, g.Min)
	default:
		w.setDesired(g, g.Desired-m.units(), CauseForeign)
	}
	return nil
}
