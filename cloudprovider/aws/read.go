package aws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asgapi"
)

const (
	// fresh enough to write on are answers that AWS was asked for so long ago at most: what a plan reads of all its groups together. A cut takes none
	// but its own.
	freshFor = time.Second
	// foreseenFor is for how long the groups that ReadGroups was asked for are read together once one of them has to be read again.
	foreseenFor = time.Minute
	// readTogether is how many groups are read in one call at most.
	readTogether = 100
)

// fresh is a group as AWS described it just now.
type fresh struct {
	book  *book
	group asg.Group
	sizes asg.Sizes
	net   int
}

// current is the book of a group as of now; that of the snapshot where the group has gone since.
func (g *NodeGroup) current() *book {
	g.provider.mu.Lock()
	defer g.provider.mu.Unlock()
	if b := g.provider.books[g.book.name]; b != nil {
		return b
	}
	return g.book
}

// ReadState describes the group anew unless that was done within the last second, and blocks for it. What was learnt is in the view from then on, too.
func (g *NodeGroup) ReadState(ctx context.Context) (cloudprovider.GroupState, error) {
	p, b := g.provider, g.current()
	ctx, done := p.calls.Begin(ctx)
	defer done()
	b.writing.Lock()
	defer b.writing.Unlock()
	if _, err := p.readFresh(ctx, b); err != nil {
		return cloudprovider.GroupState{}, fmt.Errorf("reading node group %s: %w", g.ID(), err)
	}
	if now := p.view.Load().byName[g.ID()]; now != nil {
		return now.state, nil
	}
	return g.state, nil
}

// ReadGroups describes groups that are about to be written to, together, so that each of them need not be described for itself. It blocks for
// the calls to AWS. Whatever goes wrong is found again when a group is written to.
func (p *Provider) ReadGroups(ctx context.Context, ids []cloudprovider.GroupID) {
	ctx, done := p.calls.Begin(ctx)
	defer done()
	p.mu.Lock()
	due := map[string]*book{}
	for _, id := range ids {
		if b := p.books[string(id)]; b != nil && !p.isFresh(b) {
			due[b.name] = b
		}
	}
	p.foreseen, p.foreseenAt = map[string]bool{}, p.clock.Now()
	for _, id := range ids {
		p.foreseen[string(id)] = true
	}
	p.mu.Unlock()
	if len(due) > 0 {
		p.ask(ctx, &inquiry{books: due, over: make(chan struct{})})
	}
}

// isFresh tells whether a group was read a moment ago. Call with mu held.
func (p *Provider) isFresh(b *book) bool {
	age := p.clock.Now().Sub(b.read.at) // a clock that jumps makes it too old or negative
	return b.known && !b.suspect && b.fault.err == nil && age >= 0 && age <= freshFor
}

// readFresh is the group as of a moment ago. Hold b.writing.
func (p *Provider) readFresh(ctx context.Context, b *book) (fresh, error) {
	p.mu.Lock()
	if p.isFresh(b) {
		defer p.mu.Unlock()
		return b.asFresh(), nil
	}
	p.mu.Unlock()
	return p.readNow(ctx, b)
}

func (b *book) asFresh() fresh {
	return fresh{book: b, group: b.group, sizes: b.sizes, net: b.net}
}

// readNow reads the group. It shows the result in the view and wakes the loop if that is news. Hold b.writing.
func (p *Provider) readNow(ctx context.Context, b *book) (fresh, error) {
	id := cloudprovider.GroupID(b.name)
	r, err := p.join(ctx, b)
	if err == nil {
		err = r.errorOf(b.name)
	}
	if err != nil {
		return fresh{}, p.translate(err, question{group: id})
	}
	if !r.found[b.name] {
		return fresh{}, &cloudprovider.GoneError{Group: id, Err: errors.New("AWS knows no Auto Scaling group of this name any more")}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.fault.err != nil {
		return fresh{}, b.fault.err
	}
	return b.asFresh(), nil
}

// inquiry is one question about several groups.
type inquiry struct {
	books  map[string]*book // by name
	over   chan struct{}    // closed when what follows is set
	found  map[string]bool
	unread []string
	err    error
	ended  bool // whoever asked gave up
}

func (r *inquiry) errorOf(name string) error {
	if r.err != nil && (slices.Contains(r.unread, name) || !r.found[name]) {
		return r.err
	}
	return nil
}

// gathering makes one question of those that come up while another one is under way. The zero value is not ready: turn needs room for one.
type gathering struct {
	turn chan struct{} // held by whoever asks
	mu   sync.Mutex
	next *inquiry // collects groups until its turn
}

// join reads a group, together with others that are to be read at the same time. The error is that of ctx.
func (p *Provider) join(ctx context.Context, b *book) (*inquiry, error) {
	for {
		r := p.gathering.add(b)
		select {
		case p.gathering.turn <- struct{}{}:
			if p.gathering.take(r) {
				p.mu.Lock()
				p.foresee(r.books)
				p.mu.Unlock()
				p.ask(ctx, r)
			}
			<-p.gathering.turn
			<-r.over
		case <-r.over:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the description of node group %s: %w", b.name, context.Cause(ctx))
		}
		if !r.ended || ctx.Err() != nil {
			return r, nil //nolint:nilerr // what went wrong stands in the inquiry
		}
	}
}

func (g *gathering) add(b *book) *inquiry {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = &inquiry{books: map[string]*book{}, over: make(chan struct{})}
	}
	g.next.books[b.name] = b
	return g.next
}

// take makes the inquiry ours to do, unless somebody else did it.
func (g *gathering) take(r *inquiry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next != r {
		return false
	}
	g.next = nil
	return true
}

// foresee adds the groups that are going to be read next, as far as they fit into the call. Call with mu held.
func (p *Provider) foresee(books map[string]*book) {
	if age := p.clock.Now().Sub(p.foreseenAt); age < 0 || age > foreseenFor {
		p.foreseen = nil
	}
	together := slices.ContainsFunc(slices.Collect(maps.Keys(books)), func(name string) bool { return p.foreseen[name] })
	for _, name := range slices.Sorted(maps.Keys(p.foreseen)) {
		if b := p.books[name]; together && b != nil && !p.isFresh(b) && len(books) < readTogether {
			books[name] = b
		}
	}
}

// ask puts the question and enters the answers into the books.
func (p *Provider) ask(ctx context.Context, r *inquiry) {
	defer close(r.over)
	asked := p.moment()
	var listing asgapi.Listing
	listing, r.err = p.api.GroupsByName(ctx, slices.Sorted(maps.Keys(r.books)))
	r.ended = r.err != nil && ctx.Err() != nil
	r.unread, r.found = listing.Unread, map[string]bool{}
	p.mu.Lock()
	defer p.mu.Unlock()
	news := false
	for _, group := range listing.Groups {
		r.found[group.Name] = true
		b := r.books[group.Name]
		if b == nil {
			continue
		}
		before := b.sizes
		p.take(b, answer{group: group, broken: listing.Broken[group.Name], asked: asked, server: listing.At})
		news = news || before != b.sizes
	}
	p.publish()
	if news {
		p.wake()
	}
}
