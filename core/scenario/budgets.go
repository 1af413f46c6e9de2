package scenario

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// countBudgets is the disruption controller: it writes into each PodDisruptionBudget how many pods may be disrupted now.
func (w *world) countBudgets() error {
	for _, budget := range w.budgets.all() {
		status, err := w.statusOf(budget)
		if err != nil {
			return err
		}
		was := &budget.Status
		if was.CurrentHealthy == status.CurrentHealthy && was.DesiredHealthy == status.DesiredHealthy &&
			was.ExpectedPods == status.ExpectedPods && was.DisruptionsAllowed == status.DisruptionsAllowed &&
			was.ObservedGeneration == budget.Generation && len(was.DisruptedPods) == 0 {
			continue
		}
		changed := *budget
		changed.Status = status
		changed.Status.ObservedGeneration = budget.Generation
		if err := w.budgets.put(&changed); err != nil {
			return storing(kindPDB, budget, err)
		}
	}
	return nil
}

// statusOf counts anew.
func (w *world) statusOf(budget *policyv1.PodDisruptionBudget) (policyv1.PodDisruptionBudgetStatus, error) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return policyv1.PodDisruptionBudgetStatus{}, fmt.Errorf("reading the selector of PodDisruptionBudget %s: %w", keyOf(budget), err)
	}
	var covered []*corev1.Pod
	healthy := 0
	for _, pod := range w.pods.all() {
		if ended(pod) || !covers(budget, selector, pod) {
			continue
		}
		covered = append(covered, pod)
		if isReady(pod) && pod.DeletionTimestamp == nil {
			healthy++
		}
	}
	expected, desired, err := w.expects(budget, covered)
	if err != nil {
		return policyv1.PodDisruptionBudgetStatus{}, err
	}
	allowed := 0
	if expected > 0 {
		allowed = max(0, healthy-desired)
	}
	return policyv1.PodDisruptionBudgetStatus{
		CurrentHealthy: count32(healthy), DesiredHealthy: count32(desired), ExpectedPods: count32(expected), DisruptionsAllowed: count32(allowed),
	}, nil
}

func count32(n int) int32 { return int32(min(n, 1<<30)) } //nolint:gosec // bounded

func covers(budget *policyv1.PodDisruptionBudget, selector labels.Selector, pod *corev1.Pod) bool {
	return pod.Namespace == budget.Namespace && selector.Matches(labels.Set(pod.Labels))
}

// expects is how many pods there should be, and how many of them have to be healthy.
func (w *world) expects(budget *policyv1.PodDisruptionBudget, covered []*corev1.Pod) (expected, desired int, err error) {
	switch spec := budget.Spec; {
	case spec.MaxUnavailable != nil:
		expected = w.scaleOf(covered)
		unavailable, err := intstr.GetScaledValueFromIntOrPercent(spec.MaxUnavailable, expected, true)
		if err != nil {
			return 0, 0, fmt.Errorf("reading maxUnavailable of PodDisruptionBudget %s: %w", keyOf(budget), err)
		}
		return expected, max(0, expected-unavailable), nil
	case spec.MinAvailable != nil && spec.MinAvailable.Type == intstr.String:
		expected = w.scaleOf(covered)
		desired, err = intstr.GetScaledValueFromIntOrPercent(spec.MinAvailable, expected, true)
		if err != nil {
			return 0, 0, fmt.Errorf("reading minAvailable of PodDisruptionBudget %s: %w", keyOf(budget), err)
		}
		return expected, desired, nil
	case spec.MinAvailable != nil:
		return len(covered), spec.MinAvailable.IntValue(), nil
	default: // the API server takes this for minAvailable: 1
		return len(covered), 1, nil
	}
}

// scaleOf is how many pods the controllers of these pods want in all. Pods without a known controller count as they are.
func (w *world) scaleOf(covered []*corev1.Pod) int {
	sum := 0
	counted := map[*workload]bool{}
	for _, pod := range covered {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil {
			sum++
			continue
		}
		hired := w.ownerOf[owner.UID]
		switch {
		case hired == nil:
			sum++
		case !counted[hired]:
			counted[hired] = true
			sum += hired.wanted
		}
	}
	return sum
}

// budgetsOf are the PodDisruptionBudgets that cover the pod.
func (w *world) budgetsOf(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	return slices.DeleteFunc(slices.Clone(w.budgets.all()), func(budget *policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		return err != nil || !covers(budget, selector, pod)
	})
}
