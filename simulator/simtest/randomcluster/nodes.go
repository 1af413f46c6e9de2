package randomcluster

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// The labels of nodes, beside the well-known ones.
const (
	rackLabel = "example.com/rack"
	poolLabel = "example.com/pool"
	sizeLabel = "example.com/size"        // a number
	idLabel   = "example.com/instance-id" // unique
)

// The resources beside the well-known ones.
const (
	gpu       = corev1.ResourceName("example.com/gpu")
	nic       = corev1.ResourceName("example.com/nic")
	fpga      = corev1.ResourceName("other.example/fpga")
	hugePages = corev1.ResourceName("hugepages-2Mi")
)

const driver = "csi.example.com"

// maxNodes is how many names of nodes there are.
const maxNodes = 9

// NodeName is one of a few, so that names meet again.
func (g *Generator) NodeName() string { return fmt.Sprintf("n%d", g.Of(maxNodes)) }

// Node makes a node of this name; no two have the same UID.
func (g *Generator) Node(name string) *corev1.Node {
	g.count++
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("node-%s-%d", name, g.count)), CreationTimestamp: metav1.NewTime(simtest.Epoch),
			Labels: map[string]string{idLabel: fmt.Sprint("i-", g.count)},
		},
	}
	g.labelNode(node)
	g.sizeNode(node)
	node.Spec.Unschedulable = g.Chance(8)
	if g.Chance(28) {
		node.Spec.Taints = append(node.Spec.Taints, g.taint())
		if g.Chance(30) {
			node.Spec.Taints = append(node.Spec.Taints, g.taint())
		}
	}
	if g.Chance(60) {
		node.Status.DeclaredFeatures = Pick(g.Choices,
			[]string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"},
			[]string{"RestartAllContainersOnContainerExits"}, []string{"UserNamespacesHostNetworkSupport"}, []string{"SomethingElse"})
	}
	return node
}

// NodeLike makes a node of the same group as another, which differs in little but names.
func (g *Generator) NodeLike(example *corev1.Node, name string) *corev1.Node {
	g.count++
	node := example.DeepCopy()
	node.Name, node.UID = name, types.UID(fmt.Sprintf("node-%s-%d", name, g.count))
	node.Labels[idLabel] = fmt.Sprint("i-", g.count)
	if _, ok := node.Labels[corev1.LabelHostname]; ok {
		node.Labels[corev1.LabelHostname] = name
	}
	if g.Chance(30) {
		node.Labels[corev1.LabelTopologyZone] = Pick(g.Choices, "z0", "z1", "z2")
	}
	return node
}

func (g *Generator) labelNode(node *corev1.Node) {
	labels := node.Labels
	switch labels[corev1.LabelHostname] = node.Name; g.Of(10) {
	case 8:
		labels[corev1.LabelHostname] = "n0" // that of another node
	case 9:
		delete(labels, corev1.LabelHostname)
	}
	if zone := Pick(g.Choices, "z0", "z1", "z2", "z0", "z1", "z0", "z1", "none"); zone != "none" {
		labels[corev1.LabelTopologyZone] = zone
	} else if g.Chance(20) {
		labels[corev1.LabelTopologyZone] = "" // is a zone too
	}
	if rack := Pick(g.Choices, "r0", "r1", ""); rack != "" {
		labels[rackLabel] = rack
	}
	if pool := Pick(g.Choices, "a", "b", "a", ""); pool != "" {
		labels[poolLabel] = pool
	}
	if g.Chance(60) {
		labels[sizeLabel] = Pick(g.Choices, "1", "4", "8", "large")
	}
}

func (g *Generator) sizeNode(node *corev1.Node) {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(Pick(g.Choices, "4", "8", "2", "7500m", "8", "16", "8", "0")),
		corev1.ResourceMemory: resource.MustParse(Pick(g.Choices, "8Gi", "16Gi", "4Gi")),
		corev1.ResourcePods:   resource.MustParse(Pick(g.Choices, "110", "110", "8", "110", "110", "5", "110", "1")),
	}
	if g.Chance(60) {
		list[corev1.ResourceEphemeralStorage] = resource.MustParse(Pick(g.Choices, "10Gi", "2Gi"))
	}
	for _, name := range []corev1.ResourceName{gpu, nic, fpga} {
		if g.Chance(45) {
			list[name] = resource.MustParse(Pick(g.Choices, "2", "1", "4", "0"))
		}
	}
	if g.Chance(20) {
		list[hugePages] = resource.MustParse("4Mi")
	}
	if g.Chance(3) {
		list = nil // what a node reports before it is measured
	}
	node.Status.Allocatable, node.Status.Capacity = list, list.DeepCopy()
}

func (g *Generator) taint() corev1.Taint {
	effect := Pick(g.Choices, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	if g.Chance(30) {
		return corev1.Taint{Key: "level", Value: Pick(g.Choices, "1", "2", "3"), Effect: effect}
	}
	return corev1.Taint{Key: Pick(g.Choices, "dedicated", "special"), Value: Pick(g.Choices, "db", "web", ""), Effect: effect}
}

// CSINode makes the volume limits of a node of this name; no two are the same object.
func (g *Generator) CSINode(name string) *storagev1.CSINode {
	g.count++
	csi := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint("csi-", g.count))}}
	if g.Chance(80) {
		limit := int32(Pick(g.Choices, 1, 1, 2, 16))
		csi.Spec.Drivers = []storagev1.CSINodeDriver{{Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &limit}}}
	}
	return csi
}

// Template makes the template of a node group, with the pods that every node of it will have.
func (g *Generator) Template(group string) simulator.NodeTemplate {
	node := g.Node("example-" + group)
	example := simulator.Example{Group: group, Node: node, ByCloud: g.Chance(30)}
	if g.Chance(50) {
		example.CSINode = g.CSINode(node.Name)
	}
	for range g.Of(3) {
		pod := g.Pod()
		pod.Spec.NodeName = node.Name
		pod.OwnerReferences = []metav1.OwnerReference{owner("apps/v1", "DaemonSet", "ds")}
		example.Pods = append(example.Pods, pod)
	}
	return simulator.SanitizedTemplate(example, simulator.TemplateRules{IgnoreCordon: g.Chance(50)})
}
