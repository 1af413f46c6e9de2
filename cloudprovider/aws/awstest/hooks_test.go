package awstest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// story is status and description of the activities of "workers", newest first.
func (r *rig) story(t *testing.T) []string {
	t.Helper()
	out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(), &autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String("workers"),
	}))
	var all []string
	for _, a := range out.Activities {
		text, _, _ := strings.Cut(aws.ToString(a.Description), ": i-")
		all = append(all, string(a.StatusCode)+" "+text)
	}
	return all
}

func (r *rig) mustComplete(t *testing.T, id string, result awstest.HookResult) {
	t.Helper()
	if err := r.CompleteHook(id, result); err != nil {
		t.Fatal(err)
	}
}

func TestALaunchHookHoldsAnInstanceUntilItIsCompleted(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Timing.LaunchHook = time.Hour
	r.mustAdd(t, g)
	r.mustSetDesired(t, 1)
	r.clock.Step(70 * time.Second)
	if diff := cmp.Diff([]string{"MidLifecycleAction Launching a new EC2 instance"}, r.story(t)); diff != "" {
		t.Errorf("activities (-want +got):\n%s", diff)
	}
	id := r.ids("workers")[0]
	r.mustComplete(t, id, awstest.HookContinue)
	if diff := cmp.Diff([]string{"InService"}, r.states()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if err := r.CompleteHook(id, awstest.HookContinue); err == nil {
		t.Error("an action that doesn't wait was completed")
	}
}

func TestAnAbandonedLaunchFailsAndIsTriedAgain(t *testing.T) {
	for name, abandon := range map[string]func(*testing.T, *rig){
		"by its owner":    func(t *testing.T, r *rig) { r.mustComplete(t, r.ids("workers")[0], awstest.HookAbandon) },
		"by its time-out": func(_ *testing.T, r *rig) { r.clock.Step(20 * time.Minute); r.Advance() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(0)
			g.Timing.LaunchHook, g.Timing.Retry, g.LaunchHookAbandons = 20*time.Minute, 5*time.Minute, true
			r.mustAdd(t, g)
			r.mustSetDesired(t, 1)
			r.clock.Step(70 * time.Second)
			r.Advance()
			abandon(t, r)
			if diff := cmp.Diff([]string{"InProgress Terminating EC2 instance", "Failed Launching a new EC2 instance"}, r.story(t)); diff != "" {
				t.Errorf("activities (-want +got):\n%s", diff)
			}
			events := r.Events()
			if failed := events[len(events)-2]; failed.Kind != awstest.EventLaunchFailed || !strings.Contains(failed.Detail, "was abandoned") {
				t.Errorf("event %+v", failed)
			}
			r.clock.Step(7 * time.Minute)
			if diff := cmp.Diff([]string{"Pending:Wait"}, r.states()); diff != "" {
				t.Errorf("states after the retry (-want +got):\n%s", diff)
			}
			if r.desired(t) != 1 {
				t.Errorf("desired %d", r.desired(t))
			}
		})
	}
}

func TestATerminationHookHoldsAMachineOrKeepsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		retains bool
		result  awstest.HookResult
		want    string
	}{
		"continued": {true, awstest.HookContinue, "Terminating:Proceed"},
		"abandoned": {false, awstest.HookAbandon, "Terminating:Proceed"},
		"retained":  {true, awstest.HookAbandon, "Terminating:Retained"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(1)
			g.Timing.TerminateHook, g.RetainsAbandoned = time.Hour, tc.retains
			r.mustAdd(t, g)
			id := r.ids("workers")[0]
			must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, id))
			if diff := cmp.Diff([]string{"Terminating:Wait"}, r.states()); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			r.mustComplete(t, id, tc.result)
			if diff := cmp.Diff([]string{tc.want}, r.states()); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			r.clock.Step(time.Hour)
			if gone := len(r.states()) == 0; gone == (tc.want == "Terminating:Retained") {
				t.Errorf("states an hour later: %v", r.states())
			}
		})
	}
}

func TestStandbyLeavesTheCountAndComesBack(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(2))
	ids := r.ids("workers")
	for _, err := range []error{r.EnterStandby(ids[0], true), r.EnterStandby(ids[1], false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.clock.Step(2 * time.Minute)
	if diff := cmp.Diff([]string{"Standby", "Standby", "InService"}, r.states()); diff != "" || r.desired(t) != 1 {
		t.Errorf("desired %d, states (-want +got):\n%s", r.desired(t), diff)
	}
	if err := r.ExitStandby(ids[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"InService", "Standby", "InService"}, r.states()); diff != "" || r.desired(t) != 2 {
		t.Errorf("desired %d, states (-want +got):\n%s", r.desired(t), diff)
	}
	if err := r.ExitStandby(ids[0]); err == nil {
		t.Error("an instance left standby twice")
	}
}

func TestADetachedMachineRunsOnOutsideItsGroup(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(2))
	ids := r.ids("workers")
	if err := r.Detach(ids[0], true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ids[1:], r.ids("workers")); diff != "" || r.desired(t) != 1 {
		t.Errorf("desired %d, instances (-want +got):\n%s", r.desired(t), diff)
	}
	out := must[*ec2.DescribeInstancesOutput](t)(r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids[:1]}))
	if got := out.Reservations[0].Instances[0].State.Name; got != "running" {
		t.Errorf("machine is %s", got)
	}
	_, err := r.terminate(t, false, ids[0])
	wantCode(t, err, 400, "ValidationError")
	g := workers(1)
	g.Name, g.Min = "least", 1
	r.mustAdd(t, g)
	if err := r.Detach(r.ids("least")[0], true); err == nil {
		t.Error("a group went below its minimum")
	}
}

func TestAGroupTellsWhatIsSpecialAboutIt(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.ZoneIDsOnly, g.DeletionProtection, g.Operator = true, "prevent-all-deletion", "eks.amazonaws.com"
	r.mustAdd(t, g)
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	got := out.AutoScalingGroups[0]
	if len(got.AvailabilityZones) != 0 || aws.ToString(got.Operator.Principal) != "eks.amazonaws.com" || got.DeletionProtection != types.DeletionProtectionPreventAllDeletion {
		t.Errorf("group %+v", got)
	}
	if diff := cmp.Diff([]string{"use1-az1"}, got.AvailabilityZoneIds); diff != "" {
		t.Errorf("zone ids (-want +got):\n%s", diff)
	}
}
