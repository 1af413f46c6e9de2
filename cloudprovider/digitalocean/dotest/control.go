package dotest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// AddPool adds a pool whose nodes run and are registered already.
func (s *Server) AddPool(described Pool) error {
	return s.change(func(w *world) error {
		p := (&pool{Pool: described}).clone()
		if p.ID == "" {
			p.ID = w.uuid()
		}
		p.Name, p.Size = cmp.Or(p.Name, p.ID), cmp.Or(p.Size, "s-2vcpu-4gb")
		if w.pool(p.ID) != nil {
			return fmt.Errorf("adding pool %q: there is one of this id", p.ID)
		}
		if p.Count < 0 || p.Min < 0 || p.Max < p.Min {
			return fmt.Errorf("adding pool %q with %d nodes and the bounds %d:%d: want numbers from 0 up, the smaller first", p.ID, p.Count, p.Min, p.Max)
		}
		for range p.Count {
			w.serial++
			p.nodes = append(p.nodes, &Node{
				ID: w.uuid(), Name: fmt.Sprintf("%s-%s", p.Name, strconv.FormatInt(int64(46656+w.serial), 36)), Pool: p.ID, State: Running,
				DropletID: strconv.Itoa(w.cfg.DropletsAbove + w.serial), Listed: true, Registered: true, CreatedAt: w.now, UpdatedAt: w.now,
			})
		}
		w.pools = append(w.pools, p)
		return nil
	})
}

// UpdatePool changes a pool behind everybody's back. A count that differs makes nodes come or go.
func (s *Server) UpdatePool(id string, edit func(p *Pool)) error {
	return s.change(func(w *world) error {
		p := w.pool(id)
		if p == nil {
			return fmt.Errorf("changing pool %q: there is none", id)
		}
		wanted := p.Pool
		edit(&wanted)
		count := wanted.Count
		wanted.Count = p.Count
		p.Pool = wanted
		w.count(p, count)
		w.fill(p)
		return nil
	})
}

// SwitchAutoScale switches the managed autoscaling of a pool on, with these bounds, or off.
func (s *Server) SwitchAutoScale(id string, on bool, minimum, maximum int) error {
	return s.UpdatePool(id, func(p *Pool) { p.AutoScale, p.Min, p.Max = on, minimum, maximum })
}

// RemovePool deletes a pool with its nodes.
func (s *Server) RemovePool(id string) error {
	return s.change(func(w *world) error {
		before := len(w.pools)
		w.pools = slices.DeleteFunc(w.pools, func(p *pool) bool { return p.ID == id })
		if len(w.pools) == before {
			return fmt.Errorf("removing pool %q: there is none", id)
		}
		return nil
	})
}

// UpdateNode changes a node as it is, such as its state or message.
func (s *Server) UpdateNode(id string, edit func(n *Node)) error {
	return s.change(func(w *world) error {
		for _, p := range w.pools {
			if n := p.node(id); n != nil {
				edit(n)
				return nil
			}
		}
		return fmt.Errorf("changing node %q: there is none", id)
	})
}

// LoseNode makes a node vanish at once, as if its Droplet had been destroyed; the pool makes another one if its count asks for that.
func (s *Server) LoseNode(id string) error {
	return s.change(func(w *world) error {
		for _, p := range w.pools {
			if p.node(id) != nil {
				p.nodes = slices.DeleteFunc(p.nodes, func(n *Node) bool { return n.ID == id })
				w.tell(Event{Kind: EventGone, Pool: p.ID, Node: id})
				w.fill(p)
				return nil
			}
		}
		return fmt.Errorf("losing node %q: there is none", id)
	})
}

// SetClusterStatus changes the state of the cluster, such as running or upgrading.
func (s *Server) SetClusterStatus(state string) {
	_ = s.change(func(w *world) error { w.status = state; return nil }) // it has no errors
}

// Autoscaling is the configuration of the managed autoscaler that the cluster shows. Nil: none.
type Autoscaling struct {
	UtilizationThreshold *float64 `json:"scale_down_utilization_threshold"`
	UnneededTime         *string  `json:"scale_down_unneeded_time"`
	Expanders            []string `json:"expanders"`
}

// SetAutoscaling changes the configuration of the managed autoscaler.
func (s *Server) SetAutoscaling(a Autoscaling) {
	_ = s.change(func(w *world) error { w.scaling = a; return nil }) // it has no errors
}

// SetVersion changes the version of DOKS that the cluster runs.
func (s *Server) SetVersion(version string) {
	_ = s.change(func(w *world) error { w.version = version; return nil }) // it has no errors
}

// SetDropletLimit changes the account's limit on Droplets; 0: none.
func (s *Server) SetDropletLimit(limit int) {
	_ = s.change(func(w *world) error { w.cfg.DropletLimit = limit; return nil }) // it has no errors
}

// Pools lists all pools as they are, in the order in which they were added.
func (s *Server) Pools() []Pool {
	var pools []Pool
	s.look(func(w *world) {
		for _, p := range w.pools {
			pools = append(pools, p.clone().Pool)
		}
	})
	return pools
}

// Pool is one pool as it is; the zero value if there is none of this id.
func (s *Server) Pool(id string) Pool {
	for _, p := range s.Pools() {
		if p.ID == id {
			return p
		}
	}
	return Pool{}
}

// Nodes lists the nodes of a pool, of all pools for an empty id, in the order of their creation, those included that the API doesn't list yet.
func (s *Server) Nodes(poolID string) []Node {
	var nodes []Node
	s.look(func(w *world) {
		for _, p := range w.pools {
			for _, n := range p.nodes {
				if poolID == "" || p.ID == poolID {
					nodes = append(nodes, *n)
				}
			}
		}
	})
	return nodes
}

// Size is a kind of Droplet of the catalogue.
func (s *Server) Size(slug string) (Size, bool) {
	i := slices.IndexFunc(s.cfg.Sizes, func(size Size) bool { return size.Slug == slug })
	if i < 0 {
		return Size{}, false
	}
	return s.cfg.Sizes[i], true
}

// Template is what the template call answers for a pool now; nil: there is no such pool or it has none.
func (s *Server) Template(poolID string) *Template {
	var t *Template
	s.look(func(w *world) {
		if p := w.pool(poolID); p != nil && !p.NoTemplate {
			t = w.template(p)
		}
	})
	return t
}

// Endings lists the nodes that were told to end, in their order.
func (s *Server) Endings() []Ending {
	var endings []Ending
	s.look(func(w *world) { endings = slices.Clone(w.endings) })
	return endings
}

// Changed is closed at the next change of anything in the world.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Advance brings the world up to the clock's time.
func (s *Server) Advance() { s.look(func(*world) {}) }

// NextChange is when something will happen by itself; false: nothing will.
func (s *Server) NextChange() (time.Time, bool) {
	var at time.Time
	var found bool
	s.look(func(w *world) {
		if found = len(w.due) > 0; found {
			at = w.due[0].at
		}
	})
	return at, found
}
