package scenario

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/cluster-autoscaler/core/act"
)

// apiServer is the API server as the actuator sees it.
type apiServer struct{ w *world }

var _ act.Kube = apiServer{}

func noNode(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
}

func noPod(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

// Node returns the caller's own copy.
func (a apiServer) Node(_ context.Context, name string) (*corev1.Node, error) {
	if node := a.w.nodes.by[name]; node != nil {
		return node.DeepCopy(), nil
	}
	return nil, noNode(name)
}

// UpdateNode stores the node. Nobody writes between a read and a write of one step, so there are no conflicts.
func (a apiServer) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	now := a.w.nodes.by[node.Name]
	if now == nil {
		return nil, noNode(node.Name)
	}
	if now.UID != node.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node.Name, errors.New("it was replaced by another one"))
	}
	node = node.DeepCopy()
	if err := a.w.putNode(node); err != nil {
		return nil, err
	}
	return node.DeepCopy(), nil
}

// Evict begins to end a pod unless a PodDisruptionBudget forbids it.
func (a apiServer) Evict(_ context.Context, pod *corev1.Pod, graceSeconds int64) error {
	w := a.w
	now := w.pods.by[keyOf(pod)]
	switch {
	case now == nil:
		return noPod(pod.Name)
	case now.UID != pod.UID:
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, errors.New("it was replaced by another one"))
	}
	if err := w.permits(now); err != nil {
		return err
	}
	if now.DeletionTimestamp == nil {
		w.counts.evictions[w.groupOfNode(now.Spec.NodeName)]++
	}
	if err := w.deletePod(now, time.Duration(graceSeconds)*time.Second); err != nil {
		return err
	}
	return w.countBudgets()
}

// permits is why the pod must not be evicted now; nil: it may.
func (w *world) permits(pod *corev1.Pod) error {
	if ended(pod) || pod.Status.Phase == corev1.PodPending || pod.DeletionTimestamp != nil {
		return nil
	}
	budgets := w.budgetsOf(pod)
	switch {
	case len(budgets) == 0:
		return nil
	case len(budgets) > 1:
		return apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget, which the eviction subresource does not support"))
	}
	budget := budgets[0]
	if !isReady(pod) {
		if policy := budget.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
			return nil
		}
		if budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0 {
			return nil
		}
	}
	if budget.Status.DisruptionsAllowed > 0 {
		return nil
	}
	return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
}

// Pod returns the pod as it is.
func (a apiServer) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	if pod := a.w.pods.by[namespace+"/"+name]; pod != nil {
		return pod, nil
	}
	return nil, noPod(name)
}

// PodsOn are the pods on a node that have not ended.
func (a apiServer) PodsOn(_ context.Context, node string) ([]*corev1.Pod, error) {
	return byKey(a.w.pods.onNode[node]), nil
}

// Nodes are all nodes.
func (a apiServer) Nodes(context.Context) ([]*corev1.Node, error) { return a.w.nodes.all(), nil }
