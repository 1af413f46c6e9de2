package simulator

import (
	"hash/fnv"
	"maps"
	"math"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/taints"
)

// TemplateNodeLabel marks nodes that exist in simulation only. By it the scheduler matches storage capacity to them.
const TemplateNodeLabel = "cluster-autoscaler.kubernetes.io/template-node"

// doksNodeID is the label by which a node of DigitalOcean Kubernetes is deleted. Its value is not part of the provider ID.
const doksNodeID = "doks.digitalocean.com/node-id"

// nameLength is from which length on a label's value that equals a name of the node counts as that name. Shorter ones, such as a number or a role, may
// equal it by chance.
const nameLength = 8

// Example is a node from which the template of a node group is made: a live one, or one described by the cloud.
type Example struct {
	Group   string // id of the node group
	Variant string // tells several templates of one group apart; may be empty
	Node    *corev1.Node
	Pods    []*corev1.Pod
	CSINode *storagev1.CSINode // nil: unknown
	// ByCloud: the example was described by the cloud, so the old names of the type, region and zone labels are added.
	ByCloud bool
}

// TemplateRules say what of an example a fresh node will not have.
type TemplateRules struct {
	Taints taints.Rules
	// IgnoreCordon lifts the cordon of the example (--scale-from-unschedulable).
	IgnoreCordon bool
}

// SanitizedTemplate makes the template of a group: a node like the example with a name, UID and hostname of its own, without what belongs to that one
// machine, such as its provider ID, addresses and labels that name it, so that nobody takes the template for the machine; without the taints that are
// passing; with copies of those of its pods that every node of the group will run: mirror and DaemonSet pods that
// aren't being deleted. The name is template-node-for-<group>-<number>; number and UIDs follow from group, variant and the example's
// name, so that the same example gives the same template. The example is not changed.
func SanitizedTemplate(example Example, rules TemplateRules) NodeTemplate {
	number := fingerprint(example.Group, example.Variant, example.Node.Name)
	node := renamed(example.Node, "template-node-for-"+example.Group+"-"+number)
	dropIdentity(node, example.Node)
	node.Labels[TemplateNodeLabel] = "true"
	node.Spec.Taints = rules.Taints.Lasting(node.Spec.Taints)
	if rules.IgnoreCordon {
		node.Spec.Unschedulable = false
	}
	if example.ByCloud {
		addOldLabels(node.Labels)
	}
	var kept []*corev1.Pod
	for _, pod := range example.Pods {
		if pod.DeletionTimestamp == nil && (podfacts.IsMirror(pod) || podfacts.IsDaemonSet(pod)) {
			kept = append(kept, pod)
		}
	}
	return NodeTemplate{Node: node, CSINode: csiNodeOf(node, example.CSINode), Pods: podsOn(node, kept, number)}
}

// Copy is another node like the template, named after it: name and suffix joined by a dash, with UIDs of its own. It shares with
// the template what doesn't differ.
func (t NodeTemplate) Copy(suffix string) NodeTemplate {
	node := renamed(t.Node, t.Node.Name+"-"+suffix)
	return NodeTemplate{Node: node, CSINode: csiNodeOf(node, t.CSINode), Pods: podsOn(node, t.Pods, suffix)}
}

// fingerprint is a number of 63 bits that follows from the texts.
func fingerprint(texts ...string) string {
	hash := fnv.New64a()
	for _, text := range texts {
		_, _ = hash.Write(append([]byte(text), 0)) // never fails; the zero keeps "ab","c" from "a","bc"
	}
	return strconv.FormatUint(hash.Sum64()&math.MaxInt64, 10)
}

func renamed(node *corev1.Node, name string) *corev1.Node {
	out := *node
	out.Name, out.UID = name, types.UID(name)
	out.Labels = maps.Clone(node.Labels)
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[corev1.LabelHostname] = name
	return &out
}

// dropIdentity takes from the node, which was made from the example, what says which machine that is.
func dropIdentity(node, example *corev1.Node) {
	node.DeletionTimestamp, node.OwnerReferences, node.Finalizers, node.ManagedFields = nil, nil, nil, nil
	node.Spec.ProviderID, node.Spec.PodCIDR, node.Spec.PodCIDRs = "", "", nil
	node.Status.Addresses, node.Status.VolumesInUse, node.Status.VolumesAttached, node.Status.Config = nil, nil, nil, nil
	node.Status.NodeInfo.MachineID, node.Status.NodeInfo.SystemUUID, node.Status.NodeInfo.BootID = "", "", ""
	machine := example.Spec.ProviderID[strings.LastIndexByte(example.Spec.ProviderID, '/')+1:]
	hostname := example.Labels[corev1.LabelHostname]
	for key, value := range node.Labels {
		if key == doksNodeID || len(value) >= nameLength && (value == example.Name || value == hostname || value == machine) {
			delete(node.Labels, key)
		}
	}
	node.Labels[corev1.LabelHostname] = node.Name
}

// addOldLabels sets the names that selectors written long ago still use.
func addOldLabels(labels map[string]string) {
	for stable, old := range map[string]string{
		corev1.LabelInstanceTypeStable: corev1.LabelInstanceType,
		corev1.LabelTopologyRegion:     corev1.LabelFailureDomainBetaRegion,
		corev1.LabelTopologyZone:       corev1.LabelFailureDomainBetaZone,
	} {
		if value, ok := labels[stable]; ok {
			labels[old] = value
		}
	}
}

func podsOn(node *corev1.Node, pods []*corev1.Pod, suffix string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		placed := *pod
		placed.Name += "-" + suffix
		placed.UID = types.UID(placed.Namespace + "/" + placed.Name)
		placed.Spec.NodeName = node.Name
		out = append(out, &placed)
	}
	return out
}

func csiNodeOf(node *corev1.Node, csi *storagev1.CSINode) *storagev1.CSINode {
	if csi == nil {
		return nil
	}
	out := *csi
	out.Name, out.UID = node.Name, types.UID("csinode-"+node.Name)
	out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
	return &out
}
