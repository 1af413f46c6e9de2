package digitalocean

import (
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
)

// overlayLife is how long an answer of the API that contradicts our own write is taken for an old one.
const overlayLife = time.Minute

// overlay is what our own writes did to a pool and the API may not show yet. It is laid over every answer until an answer to a question that was put
// after the write shows it.
type overlay struct {
	count      int
	superseded []int // values that the count had before, since the last confirmed answer; empty: count is not valid
	wroteAt    moment
	ending     map[string]moment // ids of nodes that the API has agreed to end
}

// wrote notes that the count went from one value to another.
func (o *overlay) wrote(from, to int, at moment) {
	o.superseded = append(slices.DeleteFunc(o.superseded, func(n int) bool { return n == to }), from)
	o.count, o.wroteAt = to, at
}

// ended notes that the API agreed to end a node.
func (o *overlay) ended(id string, at moment) {
	if o.ending == nil {
		o.ending = map[string]moment{}
	}
	o.ending[id] = at
}

// apply lays the writes over an answer to a question that was put at asked, and forgets what the answer confirms.
func (o *overlay) apply(pool doapi.Pool, asked moment) doapi.Pool {
	if len(o.superseded) > 0 {
		switch {
		case asked.sequence < o.wroteAt.sequence:
			pool.Count = o.count
		case pool.Count != o.count && slices.Contains(o.superseded, pool.Count) && asked.at.Sub(o.wroteAt.at) < overlayLife:
			pool.Count = o.count
		default: // confirmed, or somebody else has changed it since
			o.superseded = nil
		}
	}
	if len(o.ending) == 0 {
		return pool
	}
	pool.Nodes = slices.Clone(pool.Nodes)
	listed := map[string]bool{}
	for i, node := range pool.Nodes {
		at, ours := o.ending[node.ID]
		if !ours {
			continue
		}
		listed[node.ID] = true
		late := asked.sequence > at.sequence && asked.at.Sub(at.at) >= overlayLife
		switch {
		case node.Ending() && asked.sequence > at.sequence, late:
			delete(o.ending, node.ID)
		default:
			pool.Nodes[i].State, pool.Nodes[i].HasStatus = doapi.Deleting, true
		}
	}
	for id, at := range o.ending {
		if !listed[id] && asked.sequence > at.sequence {
			delete(o.ending, id)
		}
	}
	return pool
}
