package scaleup

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/processors/nodegroupset"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// findSimilar looks for the groups among which the nodes of each group may be spread (loop-and-scale-up 5.8), in the order of the cloud. A group that
// grows as a whole is spread over no other and takes no part of another one's nodes.
func (c *Considered) findSimilar() {
	if !c.in.Balancing.Enabled {
		return
	}
	rules := c.rules()
	var able []*candidate
	var profiles []nodegroupset.Profile
	for _, cand := range c.candidates {
		if cand.skip == nil && !cand.atomic && cand.helpsAny() {
			able = append(able, cand)
			profiles = append(profiles, rules.Profile(cand.template))
		}
	}
	for i, cand := range able {
		for k, other := range able {
			if i != k && c.covers(other, cand) && rules.Similar(profiles[i], profiles[k]) {
				cand.similar = append(cand.similar, other)
			}
		}
	}
}

// asked are the resources that the waiting pods ask for.
func (c *Considered) asked() map[corev1.ResourceName]bool {
	asked := map[corev1.ResourceName]bool{}
	for _, class := range c.classes {
		for name, quantity := range podfacts.Requests(class[0]) {
			asked[name] = asked[name] || !quantity.IsZero()
		}
	}
	return asked
}

// covers tells whether every pod that the group could help can be helped by the other one as surely.
func (c *Considered) covers(other, group *candidate) bool {
	for i, class := range c.classes {
		f, o := group.fits[i], other.fits[i]
		switch {
		case f.no != nil:
		case o.no != nil, o.variants != nil && f.variants == nil:
			return false
		case o.variants != nil:
			for _, pod := range class {
				_, here := c.attempted(group, f, pod)
				if _, there := c.attempted(other, o, pod); there && !here {
					return false
				}
			}
		}
	}
	return true
}

// set are the groups over which the nodes of an option of this one are spread.
func (cand *candidate) set() []*candidate { return append([]*candidate{cand}, cand.similar...) }

// capacity is how many nodes the group and its similar ones can grow by.
func (cand *candidate) capacity() int {
	sum := 0
	for _, member := range cand.set() {
		sum += member.room()
	}
	return sum
}

// similarIDs are the other groups among which the nodes of an option will be spread.
func (cand *candidate) similarIDs() []cloudprovider.GroupID {
	others := cand.similar
	if len(cand.owners) > 0 {
		others, _ = cand.shares(len(cand.owners))
	}
	var ids []cloudprovider.GroupID
	for _, other := range others {
		if other != cand {
			ids = append(ids, other.id)
		}
	}
	return ids
}

// size is the group in nodes. A node that is there only in part, as the target does not divide by the weight, counts as one.
func (cand *candidate) size() nodegroupset.Size {
	weight := cand.template.Weight()
	nodes := (cand.state.Target + weight - 1) / weight
	return nodegroupset.Size{Group: cand.id, Nodes: nodes, Max: nodes + cand.room()}
}
