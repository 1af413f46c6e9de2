package simtest

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// store puts the object where a lister of its kind finds it.
func store(tb testing.TB, factory informers.SharedInformerFactory, object runtime.Object) {
	tb.Helper()
	informer := informerOf(factory, object)
	if informer == nil {
		tb.Fatalf("simtest has no store for a %T", object)
	}
	if err := informer.GetStore().Add(object); err != nil {
		tb.Fatalf("storing a %T: %v", object, err)
	}
}

func informerOf(factory informers.SharedInformerFactory, object runtime.Object) cache.SharedIndexInformer {
	core, apps, storage := factory.Core().V1(), factory.Apps().V1(), factory.Storage().V1()
	switch object.(type) {
	case *corev1.Namespace:
		return core.Namespaces().Informer()
	case *corev1.PersistentVolume:
		return core.PersistentVolumes().Informer()
	case *corev1.PersistentVolumeClaim:
		return core.PersistentVolumeClaims().Informer()
	case *corev1.Service:
		return core.Services().Informer()
	case *corev1.ReplicationController:
		return core.ReplicationControllers().Informer()
	case *appsv1.ReplicaSet:
		return apps.ReplicaSets().Informer()
	case *appsv1.StatefulSet:
		return apps.StatefulSets().Informer()
	case *storagev1.StorageClass:
		return storage.StorageClasses().Informer()
	case *storagev1.CSIDriver:
		return storage.CSIDrivers().Informer()
	case *storagev1.CSINode:
		return storage.CSINodes().Informer()
	case *storagev1.CSIStorageCapacity:
		return storage.CSIStorageCapacities().Informer()
	case *storagev1.VolumeAttachment:
		return storage.VolumeAttachments().Informer()
	default:
		return nil
	}
}
