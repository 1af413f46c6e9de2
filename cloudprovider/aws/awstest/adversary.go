package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Interrupt takes a spot machine away after a notice, as EC2 does. With CapacityRebalance the group starts a replacement beyond
// desired at the notice; otherwise it notices the loss after Timing.HealthCheck and replaces the instance then.
func (s *Server) Interrupt(id string, notice time.Duration) error {
	return s.changeInstance(id, func(w *world, g *group, m *machine) error {
		if m.Market != Spot {
			return fmt.Errorf("instance %s is %s; only spot machines are interrupted", id, m.Market)
		}
		w.put(g, m, func(m *machine) { m.dieAt = w.now.Add(notice) })
		if g.CapacityRebalance {
			w.startLaunch(g, causeAt(w.now, "an instance was launched in response to an EC2 instance rebalance recommendation."))
		}
		w.lose(g)
		return nil
	})
}

// lose lets machines die whose time has come.
func (w *world) lose(g *group) {
	for _, m := range slices.Clone(g.machines) {
		if !m.dieAt.IsZero() && !m.dieAt.After(w.now) {
			w.die(g, m)
		}
	}
}

// die ends the machine behind an instance. The group notices later, if at all.
func (w *world) die(g *group, m *machine) {
	w.put(g, m, func(m *machine) {
		m.Machine, m.dieAt = MachineTerminated, time.Time{}
		switch {
		case m.Ending():
		case g.suspended(ProcessHealthCheck):
			m.nextAt = time.Time{}
		default:
			m.nextAt = w.now.Add(g.Timing.HealthCheck)
		}
	})
	w.tell(Event{Kind: EventDied, Group: g.Name, Instance: m.ID})
}

// balance starts an instance beyond desired when the zones of a group that does so by itself are out of balance and nothing else goes on.
func (w *world) balance(g *group) {
	if !g.RebalancesByItself || g.suspended(ProcessAZRebalance) || g.suspended(ProcessLaunch) || len(g.Zones) < 2 ||
		len(g.launches) > 0 || !g.retryAt.IsZero() || g.units() != g.Desired || !g.quiet() {
		return
	}
	load := g.load()
	loads := make([]int, 0, len(g.Zones))
	for _, z := range g.Zones {
		loads = append(loads, load[z])
	}
	if slices.Max(loads)-slices.Min(loads) > 1 && g.canShrink(slices.Max(loads)) {
		w.startLaunch(g, causeAt(w.now, "an instance was launched to aid in balancing the group's zones."))
	}
}

// canShrink tells whether a zone with so many instances holds one that may be ended.
func (g *group) canShrink(count int) bool {
	load := g.load()
	return slices.ContainsFunc(g.machines, func(m *machine) bool { return m.counts() && !m.Protected && load[m.Zone] == count })
}

// quiet tells whether no instance comes or goes.
func (g *group) quiet() bool {
	return !slices.ContainsFunc(g.machines, func(m *machine) bool {
		return m.counts() && m.Lifecycle != InService || m.Ending() && !m.nextAt.IsZero()
	})
}

// StartInstanceRefresh replaces all present instances of a group, one after the other, without a look at who uses them. It is an error
// while InstanceRefresh is suspended.
func (s *Server) StartInstanceRefresh(name string) error {
	return s.changeGroup(name, func(_ *world, g *group) error {
		if g.suspended(ProcessInstanceRefresh) {
			return fmt.Errorf("refreshing group %s: InstanceRefresh is suspended", name)
		}
		g.refresh = nil
		for _, m := range g.machines {
			if m.counts() {
				g.refresh = append(g.refresh, m.ID)
			}
		}
		return nil
	})
}

// CancelInstanceRefresh stops a refresh behind the replacement that is under way.
func (s *Server) CancelInstanceRefresh(name string) error {
	return s.changeGroup(name, func(_ *world, g *group) error { g.refresh = nil; return nil })
}

// refreshNext takes the next instance of a refresh out of service when the one before is replaced.
func (w *world) refreshNext(g *group) {
	for len(g.refresh) > 0 && len(g.launches) == 0 && g.quiet() && g.units() >= g.Desired {
		id := g.refresh[0]
		g.refresh = g.refresh[1:]
		if i := slices.IndexFunc(g.machines, func(m *machine) bool { return m.ID == id && m.counts() }); i >= 0 {
			g.why = "an instance was launched in response to an instance refresh"
			w.end(g, g.machines[i], CauseRefresh)
		}
	}
}

// RunScheduledAction changes bounds and desired capacity as a scheduled action of the group does. It is an error while ScheduledActions
// is suspended.
func (s *Server) RunScheduledAction(name string, least, most, desired int) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		switch {
		case g.suspended(ProcessScheduledActions):
			return fmt.Errorf("scheduled action of group %s: ScheduledActions is suspended", name)
		case least < 0 || desired < least || most < desired:
			return fmt.Errorf("scheduled action of group %s: want 0 <= min <= desired <= max, got %d, %d, %d", name, least, desired, most)
		}
		g.Min, g.Max = least, most
		w.setDesired(g, desired, CauseForeign)
		return nil
	})
}

// RunAlarm changes the desired capacity by a step, as a scaling policy does when its alarm goes off; the bounds hold. It is an error
// while AlarmNotification is suspended.
func (s *Server) RunAlarm(name string, step int) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		if g.suspended(ProcessAlarmNotification) {
			return fmt.Errorf("alarm of group %s: AlarmNotification is suspended", name)
		}
		w.setDesired(g, min(max(g.Desired+step, g.Min), g.Max), CauseForeign)
		return nil
	})
}

// Activity is a scaling activity for AddActivity.
type Activity struct {
	Description string // empty: Launching a new EC2 instance
	Cause       string
	Status      ActivityStatus // empty: Failed
	Message     string
	Start, End  time.Time // zero: now. An unfinished status has no end
	Details     string    // empty: made from Zone
	Zone        string
}

// AddActivity puts an activity into a group's history that nothing in the stand-in's world caused, for example a failure of last month.
func (s *Server) AddActivity(name string, a Activity) error {
	return s.changeGroup(name, func(w *world, g *group) error {
		added := w.newActivity(g, cmp.Or(a.Description, launchVerb), a.Cause)
		added.zone, added.rawDetails, added.wordy = a.Zone, a.Details, a.Description != ""
		if !a.Start.IsZero() {
			added.start = a.Start
		}
		if a.Zone != "" {
			added.subnet = g.subnetOf(a.Zone)
		}
		status := cmp.Or(a.Status, ActivityFailed)
		switch status {
		case ActivityFailed, ActivitySuccessful, ActivityCancelled:
			end := a.End
			if end.IsZero() {
				end = w.now
			}
			added.finish(end, status, a.Message)
		default:
			added.unfinished = status
		}
		return nil
	})
}
