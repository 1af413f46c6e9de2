package digitalocean

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/selection"
)

// book is what the provider knows about one pool that is or was a node group. There is one per pool for the life of the process.
type book struct {
	id string
	// writing is held by the one write that may be under way, over its network calls. It is taken before Provider.mu, which guards the rest.
	writing sync.Mutex

	on    bool      // the pool is a node group as of the newest answer
	ahead time.Time // when the pool was read on behalf of a reading that is to come; zero: it was not
	known bool      // the fields below were once read
	read  moment
	pool  doapi.Pool // that answer, with our own writes laid over it
	fault fault      // what is wrong as of the newest answer
	// bounds are those of the API, or of what selected the pool.
	bounds    selection.Bounds
	options   cloudprovider.OptionOverrides
	overlay   overlay
	places    []time.Time // since when each machine has been missing that no listed node stands for, the oldest first
	ran       map[string]bool
	joined    map[string]bool // ids of nodes that have registered
	gone      map[string]time.Time
	shortfall shortfall
	template  templateMemory
	told      told
}

// fault is what is wrong with a pool, and since when.
type fault struct {
	err   error
	since time.Time
}

// shortfall remembers that the API granted fewer nodes than were asked for.
type shortfall struct {
	limit int // what it granted
	until time.Time
}

// shortfallLife is how long no more is asked of a pool than it granted last.
const shortfallLife = 5 * time.Minute

func newBook(id string) *book {
	return &book{id: id, ran: map[string]bool{}, joined: map[string]bool{}, gone: map[string]time.Time{}, told: told{}}
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

// implausible tells what a pool cannot be like.
func implausible(pool doapi.Pool, bounds selection.Bounds) error {
	switch {
	case pool.Count < 0:
		return fmt.Errorf("the API tells a count of %d: want 0 or more", pool.Count)
	case bounds.Min < 0 || bounds.Max < bounds.Min:
		return fmt.Errorf("the bounds of the pool are %d:%d: want two numbers from 0 up, the smaller first", bounds.Min, bounds.Max)
	}
	return nil
}

// take enters an answer about a pool to a question that was put at asked. An answer to a question that is older than the one in the book is passed
// over. Call with mu held.
func (p *Provider) take(b *book, pool doapi.Pool, asked asking) {
	if b.known && asked.sequence < b.read.sequence {
		return
	}
	choice := p.rules.Choose(pool)
	if b.known && b.on != choice.Selected {
		p.tellSwitched(b, choice.Selected)
	}
	b.on = choice.Selected
	if !choice.Selected {
		b.fault = fault{}
		b.pool, b.read, b.known = pool, asked.moment, true
		return
	}
	p.tell(b, reasonPool, "selection", choice.Oddity)
	if err := implausible(pool, choice.Bounds); err != nil {
		b.setFault(&cloudprovider.ConfigurationError{Group: cloudprovider.GroupID(b.id), Err: err}, asked.at)
		return
	}
	b.setFault(nil, asked.at)
	pool = b.overlay.apply(pool, asked)
	p.noteGone(b, pool, asked.at)
	b.pool, b.read, b.known, b.bounds = pool, asked.moment, true, choice.Bounds
	for _, node := range pool.Nodes {
		if node.State == doapi.Running {
			b.ran[node.ID] = true
		}
	}
	b.countPlaces(asked.at)
	b.options = p.optionsOf(b)
	p.tellNodes(b)
}

// noteGone remembers which nodes ended, and forgets what is past. Call with mu held.
func (p *Provider) noteGone(b *book, now doapi.Pool, at time.Time) {
	for _, node := range b.pool.Nodes {
		if _, listed := now.Node(node.ID); !listed {
			for _, id := range identities(node) {
				b.gone[id] = at
			}
			delete(b.ran, node.ID)
			delete(b.joined, node.ID)
			delete(b.told, "node "+node.ID)
		}
	}
	for _, node := range now.Nodes {
		for _, id := range identities(node) {
			delete(b.gone, id) // a listing can lack a node for a moment
		}
	}
	for id, since := range b.gone {
		if at.Sub(since) > goneLife {
			delete(b.gone, id)
		}
	}
}

// identities are the provider ids that a node has or had.
func identities(node doapi.Node) []string {
	ids := []string{pendingID(node.ID)}
	if node.DropletID != "" {
		ids = append(ids, dropletID(node.DropletID))
	}
	return ids
}

// countPlaces brings the list of places up to the pool as it is: what comes takes the oldest place.
func (b *book) countPlaces(now time.Time) {
	missing := max(0, b.pool.Count-b.pool.Live())
	if surplus := len(b.places) - missing; surplus > 0 {
		b.places = slices.Clone(b.places[surplus:])
	}
	for len(b.places) < missing {
		b.places = append(b.places, now)
	}
}

// wrote enters the count that a write of ours has led to, or that the API answered. Call with mu held.
func (b *book) wrote(count int, at moment) {
	if count != b.pool.Count {
		b.overlay.wrote(b.pool.Count, count, at)
	}
	b.pool.Count = count
	b.countPlaces(at.at)
}

// optionsOf are what the pool overrides; what cannot be read is told. Call with mu held.
func (p *Provider) optionsOf(b *book) cloudprovider.OptionOverrides {
	var cluster *doapi.Cluster
	if p.config.UseAutoscaling {
		cluster = &p.facts.cluster
	}
	options, rejected := selection.Options(b.pool, cluster)
	p.tellList(b, reasonPool, "options", rejected)
	return options
}

// max is the largest size that is worth asking for now.
func (b *book) max(now time.Time) int {
	if now.Before(b.shortfall.until) {
		return max(b.bounds.Min, min(b.bounds.Max, b.shortfall.limit))
	}
	return b.bounds.Max
}

// restless tells whether the pool is about to change, so that it is worth a look sooner.
func (b *book) restless() bool {
	return b.on && b.known && (len(b.places) > 0 ||
		slices.ContainsFunc(b.pool.Nodes, func(n doapi.Node) bool { return n.State == doapi.Provisioning || n.Ending() }))
}
