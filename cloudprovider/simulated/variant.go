package simulated

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
)

// GroupAnnotation on a node names its group. Templates and all nodes made from them carry it.
const GroupAnnotation = "scenario.cluster-autoscaler/node-group"

// variant is a template with its missing parts filled in, and the facts about it that the cloud asks often. It never changes.
type variant struct {
	cloudprovider.TemplateVariant
	zone, instanceType string
}

// variantsOf completes copies of the templates of a valid group.
func variantsOf(g Group) []*variant {
	variants := make([]*variant, len(g.Templates))
	for i := range g.Templates {
		t := copyVariant(g.Templates[i])
		t.Key = variantKey(t)
		t.Weight = max(t.Weight, 1)
		if t.Promise == cloudprovider.PromiseUnset {
			t.Promise = cloudprovider.PromiseCertain
		}
		completeNode(t.Node, g.ID)
		variants[i] = &variant{
			TemplateVariant: t,
			zone:            t.Node.Labels[corev1.LabelTopologyZone],
			instanceType:    t.Node.Labels[corev1.LabelInstanceTypeStable],
		}
	}
	return variants
}

// completeNode fills in what nearly every template would say alike.
func completeNode(node *corev1.Node, group cloudprovider.GroupID) {
	labels := map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	maps.Copy(labels, node.Labels)
	node.Labels = labels
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[GroupAnnotation] = string(group)
	if len(node.Status.Allocatable) == 0 {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	ready := func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }
	if !slices.ContainsFunc(node.Status.Conditions, ready) {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		})
	}
}

// copyVariant returns a copy that shares no object with v.
func copyVariant(v cloudprovider.TemplateVariant) cloudprovider.TemplateVariant {
	v.Node = v.Node.DeepCopy()
	v.CSINode = v.CSINode.DeepCopy()
	pods := make([]*corev1.Pod, len(v.Pods))
	for i, pod := range v.Pods {
		pods[i] = pod.DeepCopy()
	}
	v.Pods = pods
	return v
}

// nodeOf makes the node of a machine as it registers at the given time.
func (v *variant) nodeOf(name, providerID string, at time.Time) *corev1.Node {
	node := v.Node.DeepCopy()
	node.Name = name
	node.UID = types.UID(providerID)
	node.CreationTimestamp = metav1.NewTime(at)
	node.Labels[corev1.LabelHostname] = name
	node.Spec.ProviderID = providerID
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastTransitionTime = metav1.NewTime(at)
		node.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(at)
	}
	return node
}

// csiNodeOf makes the CSINode of a node; nil where the template has none.
func (v *variant) csiNodeOf(name string) *storagev1.CSINode {
	if v.CSINode == nil {
		return nil
	}
	csiNode := v.CSINode.DeepCopy()
	csiNode.Name = name
	for i := range csiNode.Spec.Drivers {
		csiNode.Spec.Drivers[i].NodeID = name
	}
	return csiNode
}

// podsOf makes the pods that run on a node from the start.
func (v *variant) podsOf(name string) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(v.Pods))
	for i, template := range v.Pods {
		pod := template.DeepCopy()
		pod.Name += "-" + name
		pod.UID = types.UID(pod.Namespace + "/" + pod.Name)
		pod.Spec.NodeName = name
		pods[i] = pod
	}
	return pods
}

// sortedKeys returns the keys in ascending order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
