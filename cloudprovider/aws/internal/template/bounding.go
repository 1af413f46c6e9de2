package template

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	// mostNamed is how many types of a mixed instances policy get variants of their own. AWS takes no more than that.
	mostNamed = 40
	// mostFitting is that for types that fit requirements, which can be hundreds, for each zone, in each iteration.
	mostFitting = 16
)

// bounding takes from very many kinds of machines those that no other is smaller than in every respect, so that what fits on all that are kept fits on
// the others too, and fills up with the smallest of the others. Few are kept as they are.
func (s Source) bounding(shapes []shape) []shape {
	most := mostNamed
	if s.Facts.ByRequirements { // the order in which AWS lists them means nothing
		most = mostFitting
		slices.SortStableFunc(shapes, bySize)
	}
	if len(shapes) <= most {
		return shapes
	}
	bySizes := make([]int, len(shapes))
	for i := range shapes {
		bySizes[i] = i
	}
	slices.SortStableFunc(bySizes, func(a, b int) int { return bySize(shapes[a], shapes[b]) })
	keep := make([]bool, len(shapes))
	var kept []shape
	take := func(i int) { keep[i], kept = true, append(kept, shapes[i]) }
	for _, i := range bySizes { // whatever one of the larger ones bounds, one that was kept before it bounds too
		if !slices.ContainsFunc(kept, func(small shape) bool { return within(small, shapes[i]) }) {
			take(i)
		}
	}
	for i := 0; i < len(shapes) && len(kept) < most; i++ {
		if !keep[i] {
			take(i)
		}
	}
	out := make([]shape, 0, len(kept))
	for i := range shapes {
		if keep[i] {
			out = append(out, shapes[i])
		}
	}
	return out
}

// within tells whether whatever fits on a small machine fits on a large one as well.
func within(small, large shape) bool {
	if small.system.name() != large.system.name() || small.system.architecture != large.system.architecture {
		return false
	}
	for name, amount := range small.allocatable {
		if other := large.allocatable[name]; other.Cmp(amount) < 0 {
			return false
		}
	}
	return true
}

func bySize(a, b shape) int {
	amount := func(sh shape, name corev1.ResourceName) int64 { q := sh.capacity[name]; return q.Value() }
	return cmp.Or(
		cmp.Compare(amount(a, corev1.ResourceCPU), amount(b, corev1.ResourceCPU)), cmp.Compare(amount(a, corev1.ResourceMemory), amount(b, corev1.ResourceMemory)),
		cmp.Compare(a.choice.Type, b.choice.Type),
	)
}
