package scaleup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/estimator"
	"example.com/cluster-autoscaler/processors/nodegroupset"
	"example.com/cluster-autoscaler/simulator"
)

// spreadOverGroups tells pods that have to be spread evenly over something that has more than one machine, such as zones. One group alone may
// have no more than its share of them, so that several have to grow for one another.
func spreadOverGroups(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable == corev1.DoNotSchedule && c.TopologyKey != corev1.LabelHostname
	})
}

// estimateTogether estimates once more with groups that are alike but for their places, if pods that have to be spread did not all find room in this
// one, and keeps what helps more pods. Whether scale-ups are balanced does not matter: without the others these pods would wait for one
// iteration after the other, each of which could place a few of them.
func (c *Considered) estimateTogether(ctx context.Context, cand *candidate, in estimator.In) error {
	waits := slices.ContainsFunc(in.Classes, func(class estimator.Class) bool {
		return spreadOverGroups(class.Pods[0]) && slices.ContainsFunc(class.Pods, func(pod *corev1.Pod) bool { return !cand.placed[pod] })
	})
	if !waits || cand.atomic || c.in.AllOrNothing || len(cand.failed) > 0 {
		return nil
	}
	members := c.alikeElsewhere(cand)
	if len(members) < 2 {
		return nil
	}
	in.Shapes, in.Rooms = nil, nil
	owners := map[string]*candidate{}
	room := 0
	for _, member := range members {
		shape := member.template.Variants[0].NodeTemplate
		owners[shape.Node.Name] = member
		in.Shapes, in.Rooms = append(in.Shapes, shape), append(in.Rooms, member.room())
		room += member.room()
	}
	in.MaxNodes, _ = c.within(room)
	result, err := estimator.Estimate(ctx, in)
	if err != nil {
		if ctx.Err() != nil || c.in.Snapshot.Depth() != c.depth {
			return fmt.Errorf("estimating group %s together with others: %w", cand.id, err)
		}
		return nil
	}
	if len(result.Pods) <= len(cand.pods) || len(result.Failed) > 0 {
		return nil
	}
	cand.onNode, cand.shared = nil, nil
	if result.Stopped != nil {
		cand.shared = *result.Stopped
	}
	cand.take(result)
	for _, fresh := range result.New {
		cand.owners = append(cand.owners, owners[fresh.Shape])
	}
	return nil
}

// alikeElsewhere are the group and those that could take a share of its pods: they are similar, and nothing but how the pods are spread now keeps
// these out. Groups whose nodes may come in several shapes are left out: it is the cloud that decides there.
func (c *Considered) alikeElsewhere(cand *candidate) []*candidate {
	if len(cand.template.Variants) != 1 {
		return nil
	}
	rules := c.rules()
	own := rules.Profile(cand.template)
	members := []*candidate{cand}
	for _, other := range c.candidates {
		if other == cand || other.skip != nil || other.atomic || len(other.template.Variants) != 1 || other.room() < 1 {
			continue
		}
		if c.sharesSpread(other, cand) && rules.Similar(own, rules.Profile(other.template)) {
			members = append(members, other)
		}
	}
	return members
}

// sharesSpread tells whether the other group could help every pod that the group could, once they are spread otherwise.
func (c *Considered) sharesSpread(other, group *candidate) bool {
	for i := range c.classes {
		if group.fits[i].no != nil {
			continue
		}
		no, rejected := other.fits[i].no.(report.Rejected)
		if other.fits[i].no != nil && (!rejected || no.Rejection.Filter != simulator.TopologySpread) {
			return false
		}
	}
	return true
}

// rules are those of balancing, whether it is on or not.
func (c *Considered) rules() nodegroupset.Rules {
	return nodegroupset.NewRules(nodegroupset.In{Options: c.in.Balancing, Bookkeeping: c.in.BookkeepingLabels, Asked: c.asked()})
}

// shares is how many of the first nodes of an estimate that was made together each group gets, in the order in which it needs them first.
func (cand *candidate) shares(nodes int) (members []*candidate, counts map[*candidate]int) {
	counts = map[*candidate]int{}
	for _, owner := range cand.owners[:nodes] {
		if counts[owner] == 0 {
			members = append(members, owner)
		}
		counts[owner]++
	}
	return members, counts
}

// apportion makes the wishes for the first nodes of an estimate that was made together with others.
func (c *Considered) apportion(cand *candidate, nodes int) (resizes []report.Resize, total int) {
	left := c.accounts.clone()
	members, counts := cand.shares(nodes)
	for _, member := range members {
		per := left.perNode(member)
		allowed, _ := left.allowed(per, min(counts[member], member.room()))
		if allowed < 1 {
			continue
		}
		left.take(per, allowed)
		total += allowed
		resizes = append(resizes, member.resize(allowed))
	}
	return resizes, total
}

// seats are the pods of the estimate by the nodes that were wished for: those of an estimate that was made together belong to nodes of their own
// groups. cut are those of the nodes that were cut off.
func (t *turn) seats(slots []slot) (seats, cut [][]*corev1.Pod) {
	seats = make([][]*corev1.Pod, len(slots))
	free := map[*candidate][]int{}
	for i, s := range slots {
		owner := t.plan.byID(s.group)
		free[owner] = append(free[owner], i)
	}
	next := 0
	for node, pods := range t.taken.onNode {
		switch {
		case len(t.taken.owners) == 0 && next < len(slots):
			seats[next] = pods
			next++
		case len(t.taken.owners) > 0 && len(free[t.taken.owners[node]]) > 0:
			owner := t.taken.owners[node]
			seats[free[owner][0]], free[owner] = pods, free[owner][1:]
		default:
			cut = append(cut, pods)
		}
	}
	return seats, cut
}
