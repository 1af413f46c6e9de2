package scaledown

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/taints"
	"example.com/cluster-autoscaler/simulator/utilization"
)

// budgetsFeature names the source without which it is unknown which pods may be moved.
const budgetsFeature = "poddisruptionbudgets.policy"

// removable is a node whose removal succeeded in the simulation.
type removable struct {
	node  *corev1.Node
	group *group
	used  utilization.Utilization
	since time.Time
	ready bool
	// move are the pods that need another place, guests of this simulation included; onCompletion have to end first.
	move, onCompletion []simulator.Resident
	// risky: the budgets do not allow to move all its pods at once.
	risky bool
}

// removal is the node as the report tells of it. Pods that lie on the node only because this simulation put them there are not
// told of.
func (r *removable) removal() report.Removal {
	out := report.Removal{
		Node: r.node.Name, ProviderID: r.node.Spec.ProviderID, Group: r.group.ID, Drain: len(r.move) > 0, Reason: report.Empty,
		Utilization: report.Utilization{
			CPU: r.used.CPU, Memory: r.used.Memory, GPU: r.used.Accelerator, Resource: string(r.used.Resource), Highest: r.used.Value,
		},
	}
	switch {
	case !r.ready:
		out.Reason = report.Unready
	case out.Drain:
		out.Reason = report.Underutilized
	}
	for _, who := range r.move {
		if who.Pod.Spec.NodeName == r.node.Name {
			out.Pods = append(out.Pods, nameOf(who.Pod))
		}
	}
	return out
}

func nameOf(pod *corev1.Pod) report.PodRef {
	return report.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// simulate removes one candidate after the other, in order, as long as it is allowed to go on. What one removal placed stays for the
// next one, so that no two count on the same room. The snapshot is as before afterwards.
func (u *update) simulate(ctx context.Context, candidates []candidate) (err error) {
	u.refreshRecheck()
	used := map[string]utilization.Utilization{}
	var eligible []*corev1.Node
	for _, c := range candidates {
		utilized, why := u.eligible(c)
		if why != nil {
			u.keep(c.node, why)
			continue
		}
		used[c.node.Name] = utilized
		eligible = append(eligible, c.node)
	}
	limit, counted := u.limit(), 0
	u.in.Snapshot.Fork()
	defer func() {
		if revertErr := u.in.Snapshot.Revert(); err == nil {
			err = revertErr
		}
	}()
	u.mover = u.scheduler.Mover(u.in.Snapshot, func(to *corev1.Node) bool { return u.destinations[to.Name] })
	defer u.mover.Close() // before the way back, about which it need not hear
	for i, node := range eligible {
		stop := ""
		switch {
		case u.in.Budget.Spent():
			stop = "the time for the search was used up"
		case counted >= limit:
			stop = fmt.Sprintf("no more than %d nodes are found unneeded at once", limit)
		}
		if stop != "" {
			u.leaveOut(eligible[i:], stop)
			return nil
		}
		found, why, err := u.remove(ctx, node)
		if err != nil {
			return err
		}
		if why != nil {
			if u.in.Explain {
				if why, err = u.withBlockers(ctx, node, why); err != nil {
					return err
				}
			}
			u.keep(node, why)
			u.recheck[node.Name] = recheckEntry{uid: node.UID, first: why, until: u.now.Add(u.options.ScaleDown.UnremovableRecheckTimeout)}
			continue
		}
		found.used = used[node.Name]
		u.found = append(u.found, found)
		if !found.group.Options.ZeroOrMaxNodeScaling {
			counted++
		}
	}
	return nil
}

func (u *update) leaveOut(nodes []*corev1.Node, why string) {
	for _, node := range nodes {
		u.keep(node, report.NotReached{Limit: why})
		u.notReached[node.Name] = true
		u.unreached = append(u.unreached, node.Name)
	}
}

// remove simulates the removal of one node (scale-down 3.5). why says what speaks against it; nil: nothing, and what was placed stays. err
// is set only if the snapshot is broken.
func (u *update) remove(ctx context.Context, node *corev1.Node) (found *removable, why report.Reason, err error) {
	snapshot := u.in.Snapshot
	if _, there := snapshot.Node(node.Name); !there {
		return nil, report.NoNodeInfo{}, nil
	}
	pods := drain.Sort(snapshot.Residents(node.Name), u.judge)
	if pods.Blocking != nil {
		return nil, u.blocked(pods.Blocking), nil
	}
	if len(pods.Move) > 0 {
		if off := u.budgetsOff(); off != nil {
			return nil, report.UnexpectedError{Error: "PodDisruptionBudgets cannot be read: " + off.Error()}, nil //nolint:nilerr // it keeps one node
		}
	}
	snapshot.Fork()
	why, err = u.moveAll(ctx, node, pods.Move)
	if err == nil && why == nil {
		err = snapshot.RemoveNode(node.Name)
	}
	if err != nil || why != nil {
		if revertErr := snapshot.Revert(); err == nil {
			err = revertErr
		}
		return nil, why, err
	}
	if err := snapshot.Commit(); err != nil {
		return nil, nil, err
	}
	verdict := u.rulings.Remove(func(yield func(*corev1.Pod, int) bool) {
		for _, who := range pods.Move {
			if !yield(who.Pod, who.Class()) {
				return
			}
		}
	})
	return &removable{
		node: node, group: u.groupOf(node), ready: readiness.Of(node).Ready,
		move: pods.Move, onCompletion: pods.OnCompletion, risky: !verdict.Parallel,
	}, nil, nil
}

// judge is what the rules say about the pod.
func (u *update) judge(who simulator.Resident) drain.Judged {
	return u.rulings.Judge(who.Pod, who.Class())
}

func (u *update) blocked(by *drain.Blocking) report.Reason {
	if by.Reason == drain.ResourceClaimsNotSimulated {
		return report.ResourceClaimsNotSimulated{Pod: nameOf(by.Pod)}
	}
	why := report.BlockedByPod{Pod: nameOf(by.Pod), Why: string(by.Reason)}
	if by.Err != nil {
		why.Err = by.Err.Error()
	}
	if by.Reason == drain.NotEnoughPdb {
		if pdb := u.budgets.Exhausted(by.Pod); pdb != nil {
			why.PDB = pdb.Namespace + "/" + pdb.Name
		}
	}
	return why
}

// budgetsOff says why PodDisruptionBudgets are unknown; nil: they are known.
func (u *update) budgetsOff() error {
	for _, feature := range u.in.Seen.Features {
		if feature.Name == budgetsFeature {
			return feature.Err
		}
	}
	return nil
}

// haunt puts a ghost in the place of the node: an empty node with the deletion taint, which keeps the node's topology domains alive, as the real one
// would while it is drained.
func (u *update) haunt(node *corev1.Node) error {
	ghost := *node
	ghost.Spec.Taints = append(slices.Clone(node.Spec.Taints), taints.NewToBeDeleted(u.now))
	return u.in.Snapshot.ReplaceNode(&ghost)
}

// moveAll puts a ghost in the place of the node and finds another place for each of the pods.
func (u *update) moveAll(ctx context.Context, node *corev1.Node, pods []simulator.Resident) (report.Reason, error) {
	if err := u.haunt(node); err != nil {
		return nil, err
	}
	if !slices.IsSortedFunc(pods, byPriority) {
		pods = slices.Clone(pods)
		slices.SortStableFunc(pods, byPriority)
	}
	for len(pods) > 0 {
		equal := 1
		for equal < len(pods) && pods[equal].Priority() == pods[0].Priority() {
			equal++
		}
		if why := u.moveGroup(ctx, node, pods[:equal]); why != nil {
			return why, nil
		}
		pods = pods[equal:]
	}
	return nil, nil //nolint:nilnil // no reason: every pod has a place
}

// byPriority has the highest first.
func byPriority(a, b simulator.Resident) int { return cmp.Compare(b.Priority(), a.Priority()) }

// moveGroup places pods of one priority: first those that fit where they fitted before, then the others in order.
func (u *update) moveGroup(ctx context.Context, node *corev1.Node, pods []simulator.Resident) report.Reason {
	var rest []simulator.Resident
	for i, who := range pods {
		if to, hinted := u.hints.of(who); hinted {
			placed, err := u.mover.PlaceOn(ctx, who, to, node.Name)
			if err != nil {
				return report.UnexpectedError{Error: err.Error()} // one pod's trouble keeps one node
			}
			if placed {
				u.hints.note(who, to)
				continue
			}
		}
		if rest == nil {
			rest = make([]simulator.Resident, 0, len(pods)-i)
		}
		rest = append(rest, who)
	}
	for _, who := range rest {
		placement, nearest, err := u.mover.Place(ctx, who, node.Name, u.lastMatch)
		switch {
		case err != nil:
			return report.UnexpectedError{Error: err.Error()} // one pod's trouble keeps one node
		case placement.Node == "":
			return noPlace(who.Pod, nearest)
		}
		u.lastMatch = placement.Index
		u.hints.note(who, placement.Node)
	}
	return nil
}

// noPlace tells of the node that lacks least; nil: no node was looked at.
func noPlace(pod *corev1.Pod, nearest *simulator.NodeRejection) report.NoPlaceToMovePods {
	why := report.NoPlaceToMovePods{Pod: nameOf(pod)}
	if nearest != nil {
		why.Nearest, why.Lacks = nearest.Node, &nearest.Rejection
	}
	return why
}
