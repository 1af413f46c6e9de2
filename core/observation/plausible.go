package observation

import (
	"errors"
	"fmt"
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
)

// maxSize is the largest size of a group that is believed. No cluster has that many nodes, and sums of sizes must not overflow.
const maxSize = 1 << 20

var (
	errTwice     = errors.New("the cloud provider lists it twice")
	errNoMachine = errors.New("the cloud provider's description has no node")
)

// implausible says why the sizes of a group cannot be true; nil: they can. A target outside the bounds is no contradiction: bounds change.
func implausible(state cloudprovider.GroupState) error {
	switch {
	case state.Target < 0 || state.Target > maxSize:
		return fmt.Errorf("the cloud provider says that its target size is %d", state.Target)
	case state.Min < 0:
		return fmt.Errorf("the cloud provider says that its minimum size is %d", state.Min)
	case state.Max < state.Min:
		return fmt.Errorf("the cloud provider says that its minimum size is %d and its maximum %d", state.Min, state.Max)
	default:
		return nil
	}
}

// plausible is the state as far as it can be true: plans may compute with it, also with that of a group that is set aside. Machines that are listed
// twice are there once. The lists are the cloud's and are not changed.
func plausible(state cloudprovider.GroupState) cloudprovider.GroupState {
	state.Instances = once(state.Instances)
	if state.Target < 0 || state.Target > maxSize { // as if nothing was to come
		state.Target = len(state.Instances)
	}
	state.Max = min(max(state.Max, 0), maxSize)
	state.Min = min(max(state.Min, 0), state.Max)
	return state
}

// once leaves the first one of each id. Those without id cannot be told apart and stay.
func once(instances []cloudprovider.Instance) []cloudprovider.Instance {
	seen := make(map[string]bool, len(instances))
	again := func(instance cloudprovider.Instance) bool {
		was := seen[instance.ID]
		seen[instance.ID] = instance.ID != ""
		return was
	}
	if !slices.ContainsFunc(instances, again) {
		return instances
	}
	clear(seen)
	return slices.DeleteFunc(slices.Clone(instances), again)
}

// described are the variants that have a node.
func described(variants []cloudprovider.TemplateVariant) []cloudprovider.TemplateVariant {
	empty := func(variant cloudprovider.TemplateVariant) bool { return variant.Node == nil }
	if !slices.ContainsFunc(variants, empty) {
		return variants
	}
	return slices.DeleteFunc(slices.Clone(variants), empty)
}
