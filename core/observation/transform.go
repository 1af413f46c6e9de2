package observation

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// trimmer makes objects smaller before they are stored: it drops what nothing here reads and lets equal parts share memory.
// It is safe for concurrent use.
type trimmer struct {
	mu     sync.Mutex // guards labels and owners
	labels map[string]map[string]string
	owners map[string][]metav1.OwnerReference
}

// sharedParts bounds how many distinct label sets and owner lists are kept for sharing. Beyond it, sharing starts anew.
const sharedParts = 50_000

func newTrimmer() *trimmer {
	return &trimmer{labels: map[string]map[string]string{}, owners: map[string][]metav1.OwnerReference{}}
}

// transform is a cache.TransformFunc. It may change the object, which nobody else has seen yet, and never fails.
func (t *trimmer) transform(object any) (any, error) {
	if deleted, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return deleted, nil
	}
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	switch o := object.(type) {
	case *corev1.Pod:
		t.pod(o)
	case *corev1.Node:
		o.Status.Images = nil
		o.Status.VolumesInUse = nil
	}
	return object, nil
}

// annotationPrefixes are the keys of pod annotations that are read somewhere (operator-surface 5.1).
var annotationPrefixes = []string{
	"cluster-autoscaler.kubernetes.io/", "autoscaling.x-k8s.io/", "kubernetes.io/config.", "podtype", "podType",
}

func (t *trimmer) pod(pod *corev1.Pod) {
	pod.Labels = t.share(pod.Labels)
	pod.OwnerReferences = t.shareOwners(pod.OwnerReferences)
	pod.Annotations = kept(pod.Annotations)
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			containers[i] = trimmedContainer(containers[i])
		}
	}
	pod.Spec.EphemeralContainers = nil
	pod.Spec.HostAliases = nil
	pod.Spec.DNSConfig = nil
	pod.Spec.ImagePullSecrets = nil
	for _, statuses := range []*[]corev1.ContainerStatus{&pod.Status.ContainerStatuses, &pod.Status.InitContainerStatuses} {
		*statuses = trimmedStatuses(*statuses)
	}
	pod.Status.EphemeralContainerStatuses = nil
	pod.Status.PodIPs, pod.Status.HostIPs = nil, nil
	pod.Status.Conditions = slices.DeleteFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type != corev1.PodScheduled && c.Type != corev1.PodReady && c.Type != corev1.DisruptionTarget
	})
}

// trimmedContainer keeps what takes part in scheduling: name, image, resources, ports, volume mounts, restart policy.
func trimmedContainer(c corev1.Container) corev1.Container {
	return corev1.Container{
		Name: c.Name, Image: c.Image, Ports: c.Ports, Resources: c.Resources, ResizePolicy: c.ResizePolicy,
		RestartPolicy: c.RestartPolicy, VolumeMounts: c.VolumeMounts, VolumeDevices: c.VolumeDevices,
	}
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

func kept(annotations map[string]string) map[string]string {
	var out map[string]string
	for key, value := range annotations {
		if !slices.ContainsFunc(annotationPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}

func (t *trimmer) share(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	keys := make([]string, 0, len(labels))
	for key := range labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var print strings.Builder
	for _, key := range keys {
		print.WriteString(key + "\x00" + labels[key] + "\x00")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return intern(t.labels, print.String(), labels)
}

func (t *trimmer) shareOwners(owners []metav1.OwnerReference) []metav1.OwnerReference {
	if len(owners) != 1 {
		return owners
	}
	o := owners[0]
	controller := o.Controller != nil && *o.Controller
	print := strings.Join([]string{o.APIVersion, o.Kind, o.Name, string(o.UID)}, "\x00")
	if controller {
		print += "\x00controller"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return intern(t.owners, print, owners)
}

func intern[T any](known map[string]T, print string, value T) T {
	if shared, ok := known[print]; ok {
		return shared
	}
	if len(known) >= sharedParts {
		clear(known)
	}
	known[print] = value
	return value
}
