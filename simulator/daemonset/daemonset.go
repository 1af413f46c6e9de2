package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// RunsOn tells whether the DaemonSet controller would run a pod of this set on the node.
func RunsOn(set *appsv1.DaemonSet, node *corev1.Node) bool { return false }

// NewPod is the pod that the controller would make for the node, placed on it, without resource claims.
func NewPod(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod { return nil }

// Missing lists, in the order of the sets, the pods that a fresh node gets besides those that its example runs. node is the
// fresh node, running are the pods of the example (none for a template by the cloud); a set counts as running if one of them, not
// being deleted, has it as controller. Without force, as on a template made from a live node, only those sets
// are added whose pods push others out: priority class system-node-critical and not told never to preempt.
func Missing(node *corev1.Node, running []*corev1.Pod, sets []*appsv1.DaemonSet, force bool) []*corev1.Pod {
	return nil
}
