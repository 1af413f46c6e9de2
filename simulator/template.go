package simulator

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/simulator/taints"
)

// TemplateNodeLabel marks nodes that exist in simulation only.
const TemplateNodeLabel = "cluster-autoscaler.kubernetes.io/template-node"

// Example is a node from which the template of a node group is made: a live one, or one described by the cloud.
type Example struct {
	Group   string // id of the node group
	Variant string // tells several templates of one group apart; may be empty
	Node    *corev1.Node
	Pods    []*corev1.Pod
	CSINode *storagev1.CSINode // nil: unknown
	// ByCloud: the example was described by the cloud, so labels that only old nodes carry are added.
	ByCloud bool
}

// TemplateRules say what of an example a fresh node will not have.
type TemplateRules struct {
	Taints taints.Rules
	// IgnoreCordon lifts the cordon of the example (--scale-from-unschedulable).
	IgnoreCordon bool
}

// SanitizedTemplate makes the template of a group: a node like the example with a name, UID and hostname of its own, without what is
// passing on the example; with copies of those of its pods that every node of the group will run. Names and
// UIDs follow from group, variant and the example's name, so that the same example gives the same template.
func SanitizedTemplate(example Example, rules TemplateRules) NodeTemplate { return NodeTemplate{} }

// Copy is another node like the template, named after it: name and suffix joined by a dash, with UIDs of its own.
func (t NodeTemplate) Copy(suffix string) NodeTemplate { return NodeTemplate{} }
