package report

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Minimum is how much of a resource the cluster has to keep: whole cores, bytes of memory, nodes, or accelerators of a type.
type Minimum struct {
	Resource string
	// Usage is what there is without the nodes that go in the same iteration, Takes what the node has of it.
	Usage, Takes, Min int64
}

// String names the resource and the numbers, memory in the units of manifests.
func (m Minimum) String() string {
	return fmt.Sprintf("%s %s less %s, minimum %s", m.Resource, m.amount(m.Usage), m.amount(m.Takes), m.amount(m.Min))
}

func (m Minimum) amount(n int64) string {
	if m.Resource == string(corev1.ResourceMemory) {
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}
