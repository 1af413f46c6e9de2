package digitalocean

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

// GroupOf goes by the Droplet in the node's provider id, then by the label that holds the id of its pool. The error is always nil: whatever isn't
// ours is not managed.
func (p *Provider) GroupOf(node *corev1.Node) (cloudprovider.GroupID, error) {
	v := p.view.Load()
	if m, ok := v.machines[node.Spec.ProviderID]; ok && m.node != "" && node.Name != node.Spec.ProviderID {
		p.noteJoined(m)
	}
	return v.groupOf(node), nil
}

// noteJoined remembers that a machine has become a node.
func (p *Provider) noteJoined(m machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.books[string(m.group)]; b != nil {
		b.joined[m.node] = true
	}
}

// InstanceExists is sure that a Droplet exists that any pool lists, and that one doesn't which no pool lists, unless its node is younger than the view.
func (p *Provider) InstanceExists(node *corev1.Node) (exists, known bool) {
	id := node.Spec.ProviderID
	v := p.view.Load()
	if v.listed.IsZero() || !strings.HasPrefix(id, prefix) || p.clock.Now().Sub(v.listed) > usable {
		return false, false
	}
	if m, ok := v.machines[id]; ok {
		return !m.ending, true
	}
	if _, elsewhere := v.others[id]; elsewhere {
		return true, true
	}
	if _, gone := v.gone[id]; !gone && node.CreationTimestamp.Add(lateJoiner).After(v.listed) {
		return false, false
	}
	return false, true
}
