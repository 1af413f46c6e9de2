package daemonset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// nodeCritical is the priority class of pods that a node can't do without.
const nodeCritical = "system-node-critical"

// RunsOn tells whether the DaemonSet controller would run a pod of this set on the node.
func RunsOn(set *appsv1.DaemonSet, node *corev1.Node) bool {
	spec := &set.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return false
	}
	// A term that cannot be parsed matches nothing, as in the controller.
	if fits, _ := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}).Match(node); !fits {
		return false
	}
	_, untolerated := schedulingcorev1.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, tolerations(spec), keepsAway, false)
	return !untolerated
}

func keepsAway(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}

// tolerations are those of the template and those that the controller gives to every pod.
func tolerations(spec *corev1.PodSpec) []corev1.Toleration {
	tolerations := slices.Clone(spec.Tolerations)
	add := func(key string, effect corev1.TaintEffect) {
		added := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
		if !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return t.MatchToleration(&added) }) {
			tolerations = append(tolerations, added)
		}
	}
	add(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)
	add(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule)
	add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	if spec.HostNetwork {
		add(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)
	}
	return tolerations
}

// NewPod is the pod that the controller would make for the node, placed on it, without resource claims. Name and UID follow from
// the names of set and node.
func NewPod(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	template := set.Spec.Template.DeepCopy()
	name := set.Name + "-" + node.Name
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: name, UID: types.UID("daemonset-pod-" + set.Namespace + "-" + name),
			Labels: template.Labels, Annotations: template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
		},
		Spec: template.Spec,
	}
	pod.Spec.NodeName = node.Name
	pod.Spec.Tolerations = tolerations(&template.Spec)
	dropClaims(&pod.Spec)
	return pod
}

// dropClaims takes the dynamically allocated devices away: no claims are made for pods that exist in simulation only.
func dropClaims(spec *corev1.PodSpec) {
	spec.ResourceClaims = nil
	for i := range spec.Containers {
		spec.Containers[i].Resources.Claims = nil
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].Resources.Claims = nil
	}
	if spec.Resources != nil {
		spec.Resources.Claims = nil
	}
}

// Missing lists, in the order of the sets, the pods that a fresh node gets besides those that its example runs. node is the
// fresh node, running are the pods of the example (none for a template by the cloud); a set counts as running if one of them, not
// being deleted, has it as controller.
func Missing(node *corev1.Node, running []*corev1.Pod, sets []*appsv1.DaemonSet) []*corev1.Pod {
	controllers := map[types.UID]bool{}
	for _, pod := range running {
		if owner := metav1.GetControllerOfNoCopy(pod); pod.DeletionTimestamp == nil && owner != nil && owner.Kind == "DaemonSet" {
			controllers[owner.UID] = true
		}
	}
	var missing []*corev1.Pod
	for _, set := range sets {
		if !controllers[set.UID] && RunsOn(set, node) {
			missing = append(missing, NewPod(set, node))
		}
	}
	return missing
}

// MissingCritical is Missing for a template made from a live node: that a set's pod is not there is then taken as a fact, except for pods
// that would push others out, being of priority class system-node-critical and not told never to preempt.
func MissingCritical(node *corev1.Node, running []*corev1.Pod, sets []*appsv1.DaemonSet) []*corev1.Pod {
	critical := slices.DeleteFunc(slices.Clone(sets), func(set *appsv1.DaemonSet) bool {
		return !pushesOthersOut(&set.Spec.Template.Spec)
	})
	return Missing(node, running, critical)
}

func pushesOthersOut(spec *corev1.PodSpec) bool {
	preempts := spec.PreemptionPolicy == nil || *spec.PreemptionPolicy == corev1.PreemptLowerPriority
	return spec.PriorityClassName == nodeCritical && preempts
}
