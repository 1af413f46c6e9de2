package dotest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// world is the account: pools, nodes, and what will happen to them. Guarded by Server.mu.
type world struct {
	cfg     Config
	now     time.Time
	pools   []*pool
	version string
	status  string // of the cluster
	scaling Autoscaling
	due     []event
	serial  int // of events, nodes, Droplets
	random  *rand.Rand
	endings []Ending
	events  []Event
	call    int // Number of the request that is being carried out
	history []moment
	changed bool

	stale time.Duration // of the request that is being carried out
	items *int          // of its listing
}

// event is something that will happen.
type event struct {
	at     time.Time
	serial int
	do     func()
}

// moment is what the API showed from a time on.
type moment struct {
	from  time.Time
	pools []*pool
}

// Cause says who made a node end.
type Cause string

// The causes.
const (
	CauseNamed  Cause = "Named"  // a request named the node
	CauseChoice Cause = "Choice" // the pool had too many and chose it
)

// Ending is a node that was told to end.
type Ending struct {
	Time  time.Time
	Node  Node // as it was before
	Cause Cause
	Drain bool // DOKS drains it first
}

func newWorld(cfg Config, now time.Time) *world {
	return &world{cfg: cfg, now: now, version: cfg.Version, status: "running", random: rand.New(rand.NewPCG(cfg.Seed, 7))}
}

// settle brings the world up to a time, event by event.
func (w *world) settle(now time.Time) {
	for len(w.due) > 0 && !w.due[0].at.After(now) {
		e := w.due[0]
		w.due = w.due[1:]
		if e.at.After(w.now) {
			w.now = e.at
		}
		e.do()
		w.touch()
	}
	if now.After(w.now) {
		w.now = now
	}
}

// in lets something happen a while later.
func (w *world) in(d time.Duration, do func()) {
	w.serial++
	e := event{at: w.now.Add(d), serial: w.serial, do: do}
	i, _ := slices.BinarySearchFunc(w.due, e, func(a, b event) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial))
	})
	w.due = slices.Insert(w.due, i, e)
}

// touch records what the API shows from now on.
func (w *world) touch() {
	w.changed = true
	m := moment{from: w.now}
	for _, p := range w.pools {
		m.pools = append(m.pools, p.clone())
	}
	w.history = append(w.history, m)
	for len(w.history) > 1 && w.history[1].from.Before(w.now.Add(-staleHistory)) {
		w.history = w.history[1:]
	}
}

// shown are the pools as they were a while ago.
func (w *world) shown(age time.Duration) []*pool {
	if age <= 0 || len(w.history) == 0 {
		return w.pools
	}
	at := w.now.Add(-age)
	found := w.history[0].pools
	for _, m := range w.history {
		if m.from.After(at) {
			break
		}
		found = m.pools
	}
	return found
}

func (w *world) pool(id string) *pool { return find(w.pools, id) }

func find(pools []*pool, id string) *pool {
	for _, p := range pools {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// uuid makes up an id.
func (w *world) uuid() string {
	w.serial++
	return fmt.Sprintf("%08x-d0d0-4000-8000-%012x", w.serial, w.serial)
}

// fill brings the number of a pool's nodes to its count.
func (w *world) fill(p *pool) {
	live := p.live()
	for range p.Count - len(live) {
		w.create(p)
	}
	if surplus := len(live) - p.Count; surplus > 0 {
		w.choose(p, surplus)
	}
}

// create adds a node to a pool.
func (w *world) create(p *pool) {
	w.serial++
	n := &Node{
		ID: w.uuid(), Name: fmt.Sprintf("%s-%s", p.Name, strconv.FormatInt(int64(46656+w.serial), 36)), Pool: p.ID,
		State: Provisioning, CreatedAt: w.now, UpdatedAt: w.now,
	}
	p.nodes = append(p.nodes, n)
	if p.Delays.List > 0 {
		w.in(p.Delays.List, func() { w.list(p, n) })
		return
	}
	w.list(p, n)
}

// list shows a node and decides what becomes of it.
func (w *world) list(p *pool, n *Node) {
	if p.node(n.ID) == nil {
		return // taken back before it was listed
	}
	n.Listed, n.CreatedAt, n.UpdatedAt = true, w.now, w.now
	switch {
	case p.Stock != nil && *p.Stock <= 0:
		w.tell(Event{Kind: EventLaunchFailed, Pool: p.ID, Node: n.ID})
		w.in(p.Delays.Fail, func() {
			if !n.Ending() {
				n.State, n.Message, n.UpdatedAt = State(cmp.Or(p.FailState, "failed")), cmp.Or(p.FailMessage, "not enough capacity for this size in the region"), w.now
			}
		})
		return
	case p.Stuck == StuckNoDroplet:
		return
	case p.Stock != nil:
		left := *p.Stock - 1
		p.Stock = &left
	}
	w.in(p.Delays.Droplet, func() {
		if n.Ending() {
			return
		}
		w.serial++
		n.DropletID, n.UpdatedAt = strconv.Itoa(w.cfg.DropletsAbove+w.serial), w.now
		w.tell(Event{Kind: EventLaunched, Pool: p.ID, Node: n.ID, Droplet: n.DropletID})
		if p.Stuck == StuckWithDroplet {
			return
		}
		w.in(p.Delays.Running, func() { w.run(p, n) })
	})
}

func (w *world) run(p *pool, n *Node) {
	if n.Ending() {
		return
	}
	n.State, n.UpdatedAt = Running, w.now
	w.in(p.Delays.Register, func() { n.Registered = !n.Ending() })
}

// choose ends so many nodes of a pool: those that are not even listed first, then by the pool's choice.
func (w *world) choose(p *pool, surplus int) {
	live := p.live()
	switch p.Victims {
	case VictimsNewest:
		slices.Reverse(live)
	case VictimsOldest: // as they are
	default:
		w.random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	}
	slices.SortStableFunc(live, func(a, b *Node) int { return cmp.Compare(ordinal(a.Listed), ordinal(b.Listed)) })
	for _, n := range live[:surplus] {
		w.end(p, n, CauseChoice, true)
	}
}

func ordinal(b bool) int {
	if b {
		return 1
	}
	return 0
}

// end lets a node go.
func (w *world) end(p *pool, n *Node, cause Cause, drain bool) {
	w.endings = append(w.endings, Ending{Time: w.now, Node: *n, Cause: cause, Drain: drain})
	w.tell(Event{Kind: EventEnding, Pool: p.ID, Node: n.ID, Droplet: n.DropletID, Cause: cause})
	remove := func() {
		p.nodes = slices.DeleteFunc(p.nodes, func(other *Node) bool { return other == n })
		w.tell(Event{Kind: EventGone, Pool: p.ID, Node: n.ID, Droplet: n.DropletID})
	}
	if !n.Listed {
		remove()
		return
	}
	n.UpdatedAt = w.now
	erase := func() {
		n.State, n.Registered, n.UpdatedAt = Deleting, false, w.now
		w.in(p.Delays.Delete, remove)
	}
	if !drain {
		erase()
		return
	}
	n.State = Draining
	w.in(p.Delays.Drain, erase)
}

// droplets counts the nodes of the account that have or will have a Droplet.
func (w *world) droplets() int {
	sum := 0
	for _, p := range w.pools {
		sum += p.Count
	}
	return sum
}
