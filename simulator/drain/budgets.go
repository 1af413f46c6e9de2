package drain

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// Budgets counts how many more disruptions each PodDisruptionBudget allows. Not safe for concurrent use. A nil *Budgets has
// no budgets and may be asked.
type Budgets struct{}

// NewBudgets starts the counters at what the objects' status allows. A selector that cannot be parsed is an error naming the object.
func NewBudgets(pdbs []*policyv1.PodDisruptionBudget) (*Budgets, error) { return nil, nil }

// Copy returns counters that go their own way from now on.
func (b *Budgets) Copy() *Budgets { return nil }

// Matching lists the budgets that select the pod, in ascending order of their names.
func (b *Budgets) Matching(pod *corev1.Pod) []*policyv1.PodDisruptionBudget { return nil }

// Exhausted returns the first budget that selects the pod and allows no disruption any more; nil: there is none.
func (b *Budgets) Exhausted(pod *corev1.Pod) *policyv1.PodDisruptionBudget { return nil }

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
func (b *Budgets) CanRemove(pods []*corev1.Pod) Verdict { return Verdict{} }

// Lower counts the removal of these pods. Counters may go below zero.
func (b *Budgets) Lower(pods []*corev1.Pod) {}
