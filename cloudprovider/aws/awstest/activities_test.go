package awstest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// activities asks for the activities of "workers".
func (r *rig) activities(t *testing.T, filters ...types.Filter) []types.Activity {
	t.Helper()
	out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(),
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers"), Filters: filters}))
	return out.Activities
}

func TestALaunchIsAnActivityFromTheRequestToTheEnd(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.mustSetDesired(t, 1)
	type look struct {
		Status      types.ScalingActivityStatusCode
		Description string
		Progress    int32
		End         time.Time
	}
	see := func() look {
		t.Helper()
		all := r.activities(t)
		if len(all) != 1 {
			t.Fatalf("%d activities, want 1", len(all))
		}
		a := all[0]
		if !a.StartTime.Equal(eightOClock) || !strings.Contains(aws.ToString(a.Cause), "increasing the capacity from 0 to 1") {
			t.Errorf("started %v because %q", a.StartTime, aws.ToString(a.Cause))
		}
		return look{a.StatusCode, aws.ToString(a.Description), aws.ToInt32(a.Progress), aws.ToTime(a.EndTime)}
	}
	if diff := cmp.Diff(look{types.ScalingActivityStatusCodeInProgress, "Launching a new EC2 instance", 30, time.Time{}}, see()); diff != "" {
		t.Errorf("before the instance (-want +got):\n%s", diff)
	}
	r.clock.Step(10 * time.Second)
	id := r.ids("workers")[0]
	if diff := cmp.Diff(look{types.ScalingActivityStatusCodeInProgress, "Launching a new EC2 instance: " + id, 50, time.Time{}}, see()); diff != "" {
		t.Errorf("while it boots (-want +got):\n%s", diff)
	}
	r.clock.Step(time.Minute)
	if diff := cmp.Diff(look{types.ScalingActivityStatusCodeSuccessful, "Launching a new EC2 instance: " + id, 100, eightOClock.Add(70 * time.Second)}, see()); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

func TestLaunchesFailWhenTheStockIsOutAndGoOnWhenItIsBack(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.SetStock(awstest.StockRule{Group: "workers", Left: 1})
	r.mustSetDesired(t, 3)
	r.clock.Step(10 * time.Second)
	if got := len(r.ids("workers")); got != 1 {
		t.Fatalf("%d instances from a stock of 1", got)
	}
	failed := r.activities(t, types.Filter{Name: aws.String("Status"), Values: []string{"Failed"}})
	if len(failed) != 2 {
		t.Fatalf("%d failed activities, want 2", len(failed))
	}
	message := aws.ToString(failed[0].StatusMessage)
	if !strings.HasPrefix(message, "We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a).") ||
		aws.ToString(failed[0].Details) != `{"Availability Zone":"us-east-1a","Subnet ID":"subnet-us-east-1a"}` {
		t.Errorf("message %q, details %q", message, aws.ToString(failed[0].Details))
	}
	r.SetStock(awstest.StockRule{Group: "workers", Left: awstest.Unlimited})
	r.clock.Step(29 * time.Second)
	if got := len(r.ids("workers")); got != 1 {
		t.Errorf("%d instances before the service tries again", got)
	}
	r.clock.Step(11 * time.Second)
	if got := len(r.ids("workers")); got != 3 {
		t.Errorf("%d instances after it tried again, want 3", got)
	}
}

func TestARaiseIsTriedAtOnceAfterAFailure(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Timing.Retry = time.Hour
	r.mustAdd(t, g)
	r.SetStock(awstest.StockRule{Group: "workers", Left: 0})
	r.mustSetDesired(t, 1)
	r.clock.Step(10 * time.Second)
	r.SetStock(awstest.StockRule{Group: "workers", Left: awstest.Unlimited})
	r.mustSetDesired(t, 2)
	r.clock.Step(10 * time.Second)
	if got := len(r.ids("workers")); got != 2 {
		t.Errorf("%d instances, want 2", got)
	}
}

func TestAnEmptyZoneFailsInItsOwnActivityAndTheNextOneHelps(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Zones = []string{zoneA, zoneB}
	r.mustAdd(t, g)
	r.SetStock(awstest.StockRule{Zone: zoneA, Left: 0})
	r.mustSetDesired(t, 1)
	r.clock.Step(10 * time.Second)
	var got []string
	for _, a := range r.activities(t) {
		got = append(got, string(a.StatusCode)+" "+aws.ToString(a.Details))
	}
	want := []string{
		`InProgress {"Availability Zone":"us-east-1b","Subnet ID":"subnet-us-east-1b"}`,
		`Failed {"Availability Zone":"us-east-1a","Subnet ID":"subnet-us-east-1a"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("activities, newest first (-want +got):\n%s", diff)
	}
}

func TestTheReasonOfAFailedLaunchIsInItsMessage(t *testing.T) {
	for reason, want := range map[awstest.LaunchFailure]string{
		"":                                        "There is no Spot capacity available that matches your request.",
		awstest.UnfulfillableCapacity:             "UnfulfillableCapacity",
		awstest.MaxSpotInstanceCountExceeded:      "Max spot instance count exceeded",
		awstest.SpotMaxPriceTooLow:                "is lower than the minimum required Spot request",
		awstest.VcpuLimitExceeded:                 "more vCPU capacity than your current vCPU limit",
		awstest.InstanceLimitExceeded:             "instance limit",
		awstest.InsufficientFreeAddressesInSubnet: "not enough free addresses in subnet 'subnet-us-east-1a'",
		awstest.UnsupportedInZone:                 "is not supported in your requested Availability Zone (us-east-1a)",
		awstest.ImageGone:                         "The image id '[ami-1]' does not exist",
		awstest.ServiceLinkedRoleMissing:          "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
		awstest.LifecycleHookAbandoned:            "was abandoned",
		"words of the test":                       "words of the test",
	} {
		t.Run(string(reason), func(t *testing.T) {
			r := newRig(t)
			r.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-1", Spot: true}}})
			r.mustAdd(t, workers(0))
			r.SetStock(awstest.StockRule{Market: awstest.Spot, Left: 0, Reason: reason})
			r.mustSetDesired(t, 1)
			r.clock.Step(10 * time.Second)
			if got := aws.ToString(r.activities(t)[0].StatusMessage); !strings.Contains(got, want) {
				t.Errorf("message %q, want one with %q", got, want)
			}
		})
	}
}

func TestActivitiesComeNewestFirstInPagesAndByTime(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Max, g.Timing = 300, awstest.Timing{}
	r.mustAdd(t, g)
	for n := range 25 {
		r.mustSetDesired(t, int32((n+1)*5))
		r.clock.Step(time.Second)
	}
	var causes []string
	var starts []time.Time
	ids := map[string]bool{}
	var sizes []int
	pages := autoscaling.NewDescribeScalingActivitiesPaginator(r.asg, &autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers")})
	for pages.HasMorePages() {
		out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(pages.NextPage(t.Context()))
		sizes = append(sizes, len(out.Activities))
		for _, a := range out.Activities {
			starts = append(starts, *a.StartTime)
			causes = append(causes, *a.Cause)
			ids[*a.ActivityId] = true
		}
	}
	if diff := cmp.Diff([]int{100, 25}, sizes); diff != "" || len(ids) != 125 {
		t.Errorf("%d different activities, page sizes (-want +got):\n%s", len(ids), diff)
	}
	for i := 1; i < len(starts); i++ {
		if starts[i].After(starts[i-1]) {
			t.Fatalf("activity %d started at %v, behind one of %v", i, starts[i], starts[i-1])
		}
	}
	for i, cause := range causes { // also those of one moment
		if want := fmt.Sprintf("from %d to %d.", 124-i, 125-i); !strings.Contains(cause, want) {
			t.Fatalf("activity %d was caused by %q, want one with %q", i, cause, want)
		}
	}
	recent := r.activities(t, types.Filter{Name: aws.String("StartTimeLowerBound"), Values: []string{"2026-08-03T08:00:23Z"}})
	if len(recent) != 10 {
		t.Errorf("%d activities since the lower bound, want 10", len(recent))
	}
	old := r.activities(t, types.Filter{Name: aws.String("StartTimeUpperBound"), Values: []string{"2026-08-03T10:00:00+02:00"}})
	if len(old) != 5 {
		t.Errorf("%d activities until the upper bound, want 5", len(old))
	}
	r.clock.Step(6*7*24*time.Hour - 10*time.Second)
	if got := len(r.activities(t)); got >= 100 {
		t.Errorf("%d activities after six weeks", got)
	}
}

func TestActivityRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	for name, in := range map[string]*autoscaling.DescribeScalingActivitiesInput{
		"a status without a group": {Filters: []types.Filter{{Name: aws.String("Status"), Values: []string{"Failed"}}}},
		"an unknown filter":        {Filters: []types.Filter{{Name: aws.String("Colour"), Values: []string{"red"}}}},
		"a time that is none":      {Filters: []types.Filter{{Name: aws.String("StartTimeLowerBound"), Values: []string{"yesterday"}}}},
		"a group that isn't there": {AutoScalingGroupName: aws.String("nobody")},
		"too large a page":         {MaxRecords: aws.Int32(101)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.asg.DescribeScalingActivities(t.Context(), in)
			wantCode(t, err, 400, "ValidationError")
		})
	}
}

func TestActivitiesOfADeletedGroupAreToldOnDemand(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.mustSetDesired(t, 1)
	if err := r.RemoveGroup("workers"); err != nil {
		t.Fatal(err)
	}
	out := must[*autoscaling.DescribeScalingActivitiesOutput](t)(r.asg.DescribeScalingActivities(t.Context(),
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("workers"), IncludeDeletedGroups: aws.Bool(true)}))
	if len(out.Activities) != 1 || aws.ToString(out.Activities[0].AutoScalingGroupState) != "Deleted" || out.Activities[0].StatusCode != types.ScalingActivityStatusCodeCancelled {
		t.Errorf("activities %+v", out.Activities)
	}
}

func TestEndingAPendingInstanceCancelsItsLaunch(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(0))
	r.mustSetDesired(t, 1)
	r.clock.Step(10 * time.Second)
	must[*autoscaling.TerminateInstanceInAutoScalingGroupOutput](t)(r.terminate(t, true, r.ids("workers")[0]))
	var got []types.ScalingActivityStatusCode
	for _, a := range r.activities(t) {
		got = append(got, a.StatusCode)
	}
	want := []types.ScalingActivityStatusCode{types.ScalingActivityStatusCodeInProgress, types.ScalingActivityStatusCodeCancelled}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the end and the launch (-want +got):\n%s", diff)
	}
}
