package scenario

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/scenario/document"
)

// workload is a number of pods that are alike, and who sees to it.
type workload struct {
	kind, namespace, name string
	// uid is that of the owner; empty: the pods have none.
	uid types.UID
	set *document.PodSet
	// wanted is how many pods there should be.
	wanted int
	// loose is true for pods whose number nobody keeps: only a change of wanted makes or ends some.
	loose bool
	// made are the names of loose pods.
	made []string
}

// key is how workloads are found by name.
func workloadKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// employ makes workloads of the objects and of the Pods documents.
func (w *world) employ(finished document.Finished) error {
	var owners []runtime.Object
	owners = append(owners, each(finished.ReplicaSets)...)
	owners = append(owners, each(finished.StatefulSets)...)
	owners = append(owners, each(finished.Jobs)...)
	owners = append(owners, each(finished.ReplicationControllers)...)
	for _, object := range owners {
		if set, ok := document.PodSetOf(object, w.priorities, 0); ok {
			w.hire(&workload{set: set}, object)
		}
	}
	for _, set := range finished.PodSets {
		hired := &workload{kind: set.Kind, namespace: set.Namespace, name: set.Name, set: set, loose: true}
		if set.Owner != nil {
			w.hire(hired, set.Owner)
		}
		if hired.loose {
			hired.made = namesOf(finished.Pods, set)
			hired.wanted = len(hired.made)
		}
		w.workloads[workloadKey(document.KindPods, set.Namespace, set.Name)] = hired
	}
	return w.rollOut(finished.Deployments)
}

func each[T runtime.Object](typed []T) []runtime.Object {
	out := make([]runtime.Object, 0, len(typed))
	for _, object := range typed {
		out = append(out, object)
	}
	return out
}

// namesOf are the keys of the pods of a set without a controller.
func namesOf(all []*corev1.Pod, set *document.PodSet) []string {
	var names []string
	for _, pod := range all {
		number, numbered := strings.CutPrefix(pod.Name, set.Name+"-")
		if _, err := strconv.Atoi(number); err == nil && numbered && pod.Namespace == set.Namespace {
			names = append(names, keyOf(pod))
		}
	}
	return names
}

// hire makes the controller of the object keep the number of its pods.
func (w *world) hire(hired *workload, object runtime.Object) {
	kind, wanted, kept := wantedBy(object)
	meta, ok := object.(metav1.Object)
	if !ok || !kept {
		return
	}
	hired.kind, hired.namespace, hired.name, hired.uid = kind, meta.GetNamespace(), meta.GetName(), meta.GetUID()
	hired.wanted, hired.loose = wanted, false
	w.workloads[workloadKey(kind, hired.namespace, hired.name)] = hired
	w.ownerOf[hired.uid] = hired
}

// wantedBy is how many pods an object wants; false: no controller here keeps that number.
func wantedBy(object runtime.Object) (kind string, wanted int, kept bool) {
	count := func(replicas *int32) int {
		if replicas == nil {
			return 1
		}
		return int(*replicas)
	}
	switch o := object.(type) {
	case *appsv1.ReplicaSet:
		return kindReplicaSet, count(o.Spec.Replicas), true
	case *appsv1.StatefulSet:
		return kindStatefulSet, count(o.Spec.Replicas), true
	case *corev1.ReplicationController:
		return kindRC, count(o.Spec.Replicas), true
	case *batchv1.Job:
		if o.Spec.Suspend != nil && *o.Spec.Suspend {
			return kindJob, 0, true
		}
		wanted = count(o.Spec.Parallelism)
		if o.Spec.Completions != nil {
			wanted = min(wanted, max(0, int(*o.Spec.Completions-o.Status.Succeeded)))
		}
		return kindJob, wanted, true
	default:
		return "", 0, false
	}
}

// rollOut makes a ReplicaSet for each deployment that has none.
func (w *world) rollOut(deployments []*appsv1.Deployment) error {
	for _, deployment := range deployments {
		owned := slices.ContainsFunc(w.others[kindReplicaSet].all(), func(set metav1.Object) bool {
			owner := metav1.GetControllerOfNoCopy(set)
			return owner != nil && owner.UID == deployment.UID
		})
		if owned {
			continue
		}
		name := deployment.Name + "-1"
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: deployment.Namespace, Name: name, UID: types.UID("ReplicaSet-" + deployment.Namespace + "-" + name),
				Labels: deployment.Spec.Template.Labels, CreationTimestamp: metav1.NewTime(w.now()),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind(kindDeployment))},
			},
			Spec: appsv1.ReplicaSetSpec{Replicas: deployment.Spec.Replicas, Selector: deployment.Spec.Selector, Template: deployment.Spec.Template},
		}
		if err := w.others[kindReplicaSet].put(set); err != nil {
			return storing(kindReplicaSet, set, err)
		}
		if made, ok := document.PodSetOf(set, w.priorities, 0); ok {
			w.hire(&workload{set: made}, set)
		}
	}
	return nil
}

// control is one turn of all controllers.
func (w *world) control(context.Context) error {
	if w.stirred || !w.nextTaintEviction().IsZero() {
		if err := w.evictTainted(); err != nil {
			return err
		}
	}
	if !w.stirred {
		return nil
	}
	if err := w.collect(); err != nil {
		return err
	}
	for _, key := range sortedKeys(w.workloads) {
		if hired := w.workloads[key]; !hired.loose && (hired.kind == kindOf(key)) {
			if err := w.keep(hired); err != nil {
				return err
			}
		}
	}
	if err := w.runDaemonSets(); err != nil {
		return err
	}
	return w.countBudgets()
}

// kindOf is the kind in the key of a workload. A workload that is known as Pods too is kept under the kind of its owner.
func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "/")
	return kind
}

// collect ends pods on nodes that do not exist, and orphans of owners that were deleted.
func (w *world) collect() error {
	for _, name := range sortedKeys(w.pods.onNode) {
		if w.nodes.by[name] != nil {
			continue
		}
		for _, pod := range byKey(w.pods.onNode[name]) {
			if err := w.endPod(keyOf(pod)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep makes pods that are missing and ends those that are too many.
func (w *world) keep(hired *workload) error {
	var active []*corev1.Pod
	ending := 0
	for _, pod := range byKey(w.pods.ofOwner[hired.uid]) {
		switch {
		case ended(pod):
		case pod.DeletionTimestamp != nil:
			ending++
		default:
			active = append(active, pod)
		}
	}
	missing := hired.wanted - len(active)
	if hired.kind == kindStatefulSet {
		missing -= ending // a pod of the same identity must be gone first
	}
	for ; missing > 0; missing-- {
		if _, err := w.makePod(hired); err != nil {
			return err
		}
	}
	for _, pod := range surplus(active, len(active)-hired.wanted) {
		if err := w.deletePod(pod, graceOf(pod)); err != nil {
			return err
		}
	}
	return nil
}

// makePod makes one more pod of the workload.
func (w *world) makePod(hired *workload) (*corev1.Pod, error) {
	for {
		pod := hired.set.Next(w.now(), "")
		if w.pods.by[keyOf(pod)] == nil {
			return pod, w.comePod(pod)
		}
	}
}

// surplus are so many of the pods as a controller ends first: pending ones, those that are not ready, the youngest, by descending name.
func surplus(active []*corev1.Pod, count int) []*corev1.Pod {
	if count <= 0 {
		return nil
	}
	rank := func(pod *corev1.Pod) int {
		switch {
		case pod.Spec.NodeName == "":
			return 0
		case !isReady(pod):
			return 1
		default:
			return 2
		}
	}
	order := slices.Clone(active)
	slices.SortStableFunc(order, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), compareNames(b.Name, a.Name))
	})
	return order[:min(count, len(order))]
}

// compareNames orders names so that web-9 comes before web-10.
func compareNames(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
