package clusterstate

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/processors/podinjection"
)

// learnt is what the steps before the rounds want to find again in the next iteration.
type learnt struct {
	templates []nodeinfos.LearntTemplate
	pending   pendingpods.Memory
	injection podinjection.BackOff
	// attempts are purchases that may or may not have brought a node that fits, with the time until which not to repeat them.
	attempts map[Attempt]time.Time
}

// Attempt is a purchase of a node of the group for the pod that may or may not have brought a node that fits it.
type Attempt struct {
	Pod   types.UID
	Group cloudprovider.GroupID
}

// Attempted notes the pods whose group may also deliver nodes that do not fit them.
func (r *Registry) Attempted(pods []report.PodVerdict) {
	for _, pod := range pods {
		unsure, ok := pod.Own.(report.NotGuaranteed)
		if !ok || pod.Fate != report.PodTriggered {
			continue
		}
		if r.learnt.attempts == nil {
			r.learnt.attempts = map[Attempt]time.Time{}
		}
		r.learnt.attempts[Attempt{Pod: pod.Pod.UID, Group: pod.Grown}] = unsure.Until
	}
}

// Attempts are the purchases that are not to be repeated yet, with the time until which. The map is a copy.
func (r *Registry) Attempts(now time.Time) map[Attempt]time.Time {
	maps.DeleteFunc(r.learnt.attempts, func(_ Attempt, until time.Time) bool { return !until.After(now) })
	return maps.Clone(r.learnt.attempts)
}

// Learn keeps what was learnt about fresh nodes, in the place of what was known.
func (r *Registry) Learn(templates []nodeinfos.LearntTemplate) { r.learnt.templates = templates }

// Learnt is what Learn was last given; nil before.
func (r *Registry) Learnt() []nodeinfos.LearntTemplate { return r.learnt.templates }

// Remember keeps what is to be known of pending pods in the next iteration, in the place of what was known.
func (r *Registry) Remember(pending pendingpods.Memory) { r.learnt.pending = pending }

// Remembered is what Remember was last given; the zero value before.
func (r *Registry) Remembered() pendingpods.Memory { return r.learnt.pending }

// Injected notes for which controllers copies of pods were injected, and whether that helped.
func (r *Registry) Injected(told []report.Injection) {
	r.learnt.injection = r.learnt.injection.After(r.seen.At, told)
}

// InjectionBackOff says which controllers are left out because nobody could help their copies.
func (r *Registry) InjectionBackOff() podinjection.BackOff { return r.learnt.injection }
