package observation

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// trimmer makes objects smaller before they are stored: it drops what nothing here reads, neither this program nor the scheduler's
// filters, and lets equal parts share memory. It is safe for concurrent use.
type trimmer struct{ pool *pool }

func newTrimmer() *trimmer { return &trimmer{pool: newPool()} }

// NewTransform is what a Source stores objects through, for those who hold objects that no informer has brought. It changes them and never
// fails; parts of what it returns are shared. It is safe for concurrent use.
func NewTransform() cache.TransformFunc { return newTrimmer().transform }

// transform is a cache.TransformFunc. It may change the object, which nobody else has seen yet, and never fails.
func (t *trimmer) transform(object any) (any, error) {
	if deleted, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return deleted, nil
	}
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
		if annotations := accessor.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
	}
	switch o := object.(type) {
	case *corev1.Pod:
		t.pod(o)
	case *corev1.Node:
		o.Status.Images, o.Status.VolumesInUse, o.Status.VolumesAttached = nil, nil, nil
	case *appsv1.DaemonSet:
		t.spec(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		t.spec(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		t.spec(&o.Spec.Template.Spec)
	case *batchv1.Job:
		t.spec(&o.Spec.Template.Spec)
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			t.spec(&o.Spec.Template.Spec)
		}
	}
	return object, nil
}

func (t *trimmer) pod(pod *corev1.Pod) {
	pod.Namespace = t.pool.text(pod.Namespace)
	pod.Labels = t.pool.stringMap(pod.Labels)
	pod.OwnerReferences = t.pool.ownerList(pod.OwnerReferences)
	pod.Annotations = t.pool.stringMap(keptAnnotations(pod.Annotations))
	t.spec(&pod.Spec)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		t.pool.shape(owner.UID, &pod.Spec)
	}
	pod.Spec.NodeName = t.pool.text(pod.Spec.NodeName)

	for _, statuses := range []*[]corev1.ContainerStatus{&pod.Status.ContainerStatuses, &pod.Status.InitContainerStatuses} {
		*statuses = trimmedStatuses(*statuses)
	}
	pod.Status.EphemeralContainerStatuses = nil
	pod.Status.PodIPs, pod.Status.HostIPs = nil, nil
	pod.Status.Conditions = keptConditions(pod.Status.Conditions)
}

// spec trims a pod's specification, of a pod or of the template of one.
func (t *trimmer) spec(spec *corev1.PodSpec) {
	spec.Containers = t.pool.containerList(trimmedContainers(spec.Containers))
	spec.InitContainers = t.pool.containerList(trimmedContainers(spec.InitContainers))
	spec.Tolerations = t.pool.tolerationList(spec.Tolerations)
	spec.NodeSelector = t.pool.stringMap(spec.NodeSelector)
	spec.Volumes = keptVolumes(spec.Volumes)
	spec.EphemeralContainers = nil
	spec.HostAliases = nil
	spec.DNSConfig = nil
	spec.ImagePullSecrets = nil
	spec.SchedulerName = t.pool.text(spec.SchedulerName)
	spec.ServiceAccountName, spec.DeprecatedServiceAccount = t.pool.text(spec.ServiceAccountName), t.pool.text(spec.DeprecatedServiceAccount)
}

// trimmedContainers keeps what takes part in scheduling. The rules of restart and the options of bind mounts are features that a node has to
// declare.
func trimmedContainers(containers []corev1.Container) []corev1.Container {
	for i, c := range containers {
		kept := corev1.Container{
			Name: c.Name, Image: c.Image, Ports: c.Ports, Resources: c.Resources, ResizePolicy: c.ResizePolicy,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
		}
		for _, mount := range c.VolumeMounts {
			if len(mount.BindMountOptions) > 0 {
				kept.VolumeMounts = append(kept.VolumeMounts, mount)
			}
		}
		containers[i] = kept
	}
	return containers
}

// keptVolumes leaves out the volumes that are the same on every node: nothing is attached or moved for them.
func keptVolumes(volumes []corev1.Volume) []corev1.Volume {
	kept := slices.DeleteFunc(volumes, func(v corev1.Volume) bool {
		return v.Projected != nil || v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil
	})
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// trimmedStatuses keeps the resources in use, which count for a pod that is being resized; none if no container has any.
func trimmedStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range statuses {
		if s.Resources != nil || len(s.AllocatedResources) > 0 {
			out = append(out, corev1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources})
		}
	}
	return out
}

// keptConditions keeps the conditions that somebody reads, without their texts for people. Those of a resize say which requests count.
func keptConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	kept := slices.DeleteFunc(conditions, func(c corev1.PodCondition) bool {
		switch c.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget, corev1.PodResizePending, corev1.PodResizeInProgress:
			return false
		default:
			return true
		}
	})
	for i := range kept {
		kept[i].Message = ""
	}
	return kept
}

// annotationPrefixes are the keys of pod annotations that are read somewhere (operator-surface 5.1).
func annotationPrefixes() []string {
	return []string{"cluster-autoscaler.kubernetes.io/", "autoscaling.x-k8s.io/", "kubernetes.io/config.", "podtype", "podType"}
}

func keptAnnotations(annotations map[string]string) map[string]string {
	var out map[string]string
	for key, value := range annotations {
		if !slices.ContainsFunc(annotationPrefixes(), func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}
