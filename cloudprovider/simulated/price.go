package simulated

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// NodePricePerHour is the price of the node's group in the view.
func (c *Cloud) NodePricePerHour(node *corev1.Node) (float64, error) {
	g := c.groupOf(node)
	if g == nil {
		return 0, fmt.Errorf("node %q has no price: it belongs to no node group", node.Name)
	}
	if g.price == 0 {
		return 0, fmt.Errorf("node %q has no price: node group %q has none", node.Name, g.id)
	}
	return g.price, nil
}

// PodPricePerHour looks for the machine on which the pod costs least: the largest share that it takes of any resource, times the
// price. A pod that requests nothing costs nothing.
func (c *Cloud) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	lowest, found := 0.0, false
	for _, g := range c.view.Load().byID {
		if g.price == 0 {
			continue
		}
		for _, v := range g.variants {
			share, ok := shareOf(requests, v.Node.Status.Allocatable)
			if price := share * g.price; ok && (!found || price < lowest) {
				lowest, found = price, true
			}
		}
	}
	if !found {
		return 0, fmt.Errorf("pod %s/%s has no price: no node group with a price offers all that it requests", pod.Namespace, pod.Name)
	}
	return lowest, nil
}

// shareOf is the largest part of a resource that the requests take; ok is false if one is not offered at all.
func shareOf(requests, offered corev1.ResourceList) (share float64, ok bool) {
	for name, wanted := range requests {
		if wanted.IsZero() {
			continue
		}
		has := offered[name]
		if has.IsZero() {
			return 0, false
		}
		share = max(share, wanted.AsApproximateFloat64()/has.AsApproximateFloat64())
	}
	return share, true
}
