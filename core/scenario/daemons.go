package scenario

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/daemonset"
	"example.com/cluster-autoscaler/simulator/defaults"
)

// runDaemonSets makes the pods of DaemonSets that nodes lack, and ends those on nodes where they do not belong.
func (w *world) runDaemonSets() error {
	for _, set := range w.sets.all() {
		placed := map[string]bool{}
		for _, pod := range byKey(w.pods.ofOwner[set.UID]) {
			name := nodeOf(pod)
			node := w.nodes.by[name]
			switch {
			case ended(pod):
			case node == nil, placed[name] && pod.DeletionTimestamp == nil, pod.DeletionTimestamp == nil && !daemonset.RunsOn(set, node):
				if err := w.deletePod(pod, graceOf(pod)); err != nil {
					return err
				}
				fallthrough
			default:
				placed[name] = true
			}
		}
		for _, node := range w.nodes.all() {
			if placed[node.Name] || !daemonset.RunsOn(set, node) {
				continue
			}
			if err := w.comePod(w.daemonPod(set, node)); err != nil {
				return err
			}
		}
	}
	return nil
}

// daemonPod is the pod of the set for a node, as the controller makes it: pending, and fit for this node only.
func (w *world) daemonPod(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	pod := daemonset.NewPod(set, node)
	pod.CreationTimestamp = metav1.NewTime(w.now())
	pod.Spec.NodeName = ""
	pin(&pod.Spec, node.Name)
	defaults.Pod(pod)
	_ = w.priorities.Admit(&pod.Spec) // a class that does not exist gives no priority
	pod.Status.Phase = corev1.PodPending
	return pod
}

// pin makes a specification fit for one node only, as the DaemonSet controller does.
func pin(spec *corev1.PodSpec, node string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}
}

// pinnedTo is the only node that the pod's affinity names; empty: it names none.
func pinnedTo(pod *corev1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) != 1 {
		return ""
	}
	field := terms[0].MatchFields[0]
	if field.Key != metav1.ObjectNameField || field.Operator != corev1.NodeSelectorOpIn || len(field.Values) != 1 {
		return ""
	}
	return field.Values[0]
}

// nodeOf is the node that a pod is on or meant for.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return pinnedTo(pod)
}
