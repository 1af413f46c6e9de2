package aws

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/placeholders"
)

// book is what the provider knows about one group. All fields but the first two are guarded by Provider.mu.
type book struct {
	name string
	// templates has a lock of its own, which may be taken while Provider.mu is held but not the other way round.
	templates madeTemplates
	// writing is held by the one write that may be under way, over its network calls. It is taken before Provider.mu.
	writing sync.Mutex

	named *discovery.Named // nil: discovered
	fault fault            // what is wrong with the group as of the newest answer
	gone  int              // complete answers in a row that lack the group

	known bool   // the fields below were once read
	read  moment // when the newest answer was asked for
	// suspect tells that a write has failed since: the answer is not to be written on, however new it is.
	suspect bool
	// server is AWS's time of that answer.
	server time.Time
	group  asg.Group // that answer, with our own writes laid over it
	sizes  asg.Sizes
	tags   nodetags.Tags

	overlay overlay
	ledger  placeholders.Ledger
	// net is by how many units our own writes have changed the base of the group since the start.
	net int
	// raisedAt is when we last raised the group; the start of the watch counts as a raise, since a process before us may have.
	raisedAt  moment
	picture   asg.Picture
	sameSince moment // when picture was first seen as it is; zero: there is none

	nextLook time.Time
	judgedAt time.Time // when its launches were last asked about
	// inService is since when all machines are in service, joined whether any was ever seen as a node, bought whether we ever raised the group.
	inService time.Time
	joined    atomic.Bool // not guarded
	bought    bool
	watch     watch
	renewal   renewal
	told      told
	snapshot  *NodeGroup // nil: has to be made anew
}

// fault is what is wrong with a group, and since when.
type fault struct {
	err   error
	since time.Time
}

// watch is what has to be put right after a cut, should AWS have launched in the same moment.
type watch struct {
	desired   int // that we wrote
	until     time.Time
	protected []string // instances that we protected, and that are to be unprotected again
}

// told is what the log has been told about a group, so that it is told once.
type told struct {
	rejected  string
	templates string
	bounds    string
	phases    string
}

// setFault replaces the fault; the time stays while the text does.
func (b *book) setFault(err error, now time.Time) {
	switch {
	case err == nil:
		b.fault = fault{}
	case b.fault.err == nil || b.fault.err.Error() != err.Error():
		b.fault = fault{err: err, since: now}
	default:
		b.fault.err = err
	}
}

// bounds are the limits of the desired capacity: those of AWS, for a named group narrowed by the flag.
func (b *book) bounds(group asg.Group) (lowest, highest int, err error) {
	if b.named == nil {
		return group.Min, group.Max, nil
	}
	lowest, highest = max(group.Min, b.named.Min), min(group.Max, b.named.Max)
	if lowest > highest {
		return 0, 0, fmt.Errorf("the bounds %d:%d of --nodes and %d:%d of the Auto Scaling group have nothing in common: change either", b.named.Min, b.named.Max, group.Min, group.Max)
	}
	return lowest, highest, nil
}

// answer is what AWS said about a group.
type answer struct {
	group  asg.Group
	broken error // the group cannot be used as AWS describes it
	asked  moment
	server time.Time // AWS's time
}

// take enters an answer into the book. An answer that was asked for before the one in the book is passed over.
func (p *Provider) take(b *book, a answer) {
	if b.known && a.asked.sequence < b.read.sequence {
		return
	}
	a.asked.server = a.server
	b.gone, b.snapshot, b.suspect = 0, nil, false
	if a.broken != nil {
		b.setFault(&cloudprovider.ConfigurationError{Group: cloudprovider.GroupID(b.name), Err: a.broken}, a.asked.at)
		return
	}
	a.group.Zones = p.zoneNames(a.group)
	group := b.overlay.apply(a.group, a.asked)
	sizes, err := p.measure(b, group)
	if err != nil {
		b.setFault(&cloudprovider.ConfigurationError{Group: cloudprovider.GroupID(b.name), Err: err}, a.asked.at)
		return
	}
	b.setFault(refusal(group), a.asked.at)
	arrived, vanished := difference(b.group, group)
	if !b.known {
		b.raisedAt, arrived = a.asked, 0
	}
	p.noteGone(b, group, vanished, a.asked.at)
	if arrived > 0 {
		p.noteArrivals(b.group, group)
	}
	from := b.server
	if !b.known {
		from = p.history
	}
	b.group, b.sizes, b.tags = group, sizes, nodetags.Parse(group.Tags)
	b.known, b.read, b.server = true, a.asked, a.server
	b.noteService(a.asked.at)
	b.ledger.Settle(placeholders.Change{Missing: sizes.Missing, Arrived: arrived, At: a.asked.at, From: from})
}

// refusal tells why nothing may be done to a group although everything about it is known.
func refusal(group asg.Group) error {
	if group.Operator == "" {
		return nil
	}
	return &cloudprovider.ConfigurationError{
		Group: cloudprovider.GroupID(group.Name),
		Err:   fmt.Errorf("AWS lets only %s change it: leave it out of --nodes or take the discovery tags off", group.Operator),
	}
}

func (p *Provider) measure(b *book, group asg.Group) (asg.Sizes, error) {
	lowest, highest, err := b.bounds(group)
	if err != nil {
		return asg.Sizes{}, err
	}
	if counted := group.Unit != "" && group.Unit != "units"; counted && len(group.Launch.Types()) == 0 { // requirements tell the types
		group.Candidates = p.candidates(group.Launch)
	}
	return group.Measure(lowest, highest, p.weigher(group.Unit))
}

// candidates are the instance types that a group may start, as far as they are known.
func (p *Provider) candidates(l asg.Launch) []string {
	facts, err := p.launches.Facts(l)
	if err != nil {
		return nil
	}
	var types []string
	for _, choice := range facts.Choices {
		if choice.Type != "" {
			types = append(types, choice.Type)
		}
	}
	return types
}

// weigher tells how many units an instance type counts in groups that count vCPUs or MiB.
func (p *Provider) weigher(unit string) asg.Weigher {
	return func(name string) (int, bool) {
		m, known := p.launches.Machine(name)
		switch unit {
		case "vcpu":
			return m.VCPUs, known
		case "memory-mib":
			return int(m.MemoryMiB), known
		default:
			return 0, false
		}
	}
}

// difference counts the instances that are new, and lists those that are no longer listed.
func difference(before, after asg.Group) (arrived int, vanished []asg.Instance) {
	for _, instance := range after.Live() {
		if _, was := before.Instance(instance.ID); !was {
			arrived++
		}
	}
	for _, instance := range before.Instances {
		if _, is := after.Instance(instance.ID); !is {
			vanished = append(vanished, instance)
		}
	}
	return arrived, vanished
}

// desire enters a desired capacity that we wrote and that AWS accepted. f is what it was judged on, requested is when, in AWS's time. An answer that came in
// meanwhile may show it already. Call with mu held.
func (p *Provider) desire(f fresh, c change, requested time.Time) {
	b, at := f.book, p.moment()
	at.server = requested
	if c.desired > f.group.Desired {
		b.raisedAt, b.bought = at, true
	}
	missing := b.sizes.Missing
	b.overlay.wrote(f.group.Desired, c.desired, at)
	b.group.Desired = c.desired
	p.remeasure(b)
	b.net += b.sizes.BaseUnits - f.sizes.BaseUnits
	fewer := max(0, missing-b.sizes.Missing)
	b.ledger.Withdraw(c.withdraw[:min(fewer, len(c.withdraw))])
	b.ledger.Settle(placeholders.Change{Missing: b.sizes.Missing, At: at.at, From: requested})
}

// remeasure reckons the sizes anew after a change of ours. What could be measured before can be measured now.
func (p *Provider) remeasure(b *book) {
	b.snapshot = nil
	if sizes, err := p.measure(b, b.group); err == nil {
		b.sizes = sizes
	}
}

// see takes a picture of the group and remembers since when it has been the same. Call with mu held.
func (b *book) see(activities []asg.Activity, now moment) asg.Picture {
	picture := asg.PictureOf(b.group, activities, now.server)
	if b.sameSince.at.IsZero() || !picture.Equal(b.picture) {
		b.picture, b.sameSince = picture, now
	}
	return picture
}

// restless tells whether the group is about to change, so that it is worth a look between two full refreshes.
func (b *book) restless() bool {
	return b.known && (b.sizes.Missing > 0 || b.overlay.active() || !b.watch.until.IsZero() ||
		slices.ContainsFunc(b.group.Instances, func(i asg.Instance) bool { return i.Lifecycle.Phase() == asg.PhaseEnding }))
}
