package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// The first type runs out after one machine, so that AWS goes on with the others; one of these has a launch template of its own.
func TestAGroupOfSeveralTypesGrowsFromZeroAndShrinks(t *testing.T) {
	s := parallelStory(t)
	own := s.namespace + "-own"
	s.cluster.AWS.PutLaunchTemplate(awstest.LaunchTemplate{Name: own, Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
	group := s.group(cluster.NodeGroup{Name: "mixed", Type: "m5.large", Max: 5, Timing: slow, Mixed: &awstest.MixedInstances{
		OnDemandStrategy: awstest.Prioritized,
		Overrides: []awstest.Override{
			{InstanceType: "m5.large"},
			{InstanceType: "m5a.large", LaunchTemplate: &awstest.LaunchTemplateRef{Name: own}},
			{InstanceType: "m6i.large"},
		},
	}})
	s.cluster.AWS.SetStock(awstest.StockRule{Group: group, Type: "m5.large", Left: 1})
	defer s.cluster.AWS.SetStock(awstest.StockRule{Group: group, Type: "m5.large", Left: awstest.Unlimited})
	s.deployment("web", 3, "1200m", "1Gi")
	s.waitUnschedulable("web", 3)

	s.installed("ca")
	s.waitRunning("web", 3)
	if got := wanted(s.purchases(group)); !cmp.Equal([]string{"3"}, got) {
		t.Errorf("calls set the desired capacity to %v, want 3 once", got)
	}
	if diff := cmp.Diff(map[string]int{"m5.large": 1, "m5a.large": 2}, s.types()); diff != "" {
		t.Errorf("types of the nodes (-want +got):\n%s", diff)
	}

	s.scale("web", 0)
	s.waitNodes(0)
	s.checkShrunk(group, 3)
}

// In a group whose types have weights AWS counts units: a machine of the second type is two.
func TestAGroupWithWeightsIsCountedInMachines(t *testing.T) {
	s := parallelStory(t)
	group := s.group(cluster.NodeGroup{Name: "weighted", Type: "m5.large", Max: 8, Timing: slow, Mixed: &awstest.MixedInstances{
		OnDemandStrategy: awstest.Prioritized,
		Overrides:        []awstest.Override{{InstanceType: "m5.xlarge", Weight: 2}, {InstanceType: "m5a.xlarge", Weight: 2}},
	}})
	s.deployment("web", 3, "2500m", "1Gi")
	s.waitUnschedulable("web", 3)

	s.installed("ca")
	s.waitRunning("web", 3)
	if got := wanted(s.purchases(group)); !cmp.Equal([]string{"6"}, got) {
		t.Errorf("calls set the desired capacity to %v, want 6 units once", got)
	}
	s.waitNodes(3)
	s.scale("web", 0)
	s.waitNodes(0)
	s.checkShrunk(group, 3)
}

// types counts the story's nodes by instance type.
func (s *story) types() map[string]int {
	s.t.Helper()
	nodes, err := s.nodes(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, node := range nodes {
		counts[node.Labels[corev1.LabelInstanceTypeStable]]++
	}
	return counts
}

// checkShrunk makes sure that a group is empty, that requests named so many machines, and that AWS chose none itself.
func (s *story) checkShrunk(group string, machines int) {
	s.t.Helper()
	s.eventually("the group wants nothing", func(context.Context) (bool, string, error) {
		return s.desired(group) == 0, fmt.Sprint(s.desired(group)), nil
	})
	if ended := s.endings(group); len(ended) != machines {
		s.t.Errorf("%d calls ended machines, want %d", len(ended), machines)
	}
	for _, event := range s.happened(group, awstest.EventEnding) {
		if event.Cause != awstest.CauseRequest {
			s.t.Errorf("a machine ended that nobody named: %+v", event)
		}
	}
}

// happened are the events of a kind in a group, oldest first.
func (s *story) happened(group string, kind awstest.EventKind) []awstest.Event {
	return slices.DeleteFunc(s.cluster.AWS.Events(), func(e awstest.Event) bool { return e.Group != group || e.Kind != kind })
}

// fallOver is how long it may take from the failure of a launch to the request for a machine of another group.
const fallOver = 20 * time.Second

// AWS takes the request and finds no machine a moment later. Both times are those of the stand-in.
func TestALaunchThatFailsFallsOverToAnotherGroupWithinSeconds(t *testing.T) {
	s := parallelStory(t)
	first := s.group(cluster.NodeGroup{Name: "first", Type: "m5.large", Max: 5, Timing: slow})
	second := s.group(cluster.NodeGroup{Name: "second", Type: "m5.4xlarge", Max: 5, Timing: slow})
	s.cluster.AWS.SetStock(awstest.StockRule{Group: first, Left: 0})
	defer s.cluster.AWS.SetStock(awstest.StockRule{Group: first, Left: awstest.Unlimited})
	// So that the next iteration by the clock, and the end of waiting for the machine, would come too late.
	s.installed("ca", "--scale-down-unneeded-time=10m", "--scan-interval=10m")
	s.waitLoops()
	s.deployment("web", 1, "1200m", "1Gi")
	s.waitRunning("web", 1)

	failed, bought := s.happened(first, awstest.EventLaunchFailed), s.purchases(second)
	if len(failed) == 0 || !cmp.Equal([]string{"1"}, wanted(bought)) {
		t.Fatalf("launches that failed in the first group: %+v; purchases in the second: %v; want one at least and one", failed, wanted(bought))
	}
	took := bought[0].Time.Sub(failed[0].Time)
	t.Logf("From the failed launch to the other group's purchase: %.1f s", took.Seconds())
	if took < 0 || took > fallOver {
		t.Errorf("the other group was asked %v after the launch had failed, want at most %v", took, fallOver)
	}
	s.waitEvent("ConfigMap", "cluster-autoscaler-status", "ScaleUpFailed", string(awstest.InsufficientInstanceCapacity))
	if got := wanted(s.purchases(first)); len(got) == 0 || got[0] != "1" || slices.Contains(got[1:], "1") {
		t.Errorf("calls set the desired capacity of the first group to %v, want 1 once, and perhaps 0", got)
	}
}

// The label and the taint are in no tag: only EKS knows them.
func TestALabelThatOnlyEKSKnowsIsUsedFromZero(t *testing.T) {
	s := parallelStory(t)
	managed := awstest.Nodegroup{
		Cluster: s.namespace, Name: "batch", Labels: map[string]string{"team": "blue"},
		Taints: []awstest.NodegroupTaint{{Key: "dedicated", Value: "blue", Effect: "NO_SCHEDULE"}},
	}
	if err := s.cluster.AWS.PutNodegroup(managed); err != nil {
		t.Fatal(err)
	}
	defer s.cluster.AWS.RemoveNodegroup(managed.Cluster, managed.Name)
	tags := map[string]string{}
	for _, tag := range managed.GroupTags() {
		tags[tag.Key] = tag.Value
	}
	owned := s.group(cluster.NodeGroup{Name: "eks-batch", Type: "m5.large", Max: 3, Timing: slow, Tags: tags})
	other := s.group(cluster.NodeGroup{Name: "other", Type: "m5.large", Max: 3, Timing: slow})
	s.deployment("sums", 2, "1200m", "1Gi", tolerating(corev1.Taint{Key: "dedicated", Value: "blue"}), func(p *corev1.PodTemplateSpec) {
		maps.Copy(p.Spec.NodeSelector, managed.Labels)
	})
	s.waitUnschedulable("sums", 2)

	s.installed("ca", "--scale-down-unneeded-time=10m")
	s.waitRunning("sums", 2)
	s.always(3*time.Second, "nothing more is bought", func(context.Context) (bool, string, error) {
		diff := cmp.Diff(map[string][]string{owned: {"2"}, other: nil}, map[string][]string{owned: wanted(s.purchases(owned)), other: wanted(s.purchases(other))})
		return diff == "", diff, nil
	})
	asked := slices.ContainsFunc(s.calls("DescribeNodegroup"), func(c awstest.Call) bool { return c.Params.Get("name") == managed.Cluster })
	if !asked {
		t.Error("nobody asked EKS about the node group")
	}
}
