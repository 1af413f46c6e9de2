package scenario

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/simulator/defaults"
)

// The kinds that more than their store knows of.
const (
	kindNode        = "Node"
	kindPod         = "Pod"
	kindDeployment  = "Deployment"
	kindReplicaSet  = "ReplicaSet"
	kindStatefulSet = "StatefulSet"
	kindDaemonSet   = "DaemonSet"
	kindJob         = "Job"
	kindRC          = "ReplicationController"
	kindPDB         = "PodDisruptionBudget"
	kindCSINode     = "CSINode"
	kindConfigMap   = "ConfigMap"
)

// otherTables are the tables of the kinds of which only the informers' stores know more.
func otherTables(f informers.SharedInformerFactory) map[string]*table[metav1.Object] {
	core, apps, storage := f.Core().V1(), f.Apps().V1(), f.Storage().V1()
	tables := map[string]*table[metav1.Object]{}
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"Namespace":             core.Namespaces().Informer(),
		"Service":               core.Services().Informer(),
		kindConfigMap:           core.ConfigMaps().Informer(),
		"PersistentVolume":      core.PersistentVolumes().Informer(),
		"PersistentVolumeClaim": core.PersistentVolumeClaims().Informer(),
		"StorageClass":          storage.StorageClasses().Informer(),
		kindCSINode:             storage.CSINodes().Informer(),
		"CSIDriver":             storage.CSIDrivers().Informer(),
		"CSIStorageCapacity":    storage.CSIStorageCapacities().Informer(),
		"VolumeAttachment":      storage.VolumeAttachments().Informer(),
		"PriorityClass":         f.Scheduling().V1().PriorityClasses().Informer(),
		kindDeployment:          apps.Deployments().Informer(),
		kindReplicaSet:          apps.ReplicaSets().Informer(),
		kindStatefulSet:         apps.StatefulSets().Informer(),
		kindJob:                 f.Batch().V1().Jobs().Informer(),
		kindRC:                  core.ReplicationControllers().Informer(),
	} {
		tables[kind] = newTable[metav1.Object](informer.GetStore())
	}
	return tables
}

// listed are the objects of the other kinds.
func listed(o document.Objects) map[string][]metav1.Object {
	return map[string][]metav1.Object{
		"Namespace": objects(o.Namespaces), "Service": objects(o.Services), kindConfigMap: objects(o.ConfigMaps),
		"PersistentVolume": objects(o.PersistentVolumes), "PersistentVolumeClaim": objects(o.PersistentVolumeClaims),
		"StorageClass": objects(o.StorageClasses), kindCSINode: objects(o.CSINodes), "CSIDriver": objects(o.CSIDrivers),
		"CSIStorageCapacity": objects(o.CSIStorageCapacities), "VolumeAttachment": objects(o.VolumeAttachments),
		"PriorityClass": objects(o.PriorityClasses), kindDeployment: objects(o.Deployments), kindReplicaSet: objects(o.ReplicaSets),
		kindStatefulSet: objects(o.StatefulSets), kindJob: objects(o.Jobs), kindRC: objects(o.ReplicationControllers),
	}
}

func objects[T metav1.Object](typed []T) []metav1.Object {
	out := make([]metav1.Object, 0, len(typed))
	for _, object := range typed {
		out = append(out, object)
	}
	return out
}

// adopt takes finished objects over: what is new is created, what exists is replaced.
func (w *world) adopt(finished document.Finished) error {
	w.stirred = true
	lists := listed(finished.Objects)
	for _, kind := range sortedKeys(lists) {
		for _, object := range lists[kind] {
			if err := w.others[kind].put(object); err != nil {
				return storing(kind, object, err)
			}
		}
	}
	if len(finished.PriorityClasses) > 0 {
		w.readPriorities()
	}
	for _, group := range finished.Groups {
		if err := w.putGroup(group); err != nil {
			return err
		}
	}
	for _, node := range finished.Nodes {
		if err := w.joinNode(node); err != nil {
			return err
		}
	}
	for _, set := range finished.DaemonSets {
		if err := w.sets.put(set); err != nil {
			return storing(kindDaemonSet, set, err)
		}
	}
	for _, budget := range finished.PodDisruptionBudgets {
		if err := w.budgets.put(budget); err != nil {
			return storing(kindPDB, budget, err)
		}
	}
	for _, pod := range finished.Pods {
		if err := w.comePod(pod); err != nil {
			return err
		}
	}
	return w.employ(finished)
}

func storing(kind string, object metav1.Object, err error) error {
	return fmt.Errorf("storing %s %s: %w", kind, keyOf(object), err)
}

// readPriorities learns what the priority classes say about pods that controllers make.
func (w *world) readPriorities() {
	w.priorities = defaults.NewPriorities(w.priorityClasses())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// putNode creates or replaces a node.
func (w *world) putNode(node *corev1.Node) error {
	w.stirred = true
	if err := w.nodes.put(node); err != nil {
		return storing(kindNode, node, err)
	}
	delete(w.gone, node.Name)
	return nil
}

// changeNode replaces a node by a changed copy; one that does not exist stays so.
func (w *world) changeNode(name string, change func(*corev1.Node)) error {
	node := w.nodes.by[name]
	if node == nil {
		return nil
	}
	node = node.DeepCopy()
	change(node)
	return w.putNode(node)
}

// putPod creates or replaces a pod.
func (w *world) putPod(pod *corev1.Pod) error {
	w.stirred = true
	if err := w.pods.put(pod); err != nil {
		return storing(kindPod, pod, err)
	}
	return nil
}

// changePod replaces a pod by a changed copy. What the pod's specification consists of stays shared.
func (w *world) changePod(pod *corev1.Pod, change func(*corev1.Pod)) error {
	changed := *pod
	change(&changed)
	return w.putPod(&changed)
}
