package simtest

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Epoch is when everything that simtest builds was created.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant in all but name

// NodeBuilder builds a node. Every method returns a changed copy, so that a builder can be the common start of several nodes.
type NodeBuilder struct{ node *corev1.Node }

// Node starts a ready node with 4 CPUs, 16 GiB and 110 pods, a hostname label and a provider id, created at Epoch.
func Node(name string) NodeBuilder {
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	return NodeBuilder{&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("node-" + name), CreationTimestamp: metav1.NewTime(Epoch),
			Labels: map[string]string{corev1.LabelHostname: name},
		},
		Spec: corev1.NodeSpec{ProviderID: "test:///" + name},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: maps.Clone(resources),
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.NewTime(Epoch),
			}},
		},
	}}
}

func (b NodeBuilder) with(change func(*corev1.Node)) NodeBuilder {
	node := b.node.DeepCopy()
	change(node)
	return NodeBuilder{node}
}

// Build returns the node; every call returns another object.
func (b NodeBuilder) Build() *corev1.Node { return b.node.DeepCopy() }

// CPU sets capacity and allocatable, as "2" or "1500m".
func (b NodeBuilder) CPU(quantity string) NodeBuilder {
	return b.Resource(corev1.ResourceCPU, quantity)
}

// Memory sets capacity and allocatable, as "8Gi".
func (b NodeBuilder) Memory(quantity string) NodeBuilder {
	return b.Resource(corev1.ResourceMemory, quantity)
}

// MaxPods sets how many pods the node takes.
func (b NodeBuilder) MaxPods(quantity string) NodeBuilder {
	return b.Resource(corev1.ResourcePods, quantity)
}

// Resource sets capacity and allocatable of any resource; an empty quantity removes it.
func (b NodeBuilder) Resource(name corev1.ResourceName, quantity string) NodeBuilder {
	return b.with(func(n *corev1.Node) {
		if quantity == "" {
			delete(n.Status.Capacity, name)
			delete(n.Status.Allocatable, name)
			return
		}
		n.Status.Capacity[name] = resource.MustParse(quantity)
		n.Status.Allocatable[name] = resource.MustParse(quantity)
	})
}

// Label adds a label.
func (b NodeBuilder) Label(key, value string) NodeBuilder {
	return b.with(func(n *corev1.Node) { n.Labels[key] = value })
}

// Zone sets the zone label.
func (b NodeBuilder) Zone(zone string) NodeBuilder { return b.Label(corev1.LabelTopologyZone, zone) }

// Annotation adds an annotation.
func (b NodeBuilder) Annotation(key, value string) NodeBuilder {
	return b.with(func(n *corev1.Node) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, value) })
}

// Taint adds a taint.
func (b NodeBuilder) Taint(key, value string, effect corev1.TaintEffect) NodeBuilder {
	return b.with(func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	})
}

// Cordoned sets spec.unschedulable.
func (b NodeBuilder) Cordoned() NodeBuilder {
	return b.with(func(n *corev1.Node) { n.Spec.Unschedulable = true })
}

// CreatedAt sets the time of creation.
func (b NodeBuilder) CreatedAt(at time.Time) NodeBuilder {
	return b.with(func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(at) })
}

// Condition sets a condition that changed at the given time.
func (b NodeBuilder) Condition(kind corev1.NodeConditionType, status corev1.ConditionStatus, at time.Time) NodeBuilder {
	return b.with(func(n *corev1.Node) {
		condition := corev1.NodeCondition{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(at)}
		for i := range n.Status.Conditions {
			if n.Status.Conditions[i].Type == kind {
				n.Status.Conditions[i] = condition
				return
			}
		}
		n.Status.Conditions = append(n.Status.Conditions, condition)
	})
}

// NotReady makes the node not ready since the given time, with the taint that Kubernetes then sets.
func (b NodeBuilder) NotReady(since time.Time) NodeBuilder {
	return b.Condition(corev1.NodeReady, corev1.ConditionFalse, since).Taint(corev1.TaintNodeNotReady, "", corev1.TaintEffectNoSchedule)
}

// ProviderID sets spec.providerID.
func (b NodeBuilder) ProviderID(id string) NodeBuilder {
	return b.with(func(n *corev1.Node) { n.Spec.ProviderID = id })
}

// With changes anything else.
func (b NodeBuilder) With(change func(*corev1.Node)) NodeBuilder { return b.with(change) }
