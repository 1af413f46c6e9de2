package awstest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// launch is a launch under way, before there is an instance.
type launch struct {
	dueAt    time.Time
	units    int // what it is expected to add
	script   ScriptedLaunch
	activity *activity
}

// ScriptedLaunch says how one launch goes. Zero fields leave it to the group's timing, the stock and the usual choice.
type ScriptedLaunch struct {
	After time.Duration // from the start of the launch to its failure or to the instance; 0: Timing.Request
	Boot  time.Duration // from the instance's appearance to InService; 0: Timing.Launch
	Fail  LaunchFailure // the launch fails for this reason, in all zones
	Type  string        // which instance type comes
	Zone  string
}

// placement is where a machine goes and what it is.
type placement struct {
	candidate
	market     Market
	zone       string
	subnet     string
	otherZones []string
}

const (
	launchVerb    = "Launching a new EC2 instance"
	terminateVerb = "Terminating EC2 instance"
)

// units is what the group's instances count toward desired.
func (g *group) units() int {
	sum := 0
	for _, m := range g.machines {
		if m.counts() {
			sum += m.units()
		}
	}
	return sum
}

// reconcile starts what is missing and ends what is too much. A group that is being deleted goes with its last instance.
func (w *world) reconcile(g *group) {
	if g.deleting {
		g.scaleInAt, g.retryAt = time.Time{}, time.Time{}
		if len(g.machines) == 0 && len(g.launches) == 0 {
			w.drop(g)
		}
		return
	}
	w.startMissing(g)
	w.cutSurplus(g)
}

func (w *world) startMissing(g *group) {
	if g.suspended(ProcessLaunch) || !g.retryAt.IsZero() {
		return
	}
	have := g.units()
	for _, l := range g.launches {
		have += l.units
	}
	for have < g.Desired {
		l := w.startLaunch(g, causeAt(w.now, "%s.  ", g.reason())+
			causeAt(w.now, "an instance was started in response to a difference between desired and actual capacity, increasing the capacity from %d to %d.",
				have, min(have+1, g.Desired)))
		have += l.units
	}
}

// reason is why capacity is missing.
func (g *group) reason() string {
	if g.why == "" {
		return "the group had less capacity than desired"
	}
	return g.why
}

// startLaunch begins a launch. Its activity is in progress from now on; the instance comes later.
func (w *world) startLaunch(g *group, cause string) launch {
	var script ScriptedLaunch
	if len(g.script) > 0 {
		script, g.script = g.script[0], g.script[1:]
	}
	units := 1
	if candidates, why := w.candidates(g.Group); why == "" {
		units = max(candidates[0].weight, 1)
		for _, c := range candidates {
			if c.typ == script.Type {
				units = max(c.weight, 1)
			}
		}
	}
	after := g.Timing.Request
	if script.After > 0 {
		after = script.After
	}
	l := launch{dueAt: w.now.Add(after), units: units, script: script, activity: w.newActivity(g, launchVerb, cause)}
	g.launches = append(g.launches, l)
	return l
}

// arrive ends the waiting of a launch: a machine appears, or activities fail, one per zone that was tried.
func (w *world) arrive(g *group, l launch) {
	candidates, why := w.candidates(g.Group)
	zones := w.zonesByLoad(g)
	if l.script.Zone != "" {
		zones = []string{l.script.Zone}
	}
	if l.script.Fail != "" {
		why = l.script.Fail
	}
	if why != "" {
		p := w.placed(g, zones[0], firstOf(candidates))
		w.launchFailed(g, l.activity, p, why)
		return
	}
	candidates = only(l.script.Type, candidates)
	activity := l.activity
	for i, zone := range zones {
		if i > 0 {
			activity = w.newActivity(g, launchVerb, l.activity.cause)
		}
		var first LaunchFailure
		for _, c := range candidates {
			p := w.placed(g, zone, c)
			reason, ok := w.take(g.Name, zone, c.typ, p.market)
			if ok {
				w.launched(g, l, activity, p)
				return
			}
			if first == "" {
				first = reason
			}
		}
		w.launchFailed(g, activity, w.placed(g, zone, candidates[0]), first)
	}
}

// firstOf is the first candidate, or an empty one.
func firstOf(candidates []candidate) candidate {
	if len(candidates) == 0 {
		return candidate{}
	}
	return candidates[0]
}

// only keeps the candidate of a type; a type that isn't a candidate replaces that of the first one. An empty type keeps all.
func only(typ string, candidates []candidate) []candidate {
	if typ == "" {
		return candidates
	}
	for _, c := range candidates {
		if c.typ == typ {
			return []candidate{c}
		}
	}
	c := candidates[0]
	c.typ = typ
	return []candidate{c}
}

// placed completes a placement.
func (w *world) placed(g *group, zone string, c candidate) placement {
	p := placement{candidate: c, zone: zone, market: nextMarket(g, c), subnet: g.subnetOf(zone)}
	for _, z := range g.Zones {
		if z != zone {
			p.otherZones = append(p.otherZones, z)
		}
	}
	return p
}

// subnetOf is the subnet of a zone: the given one with the zone's index, else one made up from its name.
func (g *group) subnetOf(zone string) string {
	i := slices.Index(g.Zones, zone)
	if i >= 0 && i < len(g.Subnets) {
		return g.Subnets[i]
	}
	return "subnet-" + zone
}

// zonesByLoad are the group's zones, those with the fewest instances first, in the group's order where equal.
func (w *world) zonesByLoad(g *group) []string {
	zones := slices.Clone(g.Zones)
	if len(zones) == 0 {
		zones = slices.Clone(w.cfg.Zones)
	}
	load := g.load()
	slices.SortStableFunc(zones, func(a, b string) int { return cmp.Compare(load[a], load[b]) })
	return zones
}

// load is how many counting instances each zone holds.
func (g *group) load() map[string]int {
	load := map[string]int{}
	for _, m := range g.machines {
		if m.counts() {
			load[m.Zone]++
		}
	}
	return load
}

func (w *world) launchFailed(g *group, a *activity, p placement, reason LaunchFailure) {
	a.zone, a.subnet = p.zone, p.subnet
	message := reason.message(p)
	a.finish(w.now, ActivityFailed, message)
	g.retryAt = w.now.Add(g.retryPause())
	w.tell(Event{Kind: EventLaunchFailed, Group: g.Name, Detail: message})
}

// launched puts a new machine into the group.
func (w *world) launched(g *group, l launch, a *activity, p placement) {
	m := &machine{Instance: w.newInstance(g, p), launch: a}
	boot := g.Timing.Launch
	if l.script.Boot > 0 {
		boot = l.script.Boot
	}
	m.nextAt = w.now.Add(boot)
	a.zone, a.subnet, a.instanceID, a.namedAt, a.progress = p.zone, p.subnet, m.ID, w.now, 50
	g.machines = append(g.machines, m)
	w.touch(g)
	w.changed = true
	w.tell(Event{Kind: EventLaunched, Group: g.Name, Instance: m.ID})
}

// newInstance makes the record of a machine that was launched now.
func (w *world) newInstance(g *group, p placement) Instance {
	w.serials["address"]++
	n := w.serials["address"] + 3 // the first addresses of a subnet are taken
	i := Instance{
		ID: "i-" + w.hexID("instance", 17), Group: g.Name, Zone: p.zone, Type: p.typ, Lifecycle: Pending, Machine: MachinePending,
		Health: Healthy, Protected: g.ProtectNewInstances, Market: p.market, Weight: p.weight,
		LaunchTemplate: p.ref, LaunchConfiguration: p.config, ImageID: p.image, LaunchTime: w.now,
		PrivateIP: fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255), Tags: map[string]string{},
	}
	domain := w.cfg.Region + ".compute.internal"
	if w.cfg.Region == "us-east-1" {
		domain = "ec2.internal"
	}
	i.PrivateDNSName = fmt.Sprintf("ip-10-%d-%d-%d.%s", n>>16&255, n>>8&255, n&255, domain)
	maps.Copy(i.Tags, p.tags)
	for _, tag := range g.Tags {
		if tag.PropagateAtLaunch {
			i.Tags[tag.Key] = tag.Value
		}
	}
	i.Tags["aws:autoscaling:groupName"] = g.Name
	if p.ref.ID != "" {
		i.Tags["aws:ec2launchtemplate:id"], i.Tags["aws:ec2launchtemplate:version"] = p.ref.ID, p.ref.Version
	}
	return i
}
