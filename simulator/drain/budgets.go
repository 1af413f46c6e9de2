package drain

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budgets counts how many more disruptions each PodDisruptionBudget allows. Not safe for concurrent use. A nil *Budgets has
// no budgets and may be asked.
type Budgets struct {
	// byNamespace holds for each namespace the indexes of its budgets in all, in ascending order of names; shared by copies.
	byNamespace map[string][]int
	all         []selectingBudget // shared by copies
	left        []int             // disruptions that each of all still allows
}

type selectingBudget struct {
	object   *policyv1.PodDisruptionBudget
	selector labels.Selector
	err      error // why the selector cannot be read; nil: it can
}

// NewBudgets starts the counters at what the objects' status allows. A budget with a selector that cannot be read guards whatever is in its
// namespace and allows nothing, since any of these pods may be meant.
func NewBudgets(pdbs []*policyv1.PodDisruptionBudget) *Budgets {
	sorted := slices.SortedStableFunc(slices.Values(pdbs), func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	b := &Budgets{byNamespace: map[string][]int{}}
	for i, pdb := range sorted {
		// Without a selector it selects nothing, with an empty one everything in its namespace.
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		left := int(pdb.Status.DisruptionsAllowed)
		if err != nil {
			err = fmt.Errorf("reading the selector of PodDisruptionBudget %s/%s: %w", pdb.Namespace, pdb.Name, err)
			selector, left = labels.Everything(), 0
		}
		b.all = append(b.all, selectingBudget{object: pdb, selector: selector, err: err})
		b.left = append(b.left, left)
		b.byNamespace[pdb.Namespace] = append(b.byNamespace[pdb.Namespace], i)
	}
	return b
}

// Copy returns counters that go their own way from now on.
func (b *Budgets) Copy() *Budgets {
	if b == nil {
		return nil
	}
	return &Budgets{byNamespace: b.byNamespace, all: b.all, left: slices.Clone(b.left)}
}

// Matching lists the budgets that are known to select the pod, in ascending order of their names.
func (b *Budgets) Matching(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	var matching []*policyv1.PodDisruptionBudget
	for _, i := range b.candidates(pod) {
		if b.all[i].err == nil && b.all[i].matches(pod) {
			matching = append(matching, b.all[i].object)
		}
	}
	return matching
}

// Exhausted returns the first budget that selects the pod, or may do so, and allows no disruption any more; nil: there is none.
func (b *Budgets) Exhausted(pod *corev1.Pod) *policyv1.PodDisruptionBudget {
	if i, found := b.exhausted(pod); found {
		return b.all[i].object
	}
	return nil
}

func (b *Budgets) exhausted(pod *corev1.Pod) (index int, found bool) {
	for _, i := range b.candidates(pod) {
		if b.left[i] < 1 && b.all[i].matches(pod) {
			return i, true
		}
	}
	return 0, false
}

// Verdict says whether a set of pods may be removed.
type Verdict struct {
	// Allowed: every budget that selects one of the pods allows at least one more disruption.
	Allowed bool
	// Parallel: the budgets allow all of them at the same time. If not, the removal is risky.
	Parallel bool
	// Budget is the one that says no: to the removal if not Allowed, else to doing it at once; nil if both are fine.
	Budget *policyv1.PodDisruptionBudget
}

// CanRemove judges the removal of all these pods.
func (b *Budgets) CanRemove(pods []*corev1.Pod) Verdict { return b.judge(b.count(pods)) }

// judge judges the removal of so many pods of each budget.
func (b *Budgets) judge(counts []int) Verdict {
	verdict := Verdict{Allowed: true, Parallel: true}
	for i, count := range counts {
		if count == 0 {
			continue
		}
		if b.left[i] < 1 {
			return Verdict{Budget: b.all[i].object}
		}
		if count > b.left[i] && verdict.Parallel {
			verdict.Parallel, verdict.Budget = false, b.all[i].object
		}
	}
	return verdict
}

// Lower counts the removal of these pods. Counters may go below zero.
func (b *Budgets) Lower(pods []*corev1.Pod) { b.lower(b.count(pods)) }

func (b *Budgets) lower(counts []int) {
	for i, count := range counts {
		b.left[i] -= count
	}
}

// count says how many of the pods each budget selects.
func (b *Budgets) count(pods []*corev1.Pod) []int {
	if b.empty() {
		return nil
	}
	counts := make([]int, len(b.all))
	for _, pod := range pods {
		for _, i := range b.selecting(pod) {
			counts[i]++
		}
	}
	return counts
}

func (b *Budgets) empty() bool { return b == nil || len(b.all) == 0 }

// selecting are the budgets that select the pod, or may do so, in ascending order of their names.
func (b *Budgets) selecting(pod *corev1.Pod) []int {
	var selecting []int
	for _, i := range b.candidates(pod) {
		if b.all[i].matches(pod) {
			selecting = append(selecting, i)
		}
	}
	return selecting
}

// guards tells whether a budget selects the pod, or may do so.
func (b *Budgets) guards(pod *corev1.Pod) bool {
	return slices.ContainsFunc(b.candidates(pod), func(i int) bool { return b.all[i].matches(pod) })
}

// candidates are the budgets of the pod's namespace.
func (b *Budgets) candidates(pod *corev1.Pod) []int {
	if b.empty() {
		return nil
	}
	return b.byNamespace[pod.Namespace]
}

func (s selectingBudget) matches(pod *corev1.Pod) bool {
	return s.selector.Matches(labels.Set(pod.Labels))
}
