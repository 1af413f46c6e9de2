package document

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// object is any object of the API.
type object interface {
	metav1.Object
	runtime.Object
}

// apiKind is a kind of the API that is read.
type apiKind struct {
	header
	namespaced bool
	// create makes an empty one.
	create func() object
	// add puts one into its list, all are those of the list.
	add func(*Objects, object)
	all func(*Objects) []object
}

// pointerTo is a *T that is an object.
type pointerTo[T any] interface {
	*T
	object
}

func kindOf[T any, P pointerTo[T]](apiVersion, kind string, namespaced bool, list func(*Objects) *[]P) apiKind {
	return apiKind{
		header:     header{apiVersion, kind},
		namespaced: namespaced,
		create:     func() object { return P(new(T)) },
		add: func(to *Objects, o object) {
			if typed, ok := o.(P); ok {
				*list(to) = append(*list(to), typed)
			}
		},
		all: func(of *Objects) []object {
			all := make([]object, len(*list(of)))
			for i, o := range *list(of) {
				all[i] = o
			}
			return all
		},
	}
}

// apiKinds are the kinds of the API that are read, in the order of the fields of Objects.
func apiKinds() []apiKind {
	return []apiKind{
		kindOf("v1", "Node", false, func(o *Objects) *[]*corev1.Node { return &o.Nodes }),
		kindOf("v1", "Pod", true, func(o *Objects) *[]*corev1.Pod { return &o.Pods }),
		kindOf("v1", "Namespace", false, func(o *Objects) *[]*corev1.Namespace { return &o.Namespaces }),
		kindOf("v1", "Service", true, func(o *Objects) *[]*corev1.Service { return &o.Services }),
		kindOf("v1", "ConfigMap", true, func(o *Objects) *[]*corev1.ConfigMap { return &o.ConfigMaps }),
		kindOf("v1", "ReplicationController", true, func(o *Objects) *[]*corev1.ReplicationController { return &o.ReplicationControllers }),
		kindOf("v1", "PersistentVolume", false, func(o *Objects) *[]*corev1.PersistentVolume { return &o.PersistentVolumes }),
		kindOf("v1", "PersistentVolumeClaim", true, func(o *Objects) *[]*corev1.PersistentVolumeClaim { return &o.PersistentVolumeClaims }),
		kindOf("apps/v1", "ReplicaSet", true, func(o *Objects) *[]*appsv1.ReplicaSet { return &o.ReplicaSets }),
		kindOf("apps/v1", "Deployment", true, func(o *Objects) *[]*appsv1.Deployment { return &o.Deployments }),
		kindOf("apps/v1", "StatefulSet", true, func(o *Objects) *[]*appsv1.StatefulSet { return &o.StatefulSets }),
		kindOf("apps/v1", "DaemonSet", true, func(o *Objects) *[]*appsv1.DaemonSet { return &o.DaemonSets }),
		kindOf("batch/v1", "Job", true, func(o *Objects) *[]*batchv1.Job { return &o.Jobs }),
		kindOf("policy/v1", "PodDisruptionBudget", true, func(o *Objects) *[]*policyv1.PodDisruptionBudget { return &o.PodDisruptionBudgets }),
		kindOf("storage.k8s.io/v1", "StorageClass", false, func(o *Objects) *[]*storagev1.StorageClass { return &o.StorageClasses }),
		kindOf("storage.k8s.io/v1", "CSINode", false, func(o *Objects) *[]*storagev1.CSINode { return &o.CSINodes }),
		kindOf("storage.k8s.io/v1", "CSIDriver", false, func(o *Objects) *[]*storagev1.CSIDriver { return &o.CSIDrivers }),
		kindOf("storage.k8s.io/v1", "CSIStorageCapacity", true, func(o *Objects) *[]*storagev1.CSIStorageCapacity { return &o.CSIStorageCapacities }),
		kindOf("storage.k8s.io/v1", "VolumeAttachment", false, func(o *Objects) *[]*storagev1.VolumeAttachment { return &o.VolumeAttachments }),
		kindOf("scheduling.k8s.io/v1", "PriorityClass", false, func(o *Objects) *[]*schedulingv1.PriorityClass { return &o.PriorityClasses }),
	}
}

// passedOver tells the kinds that dumps have among the others and that nobody here reads; they are passed over without a warning.
func passedOver(h header) bool {
	return h.Kind == "HorizontalPodAutoscaler" && (h.APIVersion == "autoscaling/v1" || h.APIVersion == "autoscaling/v2")
}

// each calls f for every object of the API.
func (o *Objects) each(f func(kind apiKind, object object)) {
	for _, kind := range apiKinds() {
		for _, object := range kind.all(o) {
			f(kind, object)
		}
	}
}
