package scaledown_test

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestABudgetThatCannotBeReadKeepsTheNodesOfItsNamespaceOnly(t *testing.T) {
	bad := pdb("bad", "x", 1)
	bad.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Sometimes"}}
	w := world{
		nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "1000m"), node("z", "8000m")},
		pods:    []simtest.PodBuilder{pod("p", "100m", "n1"), pod("q", "100m", "n2").Namespace("team")},
		groupOf: map[string]cloudprovider.GroupID{"z": ""}, pdbs: []*policyv1.PodDisruptionBudget{bad},
	}
	planned := plan(t, newPlanner(t, defaults()), w, start)
	blocked, _ := verdicts(planned)["n1"].(report.BlockedByPod)
	if blocked.Why != "NotEnoughPdb" || blocked.PDB != "default/bad" || !strings.Contains(blocked.Err, "reading the selector of PodDisruptionBudget default/bad") {
		t.Errorf("n1: %+v, want it blocked by the budget that cannot be read", blocked)
	}
	if got := len(planned.Unneeded); got != 2 {
		t.Errorf("%d nodes are unneeded, want the one with a pod of another namespace and the empty one: %+v", got, planned.Unneeded)
	}
}
