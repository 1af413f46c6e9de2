package scaleup

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// turn is one plan of a round and what became of it.
type turn struct {
	plan *Considered
	// taken is the group whose option was carried out; nil: none was. resizes are the wishes that came of it.
	taken   *candidate
	resizes []report.Resize
	// outcomes belong to the first resizes; in a sequence those behind a failure have none.
	outcomes []report.ResizeOutcome
	// reasons say why groups with an option do not help after all. dropped say which options were worse than one that was taken: their groups could
	// still help.
	reasons, dropped map[cloudprovider.GroupID]report.Reason
	notices          []report.Notice
	// maxNodesTotal is the limit if it cut an option; 0: it did not.
	maxNodesTotal int
	err           error

	// helped are the pods for which nodes were bought, with the group that grew for them. refused are those whose nodes were refused or not asked for in
	// the end, waiting those whose nodes another group must not be asked for at once. Both are in the order of the estimate.
	helped           map[*corev1.Pod]cloudprovider.GroupID
	refused, waiting []*corev1.Pod
}

// turn chooses among the options until one of them leaves something to do, and does it.
func (c *Considered) turn(ctx context.Context, choose Choose, act Act) *turn {
	t := &turn{
		plan: c, reasons: map[cloudprovider.GroupID]report.Reason{}, dropped: map[cloudprovider.GroupID]report.Reason{},
		helped: map[*corev1.Pod]cloudprovider.GroupID{},
	}
	templates := c.templates()
	for open := c.Options; len(open) > 0 && ctx.Err() == nil; {
		choice := choose(ctx, expander.Question{Options: open, ClusterNodes: c.accounts.nodes, Templates: templates})
		t.notices = append(t.notices, choice.Notices...)
		if choice.Taken < 0 {
			note(t.reasons, choice.Dropped)
			return t
		}
		note(t.dropped, choice.Dropped)
		option := open[choice.Taken]
		open = without(open, option.Group)
		shaped := c.Shape(option)
		t.maxNodesTotal = max(t.maxNodesTotal, shaped.MaxNodesTotal)
		if len(shaped.Resizes) == 0 {
			t.reasons[option.Group] = shaped.Reason
			continue
		}
		t.taken, t.resizes = c.find(option), shaped.Resizes
		t.outcomes, t.err = act(ctx, shaped.Resizes)
		t.settle()
		return t
	}
	return t
}

// templates are what a fresh node of each group looks like, as far as that is known.
func (c *Considered) templates() map[cloudprovider.GroupID]*corev1.Node {
	nodes := make(map[cloudprovider.GroupID]*corev1.Node, len(c.candidates))
	for _, cand := range c.candidates {
		if shapes := nodeinfos.Smallest(cand.template.Variants); len(shapes) > 0 {
			nodes[cand.id] = shapes[0].Node
		}
	}
	return nodes
}

func note(reasons map[cloudprovider.GroupID]report.Reason, dropped []report.GroupVerdict) {
	for _, d := range dropped {
		reasons[d.Group] = d.Reason
	}
}

func without(options []expander.Option, group cloudprovider.GroupID) []expander.Option {
	var left []expander.Option
	for _, o := range options {
		if o.Group != group {
			left = append(left, o)
		}
	}
	return left
}

// fate is what became of one node that was wished for.
type fate int

const (
	fateUnset   fate = iota
	fateBought       // the cloud promises it
	fateRefused      // the cloud does not, or was not asked: another group may be
	fateUnclear      // only the next iteration can tell
)

// slot is one node that was wished for.
type slot struct {
	group cloudprovider.GroupID
	fate  fate
}

// slots are all nodes that were wished for, in the order of the wishes.
func (t *turn) slots() []slot {
	var out []slot
	for i, resize := range t.resizes {
		weight := t.plan.byID(resize.Group).template.Weight()
		granted, rest := 0, fateRefused
		if i < len(t.outcomes) {
			granted = (t.outcomes[i].Granted + weight - 1) / weight // one that was granted in part comes as a whole
			if !elsewhere(t.outcomes[i].Err) {
				rest = fateUnclear
			}
		}
		for k := range (resize.To - resize.From) / weight {
			s := slot{group: resize.Group, fate: rest}
			if k < granted {
				s.fate = fateBought
			}
			out = append(out, s)
		}
	}
	return out
}

// settle says for each pod of the option what became of its node. The nodes of the estimate are those wished for, in order; nodes that a limit has cut
// off count with these in turn, as do pods that only found room because of the new nodes with the first that was bought.
func (t *turn) settle() {
	slots := t.slots()
	if t.err != nil || len(slots) == 0 {
		return
	}
	first := slots[0]
	for _, s := range slots {
		if s.fate == fateBought {
			first = s
			break
		}
	}
	given := map[*corev1.Pod]bool{}
	seats, cut := t.seats(slots)
	for i, pods := range append(seats, cut...) {
		for _, pod := range pods {
			given[pod] = true
			t.give(pod, slots[i%len(slots)])
		}
	}
	for _, pod := range t.taken.pods {
		if !given[pod] {
			t.give(pod, first)
		}
	}
	for i, outcome := range t.outcomes {
		if outcome.Granted <= 0 && outcome.Err != nil {
			t.reasons[t.resizes[i].Group] = report.ExecutionFailed{Error: outcome.Err.Error()}
		}
	}
}

func (t *turn) give(pod *corev1.Pod, s slot) {
	switch s.fate {
	case fateBought:
		t.helped[pod] = s.group
	case fateRefused:
		t.refused = append(t.refused, pod)
	case fateUnclear, fateUnset:
		t.waiting = append(t.waiting, pod)
	}
}

// elsewhere tells an error after which another group is to help at once. One that only says that the cloud is busy, or that our view is old, will be
// gone in the next iteration, and one of which nobody knows what came of it may have bought the nodes.
func elsewhere(err error) bool {
	if err == nil {
		return false
	}
	_, transient := errors.AsType[*cloudprovider.TransientError](err)
	_, stale := errors.AsType[*cloudprovider.StaleBoundsError](err)
	return !transient && !stale && !cutShort(err)
}

// cutShort tells a call that was given up before its answer came.
func cutShort(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// lost tells an error by which nobody knows whether the call was carried out.
func lost(err error) bool {
	transient, ok := errors.AsType[*cloudprovider.TransientError](err)
	return ok && transient.OutcomeUnknown || !ok && cutShort(err)
}
