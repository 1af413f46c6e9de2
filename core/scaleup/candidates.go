package scaleup

import (
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// candidate looks at one group. The first test that it fails is the reason why it is not considered (loop-and-scale-up 5.2).
func (c *Considered) candidate(group *observation.Group) *candidate {
	cand := &candidate{
		id: group.ID, template: c.in.Templates[group.ID], atomic: group.Options.ZeroOrMaxNodeScaling, theoretical: group.Theoretical,
	}
	state, known := c.in.State.Group(group.ID)
	if !known {
		cand.skip = report.GroupSetAside{Error: "nothing is known of its state"}
		return cand
	}
	cand.state = state
	cand.avoidPlaces()
	if cand.skip = c.out[group.ID]; cand.skip == nil {
		cand.skip = c.skip(cand, group)
	}
	return cand
}

// avoidPlaces leaves out the variants in places where the cloud lately had no machines, as long as there are others.
func (cand *candidate) avoidPlaces() {
	if len(cand.state.FailedPlaces) == 0 {
		return
	}
	var usable, avoided []nodeinfos.Variant
	for _, variant := range cand.template.Variants {
		if _, failed := cand.state.FailedAt(nodeinfos.PlaceOf(variant.Node)); failed {
			avoided = append(avoided, variant)
		} else {
			usable = append(usable, variant)
		}
	}
	if len(usable) > 0 {
		cand.template.Variants, cand.avoided = usable, avoided
	}
}

func (c *Considered) skip(cand *candidate, group *observation.Group) report.Reason {
	if reason := unsafe(cand, group); reason != nil {
		return reason
	}
	wanted := 1
	if cand.atomic {
		wanted = cand.room()
	}
	switch {
	case cand.room() < 1:
		return report.GroupAtMaxSize{Target: cand.state.Target, Max: cand.state.Max}
	case cand.atomic && c.in.MaxNodes > 0 && c.accounts.nodes+wanted > c.in.MaxNodes:
		return report.AtomicOverLimit{Nodes: wanted, Room: max(0, c.in.MaxNodes-c.accounts.nodes)}
	case len(cand.template.Variants) == 0:
		return noTemplate(cand)
	}
	if allowed, short := c.accounts.allowed(c.accounts.perNode(cand), wanted); allowed < wanted {
		return report.LimitReached{Limit: limitClusterWide, Resources: short}
	}
	return nil
}

// unsafe says why the group must not be written to now; nil: it may.
func unsafe(cand *candidate, group *observation.Group) report.Reason {
	switch {
	case group.Stale != nil:
		return report.GroupSetAside{Error: group.Stale.Error()}
	case group.Suspended != "":
		return report.GroupSetAside{Error: group.Suspended}
	case group.Theoretical: // what does not exist has neither health nor back-off
		return nil
	default:
		return cand.state.SafeToScaleUp()
	}
}

func noTemplate(cand *candidate) report.Reason {
	if cand.template.Err == nil {
		return report.NoTemplate{}
	}
	return report.NoTemplate{Error: cand.template.Err.Error()}
}

// room is how many nodes the group can grow by.
func (cand *candidate) room() int {
	return max(0, cand.state.Max-cand.state.Target) / cand.template.Weight()
}
