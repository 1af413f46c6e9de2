package awstest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// order asks for machines in a zone of "workers".
func (r *rig) order(t *testing.T, n int32, change func(*autoscaling.LaunchInstancesInput)) (*autoscaling.LaunchInstancesOutput, error) {
	t.Helper()
	in := &autoscaling.LaunchInstancesInput{AutoScalingGroupName: aws.String("workers"), ClientToken: aws.String("t"), RequestedCapacity: &n}
	if change != nil {
		change(in)
	}
	return r.asg.LaunchInstances(t.Context(), in)
}

func TestLaunchInstancesAnswersWithIdsAndErrors(t *testing.T) {
	r := newRig(t)
	g := mixed(awstest.MixedInstances{SpotPercentAboveBase: 100, Overrides: []awstest.Override{{InstanceType: "c5.large"}, {InstanceType: "m5.large"}}})
	g.Zones, g.Timing.Launch = []string{zoneA, zoneB}, time.Minute
	r.mustAdd(t, g)
	r.SetStock(awstest.StockRule{Zone: zoneB, Left: 2})
	r.SetStock(awstest.StockRule{Type: "c5.large", Left: 0})
	out := must[*autoscaling.LaunchInstancesOutput](t)(r.order(t, 3, func(in *autoscaling.LaunchInstancesInput) { in.AvailabilityZones = []string{zoneB} }))
	if got := out.Instances; len(got) != 1 || len(got[0].InstanceIds) != 2 || aws.ToString(got[0].InstanceType) != "m5.large" || aws.ToString(got[0].MarketType) != "spot" ||
		aws.ToString(got[0].AvailabilityZone) != zoneB || aws.ToString(got[0].SubnetId) != "subnet-us-east-1b" {
		t.Errorf("instances %+v", got)
	}
	var failed []string
	for _, e := range out.Errors {
		failed = append(failed, aws.ToString(e.InstanceType)+" "+aws.ToString(e.ErrorCode))
	}
	if diff := cmp.Diff([]string{"c5.large InsufficientInstanceCapacity", "m5.large InsufficientInstanceCapacity"}, failed); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if r.desired(t) != 2 || len(r.states()) != 2 {
		t.Errorf("desired %d, instances %v; want what was launched", r.desired(t), r.states())
	}
	again := must[*autoscaling.LaunchInstancesOutput](t)(r.order(t, 3, func(in *autoscaling.LaunchInstancesInput) { in.AvailabilityZones = []string{zoneB} }))
	if diff := cmp.Diff(out.Instances[0].InstanceIds, again.Instances[0].InstanceIds); diff != "" || r.desired(t) != 2 {
		t.Errorf("the same token launched again: desired %d, %s", r.desired(t), diff)
	}
	_, err := r.order(t, 1, func(in *autoscaling.LaunchInstancesInput) { in.AvailabilityZones = []string{zoneB} })
	wantCode(t, err, 400, "IdempotentParameterMismatch")
	if change := r.Writes()[0].Change; len(change.Launched) != 2 || change.DesiredFrom != 0 || change.DesiredTo != 2 {
		t.Errorf("change %+v", change)
	}
}

func TestLaunchInstancesLeavesTheRestToTheGroupWhenAsked(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.SetStock(awstest.StockRule{Left: 1, Until: eightOClock.Add(time.Minute)})
	must[*autoscaling.LaunchInstancesOutput](t)(r.order(t, 3, func(in *autoscaling.LaunchInstancesInput) {
		in.RetryStrategy = types.RetryStrategyRetryWithGroupConfiguration
	}))
	if r.desired(t) != 3 || len(r.states()) != 1 {
		t.Errorf("desired %d with %v", r.desired(t), r.states())
	}
	r.clock.Step(2 * time.Minute)
	if got := len(r.states()); got != 3 {
		t.Errorf("%d instances behind the retries, want 3", got)
	}
}

func TestAZoneCanBeNamedByItsIDOrSubnet(t *testing.T) {
	for name, choose := range map[string]func(*autoscaling.LaunchInstancesInput){
		"id":     func(in *autoscaling.LaunchInstancesInput) { in.AvailabilityZoneIds = []string{"use1-az2"} },
		"subnet": func(in *autoscaling.LaunchInstancesInput) { in.SubnetIds = []string{"subnet-2"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(0)
			g.Zones, g.Subnets = []string{zoneA, zoneB}, []string{"subnet-1", "subnet-2"}
			r.mustAdd(t, g)
			out := must[*autoscaling.LaunchInstancesOutput](t)(r.order(t, 2, choose))
			if got := r.Instances(); len(got) != 2 || got[0].Zone != zoneB || got[1].Zone != zoneB || aws.ToString(out.Instances[0].SubnetId) != "subnet-2" {
				t.Errorf("instances %+v", got)
			}
		})
	}
}

func TestLaunchInstancesIsRefusedWhereItCanNotWork(t *testing.T) {
	zoned := func(zones ...string) func(*autoscaling.LaunchInstancesInput) {
		return func(in *autoscaling.LaunchInstancesInput) { in.AvailabilityZones = zones }
	}
	for name, tc := range map[string]struct {
		group  func(*awstest.Group)
		n      int32
		change func(*autoscaling.LaunchInstancesInput)
	}{
		"no machine":         {nil, 0, nil},
		"above the maximum":  {nil, 11, nil},
		"no zone of several": {func(g *awstest.Group) { g.Zones = []string{zoneA, zoneB} }, 1, nil},
		"two zones":          {func(g *awstest.Group) { g.Zones = []string{zoneA, zoneB} }, 1, zoned(zoneA, zoneB)},
		"a foreign zone":     {nil, 1, zoned(zoneB)},
		"a foreign subnet":   {nil, 1, func(in *autoscaling.LaunchInstancesInput) { in.SubnetIds = []string{"subnet-x"} }},
		"half spot": {func(g *awstest.Group) {
			*g = mixed(awstest.MixedInstances{SpotPercentAboveBase: 50})
		}, 1, nil},
		"a launch configuration": {func(g *awstest.Group) { g.LaunchTemplate, g.LaunchConfiguration = nil, "lc" }, 1, nil},
		"Launch suspended":       {func(g *awstest.Group) { g.SuspendedProcesses = []awstest.Process{awstest.ProcessLaunch} }, 1, nil},
		"a foreign zone id":      {nil, 1, func(in *autoscaling.LaunchInstancesInput) { in.AvailabilityZoneIds = []string{"use1-az2"} }},
		"no such group":          {nil, 1, func(in *autoscaling.LaunchInstancesInput) { in.AutoScalingGroupName = aws.String("other") }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(0)
			if tc.group != nil {
				tc.group(&g)
			}
			r.mustAdd(t, g)
			_, err := r.order(t, tc.n, tc.change)
			wantCode(t, err, 400, "ValidationError")
			if len(r.Instances()) != 0 {
				t.Errorf("instances %v", r.states())
			}
		})
	}
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.Deny("ec2:CreateFleet")
	_, err := r.order(t, 1, nil)
	wantCode(t, err, 403, "AccessDenied")
}

func TestAWarmPoolIsListedApartAndGivesItsMachinesToLaunches(t *testing.T) {
	r := newRig(t)
	g := workers(1)
	g.WarmPool = &awstest.WarmPool{MinSize: 2, MaxPrepared: 3, State: "Hibernated"}
	r.mustAdd(t, g)
	pool := func() *autoscaling.DescribeWarmPoolOutput {
		t.Helper()
		return must[*autoscaling.DescribeWarmPoolOutput](t)(r.asg.DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{
			AutoScalingGroupName: aws.String("workers"), MaxRecords: aws.Int32(50),
		}))
	}
	out := pool()
	if len(out.Instances) != 2 || out.Instances[0].LifecycleState != types.LifecycleStateWarmedHibernated ||
		out.WarmPoolConfiguration.PoolState != types.WarmPoolStateHibernated || aws.ToInt32(out.WarmPoolConfiguration.MaxGroupPreparedCapacity) != 3 {
		t.Errorf("warm pool %+v of %+v", out.Instances, out.WarmPoolConfiguration)
	}
	groups := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	if got := groups.AutoScalingGroups[0]; len(got.Instances) != 1 || aws.ToInt32(got.WarmPoolSize) != 2 || got.WarmPoolConfiguration == nil {
		t.Errorf("group with %d instances and a warm pool of %d", len(got.Instances), aws.ToInt32(got.WarmPoolSize))
	}
	warm := aws.ToString(out.Instances[0].InstanceId)
	_, err := r.terminate(t, false, warm)
	wantCode(t, err, 400, "ValidationError")
	machines := must[*ec2.DescribeInstancesOutput](t)(r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{warm}}))
	if got := machines.Reservations[0].Instances[0].State.Name; got != "stopped" {
		t.Errorf("machine of the warm pool is %s", got)
	}
	r.mustSetDesired(t, 2)
	r.clock.Step(10 * time.Second)
	if ids := r.ids("workers"); len(ids) != 2 || ids[1] != warm {
		t.Errorf("instances %v, want the one of the warm pool: %s", ids, warm)
	}
	if out := pool(); len(out.Instances) != 2 || aws.ToString(out.Instances[0].InstanceId) == warm {
		t.Errorf("the warm pool behind it: %+v", out.Instances)
	}
	_, err = r.asg.DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String("workers"), MaxRecords: aws.Int32(51)})
	wantCode(t, err, 400, "ValidationError")
	_, err = r.asg.DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: aws.String("other")})
	wantCode(t, err, 400, "ValidationError")
}
