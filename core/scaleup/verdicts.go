package scaleup

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/pendingpods"
)

// round is all that happened in one call of Grow.
type round struct {
	plan  *Considered // the first one, for all pods
	turns []*turn
	err   error
}

// told puts together what is told about the round (loop-and-scale-up 5.14).
func (r round) told() report.ScaleUp {
	out := report.ScaleUp{UncountedGPUs: r.plan.accounts.uncounted, Options: r.options(), Err: r.err}
	for _, cand := range r.plan.candidates {
		if !cand.theoretical {
			out.Considered++
		}
		if cand.skip != nil {
			out.Skipped = append(out.Skipped, report.GroupVerdict{Group: cand.id, Reason: cand.skip})
		}
	}
	grown, tried := false, false
	for _, t := range r.turns {
		out.Outcomes = append(out.Outcomes, t.outcomes...)
		out.Notices = append(out.Notices, t.notices...)
		out.Estimates = append(out.Estimates, t.estimates()...)
		out.MaxNodesTotal = max(out.MaxNodesTotal, t.maxNodesTotal)
		out.Err = errors.Join(out.Err, t.err)
		grown = grown || t.grownAny()
		tried = tried || t.failed() != nil
	}
	switch {
	case grown:
		out.Result = report.ScaleUpSuccessful
	case tried || out.Err != nil:
		out.Result = report.ScaleUpError
	case len(r.plan.in.Pending.Left) == 0:
		out.Result = report.ScaleUpNotNeeded
	default:
		out.Result = report.ScaleUpNoOptionsAvailable
	}
	out.Pods = inOrder(r.plan.in.Pending, r.verdicts(grown))
	return out
}

// verdicts has one for each pod that is left, in their order: that of the last turn in which the pod was planned for. grown is true if any group grew
// in the round.
func (r round) verdicts(grown bool) []report.PodVerdict {
	left := r.plan.in.Pending.Left
	out := make([]report.PodVerdict, 0, len(left))
	first := r.turns[0].verdicts(grown)
	for i := range left {
		out = append(out, first(i))
	}
	if len(r.turns) == 1 {
		return out
	}
	at := make(map[*corev1.Pod]int, len(left))
	for i, pod := range left {
		at[pod] = i
	}
	for _, t := range r.turns[1:] {
		later := t.verdicts(grown)
		for i, pod := range t.plan.in.Pending.Left {
			out[at[pod]] = later(i)
		}
	}
	return out
}

// verdicts returns a function that must be asked once for each pod that is left in the turn, in their order.
func (t *turn) verdicts(grown bool) func(i int) report.PodVerdict {
	byClass := make([][]report.PodVerdict, len(t.plan.classes))
	return func(i int) report.PodVerdict {
		number := t.plan.numbers[i]
		if byClass[number] == nil {
			byClass[number] = t.ofClass(number, t.plan.classes[number], grown)
		}
		next := byClass[number][0]
		byClass[number] = byClass[number][1:]
		return next
	}
}

// estimates are those made for this plan; those of an earlier one that still hold were told then.
func (t *turn) estimates() []report.Estimate {
	var out []report.Estimate
	for _, cand := range t.plan.candidates {
		if cand.done && !t.plan.known[cand.id].holds(cand.limit) {
			out = append(out, cand.told)
		}
	}
	return out
}

// grownAny tells whether the cloud has promised nodes.
func (t *turn) grownAny() bool {
	for _, outcome := range t.outcomes {
		if outcome.Granted > 0 {
			return true
		}
	}
	return false
}

// failed is the first error of the cloud; nil: there was none.
func (t *turn) failed() error {
	for _, outcome := range t.outcomes {
		if outcome.Err != nil {
			return outcome.Err
		}
	}
	return nil
}

// options are told once for each group, in the order of the groups: as they were when they were carried out, else as they were last.
func (r round) options() []report.Option {
	byGroup := map[cloudprovider.GroupID]report.Option{}
	for _, t := range r.turns {
		for _, option := range t.plan.Options {
			if !byGroup[option.Group].Chosen {
				byGroup[option.Group] = t.told(option)
			}
		}
	}
	var out []report.Option
	for _, cand := range r.plan.candidates {
		if option, ok := byGroup[cand.id]; ok {
			out = append(out, option)
		}
	}
	return out
}

func (t *turn) told(option expander.Option) report.Option {
	waste, _ := expander.Waste(option)
	out := report.Option{Group: option.Group, Similar: option.Similar, Nodes: option.Nodes, Pods: len(option.Pods), Waste: waste / 2}
	taken := t.taken != nil && t.taken.id == option.Group
	out.Chosen = taken && t.grownAny()
	switch failed := t.failed(); {
	case out.Chosen:
	case t.reasons[option.Group] != nil:
		out.Reason = t.reasons[option.Group]
	case taken && failed != nil: // all its nodes would have been of similar groups
		out.Reason = report.ExecutionFailed{Error: failed.Error()}
	case !taken:
		out.Reason = t.dropped[option.Group]
	}
	return out
}

// ofClass makes the verdicts of the pods of one class. They share the list of reasons unless one of them has its own. something is true if any group
// grew in the round.
func (t *turn) ofClass(i int, class []*corev1.Pod, something bool) []report.PodVerdict {
	var shared []report.GroupVerdict
	for _, cand := range t.plan.candidates {
		if no := cand.refuses(i); no != nil && !cand.theoretical {
			shared = append(shared, report.GroupVerdict{Group: cand.id, Reason: no})
		}
	}
	out := make([]report.PodVerdict, 0, len(class))
	for _, pod := range class {
		verdict := report.PodVerdict{Pod: ref(pod), Fate: report.PodUnschedulable}
		own := false // whether one of the reasons is this pod's own
		for _, cand := range t.plan.candidates {
			if cand.refuses(i) != nil && !t.helpedBy(pod, cand) { // a group may help once another one has grown
				continue
			}
			no := t.unhelped(cand, i, pod)
			own = own || no != nil
			switch {
			case t.helpedBy(pod, cand):
				verdict.Fate, verdict.Grown = report.PodTriggered, t.nameOf(cand)
				if cand.fits[i].variants != nil {
					verdict.Own = report.NotGuaranteed{Until: t.plan.in.At.Add(notGuaranteedPause)}
				}
			case verdict.Fate == report.PodUnschedulable && (no == nil || (something && passing(no))):
				verdict.Fate = report.PodAwaiting
			}
		}
		verdict.Groups = shared
		if own {
			verdict.Groups = t.reasonsOf(i, pod)
		}
		out = append(out, verdict)
	}
	return out
}

func (t *turn) helpedBy(pod *corev1.Pod, cand *candidate) bool {
	group, helped := t.helped[pod]
	return helped && group == cand.id
}

// nameOf is the id of a group since it may have been created in this turn.
func (t *turn) nameOf(cand *candidate) cloudprovider.GroupID {
	for i, outcome := range t.outcomes {
		if t.resizes[i].Group == cand.id {
			return outcome.Group
		}
	}
	return cand.id
}

// passing tells a reason that only means that the pod's turn has not come.
func passing(no report.Reason) bool {
	switch no.(type) {
	case report.EstimateLimit, report.NotReached:
		return true
	default:
		return false
	}
}

// reasonsOf are the reasons of one pod, group by group. Groups that do not exist yet are not told of: nobody has to ask why they do not help.
func (t *turn) reasonsOf(i int, pod *corev1.Pod) []report.GroupVerdict {
	var out []report.GroupVerdict
	for _, cand := range t.plan.candidates {
		no := cand.refuses(i)
		if no == nil {
			no = t.unhelped(cand, i, pod)
		}
		if no != nil && !cand.theoretical {
			out = append(out, report.GroupVerdict{Group: cand.id, Reason: no})
		}
	}
	return out
}

// refuses says why no pod of the class can be helped by the group; nil: they could run there.
func (cand *candidate) refuses(class int) report.Reason {
	if len(cand.fits) > 0 {
		if no := cand.fits[class].no; no != nil {
			return no
		}
	}
	return cand.skip
}

// unhelped says why the group does not help a pod that could run there; nil: it does or could.
func (t *turn) unhelped(cand *candidate, class int, pod *corev1.Pod) report.Reason {
	if t.helpedBy(pod, cand) {
		return nil
	}
	if until, tried := t.plan.attempted(cand, cand.fits[class], pod); tried {
		return report.NotGuaranteed{Until: until}
	}
	ended := t.reasons[cand.id]
	switch {
	case cand.placed[pod]:
		return ended
	case cand.failed[class] != nil:
		return report.UnexpectedError{Error: cand.failed[class].Error()}
	case cand.shared != nil:
		return cand.shared
	default:
		return ended
	}
}

// inOrder puts the verdicts on the pods that are left, in their order, and those that were settled before into the order in which the pods waited. Pods of
// which nothing is known have none.
func inOrder(pending pendingpods.Out, left []report.PodVerdict) []report.PodVerdict {
	out := make([]report.PodVerdict, 0, len(pending.Settled)+len(left))
	settled := pending.Settled
	for _, pod := range pending.Waited {
		switch name := ref(pod); {
		case len(settled) > 0 && settled[0].Pod == name:
			out, settled = append(out, settled[0]), settled[1:]
		case len(left) > 0 && left[0].Pod == name:
			out, left = append(out, left[0]), left[1:]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
