package scaleup

import (
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/pendingpods"
)

// Ended is what choosing and acting came to.
type Ended struct {
	// Outcomes are the writes, in order.
	Outcomes []report.ResizeOutcome
	// Reasons say why groups with an option do not help after all.
	Reasons map[cloudprovider.GroupID]report.Reason
	// Dropped say which options were worse than one that was taken. Their groups could still help.
	Dropped map[cloudprovider.GroupID]report.Reason
	// MaxNodesTotal is set to the limit if it cut an option; 0: it did not.
	MaxNodesTotal int
	Err           error
}

// Verdicts puts together what is told about the round (loop-and-scale-up 5.14).
func (c *Considered) Verdicts(ended Ended) report.ScaleUp {
	grown := map[cloudprovider.GroupID]bool{}
	tried := false
	for _, outcome := range ended.Outcomes {
		tried = tried || outcome.Err != nil
		grown[outcome.Group] = grown[outcome.Group] || outcome.Granted > 0
	}
	out := report.ScaleUp{
		Outcomes: ended.Outcomes, Considered: len(c.candidates), MaxNodesTotal: ended.MaxNodesTotal, UncountedGPUs: c.accounts.uncounted, Err: ended.Err,
	}
	for _, cand := range c.candidates {
		if cand.skip != nil {
			out.Skipped = append(out.Skipped, report.GroupVerdict{Group: cand.id, Reason: cand.skip})
		}
	}
	for _, option := range c.Options {
		out.Options = append(out.Options, ended.told(option, grown[option.Group]))
	}
	switch {
	case c.anyOf(grown):
		out.Result = report.ScaleUpSuccessful
	case tried || ended.Err != nil:
		out.Result = report.ScaleUpError
	case len(c.in.Pending.Left) == 0:
		out.Result = report.ScaleUpNotNeeded
	default:
		out.Result = report.ScaleUpNoOptionsAvailable
	}
	var verdicts []report.PodVerdict
	for i, class := range c.classes {
		verdicts = append(verdicts, c.ofClass(i, class, grown, ended.Reasons)...)
	}
	out.Pods = inOrder(c.in.Pending, verdicts)
	return out
}

func (e Ended) told(option expander.Option, grown bool) report.Option {
	waste, _ := expander.Waste(option)
	out := report.Option{Group: option.Group, Nodes: option.Nodes, Pods: len(option.Pods), Waste: waste / 2, Chosen: grown}
	if out.Reason = e.Reasons[option.Group]; out.Reason == nil && !grown {
		out.Reason = e.Dropped[option.Group]
	}
	return out
}

func (c *Considered) anyOf(grown map[cloudprovider.GroupID]bool) bool {
	for _, cand := range c.candidates {
		if grown[cand.id] {
			return true
		}
	}
	return false
}

// ofClass makes the verdicts of the pods of one class. They share the list of reasons unless one of them has its own.
func (c *Considered) ofClass(
	i int, class []*corev1.Pod, grown map[cloudprovider.GroupID]bool, ended map[cloudprovider.GroupID]report.Reason,
) []report.PodVerdict {
	var shared []report.GroupVerdict
	for _, cand := range c.candidates {
		if no := cand.refuses(i); no != nil {
			shared = append(shared, report.GroupVerdict{Group: cand.id, Reason: no})
		}
	}
	something := c.anyOf(grown)
	out := make([]report.PodVerdict, 0, len(class))
	for _, pod := range class {
		verdict := report.PodVerdict{Pod: ref(pod), Fate: report.PodUnschedulable}
		own := false // whether one of the reasons is this pod's own
		for _, cand := range c.candidates {
			if cand.refuses(i) != nil {
				continue
			}
			no := c.unhelped(cand, i, pod, ended[cand.id])
			own = own || no != nil
			switch {
			case no == nil && grown[cand.id] && cand.placed[pod] && verdict.Fate != report.PodTriggered:
				verdict.Fate, verdict.Grown = report.PodTriggered, cand.id
				if cand.fits[i].variants != nil {
					verdict.Own = report.NotGuaranteed{Until: c.in.At.Add(notGuaranteedPause)}
				}
			case verdict.Fate == report.PodUnschedulable && (no == nil || (something && passing(no))):
				verdict.Fate = report.PodAwaiting
			}
		}
		verdict.Groups = shared
		if own {
			verdict.Groups = c.reasons(i, pod, ended)
		}
		out = append(out, verdict)
	}
	return out
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

func (c *Considered) reasons(i int, pod *corev1.Pod, ended map[cloudprovider.GroupID]report.Reason) []report.GroupVerdict {
	var out []report.GroupVerdict
	for _, cand := range c.candidates {
		no := cand.refuses(i)
		if no == nil {
			no = c.unhelped(cand, i, pod, ended[cand.id])
		}
		if no != nil {
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

// unhelped says why the group does not help a pod that could run there; nil: it does or could. ended is what became of the group's option.
func (c *Considered) unhelped(cand *candidate, class int, pod *corev1.Pod, ended report.Reason) report.Reason {
	if until, tried := c.attempted(cand, cand.fits[class], pod); tried {
		return report.NotGuaranteed{Until: until}
	}
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

// inOrder puts the verdicts of this round and those that were settled before into the order in which the pods waited.
func inOrder(pending pendingpods.Out, verdicts []report.PodVerdict) []report.PodVerdict {
	of := make(map[report.PodRef]report.PodVerdict, len(verdicts)+len(pending.Settled))
	for _, v := range pending.Settled {
		of[v.Pod] = v
	}
	for _, v := range verdicts {
		of[v.Pod] = v
	}
	out := make([]report.PodVerdict, 0, len(of))
	for _, pod := range pending.Waited {
		if v, ok := of[ref(pod)]; ok {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
