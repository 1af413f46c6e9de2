package scaleup

import (
	"context"
	"fmt"
	"slices"
	"strings"

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
	joint, err := c.joint(ctx, members, in)
	if err != nil {
		return fmt.Errorf("estimating group %s together with others: %w", cand.id, err)
	}
	if len(joint.pods) > len(cand.pods) {
		cand.pods, cand.placed, cand.onNode, cand.owners = joint.pods, joint.placed, joint.onNode, joint.owners
		cand.nodes, cand.shared = joint.nodes, joint.shared
	}
	return nil
}

// joint is what the groups come to together; nothing where that cannot be told. Groups that are alike ask the same, which is answered once. The caller
// may read it only. An error means that nothing more can be asked.
func (c *Considered) joint(ctx context.Context, members []*candidate, in estimator.In) (estimated, error) {
	in.Shapes, in.Rooms = nil, nil
	owners := map[string]*candidate{}
	room := 0
	var key strings.Builder
	for _, class := range in.Classes {
		fmt.Fprintf(&key, "%p ", class.Pods[0])
	}
	for _, member := range members {
		shape := member.template.Variants[0].NodeTemplate
		owners[shape.Node.Name] = member
		in.Shapes, in.Rooms = append(in.Shapes, shape), append(in.Rooms, member.room())
		room += member.room()
		fmt.Fprintf(&key, "%s\n", member.id)
	}
	if known, ok := c.joints[key.String()]; ok {
		return known, nil
	}
	in.MaxNodes, _ = c.within(room)
	result, err := estimator.Estimate(ctx, in)
	if err != nil && (ctx.Err() != nil || c.in.Snapshot.Depth() != c.depth) {
		return estimated{}, err
	}
	together := candidate{template: members[0].template}
	if err == nil && len(result.Failed) == 0 {
		if result.Stopped != nil {
			together.shared = *result.Stopped
		}
		together.take(result)
		for _, fresh := range result.New {
			together.owners = append(together.owners, owners[fresh.Shape])
		}
	}
	if c.joints == nil {
		c.joints = map[string]estimated{}
	}
	c.joints[key.String()] = together.estimated
	return together.estimated, nil
}

// alikeElsewhere are the group and those that could take a share of its pods, in the order of the cloud: they are similar, and nothing but how the pods are spread now keeps
// these out. Groups whose nodes may come in several shapes are left out: it is the cloud that decides there.
func (c *Considered) alikeElsewhere(cand *candidate) []*candidate {
	if len(cand.template.Variants) != 1 {
		return nil
	}
	if c.profiles == nil {
		c.comparison, c.profiles = c.rules(), map[*candidate]nodegroupset.Profile{}
	}
	var members []*candidate
	for _, other := range c.candidates {
		if other == cand {
			members = append(members, other)
			continue
		}
		if other.skip != nil || other.atomic || len(other.template.Variants) != 1 || other.room() < 1 {
			continue
		}
		if c.sharesSpread(other, cand) && c.comparison.Similar(c.profile(cand), c.profile(other)) {
			members = append(members, other)
		}
	}
	return members
}

func (c *Considered) profile(cand *candidate) nodegroupset.Profile {
	known, ok := c.profiles[cand]
	if !ok {
		known = c.comparison.Profile(cand.template)
		c.profiles[cand] = known
	}
	return known
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
