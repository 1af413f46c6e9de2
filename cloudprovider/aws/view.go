package aws

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/providerid"
)

const (
	// usable is how long data are good enough to plan with. Writes read anew in any case.
	usable = 5 * time.Minute
	// goneLife is how long an instance that vanished is remembered as gone; its Node object is deleted long before.
	goneLife = 24 * time.Hour
)

// view is what the getters answer from. Nobody changes it after publish.
type view struct {
	groups   []cloudprovider.NodeGroup // by name
	errors   []cloudprovider.GroupError
	byName   map[cloudprovider.GroupID]*NodeGroup
	machines map[string]machine // by instance id
	gone     map[string]cloudprovider.GroupID
	asked    time.Time // when the last full refresh began; zero: there was none
}

// machine is what the view knows about an instance.
type machine struct {
	group  cloudprovider.GroupID
	ending bool
}

// goneInstance is a machine that was once in a group and then no longer.
type goneInstance struct {
	group cloudprovider.GroupID
	since time.Time
}

// noteGone remembers which machines ended. One that was detached runs on somewhere else.
func (p *Provider) noteGone(b *book, now asg.Group, vanished []asg.Instance, at time.Time) {
	if p.gone == nil {
		p.gone = map[string]goneInstance{}
	}
	for _, instance := range vanished {
		if instance.Lifecycle.Phase() != asg.PhaseLeaving {
			p.gone[instance.ID] = goneInstance{group: cloudprovider.GroupID(b.name), since: at}
		}
	}
	for _, instance := range now.Instances {
		delete(p.gone, instance.ID) // AWS's listings can lack a machine for a moment
	}
}

// publish puts a view of all books in place. Call with mu held.
func (p *Provider) publish() {
	now := p.clock.Now()
	before := p.view.Load()
	next := &view{
		byName: make(map[cloudprovider.GroupID]*NodeGroup, len(p.books)), machines: make(map[string]machine, len(before.machines)),
		gone: map[string]cloudprovider.GroupID{}, asked: p.asked,
	}
	for _, name := range slices.Sorted(maps.Keys(p.books)) {
		b := p.books[name]
		id := cloudprovider.GroupID(name)
		if trouble := p.troubleAt(b, now); trouble.err != nil {
			next.errors = append(next.errors, cloudprovider.GroupError{Group: id, Err: trouble.err, Since: trouble.since})
		}
		if !b.known {
			continue
		}
		if b.snapshot == nil {
			b.snapshot = p.snapshot(b)
		}
		next.groups = append(next.groups, b.snapshot)
		next.byName[id] = b.snapshot
		for _, instance := range b.group.Instances {
			next.machines[instance.ID] = machine{group: id, ending: instance.Lifecycle.Phase() == asg.PhaseEnding}
		}
	}
	maps.DeleteFunc(p.gone, func(_ string, g goneInstance) bool { return now.Sub(g.since) > goneLife })
	for id, g := range p.gone {
		next.gone[id] = g.group
	}
	p.view.Store(next)
	p.nudge()
}

// snapshot makes the group of the next view. Call with mu held.
func (p *Provider) snapshot(b *book) *NodeGroup {
	return &NodeGroup{
		provider: p, book: b, launch: b.group.Launch, zones: zonesOf(b.group), tags: b.tags, base: b.sizes.BaseUnits, net: b.net,
		state: cloudprovider.GroupState{
			Min: b.sizes.Min, Max: b.sizes.Max, Target: b.sizes.Target, Instances: instancesOf(b), Options: p.optionsOf(b.tags),
			Shortages: p.shortagesOf(b),
			Suspended: cmp.Or(p.suspension(b.group), p.suspendedByEKS(b.tags)), Held: cmp.Or(held(b.group), p.heldByEKS(b.tags)), Debug: fmt.Sprintf("%s (%d:%d)", b.name, b.sizes.Min, b.sizes.Max),
		},
	}
}

// suspended says why AWS would start no machine in the group.
func suspended(group asg.Group) string {
	switch {
	case group.Deleting():
		return "the Auto Scaling group is being deleted: " + group.Status
	case group.SuspendedProcess("Launch"):
		return "the process Launch of the Auto Scaling group is suspended"
	default:
		return ""
	}
}

// zonesOf lists the zones of a group; where AWS names only zone ids, those that its machines are in.
func zonesOf(group asg.Group) []string {
	if len(group.Zones) > 0 {
		return group.Zones
	}
	var zones []string
	for _, instance := range group.Instances {
		if instance.Zone != "" {
			zones = append(zones, instance.Zone)
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

func instancesOf(b *book) []cloudprovider.Instance {
	places := b.ledger.Open()
	instances := make([]cloudprovider.Instance, 0, len(b.group.Instances)+len(places))
	for _, instance := range b.group.Instances {
		state, reported := stateOf(instance, b.group)
		if !reported {
			continue
		}
		instances = append(instances, cloudprovider.Instance{
			ID: providerid.OfInstance(instance.Zone, instance.ID), State: state, Zone: instance.Zone, Type: instance.Type,
			Held: heldMachine(instance), Doomed: doom(instance, b.group),
		})
	}
	zone := ""
	if zones := zonesOf(b.group); len(zones) > 0 {
		zone = zones[0]
	}
	for _, place := range places {
		instances = append(instances, cloudprovider.Instance{
			ID: providerid.OfPlaceholder(zone, b.name, place.Number), State: cloudprovider.InstanceCreating, Placeholder: true,
			Error: place.Failure, RequestedAt: place.RequestedAt, Zone: place.Zone, Type: place.Type,
		})
	}
	return instances
}

// stateOf translates the phase of an instance. Members of a warm pool are not reported.
func stateOf(instance asg.Instance, group asg.Group) (state cloudprovider.InstanceState, reported bool) {
	switch phase := instance.Lifecycle.Phase(); {
	case phase == asg.PhaseWarm:
		return cloudprovider.InstanceUnset, false
	case phase == asg.PhaseEnding, phase == asg.PhaseLeaving, phase == asg.PhaseRetained, group.Deleting():
		return cloudprovider.InstanceDeleting, true
	case phase == asg.PhaseCreating:
		return cloudprovider.InstanceCreating, true
	default:
		return cloudprovider.InstanceRunning, true
	}
}

// NodeGroup is one Auto Scaling group as of one view. Safe for concurrent use.
type NodeGroup struct {
	provider *Provider
	book     *book // what is known now
	state    cloudprovider.GroupState
	launch   asg.Launch
	zones    []string
	tags     nodetags.Tags
	base     int // units, from which a raise starts
	net      int // what our own writes had changed by then
}

// ID is the name of the Auto Scaling group.
func (g *NodeGroup) ID() cloudprovider.GroupID { return cloudprovider.GroupID(g.book.name) }

// State is the group as of the view.
func (g *NodeGroup) State() cloudprovider.GroupState { return g.state }
