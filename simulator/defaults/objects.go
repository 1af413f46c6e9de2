package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object fills into an object what an API server does, whatever its kind; what is set stays. Kinds that have no defaults that anybody
// here reads are left as they are. Pods still need Priorities.Admit, claims SetStorageClass.
func Object(object runtime.Object) {
	switch o := object.(type) {
	case *corev1.Pod:
		Pod(o)
	case *corev1.Node:
		Node(o)
	case *corev1.Namespace:
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
		if o.Status.Phase == "" {
			o.Status.Phase = corev1.NamespaceActive
		}
	case *corev1.PersistentVolume:
		volume(o)
	case *corev1.PersistentVolumeClaim:
		claimSpec(&o.Spec)
		if o.Status.Phase == "" {
			o.Status.Phase = corev1.ClaimPending
		}
	case *storagev1.StorageClass:
		if o.ReclaimPolicy == nil {
			o.ReclaimPolicy = new(corev1.PersistentVolumeReclaimDelete)
		}
		if o.VolumeBindingMode == nil {
			o.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
		}
	case *storagev1.CSIDriver:
		driver(o)
	case *schedulingv1.PriorityClass:
		if o.PreemptionPolicy == nil {
			o.PreemptionPolicy = new(corev1.PreemptLowerPriority)
		}
	default:
		workload(object)
	}
}

// Node fills in the allocatable resources: all there are.
func Node(node *corev1.Node) {
	roundUp(node.Status.Capacity)
	roundUp(node.Status.Allocatable)
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
}

func workload(object runtime.Object) {
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		one(&o.Spec.Replicas)
		PodSpec(&o.Spec.Template.Spec)
	case *appsv1.Deployment:
		one(&o.Spec.Replicas)
		PodSpec(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		one(&o.Spec.Replicas)
		PodSpec(&o.Spec.Template.Spec)
		if o.Spec.PodManagementPolicy == "" {
			o.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement
		}
		for i := range o.Spec.VolumeClaimTemplates {
			claimSpec(&o.Spec.VolumeClaimTemplates[i].Spec)
		}
	case *appsv1.DaemonSet:
		PodSpec(&o.Spec.Template.Spec)
	case *batchv1.Job:
		job(o)
	case *corev1.ReplicationController:
		replicationController(o)
	}
}

func job(o *batchv1.Job) {
	if o.Spec.Completions == nil && o.Spec.Parallelism == nil {
		one(&o.Spec.Completions)
	}
	one(&o.Spec.Parallelism)
	if o.Spec.CompletionMode == nil {
		o.Spec.CompletionMode = new(batchv1.NonIndexedCompletion)
	}
	if o.Spec.Suspend == nil {
		o.Spec.Suspend = new(false)
	}
	PodSpec(&o.Spec.Template.Spec)
}

// replicationController is the one workload whose selector may be left out.
func replicationController(o *corev1.ReplicationController) {
	one(&o.Spec.Replicas)
	if o.Spec.Template == nil {
		return
	}
	PodSpec(&o.Spec.Template.Spec)
	if len(o.Spec.Selector) == 0 {
		o.Spec.Selector = o.Spec.Template.Labels
	}
}

// one is how many pods a workload has that doesn't say.
func one(replicas **int32) {
	if *replicas == nil {
		*replicas = new(int32(1))
	}
}
