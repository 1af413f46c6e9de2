package clusterstate

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// weights tell how many units of a group's size its machines count. The sizes of a group (minimum, maximum, target) are in units; nearly always one
// machine is one unit.
type weights struct {
	// smallest and largest are those of the machines that the group can start, at least 1.
	smallest, largest int
	// template finds the variant that a machine belongs to; nil: all weigh the same.
	template *nodeinfos.Template
}

func weightsOf(group observation.Group) weights {
	var w weights
	for i := range group.Variants {
		units := max(group.Variants[i].Weight, 1)
		if w.smallest == 0 || units < w.smallest {
			w.smallest = units
		}
		w.largest = max(w.largest, units)
	}
	w.smallest, w.largest = max(w.smallest, 1), max(w.largest, 1)
	if w.smallest == w.largest {
		return w
	}
	w.template = &nodeinfos.Template{}
	for i := range group.Variants {
		if v := &group.Variants[i]; v.Node != nil {
			variant := nodeinfos.Variant{Key: v.Key, Weight: max(v.Weight, 1)}
			variant.Node = v.Node
			w.template.Variants = append(w.template.Variants, variant)
		}
	}
	return w
}

// at is what a machine at the place weighs. One that belongs to no variant is taken for the lightest: then too much is waited for rather than
// too little.
func (w weights) at(place nodeinfos.Place) int {
	if w.template == nil {
		return w.smallest
	}
	if i, ok := w.template.Match(place); ok {
		return w.template.Variants[i].Weight
	}
	return w.smallest
}

func (w weights) ofNode(node *corev1.Node) int {
	if w.template == nil {
		return w.smallest
	}
	return w.at(nodeinfos.PlaceOf(node))
}

func (w weights) ofInstance(instance cloudprovider.Instance) int {
	return w.at(nodeinfos.Place{Zone: instance.Zone, Type: instance.Type})
}

// nodes is how many machines so many units may come as, at most.
func (w weights) nodes(units int) int {
	light := max(w.smallest, 1) // a group that was never seen has no weights
	return (max(units, 0) + light - 1) / light
}

// units is how much so many machines may count, at most.
func (w weights) units(nodes int) int { return nodes * max(w.largest, 1) }
