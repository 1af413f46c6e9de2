package externalgrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// templateLife is how long a template is good for while the server describes the group in the same way.
const templateLife = 10 * time.Minute

// template is what a fresh node of a group looks like, as the server said last.
type template struct {
	node        *corev1.Node // nil: the server has none
	until       time.Time    // zero: not asked
	description string
}

// describedAs drops the template when the server describes the group in another way.
func (t *template) describedAs(message *protocol.NodeGroup) {
	description := fmt.Sprintf("%s (%d:%d)", message.GetDebug(), message.GetMinSize(), message.GetMaxSize())
	if t.description != description {
		*t = template{description: description}
	}
}

// Templates asks the server for a fresh node of the group, at most every ten minutes unless it describes the group in another way or doesn't answer.
// ErrNoTemplate: the server has none.
func (g *NodeGroup) Templates(ctx context.Context) ([]cloudprovider.TemplateVariant, error) {
	p, b := g.provider, g.book
	p.mu.Lock()
	known := b.template
	p.mu.Unlock()
	if !p.clock.Now().Before(known.until) {
		node, err := p.readTemplate(ctx, b.id)
		if err != nil && !errors.Is(err, cloudprovider.ErrNoTemplate) {
			return nil, err
		}
		known.node, known.until = node, p.clock.Now().Add(templateLife)
		p.mu.Lock()
		if b.template.description == known.description {
			b.template = known
		}
		p.mu.Unlock()
	}
	if known.node == nil {
		return nil, cloudprovider.ErrNoTemplate
	}
	return []cloudprovider.TemplateVariant{{Key: string(b.id), Node: known.node.DeepCopy(), Promise: cloudprovider.PromiseCertain}}, nil
}

// readTemplate asks for the template. ErrNoTemplate: there is none.
func (p *Provider) readTemplate(ctx context.Context, id cloudprovider.GroupID) (*corev1.Node, error) {
	var answer *protocol.NodeGroupTemplateNodeInfoResponse
	err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		answer, err = p.client.NodeGroupTemplateNodeInfo(ctx, &protocol.NodeGroupTemplateNodeInfoRequest{Id: string(id)})
		return err
	})
	if unimplemented(err) {
		return nil, cloudprovider.ErrNoTemplate
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the template of node group %s: %w", id, translate(err, question{group: id}))
	}
	bytes := answer.GetNodeBytes()
	if len(bytes) == 0 {
		bytes = answer.GetNodeInfo()
	}
	if len(bytes) == 0 {
		return nil, cloudprovider.ErrNoTemplate
	}
	node := &corev1.Node{}
	if err := node.Unmarshal(bytes); err != nil {
		return nil, &cloudprovider.ConfigurationError{
			Group: id, Err: fmt.Errorf("the template is no v1.Node of Kubernetes as protobuf (%d bytes): %w", len(bytes), err),
		}
	}
	return node, nil
}
