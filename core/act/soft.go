package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/taints"
)

// SoftTaints marks unneeded nodes for everybody to see, and takes the mark away from the others: removals first, as many changes
// as the options allow in number and time. The rest waits for the next call. A node that is being removed, or is gone, is left
// alone. The errors of single nodes are joined.
func (a *Actuator) SoftTaints(ctx context.Context, wanted scaledown.SoftTaint) error {
	started, left := a.clock.Now(), a.options.SoftTaints.MaxBulkCount
	if a.isStopped() {
		return nil
	}
	var errs []error
	each := func(names []string, change edit) {
		for _, name := range names {
			if left <= 0 || a.clock.Since(started) >= a.options.SoftTaints.MaxBulkTime {
				return
			}
			left--
			if _, err := a.editNode(ctx, name, nil, change); err != nil && !errors.Is(err, errReplaced) {
				errs = append(errs, fmt.Errorf("changing the soft taint: %w", err))
			}
		}
	}
	each(wanted.Remove, needed)
	each(wanted.Add, candidate(started))
	return errors.Join(errs...)
}

// CleanAtStart takes away what an earlier process left behind: the deletion taint and the cordon that came with it on nodes of node
// groups and, if soft taints are off, these on all nodes, unless they are young enough for their times to be taken over. Call it
// once, before the first removal. The errors of single nodes are joined; each is told to the Observer, too. A deletion taint that could not
// be taken away is left to Step.
func (a *Actuator) CleanAtStart(ctx context.Context, seen observation.Observation) error {
	var errs []error
	for _, node := range seen.Nodes {
		_, tainted := taints.Find(node, taints.ToBeDeleted)
		if _, managed := seen.Members[node.Name]; tainted && managed {
			errs = append(errs, a.clean(ctx, node, taints.ToBeDeleted, unmark(a.options.ScaleDown.CordonBeforeTerminating)))
		}
		if a.softTaintIsOld(node, seen) {
			errs = append(errs, a.clean(ctx, node, taints.DeletionCandidate, without(taints.DeletionCandidate)))
		}
	}
	return errors.Join(errs...)
}

// softTaintIsOld tells a soft taint that nobody will look after any more.
func (a *Actuator) softTaintIsOld(node *corev1.Node, seen observation.Observation) bool {
	taint, has := taints.Find(node, taints.DeletionCandidate)
	if !has || a.options.SoftTaints.MaxBulkCount != 0 {
		return false
	}
	ttl := a.options.SoftTaints.CandidateTTL
	since, err := taints.Time(taint)
	return ttl == 0 || err != nil || seen.At.Sub(since) >= ttl
}

func (a *Actuator) clean(ctx context.Context, node *corev1.Node, key string, change edit) error {
	_, err := a.editNode(ctx, node.Name, node, change)
	if errors.Is(err, errReplaced) {
		return nil
	}
	a.observer.Observe(TaintCleaned{Node: node, Key: key, Err: err})
	if err != nil {
		if key == taints.ToBeDeleted {
			a.addChore(node.Name, a.clock.Now())
			a.signal()
		}
		return fmt.Errorf("taking taint %s of node %s away: %w", key, node.Name, err)
	}
	return nil
}
