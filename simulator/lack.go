package simulator

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// What a node lacks where resources are not the matter: more than any pod could be short of.
const (
	lacksMore = 1e3
	lacksMost = 1e6 // what even removing pods would not give
)

// lack weighs what a node lacks: the shares of the requests that are missing, added up, or more where resources are not the matter.
func (r *Rejection) lack() float64 {
	switch {
	case r.Filter == InsufficientResource:
		return sharesMissing(r.Short)
	case r.Unresolvable:
		return lacksMost
	default:
		return lacksMore
	}
}

func sharesMissing(short []Shortage) float64 {
	sum := 0.0
	for i := range short {
		if asked := short[i].Asked; asked > 0 {
			sum += float64(asked-short[i].Offered) / float64(asked)
		}
	}
	return sum
}

// nearestOf is the rejection by the node that lacks least, the first of them; nil: no node was looked at.
func nearestOf(rejections []NodeRejection) *NodeRejection {
	var nearest *NodeRejection
	least := 0.0
	for i := range rejections {
		if rejections[i].Node == "" {
			continue
		}
		if lack := rejections[i].lack(); nearest == nil || lack < least {
			nearest, least = &rejections[i], lack
		}
	}
	return nearest
}

// lack weighs what the node lacks for pods of the kind, as Rejection.lack does, without putting the rejection into words. own: it is the same as long as
// the node is the same, whatever happens elsewhere.
func (q *query) lack(ctx context.Context, n *node) (lack float64, own bool, err error) {
	if n.object.Spec.Unschedulable {
		return lacksMost, true, nil
	}
	v, err := q.verdict(ctx, n)
	if err != nil {
		return 0, false, err
	}
	if v.refusals == nil && q.sizedFirst && !q.roomOn(n) { // the most frequent case
		q.short = q.shortagesOn(n, q.short[:0])
		return sharesMissing(q.short), true, nil
	}
	for i := range q.scheduler.rules {
		if q.isOff(i) {
			continue
		}
		if lack := q.lackBy(i, v, n); lack > 0 {
			return lack, false, nil
		}
	}
	return 0, false, nil
}

// lackBy is lack as one of the rules sees it; 0: it does not mind.
func (q *query) lackBy(rule int, v *verdict, n *node) float64 {
	r := &q.scheduler.rules[rule]
	switch {
	case r.fixed != nil:
		if v.refusals != nil && v.refusals[rule] != nil {
			return (&Rejection{Unresolvable: unresolvable(v.refusals[rule])}).lack()
		}
	case r.name == names.NodeResourcesFit:
		if !q.roomOn(n) {
			q.short = q.shortagesOn(n, q.short[:0])
			return sharesMissing(q.short)
		}
	case r.name == names.NodePorts && q.ports && portTaken(q.kind.shape.ports, n):
		return lacksMore
	case r.name == names.InterPodAffinity && q.near && !q.kind.nearness.fits(n):
		return (&Rejection{Unresolvable: !q.kind.nearness.isNear(n)}).lack()
	case r.name == names.PodTopologySpread && q.even && !q.kind.evenness.fits(n):
		return (&Rejection{Unresolvable: unresolvable(q.kind.evenness.refuses(n))}).lack()
	}
	return 0
}

// shortagesOn appends the resources that the node has too little of, in ascending order of names.
func (q *query) shortagesOn(n *node, short []Shortage) []Shortage {
	asked := &q.kind.shape.asked
	note := func(name corev1.ResourceName, wanted, offered int64) {
		if wanted > 0 && wanted > offered {
			short = append(short, Shortage{Resource: name, Asked: wanted, Offered: offered})
		}
	}
	note(corev1.ResourceCPU, asked.cpu, n.offered.cpu-n.taken.cpu)
	note(corev1.ResourceEphemeralStorage, asked.storage, n.offered.storage-n.taken.storage)
	note(corev1.ResourceMemory, asked.memory, n.offered.memory-n.taken.memory)
	note(corev1.ResourcePods, 1, int64(n.allowedPods-len(n.placements)))
	inOrder := len(short)
	for _, s := range asked.scalars {
		if !q.scheduler.ignores(s.name) {
			note(s.name, s.amount, n.offered.of(s.name)-n.taken.of(s.name))
		}
	}
	if len(short) > inOrder {
		slices.SortFunc(short, func(a, b Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	return short
}
