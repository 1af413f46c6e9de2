package awstest_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// nodegroup asks EKS for a node group.
func (r *rig) nodegroup(ctx context.Context, cluster, name string) (*types.Nodegroup, error) {
	out, err := eks.NewFromConfig(r.cfg).DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: &name})
	if err != nil {
		return nil, err
	}
	return out.Nodegroup, nil
}

// mustPut puts a node group in.
func (r *rig) mustPut(t *testing.T, n awstest.Nodegroup) {
	t.Helper()
	if err := r.PutNodegroup(n); err != nil {
		t.Fatal(err)
	}
}

func TestTheSDKReadsEveryPartOfANodeGroup(t *testing.T) {
	r := newRig(t)
	n := awstest.Nodegroup{
		Cluster: "blue/green", Name: "spot 1", Status: awstest.NodegroupDegraded, Version: "1.35", ReleaseVersion: "1.35.1-20260801",
		CapacityType: "SPOT", AMIType: "AL2023_ARM_64_STANDARD", DiskSizeGiB: 50, InstanceTypes: []string{"m6g.large"}, Subnets: []string{"subnet-1"},
		Labels: map[string]string{"team": "a"}, Tags: map[string]string{"owner": "b"}, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers", Version: "1"},
		Taints: []awstest.NodegroupTaint{{Key: "k", Value: "v", Effect: "NO_SCHEDULE"}, {Key: "bare", Effect: "NO_EXECUTE"}},
		Issues: []string{"AsgInstanceLaunchFailures"},
	}
	g := workers(2)
	g.Tags = n.GroupTags()
	r.mustAdd(t, g)
	r.mustPut(t, n)
	got := must[*types.Nodegroup](t)(r.nodegroup(t.Context(), "blue/green", "spot 1"))
	want := &types.Nodegroup{
		ClusterName: aws.String("blue/green"), NodegroupName: aws.String("spot 1"), Status: types.NodegroupStatusDegraded,
		NodegroupArn: aws.String("arn:aws:eks:us-east-1:111122223333:nodegroup/blue/green/spot 1/0a1b2c3d"),
		Version:      aws.String("1.35"), ReleaseVersion: aws.String("1.35.1-20260801"), CapacityType: types.CapacityTypesSpot,
		AmiType: types.AMITypesAl2023Arm64Standard, DiskSize: aws.Int32(50), InstanceTypes: []string{"m6g.large"}, Subnets: []string{"subnet-1"},
		Labels: map[string]string{"team": "a"}, Tags: map[string]string{"owner": "b"},
		LaunchTemplate: &types.LaunchTemplateSpecification{Id: aws.String("lt-0a"), Name: aws.String("workers"), Version: aws.String("1")},
		Taints: []types.Taint{
			{Key: aws.String("k"), Value: aws.String("v"), Effect: types.TaintEffectNoSchedule}, {Key: aws.String("bare"), Effect: types.TaintEffectNoExecute},
		},
		Resources:     &types.NodegroupResources{AutoScalingGroups: []types.AutoScalingGroup{{Name: aws.String("workers")}}},
		ScalingConfig: &types.NodegroupScalingConfig{MinSize: aws.Int32(0), MaxSize: aws.Int32(10), DesiredSize: aws.Int32(2)},
		UpdateConfig:  &types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(1)},
		Health: &types.NodegroupHealth{Issues: []types.Issue{{
			Code: types.NodegroupIssueCodeAsgInstanceLaunchFailures, Message: aws.String("This node group needs attention: AsgInstanceLaunchFailures"), ResourceIds: []string{},
		}}},
		CreatedAt: &eightOClock, ModifiedAt: &eightOClock,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.Nodegroup{}, types.LaunchTemplateSpecification{}, types.Taint{}, types.NodegroupResources{},
		types.AutoScalingGroup{}, types.NodegroupScalingConfig{}, types.NodegroupUpdateConfig{}, types.NodegroupHealth{}, types.Issue{})); diff != "" {
		t.Errorf("node group (-want +got):\n%s", diff)
	}
	if c := r.Calls()[0]; c.Service != awstest.EKS || c.Action != "DescribeNodegroup" || c.Params.Get("nodegroupName") != "spot 1" {
		t.Errorf("logged call: %+v", c)
	}
}

func TestANodeGroupChangesAndGoes(t *testing.T) {
	r := newRig(t)
	r.mustPut(t, awstest.Nodegroup{Cluster: "c", Name: "ng"})
	r.mustPut(t, awstest.Nodegroup{Cluster: "c", Name: "other"})
	got := must[*types.Nodegroup](t)(r.nodegroup(t.Context(), "c", "ng"))
	if got.Status != types.NodegroupStatusActive || got.DiskSize != nil || got.AmiType != "" || got.Taints != nil || got.LaunchTemplate != nil {
		t.Errorf("a node group of which nothing is said: %+v", got)
	}
	if err := r.UpdateNodegroup("c", "ng", func(n *awstest.Nodegroup) { n.Status = awstest.NodegroupUpdating }); err != nil {
		t.Fatal(err)
	}
	if got := must[*types.Nodegroup](t)(r.nodegroup(t.Context(), "c", "ng")); got.Status != types.NodegroupStatusUpdating {
		t.Errorf("status %s, want UPDATING", got.Status)
	}
	r.RemoveNodegroup("c", "ng")
	_, err := r.nodegroup(t.Context(), "c", "ng")
	wantCode(t, err, 404, "ResourceNotFoundException")
	_, err = r.nodegroup(t.Context(), "elsewhere", "ng")
	wantCode(t, err, 404, "ResourceNotFoundException")
	if err := r.UpdateNodegroup("c", "ng", func(*awstest.Nodegroup) {}); err == nil {
		t.Error("a node group that is gone was updated")
	}
	if err := r.PutNodegroup(awstest.Nodegroup{Name: "ng"}); err == nil {
		t.Error("a node group of no cluster was taken")
	}
}

func TestAFaultOfAGroupHitsItsNodeGroup(t *testing.T) {
	r := newRig(t)
	mine, other := awstest.Nodegroup{Cluster: "c", Name: "mine"}, awstest.Nodegroup{Cluster: "c", Name: "other"}
	g := workers(0)
	g.Tags = mine.GroupTags()
	r.mustAdd(t, g)
	r.mustPut(t, mine)
	r.mustPut(t, other)
	r.Inject(awstest.Fault{Group: "workers", Effect: awstest.ErrorAnswer{}})
	if _, err := r.nodegroup(t.Context(), "c", "other"); err != nil {
		t.Errorf("another node group: %v", err)
	}
	_, err := r.nodegroup(t.Context(), "c", "mine")
	wantCode(t, err, 500, "ServerException")
}
