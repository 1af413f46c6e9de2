package awstest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// plainCalls is one request per action that can be denied, by the name of its permission.
func (r *rig) plainCalls() map[string]func(context.Context) error {
	asg, machines, clusters, identity := autoscaling.NewFromConfig(r.cfg), ec2.NewFromConfig(r.cfg), eks.NewFromConfig(r.cfg), sts.NewFromConfig(r.cfg)
	group, id, role, name := aws.String("workers"), aws.String(r.ids("workers")[0]), aws.String(roleARN), aws.String("s")
	return map[string]func(context.Context) error{
		"autoscaling:DescribeAutoScalingGroups":    only(asg.DescribeAutoScalingGroups, nil),
		"autoscaling:DescribeAutoScalingInstances": only(asg.DescribeAutoScalingInstances, nil),
		"autoscaling:DescribeLaunchConfigurations": only(asg.DescribeLaunchConfigurations, nil),
		"autoscaling:DescribeScalingActivities":    only(asg.DescribeScalingActivities, nil),
		"autoscaling:DescribeTags":                 only(asg.DescribeTags, nil),
		"autoscaling:DescribeWarmPool":             only(asg.DescribeWarmPool, &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: group}),
		"autoscaling:SetDesiredCapacity": only(asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{
			AutoScalingGroupName: group, DesiredCapacity: aws.Int32(3),
		}),
		"autoscaling:TerminateInstanceInAutoScalingGroup": only(asg.TerminateInstanceInAutoScalingGroup, &autoscaling.TerminateInstanceInAutoScalingGroupInput{
			InstanceId: id, ShouldDecrementDesiredCapacity: aws.Bool(false),
		}),
		"autoscaling:SetInstanceProtection": only(asg.SetInstanceProtection, &autoscaling.SetInstanceProtectionInput{
			AutoScalingGroupName: group, InstanceIds: []string{*id}, ProtectedFromScaleIn: aws.Bool(true),
		}),
		"autoscaling:LaunchInstances": only(asg.LaunchInstances, &autoscaling.LaunchInstancesInput{
			AutoScalingGroupName: group, RequestedCapacity: aws.Int32(1), ClientToken: aws.String("c"),
		}),
		"ec2:DescribeLaunchTemplateVersions": only(machines.DescribeLaunchTemplateVersions, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-0a")}),
		"ec2:DescribeInstanceTypes":          only(machines.DescribeInstanceTypes, &ec2.DescribeInstanceTypesInput{InstanceTypes: []ec2types.InstanceType{"m5.large"}}),
		"ec2:DescribeInstanceTypeOfferings":  only(machines.DescribeInstanceTypeOfferings, nil),
		"ec2:DescribeImages":                 only(machines.DescribeImages, nil),
		"ec2:DescribeInstances":              only(machines.DescribeInstances, nil),
		"ec2:DescribeAvailabilityZones":      only(machines.DescribeAvailabilityZones, nil),
		"ec2:DescribeSpotPriceHistory":       only(machines.DescribeSpotPriceHistory, &ec2.DescribeSpotPriceHistoryInput{InstanceTypes: []ec2types.InstanceType{"m5.large"}}),
		"ec2:GetInstanceTypesFromInstanceRequirements": only(machines.GetInstanceTypesFromInstanceRequirements, &ec2.GetInstanceTypesFromInstanceRequirementsInput{
			ArchitectureTypes: []ec2types.ArchitectureType{"x86_64"}, VirtualizationTypes: []ec2types.VirtualizationType{"hvm"},
			InstanceRequirements: &ec2types.InstanceRequirementsRequest{
				VCpuCount: &ec2types.VCpuCountRangeRequest{Min: aws.Int32(2)}, MemoryMiB: &ec2types.MemoryMiBRequest{Min: aws.Int32(1)},
			},
		}),
		"eks:DescribeNodegroup": only(clusters.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: aws.String("c"), NodegroupName: aws.String("ng")}),
		"pricing:GetProducts":   only(pricing.NewFromConfig(r.cfg).GetProducts, priceQuery("instanceType", "m5.large")),
		"sts:AssumeRole":        only(identity.AssumeRole, &sts.AssumeRoleInput{RoleArn: role, RoleSessionName: name}),
		"sts:AssumeRoleWithWebIdentity": only(identity.AssumeRoleWithWebIdentity, &sts.AssumeRoleWithWebIdentityInput{
			RoleArn: role, RoleSessionName: name, WebIdentityToken: aws.String("token"),
		}),
	}
}

// only turns a method of a client into a call that tells its error.
func only[I, O, F any](call func(context.Context, *I, ...F) (*O, error), in *I) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := call(ctx, in)
		return err
	}
}

// servicesRig has all that plainCalls asks for.
func servicesRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.mustAdd(t, workers(2))
	r.mustPut(t, awstest.Nodegroup{Cluster: "c", Name: "ng"})
	return r
}

func TestEachPermissionCanBeDeniedByItself(t *testing.T) {
	r := servicesRig(t)
	denials := map[string]struct {
		status int
		code   string
	}{
		"autoscaling": {403, "AccessDenied"}, "ec2": {403, "UnauthorizedOperation"}, "eks": {403, "AccessDeniedException"},
		"pricing": {400, "AccessDeniedException"}, "sts": {403, "AccessDenied"},
	}
	for name, call := range r.plainCalls() {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s while allowed: %v", name, err)
		}
		r.Deny(name)
		service, _, _ := strings.Cut(name, ":")
		err := call(t.Context())
		wantCode(t, err, denials[service].status, denials[service].code)
		if !strings.Contains(err.Error(), "not authorized to perform: "+name) {
			t.Errorf("the denial of %s: %v", name, err)
		}
		for other, call := range r.plainCalls() {
			if other == "sts:AssumeRole" || other == "ec2:DescribeAvailabilityZones" || other == "eks:DescribeNodegroup" || other == "pricing:GetProducts" {
				if err := call(t.Context()); other != name && err != nil {
					t.Errorf("%s while %s is denied: %v", other, name, err)
				}
			}
		}
		r.Allow(name)
	}
}

func TestEveryActionCanFailInEveryWay(t *testing.T) {
	codes := map[string]map[string]string{
		"autoscaling": {"throttled": "Throttling", "failed": "InternalFailure", "down": "ServiceUnavailable"},
		"sts":         {"throttled": "Throttling", "failed": "InternalFailure", "down": "ServiceUnavailable"},
		"ec2":         {"throttled": "RequestLimitExceeded", "failed": "InternalError", "down": "Unavailable"},
		"eks":         {"throttled": "ThrottlingException", "failed": "ServerException", "down": "ServiceUnavailableException"},
		"pricing":     {"throttled": "ThrottlingException", "failed": "InternalErrorException", "down": "ServiceUnavailableException"},
	}
	effects := map[string]awstest.Effect{
		"throttled": awstest.Throttle{}, "failed": awstest.ErrorAnswer{}, "down": awstest.ErrorAnswer{Status: 503},
		"cut before": awstest.Drop{}, "cut after": awstest.Drop{Side: awstest.AfterEffect}, "half an answer": awstest.Truncate{},
		"an empty error": awstest.RawAnswer{Status: 500}, "a proxy's page": awstest.RawAnswer{Status: 502, ContentType: "text/html", Body: "<html>Bad Gateway</html>"},
		"a denial with an empty body": awstest.RawAnswer{Status: 403},
	}
	r := servicesRig(t)
	for name, call := range r.plainCalls() {
		service, action, _ := strings.Cut(name, ":")
		for what, effect := range effects {
			// Always, since Go's transport repeats a GET by itself when a connection that was used before is cut.
			remove := r.Inject(awstest.Fault{Service: awstest.Service(service), Action: action, Count: awstest.Always, Effect: effect})
			err := call(t.Context())
			remove()
			var api smithy.APIError
			switch want := codes[service][what]; {
			case name == "autoscaling:SetDesiredCapacity" && what == "half an answer", name == "autoscaling:SetInstanceProtection" && what == "half an answer":
				// An answer without content may be taken as success by a client that doesn't read on.
			case err == nil:
				t.Errorf("%s, %s: no error", name, what)
			case want != "" && (!errors.As(err, &api) || api.ErrorCode() != want):
				t.Errorf("%s, %s: %v, want %s", name, what, err, want)
			}
		}
		if err := call(t.Context()); err != nil && name != "autoscaling:TerminateInstanceInAutoScalingGroup" {
			t.Errorf("%s behind its faults: %v", name, err)
		}
	}
}

func TestAnErrorMayCarryFurtherHeadersAndTheNodeGroupErrorAType(t *testing.T) {
	r := servicesRig(t)
	r.Inject(awstest.Fault{Service: awstest.EKS, Effect: awstest.RawAnswer{
		Status: 404, Body: `{"message": "gone"}`, Header: map[string]string{"X-Amzn-Errortype": "ResourceNotFoundException:http://internal/"},
	}})
	_, err := r.nodegroup(t.Context(), "c", "ng")
	wantCode(t, err, 404, "ResourceNotFoundException")
	r.Inject(awstest.Fault{Service: awstest.EKS, Effect: awstest.ErrorAnswer{
		Status: 429, Code: "TooManyRequestsException", Message: "m", Header: map[string]string{"X-Amz-Retry-After": "1500"},
	}})
	_, err = r.nodegroup(t.Context(), "c", "ng")
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) || response.Response.Header.Get("X-Amz-Retry-After") != "1500" {
		t.Errorf("error %v without its header", err)
	}
}

func TestPartsOfAJSONAnswerCanBeMissing(t *testing.T) {
	r := servicesRig(t)
	r.Inject(awstest.Fault{Service: awstest.EKS, Effect: awstest.Omit{Elements: []string{"scalingConfig", "status"}}})
	got, err := r.nodegroup(t.Context(), "c", "ng")
	if err != nil || got.ScalingConfig != nil || got.Status != "" || got.Resources == nil {
		t.Errorf("node group %+v, %v", got, err)
	}
}

func TestCallsAreTalliedByAttemptAndInvocation(t *testing.T) {
	r := servicesRig(t)
	r.cfg.Retryer = threeAttempts
	r.Inject(awstest.Fault{Service: awstest.Pricing, Count: 2, Effect: awstest.Throttle{}})
	r.Inject(awstest.Fault{Service: awstest.EKS, Count: 1, Effect: awstest.Drop{}})
	calls := r.plainCalls()
	for _, name := range []string{"pricing:GetProducts", "eks:DescribeNodegroup", "eks:DescribeNodegroup", "sts:AssumeRole"} {
		if err := calls[name](t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]awstest.Tally{
		"pricing:GetProducts": {Attempts: 3, Invocations: 1, Failures: 2}, "eks:DescribeNodegroup": {Attempts: 3, Invocations: 2, Failures: 1},
		"sts:AssumeRole": {Attempts: 1, Invocations: 1},
	}
	if diff := cmp.Diff(want, r.Tallies()); diff != "" {
		t.Errorf("tallies (-want +got):\n%s", diff)
	}
}
