package awstest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	smithy "github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// terminate ends one instance, or a batch of the group "workers", over the wire.
func (r *rig) terminate(t *testing.T, decrement bool, ids ...string) (*autoscaling.TerminateInstanceInAutoScalingGroupOutput, error) {
	t.Helper()
	in := &autoscaling.TerminateInstanceInAutoScalingGroupInput{ShouldDecrementDesiredCapacity: &decrement}
	if len(ids) == 1 {
		in.InstanceId = &ids[0]
	} else {
		in.InstanceIds, in.AutoScalingGroupName = ids, aws.String("workers")
	}
	return r.asg.TerminateInstanceInAutoScalingGroup(t.Context(), in)
}

// wantCode checks the error code, the HTTP status, and that a request id came with it.
func wantCode(t *testing.T, err error, status int, code string) {
	t.Helper()
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	if !errors.As(err, &api) || !errors.As(err, &response) {
		t.Fatalf("error %v, want %s", err, code)
	}
	if api.ErrorCode() != code || response.HTTPStatusCode() != status || api.ErrorMessage() == "" {
		t.Errorf("error %q with status %d and message %q, want %s with %d", api.ErrorCode(), response.HTTPStatusCode(), api.ErrorMessage(), code, status)
	}
	var withID interface{ ServiceRequestID() string }
	if !errors.As(err, &withID) || withID.ServiceRequestID() == "" {
		t.Errorf("error %v carries no request id", err)
	}
}

func TestDesiredMustLieWithinTheBounds(t *testing.T) {
	r := newRig(t)
	g := workers(3)
	g.Min, g.Max = 2, 5
	r.mustAdd(t, g)
	for name, tc := range map[string]struct {
		group string
		n     int32
		want  string
	}{
		"above max":     {"workers", 6, "New SetDesiredCapacity value 6 is above max value 5 for the AutoScalingGroup."},
		"below min":     {"workers", 1, "New SetDesiredCapacity value 1 is below min value 2 for the AutoScalingGroup."},
		"unknown group": {"nobody", 1, "AutoScalingGroup name not found - no such group: nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			err := r.setDesired(t, tc.group, tc.n)
			wantCode(t, err, 400, "ValidationError")
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if got := r.desired(t); got != 3 {
		t.Errorf("desired %d after refused writes, want 3", got)
	}
	for _, w := range r.Writes() {
		if w.Change != nil || w.Code != "ValidationError" {
			t.Errorf("a refused write is logged as %+v", w)
		}
	}
}

func TestARequestThatHonoursTheCooldownIsRefusedWhileItLasts(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Timing = awstest.Timing{}
	r.mustAdd(t, g)
	r.mustSetDesired(t, 1)
	honouring := func() error {
		_, err := r.asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{
			AutoScalingGroupName: aws.String("workers"), DesiredCapacity: aws.Int32(2), HonorCooldown: aws.Bool(true),
		})
		return err
	}
	r.clock.Step(299 * time.Second)
	err := honouring()
	var typed *types.ScalingActivityInProgressFault
	if !errors.As(err, &typed) {
		t.Fatalf("error %v, want the SDK's ScalingActivityInProgressFault", err)
	}
	r.clock.Step(time.Second)
	if err := honouring(); err != nil {
		t.Errorf("after the cooldown: %v", err)
	}
}

func TestTerminatingWithDecrementShrinksAndWithoutReplaces(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(3))
	ids := r.ids("workers")
	out := must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, ids[1]))
	if a := out.Activity; a == nil || a.StatusCode != types.ScalingActivityStatusCodeInProgress || aws.ToString(a.Description) != "Terminating EC2 instance: "+ids[1] {
		t.Errorf("activity %+v", out.Activity)
	}
	if got := r.desired(t); got != 2 {
		t.Errorf("desired %d, want 2", got)
	}
	must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, false, ids[2]))
	r.clock.Step(10 * time.Second)
	if diff := cmp.Diff([]string{"InService", "Terminating", "Terminating", "Pending"}, r.states()); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	r.clock.Step(2 * time.Minute)
	if diff := cmp.Diff([]string{"InService", "InService"}, r.states()); diff != "" {
		t.Errorf("states at the end (-want +got):\n%s", diff)
	}
}

func TestTheLogTellsWhatEachWriteDid(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(3))
	ids := r.ids("workers")
	r.mustSetDesired(t, 4)
	must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, ids[1]))
	var got []awstest.Change
	for _, w := range r.Writes() {
		got = append(got, *w.Change)
	}
	want := []awstest.Change{
		{Time: eightOClock, Group: "workers", DesiredFrom: 3, DesiredTo: 4, LiveFrom: 3, LiveTo: 3, Max: 10},
		{Time: eightOClock, Group: "workers", DesiredFrom: 4, DesiredTo: 3, LiveFrom: 3, LiveTo: 2, Max: 10, Ended: []string{ids[1]}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	call := r.Writes()[0]
	if call.Service != awstest.AutoScaling || call.Action != "SetDesiredCapacity" || call.Status != 200 || call.Attempt != 1 ||
		call.Region != "us-east-1" || call.InvocationID == "" || !strings.Contains(call.UserAgent, "aws-sdk-go-v2/") || !call.Done {
		t.Errorf("call %+v", call)
	}
	if diff := cmp.Diff([]string{"4"}, call.Params["DesiredCapacity"]); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if r.Count("SetDesiredCapacity") != 1 || r.Count("DescribeInstances") != 0 {
		t.Error("Count is wrong")
	}
}

func TestABatchEndsAllOrNothing(t *testing.T) {
	r := newRig(t)
	g := workers(5)
	g.Min = 2
	other := workers(1)
	other.Name = "other"
	r.mustAdd(t, g, other)
	ids, foreign := r.ids("workers"), r.ids("other")[0]
	for name, batch := range map[string][]string{
		"an unknown id":          {ids[0], "i-0123456789abcdef0"},
		"an id of another group": {ids[0], foreign},
		"more than min allows":   ids[:4],
	} {
		_, err := r.terminate(t, true, batch...)
		t.Run(name, func(t *testing.T) { wantCode(t, err, 400, "ValidationError") })
	}
	if got := r.desired(t); got != 5 {
		t.Fatalf("desired %d after refused batches, want 5", got)
	}
	out := must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, ids[:3]...))
	if len(out.Activities) != 3 || r.desired(t) != 2 {
		t.Errorf("%d activities, desired %d; want 3 and 2", len(out.Activities), r.desired(t))
	}
}

func TestTerminatingAnEndingInstanceAgainIsAccepted(t *testing.T) {
	for name, tc := range map[string]struct {
		again bool
		want  int
	}{"without a second decrement": {false, 2}, "with one where a group is set to do that": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := workers(3)
			g.DecrementsAgain = tc.again
			r.mustAdd(t, g)
			id := r.ids("workers")[0]
			for range 2 {
				must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, id))
			}
			if got := r.desired(t); got != tc.want {
				t.Errorf("desired %d, want %d", got, tc.want)
			}
		})
	}
}

func TestTerminatingIsRefusedAtTheMinimumAndForStrangers(t *testing.T) {
	r := newRig(t)
	g := workers(1)
	g.Min = 1
	r.mustAdd(t, g)
	id := r.ids("workers")[0]
	_, err := r.terminate(t, true, id)
	wantCode(t, err, 400, "ValidationError")
	if !strings.Contains(err.Error(), "desiredSize equals minSize (1)") {
		t.Errorf("error %v", err)
	}
	_, err = r.terminate(t, true, "i-0123456789abcdef0")
	wantCode(t, err, 400, "ValidationError")
	if !strings.Contains(err.Error(), "No managed instance found for instance ID: i-0123456789abcdef0") {
		t.Errorf("error %v", err)
	}
	if _, err := r.terminate(t, false, id); err != nil {
		t.Errorf("ending with replacement at the minimum: %v", err)
	}
}

func TestProtectionStopsScaleInAndNotTerminate(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(2))
	ids := r.ids("workers")
	must[*autoscaling.SetInstanceProtectionOutput](t)(r.asg.SetInstanceProtection(t.Context(), &autoscaling.SetInstanceProtectionInput{
		AutoScalingGroupName: aws.String("workers"), InstanceIds: ids, ProtectedFromScaleIn: aws.Bool(true),
	}))
	r.mustSetDesired(t, 0)
	if diff := cmp.Diff([]string{"InService", "InService"}, r.states()); diff != "" {
		t.Errorf("states after lowering desired (-want +got):\n%s", diff)
	}
	if _, err := r.terminate(t, false, ids[0]); err != nil {
		t.Errorf("ending a protected instance by name: %v", err)
	}
	if got := r.Instances(); got[0].Lifecycle != awstest.Terminating && got[1].Lifecycle != awstest.Terminating {
		t.Errorf("instances %+v", got)
	}
}

func TestBoundsAndDesiredCanBeChangedByOthers(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(3))
	if err := r.SetBounds("workers", 4, 6); err != nil {
		t.Fatal(err)
	}
	if got := r.desired(t); got != 4 {
		t.Errorf("desired %d after min was raised to 4", got)
	}
	if err := r.SetDesired("workers", 7); err == nil {
		t.Error("a desired capacity above max was taken")
	}
	if err := r.SetTags("workers", awstest.Tag{Key: "k", Value: "v"}); err != nil {
		t.Fatal(err)
	}
	if got := r.Groups()[0].Tags; len(got) != 1 || got[0].Key != "k" {
		t.Errorf("tags %+v", got)
	}
	if err := r.RemoveGroup("workers"); err != nil {
		t.Fatal(err)
	}
	if r.Instances() != nil || r.Groups() != nil {
		t.Error("a removed group is still there")
	}
}
