package aws

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// asking is for how long it counts that somebody asked about a node: as long as nobody does, no node can be known.
const asking = 2 * time.Minute

// troubleAt is why a group is set aside; the zero value: it isn't. Call with Provider.mu held.
func (p *Provider) troubleAt(b *book, now time.Time) fault {
	if b.fault.err != nil {
		return b.fault
	}
	if err := b.stale(now); err != nil {
		return fault{err: err, since: b.read.at}
	}
	return p.foreign(b, now)
}

// stale is the fault of a group that could not be read for too long.
func (b *book) stale(now time.Time) error {
	if !b.known || now.Sub(b.read.at) < usable {
		return nil
	}
	return &cloudprovider.TransientError{Err: errors.New("AWS has not described the group since " + b.read.at.UTC().Format(time.RFC3339))}
}

// foreign is the fault of a discovered group none of whose machines has ever become a node here although all are in service: it is another cluster's, and
// its machines would be ended as ones that do not register. Groups that are named, and those that we bought for, are ours.
func (p *Provider) foreign(b *book, now time.Time) fault {
	seen := time.Unix(0, p.nodeSeen.Load())
	switch {
	case !b.known, b.named != nil, b.bought, b.joined.Load(), b.inService.IsZero():
		return fault{}
	case now.Sub(b.inService) <= p.provisionTime, now.Sub(seen) > asking:
		return fault{}
	}
	return fault{since: b.inService.Add(p.provisionTime), err: &cloudprovider.ConfigurationError{
		Group: cloudprovider.GroupID(b.name),
		Err: fmt.Errorf("none of its machines has become a node of this cluster although they are in service since %s: it belongs to another cluster, or they cannot join this one. "+
			"Take the discovery tags off, or name the group with --nodes", b.inService.UTC().Format(time.RFC3339)),
	}}
}

// noteService notes since when all machines of the group are in service; none at all is not. Call with Provider.mu held.
func (b *book) noteService(at time.Time) {
	live := b.group.Live()
	switch {
	case len(live) == 0, slices.ContainsFunc(live, func(i asg.Instance) bool { return i.Lifecycle != asg.InService }):
		b.inService = time.Time{}
	case b.inService.IsZero():
		b.inService = at
	}
}

// Figure is what is to be known of a group at a moment. What is zero is as it should be.
type Figure struct {
	Group   cloudprovider.GroupID
	Missing int           // machines that AWS means to start
	Stale   time.Duration // how old the description is, if it is older than two refreshes
	// SetAside is one word for why the group is left alone: configuration, gone, stale or other; empty: it isn't.
	SetAside string
}

// Figures lists the groups by name, those with nothing to tell left out. It does not block on AWS.
func (p *Provider) Figures() []Figure {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	var figures []Figure
	for _, name := range slices.Sorted(maps.Keys(p.books)) {
		b := p.books[name]
		f := Figure{Group: cloudprovider.GroupID(name), Missing: b.sizes.Missing, SetAside: wordFor(p.troubleAt(b, now).err)}
		if age := now.Sub(b.read.at); b.known && age > 2*p.interval {
			f.Stale = age
		}
		if f != (Figure{Group: f.Group}) {
			figures = append(figures, f)
		}
	}
	return figures
}

func wordFor(err error) string {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*cloudprovider.GoneError](err); ok {
		return "gone"
	}
	if _, ok := errors.AsType[*cloudprovider.ConfigurationError](err); ok {
		return "configuration"
	}
	if _, ok := errors.AsType[*cloudprovider.TransientError](err); ok {
		return "stale"
	}
	return "other"
}
