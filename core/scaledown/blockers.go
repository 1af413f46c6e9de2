package scaledown

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/drain"
)

// withBlockers adds to the reason why a node stays all that would have to change for it to go. Decisions do not depend on it: it leaves snapshot, hints
// and the place where searches go on as they are. An error means that the snapshot is broken.
func (u *update) withBlockers(ctx context.Context, node *corev1.Node, why report.Reason) (report.Reason, error) {
	list, ok := listing(why)
	if !ok {
		return why, nil
	}
	all, err := u.blockers(ctx, node)
	if err != nil || len(all) == 1 && all[0].Pods == 1 { // the reason names that pod
		return why, err
	}
	return list(all), nil
}

// listing returns what makes the reason list blockers; ok is false if it is not about pods.
func listing(why report.Reason) (with func([]report.Blocker) report.Reason, ok bool) {
	switch r := why.(type) {
	case report.BlockedByPod:
		return func(all []report.Blocker) report.Reason { r.All = all; return r }, true
	case report.NoPlaceToMovePods:
		return func(all []report.Blocker) report.Reason { r.All = all; return r }, true
	case report.ResourceClaimsNotSimulated:
		return func(all []report.Blocker) report.Reason { r.All = all; return r }, true
	default:
		return nil, false
	}
}

// blockers are all pods that keep the node: those that a rule keeps, and of the others those that find no place when they are moved one after the other.
// They are put together by controller and reason, fewest pods first.
func (u *update) blockers(ctx context.Context, node *corev1.Node) (all []report.Blocker, err error) {
	pods := u.in.Snapshot.Residents(node.Name)
	u.in.Snapshot.Fork()
	defer func() {
		if revertErr := u.in.Snapshot.Revert(); err == nil {
			err = revertErr
		}
	}()
	if err := u.haunt(node); err != nil {
		return nil, err
	}
	from := u.lastMatch
	for _, who := range pods {
		pod, judged := who.Pod, u.judge(who)
		decision := judged.Decision
		switch {
		case decision.Outcome == drain.BlockDrain:
			all = count(all, pod, string(decision.Reason), u.blockedBy(pod, decision))
		case judged.Moves:
			placement, nearest, err := u.mover.Place(ctx, who, node.Name, from)
			switch {
			case err != nil:
				all = count(all, pod, string(drain.UnexpectedError), err.Error())
			case placement.Node == "":
				all = count(all, pod, string(report.CodeNoPlaceToMovePods), lacking(noPlace(pod, nearest)))
			default:
				from = placement.Index
			}
		}
	}
	slices.SortFunc(all, func(a, b report.Blocker) int { return cmp.Or(cmp.Compare(a.Pods, b.Pods), compareBlockers(a, b)) })
	return all, nil
}

// blockedBy is what is known about a rule's decision beyond its reason.
func (u *update) blockedBy(pod *corev1.Pod, decision drain.Decision) string {
	var known []string
	if decision.Reason == drain.NotEnoughPdb {
		if pdb := u.budgets.Exhausted(pod); pdb != nil {
			known = append(known, pdb.Namespace+"/"+pdb.Name)
		}
	}
	if decision.Err != nil {
		known = append(known, decision.Err.Error())
	}
	return strings.Join(known, ": ")
}

// lacking names the nearest node and what it lacks.
func lacking(why report.NoPlaceToMovePods) string {
	if why.Lacks == nil {
		return ""
	}
	return why.Nearest + ": " + report.Rejected{Rejection: *why.Lacks}.String()
}

// count puts the pod to the others of its controller that block for the same reason. The list is in order by whom and why.
func count(all []report.Blocker, pod *corev1.Pod, why, detail string) []report.Blocker {
	one := report.Blocker{Why: why, Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, Pods: 1, Detail: detail}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		one.Kind, one.Name = owner.Kind, owner.Name
	}
	at, known := slices.BinarySearchFunc(all, one, compareBlockers)
	if known {
		all[at].Pods++
		return all
	}
	return slices.Insert(all, at, one)
}

// compareBlockers orders by reason and controller. What detail there is, is that of the first pod, but for budgets, of which each counts.
func compareBlockers(a, b report.Blocker) int {
	byWhom := cmp.Or(cmp.Compare(a.Why, b.Why), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	if byWhom == 0 && a.Why == string(drain.NotEnoughPdb) {
		return cmp.Compare(a.Detail, b.Detail)
	}
	return byWhom
}
