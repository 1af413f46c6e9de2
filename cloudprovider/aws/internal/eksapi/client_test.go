package eksapi

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
)

// answer is a service that gives one answer.
type answer struct {
	out *eks.DescribeNodegroupOutput
	err error
}

func (a answer) DescribeNodegroup(_ context.Context, in *eks.DescribeNodegroupInput, _ ...func(*eks.Options)) (*eks.DescribeNodegroupOutput, error) {
	if aws.ToString(in.ClusterName) != "c" || aws.ToString(in.NodegroupName) != "ng" {
		return nil, errors.New("another node group")
	}
	return a.out, a.err
}

var key = managed.Key{Cluster: "c", NodeGroup: "ng"}

func TestANodeGroupIsReadWithWhatIsOddAboutIt(t *testing.T) {
	client := &Client{api: answer{out: &eks.DescribeNodegroupOutput{Nodegroup: &types.Nodegroup{
		Status: types.NodegroupStatusDegraded, AmiType: types.AMITypesBottlerocketArm64, CapacityType: types.CapacityTypesSpot, Version: aws.String("1.36"), DiskSize: aws.Int32(30),
		Labels: map[string]string{"a": "b"}, Tags: map[string]string{"t": "v"}, LaunchTemplate: &types.LaunchTemplateSpecification{Id: aws.String("lt-1"), Version: aws.String("2")},
		Health: &types.NodegroupHealth{Issues: []types.Issue{{Code: types.NodegroupIssueCodeAsgInstanceLaunchFailures}}},
		Taints: []types.Taint{
			{Key: aws.String("k"), Effect: types.TaintEffectNoExecute}, {Key: aws.String("new"), Value: aws.String("v"), Effect: "SOMETIMES"}, {Value: aws.String("keyless"), Effect: types.TaintEffectNoSchedule},
		},
	}}}}
	got, err := client.NodeGroup(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	want := managed.Description{
		Status: managed.Degraded, AMIType: "BOTTLEROCKET_ARM_64", CapacityType: "SPOT", Version: "1.36", DiskGiB: 30,
		Labels: map[string]string{"a": "b"}, Tags: map[string]string{"t": "v"}, Template: asg.TemplateRef{ID: "lt-1", Version: "2"}, Issues: []string{"AsgInstanceLaunchFailures"},
		Taints: []corev1.Taint{{Key: "k", Effect: "NoExecute"}, {Key: "new", Value: "v", Effect: "NoSchedule"}},
		Oddities: []string{
			`EKS tells the effect "SOMETIMES" for the taint new, which is not known and taken for NO_SCHEDULE`, "EKS tells a taint without a key, which is left out",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("description (-want +got):\n%s", diff)
	}
}

func TestErrorsOfEKSSayWhatTheyMean(t *testing.T) {
	for name, test := range map[string]struct {
		answer answer
		want   faults.Class
	}{
		"denied":                   {answer{err: &smithy.GenericAPIError{Code: "AccessDeniedException"}}, faults.Denied},
		"no such node group":       {answer{err: &smithy.GenericAPIError{Code: "ResourceNotFoundException"}}, faults.NotFound},
		"too many calls":           {answer{err: &smithy.GenericAPIError{Code: "ThrottlingException"}}, faults.Throttled},
		"an answer without answer": {answer{out: &eks.DescribeNodegroupOutput{}}, faults.Unanswered},
	} {
		client := &Client{api: test.answer}
		if _, err := client.NodeGroup(t.Context(), key); faults.ClassOf(err) != test.want {
			t.Errorf("%s: %s: %v", name, faults.ClassOf(err), err)
		}
	}
}
