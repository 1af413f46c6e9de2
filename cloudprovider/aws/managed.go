package aws

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
)

// errEKSUnasked is why a managed node group has no template for the first moments.
var errEKSUnasked = errors.New("EKS has not been asked yet")

// keyOf names the managed node group behind the tags of an Auto Scaling group; ok is false where there is none.
func keyOf(tags nodetags.Tags) (key managed.Key, ok bool) {
	key = managed.Key{Cluster: tags.EKSCluster, NodeGroup: tags.EKSNodeGroup}
	return key, key.Cluster != "" && key.NodeGroup != ""
}

// fillEKS asks EKS about the managed node groups of a sweep as far as they are due, those without nodes first.
func (p *Provider) fillEKS(ctx context.Context, s *sweep) {
	var wanted []managed.Wanted
	for _, name := range s.order {
		group := s.answers[name].group
		if key, ok := keyOf(nodetags.Tags{EKSCluster: group.Tags[nodetags.EKSCluster], EKSNodeGroup: group.Tags[nodetags.EKSNodeGroup]}); ok {
			wanted = append(wanted, managed.Wanted{Key: key, Mark: markOf(group), First: len(group.Instances) == 0})
		}
	}
	p.managed.Fill(ctx, wanted, s.err == nil)
}

// markOf changes when EKS has changed the group: it writes its launch template and its tags.
func markOf(group asg.Group) string {
	h := fnv.New64a()
	write := func(texts ...string) {
		for _, text := range texts {
			_, _ = fmt.Fprintf(h, "%q ", text) // a hash cannot fail
		}
	}
	write(group.Launch.Configuration, group.Launch.Template.String())
	for _, key := range slices.Sorted(maps.Keys(group.Tags)) {
		write(key, group.Tags[key])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// describedByEKS is what EKS knows about the managed node group of these tags; nil where there is none. Where EKS doesn't tell and tags describe the nodes
// instead, it is nil too; where nothing does, the error says so: nothing is bought on a guess.
func (p *Provider) describedByEKS(tags nodetags.Tags) (*managed.Description, error) {
	key, ok := keyOf(tags)
	if !ok {
		return nil, nil //nolint:nilnil // no description is an answer
	}
	description, known, err := p.managed.Of(key)
	switch {
	case known:
		return &description, nil
	case faults.ClassOf(err) == faults.Unset:
		return nil, fmt.Errorf("reading labels and taints of %s: %w", key, errEKSUnasked)
	case faults.ClassOf(err) == faults.NotFound, !faults.Passing(err) && len(tags.Labels)+len(tags.Taints) > 0:
		return nil, nil //nolint:nilnil // see above
	default:
		return nil, sourceErr(key.String(), err)
	}
}

// eksStatus is the state of the managed node group of these tags, as far as EKS has told.
func (p *Provider) eksStatus(tags nodetags.Tags) (key managed.Key, status managed.Status) {
	key, ok := keyOf(tags)
	if !ok {
		return key, ""
	}
	description, _, _ := p.managed.Of(key) // zero if nothing is known
	return key, description.Status
}

// suspendedByEKS says why nothing should be bought in a managed node group; empty: it may.
func (p *Provider) suspendedByEKS(tags nodetags.Tags) string {
	if key, status := p.eksStatus(tags); status == managed.Deleting {
		return "EKS is deleting the managed node group " + key.NodeGroup
	}
	return ""
}

// heldByEKS says why no machine of a managed node group is to be ended by choice; empty: they may.
func (p *Provider) heldByEKS(tags nodetags.Tags) string {
	if key, status := p.eksStatus(tags); status.Changing() {
		return fmt.Sprintf("the status of the EKS managed node group %s is %s: EKS drains and replaces its nodes by itself and changes its sizes meanwhile", key.NodeGroup, status)
	}
	return ""
}

// optionsOf are the options that the tags of a group and of its managed node group set.
func (p *Provider) optionsOf(tags nodetags.Tags) cloudprovider.OptionOverrides {
	key, ok := keyOf(tags)
	if !ok {
		return tags.Options
	}
	description, known, _ := p.managed.Of(key)
	if !known || len(description.Tags) == 0 {
		return tags.Options
	}
	return tags.With(nodetags.Parse(description.Tags), nil, nil).Options
}
