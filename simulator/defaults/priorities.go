package defaults

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
)

// Priorities are the priority classes of a cluster, those that every cluster has among them. The zero value has only these.
type Priorities struct {
	classes       map[string]*schedulingv1.PriorityClass
	globalDefault *schedulingv1.PriorityClass
}
