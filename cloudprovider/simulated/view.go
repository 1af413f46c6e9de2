package simulated

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// view is what the autoscaler knows of the cloud between two refreshes. It never changes. The zero value knows nothing.
type view struct {
	at     time.Time
	taken  bool // false for the one before the first Refresh
	groups []cloudprovider.NodeGroup
	byID   map[cloudprovider.GroupID]*groupView
	errors []cloudprovider.GroupError
}

// groupView is one group of a view. It is shared by all views in which the group looks the same, and never changes.
type groupView struct {
	id       cloudprovider.GroupID
	pool     *pool // only to tell whether this is still the same
	revision int   // of the pool
	state    cloudprovider.GroupState
	variants []*variant
	// position is that of the latest request of all when this was taken: machines beyond it are unknown here.
	position         int
	withoutTemplates bool
	price            float64

	listOnce sync.Once
	listed   map[string]struct{} // ids of the machines that exist; made when first needed
}

// exists tells whether the view lists the machine of that id as more than a placeholder.
func (g *groupView) exists(id string) bool {
	g.listOnce.Do(func() {
		g.listed = make(map[string]struct{}, len(g.state.Instances))
		for i := range g.state.Instances {
			if !g.state.Instances[i].Placeholder {
				g.listed[g.state.Instances[i].ID] = struct{}{}
			}
		}
	})
	_, ok := g.listed[id]
	return ok
}

// Refresh takes a new view of the cloud if the present one is RefreshInterval old.
func (c *Cloud) Refresh(ctx context.Context) error {
	if err := cancelled(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	now := c.settle()
	old := c.view.Load()
	if old.taken && now.Sub(old.at) < c.options.RefreshInterval {
		c.mu.Unlock()
		return nil
	}
	err := c.readFault(Refresh, "")
	var fresh *view
	var calls []groupCall
	if err == nil {
		fresh, calls = c.takeView(old, now)
		c.view.Store(fresh)
	}
	c.mu.Unlock()

	c.observe(Refresh, err)
	for _, call := range calls {
		c.observe(call.on, call.err)
	}
	return err
}

// groupCall is a request about one group that failed.
type groupCall struct {
	on  Operation
	err error
}

// takeView looks at all groups. One that can't be described keeps what the old view has of it, or is left out.
func (c *Cloud) takeView(old *view, now time.Time) (*view, []groupCall) {
	fresh := &view{at: now, taken: true, byID: make(map[cloudprovider.GroupID]*groupView, len(c.pools))}
	var calls []groupCall
	for _, p := range c.pools {
		id := p.spec.ID
		seen := old.byID[id]
		if call, err := c.describe(id); err != nil {
			if _, ok := c.failing[id]; !ok {
				c.failing[id] = now
			}
			calls = append(calls, call)
			fresh.errors = append(fresh.errors, cloudprovider.GroupError{Group: id, Err: err, Since: c.failing[id]})
		} else {
			delete(c.failing, id)
			if seen == nil || seen.pool != p || seen.revision != p.revision {
				seen = c.takeGroupView(p, now)
			}
		}
		if seen != nil {
			fresh.byID[id] = seen
			fresh.groups = append(fresh.groups, c.nodeGroup(seen))
		}
	}
	slices.SortFunc(fresh.errors, func(a, b cloudprovider.GroupError) int { return cmp.Compare(a.Group, b.Group) })
	return fresh, calls
}

// describe asks for one group; the error says what could not be read.
func (c *Cloud) describe(id cloudprovider.GroupID) (groupCall, error) {
	if err := c.readFault(ReadSize, id); err != nil {
		return groupCall{on: ReadSize, err: err}, fmt.Errorf("reading the size of node group %q: %w", id, err)
	}
	if err := c.readFault(ListInstances, id); err != nil {
		return groupCall{on: ListInstances, err: err}, fmt.Errorf("listing the instances of node group %q: %w", id, err)
	}
	return groupCall{}, nil
}

// takeGroupView is one group as of now.
func (c *Cloud) takeGroupView(p *pool, now time.Time) *groupView {
	return &groupView{
		id: p.spec.ID, pool: p, revision: p.revision, state: p.state(now), variants: p.variants, position: c.index.size(),
		withoutTemplates: p.spec.WithoutTemplates, price: p.spec.PricePerHour,
	}
}

// nodeGroup is the group as the autoscaler gets it.
func (c *Cloud) nodeGroup(g *groupView) cloudprovider.NodeGroup {
	full := &nodeGroup{cloud: c, view: g}
	if c.options.PlainGroups {
		return struct{ cloudprovider.NodeGroup }{full}
	}
	return full
}
