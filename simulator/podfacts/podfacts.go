package podfacts

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
)

// The annotations that say what kind of pod this is.
const (
	// DaemonSetPodAnnotation marks a pod as one that runs on every node, when its value is "true".
	DaemonSetPodAnnotation = "cluster-autoscaler.kubernetes.io/daemonset-pod"
	// ConfigSourceAnnotation is set by the kubelet; every value but "api" means a static pod.
	ConfigSourceAnnotation = "kubernetes.io/config.source"
)

// longTerminatingMargin is how much longer than its grace period a pod may take to end before it no longer counts.
const longTerminatingMargin = 30 * time.Second

// tpuResourcePrefix starts the names of resources that exist only while a pod runs and that no node offers.
const tpuResourcePrefix = "cloud-tpus.google.com/"

// IsDaemonSet tells a pod that runs on every node: its controller is of kind DaemonSet (of any API group), or it is
// annotated as such.
func IsDaemonSet(pod *corev1.Pod) bool {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "DaemonSet" {
		return true
	}
	return pod.Annotations[DaemonSetPodAnnotation] == "true"
}

// IsMirror tells the API server's image of a pod that the kubelet runs from a file.
func IsMirror(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// IsStatic tells a pod whose source is the kubelet's own, not the API server.
func IsStatic(pod *corev1.Pod) bool {
	source, ok := pod.Annotations[ConfigSourceAnnotation]
	return ok && source != "api"
}

// IsExpendable tells a pod whose priority is set and below the cut-off: it neither causes nor prevents any scaling.
func IsExpendable(pod *corev1.Pod, cutoff int) bool {
	return pod.Spec.Priority != nil && int64(*pod.Spec.Priority) < int64(cutoff)
}

// IsLongTerminating tells a pod that should have ended long ago: at the time at, more than its grace period (30 s if not
// set) and another 30 s have passed since its deletion time.
func IsLongTerminating(pod *corev1.Pod, at time.Time) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return pod.DeletionTimestamp.Add(time.Duration(grace)*time.Second + longTerminatingMargin).Before(at)
}

// Priority is the pod's priority, 0 if it has none.
func Priority(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// HasResourceClaims tells a pod that uses dynamically allocated devices, through claims of its own or because the scheduler
// made one for an extended resource. Such a pod is not simulated.
func HasResourceClaims(pod *corev1.Pod) bool {
	return len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil
}

// Requests is what the pod asks of its node, as the scheduler counts it: the larger of the sum of its containers with their
// sidecars and of its greediest initialisation stage, plus overhead; resources of the pod level and those of a resize in
// progress take part. The list is a new one.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	return resource.PodRequests(pod, resource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}

// RequestsOf adds up what the pods ask for of one resource after the other, as Requests has it. Pods of one workload that share their containers in memory
// are looked at once.
type RequestsOf struct {
	last *corev1.Pod
	list corev1.ResourceList
}

// Next is what the next pod asks for. It is valid until the next call and must not be changed.
func (r *RequestsOf) Next(pod *corev1.Pod) corev1.ResourceList {
	if r.last == nil || !sharesRequests(r.last, pod) {
		r.list = Requests(pod)
	}
	r.last = pod
	return r.list
}

// sharesRequests tells two pods whose requests are the same pieces of memory. Those of which the status has a say are never among them.
func sharesRequests(a, b *corev1.Pod) bool {
	return sameArray(a.Spec.Containers, b.Spec.Containers) && sameArray(a.Spec.InitContainers, b.Spec.InitContainers) &&
		a.Spec.Resources == b.Spec.Resources && len(a.Spec.Overhead)+len(b.Spec.Overhead) == 0 &&
		bySpec(&a.Status) && bySpec(&b.Status)
}

func sameArray(a, b []corev1.Container) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func bySpec(status *corev1.PodStatus) bool {
	return len(status.ContainerStatuses)+len(status.InitContainerStatuses)+len(status.AllocatedResources) == 0 && status.Resources == nil
}

// Key names the pod among all others: its UID, or namespace/name if it has none.
func Key(pod *corev1.Pod) string {
	if pod.UID != "" {
		return string(pod.UID)
	}
	return pod.Namespace + "/" + pod.Name
}

// WithoutTPURequests is the pod without the container requests that no node ever offers; the pod itself if it has none.
func WithoutTPURequests(pod *corev1.Pod) *corev1.Pod {
	if !hasTPURequests(pod) {
		return pod
	}
	out := *pod
	out.Spec.Containers = append([]corev1.Container(nil), pod.Spec.Containers...)
	for i := range out.Spec.Containers {
		kept := corev1.ResourceList{}
		for name, quantity := range out.Spec.Containers[i].Resources.Requests {
			if !strings.HasPrefix(string(name), tpuResourcePrefix) {
				kept[name] = quantity
			}
		}
		out.Spec.Containers[i].Resources.Requests = kept
	}
	return &out
}

func hasTPURequests(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		for name := range pod.Spec.Containers[i].Resources.Requests {
			if strings.HasPrefix(string(name), tpuResourcePrefix) {
				return true
			}
		}
	}
	return false
}
