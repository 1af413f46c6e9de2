package asg_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

func TestSafeCut(t *testing.T) {
	live := func(count int, protected bool) []asg.Instance {
		var list []asg.Instance
		for i := range count {
			list = append(list, asg.Instance{ID: string(rune('a' + i)), Lifecycle: asg.InService, Protected: protected})
		}
		return list
	}
	heavy := asg.Launch{Overrides: []asg.Override{{Type: "a", Weight: 3}, {Type: "b", Weight: 4}}}
	tests := map[string]struct {
		group     asg.Group
		min       int
		machines  int
		keep      int
		launching int
		same      time.Duration // for how long the picture has been the same
		raised    time.Duration // how long ago
		want      int
		why       string
	}{
		"places that never came are withdrawn": {
			group: asg.Group{Desired: 8, Instances: live(6, false)}, machines: 2, same: 10 * time.Second, raised: time.Hour, want: 6,
		},
		"never more places than were given": {
			group: asg.Group{Desired: 8, Instances: live(6, false)}, machines: 1, same: 10 * time.Second, raised: time.Hour, want: 7,
		},
		"never below the machines that are there": {
			group: asg.Group{Desired: 8, Instances: live(7, false)}, machines: 5, same: 10 * time.Second, raised: time.Hour, want: 7,
		},
		"never below the minimum": {
			group: asg.Group{Desired: 8, Instances: live(2, false)}, min: 5, machines: 6, same: 10 * time.Second, raised: time.Hour, want: 5,
		},
		"never below the minimum once the machines to be ended by name are gone": {
			group: asg.Group{Desired: 8, Instances: live(2, false)}, min: 2, keep: 2, machines: 6, same: 10 * time.Second, raised: time.Hour, want: 4,
		},
		"at the minimum nothing is written": {
			group: asg.Group{Desired: 2, Instances: live(1, false)}, min: 2, machines: 1, same: time.Hour, raised: time.Hour, want: 2, why: "the minimum of the group",
		},
		"nothing missing, nothing written": {
			group: asg.Group{Desired: 3, Instances: live(3, false)}, machines: 1, same: time.Hour, raised: time.Hour, want: 3, why: "what its machines are worth",
		},
		"not while the picture moves": {
			group: asg.Group{Desired: 8, Instances: live(6, false)}, machines: 2, same: 9 * time.Second, raised: time.Hour, want: 8, why: "the same for 9s only",
		},
		"a picture that moves does no harm where AWS ends nothing because all are protected": {
			group: asg.Group{Desired: 8, Instances: live(6, true)}, machines: 2, raised: time.Hour, want: 6,
		},
		"nor where the process that ends machines is suspended": {
			group: asg.Group{Desired: 8, Instances: live(6, false), Suspended: []string{"Terminate"}}, machines: 2, raised: time.Hour, want: 6,
		},
		"an empty group isn't protected": {
			group: asg.Group{Desired: 1}, machines: 1, raised: time.Hour, want: 1, why: "the same for 0s only",
		},
		"not right after a raise": {
			group: asg.Group{Desired: 8, Instances: live(6, true)}, machines: 2, same: time.Hour, raised: 59 * time.Second, want: 8, why: "raised 59s ago",
		},
		"a minute after the raise it may be": {
			group: asg.Group{Desired: 8, Instances: live(6, false)}, machines: 2, same: time.Hour, raised: time.Minute, want: 6,
		},
		"not while launches of the raise are under way": {
			group: asg.Group{Desired: 8, Instances: live(6, false)}, machines: 2, launching: 1, same: time.Hour, raised: 14 * time.Minute, want: 8, why: "1 launches are under way",
		},
		"launches that hang keep their place and no other": {
			group: asg.Group{Desired: 8, Instances: live(4, false)}, machines: 4, launching: 1, same: time.Hour, raised: 15 * time.Minute, want: 5,
		},
		"weights: places are worth the first type, launches the heaviest": {
			group: asg.Group{Desired: 30, Launch: heavy, Instances: live(2, false)}, machines: 4, launching: 2, same: time.Hour, raised: time.Hour, want: 18,
		},
		"weights: floor in units": {
			group:    asg.Group{Desired: 11, Launch: heavy, Instances: []asg.Instance{{ID: "x", Weight: 4, Lifecycle: asg.InService}, {ID: "y", Weight: 4, Lifecycle: asg.InService}}},
			machines: 2, same: time.Hour, raised: time.Hour, want: 8,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sizes, err := test.group.Measure(test.min, 100, func(string) (int, bool) { return 0, false })
			if err != nil {
				t.Fatal(err)
			}
			picture := asg.PictureOf(test.group, nil, time.Time{})
			picture.Launching = test.launching
			got := asg.Cut{
				Group: test.group, Sizes: sizes, Picture: picture, Machines: test.machines, KeepUnits: test.keep,
				SameFor: test.same, RaisedFor: test.raised,
			}.Decide()
			if got.Desired != test.want || (got.Why == "") != (test.why == "") || !strings.Contains(got.Why, test.why) {
				t.Errorf("decision %+v, want %d because %q", got, test.want, test.why)
			}
		})
	}
}

func TestAPictureChangesWithTheMachinesNotWithTheirOrder(t *testing.T) {
	a, b := asg.Instance{ID: "i-1", Lifecycle: asg.InService}, asg.Instance{ID: "i-2", Lifecycle: "Pending"}
	first := asg.PictureOf(asg.Group{Instances: []asg.Instance{a, b}}, nil, time.Time{})
	if !first.Equal(asg.PictureOf(asg.Group{Instances: []asg.Instance{b, a}}, nil, time.Time{})) {
		t.Error("another order is another picture")
	}
	gone := asg.Instance{ID: "i-2", Lifecycle: asg.Terminating}
	if first.Equal(asg.PictureOf(asg.Group{Instances: []asg.Instance{a, gone}}, nil, time.Time{})) {
		t.Error("a machine that ends is the same picture")
	}
	launch := []asg.Activity{{Description: "Launching a new EC2 instance", Status: "InProgress"}}
	if first.Equal(asg.PictureOf(asg.Group{Instances: []asg.Instance{a, b}}, launch, time.Time{})) {
		t.Error("a launch under way is the same picture")
	}
}

func TestOnlyInstancesInServiceCanBeProtected(t *testing.T) {
	group := asg.Group{Instances: []asg.Instance{
		{ID: "i-1", Lifecycle: asg.InService}, {ID: "i-2", Lifecycle: asg.InService, Protected: true}, {ID: "i-3", Lifecycle: asg.Terminating},
		{ID: "i-4", Lifecycle: "Pending:Wait"},
	}}
	if diff := cmp.Diff([]string{"i-1"}, group.Unprotected()); diff != "" {
		t.Errorf("unprotected (-want +got):\n%s", diff)
	}
}
