package document

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/simulator/defaults"
)

// PodSet makes the pods of one owner, which are alike. It is not safe for concurrent use.
type PodSet struct {
	// Namespace and Name are those of the Pods document, or of the workload.
	Namespace, Name string
	// Kind is that of the owner, or OwnerNone.
	Kind string
	// Owner is the object; nil for OwnerNone and for kinds that nobody plays the controller of.
	Owner runtime.Object

	reference *metav1.OwnerReference // nil: no owner
	pattern   *corev1.Pod            // what all the pods share
	next      int                    // the number of the next pod
}

// Expand makes the owner and the pods of a Pods document, created so long before the given time as the document says. They share the
// parts of its template.
func Expand(pods *Pods, priorities defaults.Priorities, at time.Time) (*PodSet, []*corev1.Pod) {
	return nil, nil
}

// PodSetOf is the set that a workload's controller makes pods from: a *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet,
// *batchv1.Job or *corev1.ReplicationController. Its pods are numbered from next on. ok is false for anything else.
func PodSetOf(workload runtime.Object, priorities defaults.Priorities, next int) (set *PodSet, ok bool) {
	return nil, false
}

// Next makes one more pod, created at the given time: running on the node, or pending if node is empty.
func (s *PodSet) Next(created time.Time, node string) *corev1.Pod {
	return nil
}
