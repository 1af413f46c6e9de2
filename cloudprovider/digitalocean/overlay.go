package digitalocean

import (
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// overlayLife is how long an answer of the API that contradicts our own write is taken for an old one.
const overlayLife = time.Minute

// overlay is what our own writes did to a pool and the API may not show yet. It is laid over every answer.
type overlay struct {
	count int
	// superseded are the values that the count had before, since the last answer about the pool alone that showed ours; empty: count is not valid.
	superseded []int
	wroteAt    moment
	// old are all values that our writes have replaced lately, and when. A listing may show them even after an answer about the pool alone was right.
	old    map[int]time.Time
	ending map[string]moment // ids of nodes that the API has lately agreed to end
}

// asking tells what an answer is an answer to.
type asking struct {
	moment
	listing bool // all pools were asked for, not this one alone
}

// wrote notes that the count went from one value to another.
func (o *overlay) wrote(from, to int, at moment) {
	o.superseded = append(slices.DeleteFunc(o.superseded, func(n int) bool { return n == to }), from)
	o.count, o.wroteAt = to, at
	if o.old == nil {
		o.old = map[int]time.Time{}
	}
	o.old[from] = at.at
	delete(o.old, to)
}

// ended notes that the API agreed to end a node.
func (o *overlay) ended(id string, at moment) {
	if o.ending == nil {
		o.ending = map[string]moment{}
	}
	o.ending[id] = at
}

// apply lays the writes over an answer, and forgets what it confirms or what is past.
func (o *overlay) apply(pool doapi.Pool, asked asking) doapi.Pool {
	pool.Count = o.countOf(pool.Count, asked)
	for id, at := range o.ending {
		if asked.at.Sub(at.at) >= overlayLife {
			delete(o.ending, id)
		}
	}
	if len(o.ending) == 0 {
		return pool
	}
	pool.Nodes = slices.Clone(pool.Nodes)
	for i, node := range pool.Nodes {
		if _, ours := o.ending[node.ID]; ours && !node.Ending() {
			pool.Nodes[i].State, pool.Nodes[i].HasStatus = doapi.Deleting, true
		}
	}
	return pool
}

// countOf is the count to believe in when an answer shows one.
func (o *overlay) countOf(shown int, asked asking) int {
	for count, since := range o.old {
		if asked.at.Sub(since) >= overlayLife {
			delete(o.old, count)
		}
	}
	_, old := o.old[shown]
	switch {
	case len(o.superseded) > 0 && asked.sequence < o.wroteAt.sequence:
		return o.count
	case old && (asked.listing || slices.Contains(o.superseded, shown)):
		return o.count
	case asked.listing: // ours, or somebody else has changed it since
		return shown
	default:
		if shown != o.count {
			o.old = nil // somebody else has changed it since, and listings will show that
		}
		o.superseded = nil
		return shown
	}
}
