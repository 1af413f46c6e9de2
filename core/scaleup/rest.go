package scaleup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
)

// rest plans anew what was refused; again is false if there is nothing to plan. What was bought counts: in the sizes, in the accounts, and in the
// snapshot, in which a fork is open then.
func (t *turn) rest(ctx context.Context) (next *Considered, again bool, err error) {
	out := t.leftOut()
	if t.err != nil || ctx.Err() != nil || len(t.refused) == 0 || len(out) == len(t.plan.out) {
		return nil, false, nil //nolint:nilerr // the turn has its error with it
	}
	next = &Considered{in: t.plan.in, accounts: t.plan.accounts, out: out}
	switch {
	case t.boughtAny():
		if t.refused, err = t.book(ctx, next, t.refused); err != nil {
			return nil, false, err
		}
		next.in.Pending.Left = only(t.plan.in.Pending.Left, setOf(t.refused))
	default:
		next.in.Pending.Left = except(t.plan.in.Pending.Left, setOf(t.waiting))
		if len(t.waiting) == 0 {
			next.known = t.plan.found()
		}
	}
	if len(next.in.Pending.Left) == 0 { // all have found room on what was bought
		return nil, false, nil
	}
	if err := next.consider(ctx); err != nil {
		return nil, false, err
	}
	return next, true, nil
}

// more plans for pods that are still to be helped although nothing was refused, as long as the time for a salvo lasts (loop-and-scale-up 1.7); again is
// false if there are none.
func (t *turn) more(ctx context.Context) (next *Considered, again bool, err error) {
	salvo := t.plan.in.Salvo
	if salvo == nil || t.err != nil || ctx.Err() != nil || t.failed() != nil || !t.grownAny() || salvo.Spent() {
		return nil, false, nil //nolint:nilerr // the turn has its error with it
	}
	left := filtered(except(t.plan.in.Pending.Left, setOf(t.waiting)), func(pod *corev1.Pod) bool { return t.helped[pod] == "" })
	if len(left) == 0 {
		return nil, false, nil
	}
	next = &Considered{in: t.plan.in, accounts: t.plan.accounts, out: t.leftOut()}
	if left, err = t.book(ctx, next, left); err != nil || len(left) == 0 {
		return nil, false, err
	}
	next.in.Pending.Left = only(t.plan.in.Pending.Left, setOf(left))
	if err := next.consider(ctx); err != nil {
		return nil, false, err
	}
	return next, true, nil
}

// leftOut are the groups that take no further part in this round: those that did not do as they were told, and those that were created just now, as
// nobody has seen them yet.
func (t *turn) leftOut() map[cloudprovider.GroupID]report.Reason {
	out := maps.Clone(t.plan.out)
	if out == nil {
		out = map[cloudprovider.GroupID]report.Reason{}
	}
	for i, outcome := range t.outcomes {
		id := t.resizes[i].Group
		switch {
		case outcome.Err != nil:
			out[id] = report.ExecutionFailed{Error: outcome.Err.Error()}
		case t.plan.byID(id).theoretical:
			out[id] = report.GroupSetAside{Error: "it has only just been created", Since: outcome.At}
		}
	}
	return out
}

// found are the groups as this plan found them.
func (c *Considered) found() map[cloudprovider.GroupID]*candidate {
	found := make(map[cloudprovider.GroupID]*candidate, len(c.candidates))
	for _, cand := range c.candidates {
		found[cand.id] = cand
	}
	return found
}

// units is by how much an outcome may have raised the target.
func units(outcome report.ResizeOutcome) int {
	if lost(outcome.Err) {
		return max(outcome.Granted, outcome.To-outcome.From)
	}
	return outcome.Granted
}

func (t *turn) boughtAny() bool {
	return slices.ContainsFunc(t.outcomes, func(o report.ResizeOutcome) bool { return units(o) > 0 })
}

// book makes what was bought count in the next plan. Pods that are left may still find room on what was bought; they are helped then, and the others are
// returned.
func (t *turn) book(ctx context.Context, next *Considered, left []*corev1.Pod) ([]*corev1.Pod, error) {
	next.accounts = next.accounts.clone()
	next.in.State.Groups = slices.Clone(next.in.State.Groups)
	for i, outcome := range t.outcomes {
		cand := t.plan.byID(t.resizes[i].Group)
		bought, weight := units(outcome), cand.template.Weight()
		nodes := (bought + weight - 1) / weight
		next.accounts.take(next.accounts.perNode(cand), nodes)
		at := slices.IndexFunc(next.in.State.Groups, func(g clusterstate.GroupState) bool { return g.Group == cand.id })
		next.in.State.Groups[at].Target += bought
		next.in.State.Groups[at].Upcoming += nodes
	}
	first := t.plan.in.Snapshot.Len()
	t.plan.in.Snapshot.Fork()
	groups, err := t.addBought(ctx)
	if err != nil {
		return nil, err
	}
	return t.fit(ctx, left, first, groups)
}

// addBought puts the nodes that were bought into the snapshot, with the pods that they are for, and returns the groups of the nodes in order.
func (t *turn) addBought(ctx context.Context) ([]cloudprovider.GroupID, error) {
	var groups []cloudprovider.GroupID
	in := t.plan.in
	fresh := map[cloudprovider.GroupID][]simulator.NodeTemplate{}
	slots := t.slots()
	seats, _ := t.seats(slots)
	for i, s := range slots {
		if s.fate != fateBought {
			continue
		}
		if fresh[s.group] == nil {
			fresh[s.group] = nodeinfos.Smallest(t.plan.byID(s.group).template.Variants)
		}
		shapes := fresh[s.group]
		node := shapes[i%len(shapes)].Copy(fmt.Sprintf("bought-%d-%d", in.Snapshot.Depth(), i))
		if err := in.Snapshot.AddNode(node); err != nil {
			return nil, fmt.Errorf("adding a node that was bought of group %s: %w", s.group, err)
		}
		groups = append(groups, s.group)
		for _, pod := range seats[i] { // one that does not fit after all counts as helped and is not placed
			if _, _, err := in.Scheduler.Fill(ctx, in.Snapshot, []*corev1.Pod{pod}, node.Node.Name); err != nil {
				return nil, fmt.Errorf("placing pod %s/%s on a node that was bought: %w", pod.Namespace, pod.Name, err)
			}
		}
	}
	return groups, nil
}

// fit looks for room on what was bought: the nodes of the snapshot from index first on, whose groups are given. Pods that find some are helped; the
// others are returned.
func (t *turn) fit(ctx context.Context, left []*corev1.Pod, first int, groups []cloudprovider.GroupID) ([]*corev1.Pod, error) {
	if len(groups) == 0 {
		return left, nil
	}
	unfit := setOf(left)
	for _, class := range t.plan.classes {
		pods := only(class, unfit)
		if len(pods) == 0 {
			continue
		}
		placed, err := t.plan.in.Scheduler.PlaceAll(ctx, t.plan.in.Snapshot, pods, simulator.Search{From: first})
		for i, at := range placed {
			t.helped[pods[i]] = groups[at.Index-first]
			delete(unfit, pods[i])
		}
		if err != nil {
			return nil, fmt.Errorf("looking for room on the nodes that were bought: %w", err)
		}
	}
	return only(left, unfit), nil
}

// only returns the pods that are among some, in their order; except returns the others.
func only(pods []*corev1.Pod, some map[*corev1.Pod]bool) []*corev1.Pod {
	return filtered(pods, func(pod *corev1.Pod) bool { return some[pod] })
}

func except(pods []*corev1.Pod, some map[*corev1.Pod]bool) []*corev1.Pod {
	return filtered(pods, func(pod *corev1.Pod) bool { return !some[pod] })
}

func filtered(pods []*corev1.Pod, keep func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range pods {
		if keep(pod) {
			out = append(out, pod)
		}
	}
	return out
}

func setOf(pods []*corev1.Pod) map[*corev1.Pod]bool {
	set := make(map[*corev1.Pod]bool, len(pods))
	for _, pod := range pods {
		set[pod] = true
	}
	return set
}
