package simulated_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

func TestAMachineThatJoinsRaisesTheTargetAndCanBeDeleted(t *testing.T) {
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	clk := clocktesting.NewFakeClock(start)
	cloud, err := simulated.New(clk, simulated.Group{
		ID: "g", Max: 5, Target: 1, Templates: []cloudprovider.TemplateVariant{{Key: "only", Node: &corev1.Node{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Join("g", simulated.Existing{NodeName: "guest", ProviderID: "simulated:///elsewhere/guest", Since: start.Add(-time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Join("g", simulated.Existing{NodeName: "guest"}); err == nil {
		t.Error("two machines of one name could join")
	}
	if err := cloud.Join("g", simulated.Existing{NodeName: "other", Variant: "none"}); err == nil {
		t.Error("a machine of an unknown template could join")
	}
	if g, _ := cloud.Group("g"); g.Target != 2 || len(cloud.Nodes("g")) != 2 {
		t.Fatalf("target %d with %d nodes, want 2 and 2", g.Target, len(cloud.Nodes("g")))
	}
	if err := cloud.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	outcomes, err := cloud.NodeGroups()[0].DeleteNodes(t.Context(), []cloudprovider.NodeRef{{Name: "guest", ProviderID: "simulated:///elsewhere/guest"}})
	if err != nil || len(outcomes) != 1 || outcomes[0].Err != nil {
		t.Fatalf("deleting it: %v, %v", outcomes, err)
	}
	if g, _ := cloud.Group("g"); g.Target != 1 {
		t.Errorf("target %d after it was deleted, want 1", g.Target)
	}
}
