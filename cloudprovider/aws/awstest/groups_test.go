package awstest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func ignoreDocumentMarkers() cmp.Option {
	return cmpopts.IgnoreUnexported(types.AutoScalingGroup{}, types.Instance{}, types.TagDescription{}, types.LaunchTemplateSpecification{},
		types.SuspendedProcess{}, types.MixedInstancesPolicy{}, types.LaunchTemplate{}, types.LaunchTemplateOverrides{},
		types.InstancesDistribution{}, types.InstanceRequirements{}, types.VCpuCountRequest{}, types.MemoryMiBRequest{},
		types.MemoryGiBPerVCpuRequest{}, types.Operator{})
}

func groupNames(groups []types.AutoScalingGroup) []string {
	var names []string
	for _, g := range groups {
		names = append(names, aws.ToString(g.AutoScalingGroupName))
	}
	return names
}

func TestTheSDKReadsEveryPartOfAGroup(t *testing.T) {
	r := newRig(t)
	g := workers(1)
	g.Tags = []awstest.Tag{{Key: "team", Value: "a & <b>", PropagateAtLaunch: true}, {Key: "empty", Valueless: true}}
	g.SuspendedProcesses = []awstest.Process{awstest.ProcessAZRebalance}
	g.ProtectNewInstances, g.Operator = true, "eks.amazonaws.com"
	r.mustAdd(t, g)
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"workers", "unknown"}}))
	want := []types.AutoScalingGroup{{
		AutoScalingGroupName: aws.String("workers"), MinSize: aws.Int32(0), MaxSize: aws.Int32(10), DesiredCapacity: aws.Int32(1),
		DefaultCooldown: aws.Int32(300), HealthCheckType: aws.String("EC2"), HealthCheckGracePeriod: aws.Int32(0),
		CreatedTime: aws.Time(eightOClock), AvailabilityZones: []string{zoneA}, AvailabilityZoneIds: []string{"use1-az1"},
		VPCZoneIdentifier: aws.String("subnet-us-east-1a"), TerminationPolicies: []string{"Default"},
		NewInstancesProtectedFromScaleIn: aws.Bool(true), CapacityRebalance: aws.Bool(false),
		Operator:       &types.Operator{Principal: aws.String("eks.amazonaws.com")},
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String("lt-0a"), LaunchTemplateName: aws.String("workers")},
		Tags: []types.TagDescription{
			{Key: aws.String("empty"), PropagateAtLaunch: aws.Bool(false), ResourceId: aws.String("workers"), ResourceType: aws.String("auto-scaling-group")},
			{Key: aws.String("team"), Value: aws.String("a & <b>"), PropagateAtLaunch: aws.Bool(true), ResourceId: aws.String("workers"), ResourceType: aws.String("auto-scaling-group")},
		},
		SuspendedProcesses: []types.SuspendedProcess{{ProcessName: aws.String("AZRebalance"), SuspensionReason: aws.String("User suspended at 2026-08-03T08:00:00Z")}},
		Instances: []types.Instance{{
			InstanceId: aws.String(r.ids("workers")[0]), InstanceType: aws.String("m5.large"), AvailabilityZone: aws.String(zoneA),
			AvailabilityZoneId: aws.String("use1-az1"), LifecycleState: types.LifecycleStateInService, HealthStatus: aws.String("Healthy"),
			ProtectedFromScaleIn: aws.Bool(true), ImageId: aws.String("ami-1"),
			LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String("lt-0a"), LaunchTemplateName: aws.String("workers"), Version: aws.String("1")},
		}},
	}}
	if diff := cmp.Diff(want, out.AutoScalingGroups, ignoreDocumentMarkers(), cmpopts.IgnoreFields(types.AutoScalingGroup{}, "AutoScalingGroupARN")); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestAMixedInstancesPolicyKeepsItsOverridesInOrder(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.LaunchTemplate = nil
	g.MixedInstances = &awstest.MixedInstances{
		LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers", Version: "$Latest"}, OnDemandBase: 1, SpotPercentAboveBase: 60,
		Overrides: []awstest.Override{
			{InstanceType: "m5.2xlarge", Weight: 2},
			{Requirements: &awstest.Requirements{VCPUs: awstest.Range{Min: 2, Max: 4}, MemoryMiBPerVCPU: awstest.Range{Min: 512}, CPUManufacturers: []string{"intel"}}},
		},
	}
	r.mustAdd(t, g)
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	want := &types.MixedInstancesPolicy{
		InstancesDistribution: &types.InstancesDistribution{
			OnDemandAllocationStrategy: aws.String("prioritized"), OnDemandBaseCapacity: aws.Int32(1),
			OnDemandPercentageAboveBaseCapacity: aws.Int32(40), SpotAllocationStrategy: aws.String("capacity-optimized-prioritized"),
		},
		LaunchTemplate: &types.LaunchTemplate{
			LaunchTemplateSpecification: &types.LaunchTemplateSpecification{LaunchTemplateId: aws.String("lt-0a"), LaunchTemplateName: aws.String("workers"), Version: aws.String("$Latest")},
			Overrides: []types.LaunchTemplateOverrides{
				{InstanceType: aws.String("m5.2xlarge"), WeightedCapacity: aws.String("2")},
				{InstanceRequirements: &types.InstanceRequirements{
					VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(2), Max: aws.Int32(4)}, MemoryGiBPerVCpu: &types.MemoryGiBPerVCpuRequest{Min: aws.Float64(0.5)},
					CpuManufacturers: []types.CpuManufacturer{types.CpuManufacturerIntel},
				}},
			},
		},
	}
	if diff := cmp.Diff(want, out.AutoScalingGroups[0].MixedInstancesPolicy, ignoreDocumentMarkers()); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}

func TestFiltersAreANDedAndTheirValuesORed(t *testing.T) {
	r := newRig(t)
	for name, tags := range map[string][]awstest.Tag{
		"blue":  {{Key: "team", Value: "blue"}, {Key: "enabled"}},
		"Blue":  {{Key: "team", Value: "Blue"}, {Key: "enabled"}},
		"red":   {{Key: "team", Value: "red"}, {Key: "enabled"}},
		"plain": {{Key: "team", Value: "blue"}},
	} {
		g := workers(0)
		g.Name, g.Tags = name, tags
		r.mustAdd(t, g)
	}
	filter := func(name string, values ...string) types.Filter {
		return types.Filter{Name: aws.String(name), Values: values}
	}
	for name, tc := range map[string]struct {
		filters []types.Filter
		want    []string
	}{
		"no filter means all":                  {nil, []string{"Blue", "blue", "plain", "red"}},
		"a value is case-sensitive":            {[]types.Filter{filter("tag:team", "blue")}, []string{"blue", "plain"}},
		"one of several values is enough":      {[]types.Filter{filter("tag:team", "Blue", "red")}, []string{"Blue", "red"}},
		"every filter must hold":               {[]types.Filter{filter("tag:team", "blue"), filter("tag-key", "enabled")}, []string{"blue"}},
		"a tag's value alone can be asked for": {[]types.Filter{filter("tag-value", "red")}, []string{"red"}},
		"nothing may match":                    {[]types.Filter{filter("tag-key", "missing")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(),
				&autoscaling.DescribeAutoScalingGroupsInput{Filters: tc.filters}))
			if diff := cmp.Diff(tc.want, groupNames(out.AutoScalingGroups)); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePaginatorCollectsAllPagesAlsoShortAndEmptyOnes(t *testing.T) {
	r := newRig(t)
	var want []string
	for i := range 25 {
		g := workers(0)
		g.Name = fmt.Sprintf("group-%02d", i)
		want = append(want, g.Name)
		r.mustAdd(t, g)
	}
	r.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.ShortPage{Size: 3}})
	r.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Skip: 1, Effect: awstest.ShortPage{}})
	var got []string
	var sizes []int
	pages := autoscaling.NewDescribeAutoScalingGroupsPaginator(r.asg, &autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(10)})
	for pages.HasMorePages() {
		out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(pages.NextPage(t.Context()))
		got = append(got, groupNames(out.AutoScalingGroups)...)
		sizes = append(sizes, len(out.AutoScalingGroups))
		if err := r.RemoveGroup(want[0]); err == nil { // a group that goes meanwhile hides no other
			want = append([]string{"group-00"}, want[1:]...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{3, 0, 10, 10, 2}, sizes); diff != "" {
		t.Errorf("page sizes (-want +got):\n%s", diff)
	}
}

func TestTagsCanBeListedAndFiltered(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Tags = []awstest.Tag{{Key: "b", Value: "2"}, {Key: "a", Value: "1"}}
	r.mustAdd(t, g)
	list := func(filters ...types.Filter) []string {
		out := must[*autoscaling.DescribeTagsOutput](t)(r.asg.DescribeTags(t.Context(), &autoscaling.DescribeTagsInput{Filters: filters}))
		var got []string
		for _, tag := range out.Tags {
			got = append(got, aws.ToString(tag.ResourceId)+":"+aws.ToString(tag.Key)+"="+aws.ToString(tag.Value))
		}
		return got
	}
	if diff := cmp.Diff([]string{"workers:a=1", "workers:b=2"}, list()); diff != "" {
		t.Errorf("all tags (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"workers:b=2"}, list(types.Filter{Name: aws.String("key"), Values: []string{"b", "c"}})); diff != "" {
		t.Errorf("tags of key b or c (-want +got):\n%s", diff)
	}
}

func TestInstancesAreFoundByIDWithTheirGroup(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(3))
	id := r.ids("workers")[1]
	out := must[*autoscaling.DescribeAutoScalingInstancesOutput](t)(r.asg.DescribeAutoScalingInstances(t.Context(),
		&autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{"i-00000000", id}}))
	if len(out.AutoScalingInstances) != 1 {
		t.Fatalf("%d instances, want 1", len(out.AutoScalingInstances))
	}
	i := out.AutoScalingInstances[0]
	got := []string{aws.ToString(i.InstanceId), aws.ToString(i.AutoScalingGroupName), aws.ToString(i.LifecycleState), aws.ToString(i.HealthStatus)}
	if diff := cmp.Diff([]string{id, "workers", "InService", "HEALTHY"}, got); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
}

func TestLaunchConfigurationsAreRead(t *testing.T) {
	r := newRig(t)
	r.PutLaunchConfiguration(awstest.LaunchConfiguration{
		Name: "old", InstanceType: "c5.large", ImageID: "ami-2", SpotPrice: "0.1",
		BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 50, VolumeType: "gp3"}},
	})
	g := workers(1)
	g.LaunchTemplate, g.LaunchConfiguration = nil, "old"
	r.mustAdd(t, g)
	if i := r.Instances()[0]; i.Type != "c5.large" || i.Market != awstest.Spot || i.LaunchConfiguration != "old" {
		t.Errorf("instance of the configuration: %+v", i)
	}
	out := must[*autoscaling.DescribeLaunchConfigurationsOutput](t)(r.asg.DescribeLaunchConfigurations(t.Context(),
		&autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: []string{"old", "unknown"}}))
	if len(out.LaunchConfigurations) != 1 {
		t.Fatalf("%d configurations, want 1", len(out.LaunchConfigurations))
	}
	c := out.LaunchConfigurations[0]
	if aws.ToString(c.InstanceType) != "c5.large" || aws.ToString(c.SpotPrice) != "0.1" || aws.ToInt32(c.BlockDeviceMappings[0].Ebs.VolumeSize) != 50 {
		t.Errorf("configuration: %+v", c)
	}
}

func TestEveryStateByHandIsToldAndCountedAsTheServiceDoes(t *testing.T) {
	for state, counted := range map[awstest.LifecycleState]bool{
		"Pending:Wait": true, "Quarantined": true, "ReplacingRootVolume": true, "SomethingNew": true,
		"Standby": false, "EnteringStandby": false, "Detaching": false, "Terminating:Retained": false, "Terminated": false, "Warmed:Stopped": false,
	} {
		t.Run(string(state), func(t *testing.T) {
			r := newRig(t)
			r.mustAdd(t, workers(1))
			if err := r.SetLifecycle(r.ids("workers")[0], state); err != nil {
				t.Fatal(err)
			}
			r.clock.Step(time.Hour)
			want := []string{string(state)}
			if !counted {
				want = append(want, "InService") // the replacement
			}
			if diff := cmp.Diff(want, r.states()); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
			if got := out.AutoScalingGroups[0].Instances[0].LifecycleState; string(got) != string(state) {
				t.Errorf("told as %q", got)
			}
		})
	}
}

func TestListingsThatMakeNoSenseAreRefused(t *testing.T) {
	r := newRig(t)
	many := make([]string, 51)
	for i := range many {
		many[i] = fmt.Sprint("g", i)
	}
	for name, in := range map[string]*autoscaling.DescribeAutoScalingGroupsInput{
		"names and filters":          {AutoScalingGroupNames: []string{"a"}, Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{"b"}}}},
		"an unknown filter":          {Filters: []types.Filter{{Name: aws.String("colour"), Values: []string{"red"}}}},
		"51 names without page size": {AutoScalingGroupNames: many},
		"a page above 100":           {MaxRecords: aws.Int32(101)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.asg.DescribeAutoScalingGroups(t.Context(), in)
			wantCode(t, err, 400, "ValidationError")
		})
	}
	if _, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: many, MaxRecords: aws.Int32(100)}); err != nil {
		t.Errorf("51 names with a page of 100: %v", err)
	}
}

func TestInstancesAndManagedGroupsCanBeLeftOut(t *testing.T) {
	r := newRig(t)
	managed := workers(0)
	managed.Name, managed.Operator = "managed", "eks.amazonaws.com"
	r.mustAdd(t, workers(2), managed)
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{IncludeInstances: aws.Bool(false), IncludeManagedResources: aws.Bool(false)}))
	if len(out.AutoScalingGroups) != 1 || out.AutoScalingGroups[0].Instances != nil {
		t.Errorf("groups %v, instances %v", groupNames(out.AutoScalingGroups), out.AutoScalingGroups[0].Instances)
	}
}

func TestAReferenceIsCompletedWhenItsTemplateComes(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "later"}
	r.mustAdd(t, g)
	id := r.PutLaunchTemplate(awstest.LaunchTemplate{Name: "later", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
	if got := r.Groups()[0].LaunchTemplate.ID; got != id || id == "" {
		t.Errorf("id %q, want %q", got, id)
	}
	r.RemoveLaunchTemplate(id)
	r.mustSetDesired(t, 1)
	r.clock.Step(time.Minute)
	if got := r.states(); got != nil {
		t.Errorf("instances without a template: %v", got)
	}
}
