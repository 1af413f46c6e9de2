package defaults

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// Priorities are the priority classes of a cluster, those that every cluster has among them. The zero value has only these. It is never
// changed and may be used concurrently.
type Priorities struct {
	classes       map[string]*schedulingv1.PriorityClass
	globalDefault *schedulingv1.PriorityClass // nil: pods without a class have priority 0
}

// The classes that every cluster has.
const (
	systemClusterCritical         = "system-cluster-critical"
	systemClusterCriticalPriority = 2_000_000_000
	systemNodeCritical            = "system-node-critical"
	systemNodeCriticalPriority    = 2_000_001_000
)

// NewPriorities takes the classes of a cluster. Where several are the global default, the one with the lowest value is.
func NewPriorities(classes []*schedulingv1.PriorityClass) Priorities {
	p := Priorities{classes: make(map[string]*schedulingv1.PriorityClass, len(classes))}
	for _, class := range classes {
		p.classes[class.Name] = class
		if class.GlobalDefault && (p.globalDefault == nil || class.Value < p.globalDefault.Value) {
			p.globalDefault = class
		}
	}
	return p
}

// Admit fills in the priority and the preemption policy that the pod's class gives it, or the global default does. A priority that is
// set stays: the pod comes from a cluster that knew the class. The error says that there is no such class.
func (p Priorities) Admit(spec *corev1.PodSpec) error {
	if spec.Priority != nil {
		return nil
	}
	name, value, preemption := p.find(spec.PriorityClassName)
	if name != spec.PriorityClassName && spec.PriorityClassName != "" {
		return fmt.Errorf("there is no PriorityClass %q", spec.PriorityClassName)
	}
	spec.PriorityClassName, spec.Priority = name, &value
	if spec.PreemptionPolicy == nil {
		spec.PreemptionPolicy = &preemption
	}
	return nil
}

// find returns the class of that name, for an empty one the default; the name is empty if there is none.
func (p Priorities) find(name string) (found string, value int32, preemption corev1.PreemptionPolicy) {
	class := p.classes[name]
	if name == "" {
		class = p.globalDefault
	}
	switch {
	case class != nil:
		preemption = corev1.PreemptLowerPriority
		if class.PreemptionPolicy != nil {
			preemption = *class.PreemptionPolicy
		}
		return class.Name, class.Value, preemption
	case name == systemClusterCritical:
		return name, systemClusterCriticalPriority, corev1.PreemptLowerPriority
	case name == systemNodeCritical:
		return name, systemNodeCriticalPriority, corev1.PreemptLowerPriority
	default:
		return "", 0, corev1.PreemptLowerPriority
	}
}
