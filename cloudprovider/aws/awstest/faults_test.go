package awstest_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	smithy "github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestTheSDKRetriesThrottlingAndServerErrors(t *testing.T) {
	for name, effect := range map[string]awstest.Effect{
		"throttled":             awstest.Throttle{},
		"unavailable":           awstest.ErrorAnswer{Status: 503},
		"failed":                awstest.ErrorAnswer{},
		"connection cut before": awstest.Drop{},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.mustAdd(t, workers(1))
			r.cfg.Retryer = threeAttempts
			asg, machines := autoscaling.NewFromConfig(r.cfg), ec2.NewFromConfig(r.cfg)
			r.Inject(awstest.Fault{Service: awstest.AutoScaling, Count: 2, Effect: effect})
			r.Inject(awstest.Fault{Service: awstest.EC2, Count: 2, Effect: effect})
			if _, err := asg.DescribeAutoScalingGroups(t.Context(), nil); err != nil {
				t.Errorf("the third attempt of Auto Scaling: %v", err)
			}
			if _, err := machines.DescribeInstances(t.Context(), nil); err != nil {
				t.Errorf("the third attempt of EC2: %v", err)
			}
			var attempts []int
			invocations := map[string]bool{}
			for _, c := range r.Calls() {
				attempts = append(attempts, c.Attempt)
				invocations[c.InvocationID] = true
			}
			if diff := cmp.Diff([]int{1, 2, 3, 1, 2, 3}, attempts); diff != "" || len(invocations) != 2 {
				t.Errorf("%d invocations, attempts (-want +got):\n%s", len(invocations), diff)
			}
		})
	}
}

func TestErrorsHaveTheCodesOfTheirService(t *testing.T) {
	for name, tc := range map[string]struct {
		effect                 awstest.Effect
		asgStatus, ec2Status   int
		asgCode, ec2Code       string
		asgContains, ec2Thanks string
	}{
		"throttle":    {awstest.Throttle{}, 400, 503, "Throttling", "RequestLimitExceeded", "Rate exceeded", "Request limit exceeded."},
		"unavailable": {awstest.ErrorAnswer{Status: 503}, 503, 503, "ServiceUnavailable", "Unavailable", "temporary", "overloaded"},
		"own code":    {awstest.ErrorAnswer{Status: 400, Code: "Odd", Message: "a < b"}, 400, 400, "Odd", "Odd", "a < b", "a < b"},
		"500":         {awstest.ErrorAnswer{}, 500, 500, "InternalFailure", "InternalError", "unknown", "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.Inject(awstest.Fault{Count: awstest.Always, Effect: tc.effect})
			got := r.ask(t.Context())
			wantCode(t, got[awstest.AutoScaling], tc.asgStatus, tc.asgCode)
			wantCode(t, got[awstest.EC2], tc.ec2Status, tc.ec2Code)
			if !strings.Contains(got[awstest.AutoScaling].Error(), tc.asgContains) || !strings.Contains(got[awstest.EC2].Error(), tc.ec2Thanks) {
				t.Errorf("errors %v", got)
			}
		})
	}
}

func TestTypedErrorsOfTheSDKAreRecognised(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: awstest.ErrorAnswer{Status: 500, Code: "ResourceContention", Message: "busy"}})
	var contention *types.ResourceContentionFault
	if err := r.setDesired(t, "workers", 1); !errors.As(err, &contention) {
		t.Errorf("error %v, want the SDK's ResourceContentionFault", err)
	}
	_, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{NextToken: aws.String("nonsense")})
	var token *types.InvalidNextToken
	if !errors.As(err, &token) {
		t.Errorf("error %v, want the SDK's InvalidNextToken", err)
	}
}

func TestAFaultHitsOnlyItsGroupAndOnlyAsOftenAsToldTo(t *testing.T) {
	r := newRig(t)
	other := workers(1)
	other.Name = "other"
	r.mustAdd(t, workers(2), other)
	id := r.ids("workers")[0]
	remove := r.Inject(awstest.Fault{Group: "workers", Skip: 1, Count: awstest.Always, Effect: awstest.ErrorAnswer{Status: 400, Code: "Hit"}})
	hit := func(err error) bool {
		var api smithy.APIError
		return errors.As(err, &api) && api.ErrorCode() == "Hit"
	}
	if err := r.setDesired(t, "workers", 2); err != nil {
		t.Errorf("the request to be skipped: %v", err)
	}
	if err := r.setDesired(t, "workers", 2); !hit(err) {
		t.Errorf("the second request: %v", err)
	}
	if err := r.setDesired(t, "other", 1); err != nil {
		t.Errorf("another group: %v", err)
	}
	if _, err := r.terminate(t, false, id); !hit(err) {
		t.Errorf("a request that names an instance of the group: %v", err)
	}
	if _, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"other", "workers"}}); !hit(err) {
		t.Errorf("a request that names the group among others: %v", err)
	}
	remove()
	if err := r.setDesired(t, "workers", 2); err != nil {
		t.Errorf("after removal: %v", err)
	}
}

func TestALostAnswerHasItsEffectAndARequestCutBeforeHasNone(t *testing.T) {
	for name, tc := range map[string]struct {
		effect awstest.Effect
		want   int
		code   string
	}{
		"cut before the effect":      {awstest.Drop{}, 1, ""},
		"cut after the effect":       {awstest.Drop{Side: awstest.AfterEffect}, 3, ""},
		"half an answer":             {awstest.Truncate{}, 3, ""},
		"an error that is a lie":     {awstest.ErrorAnswer{Status: 500, Side: awstest.AfterEffect}, 3, "InternalFailure"},
		"an error instead of it":     {awstest.ErrorAnswer{Status: 500}, 1, "InternalFailure"},
		"an empty answer with a 503": {awstest.RawAnswer{Status: 503}, 3, ""},
		"a proxy's page with a 502":  {awstest.RawAnswer{Status: 502, ContentType: "text/html", Body: "<html><body>Bad Gateway</body></html>"}, 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.mustAdd(t, workers(1))
			r.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: tc.effect})
			_, err := r.asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"), DesiredCapacity: aws.Int32(3)})
			if _, truncated := tc.effect.(awstest.Truncate); err == nil && !truncated { // this answer holds nothing that a client reads
				t.Error("the client saw no error")
			}
			if got := r.desired(t); got != tc.want {
				t.Errorf("desired %d, want %d", got, tc.want)
			}
			call := r.Writes()[0]
			if call.Code != tc.code || (call.Change != nil) != (tc.want == 3) {
				t.Errorf("logged as %+v", call)
			}
		})
	}
}

func TestATruncatedListIsAnErrorAndNotAShortList(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(5))
	r.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Truncate{}})
	if out, err := r.asg.DescribeAutoScalingGroups(t.Context(), nil); err == nil {
		t.Errorf("half a document was read as %d groups", len(out.AutoScalingGroups))
	}
	if _, err := r.asg.DescribeAutoScalingGroups(t.Context(), nil); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func TestElementsCanBeMissing(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(1))
	r.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Omit{Elements: []string{"AvailabilityZones", "LaunchTemplateName"}}})
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	g := out.AutoScalingGroups[0]
	if g.AvailabilityZones != nil || g.LaunchTemplate.LaunchTemplateName != nil || g.Instances[0].LaunchTemplate.LaunchTemplateName != nil {
		t.Errorf("zones %v, template %+v", g.AvailabilityZones, g.LaunchTemplate)
	}
	if aws.ToString(g.LaunchTemplate.LaunchTemplateId) != "lt-0a" {
		t.Error("the rest is missing too")
	}
}

func TestStaleReadsTellThePast(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(1))
	r.clock.Step(time.Minute)
	r.mustSetDesired(t, 2)
	r.clock.Step(15 * time.Second)
	remove := r.Inject(awstest.Fault{Count: awstest.Always, Effect: awstest.Stale{Age: 20 * time.Second}})
	look := func() (desired int32, instances, activities, machines int) {
		out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
		acts := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(), nil))
		servers := must[*ec2.DescribeInstancesOutput](t)(r.ec2.DescribeInstances(t.Context(), nil))
		for _, a := range acts.Activities {
			if named := aws.ToString(a.Description) != "Launching a new EC2 instance"; named != (len(out.AutoScalingGroups[0].Instances) == 2) {
				t.Errorf("description %q", aws.ToString(a.Description))
			}
		}
		g := out.AutoScalingGroups[0]
		return *g.DesiredCapacity, len(g.Instances), len(acts.Activities), len(servers.Reservations)
	}
	if d, i, a, m := look(); d != 1 || i != 1 || a != 0 || m != 1 {
		t.Errorf("20 s ago: desired %d, %d instances, %d activities, %d machines; want 1, 1, 0, 1", d, i, a, m)
	}
	r.clock.Step(10 * time.Second)
	if d, i, a, m := look(); d != 2 || i != 1 || a != 1 || m != 1 {
		t.Errorf("between request and launch: desired %d, %d instances, %d activities, %d machines; want 2, 1, 1, 1", d, i, a, m)
	}
	remove()
	if d, i, a, m := look(); d != 2 || i != 2 || a != 1 || m != 2 {
		t.Errorf("now: desired %d, %d instances, %d activities, %d machines; want 2, 2, 1, 2", d, i, a, m)
	}
}

func TestAGateHoldsARequestOnEitherSideOfItsEffect(t *testing.T) {
	for name, tc := range map[string]struct {
		side awstest.Side
		held int // desired while the request is held
	}{"before": {awstest.BeforeEffect, 1}, "after": {awstest.AfterEffect, 2}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.mustAdd(t, workers(1))
			gate := awstest.NewGate(tc.side)
			r.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: gate})
			answered := make(chan error, 1)
			go func() { answered <- r.setDesired(t, "workers", 2) }()
			<-gate.Arrived()
			if got := r.desired(t); got != tc.held {
				t.Errorf("desired %d while held, want %d", got, tc.held)
			}
			if r.Calls()[0].Done {
				t.Error("the held request is logged as done")
			}
			gate.Release()
			gate.Release()
			if err := <-answered; err != nil {
				t.Errorf("after release: %v", err)
			}
			if got := r.desired(t); got != 2 {
				t.Errorf("desired %d after release, want 2", got)
			}
		})
	}
}

func TestAClientThatDiesAtTheGateLeavesTheEffectOrNone(t *testing.T) {
	for name, tc := range map[string]struct {
		side awstest.Side
		want int
	}{"before": {awstest.BeforeEffect, 1}, "after": {awstest.AfterEffect, 2}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.mustAdd(t, workers(1))
			gate := awstest.NewGate(tc.side)
			r.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: gate})
			ctx, kill := context.WithCancel(t.Context())
			answered := make(chan error, 1)
			go func() {
				_, err := r.asg.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("workers"), DesiredCapacity: aws.Int32(2)})
				answered <- err
			}()
			<-gate.Arrived()
			kill()
			if err := <-answered; err == nil {
				t.Error("a killed client got an answer")
			}
			for !r.Calls()[0].Done { // the server notices by itself that the client is gone
				runtime.Gosched()
			}
			if got := r.desired(t); got != tc.want {
				t.Errorf("desired %d, want %d", got, tc.want)
			}
			if c := r.Calls()[0]; !c.Done || !c.Dropped || c.Status != 0 || (c.Change != nil) != (tc.want == 2) {
				t.Errorf("logged as %+v", c)
			}
		})
	}
}

func TestADelayLastsAsLongAsTheClockSays(t *testing.T) {
	r := newRig(t)
	r.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Delay{For: time.Minute}})
	answered := make(chan error, 1)
	go func() {
		_, err := r.asg.DescribeAutoScalingGroups(t.Context(), nil)
		answered <- err
	}()
	for !r.clock.HasWaiters() {
		select {
		case err := <-answered:
			t.Fatalf("answered before the delay: %v", err)
		default:
			runtime.Gosched()
		}
	}
	r.clock.Step(time.Minute)
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestTheAnswerCarriesTheServersTime(t *testing.T) {
	r := newRig(t)
	out := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(), nil))
	if got, ok := middleware.GetServerTime(out.ResultMetadata); !ok || !got.Equal(eightOClock) {
		t.Errorf("server time %v, want %v", got, eightOClock)
	}
	if id, ok := middleware.GetRequestIDMetadata(out.ResultMetadata); !ok || id != r.Calls()[0].RequestID {
		t.Errorf("request id %q, want %q", id, r.Calls()[0].RequestID)
	}
}

func TestTokensExpire(t *testing.T) {
	r := newRig(t, func(c *awstest.Config) { c.TokenLifetime = time.Minute })
	other := workers(0)
	other.Name = "other"
	r.mustAdd(t, workers(0), other)
	first := must[*autoscaling.DescribeAutoScalingGroupsOutput](t)(r.asg.DescribeAutoScalingGroups(t.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{MaxRecords: aws.Int32(1)}))
	for _, tc := range []struct {
		after time.Duration
		want  bool
	}{{time.Minute, true}, {time.Minute + time.Second, false}} {
		r.clock.SetTime(eightOClock.Add(tc.after))
		_, err := r.asg.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{NextToken: first.NextToken})
		if (err == nil) != tc.want {
			t.Errorf("after %v: %v", tc.after, err)
		}
	}
}
