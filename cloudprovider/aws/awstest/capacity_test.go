package awstest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestAnInstanceGoesThroughAllStatesOfItsLife(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Timing.LaunchHook, g.Timing.TerminateHook, g.Timing.Linger = 20*time.Second, 40*time.Second, 5*time.Second
	r.mustAdd(t, g)
	r.mustSetDesired(t, 1)
	type look struct {
		after     time.Duration
		lifecycle awstest.LifecycleState
		machine   awstest.MachineState
	}
	check := func(looks []look) {
		t.Helper()
		for _, l := range looks {
			r.clock.Step(l.after)
			var got look
			for _, i := range r.Instances() {
				got.lifecycle, got.machine = i.Lifecycle, i.Machine
			}
			got.after = l.after
			if got != l {
				t.Errorf("got %+v, want %+v", got, l)
			}
		}
	}
	check([]look{
		{0, "", ""},
		{9 * time.Second, "", ""},
		{time.Second, awstest.Pending, awstest.MachinePending},
		{time.Minute, awstest.PendingWait, awstest.MachineRunning},
		{20 * time.Second, awstest.InService, awstest.MachineRunning},
	})
	must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, r.ids("workers")...))
	check([]look{
		{0, awstest.TerminatingWait, awstest.MachineRunning},
		{40 * time.Second, awstest.TerminatingProceed, awstest.MachineShuttingDown},
		{30 * time.Second, awstest.Terminated, awstest.MachineTerminated},
		{5 * time.Second, "", ""},
	})
}

func TestTheOutcomeDoesNotDependOnWhoLooksWhen(t *testing.T) {
	play := func(looks int) []awstest.Event {
		r := newRig(t)
		g := workers(2)
		g.Timing.Retry = 25 * time.Second
		r.mustAdd(t, g)
		r.SetStock(awstest.StockRule{Group: "workers", Left: 1})
		r.mustSetDesired(t, 4)
		for range looks {
			r.clock.Step(3 * time.Minute / time.Duration(looks))
			r.Advance()
		}
		return r.Events()
	}
	if diff := cmp.Diff(play(180), play(1)); diff != "" {
		t.Errorf("events after many looks and after one (-many +one):\n%s", diff)
	}
}

func TestLoweringDesiredEndsInstancesOfTheServicesChoice(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*awstest.Group)
		lower  int32
		want   []int // indexes of the instances that end
	}{
		"the oldest of a zone goes first": {func(*awstest.Group) {}, 2, []int{0, 1}},
		"an older template version goes before an older instance": {func(g *awstest.Group) {
			g.Initial[2].TemplateVersion = 1
		}, 3, []int{2}},
		"the fullest zone gives first": {func(g *awstest.Group) {
			g.Initial[0].Zone = zoneB
		}, 3, []int{1}},
		"the newest goes when the policy says so": {func(g *awstest.Group) {
			g.TerminationPolicy = awstest.TerminationNewest
		}, 3, []int{3}},
		"protected instances stay, and so does the surplus": {func(g *awstest.Group) {
			g.Initial[0].Protected, g.Initial[1].Protected, g.Initial[2].Protected = true, true, true
		}, 1, []int{3}},
		"nothing ends while Terminate is suspended": {func(g *awstest.Group) {
			g.SuspendedProcesses = []awstest.Process{awstest.ProcessTerminate}
		}, 0, nil},
		"standby instances don't count": {func(g *awstest.Group) {
			g.Initial[0].Lifecycle, g.Desired = "Standby", 3
		}, 2, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Default: 2, Versions: []awstest.LaunchTemplateVersion{
				{InstanceType: "m5.large"}, {InstanceType: "m5.large"},
			}})
			g := workers(4)
			g.Zones = []string{zoneA, zoneB}
			for i := range 4 {
				g.Initial = append(g.Initial, awstest.InitialInstance{Zone: zoneA, Age: time.Duration(4-i) * time.Hour})
			}
			tc.change(&g)
			r.mustAdd(t, g)
			ids := r.ids("workers")
			r.mustSetDesired(t, tc.lower)
			var want []string
			for _, i := range tc.want {
				want = append(want, ids[i])
			}
			writes := r.Writes()
			got := writes[0].Change.Ended
			if diff := cmp.Diff(sorted(want), got); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
			for _, e := range r.Events() {
				if e.Kind == awstest.EventEnding && (e.Cause != awstest.CauseScaleIn || e.Call != writes[0].Number) {
					t.Errorf("%s ended by %s of call %d", e.Instance, e.Cause, e.Call)
				}
			}
		})
	}
}

func TestVictimsAreChosenLateAndARaiseInTimeSavesThem(t *testing.T) {
	r := newRig(t)
	g := workers(3)
	g.Timing.ScaleIn = 5 * time.Second
	r.mustAdd(t, g)
	r.mustSetDesired(t, 2)
	r.clock.Step(4 * time.Second)
	r.mustSetDesired(t, 3)
	r.clock.Step(time.Minute)
	if diff := cmp.Diff([]string{"InService", "InService", "InService"}, r.states()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	r.mustSetDesired(t, 2)
	r.clock.Step(5 * time.Second)
	if diff := cmp.Diff([]string{"Terminating", "InService", "InService"}, r.states()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestALaunchThatArrivesAfterDesiredWasLoweredCostsAHealthyInstance(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(6))
	oldest := r.ids("workers")[0]
	r.mustSetDesired(t, 8)
	r.clock.Step(5 * time.Second)
	r.mustSetDesired(t, 6) // nothing exists beyond six: the cut looks harmless
	if got := r.Writes()[1].Change.Ended; got != nil {
		t.Errorf("ended at once: %v", got)
	}
	r.clock.Step(5 * time.Second) // the two launches arrive
	for _, i := range r.Instances() {
		if i.ID == oldest && i.Lifecycle != awstest.Terminating {
			t.Errorf("the oldest instance is %s, want it ended by the service", i.Lifecycle)
		}
	}
}

func TestADeadMachineIsReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		suspended []awstest.Process
		want      []string
	}{
		"normally":                          {nil, []string{"Terminating", "InService", "Pending"}},
		"not while HealthCheck is off":      {[]awstest.Process{awstest.ProcessHealthCheck}, []string{"InService", "InService"}},
		"not while ReplaceUnhealthy is off": {[]awstest.Process{awstest.ProcessReplaceUnhealthy}, []string{"InService", "InService"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(2)
			g.SuspendedProcesses, g.Timing.HealthCheck = tc.suspended, 15*time.Second
			r.mustAdd(t, g)
			if err := r.KillInstance(r.ids("workers")[0]); err != nil {
				t.Fatal(err)
			}
			r.clock.Step(14 * time.Second)
			if i := r.Instances()[0]; i.Lifecycle != awstest.InService || i.Machine != awstest.MachineTerminated {
				t.Errorf("before the health check: %s, machine %s", i.Lifecycle, i.Machine)
			}
			r.clock.Step(11 * time.Second)
			if diff := cmp.Diff(tc.want, r.states()); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if got := r.desired(t); got != 2 {
				t.Errorf("desired %d, want 2", got)
			}
		})
	}
}

func TestNothingIsLaunchedWhileLaunchIsSuspended(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.SuspendedProcesses = []awstest.Process{awstest.ProcessLaunch}
	r.mustAdd(t, g)
	r.mustSetDesired(t, 2)
	r.clock.Step(time.Hour)
	if got := r.states(); got != nil {
		t.Errorf("instances: %v", got)
	}
	if err := r.UpdateGroup("workers", func(g *awstest.Group) { g.SuspendedProcesses = nil }); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(10 * time.Second)
	if diff := cmp.Diff([]string{"Pending", "Pending"}, r.states()); diff != "" {
		t.Errorf("states after resuming (-want +got):\n%s", diff)
	}
}

func TestZonesTakeTurnsAndTypesFollowTheirOrder(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Zones, g.Timing = []string{zoneA, zoneB}, awstest.Timing{}
	g.LaunchTemplate = nil
	g.MixedInstances = &awstest.MixedInstances{
		LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, OnDemandBase: 1, SpotPercentAboveBase: 75,
		Overrides: []awstest.Override{{InstanceType: "c5.large"}, {InstanceType: "c6i.large"}},
	}
	r.mustAdd(t, g)
	r.SetStock(awstest.StockRule{Type: "c5.large", Zone: zoneB, Left: 0})
	r.mustSetDesired(t, 5)
	var got []string
	for _, e := range r.Events() {
		for _, i := range r.Instances() {
			if e.Kind == awstest.EventLaunched && e.Instance == i.ID {
				got = append(got, i.Zone+" "+i.Type+" "+string(i.Market))
			}
		}
	}
	want := []string{
		"us-east-1a c5.large on-demand", "us-east-1b c6i.large on-demand", "us-east-1a c5.large spot",
		"us-east-1b c6i.large spot", "us-east-1a c5.large spot",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("launches (-want +got):\n%s", diff)
	}
}

func TestWeightsCountUnitsAndMayOvershoot(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.LaunchTemplate, g.Timing = nil, awstest.Timing{}
	g.MixedInstances = &awstest.MixedInstances{
		LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"},
		Overrides:      []awstest.Override{{InstanceType: "c5.4xlarge", Weight: 2}, {InstanceType: "c5.2xlarge", Weight: 1}},
	}
	r.mustAdd(t, g)
	r.mustSetDesired(t, 5)
	if got := len(r.ids("workers")); got != 3 {
		t.Errorf("%d machines of weight 2 for 5 units, want 3", got)
	}
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	if got := aws.ToString(out.AutoScalingGroups[0].Instances[0].WeightedCapacity); got != "2" {
		t.Errorf("WeightedCapacity %q, want 2", got)
	}
	if err := r.ScriptLaunches("workers", awstest.ScriptedLaunch{Type: "c5.2xlarge"}); err != nil {
		t.Fatal(err)
	}
	r.mustSetDesired(t, 7)
	got := r.Instances()
	if last := got[len(got)-1]; len(got) != 4 {
		t.Errorf("%d machines for 7 units, the last a %s", len(got), last.Type)
	}
}

func TestAScriptDecidesHowEachLaunchGoes(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Timing.Retry = time.Hour
	r.mustAdd(t, g)
	if err := r.ScriptLaunches("workers",
		awstest.ScriptedLaunch{After: 20 * time.Second, Fail: awstest.InsufficientInstanceCapacity},
		awstest.ScriptedLaunch{After: 30 * time.Second, Boot: 5 * time.Second, Type: "m5.xlarge", Zone: zoneB},
	); err != nil {
		t.Fatal(err)
	}
	r.mustSetDesired(t, 2)
	r.clock.Step(20 * time.Second)
	if got := r.states(); got != nil {
		t.Errorf("instances after 20 s: %v", got)
	}
	r.clock.Step(15 * time.Second)
	got := r.Instances()
	if len(got) != 1 || got[0].Lifecycle != awstest.InService || got[0].Type != "m5.xlarge" || got[0].Zone != zoneB {
		t.Errorf("instances after 35 s: %+v", got)
	}
}

func TestLaunchNowBringsTheInstanceBetweenAReadAndAWrite(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(6))
	r.mustSetDesired(t, 8)
	r.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: awstest.Hook{Before: func() {
		if err := r.LaunchNow("workers"); err != nil {
			t.Errorf("launching now: %v", err)
		}
	}}})
	r.mustSetDesired(t, 6)
	change := r.Writes()[1].Change
	if change.LiveFrom != 7 || len(change.Ended) != 1 {
		t.Errorf("the write found %d instances and ended %v; want 7 and one", change.LiveFrom, change.Ended)
	}
}

func TestRebalancingMovesAnInstanceToTheEmptyZone(t *testing.T) {
	r := newRig(t)
	g := workers(2)
	g.Zones = []string{zoneA, zoneB}
	g.Initial = []awstest.InitialInstance{{Zone: zoneA}, {Zone: zoneA}}
	r.mustAdd(t, g)
	if err := r.Rebalance("workers"); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(2 * time.Minute)
	zones := map[string]int{}
	for _, i := range r.Instances() {
		zones[i.Zone]++
	}
	if diff := cmp.Diff(map[string]int{zoneA: 1, zoneB: 1}, zones); diff != "" {
		t.Errorf("instances per zone (-want +got):\n%s", diff)
	}
}

func TestADeletedGroupIsListedUntilItsLastInstanceIsGone(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(2))
	r.mustSetDesired(t, 3)
	if err := r.DeleteGroup("workers"); err != nil {
		t.Fatal(err)
	}
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	if got := aws.ToString(out.AutoScalingGroups[0].Status); got != "Delete in progress" {
		t.Errorf("status %q", got)
	}
	wantCode(t, r.setDesired(t, "workers", 1), 400, "ValidationError")
	r.clock.Step(time.Minute)
	if got := r.Groups(); got != nil {
		t.Errorf("groups: %+v", got)
	}
}

func TestAGroupWithABrokenTemplateFailsItsLaunchesWithTheReason(t *testing.T) {
	r := newRig(t)
	r.PutLaunchTemplate(awstest.LaunchTemplate{Name: "no-type", Versions: []awstest.LaunchTemplateVersion{{ImageID: "ami-1"}}})
	g := workers(0)
	g.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "no-type"}
	r.mustAdd(t, g)
	r.mustSetDesired(t, 1)
	r.clock.Step(10 * time.Second)
	events := r.Events()
	last := events[len(events)-1]
	if last.Kind != awstest.EventLaunchFailed || last.Detail != "You must use a valid fully-formed launch template. The request must contain the parameter InstanceType. Launching EC2 instance failed." {
		t.Errorf("last event: %+v", last)
	}
}

func TestDesiredCanBeCountedInVCPUs(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.DesiredCapacityType, g.Timing = "vcpu", awstest.Timing{}
	r.mustAdd(t, g)
	r.mustSetDesired(t, 5)
	if got := len(r.ids("workers")); got != 3 {
		t.Errorf("%d machines of two vCPUs for 5, want 3", got)
	}
}

func TestAnUnhealthyInstanceIsReplacedAfterTheHealthCheck(t *testing.T) {
	r := newRig(t)
	g := workers(1)
	g.Timing.HealthCheck = 20 * time.Second
	r.mustAdd(t, g)
	if err := r.SetHealth(r.ids("workers")[0], awstest.Unhealthy); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(19 * time.Second)
	if diff := cmp.Diff([]string{"InService"}, r.states()); diff != "" {
		t.Errorf("states before the check (-want +got):\n%s", diff)
	}
	r.clock.Step(11 * time.Second)
	if diff := cmp.Diff([]string{"Terminating", "Pending"}, r.states()); diff != "" {
		t.Errorf("states behind it (-want +got):\n%s", diff)
	}
}
