package aws

import (
	"context"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
)

// ReadState describes the group anew, which blocks. What was learnt is in the view from then on, too.
func (g *NodeGroup) ReadState(ctx context.Context) (cloudprovider.GroupState, error) {
	p, b := g.provider, g.current()
	ctx, done := p.calls.begin(ctx)
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
