package act

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/taints"
)

// newcomers tells which nodes were not looked at yet. Owned by the loop.
type newcomers struct {
	looked map[string]look // by name
}

// look is what was seen of a node. The UID tells it from another one of the same name.
type look struct {
	uid types.UID
	// managed is true once the node was found to be of a node group.
	managed bool
}

// meet notes that the node is there. isNew says that it was not seen before, joins that it was not seen in a node group before and is in one.
func (n *newcomers) meet(node *corev1.Node, managed bool) (isNew, joins bool) {
	was, known := n.looked[node.Name]
	isNew = !known || was.uid != node.UID
	joins = managed && (isNew || !was.managed)
	if isNew || joins {
		n.looked[node.Name] = look{uid: node.UID, managed: managed}
	}
	return isNew, joins
}

// CleanLeftovers takes away what an earlier process left behind: the deletion taint and the cordon that came with it on nodes of node
// groups and, if soft taints are off, these on all nodes, unless they are young enough for their times to be taken over. It looks at each node once: the
// first time that it is seen, for the deletion taint the first time that it is seen in a node group. Call it in every iteration, before the first removal
// of that iteration, so that nodes are clean also where a group could not be listed at the start, or came later. The errors of single nodes are joined;
// each is told to the Observer, too. A deletion taint that could not be taken away is left to Step.
func (a *Actuator) CleanLeftovers(ctx context.Context, seen observation.Observation) error {
	var errs []error
	for _, node := range seen.Nodes {
		_, managed := seen.Members[node.Name]
		isNew, joins := a.newcomers.meet(node, managed)
		if _, tainted := taints.Find(node, taints.ToBeDeleted); tainted && joins {
			errs = append(errs, a.clean(ctx, node, taints.ToBeDeleted, unmark(a.options.ScaleDown.CordonBeforeTerminating)))
		}
		if isNew && a.softTaintIsOld(node, seen) {
			errs = append(errs, a.clean(ctx, node, taints.DeletionCandidate, without(taints.DeletionCandidate)))
		}
	}
	a.newcomers.forget(seen.Nodes)
	return errors.Join(errs...)
}

// forget lets go of nodes that are not there any more, once there are many of them.
func (n *newcomers) forget(nodes []*corev1.Node) {
	if len(n.looked) <= 2*len(nodes) {
		return
	}
	there := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		there[node.Name] = true
	}
	maps.DeleteFunc(n.looked, func(name string, _ look) bool { return !there[name] })
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
