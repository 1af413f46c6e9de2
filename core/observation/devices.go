package observation

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/readiness"
)

// awaitDevices overrides the readiness of nodes that lack a device which every variant of their group promises (aws 9). They are waited for as long as
// any node may take to start; what has not come by then is not coming. The snapshot keeps the nodes as they are.
func awaitDevices(seen *Observation) {
	groups := map[cloudprovider.GroupID]promise{}
	for i := range seen.Groups {
		group := &seen.Groups[i]
		if devices := devicesOf(group.Variants); len(devices) > 0 {
			groups[group.ID] = promise{devices, group.Options.MaxNodeStartupTime}
		}
	}
	if len(groups) == 0 {
		return
	}
	var lacking []int
	for i, node := range seen.Nodes {
		id := seen.Members[node.Name]
		promised, ok := groups[id]
		switch {
		case !ok || has(node, promised.devices):
		case node.CreationTimestamp.Add(promised.startup).After(seen.At):
			lacking = append(lacking, i)
		case runsPods(seen.Snapshot, node.Name): // nodes do without for long: the promise is wrong
			delete(groups, id)
		}
	}
	shared := true
	for _, i := range lacking {
		node := seen.Nodes[i]
		if _, ok := groups[seen.Members[node.Name]]; !ok || node.Spec.Unschedulable || !readiness.Of(node).Ready {
			continue
		}
		if shared {
			seen.Nodes, shared = slices.Clone(seen.Nodes), false
		}
		seen.Nodes[i] = readiness.Override(node, readiness.ReasonResourceNotReady)
	}
}

// promise is what the nodes of a group will have, and for how long after their registration it is waited for.
type promise struct {
	devices []corev1.ResourceName
	startup time.Duration
}

// runsPods tells a node on which pods run that the scheduler put there.
func runsPods(snapshot *simulator.Snapshot, node string) bool {
	return slices.ContainsFunc(snapshot.Pods(node), func(pod *corev1.Pod) bool { return !podfacts.IsDaemonSet(pod) && !podfacts.IsMirror(pod) })
}

// devicesOf are the extended resources that all of the variants have.
func devicesOf(variants []cloudprovider.TemplateVariant) []corev1.ResourceName {
	var out []corev1.ResourceName
	if len(variants) == 0 || variants[0].Node == nil {
		return nil
	}
	for name := range variants[0].Node.Status.Allocatable { // in any order: all of them are asked for
		lacks := func(v cloudprovider.TemplateVariant) bool { return v.Node == nil || !offers(v.Node, name) }
		if isExtended(name) && !slices.ContainsFunc(variants, lacks) {
			out = append(out, name)
		}
	}
	return out
}

// has tells a node with all of the devices. A device that is offered in shares or slices goes by another name of the same vendor.
func has(node *corev1.Node, devices []corev1.ResourceName) bool {
	return !slices.ContainsFunc(devices, func(device corev1.ResourceName) bool {
		if offers(node, device) {
			return false
		}
		vendor, _, _ := strings.Cut(string(device), "/")
		for name := range node.Status.Allocatable { // in any order: one is enough
			if strings.HasPrefix(string(name), vendor+"/") && offers(node, name) {
				return false
			}
		}
		return true
	})
}

func offers(node *corev1.Node, name corev1.ResourceName) bool {
	quantity := node.Status.Allocatable[name]
	return quantity.Sign() > 0
}

// isExtended tells a resource that somebody else than Kubernetes defines.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}
