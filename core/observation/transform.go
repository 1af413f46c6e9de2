package observation

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	if pod, ok := object.(*corev1.Pod); ok {
		t.pod(pod)
		return pod, nil
	}
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
		if annotations := accessor.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
	}
	switch o := object.(type) {
	case *corev1.Node:
		o.Status.Images, o.Status.VolumesInUse, o.Status.VolumesAttached = nil, nil, nil
	case *appsv1.DaemonSet:
		t.template(&o.Spec.Template.Spec)
	case *appsv1.ReplicaSet:
		t.template(&o.Spec.Template.Spec)
	case *appsv1.StatefulSet:
		t.template(&o.Spec.Template.Spec)
	case *batchv1.Job:
		t.template(&o.Spec.Template.Spec)
	case *corev1.ReplicationController:
		if o.Spec.Template != nil {
			t.template(&o.Spec.Template.Spec)
		}
	}
	return object, nil
}

func (t *trimmer) pod(pod *corev1.Pod) {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	var controller types.UID
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind != "Job" { // most Jobs have one pod only, and one Job looks like the other
		controller = owner.UID
	}
	kin := t.pool.kinOf(pod.Namespace, controller)
	trimMeta(t.pool, &pod.ObjectMeta, kin)
	trimSpec(t.pool, &pod.Spec, &kin.spec)
	trimStatus(t.pool, pod, kin)
}

// template trims the specification of pods that are still to be made.
func (t *trimmer) template(spec *corev1.PodSpec) {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	trimSpec(t.pool, spec, &corev1.PodSpec{})
}

// The following functions make a part of a pod smaller. Where what is left equals the part that the pod's kin had last, it becomes that very part,
// which is found out before anything is made.

func trimMeta(p *pool, m *metav1.ObjectMeta, kin *kin) {
	m.ManagedFields, m.Finalizers, m.GenerateName = nil, nil, ""
	m.Namespace = kin.namespace
	m.Labels = share(&kin.labels, m.Labels, sameMap, p.stringMap)
	m.OwnerReferences = share(&kin.owners, m.OwnerReferences, sameOwners, p.ownerList)
	m.Annotations = share(&kin.annotations, m.Annotations, sameAnnotations, func(annotations map[string]string) map[string]string {
		return p.stringMap(keptAnnotations(annotations))
	})
}

func trimSpec(p *pool, spec, kin *corev1.PodSpec) {
	containers := func(containers []corev1.Container) []corev1.Container {
		return p.containerList(trimmedContainers(containers))
	}
	spec.Containers = share(&kin.Containers, spec.Containers, sameContainers, containers)
	spec.InitContainers = share(&kin.InitContainers, spec.InitContainers, sameContainers, containers)
	spec.Tolerations = share(&kin.Tolerations, spec.Tolerations, sameTolerations, p.tolerationList)
	spec.NodeSelector = share(&kin.NodeSelector, spec.NodeSelector, sameMap, p.stringMap)
	spec.Volumes = share(&kin.Volumes, spec.Volumes, sameVolumes, keptVolumes)
	spec.Affinity = sharePart(&kin.Affinity, spec.Affinity)
	spec.TopologySpreadConstraints = shareList(&kin.TopologySpreadConstraints, spec.TopologySpreadConstraints)
	spec.Overhead = share(&kin.Overhead, spec.Overhead, sameAmounts, asItIs)
	spec.Resources = sharePart(&kin.Resources, spec.Resources)
	spec.ResourceClaims = shareList(&kin.ResourceClaims, spec.ResourceClaims)
	spec.SchedulingGroup = sharePart(&kin.SchedulingGroup, spec.SchedulingGroup)
	spec.OS = share(&kin.OS, spec.OS, samePointer, asItIs)
	spec.HostUsers = share(&kin.HostUsers, spec.HostUsers, samePointer, asItIs)
	spec.Priority = share(&kin.Priority, spec.Priority, samePointer, asItIs)
	spec.PreemptionPolicy = share(&kin.PreemptionPolicy, spec.PreemptionPolicy, samePointer, asItIs)
	spec.TerminationGracePeriodSeconds = share(&kin.TerminationGracePeriodSeconds, spec.TerminationGracePeriodSeconds, samePointer, asItIs)
	spec.SchedulerName = shareText(p, &kin.SchedulerName, spec.SchedulerName)
	spec.PriorityClassName = shareText(p, &kin.PriorityClassName, spec.PriorityClassName)
	spec.RestartPolicy = shareText(p, &kin.RestartPolicy, spec.RestartPolicy)
	spec.NodeName = p.text(spec.NodeName)

	spec.EphemeralContainers, spec.HostAliases, spec.DNSConfig, spec.ImagePullSecrets, spec.ReadinessGates = nil, nil, nil, nil, nil
	spec.SecurityContext, spec.ActiveDeadlineSeconds, spec.AutomountServiceAccountToken, spec.EnableServiceLinks = nil, nil, nil, nil
	spec.ShareProcessNamespace, spec.SetHostnameAsFQDN, spec.RuntimeClassName, spec.HostnameOverride = nil, nil, nil, nil
	spec.ServiceAccountName, spec.DeprecatedServiceAccount, spec.DNSPolicy, spec.Hostname, spec.Subdomain = "", "", "", "", ""
}

func trimStatus(p *pool, pod *corev1.Pod, kin *kin) {
	status := &pod.Status
	status.Phase = shareText(p, &kin.phase, status.Phase)
	status.NominatedNodeName = p.text(status.NominatedNodeName)
	status.Conditions = share(&kin.conditions, status.Conditions, sameConditions, keptConditions)
	if asSpecified(pod) {
		status.ContainerStatuses, status.InitContainerStatuses = nil, nil
	} else {
		status.ContainerStatuses = trimmedStatuses(status.ContainerStatuses)
		status.InitContainerStatuses = trimmedStatuses(status.InitContainerStatuses)
	}
	status.EphemeralContainerStatuses, status.PodIPs, status.HostIPs, status.StartTime = nil, nil, nil, nil
	status.PodIP, status.HostIP, status.Message, status.Reason, status.QOSClass = "", "", "", "", ""
}

// trimmedContainers keeps what takes part in scheduling. The rules of restart and the options of bind mounts are features that a node has to
// declare.
func trimmedContainers(containers []corev1.Container) []corev1.Container {
	for i := range containers {
		c := &containers[i]
		containers[i] = corev1.Container{
			Name: c.Name, Image: c.Image, Ports: c.Ports, Resources: c.Resources, ResizePolicy: c.ResizePolicy,
			RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules, VolumeMounts: keptMounts(c.VolumeMounts),
		}
	}
	return containers
}

func keptMounts(mounts []corev1.VolumeMount) (kept []corev1.VolumeMount) {
	for i := range mounts {
		if len(mounts[i].BindMountOptions) > 0 {
			kept = append(kept, mounts[i])
		}
	}
	return kept
}

// keptVolumes leaves out the volumes that are the same on every node: nothing is attached or moved for them.
func keptVolumes(volumes []corev1.Volume) (kept []corev1.Volume) {
	for i := range volumes {
		if keepsVolume(&volumes[i]) {
			kept = append(kept, volumes[i])
		}
	}
	return kept
}

func keepsVolume(v *corev1.Volume) bool {
	return v.Projected == nil && v.ConfigMap == nil && v.Secret == nil && v.DownwardAPI == nil
}

// trimmedStatuses keeps the resources in use, which count for a pod that is being resized; none if no container has any.
func trimmedStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range statuses {
		if s := &statuses[i]; s.Resources != nil || len(s.AllocatedResources) > 0 {
			out = append(out, corev1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources})
		}
	}
	return out
}

// asSpecified tells a pod of which no container has more than its specification asks for, so that the latter is what counts. It is not looked at closer
// while a resize is pending.
func asSpecified(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodResizePending {
			return false
		}
	}
	return noneHasMore(pod.Status.ContainerStatuses, pod.Spec.Containers) && noneHasMore(pod.Status.InitContainerStatuses, pod.Spec.InitContainers)
}

func noneHasMore(statuses []corev1.ContainerStatus, containers []corev1.Container) bool {
	for i := range statuses {
		s := &statuses[i]
		if s.Resources == nil && len(s.AllocatedResources) == 0 {
			continue
		}
		at := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == s.Name })
		if at < 0 {
			return false
		}
		asked := containers[at].Resources.Requests
		if s.Resources != nil && exceeds(s.Resources.Requests, asked) || exceeds(s.AllocatedResources, asked) {
			return false
		}
	}
	return true
}

func exceeds(list, limit corev1.ResourceList) bool {
	for name, quantity := range list {
		if quantity.Cmp(limit[name]) > 0 {
			return true
		}
	}
	return false
}

// keptConditions keeps the conditions that somebody reads, without their texts for people. Those of a resize say which requests count. Nobody asks
// since when a pod is as it is, except for one that was refused.
func keptConditions(conditions []corev1.PodCondition) (kept []corev1.PodCondition) {
	for i := range conditions {
		if c := &conditions[i]; keepsCondition(c) {
			kept = append(kept, trimmedCondition(c))
		}
	}
	return slices.Clip(kept)
}

func keepsCondition(c *corev1.PodCondition) bool {
	switch c.Type {
	case corev1.PodScheduled, corev1.PodReady, corev1.DisruptionTarget, corev1.PodResizePending, corev1.PodResizeInProgress:
		return true
	default:
		return false
	}
}

func trimmedCondition(c *corev1.PodCondition) corev1.PodCondition {
	kept := corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason}
	if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
		kept.LastTransitionTime = c.LastTransitionTime
	}
	return kept
}

// readAnnotation tells the annotations of pods that are read somewhere (operator-surface 5.1).
func readAnnotation(key string) bool {
	return strings.HasPrefix(key, "cluster-autoscaler.kubernetes.io/") || strings.HasPrefix(key, "autoscaling.x-k8s.io/") ||
		strings.HasPrefix(key, "kubernetes.io/config.") || strings.HasPrefix(key, "podtype") || strings.HasPrefix(key, "podType")
}

func keptAnnotations(annotations map[string]string) map[string]string {
	var out map[string]string
	for key, value := range annotations {
		if !readAnnotation(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = value
	}
	return out
}
