package scaleup

import (
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
)

// Shaped is what the caps leave of an option.
type Shaped struct {
	// Resizes are the wishes to hand to act; empty: nothing can be done, and Reason says why.
	Resizes []report.Resize
	// MaxNodesTotal is set to the limit if it cut the option; 0: it did not.
	MaxNodesTotal int
	Reason        report.Reason
}

// Shape applies the caps to an option: the maximum of the group, the number of nodes in the cluster, the cluster-wide limits. Pods of an option that
// was cut count as helped all the same.
func (c *Considered) Shape(option expander.Option) Shaped {
	cand := c.find(option)
	if cand == nil {
		return Shaped{Reason: report.GroupSetAside{Error: "it is not among the groups considered"}}
	}
	nodes := min(option.Nodes, cand.room())
	if nodes < 1 {
		return Shaped{Reason: report.GroupAtMaxSize{Target: cand.state.Target, Max: cand.state.Max}}
	}
	wanted := nodes
	var out Shaped
	if limit := c.in.MaxNodes; limit > 0 && c.accounts.nodes+nodes > limit {
		nodes, out.MaxNodesTotal = limit-c.accounts.nodes, limit
		out.Reason = report.LimitReached{Limit: limitMaxNodes, Resources: []string{"nodes"}}
	}
	if allowed, short := c.accounts.allowed(c.accounts.perNode(cand), nodes); allowed < nodes {
		nodes, out.Reason = allowed, report.LimitReached{Limit: limitClusterWide, Resources: short}
	}
	switch {
	case nodes < 1:
		return out
	case cand.atomic && nodes < wanted:
		out.Reason = report.AtomicOverLimit{Nodes: wanted, Room: max(0, nodes)}
		return out
	}
	out.Reason = nil
	out.Resizes = []report.Resize{cand.resize(nodes)}
	return out
}

func (c *Considered) find(option expander.Option) *candidate {
	for _, cand := range c.candidates {
		if cand.id == option.Group && cand.skip == nil {
			return cand
		}
	}
	return nil
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
		if missing <= 0 || unsafe(cand, &in.Groups[i]) != nil || len(cand.template.Variants) == 0 {
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
