package digitalocean

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
)

const (
	// aheadLife is how long a pool that was read along with others may stand for a reading of its own.
	aheadLife = 5 * time.Second
	// clusterFresh is how old the state of the cluster may be when nodes are about to be drained.
	clusterFresh = time.Minute
)

// ReadGroups reads several pools by one listing. Each of them then stands, once, for a ReadState that comes within five seconds.
func (p *Provider) ReadGroups(ctx context.Context, groups []cloudprovider.GroupID) {
	if len(groups) < 2 {
		return // a listing is worth no less than the reading to come
	}
	ctx, done := p.calls.Begin(ctx)
	defer done()
	asked := p.moment()
	pools, err := p.api.Pools(ctx)
	if err != nil {
		klog.FromContext(ctx).V(1).Info("Cannot list the node pools before a write", "reason", err.Error())
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pool := range pools {
		b := p.books[pool.ID]
		if b == nil || !slices.Contains(groups, cloudprovider.GroupID(pool.ID)) {
			continue
		}
		p.take(b, pool, asking{moment: asked, listing: true})
		b.ahead = asked.at
	}
}

// ReadState reads the pool now.
func (g *NodeGroup) ReadState(ctx context.Context) (cloudprovider.GroupState, error) {
	p, b := g.provider, g.book
	ctx, done := p.calls.Begin(ctx)
	defer done()
	p.mu.Lock()
	ready := b.on && b.fault.err == nil && !b.ahead.IsZero() && p.clock.Now().Sub(b.ahead) < aheadLife
	b.ahead = time.Time{}
	p.mu.Unlock()
	if !ready {
		if _, err := p.readFresh(ctx, b); err != nil {
			return cloudprovider.GroupState{}, fmt.Errorf("reading node group %s: %w", g.ID(), err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stateOf(b, p.clock.Now()), nil
}

// CheckShrink looks whether the cluster is being upgraded, unless that was done within the last minute.
func (g *NodeGroup) CheckShrink(ctx context.Context) (held string) {
	p := g.provider
	ctx, done := p.calls.Begin(ctx)
	defer done()
	p.mu.Lock()
	due := p.clock.Now().Sub(p.facts.clusterRead) >= clusterFresh
	p.mu.Unlock()
	if due {
		p.readCluster(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held()
}
