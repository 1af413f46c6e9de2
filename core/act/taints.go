package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/taints"
)

// CordonAnnotation stands on a node beside the deletion taint and says who had cordoned it by then, so that taking the taint
// away lifts no cordon that somebody else set. A node with the taint and without the annotation was tainted by an autoscaler that
// does not know it; its cordon then goes with the taint, as that one would have it.
const (
	CordonAnnotation = "cluster-autoscaler.kubernetes.io/cordoned-by"
	cordonedByUs     = "cluster-autoscaler"
	cordonedByOther  = "other"
)

// A write to a node that meets a conflict is tried again every conflictPause, and given up once conflictLimit has passed
// (scale-down 5.3).
const (
	conflictPause = 750 * time.Millisecond
	conflictLimit = 5 * time.Second
)

// errReplaced: the node that a plan means is gone; another one has its name, or none.
var errReplaced = errors.New("the node does not exist any more")

// same tells whether a node is the one that is meant, and not another one that got its name.
func same(node, meant *corev1.Node) bool {
	return node.UID == meant.UID && (meant.Spec.ProviderID == "" || node.Spec.ProviderID == meant.Spec.ProviderID)
}

// edit changes a node that the caller owns and says whether there was anything to change.
type edit func(node *corev1.Node) (changed bool)

// mark puts the deletion taint on the node, and the cordon with it if cordon is set. A node that has the taint already stays
// as it is.
func mark(at time.Time, cordon bool) edit {
	return func(node *corev1.Node) bool {
		if _, has := taints.Find(node, taints.ToBeDeleted); has {
			return false
		}
		node.Spec.Taints = append(node.Spec.Taints, taints.NewToBeDeleted(at))
		if cordon {
			by := cordonedByUs
			if node.Spec.Unschedulable {
				by = cordonedByOther
			}
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, CordonAnnotation, by)
			node.Spec.Unschedulable = true
		}
		return true
	}
}

// unmark takes the deletion taint away, and our cordon with it. cordon says whether a cordon of unknown origin counts as ours.
func unmark(cordon bool) edit {
	return func(node *corev1.Node) bool {
		_, tainted := taints.Find(node, taints.ToBeDeleted)
		by, annotated := node.Annotations[CordonAnnotation]
		if !tainted && !annotated {
			return false
		}
		node.Spec.Taints = taints.Without(node.Spec.Taints, taints.ToBeDeleted)
		delete(node.Annotations, CordonAnnotation)
		if by == cordonedByUs || cordon && !annotated {
			node.Spec.Unschedulable = false
		}
		return true
	}
}

// candidate puts the soft taint on the node, unless its removal has begun.
func candidate(at time.Time) edit {
	return func(node *corev1.Node) bool {
		_, going := taints.Find(node, taints.ToBeDeleted)
		_, has := taints.Find(node, taints.DeletionCandidate)
		if going || has {
			return false
		}
		node.Spec.Taints = append(node.Spec.Taints, taints.NewDeletionCandidate(at))
		return true
	}
}

// needed takes the soft taint away, unless the node's removal has begun.
func needed(node *corev1.Node) bool {
	_, going := taints.Find(node, taints.ToBeDeleted)
	return !going && without(taints.DeletionCandidate)(node)
}

// without takes every taint with the key away.
func without(key string) edit {
	return func(node *corev1.Node) bool {
		if _, has := taints.Find(node, key); !has {
			return false
		}
		node.Spec.Taints = taints.Without(node.Spec.Taints, key)
		return true
	}
}

// tryEdit reads the node, changes it and writes it back, once. The whole object is written, so it has to be a fresh one: the
// informers' copies lack what the program never reads. want, if not nil, is the node that is meant: another one of the same name is
// not touched (errReplaced).
func (a *Actuator) tryEdit(ctx context.Context, name string, want *corev1.Node, change edit) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	live, err := a.kube.Node(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, errReplaced
	case err != nil:
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	case want != nil && !same(live, want):
		return nil, errReplaced
	}
	node := live.DeepCopy()
	if !change(node) {
		return live, nil
	}
	updated, err := a.kube.UpdateNode(ctx, node)
	if apierrors.IsNotFound(err) {
		return nil, errReplaced
	}
	if err != nil {
		return nil, fmt.Errorf("updating node %s: %w", name, err)
	}
	return updated, nil
}

// editNode is tryEdit that is tried again on conflicts. It may wait for some seconds; Step must not use it.
func (a *Actuator) editNode(ctx context.Context, name string, want *corev1.Node, change edit) (*corev1.Node, error) {
	started := a.clock.Now()
	for {
		node, err := a.tryEdit(ctx, name, want, change)
		if !apierrors.IsConflict(err) || a.clock.Since(started) >= conflictLimit {
			return node, err
		}
		if err := a.pause(ctx, conflictPause); err != nil {
			return nil, fmt.Errorf("waiting to update node %s again: %w", name, err)
		}
	}
}

// pause waits on the clock; the error is that of a context that ended before.
func (a *Actuator) pause(ctx context.Context, d time.Duration) error {
	timer := a.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
