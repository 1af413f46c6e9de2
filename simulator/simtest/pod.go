package simtest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// PodBuilder builds a pod. Every method returns a changed copy, so that a builder can be the common start of several pods.
type PodBuilder struct{ pod *corev1.Pod }

// Pod starts a pending pod in namespace "default" with one container that requests nothing, created at Epoch.
func Pod(name string) PodBuilder {
	return PodBuilder{&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("pod-default-" + name), CreationTimestamp: metav1.NewTime(Epoch),
		},
		Spec: corev1.PodSpec{
			Containers:    []corev1.Container{{Name: "main", Image: "example/main"}},
			RestartPolicy: corev1.RestartPolicyAlways,
			SchedulerName: corev1.DefaultSchedulerName,
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}}
}

func (b PodBuilder) with(change func(*corev1.Pod)) PodBuilder {
	pod := b.pod.DeepCopy()
	change(pod)
	return PodBuilder{pod}
}

// Build returns the pod; every call returns another object.
func (b PodBuilder) Build() *corev1.Pod { return b.pod.DeepCopy() }

// Namespace moves the pod to another namespace.
func (b PodBuilder) Namespace(namespace string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Namespace = namespace
		p.UID = types.UID("pod-" + namespace + "-" + p.Name)
	})
}

// Requests sets what the first container asks for, as "100m" and "1Gi"; an empty text asks for nothing.
func (b PodBuilder) Requests(cpu, memory string) PodBuilder {
	return b.Request(corev1.ResourceCPU, cpu).Request(corev1.ResourceMemory, memory)
}

// Request sets what the first container asks of one resource; an empty quantity removes it.
func (b PodBuilder) Request(name corev1.ResourceName, quantity string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		resources := &p.Spec.Containers[0].Resources
		if quantity == "" {
			delete(resources.Requests, name)
			return
		}
		if resources.Requests == nil {
			resources.Requests = corev1.ResourceList{}
		}
		resources.Requests[name] = resource.MustParse(quantity)
	})
}

// Label adds a label.
func (b PodBuilder) Label(key, value string) PodBuilder {
	return b.with(func(p *corev1.Pod) { metav1.SetMetaDataLabel(&p.ObjectMeta, key, value) })
}

// Annotation adds an annotation.
func (b PodBuilder) Annotation(key, value string) PodBuilder {
	return b.with(func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, value) })
}

// OwnedBy sets the controller; apps/v1 for ReplicaSet, StatefulSet and DaemonSet, batch/v1 for Job, v1 for
// ReplicationController, example.com/v1 for others.
func (b PodBuilder) OwnedBy(kind, name string) PodBuilder {
	version := "example.com/v1"
	switch kind {
	case "ReplicaSet", "StatefulSet", "DaemonSet":
		version = "apps/v1"
	case "Job":
		version = "batch/v1"
	case "ReplicationController":
		version = "v1"
	}
	return b.ControlledBy(metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID(kind + "-" + name)})
}

// ControlledBy sets the controller to any reference.
func (b PodBuilder) ControlledBy(owner metav1.OwnerReference) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		controller := true
		owner.Controller = &controller
		p.OwnerReferences = []metav1.OwnerReference{owner}
	})
}

// On makes the pod run on the node.
func (b PodBuilder) On(node string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.Phase = corev1.PodRunning
	})
}

// Nominated makes the scheduler hold room for the pod on the node.
func (b PodBuilder) Nominated(node string) PodBuilder {
	return b.with(func(p *corev1.Pod) { p.Status.NominatedNodeName = node })
}

// Unschedulable adds the condition that the scheduler sets when it finds no node.
func (b PodBuilder) Unschedulable(since time.Time) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(since),
		})
	})
}

// CreatedAt sets the time of creation.
func (b PodBuilder) CreatedAt(at time.Time) PodBuilder {
	return b.with(func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at) })
}

// DeletedAt sets the deletion time.
func (b PodBuilder) DeletedAt(at time.Time) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		deleted := metav1.NewTime(at)
		p.DeletionTimestamp = &deleted
	})
}

// Grace sets the grace period in seconds.
func (b PodBuilder) Grace(seconds int64) PodBuilder {
	return b.with(func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds })
}

// Priority sets the priority.
func (b PodBuilder) Priority(priority int32) PodBuilder {
	return b.with(func(p *corev1.Pod) { p.Spec.Priority = &priority })
}

// HostPort makes the first container take a TCP port of its node.
func (b PodBuilder) HostPort(port int32) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		c := &p.Spec.Containers[0]
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP})
	})
}

// NodeSelector demands a label of the node.
func (b PodBuilder) NodeSelector(key, value string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[key] = value
	})
}

// Tolerates tolerates all taints with the key; an empty key tolerates everything.
func (b PodBuilder) Tolerates(key string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	})
}

// AntiAffinity keeps the pod away from pods with the label, within one value of the topology key.
func (b PodBuilder) AntiAffinity(topologyKey, key, value string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(topologyKey, key, value)}
	})
}

// Affinity demands a pod with the label within the same value of the topology key.
func (b PodBuilder) Affinity(topologyKey, key, value string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		affinity(p).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms(topologyKey, key, value)}
	})
}

// Spread adds a hard topology spread constraint over pods with the label.
func (b PodBuilder) Spread(topologyKey string, maxSkew int32, key, value string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: topologyKey, MaxSkew: maxSkew, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		})
	})
}

// Claim mounts a PersistentVolumeClaim of the pod's namespace.
func (b PodBuilder) Claim(name string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "claim-" + name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	})
}

// EmptyDir adds a volume on the node's own storage.
func (b PodBuilder) EmptyDir(name string, medium corev1.StorageMedium) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium},
		}})
	})
}

// HostPath adds a volume that is a folder of the node.
func (b PodBuilder) HostPath(name string) PodBuilder {
	return b.with(func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/" + name},
		}})
	})
}

// DaemonSet makes it a pod of the DaemonSet.
func (b PodBuilder) DaemonSet(name string) PodBuilder { return b.OwnedBy("DaemonSet", name) }

// Mirror makes it the image of a static pod.
func (b PodBuilder) Mirror() PodBuilder {
	return b.Annotation(corev1.MirrorPodAnnotationKey, "mirror").Annotation(podfacts.ConfigSourceAnnotation, "file")
}

// With changes anything else.
func (b PodBuilder) With(change func(*corev1.Pod)) PodBuilder { return b.with(change) }

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func terms(topologyKey, key, value string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{
		TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
	}}
}
