package awstest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// spotWorkers is a group of spot machines.
func spotWorkers(desired int) awstest.Group {
	g := workers(desired)
	g.LaunchTemplate = nil
	g.MixedInstances = &awstest.MixedInstances{LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, SpotPercentAboveBase: 100}
	return g
}

func TestAnInterruptedSpotMachineGoesBehindItsNotice(t *testing.T) {
	for name, tc := range map[string]struct {
		rebalance       bool
		before, at, end []string
	}{
		"and is replaced afterwards": {false, []string{"InService", "InService"}, []string{"Terminating", "InService"}, []string{"InService", "InService"}},
		"and is replaced beforehand when the group rebalances": {true, []string{"InService", "InService", "InService"},
			[]string{"Terminating", "InService", "InService"}, []string{"InService", "InService"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := spotWorkers(2)
			g.CapacityRebalance, g.Timing.ScaleIn = tc.rebalance, time.Hour
			r.mustAdd(t, g)
			if err := r.Interrupt(r.ids("workers")[0], 2*time.Minute); err != nil {
				t.Fatal(err)
			}
			r.clock.Step(119 * time.Second)
			if diff := cmp.Diff(tc.before, r.states()); diff != "" {
				t.Errorf("states before (-want +got):\n%s", diff)
			}
			r.clock.Step(time.Second)
			if diff := cmp.Diff(tc.at, r.states()); diff != "" {
				t.Errorf("states at the end of the notice (-want +got):\n%s", diff)
			}
			r.clock.Step(5 * time.Minute)
			if diff := cmp.Diff(tc.end, r.states()); diff != "" || r.desired(t) != 2 {
				t.Errorf("desired %d, states in the end (-want +got):\n%s", r.desired(t), diff)
			}
		})
	}
	r := newRig(t)
	r.mustAdd(t, workers(1))
	if err := r.Interrupt(r.ids("workers")[0], 0); err == nil {
		t.Error("an on-demand machine was interrupted")
	}
}

func TestZonesAreBalancedWithoutAskingWhoUsesTheMachines(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*awstest.Group)
		want   map[string]int
		ended  int
	}{
		"normally":               {func(*awstest.Group) {}, map[string]int{zoneA: 2, zoneB: 2}, 2},
		"not while suspended":    {func(g *awstest.Group) { g.SuspendedProcesses = []awstest.Process{awstest.ProcessAZRebalance} }, map[string]int{zoneA: 4}, 0},
		"not without the switch": {func(g *awstest.Group) { g.RebalancesByItself = false }, map[string]int{zoneA: 4}, 0},
		"while Terminate is suspended nothing ends": {func(g *awstest.Group) {
			g.SuspendedProcesses = []awstest.Process{awstest.ProcessTerminate}
		}, map[string]int{zoneA: 4, zoneB: 1}, 0},
		"protected machines stay": {func(g *awstest.Group) {
			for i := range g.Initial {
				g.Initial[i].Protected = i > 0
			}
		}, map[string]int{zoneA: 3, zoneB: 1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(4)
			g.Zones, g.RebalancesByItself = []string{zoneA, zoneB}, true
			g.Initial = []awstest.InitialInstance{{Zone: zoneA}, {Zone: zoneA}, {Zone: zoneA}, {Zone: zoneA}}
			tc.change(&g)
			r.mustAdd(t, g)
			for range 120 {
				r.clock.Step(10 * time.Second)
				r.Advance()
			}
			zones, ended := map[string]int{}, 0
			for _, i := range r.Instances() {
				zones[i.Zone]++
			}
			for _, e := range r.Events() {
				if e.Kind == awstest.EventEnding && e.Cause == awstest.CauseScaleIn {
					ended++
				}
			}
			if diff := cmp.Diff(tc.want, zones); diff != "" || ended != tc.ended {
				t.Errorf("%d ended, want %d; zones (-want +got):\n%s", ended, tc.ended, diff)
			}
		})
	}
}

func TestAnInstanceRefreshReplacesOneAfterTheOther(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(2))
	old := r.ids("workers")
	if err := r.StartInstanceRefresh("workers"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Terminating", "InService"}, r.states()); diff != "" {
		t.Errorf("states at the start (-want +got):\n%s", diff)
	}
	for range 40 {
		r.clock.Step(10 * time.Second)
		r.Advance()
		ending := 0
		for _, s := range r.states() {
			if s == "Terminating" {
				ending++
			}
		}
		if ending > 1 {
			t.Fatalf("more than one at once: %v", r.states())
		}
	}
	now := r.ids("workers")
	if diff := cmp.Diff([]string{"InService", "InService"}, r.states()); diff != "" || now[0] == old[0] || now[0] == old[1] || now[1] == old[1] {
		t.Errorf("instances %v were %v, states (-want +got):\n%s", now, old, diff)
	}
	if err := r.UpdateGroup("workers", func(g *awstest.Group) { g.SuspendedProcesses = []awstest.Process{awstest.ProcessInstanceRefresh} }); err != nil {
		t.Fatal(err)
	}
	if err := r.StartInstanceRefresh("workers"); err == nil {
		t.Error("a refresh began while InstanceRefresh is suspended")
	}
}

func TestScheduledActionsAndAlarmsChangeSizesUnlessSuspended(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(2))
	for _, err := range []error{r.RunScheduledAction("workers", 1, 6, 4), r.RunAlarm("workers", 5)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if g := r.Groups()[0]; g.Min != 1 || g.Max != 6 || g.Desired != 6 {
		t.Errorf("group %+v", g)
	}
	if err := r.RunScheduledAction("workers", 3, 2, 1); err == nil {
		t.Error("bounds that make no sense were taken")
	}
	if err := r.UpdateGroup("workers", func(g *awstest.Group) {
		g.SuspendedProcesses = []awstest.Process{awstest.ProcessScheduledActions, awstest.ProcessAlarmNotification}
	}); err != nil {
		t.Fatal(err)
	}
	if r.RunScheduledAction("workers", 0, 9, 0) == nil || r.RunAlarm("workers", -1) == nil {
		t.Error("suspended processes changed the group")
	}
}

func TestOldActivitiesCanBePutIntoTheHistory(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	start := eightOClock.Add(-30 * 24 * time.Hour)
	for _, a := range []awstest.Activity{
		{Message: awstest.VcpuLimitExceeded.Text(), Start: start, End: start.Add(time.Minute), Zone: zoneA, Cause: "long ago"},
		{Description: "Terminating EC2 instance: i-0a1b2c3d", Status: awstest.ActivityCancelled, Details: "no JSON"},
		{Status: "WaitingForSpotInstanceRequestId"},
	} {
		if err := r.AddActivity("workers", a); err != nil {
			t.Fatal(err)
		}
	}
	out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String("workers"),
	}))
	waiting, ended, old := out.Activities[0], out.Activities[1], out.Activities[2]
	if waiting.StatusCode != types.ScalingActivityStatusCodeWaitingForSpotInstanceRequestId || waiting.EndTime != nil {
		t.Errorf("waiting: %s until %v", waiting.StatusCode, waiting.EndTime)
	}
	if aws.ToString(ended.Description) != "Terminating EC2 instance: i-0a1b2c3d" || aws.ToString(ended.Details) != "no JSON" || ended.StatusCode != "Cancelled" {
		t.Errorf("ended: %s %s %s", aws.ToString(ended.Description), aws.ToString(ended.Details), ended.StatusCode)
	}
	if !old.StartTime.Equal(start) || !old.EndTime.Equal(start.Add(time.Minute)) || aws.ToString(old.StatusMessage) != awstest.VcpuLimitExceeded.Text() {
		t.Errorf("old: %v to %v, %s", old.StartTime, old.EndTime, aws.ToString(old.StatusMessage))
	}
}

func TestAForeignWriterGetsInBetweenAReadAndAWrite(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(3))
	r.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: awstest.Hook{Before: func() {
		if err := r.SetDesired("workers", 7); err != nil {
			t.Error(err)
		}
	}}})
	r.mustSetDesired(t, 4)
	if change := r.Writes()[0].Change; change.DesiredFrom != 7 || change.DesiredTo != 4 {
		t.Errorf("change %+v, want the foreign 7 lowered to 4", change)
	}
}

func TestAListingCanMissGroups(t *testing.T) {
	r := newRig(t)
	other := workers(0)
	other.Name = "other"
	r.mustAdd(t, workers(0), other)
	r.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Hide{Groups: []string{"other"}}})
	for _, want := range []int{1, 2} {
		out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
		if len(out.AutoScalingGroups) != want {
			t.Errorf("%d groups, want %d", len(out.AutoScalingGroups), want)
		}
	}
}
