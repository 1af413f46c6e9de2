package asg_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

func TestFailureOfALaunchIsReadFromTheText(t *testing.T) {
	const short, other = cloudprovider.ErrorClassOutOfResources, cloudprovider.ErrorClassOther
	tests := map[string]struct {
		message string
		code    string
		class   cloudprovider.ErrorClass
	}{
		"no capacity in the zone": {
			"We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a).", "InsufficientInstanceCapacity", short,
		},
		"no capacity, by code":       {"Launching EC2 instance failed: InsufficientInstanceCapacity", "InsufficientInstanceCapacity", short},
		"no Spot capacity":           {"There is no Spot capacity available that matches your request.", "InsufficientInstanceCapacity", short},
		"unfulfillable":              {"UnfulfillableCapacity - Unable to fulfill capacity", "InsufficientInstanceCapacity", short},
		"Spot launch failed":         {"Could not launch Spot Instances. InvalidSpotX", "InsufficientInstanceCapacity", short},
		"Spot count":                 {"Max spot instance count exceeded", "MaxSpotInstanceCountExceeded", short},
		"Spot count, by code":        {"MaxSpotInstanceCountExceeded: x", "MaxSpotInstanceCountExceeded", short},
		"vCPU limit":                 {"You have requested more vCPU capacity than your current vCPU limit of 32 allows", "VcpuLimitExceeded", short},
		"vCPU limit, by code":        {"VcpuLimitExceeded", "VcpuLimitExceeded", short},
		"instance limit":             {"Your quota allows for 0 more running instance(s); your instance limit", "InstanceLimitExceeded", short},
		"subnet is full":             {"There are not enough free addresses in subnet 'subnet-1' to satisfy the request", "InsufficientFreeAddressesInSubnet", short},
		"Spot price":                 {"Your Spot request price of 0.01 is lower than the minimum required Spot request fulfillment price of 0.02.", "SpotMaxPriceTooLow", short},
		"reservation":                {"ReservationCapacityExceeded", "ReservationCapacityExceeded", short},
		"fleet count":                {"MaxFleetCountExceeded", "MaxFleetCountExceeded", short},
		"outpost":                    {"InsufficientCapacityOnOutpost", "InsufficientCapacityOnOutpost", short},
		"volumes":                    {"VolumeLimitExceeded", "VolumeLimitExceeded", short},
		"iops":                       {"MaxIOPSLimitExceeded", "MaxIOPSLimitExceeded", short},
		"type not in zone":           {"Your requested instance type (x) is not supported in your requested Availability Zone (z).", "Unsupported", short},
		"unsupported":                {"Unsupported: the AMI and the type", "Unsupported", short},
		"placement group":            {"You've reached the limit on the number of instances in a spread placement group", "PlacementGroupLimit", short},
		"deleted template":           {"The specified launch template, with template ID lt-1, does not exist.", "InvalidConfiguration", other},
		"deleted image":              {"The image id '[ami-1]' does not exist (Service: AmazonEC2; Error Code: InvalidAMIID.NotFound)", "InvalidAMIID.NotFound", other},
		"parameter":                  {"Invalid value for parameter (InvalidParameterValue)", "InvalidParameterValue", other},
		"key":                        {"Instance became unhealthy. Client.InternalError: Client error on launch", "InvalidConfiguration", other},
		"not allowed":                {"You are not authorized to perform this operation.", "UnauthorizedOperation", other},
		"Spot role":                  {"AuthFailure.ServiceLinkedRoleCreationNotPermitted: x", "AuthFailure.ServiceLinkedRoleCreationNotPermitted", other},
		"hook abandoned":             {"Lifecycle action was abandoned", "LaunchAbandoned", other},
		"something new":              {"The moon is in the wrong phase", "LaunchFailed", other},
		"nothing":                    {"", "LaunchFailed", other},
		"capacity, in a longer text": {"x; We currently do NOT have SUFFICIENT p4d.24xlarge CAPACITY ...", "InsufficientInstanceCapacity", short},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := asg.Activity{Status: asg.StatusFailed, Message: test.message}.Failure()
			if got == nil || got.Code != test.code || got.Class != test.class {
				t.Errorf("failure %+v, want %s of class %s", got, test.code, test.class)
			}
		})
	}
}

func TestFailureCarriesZoneAndACutText(t *testing.T) {
	a := asg.Activity{
		Status: asg.StatusFailed, Message: "InsufficientInstanceCapacity " + strings.Repeat("é", 500),
		Details: `{"Subnet ID":"subnet-1","Availability Zone":"eu-west-1b"}`,
	}
	got := a.Failure()
	if !strings.HasPrefix(got.Message, "InsufficientInstanceCapacity: eu-west-1b (capacity): Insuff") {
		t.Errorf("message starts %q", got.Message[:70])
	}
	if len(got.Message) > 500 || !strings.HasSuffix(got.Message, "…") || !utf8.ValidString(got.Message) {
		t.Errorf("message is %d bytes, valid %v", len(got.Message), utf8.ValidString(got.Message))
	}
}

func TestWhatIsNoFailure(t *testing.T) {
	for name, a := range map[string]asg.Activity{
		"success":                {Status: asg.StatusSuccessful},
		"still running":          {Status: "InProgress", Message: "InsufficientInstanceCapacity"},
		"AWS throttles itself":   {Status: asg.StatusFailed, Message: "RequestLimitExceeded: Request limit exceeded."},
		"waiting for a Spot bid": {Status: "WaitingForSpotInstanceId"},
	} {
		if got := a.Failure(); got != nil {
			t.Errorf("%s: failure %+v", name, got)
		}
	}
	if got := (asg.Activity{Status: asg.StatusCancelled}).Failure(); got == nil || got.Code != "LaunchFailed" {
		t.Errorf("a cancelled launch: %+v", got)
	}
}

func TestLaunchesUnderWay(t *testing.T) {
	group := asg.Group{Instances: []asg.Instance{{ID: "i-1", Lifecycle: "Pending"}}}
	activities := []asg.Activity{
		{Description: "Launching a new EC2 instance", Status: "InProgress"},                                                                      // counts
		{Description: "Launching a new EC2 instance: i-1", Status: "PreInService"},                                                               // listed
		{Description: "Launching a new EC2 instance: i-2", Status: "InProgress"},                                                                 // counts
		{Description: "Launching a new EC2 instance: i-3", Status: "Successful"},                                                                 // over
		{Description: "Terminating EC2 instance: i-4", Status: "InProgress"},                                                                     // no launch
		{Description: "launching a new ec2 instance.  Status Reason: none", Status: "WaitingForSpotInstanceId"},                                  // counts
		{Description: "Launching a new EC2 instance.  Status Reason: The image id '[ami-1]' does not exist: i am no instance", Status: "Failed"}, // over
	}
	if got := asg.Launching(activities, group, time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)); got != 3 {
		t.Errorf("%d launches under way, want 3", got)
	}
	ids := make([]string, 0, len(activities))
	for _, a := range activities {
		ids = append(ids, a.InstanceID())
	}
	if diff := cmp.Diff([]string{"", "i-1", "i-2", "i-3", "i-4", "", ""}, ids); diff != "" {
		t.Errorf("instance ids (-want +got):\n%s", diff)
	}
}

func TestAMachineThatIsNotListedYetCountsAsUnderWay(t *testing.T) {
	now := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
	launch := func(id string, age time.Duration) asg.Activity {
		return asg.Activity{Description: "Launching a new EC2 instance: " + id, Status: asg.StatusSuccessful, Start: now.Add(-age - time.Minute), End: now.Add(-age)}
	}
	end := asg.Activity{Description: "Terminating EC2 instance: i-2", Status: "InProgress", Start: now}
	group := asg.Group{Instances: []asg.Instance{{ID: "i-1", Lifecycle: asg.InService}}}
	for name, test := range map[string]struct {
		activities []asg.Activity
		want       int
	}{
		"listed already":                    {[]asg.Activity{launch("i-1", 0)}, 0},
		"not listed yet":                    {[]asg.Activity{launch("i-2", 4*time.Minute)}, 1},
		"told to end since":                 {[]asg.Activity{end, launch("i-2", time.Minute)}, 0},
		"long ago: it was and is no longer": {[]asg.Activity{launch("i-2", 5*time.Minute)}, 0},
	} {
		if got := asg.Launching(test.activities, group, now); got != test.want {
			t.Errorf("%s: %d launches under way, want %d", name, got, test.want)
		}
	}
}
