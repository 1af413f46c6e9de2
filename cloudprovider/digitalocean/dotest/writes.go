package dotest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// update is the body of an update; absent keys leave values as they are.
type update struct {
	Name      *string           `json:"name"`
	Count     *int              `json:"count"`
	Tags      []string          `json:"tags"`
	Labels    map[string]string `json:"labels"`
	Taints    *[]taintJSON      `json:"taints"`
	AutoScale *bool             `json:"auto_scale"`
	Min       *int              `json:"min_nodes"`
	Max       *int              `json:"max_nodes"`
}

func updatePool(w *world, call *Call) (answer, *failure) {
	p := w.pool(call.Pool)
	if p == nil {
		return answer{}, fail(http.StatusNotFound, "node pool not found")
	}
	var u update
	if err := json.Unmarshal([]byte(call.Body), &u); err != nil {
		if json.Valid([]byte(call.Body)) {
			return answer{}, fail(http.StatusUnprocessableEntity, "validation error: %v", err)
		}
		return answer{}, fail(http.StatusBadRequest, "unable to parse the body")
	}
	if w.cfg.StrictUpdates && (u.Name == nil || u.Count == nil) {
		return answer{}, fail(http.StatusUnprocessableEntity, "validation error: name and count are required")
	}
	u.describe(p)
	if u.Count != nil {
		if bad := w.resize(p, *u.Count); bad != nil {
			return answer{}, bad
		}
	}
	return answer{status: http.StatusAccepted, body: map[string]any{"node_pool": describe(p)}}, nil
}

// describe takes over all of an update but the count.
func (u update) describe(p *pool) {
	if u.Name != nil {
		p.Name = *u.Name
	}
	if u.Tags != nil {
		p.Tags = u.Tags
	}
	if u.Labels != nil {
		p.Labels = u.Labels
	}
	if u.Taints != nil {
		p.Taints = nil
		for _, t := range *u.Taints {
			p.Taints = append(p.Taints, Taint(t))
		}
	}
	if u.AutoScale != nil {
		p.AutoScale = *u.AutoScale
	}
	if u.Min != nil {
		p.Min = *u.Min
	}
	if u.Max != nil {
		p.Max = *u.Max
	}
}

func (w *world) resize(p *pool, count int) *failure {
	size := slices.IndexFunc(w.cfg.Sizes, func(size Size) bool { return size.Slug == p.Size })
	gpu := size >= 0 && w.cfg.Sizes[size].GPUs > 0
	limit := w.cfg.DropletLimit
	switch grow := count - p.Count; {
	case count < 0:
		return fail(http.StatusUnprocessableEntity, "validation error: count must not be negative")
	case p.AutoScale && count > p.Max:
		return fail(http.StatusUnprocessableEntity, "validation error: count must not be above max_nodes (%d)", p.Max)
	case count == 0 && !gpu && w.lastWithNodes(p):
		return fail(http.StatusUnprocessableEntity, "validation error: the last CPU node pool must keep a node")
	case limit > 0 && grow > 0 && w.droplets()+grow > limit:
		return fail(http.StatusUnprocessableEntity, "validation error: %d additional nodes are needed beyond the droplet limit of %d", w.droplets()+grow-limit, limit)
	case grow > 0 && p.Grant != nil:
		count = p.Count + min(grow, *p.Grant)
	}
	w.count(p, count)
	w.fill(p)
	return nil
}

// lastWithNodes tells whether no other pool of CPUs has nodes.
func (w *world) lastWithNodes(p *pool) bool {
	return !slices.ContainsFunc(w.pools, func(other *pool) bool {
		return other != p && other.Count > 0 && !strings.HasPrefix(other.Size, "gpu-")
	})
}

func deleteNode(w *world, call *Call) (answer, *failure) {
	p := w.pool(call.Pool)
	if p == nil {
		return answer{}, fail(http.StatusNotFound, "node pool not found")
	}
	n := p.node(call.Node)
	if n == nil || !n.Listed || n.Ending() && p.GoneTwice {
		return answer{}, fail(http.StatusNotFound, "node not found")
	}
	if n.Ending() {
		return answer{status: http.StatusAccepted}, nil
	}
	w.end(p, n, CauseNamed, call.Query.Get("skip_drain") != "1")
	if call.Query.Get("replace") == "1" {
		w.create(p)
	} else {
		w.count(p, p.Count-1)
	}
	return answer{status: http.StatusAccepted}, nil
}

// recycleNodes is the old form of deleting nodes and replacing them.
func recycleNodes(w *world, call *Call) (answer, *failure) {
	p := w.pool(call.Pool)
	if p == nil {
		return answer{}, fail(http.StatusNotFound, "node pool not found")
	}
	var body struct {
		Nodes []string `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(call.Body), &body); err != nil {
		return answer{}, fail(http.StatusBadRequest, "unable to parse the body")
	}
	for _, id := range body.Nodes {
		if n := p.node(id); n != nil && !n.Ending() {
			w.end(p, n, CauseNamed, true)
			w.create(p)
		}
	}
	return answer{status: http.StatusAccepted}, nil
}
