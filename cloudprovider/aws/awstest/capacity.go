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
	w.fillWarmPool(g)
	w.refreshNext(g)
	w.startMissing(g)
	w.cutSurplus(g)
	w.balance(g)
}

func (w *world) startMissing(g *group) {
	if g.suspended(ProcessLaunch) || !g.retryAt.IsZero() {
		return
	}
	have := g.units()
	for _, l := range g.launches {
		have += l.units
	}
	start := have
	for have < g.Desired {
		from, to := have, min(have+1, g.Desired)
		if g.JointFailures {
			from, to = start, g.Desired
		}
		l := w.startLaunch(g, causeAt(w.now, "%s.  ", g.reason())+
			causeAt(w.now, "an instance was started in response to a difference between desired and actual capacity, increasing the capacity from %d to %d.",
				from, to))
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
	if w.warmed(g, l) {
		return
	}
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
		ordered := w.ordered(g, zone, candidates)
		for _, c := range ordered {
			p := w.placed(g, zone, c)
			reason, ok := w.get(g, p)
			if ok {
				w.launched(g, l, activity, p)
				return
			}
			if first == "" {
				first = reason
			}
		}
		w.launchFailed(g, activity, w.placed(g, zone, ordered[0]), first)
	}
}

// get takes the machine of a placement from the stock, or tells why there is none.
func (w *world) get(g *group, p placement) (LaunchFailure, bool) {
	if price, set := w.spotPrice(p.typ, p.zone); set && p.market == Spot && p.maxPrice > 0 && p.maxPrice < price {
		return SpotMaxPriceTooLow, false
	}
	return w.take(g.Name, p.zone, p.typ, p.market)
}

// ordered are the candidates in the order in which the allocation strategy of the next machine's market tries them in a zone.
func (w *world) ordered(g *group, zone string, candidates []candidate) []candidate {
	if g.MixedInstances == nil || len(candidates) < 2 {
		return candidates
	}
	market := nextMarket(g, candidates[0])
	strategy := g.MixedInstances.OnDemandStrategy
	if market == Spot {
		strategy = g.MixedInstances.SpotStrategy
	}
	price := func(c candidate) float64 {
		each := w.onDemandPrice(c.typ, linux)
		if market == Spot {
			each, _ = w.spotPrice(c.typ, zone)
		}
		return each / float64(max(c.weight, 1))
	}
	left := func(c candidate) int { return w.left(g.Name, zone, c.typ, market) }
	order := map[AllocationStrategy]func(a, b candidate) int{
		LowestPrice:       func(a, b candidate) int { return cmp.Compare(price(a), price(b)) },
		CapacityOptimized: func(a, b candidate) int { return cmp.Compare(left(b), left(a)) },
		PriceCapacityOptimized: func(a, b candidate) int {
			return cmp.Or(cmp.Compare(min(left(b), 1), min(left(a), 1)), cmp.Compare(price(a), price(b)))
		},
	}[strategy]
	if order == nil {
		return candidates
	}
	candidates = slices.Clone(candidates)
	slices.SortStableFunc(candidates, order)
	return candidates
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
	if g.JointFailures && g.toldBefore(w.now, p.zone, message) {
		g.activities = slices.DeleteFunc(g.activities, func(other *activity) bool { return other == a })
		return
	}
	a.finish(w.now, ActivityFailed, message)
	g.retryAt = w.now.Add(g.retryPause())
	w.tell(Event{Kind: EventLaunchFailed, Group: g.Name, Detail: message})
}

// toldBefore tells whether an activity of this moment has failed in the zone for the same reason.
func (g *group) toldBefore(now time.Time, zone, message string) bool {
	return slices.ContainsFunc(g.activities, func(a *activity) bool {
		return a.status == ActivityFailed && a.end.Equal(now) && a.zone == zone && a.message == message
	})
}

// launched puts a new machine into the group.
func (w *world) launched(g *group, l launch, a *activity, p placement) {
	l.activity = a
	w.arrived(g, l, &machine{Instance: w.newInstance(g, p), launch: a})
}

// arrived puts a machine into the group that came out of a launch.
func (w *world) arrived(g *group, l launch, m *machine) {
	boot := g.Timing.Launch
	if l.script.Boot > 0 {
		boot = l.script.Boot
	}
	m.nextAt = w.now.Add(boot)
	a := l.activity
	a.zone, a.subnet, a.instanceID, a.namedAt, a.progress = m.Zone, g.subnetOf(m.Zone), m.ID, w.now, 50
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
