package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Pod fills in what an API server fills into a pod as it is created, except the priority, which depends on other objects: see
// Priorities.Admit. What is set already stays.
func Pod(pod *corev1.Pod) {
	PodSpec(&pod.Spec)
	spec := &pod.Spec
	if *spec.TerminationGracePeriodSeconds < 0 {
		*spec.TerminationGracePeriodSeconds = 1
	}
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
		}
	}
	podRequests(pod)
	for i := range spec.Volumes {
		if ephemeral := spec.Volumes[i].Ephemeral; ephemeral != nil && ephemeral.VolumeClaimTemplate != nil {
			claimSpec(&ephemeral.VolumeClaimTemplate.Spec)
		}
	}
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	tolerate(spec, corev1.TaintNodeNotReady)
	tolerate(spec, corev1.TaintNodeUnreachable)
}

// PodSpec fills in what an API server fills into the specification of a pod wherever one stands, so also in the template of a workload.
func PodSpec(spec *corev1.PodSpec) {
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if spec.TerminationGracePeriodSeconds == nil {
		spec.TerminationGracePeriodSeconds = new(int64(corev1.DefaultTerminationGracePeriodSeconds))
	}
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			roundUp(containers[i].Resources.Requests)
			roundUp(containers[i].Resources.Limits)
			ports(containers[i].Ports, spec.HostNetwork)
		}
	}
	for i := range spec.Volumes {
		// A volume that doesn't say what it is has its own folder on the node.
		if spec.Volumes[i].VolumeSource == (corev1.VolumeSource{}) {
			spec.Volumes[i].EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
	roundUp(spec.Overhead)
}

// ports makes each a port of the node where the pod uses the node's network.
func ports(ports []corev1.ContainerPort, hostNetwork bool) {
	for i := range ports {
		if ports[i].Protocol == "" {
			ports[i].Protocol = corev1.ProtocolTCP
		}
		if hostNetwork && ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
	}
}

// requestLimits lets a container request what it limits and doesn't request.
func requestLimits(resources *corev1.ResourceRequirements) {
	for name, limit := range resources.Limits {
		if _, ok := resources.Requests[name]; ok {
			continue
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = limit.DeepCopy()
	}
}

// podRequests completes the requests of a pod that limits its resources as a whole: those of its containers, where these may get more
// than they request, else the limits.
func podRequests(pod *corev1.Pod) {
	resources := pod.Spec.Resources
	if resources == nil || len(resources.Limits) == 0 {
		return
	}
	set := func(name corev1.ResourceName, quantity resource.Quantity) {
		if _, ok := resources.Requests[name]; ok || !resourcehelper.IsSupportedPodLevelResource(name) {
			return
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = quantity.DeepCopy()
	}
	ofContainers := resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if quantity, ok := ofContainers[name]; ok {
			set(name, quantity)
		}
	}
	for name, limit := range resources.Limits {
		set(name, limit)
	}
}

// roundUp takes away what is finer than a thousandth, as the API does.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		if quantity.RoundUp(resource.Milli) {
			continue // nothing was taken away
		}
		list[name] = quantity
	}
}

// tolerationSeconds is how long pods outlast an unready or unreachable node unless they say so themselves: the default of the API server.
const tolerationSeconds = 300

// tolerate lets the pod outlast for a while the taint that would evict it, unless it tolerates it anyway.
func tolerate(spec *corev1.PodSpec, taint string) {
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return
		}
	}
	spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
		Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(tolerationSeconds)),
	})
}
