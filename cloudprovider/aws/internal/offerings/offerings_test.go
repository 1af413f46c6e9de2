package offerings_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/offerings"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

func TestAShortageConcernsItsTypeZoneAndMarketForAWhile(t *testing.T) {
	var table offerings.Table
	table.Fail(offerings.Offering{Type: "m5.large", Zone: "eu-west-1a"}, "InsufficientInstanceCapacity", asg.CauseCapacity, noon)
	table.Fail(offerings.Offering{Type: "c5.large", Zone: "eu-west-1a"}, "VcpuLimitExceeded", asg.CauseQuota, noon)
	table.Fail(offerings.Offering{Type: "r5.large", Zone: "eu-west-1a", Spot: true}, "SpotMaxPriceTooLow", asg.CausePrice, noon)
	for _, test := range []struct {
		offering offerings.Offering
		after    time.Duration
		want     string
	}{
		{offerings.Offering{Type: "m5.large", Zone: "eu-west-1a"}, 0, "on demand m5.large in eu-west-1a: InsufficientInstanceCapacity until 12:03:00"},
		{offerings.Offering{Type: "m5.large", Zone: "eu-west-1a"}, 3 * time.Minute, ""},
		{offerings.Offering{Type: "m5.large", Zone: "eu-west-1b"}, 0, ""},
		{offerings.Offering{Type: "m5.large", Zone: "eu-west-1a", Spot: true}, 0, ""},
		{offerings.Offering{Type: "c5.large", Zone: "eu-west-1b"}, 29 * time.Minute, "on demand c5.large in all zones: VcpuLimitExceeded until 12:30:00"},
		{offerings.Offering{Type: "r5.large", Zone: "eu-west-1a", Spot: true}, time.Minute, "Spot r5.large in eu-west-1a: SpotMaxPriceTooLow until 12:03:00"},
	} {
		got := ""
		if s, ok := table.Find(test.offering, noon.Add(test.after)); ok {
			got = s.String()
		}
		if got != test.want {
			t.Errorf("%+v after %v: %q, want %q", test.offering, test.after, got, test.want)
		}
	}
}

func TestWhatSaysNothingAboutOtherGroupsIsNotEntered(t *testing.T) {
	var table offerings.Table
	at := offerings.Offering{Type: "m5.large", Zone: "eu-west-1a"}
	for _, cause := range []asg.Cause{asg.CauseUnset, asg.CauseAddresses, asg.CauseConfiguration, asg.CauseOther} {
		table.Fail(at, "x", cause, noon)
	}
	table.Fail(offerings.Offering{Zone: "eu-west-1a"}, "x", asg.CauseCapacity, noon)
	if got := table.List(noon); len(got) != 0 {
		t.Errorf("table %v", got)
	}
}

func TestAMachineThatComesEndsTheShortage(t *testing.T) {
	var table offerings.Table
	for _, zone := range []string{"a", "b"} {
		table.Fail(offerings.Offering{Type: "m5.large", Zone: zone}, "x", asg.CauseCapacity, noon)
	}
	table.Came("m5.large", "b")
	want := []offerings.Shortage{{Offering: offerings.Offering{Type: "m5.large", Zone: "a"}, Until: noon.Add(3 * time.Minute), Code: "x"}}
	if diff := cmp.Diff(want, table.List(noon)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestTheTableIsBounded(t *testing.T) {
	var table offerings.Table
	for i := range 1500 {
		table.Fail(offerings.Offering{Type: fmt.Sprintf("t%d.large", i), Zone: "a"}, "x", asg.CauseCapacity, noon.Add(time.Duration(i)*time.Millisecond))
	}
	if got := table.List(noon.Add(1500 * time.Millisecond)); len(got) != 1000 {
		t.Errorf("%d shortages", len(got))
	}
	if _, ok := table.Find(offerings.Offering{Type: "t1499.large", Zone: "a"}, noon.Add(time.Minute)); !ok {
		t.Error("the newest is gone")
	}
}
