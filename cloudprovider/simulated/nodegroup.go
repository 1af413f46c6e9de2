package simulated

import (
	"context"
	"fmt"

	"example.com/cluster-autoscaler/cloudprovider"
)

// nodeGroup is one group of one view.
type nodeGroup struct {
	cloud *Cloud
	view  *groupView
}

var (
	_ cloudprovider.NodeGroup       = (*nodeGroup)(nil)
	_ cloudprovider.AtomicIncreaser = (*nodeGroup)(nil)
	_ cloudprovider.ForceDeleter    = (*nodeGroup)(nil)
	_ cloudprovider.GroupCreator    = (*nodeGroup)(nil)
)

// ID returns the id of the group.
func (n *nodeGroup) ID() cloudprovider.GroupID { return n.view.id }

// State returns the group as of the view.
func (n *nodeGroup) State() cloudprovider.GroupState { return n.view.state }

// Templates returns copies of the variants of the view.
func (n *nodeGroup) Templates(ctx context.Context) ([]cloudprovider.TemplateVariant, error) {
	if err := cancelled(ctx); err != nil {
		return nil, err
	}
	if n.view.withoutTemplates {
		return nil, cloudprovider.ErrNoTemplate
	}
	n.cloud.mu.Lock()
	err := n.cloud.readFault(ReadTemplates, n.view.id)
	n.cloud.mu.Unlock()
	n.cloud.observe(ReadTemplates, err)
	if err != nil {
		return nil, fmt.Errorf("reading the templates of node group %q: %w", n.view.id, err)
	}
	variants := make([]cloudprovider.TemplateVariant, len(n.view.variants))
	for i, v := range n.view.variants {
		variants[i] = copyVariant(v.TemplateVariant)
	}
	return variants, nil
}

// IncreaseSize raises the target by delta units if the maximum allows. Machines are asked for at once.
func (n *nodeGroup) IncreaseSize(ctx context.Context, delta int) (int, error) {
	if delta <= 0 {
		return 0, fmt.Errorf("increasing node group %q by %d: want at least 1", n.view.id, delta)
	}
	return n.cloud.write(ctx, request{on: IncreaseSize, group: n.view.id, asked: delta}, func(t *transaction) (int, error) {
		return t.increase(delta, t.pool.spec.PartialGrants)
	})
}

// IncreaseSizeAtomically raises the target by all of delta or not at all, for want of stock too.
func (n *nodeGroup) IncreaseSizeAtomically(ctx context.Context, delta int) (int, error) {
	if delta <= 0 {
		return 0, fmt.Errorf("increasing node group %q by %d: want at least 1", n.view.id, delta)
	}
	return n.cloud.write(ctx, request{on: IncreaseSizeAtomically, group: n.view.id, asked: delta}, func(t *transaction) (int, error) {
		return t.increaseAtomically(delta)
	})
}

// Create makes a theoretical group exist, of target zero; one that exists stays as it is.
func (n *nodeGroup) Create(ctx context.Context) (cloudprovider.NodeGroup, error) {
	var created *groupView
	r := request{on: CreateGroup, group: n.view.id, asked: 1}
	_, err := n.cloud.write(ctx, r, func(t *transaction) (int, error) {
		t.create()
		created = t.cloud.takeGroupView(t.pool, t.now)
		return 0, nil
	})
	if err != nil {
		return nil, err
	}
	return n.cloud.nodeGroup(created), nil
}

// DecreaseTargetSize withdraws failed requests of which no machine exists.
func (n *nodeGroup) DecreaseTargetSize(ctx context.Context, by int) (int, error) {
	if by <= 0 {
		return 0, fmt.Errorf("decreasing node group %q by %d: want at least 1", n.view.id, by)
	}
	return n.cloud.write(ctx, request{on: DecreaseTargetSize, group: n.view.id, asked: by}, func(t *transaction) (int, error) {
		return t.withdraw(by), nil
	})
}

// DeleteNodes ends the machines unless that would violate the minimum.
func (n *nodeGroup) DeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return n.delete(ctx, DeleteNodes, nodes)
}

// ForceDeleteNodes ends the machines; those that the minimum demands are replaced.
func (n *nodeGroup) ForceDeleteNodes(ctx context.Context, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return n.delete(ctx, ForceDeleteNodes, nodes)
}

func (n *nodeGroup) delete(ctx context.Context, on Operation, nodes []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	var outcomes []cloudprovider.DeleteOutcome
	r := request{on: on, group: n.view.id, asked: len(nodes)}
	_, err := n.cloud.write(ctx, r, func(t *transaction) (lowered int, err error) {
		outcomes, lowered, err = t.delete(nodes)
		return lowered, err
	})
	return outcomes, err
}
