package drain_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func budgetFor(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	pdb := budget("default", &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, allowed)
	pdb.Name = name
	return pdb
}

func pods(apps ...string) []*corev1.Pod {
	var pods []*corev1.Pod
	for i, app := range apps {
		pods = append(pods, simtest.Pod(app+string(rune('0'+i))).Label("app", app).Build())
	}
	return pods
}

func TestCanRemove(t *testing.T) {
	t.Parallel()
	one, none, two := budgetFor("b-one", "a", 1), budgetFor("c-none", "b", 0), budgetFor("a-two", "a", 2)
	cases := map[string]struct {
		budgets []*policyv1.PodDisruptionBudget
		pods    []*corev1.Pod
		want    drain.Verdict
	}{
		"pods without a budget go at once":                      {budgets: []*policyv1.PodDisruptionBudget{one, none}, pods: pods("x", "y"), want: drain.Verdict{Allowed: true, Parallel: true}},
		"as many as allowed go at once":                         {budgets: []*policyv1.PodDisruptionBudget{one}, pods: pods("a"), want: drain.Verdict{Allowed: true, Parallel: true}},
		"more than allowed go one after the other":              {budgets: []*policyv1.PodDisruptionBudget{one}, pods: pods("a", "a"), want: drain.Verdict{Allowed: true, Budget: one}},
		"a used-up budget forbids":                              {budgets: []*policyv1.PodDisruptionBudget{none}, pods: pods("b"), want: drain.Verdict{Budget: none}},
		"of several budgets the tightest decides":               {budgets: []*policyv1.PodDisruptionBudget{two, one}, pods: pods("a", "a"), want: drain.Verdict{Allowed: true, Budget: one}},
		"a used-up budget weighs more than a risky one":         {budgets: []*policyv1.PodDisruptionBudget{one, none}, pods: pods("a", "a", "b"), want: drain.Verdict{Budget: none}},
		"a used-up budget that selects none of them is no harm": {budgets: []*policyv1.PodDisruptionBudget{none}, pods: pods("a"), want: drain.Verdict{Allowed: true, Parallel: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, drain.NewBudgets(c.budgets).CanRemove(c.pods)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoweredBudgetsForbidWhatComesLater(t *testing.T) {
	t.Parallel()
	pdb := budgetFor("pdb", "a", 1)
	budgets := drain.NewBudgets([]*policyv1.PodDisruptionBudget{pdb})
	before := budgets.Copy()
	budgets.Lower(pods("a", "a")) // to -1: a node with two pods may go although the budget allows one
	if got := budgets.Exhausted(pods("a")[0]); got != pdb {
		t.Errorf("exhausted = %v, want the budget", got)
	}
	if diff := cmp.Diff(drain.Verdict{Budget: pdb}, budgets.CanRemove(pods("a"))); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if got := before.Exhausted(pods("a")[0]); got != nil {
		t.Errorf("the copy was lowered, too: %v", got)
	}
	if pdb.Status.DisruptionsAllowed != 1 {
		t.Error("the object was changed")
	}
}

func TestMatchingListsBudgetsByName(t *testing.T) {
	t.Parallel()
	first, second, other := budgetFor("1", "a", 1), budgetFor("2", "a", 1), budgetFor("3", "b", 1)
	got := drain.NewBudgets([]*policyv1.PodDisruptionBudget{other, second, first}).Matching(pods("a")[0])
	if diff := cmp.Diff([]*policyv1.PodDisruptionBudget{first, second}, got); diff != "" {
		t.Errorf("matching (-want +got):\n%s", diff)
	}
}

func TestNoBudgetsForbidNothing(t *testing.T) {
	t.Parallel()
	var none *drain.Budgets
	none.Lower(pods("a"))
	if diff := cmp.Diff(drain.Verdict{Allowed: true, Parallel: true}, none.Copy().CanRemove(pods("a"))); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if none.Exhausted(pods("a")[0]) != nil || none.Matching(pods("a")[0]) != nil {
		t.Error("a budget that doesn't exist selects a pod")
	}
}

func unreadable(namespace string) *policyv1.PodDisruptionBudget {
	return budget(namespace, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Sometimes"}}}, 9)
}

func TestABudgetThatCannotBeReadKeepsTheNodesOfItsNamespaceAndNoOthers(t *testing.T) {
	t.Parallel()
	bad := unreadable("web")
	budgets := drain.NewBudgets([]*policyv1.PodDisruptionBudget{bad, budgetFor("good", "a", 1)})
	meant := ownedPod().Namespace("web").Build()
	d := drain.Judge(meant, drain.Context{At: now, Workloads: existing(), Budgets: budgets, Options: defaults()})
	if d.Rule != "PDB" || d.Reason != drain.NotEnoughPdb || d.Err == nil || !strings.Contains(d.Err.Error(), "PodDisruptionBudget web/pdb") {
		t.Errorf("decision = %+v, want PDB to block with an error that names web/pdb", d)
	}
	if got := budgets.Exhausted(meant); got != bad {
		t.Errorf("exhausted = %v, want the budget that cannot be read", got)
	}
	if got := budgets.Matching(meant); len(got) > 0 {
		t.Errorf("matching = %v, want none: nobody knows whom it selects", got)
	}
	if diff := cmp.Diff(drain.Verdict{Budget: bad}, budgets.CanRemove([]*corev1.Pod{meant})); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(drain.Verdict{Allowed: true, Parallel: true}, budgets.CanRemove(pods("a"))); diff != "" {
		t.Errorf("verdict about another namespace (-want +got):\n%s", diff)
	}
}
