package scaleup

import (
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/nodegroupset"
)

// Shaped is what the caps leave of an option.
type Shaped struct {
	// Resizes are the wishes to hand to act, in this order and none twice; empty: nothing can be done, and Reason says why.
	Resizes []report.Resize
	// MaxNodesTotal is set to the limit if it cut the option; 0: it did not.
	MaxNodesTotal int
	Reason        report.Reason
}

// Shape applies the caps to an option, loop-and-scale-up 5.9: the room of the group and of its similar ones, the number of nodes in the cluster, the
// cluster-wide limits. What is left is spread over the similar groups. Pods of an option that was cut count as helped all the same, unless they want
// all or nothing.
func (c *Considered) Shape(option expander.Option) Shaped {
	cand := c.find(option)
	if cand == nil {
		return Shaped{Reason: report.GroupSetAside{Error: "it is not among the groups considered"}}
	}
	wanted := min(option.Nodes, cand.capacity())
	if len(cand.owners) > 0 {
		wanted = min(option.Nodes, len(cand.owners))
	}
	if wanted < 1 {
		return Shaped{Reason: report.GroupAtMaxSize{Target: cand.state.Target, Max: cand.state.Max}}
	}
	nodes, out := c.capped(cand, wanted)
	switch {
	case nodes < 1:
		return out
	case nodes < wanted && cand.atomic:
		out.Reason = report.AtomicOverLimit{Nodes: wanted, Room: nodes}
		return out
	}
	spread := c.spread
	if len(cand.owners) > 0 {
		spread = c.apportion
	}
	resizes, total := spread(cand, nodes)
	switch {
	case c.in.AllOrNothing && (total < wanted || cand.theoretical && cand.room() < wanted):
		out.Reason = report.NotAllFit{Fit: cand.helpedBy(total), Wanted: len(option.Pods)}
	case total < 1:
		out.Reason = report.LimitReached{Limit: limitClusterWide}
	default:
		out.Reason, out.Resizes = nil, resizes
	}
	return out
}

// capped is how many of the nodes the limits of the cluster admit. If not all, the reason says which limit it is.
func (c *Considered) capped(cand *candidate, nodes int) (int, Shaped) {
	var out Shaped
	if limit := c.in.MaxNodes; limit > 0 && c.accounts.nodes+nodes > limit {
		nodes, out.MaxNodesTotal = limit-c.accounts.nodes, limit
		out.Reason = report.LimitReached{Limit: limitMaxNodes, Resources: []string{"nodes"}}
	}
	if allowed, short := c.accounts.allowed(c.accounts.perNode(cand), nodes); allowed < nodes {
		nodes, out.Reason = allowed, report.LimitReached{Limit: limitClusterWide, Resources: short}
	}
	return nodes, out
}

// spread distributes the nodes over the group and its similar ones. Each of these is capped by the cluster-wide limits in the order in which they will
// grow; what is cut is not given to another one.
func (c *Considered) spread(cand *candidate, nodes int) (resizes []report.Resize, total int) {
	var sizes []nodegroupset.Size
	for _, member := range cand.set() {
		sizes = append(sizes, member.size())
	}
	left := c.accounts.clone()
	for _, growth := range nodegroupset.Spread(nodes, sizes) {
		member := c.byID(growth.Group)
		per := left.perNode(member)
		allowed, _ := left.allowed(per, growth.To-growth.From)
		if allowed < 1 {
			continue
		}
		left.take(per, allowed)
		total += allowed
		resize := member.resize(allowed)
		resize.Atomic = c.in.AllOrNothing
		resizes = append(resizes, resize)
	}
	return resizes, total
}

// helpedBy is how many pods are on the first nodes of the estimate.
func (cand *candidate) helpedBy(nodes int) int {
	sum := 0
	for _, pods := range cand.onNode[:min(nodes, len(cand.onNode))] {
		sum += len(pods)
	}
	return sum
}

func (c *Considered) find(option expander.Option) *candidate {
	for _, cand := range c.candidates {
		if cand.id == option.Group && cand.skip == nil {
			return cand
		}
	}
	return nil
}

// byID is the candidate of that id, which must be one.
func (c *Considered) byID(id cloudprovider.GroupID) *candidate {
	return c.candidates[slices.IndexFunc(c.candidates, func(cand *candidate) bool { return cand.id == id })]
}

func (cand *candidate) resize(nodes int) report.Resize {
	from := cand.state.Target
	return report.Resize{
		Group: cand.id, From: from, To: min(from+nodes*cand.template.Weight(), cand.state.Max), Max: cand.state.Max,
	}
}

// MinSizes returns the wishes that bring groups below their minimum up to it (loop-and-scale-up 5.13), in the order of the cloud. in is as for
// Options, with the state after grown, which is what this iteration has bought already. Where a limit leaves less room, a group is
// brought as far as it goes.
func MinSizes(in In, grown report.ScaleUp) []report.Resize {
	c := Considered{in: in, accounts: newAccounts(in)}
	var candidates []*candidate
	for i := range in.Groups {
		cand := c.candidate(&in.Groups[i])
		candidates = append(candidates, cand)
		if bought := cand.bought(grown); bought > 0 {
			c.accounts.take(c.accounts.perNode(cand), bought)
		}
	}
	var out []report.Resize
	for i, cand := range candidates {
		missing := cand.state.Min - cand.state.Target
		if missing <= 0 || cand.theoretical || unsafe(cand, &in.Groups[i]) != nil || len(cand.template.Variants) == 0 {
			continue
		}
		weight := cand.template.Weight()
		nodes, _ := c.accounts.allowed(c.accounts.perNode(cand), (missing+weight-1)/weight)
		if in.MaxNodes > 0 {
			nodes = min(nodes, in.MaxNodes-c.accounts.nodes)
		}
		if nodes < 1 {
			continue
		}
		out = append(out, cand.resize(nodes))
		c.accounts.take(c.accounts.perNode(cand), nodes)
	}
	return out
}

// bought is how many nodes of the group this iteration has bought.
func (cand *candidate) bought(grown report.ScaleUp) int {
	units := 0
	for _, outcome := range grown.Outcomes {
		if outcome.Group == cand.id {
			units += outcome.Granted
		}
	}
	weight := cand.template.Weight()
	return (units + weight - 1) / weight
}
