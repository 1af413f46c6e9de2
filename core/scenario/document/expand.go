package document

import (
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/simulator/daemonset"
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

	pattern *corev1.Pod // what all the pods share
	next    int         // the number of the next pod
}

// Expand makes the owner and the pods of a Pods document, created so long before the given time as the document says. They share the
// parts of its template: copy before changing. A priority class that does not exist gives no priority.
func Expand(pods *Pods, priorities defaults.Priorities, at time.Time) (*PodSet, []*corev1.Pod) {
	spec := &pods.Spec
	created, count := at, 0
	if spec.Age != nil {
		created = at.Add(-spec.Age.Duration)
	}
	if spec.Count != nil {
		count = *spec.Count
	}
	owner := ownerOf(pods, int32(min(count, math.MaxInt32)))
	set := &PodSet{Namespace: pods.Metadata.Namespace, Name: pods.Metadata.Name, Kind: spec.Owner}
	if owner != nil {
		set.Owner = owner
		owner.SetUID(uid(spec.Owner, set.Namespace, set.Name))
		owner.SetCreationTimestamp(metav1.NewTime(created))
	}
	var reference *metav1.OwnerReference
	if spec.Owner != OwnerNone {
		reference = controllerRef(spec.Owner, set.Name)
		reference.UID = uid(spec.Owner, set.Namespace, set.Name)
	}
	set.pattern = pattern(set.Namespace, &spec.Template, reference, priorities)
	if daemons, ok := owner.(*appsv1.DaemonSet); ok {
		set.pattern.Spec.Tolerations = daemonTolerations(daemons)
	}

	made := make([]*corev1.Pod, count)
	for i := range made {
		node := ""
		if len(spec.OnNodes) > 0 {
			node = spec.OnNodes[i%len(spec.OnNodes)]
		}
		made[i] = set.Next(created, node)
	}
	return set, made
}

// controllerRef is a reference to the controller of that kind. Kinds that are not of the API are of our own group.
func controllerRef(kind, name string) *metav1.OwnerReference {
	apiVersion := APIVersion
	for _, known := range apiKinds() {
		if known.Kind == kind {
			apiVersion = known.APIVersion
		}
	}
	return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, Controller: new(true), BlockOwnerDeletion: new(true)}
}

// daemonTolerations are those of the set's pods: its own, and those that its controller adds.
func daemonTolerations(set *appsv1.DaemonSet) []corev1.Toleration {
	pod := daemonset.NewPod(set, &corev1.Node{})
	defaults.Pod(pod)
	return pod.Spec.Tolerations
}

// pattern is a pod of the template, as an API server would have it.
func pattern(namespace string, template *corev1.PodTemplateSpec, owner *metav1.OwnerReference, priorities defaults.Priorities) *corev1.Pod {
	template = template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: template.Labels, Annotations: template.Annotations},
		Spec:       template.Spec,
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	defaults.Pod(pod)
	_ = priorities.Admit(&pod.Spec) // whether the class exists was checked where it can be reported
	return pod
}

// Next makes one more pod, created at the given time: running on the node, or pending if node is empty.
func (s *PodSet) Next(created time.Time, node string) *corev1.Pod {
	pod := *s.pattern // what it points to is shared
	pod.Name = fmt.Sprintf("%s-%d", s.Name, s.next)
	s.next++
	pod.UID = uid("Pod", pod.Namespace, pod.Name)
	pod.CreationTimestamp = metav1.NewTime(created)
	if node != "" {
		pod.Spec.NodeName = node
		run(&pod)
	}
	return &pod
}

// ownerOf makes the owner of the pods; nil if it is of no kind that somebody plays the controller of.
func ownerOf(pods *Pods, count int32) object {
	template := pods.Spec.Template.DeepCopy()
	meta := metav1.ObjectMeta{Namespace: pods.Metadata.Namespace, Name: pods.Metadata.Name, Labels: template.Labels}
	var selector *metav1.LabelSelector // nothing, rather than everything, where the pods have no labels
	if len(template.Labels) > 0 {
		selector = &metav1.LabelSelector{MatchLabels: template.Labels}
	}
	switch pods.Spec.Owner {
	case OwnerReplicaSet:
		return &appsv1.ReplicaSet{
			ObjectMeta: meta,
			Spec:       appsv1.ReplicaSetSpec{Replicas: &count, Selector: selector, Template: *template},
			Status:     appsv1.ReplicaSetStatus{Replicas: count},
		}
	case OwnerStatefulSet:
		return &appsv1.StatefulSet{
			ObjectMeta: meta,
			Spec: appsv1.StatefulSetSpec{
				Replicas: &count, Selector: selector, Template: *template, PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			},
			Status: appsv1.StatefulSetStatus{Replicas: count},
		}
	case OwnerDaemonSet:
		return &appsv1.DaemonSet{
			ObjectMeta: meta,
			Spec:       appsv1.DaemonSetSpec{Selector: selector, Template: *template},
		}
	case OwnerJob:
		return &batchv1.Job{
			ObjectMeta: meta,
			Spec: batchv1.JobSpec{
				Parallelism: &count, Completions: &count, Selector: selector, Template: *template,
				CompletionMode: new(batchv1.NonIndexedCompletion), Suspend: new(false),
			},
		}
	default:
		return nil
	}
}

// PodSetOf is the set that a workload's controller makes pods from: a *appsv1.ReplicaSet, *appsv1.StatefulSet, *appsv1.DaemonSet,
// *batchv1.Job or *corev1.ReplicationController. Its pods are numbered from next on. ok is false for anything else, and for workloads whose
// controller makes no more pods: Jobs that are over, and what is being deleted.
func PodSetOf(workload runtime.Object, priorities defaults.Priorities, next int) (set *PodSet, ok bool) {
	kind := ""
	var template *corev1.PodTemplateSpec
	switch o := workload.(type) {
	case *appsv1.ReplicaSet:
		kind, template = OwnerReplicaSet, &o.Spec.Template
	case *appsv1.StatefulSet:
		kind, template = OwnerStatefulSet, &o.Spec.Template
	case *appsv1.DaemonSet:
		kind, template = OwnerDaemonSet, &o.Spec.Template
	case *batchv1.Job:
		kind, template = OwnerJob, &o.Spec.Template
	case *corev1.ReplicationController:
		kind, template = "ReplicationController", o.Spec.Template
	}
	owner, isObject := workload.(object)
	if template == nil || !isObject || owner.GetDeletionTimestamp() != nil || isOver(workload) {
		return nil, false
	}
	reference := controllerRef(kind, owner.GetName())
	reference.UID = owner.GetUID()
	set = &PodSet{Namespace: owner.GetNamespace(), Name: owner.GetName(), Kind: kind, Owner: workload, next: next}
	set.pattern = pattern(set.Namespace, template, reference, priorities)
	if daemons, ok := workload.(*appsv1.DaemonSet); ok {
		set.pattern.Spec.Tolerations = daemonTolerations(daemons)
	}
	return set, true
}

// isOver tells a Job that has completed or failed for good.
func isOver(workload runtime.Object) bool {
	job, ok := workload.(*batchv1.Job)
	return ok && slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}
