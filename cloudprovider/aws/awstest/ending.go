package awstest

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// proceed lets the next thing happen to a machine.
func (w *world) proceed(g *group, m *machine) {
	if !m.Ending() && (m.Machine == MachineTerminated || m.Health == Unhealthy) {
		w.checkHealth(g, m)
		return
	}
	switch m.Lifecycle {
	case Pending:
		if g.Timing.LaunchHook > 0 {
			w.wait(g, m)
			return
		}
		w.inService(g, m)
	case PendingWait:
		w.launchHookOver(g, m)
	case TerminatingWait:
		w.endHookOver(g, m, true)
	case Terminating, TerminatingProceed:
		if g.Timing.Linger > 0 {
			w.put(g, m, func(m *machine) {
				m.Lifecycle, m.Machine, m.nextAt = Terminated, MachineTerminated, w.now.Add(g.Timing.Linger)
			})
			return
		}
		w.gone(g, m)
	case Terminated:
		w.gone(g, m)
	default:
		w.put(g, m, func(m *machine) { m.nextAt = time.Time{} }) // a state that was set by hand stays
	}
}

func (w *world) inService(g *group, m *machine) {
	w.put(g, m, func(m *machine) { m.Lifecycle, m.Machine, m.nextAt = InService, MachineRunning, time.Time{} })
	if m.launch != nil {
		m.launch.finish(w.now, ActivitySuccessful, "")
	}
	w.tell(Event{Kind: EventInService, Group: g.Name, Instance: m.ID})
}

// checkHealth is the service's look at a machine that died or was called unhealthy.
func (w *world) checkHealth(g *group, m *machine) {
	dead := m.Machine == MachineTerminated
	m = w.put(g, m, func(m *machine) {
		m.nextAt = time.Time{}
		if dead {
			m.Health = Unhealthy
		}
	})
	if m.Health != Unhealthy || g.suspended(ProcessReplaceUnhealthy) {
		return
	}
	g.why = "an instance was launched in response to an unhealthy instance needing to be replaced"
	w.end(g, m, CauseHealth)
}

// end starts the end of a machine, unless that was done before. Desired stays as it is.
func (w *world) end(g *group, m *machine, cause Cause) *machine {
	if m.end != nil {
		return m
	}
	text := map[Cause]string{
		CauseRequest:     "instance %s was taken out of service in response to a user request.",
		CauseScaleIn:     "instance %s was selected for termination in response to a difference between desired and actual capacity.",
		CauseHealth:      "instance %s was taken out of service in response to an EC2 health check indicating it has been terminated or stopped.",
		CauseRefresh:     "instance %s was taken out of service in response to an instance refresh.",
		CauseGroupDelete: "instance %s was taken out of service because the group is being deleted.",
	}[cause]
	a := w.newActivity(g, terminateVerb, causeAt(w.now, text, m.ID))
	a.instanceID, a.namedAt, a.zone, a.subnet = m.ID, w.now, m.Zone, g.subnetOf(m.Zone)
	if m.launch != nil {
		m.launch.finish(w.now, ActivityCancelled, "")
	}
	m = w.put(g, m, func(m *machine) {
		m.end, m.cause = a, cause
		m.Lifecycle, m.nextAt = Terminating, w.now.Add(g.Timing.Terminate)
		if g.Timing.TerminateHook > 0 {
			m.Lifecycle, m.nextAt = TerminatingWait, w.now.Add(g.Timing.TerminateHook)
		} else if m.Machine != MachineTerminated {
			m.Machine = MachineShuttingDown
		}
	})
	call := w.call
	if cause == CauseScaleIn {
		call = g.loweredBy
	}
	w.tell(Event{Kind: EventEnding, Group: g.Name, Instance: m.ID, Cause: cause, Call: call})
	return m
}

// gone takes a machine out of its group. EC2 lists it for a while.
func (w *world) gone(g *group, m *machine) {
	g.remove(m)
	last := m.Instance
	last.Lifecycle, last.Machine = Terminated, MachineTerminated
	w.ended = append(w.ended, endedServer{Instance: last, at: w.now})
	if m.end != nil {
		m.end.finish(w.now, ActivitySuccessful, "")
	}
	w.touch(g)
	w.changed = true
	w.tell(Event{Kind: EventGone, Group: g.Name, Instance: m.ID, Cause: m.cause})
}

// remove takes a machine out of the list.
func (g *group) remove(m *machine) {
	g.machines = slices.DeleteFunc(g.machines, func(other *machine) bool { return other == m })
}

// cutSurplus ends instances of the service's choice while there are more than desired.
func (w *world) cutSurplus(g *group) {
	if g.victim() == nil || g.suspended(ProcessTerminate) {
		g.scaleInAt = time.Time{}
		return
	}
	if g.scaleInAt.IsZero() {
		g.scaleInAt = w.now.Add(g.Timing.ScaleIn)
	}
	if g.scaleInAt.After(w.now) {
		return
	}
	g.scaleInAt = time.Time{}
	for m := g.victim(); m != nil; m = g.victim() {
		w.end(g, m, CauseScaleIn)
	}
}

// victim is the instance that the service would end next to get down to desired; nil when there is no surplus or none may be ended.
// It comes from the zone with the most instances. An instance whose weight would bring the group below desired stays.
func (g *group) victim() *machine {
	surplus := g.units() - g.Desired
	if surplus <= 0 {
		return nil
	}
	load := g.load()
	var eligible []*machine
	for _, m := range g.machines {
		if m.counts() && !m.Protected && m.units() <= surplus {
			eligible = append(eligible, m)
		}
	}
	if len(eligible) == 0 {
		return nil
	}
	return slices.MinFunc(eligible, func(a, b *machine) int {
		return cmp.Or(
			cmp.Compare(load[b.Zone], load[a.Zone]),
			cmp.Compare(slices.Index(g.Zones, a.Zone), slices.Index(g.Zones, b.Zone)),
			g.prefer(a, b))
	})
}

// prefer orders two instances of a zone, the one to be ended first first. Equal ones are left in the order of their launch.
func (g *group) prefer(a, b *machine) int {
	switch g.TerminationPolicy {
	case TerminationOldest:
		return a.LaunchTime.Compare(b.LaunchTime)
	case TerminationNewest:
		return b.LaunchTime.Compare(a.LaunchTime)
	default:
		return cmp.Or(cmp.Compare(g.template(a), g.template(b)), a.LaunchTime.Compare(b.LaunchTime))
	}
}

// template ranks what an instance was launched from: another template or configuration than the group's is oldest, then the
// template's version counts.
func (g *group) template(m *machine) int {
	current := g.LaunchTemplate
	if g.MixedInstances != nil {
		current = &g.MixedInstances.LaunchTemplate
	}
	if m.LaunchConfiguration != g.LaunchConfiguration || current != nil && m.LaunchTemplate.ID != current.ID {
		return -1
	}
	version, err := strconv.Atoi(m.LaunchTemplate.Version)
	if err != nil {
		return 0 // a launch configuration has no versions
	}
	return version
}
