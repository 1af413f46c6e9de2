package randomcluster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator/simtest"
)

// Pod makes a pod that has no node yet; no two have the same name.
func (g *Generator) Pod() *corev1.Pod {
	g.count++
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Pick(g.Choices, metav1.NamespaceDefault, "ns-a", metav1.NamespaceDefault, "ns-b", metav1.NamespaceDefault, "ns-unknown"),
			Name:      fmt.Sprint("p", g.count), UID: types.UID(fmt.Sprint("pod-", g.count)), CreationTimestamp: metav1.NewTime(simtest.Epoch),
		},
		Spec: corev1.PodSpec{
			Containers:    []corev1.Container{{Name: "main", Image: "example/main"}},
			RestartPolicy: corev1.RestartPolicyAlways,
			SchedulerName: corev1.DefaultSchedulerName,
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	pod.Labels = g.podLabels()
	if g.Chance(8) {
		pod.UID = "" // from a file, not from an API server
	}
	g.request(pod)
	g.tolerate(pod)
	if g.Chance(22) {
		g.selectNodes(pod)
	}
	if g.Chance(18) {
		g.takePorts(pod)
	}
	if g.Chance(34) {
		g.nearPods(pod)
	}
	if g.Chance(26) {
		g.spread(pod)
	}
	if g.Chance(14) {
		g.mount(pod)
	}
	if g.Chance(25) {
		g.rare(pod)
	}
	return pod
}

// podLabels come from few values, but for the one that is unique.
func (g *Generator) podLabels() map[string]string {
	labels := map[string]string{"app": Pick(g.Choices, "a0", "a1", "a2")}
	if g.Chance(50) {
		labels["tier"] = Pick(g.Choices, "t0", "t1")
	}
	if g.Chance(50) {
		labels["pod-template-hash"] = Pick(g.Choices, "h0", "h1")
	}
	if g.Chance(60) {
		labels["id"] = fmt.Sprint("id-", g.count)
	}
	if g.Chance(4) {
		return nil
	}
	return labels
}

func (g *Generator) request(pod *corev1.Pod) {
	first := &pod.Spec.Containers[0]
	first.Resources.Requests = g.requests()
	if g.Chance(15) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "second", Resources: corev1.ResourceRequirements{Requests: g.requests()}})
	}
	if g.Chance(12) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
			Name: "init", Resources: corev1.ResourceRequirements{Requests: g.requests()},
		})
	}
	if g.Chance(12) {
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{
			Name: "sidecar", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: g.requests()},
		})
	}
	if g.Chance(6) {
		pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("100Mi")}
	}
	if g.Chance(8) { // room for all containers together
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(Pick(g.Choices, "1", "3")), corev1.ResourceMemory: resource.MustParse("1Gi"),
		}}
	}
}

func (g *Generator) requests() corev1.ResourceList {
	if g.Chance(25) {
		return nil
	}
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(Pick(g.Choices, "100m", "500m", "1", "200m", "0", "2"))}
	if g.Chance(60) {
		list[corev1.ResourceMemory] = resource.MustParse(Pick(g.Choices, "128Mi", "1Gi", "100Mi", "3Gi", "0"))
	}
	if g.Chance(7) {
		list[corev1.ResourceEphemeralStorage] = resource.MustParse(Pick(g.Choices, "500Mi", "2Gi"))
	}
	if g.Chance(7) {
		list[Pick(g.Choices, gpu, nic, fpga)] = resource.MustParse(Pick(g.Choices, "1", "2", "0"))
	}
	if g.Chance(2) {
		list[hugePages] = resource.MustParse("2Mi")
	}
	return list
}

func (g *Generator) tolerate(pod *corev1.Pod) {
	if !g.Chance(50) {
		return
	}
	for range 1 + g.Of(2) {
		toleration := corev1.Toleration{
			Key: Pick(g.Choices, "dedicated", "special", "level", "", corev1.TaintNodeUnschedulable), Operator: corev1.TolerationOpExists,
			Effect: Pick(g.Choices, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		}
		switch {
		case toleration.Key == "level" && g.Chance(50):
			toleration.Operator, toleration.Value = Pick(g.Choices, corev1.TolerationOpLt, corev1.TolerationOpGt), Pick(g.Choices, "1", "2")
		case toleration.Key != "" && g.Chance(50):
			toleration.Operator, toleration.Value = Pick(g.Choices, corev1.TolerationOpEqual, ""), Pick(g.Choices, "db", "web", "", "2")
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
}

func (g *Generator) takePorts(pod *corev1.Pod) {
	pod.Spec.HostNetwork = g.Chance(20)
	for range 1 + g.Of(2) {
		port := Pick[int32](g.Choices, 8080, 8081, 8080, 8080, 0)
		container := &pod.Spec.Containers[0]
		if len(pod.Spec.InitContainers) > 0 && g.Chance(50) {
			container = &pod.Spec.InitContainers[0]
		}
		container.Ports = append(container.Ports, corev1.ContainerPort{
			ContainerPort: 80, HostPort: port, HostIP: Pick(g.Choices, "", "0.0.0.0", "127.0.0.1", "10.0.0.1", ""),
			Protocol: Pick(g.Choices, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP, ""),
		})
	}
}

// rare are things that few pods have.
func (g *Generator) rare(pod *corev1.Pod) {
	switch g.Of(10) {
	case 0, 1:
		pod.Spec.HostNetwork, pod.Spec.HostUsers = true, new(false) // asks for UserNamespacesHostNetworkSupport
	case 2, 3:
		pod.Spec.Containers = slices.Clone(pod.Spec.Containers)
		pod.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	case 4:
		priority := Pick[int32](g.Choices, 100, -20)
		pod.Spec.Priority = &priority
	case 5, 6:
		pod.OwnerReferences = []metav1.OwnerReference{Pick(g.Choices,
			owner("apps/v1", "ReplicaSet", "rs"), owner("apps/v1", "StatefulSet", "ss"), owner("v1", "ReplicationController", "rc"),
			owner("batch/v1", "Job", "job"), owner("apps/v1", "ReplicaSet", "gone"))}
	case 7:
		pod.Status.NominatedNodeName = g.NodeName()
	case 8:
		deleted := metav1.NewTime(simtest.Epoch.Add(time.Hour))
		pod.DeletionTimestamp = &deleted
	case 9:
		if g.Chance(50) { // made by the scheduler, for an extended resource
			pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "device"}
			return
		}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: new("device")}}
	}
}

// Running makes a pod that lies on the node, or is nominated for it.
func (g *Generator) Running(node string) *corev1.Pod {
	pod := g.Pod()
	pod.Status.NominatedNodeName = ""
	if g.Chance(12) {
		pod.Status.NominatedNodeName = node
		return pod
	}
	pod.Spec.NodeName, pod.Status.Phase = node, corev1.PodRunning
	if g.Chance(12) {
		deleted := metav1.NewTime(simtest.Epoch.Add(time.Hour))
		pod.DeletionTimestamp = &deleted
	}
	if g.Chance(3) { // the same for the pod as a whole
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
		pod.Status.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}}
		pod.Status.AllocatedResources = pod.Status.Resources.Requests
	}
	if g.Chance(6) { // being made smaller: what it holds still counts
		held := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("2Gi")}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", AllocatedResources: held, Resources: &corev1.ResourceRequirements{Requests: held},
		}}
	}
	return pod
}

// Sibling makes another pod of the same kind: all that tells them apart is names, and perhaps the label that is unique.
func (g *Generator) Sibling(pod *corev1.Pod) *corev1.Pod {
	g.count++
	out := pod.DeepCopy()
	if g.Chance(30) { // as copies are made for a template: they share what is the same
		shallow := *pod
		out = &shallow
	}
	out.Name = fmt.Sprint("p", g.count)
	if out.UID != "" {
		out.UID = types.UID(fmt.Sprint("pod-", g.count))
	}
	if out.Labels["id"] != "" {
		out.Labels = maps.Clone(out.Labels)
		out.Labels["id"] = fmt.Sprint("id-", g.count)
	}
	return out
}

// Changed makes a newer object of the same pod, which differs in one thing that has a say; it shares the rest with the older one.
func (g *Generator) Changed(pod *corev1.Pod) *corev1.Pod {
	out := *pod
	switch g.Of(12) {
	case 0:
		out.Labels = g.podLabels()
	case 1:
		out.Spec.NodeSelector = map[string]string{poolLabel: Pick(g.Choices, "a", "b")}
	case 2:
		out.Spec.Tolerations = nil
		g.tolerate(&out)
	case 3:
		out.Spec.Containers = slices.Clone(out.Spec.Containers)
		out.Spec.Containers[0].Resources.Requests = g.requests()
	case 4:
		out.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	case 5:
		out.Spec.Affinity = nil
		g.nearPods(&out)
	case 6:
		out.Spec.TopologySpreadConstraints = nil
		g.spread(&out)
	case 7:
		out.Spec.Volumes = nil
		g.mount(&out)
	case 8:
		out.Spec.Containers, out.Spec.InitContainers = slices.Clone(out.Spec.Containers), slices.Clone(out.Spec.InitContainers)
		g.takePorts(&out)
	case 9:
		out.DeletionTimestamp = Pick(g.Choices, new(metav1.NewTime(simtest.Epoch.Add(time.Hour))), nil)
	case 10:
		out.OwnerReferences = nil
		g.rare(&out)
	case 11:
		out.Spec.HostNetwork, out.Spec.HostUsers = true, new(false)
	}
	return &out
}

func owner(version, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: version, Kind: kind, Name: name, UID: types.UID(kind + "-" + name), Controller: new(true)}
}
