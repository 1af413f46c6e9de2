package document

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podSets makes pods and owners of the Pods documents.
func (f *finisher) podSets() {
	for _, document := range f.out.PodsDocuments {
		because := key{KindPods, document.Metadata.Namespace, document.Metadata.Name}
		f.checkOnNodes(document, because)
		if err := f.priorities.Admit(document.Spec.Template.Spec.DeepCopy()); err != nil && f.known != nil {
			f.where(because).bad("spec.template.spec.priorityClassName", "%s", err)
		}
		set, pods := Expand(document, f.priorities, f.at)
		f.out.PodSets = append(f.out.PodSets, set)
		if set.Owner != nil {
			if o, ok := set.Owner.(object); ok && f.add(key{set.Kind, set.Namespace, set.Name}, because) {
				f.addOwner(o)
			}
		}
		for _, pod := range pods {
			if !f.add(key{"Pod", pod.Namespace, pod.Name}, because) {
				break // the others would say the same
			}
		}
		f.out.Pods = append(f.out.Pods, pods...)
		if f.known != nil {
			f.known.makes(key{"Pod", set.Namespace, set.Name})
		}
	}
	f.knowWorkloads()
}

func (f *finisher) addOwner(o object) {
	for _, kind := range apiKinds() {
		kind.add(&f.out.Objects, o) // which takes its own only
	}
}

// knowWorkloads notes which workloads make pods.
func (f *finisher) knowWorkloads() {
	if f.known == nil {
		return
	}
	f.out.each(func(kind apiKind, o object) {
		switch kind.Kind {
		case OwnerReplicaSet, OwnerStatefulSet, OwnerDaemonSet, OwnerJob, "ReplicationController":
			f.known.makes(key{"Pod", o.GetNamespace(), o.GetName()})
		}
	})
}

func (f *finisher) checkOnNodes(document *Pods, because key) {
	if f.known == nil {
		return
	}
	for i, name := range document.Spec.OnNodes {
		if !f.hasNode(name) {
			f.where(because).bad(index("spec.onNodes", i), "there is no node %q", name)
		}
	}
}

// hasNode tells whether a node is there; once the play has begun, or may be there.
func (f *finisher) hasNode(name string) bool {
	if f.replaces {
		return f.known.may(nodeKey(name))
	}
	return f.known.has(nodeKey(name))
}

// ownPods looks at the pods that have documents of their own. It leaves out those that ended or were deleted on nodes that are gone, which a
// cluster's garbage collector takes away, and reports others on such nodes.
func (f *finisher) ownPods() {
	f.out.Pods = slices.DeleteFunc(f.out.Pods, func(pod *corev1.Pod) bool {
		node := pod.Spec.NodeName
		if node == "" || f.known == nil || f.hasNode(node) {
			return false
		}
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil {
			return true
		}
		f.where(key{"Pod", pod.Namespace, pod.Name}).bad("spec.nodeName", "there is no node %q", node)
		return false
	})
	for _, pod := range f.out.Pods {
		if err := f.priorities.Admit(&pod.Spec); err != nil {
			f.where(key{"Pod", pod.Namespace, pod.Name}).bad("spec.priorityClassName", "%s", err)
		}
	}
}

// pods finishes the pods.
func (f *finisher) pods() {
	for _, pod := range f.out.Pods {
		f.identify("Pod", pod, f.podAge)
		begun := pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning
		if pod.Spec.NodeName != "" && begun && len(pod.Status.Conditions) == 0 {
			run(pod)
		}
	}
}

// run makes a pod running and ready since it was created.
func run(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.StartTime = &pod.CreationTimestamp
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(pod.CreationTimestamp.Time),
		})
	}
}
