package scenario

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scale changes how many pods a workload has.
func (w *world) scale(kind, namespace, name string, count int) error {
	hired := w.workloads[workloadKey(kind, namespace, name)]
	if hired == nil {
		return nil // it was deleted; the reader has seen to it that it existed
	}
	w.stirred = true
	hired.wanted = count
	if !hired.loose {
		return w.setReplicas(hired)
	}
	var active []*corev1.Pod
	hired.made = slices.DeleteFunc(hired.made, func(key string) bool {
		pod := w.pods.by[key]
		gone := pod == nil || pod.DeletionTimestamp != nil || ended(pod)
		if !gone {
			active = append(active, pod)
		}
		return gone
	})
	for missing := count - len(active); missing > 0; missing-- {
		pod, err := w.makePod(hired)
		if err != nil {
			return err
		}
		hired.made = append(hired.made, keyOf(pod))
	}
	for _, pod := range surplus(active, len(active)-count) {
		if err := w.deletePod(pod, graceOf(pod)); err != nil {
			return err
		}
	}
	return nil
}

// setReplicas writes the wanted number into the owner, where drain rules and budgets read it.
func (w *world) setReplicas(hired *workload) error {
	key := hired.namespace + "/" + hired.name
	table := w.others[hired.kind]
	count := int32(min(hired.wanted, 1<<30)) //nolint:gosec // bounded
	var object metav1.Object
	switch o := table.by[key].(type) {
	case *appsv1.ReplicaSet:
		o = o.DeepCopy()
		o.Spec.Replicas, object = &count, o
	case *appsv1.StatefulSet:
		o = o.DeepCopy()
		o.Spec.Replicas, object = &count, o
	case *corev1.ReplicationController:
		o = o.DeepCopy()
		o.Spec.Replicas, object = &count, o
	case *batchv1.Job:
		o = o.DeepCopy()
		o.Spec.Parallelism, object = &count, o
	default:
		return nil
	}
	return table.put(object)
}
