package awstest_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// mixed is a group of several types in which everything happens at once.
func mixed(policy awstest.MixedInstances) awstest.Group {
	g := workers(0)
	g.LaunchTemplate, g.Timing = nil, awstest.Timing{}
	policy.LaunchTemplate = awstest.LaunchTemplateRef{Name: "workers"}
	g.MixedInstances = &policy
	return g
}

func TestTheAllocationStrategyChoosesTheType(t *testing.T) {
	all := []awstest.Override{{InstanceType: "m5.4xlarge"}, {InstanceType: "m5.large"}, {InstanceType: "m5.2xlarge"}}
	for name, tc := range map[string]struct {
		policy awstest.MixedInstances
		want   string
	}{
		"prioritized on demand":      {awstest.MixedInstances{}, "m5.4xlarge"},
		"lowest price on demand":     {awstest.MixedInstances{OnDemandStrategy: awstest.LowestPrice}, "m5.large"},
		"lowest price spot":          {awstest.MixedInstances{SpotPercentAboveBase: 100, SpotStrategy: awstest.LowestPrice}, "m5.2xlarge"},
		"capacity optimised spot":    {awstest.MixedInstances{SpotPercentAboveBase: 100, SpotStrategy: awstest.CapacityOptimized}, "m5.large"},
		"price and capacity spot":    {awstest.MixedInstances{SpotPercentAboveBase: 100, SpotStrategy: awstest.PriceCapacityOptimized}, "m5.large"},
		"capacity prioritized spot":  {awstest.MixedInstances{SpotPercentAboveBase: 100}, "m5.4xlarge"},
		"the spot price is too high": {awstest.MixedInstances{SpotPercentAboveBase: 100, SpotMaxPrice: "0.1"}, "m5.large"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tc.policy.Overrides = all
			r.mustAdd(t, mixed(tc.policy))
			r.SetSpotPrice(awstest.SpotPrice{Type: "m5.4xlarge", Zone: zoneA, PerHour: 0.5})
			r.SetSpotPrice(awstest.SpotPrice{Type: "m5.2xlarge", Zone: zoneA, PerHour: 0.01})
			r.SetStock(awstest.StockRule{Type: "m5.2xlarge", Market: awstest.Spot, Left: map[bool]int{true: 5, false: 0}[name == "lowest price spot"]})
			r.SetStock(awstest.StockRule{Type: "m5.4xlarge", Market: awstest.Spot, Left: 3})
			r.mustSetDesired(t, 1)
			got := r.Instances()
			if len(got) != 1 || got[0].Type != tc.want {
				t.Errorf("launched %+v, want one %s", got, tc.want)
			}
		})
	}
}

func TestThePolicyIsToldAsItIs(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, mixed(awstest.MixedInstances{
		OnDemandBase: 2, SpotPercentAboveBase: 40, OnDemandStrategy: awstest.LowestPrice, SpotStrategy: awstest.PriceCapacityOptimized, SpotMaxPrice: "0.2",
		Overrides: []awstest.Override{{Weight: 3, Requirements: &awstest.Requirements{
			VCPUs: awstest.Range{Min: 2, Max: 4}, MemoryMiB: awstest.Range{Min: 4096},
			Told: awstest.ToldRequirements{
				RequireHibernateSupport: true, NetworkBandwidthGbps: awstest.Range{Min: 1, Max: 10}, LocalStorageTypes: []string{"ssd"},
				BaselineEBSBandwidthMbps: awstest.Range{Min: 5}, AcceleratorTotalMemoryMiB: awstest.Range{Max: 7}, SpotMaxPricePercentageOverLowestPrice: 50,
				OnDemandMaxPricePercentageOverLowestPrice: 20, BaselineFamilies: []string{"m5"},
			},
		}}},
	}))
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	policy := out.AutoScalingGroups[0].MixedInstancesPolicy
	d := policy.InstancesDistribution
	if aws.ToString(d.OnDemandAllocationStrategy) != "lowest-price" || aws.ToString(d.SpotAllocationStrategy) != "price-capacity-optimized" ||
		aws.ToString(d.SpotMaxPrice) != "0.2" || aws.ToInt32(d.OnDemandBaseCapacity) != 2 || aws.ToInt32(d.OnDemandPercentageAboveBaseCapacity) != 60 {
		t.Errorf("distribution %+v", d)
	}
	o := policy.LaunchTemplate.Overrides[0]
	want := &types.InstanceRequirements{
		VCpuCount: &types.VCpuCountRequest{Min: aws.Int32(2), Max: aws.Int32(4)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(4096)},
		RequireHibernateSupport: aws.Bool(true), NetworkBandwidthGbps: &types.NetworkBandwidthGbpsRequest{Min: aws.Float64(1), Max: aws.Float64(10)},
		LocalStorageTypes: []types.LocalStorageType{"ssd"}, BaselineEbsBandwidthMbps: &types.BaselineEbsBandwidthMbpsRequest{Min: aws.Int32(5)},
		AcceleratorTotalMemoryMiB:             &types.AcceleratorTotalMemoryMiBRequest{Min: aws.Int32(0), Max: aws.Int32(7)},
		SpotMaxPricePercentageOverLowestPrice: aws.Int32(50), OnDemandMaxPricePercentageOverLowestPrice: aws.Int32(20),
		BaselinePerformanceFactors: &types.BaselinePerformanceFactorsRequest{Cpu: &types.CpuPerformanceFactorRequest{
			References: []types.PerformanceFactorReferenceRequest{{InstanceFamily: aws.String("m5")}},
		}},
	}
	ignore := cmpopts.IgnoreUnexported(types.InstanceRequirements{}, types.VCpuCountRequest{}, types.MemoryMiBRequest{}, types.NetworkBandwidthGbpsRequest{},
		types.BaselineEbsBandwidthMbpsRequest{}, types.AcceleratorTotalMemoryMiBRequest{}, types.BaselinePerformanceFactorsRequest{},
		types.CpuPerformanceFactorRequest{}, types.PerformanceFactorReferenceRequest{})
	if diff := cmp.Diff(want, o.InstanceRequirements, ignore); diff != "" || aws.ToString(o.WeightedCapacity) != "3" {
		t.Errorf("weight %s, requirements (-want +got):\n%s", aws.ToString(o.WeightedCapacity), diff)
	}
}

func TestALaunchTemplateTellsAllItsData(t *testing.T) {
	r := newRig(t)
	r.PutLaunchTemplate(awstest.LaunchTemplate{ID: "lt-0b", Name: "all", Versions: []awstest.LaunchTemplateVersion{{
		ImageID: "resolve:ssm:/al2023", Spot: true, SpotMaxPrice: "0.3", UserData: "IyE=", CPUCores: 4, CPUThreadsPerCore: 1,
		BlockDevices:      []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 80, VolumeType: "gp3", IOPS: 3000, Throughput: 125}},
		NetworkInterfaces: []awstest.NetworkInterface{{Card: 0}, {Type: "efa-only", Card: 1, Device: 1}}, CapacityReservation: "none",
		PlacementGroup: "pg", Tenancy: "dedicated", InstanceProfile: "nodes", MetadataHopLimit: 2, RequiresMetadataToken: true,
		Requirements: &awstest.Requirements{VCPUs: awstest.Range{Min: 1}, MemoryMiB: awstest.Range{Min: 1}, Told: awstest.ToldRequirements{
			RequireEncryptionInTransit: true, BaselineFamilies: []string{"c6i"}, MaxSpotPriceAsPercentageOfOptimalOnDemandPrice: 80,
		}},
	}}})
	r.PutImage(awstest.Image{ID: "ami-9", Architecture: "arm64"})
	r.PutImageAlias("/al2023", "ami-9")
	out := must[*ec2.DescribeLaunchTemplateVersionsOutput](t)(r.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{
		LaunchTemplateId: aws.String("lt-0b"), ResolveAlias: aws.Bool(true),
	}))
	d := out.LaunchTemplateVersions[0].LaunchTemplateData
	want := &ec2types.ResponseLaunchTemplateData{
		ImageId: aws.String("ami-9"), UserData: aws.String("IyE="),
		InstanceMarketOptions: &ec2types.LaunchTemplateInstanceMarketOptions{
			MarketType: ec2types.MarketTypeSpot, SpotOptions: &ec2types.LaunchTemplateSpotMarketOptions{MaxPrice: aws.String("0.3")},
		},
		CpuOptions: &ec2types.LaunchTemplateCpuOptions{CoreCount: aws.Int32(4), ThreadsPerCore: aws.Int32(1)},
		BlockDeviceMappings: []ec2types.LaunchTemplateBlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), Ebs: &ec2types.LaunchTemplateEbsBlockDevice{
			VolumeSize: aws.Int32(80), VolumeType: ec2types.VolumeTypeGp3, Iops: aws.Int32(3000), Throughput: aws.Int32(125),
		}}},
		NetworkInterfaces: []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecification{
			{NetworkCardIndex: aws.Int32(0), DeviceIndex: aws.Int32(0)},
			{InterfaceType: aws.String("efa-only"), NetworkCardIndex: aws.Int32(1), DeviceIndex: aws.Int32(1)},
		},
		CapacityReservationSpecification: &ec2types.LaunchTemplateCapacityReservationSpecificationResponse{CapacityReservationPreference: "none"},
		Placement:                        &ec2types.LaunchTemplatePlacement{GroupName: aws.String("pg"), Tenancy: ec2types.TenancyDedicated},
		IamInstanceProfile:               &ec2types.LaunchTemplateIamInstanceProfileSpecification{Name: aws.String("nodes")},
		MetadataOptions:                  &ec2types.LaunchTemplateInstanceMetadataOptions{HttpPutResponseHopLimit: aws.Int32(2), HttpTokens: "required"},
		InstanceRequirements: &ec2types.InstanceRequirements{
			VCpuCount: &ec2types.VCpuCountRange{Min: aws.Int32(1)}, MemoryMiB: &ec2types.MemoryMiB{Min: aws.Int32(1)}, RequireEncryptionInTransit: aws.Bool(true),
			MaxSpotPriceAsPercentageOfOptimalOnDemandPrice: aws.Int32(80),
			BaselinePerformanceFactors: &ec2types.BaselinePerformanceFactors{Cpu: &ec2types.CpuPerformanceFactor{
				References: []ec2types.PerformanceFactorReference{{InstanceFamily: aws.String("c6i")}},
			}},
		},
	}
	if diff := cmp.Diff(want, d, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".noSmithyDocumentSerde" }, cmp.Ignore())); diff != "" {
		t.Errorf("launch template data (-want +got):\n%s", diff)
	}
}

func TestEveryReasonOfAFailedLaunchCanBePlayedWithItsZone(t *testing.T) {
	seen := map[string]awstest.LaunchFailure{}
	for _, reason := range awstest.LaunchFailures() {
		t.Run(string(reason), func(t *testing.T) {
			r := newRig(t)
			r.mustAdd(t, workers(0))
			r.SetStock(awstest.StockRule{Zone: zoneA, Type: "m5.large", Market: awstest.OnDemand, Reason: reason})
			r.mustSetDesired(t, 1)
			r.clock.Step(10 * time.Second)
			out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{
				AutoScalingGroupName: aws.String("workers"),
			}))
			a := out.Activities[0]
			if len(out.Activities) != 1 || a.StatusCode != types.ScalingActivityStatusCodeFailed || aws.ToString(a.StatusMessage) != reason.Text() {
				t.Errorf("%d activities, the last %s with %q, want Failed with %q", len(out.Activities), a.StatusCode, aws.ToString(a.StatusMessage), reason.Text())
			}
			if reason.Text() == string(reason) || seen[reason.Text()] != "" {
				t.Errorf("%q has no text of its own", reason)
			}
			seen[reason.Text()] = reason
			var details map[string]string
			if err := json.Unmarshal([]byte(aws.ToString(a.Details)), &details); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"Availability Zone": zoneA, "Subnet ID": "subnet-us-east-1a"}, details); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCapacityReturnsAndSomeOfARequestComes(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Timing.Retry = 10 * time.Second
	r.mustAdd(t, g)
	r.SetStock(awstest.StockRule{Group: "workers", Left: 2, Until: eightOClock.Add(time.Minute)})
	r.mustSetDesired(t, 5)
	r.clock.Step(40 * time.Second)
	if got := len(r.ids("workers")); got != 2 {
		t.Errorf("%d instances while two can be had", got)
	}
	r.clock.Step(time.Minute)
	if got := len(r.ids("workers")); got != 5 {
		t.Errorf("%d instances when capacity is back, want 5", got)
	}
}

func TestOneFailedActivityCanStandForManyMachines(t *testing.T) {
	r := newRig(t)
	g := workers(1)
	g.JointFailures, g.Timing.Retry = true, time.Hour
	r.mustAdd(t, g)
	r.SetStock(awstest.StockRule{Left: 0})
	r.mustSetDesired(t, 4)
	r.clock.Step(10 * time.Second)
	out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String("workers"),
	}))
	want := "At 2026-08-03T08:00:00Z a user request explicitly set group desired capacity.  At 2026-08-03T08:00:00Z an instance was started in " +
		"response to a difference between desired and actual capacity, increasing the capacity from 1 to 4."
	if len(out.Activities) != 1 || aws.ToString(out.Activities[0].Cause) != want {
		t.Errorf("%d activities, the first caused by %q", len(out.Activities), aws.ToString(out.Activities[0].Cause))
	}
}

func TestADeregisteredImageFailsLaunchesAndLookups(t *testing.T) {
	r := newRig(t)
	r.PutImage(awstest.Image{ID: "ami-1", Gone: true})
	r.mustAdd(t, workers(0))
	r.mustSetDesired(t, 1)
	r.clock.Step(10 * time.Second)
	events := r.Events()
	if last := events[len(events)-1]; last.Detail != "The image id '[ami-1]' does not exist. Launching EC2 instance failed." {
		t.Errorf("last event %+v", last)
	}
	_, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-1"}})
	wantCode(t, err, 400, "InvalidAMIID.NotFound")
}
