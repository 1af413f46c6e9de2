package observation

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// resource is one kind of object that the Source reads.
type resource struct {
	// name is the plural, with the group where it is not the core group, as in RBAC rules.
	name string
	// required resources are waited for; without the others a feature is off.
	required bool
	// probe asks for one object, to learn whether the kind exists and may be listed.
	probe func(ctx context.Context, client kubernetes.Interface, one metav1.ListOptions) error
	// informer is the kind's informer in the factory.
	informer func(factory informers.SharedInformerFactory) cache.SharedIndexInformer
}

// Names of the resources that others ask about.
const (
	resourcePods      = "pods"
	resourceNodes     = "nodes"
	resourcePDBs      = "poddisruptionbudgets.policy"
	resourceDaemonSet = "daemonsets.apps"
	resourceRS        = "replicasets.apps"
	resourceSS        = "statefulsets.apps"
	resourceJobs      = "jobs.batch"
	resourceRC        = "replicationcontrollers"
	resourceCSINodes  = "csinodes.storage.k8s.io"
)

// resources lists everything that is read, those that are required first. The scheduler's filters read the storage objects,
// namespaces and services from the same informers.
func resources() []resource {
	return append(coreResources(), append(workloadResources(), storageResources()...)...)
}

func coreResources() []resource {
	return []resource{
		{resourceNodes, true,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().Nodes().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().Nodes().Informer()
			}},
		{resourcePods, true,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().Pods("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().Pods().Informer()
			}},
		{"namespaces", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().Namespaces().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().Namespaces().Informer()
			}},
		{"services", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().Services("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().Services().Informer()
			}},
		{"priorityclasses.scheduling.k8s.io", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.SchedulingV1().PriorityClasses().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Scheduling().V1().PriorityClasses().Informer()
			}},
		{resourcePDBs, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.PolicyV1().PodDisruptionBudgets("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Policy().V1().PodDisruptionBudgets().Informer()
			}},
	}
}

func workloadResources() []resource {
	return []resource{
		{resourceDaemonSet, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.AppsV1().DaemonSets("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Apps().V1().DaemonSets().Informer()
			}},
		{resourceRS, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.AppsV1().ReplicaSets("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Apps().V1().ReplicaSets().Informer()
			}},
		{resourceSS, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.AppsV1().StatefulSets("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Apps().V1().StatefulSets().Informer()
			}},
		{resourceJobs, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.BatchV1().Jobs("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Batch().V1().Jobs().Informer()
			}},
		{resourceRC, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().ReplicationControllers("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().ReplicationControllers().Informer()
			}},
	}
}

func storageResources() []resource {
	return []resource{
		{"persistentvolumeclaims", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().PersistentVolumeClaims("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().PersistentVolumeClaims().Informer()
			}},
		{"persistentvolumes", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.CoreV1().PersistentVolumes().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Core().V1().PersistentVolumes().Informer()
			}},
		{"storageclasses.storage.k8s.io", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.StorageV1().StorageClasses().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Storage().V1().StorageClasses().Informer()
			}},
		{resourceCSINodes, false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.StorageV1().CSINodes().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Storage().V1().CSINodes().Informer()
			}},
		{"csidrivers.storage.k8s.io", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.StorageV1().CSIDrivers().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Storage().V1().CSIDrivers().Informer()
			}},
		{"csistoragecapacities.storage.k8s.io", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.StorageV1().CSIStorageCapacities("").List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Storage().V1().CSIStorageCapacities().Informer()
			}},
		{"volumeattachments.storage.k8s.io", false,
			func(ctx context.Context, c kubernetes.Interface, one metav1.ListOptions) error {
				return probed(c.StorageV1().VolumeAttachments().List(ctx, one))
			},
			func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
				return f.Storage().V1().VolumeAttachments().Informer()
			}},
	}
}

// probed keeps what a probe is interested in.
func probed[T any](_ T, err error) error { return err }
