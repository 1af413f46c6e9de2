package aws

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/providerid"
)

// annotationEnabled with the value false tells that nobody should worry about a node; it says nothing about its machine.
const annotationEnabled = "k8s.io/cluster-autoscaler-enabled"

// GroupOf goes by the instance id in the node's provider id. A node that is younger than the view and isn't in it makes the next Refresh read
// everything anew. The error is always nil: whatever isn't ours is not managed.
func (p *Provider) GroupOf(node *corev1.Node) (cloudprovider.GroupID, error) {
	v := p.view.Load()
	p.nodeSeen.Store(p.clock.Now().UnixNano())
	switch id := providerid.Parse(node.Spec.ProviderID); id.Kind {
	case providerid.Instance:
		if m, ok := v.machines[id.Name]; ok {
			v.byName[m.group].book.joined.Store(true)
			return m.group, nil
		}
		if group, ok := v.gone[id.Name]; ok && v.byName[group] != nil {
			return group, nil
		}
		if node.CreationTimestamp.After(v.asked) {
			p.stranger.Store(true)
		}
	case providerid.Placeholder:
		if group := cloudprovider.GroupID(id.Group); v.byName[group] != nil {
			return group, nil
		}
	default: // nothing that a group of ours could hold
	}
	return "", nil
}

// InstanceExists is sure of two things: that a machine of the view that isn't ending exists, and that one which is ending or has vanished from its
// group doesn't. All else it cannot tell.
func (p *Provider) InstanceExists(node *corev1.Node) (exists, known bool) {
	id := providerid.Parse(node.Spec.ProviderID)
	if id.Kind != providerid.Instance {
		return false, false
	}
	if node.Annotations[annotationEnabled] == "false" {
		return true, true
	}
	v := p.view.Load()
	if m, ok := v.machines[id.Name]; ok {
		return !m.ending, true
	}
	if _, ok := v.gone[id.Name]; ok {
		return false, true
	}
	return false, false
}
