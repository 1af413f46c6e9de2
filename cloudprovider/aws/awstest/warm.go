package awstest

import (
	"cmp"
	"time"
)

// WarmPool is a group's pool of machines that were prepared and wait. They aren't listed among the group's instances and can't be ended
// by clients. A launch takes one of them instead of a new machine, and the pool is filled up at once.
type WarmPool struct {
	MinSize     int
	MaxPrepared int    // MaxGroupPreparedCapacity; 0: not told, and the pool holds MinSize. Else it holds at least MaxPrepared - Desired
	State       string // Stopped, Running or Hibernated; empty: Stopped
	Deleting    bool   // status PendingDelete: no longer filled up
}

const warmVerb = "Launching a new EC2 instance from warm pool"

// fillWarmPool makes the group's warm pool as large as it should be.
func (w *world) fillWarmPool(g *group) {
	if g.WarmPool == nil {
		if len(g.warm) > 0 {
			g.warm = nil
			w.touch(g)
		}
		return
	}
	size := max(g.WarmPool.MinSize, g.WarmPool.MaxPrepared-g.Desired)
	candidates, why := w.candidates(g.Group)
	if why != "" || g.WarmPool.Deleting {
		return
	}
	for len(g.warm) < size {
		zones := w.zonesByLoad(g)
		m := &machine{Instance: w.newInstance(g, w.placed(g, zones[len(g.warm)%len(zones)], candidates[0]))}
		m.Lifecycle, m.Machine = LifecycleState("Warmed:"+cmp.Or(g.WarmPool.State, "Stopped")), MachineStopped
		if g.WarmPool.State == "Running" {
			m.Machine = MachineRunning
		}
		g.warm = append(g.warm, m)
		w.touch(g)
	}
}

// warmed lets a launch take a machine out of the warm pool; false: there is none.
func (w *world) warmed(g *group, l launch) bool {
	if len(g.warm) == 0 || l.script != (ScriptedLaunch{}) {
		return false
	}
	m := *g.warm[0]
	g.warm = g.warm[1:]
	m.Lifecycle, m.Machine, m.launch = Pending, MachinePending, l.activity
	l.activity.verb = warmVerb
	w.arrived(g, l, &m)
	return true
}

// describeWarmPool lists the machines of a warm pool.
func describeWarmPool(c *call) ([]element, error) {
	name := c.params.value("AutoScalingGroupName")
	g, ok := c.groups[name]
	if !ok {
		return nil, noSuchGroup(name)
	}
	all, next, err := page(c, g.warm, func(m *machine) string { return m.LaunchTime.UTC().Format(time.RFC3339Nano) + m.ID },
		pageLimits{usual: 50, most: 50, least: 1, parameter: "MaxRecords"})
	if err != nil {
		return nil, err
	}
	members := make([]element, 0, len(all))
	for _, m := range all {
		members = append(members, node("member", m.xml()...))
	}
	return []element{node("Instances", members...), g.WarmPool.xml(), optional("NextToken", next)}, nil
}

// xml renders the configuration of a warm pool; nothing when there is none.
func (p *WarmPool) xml() element {
	if p == nil {
		return element{}
	}
	status := ""
	if p.Deleting {
		status = "PendingDelete"
	}
	return node("WarmPoolConfiguration", number("MinSize", p.MinSize), positive("MaxGroupPreparedCapacity", p.MaxPrepared),
		text("PoolState", cmp.Or(p.State, "Stopped")), optional("Status", status))
}
