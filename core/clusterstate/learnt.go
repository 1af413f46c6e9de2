package clusterstate

import (
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
)

// learnt is what the steps before the rounds want to find again in the next iteration.
type learnt struct {
	templates []nodeinfos.LearntTemplate
	hints     pendingpods.Hints
}

// Learn keeps what was learnt about fresh nodes, in the place of what was known.
func (r *Registry) Learn(templates []nodeinfos.LearntTemplate) { r.learnt.templates = templates }

// Learnt is what Learn was last given; nil before.
func (r *Registry) Learnt() []nodeinfos.LearntTemplate { return r.learnt.templates }

// Remember keeps where pending pods found room, in the place of what was known.
func (r *Registry) Remember(hints pendingpods.Hints) { r.learnt.hints = hints }

// Hints is what Remember was last given; the zero value before.
func (r *Registry) Hints() pendingpods.Hints { return r.learnt.hints }
