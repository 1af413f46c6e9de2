package aws_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// newWatchedRig is a rig whose provider lives by the fake clock: it looks at groups by itself when the test moves the time.
func newWatchedRig(t *testing.T, options aws.Options, groups ...awstest.Group) *rig {
	t.Helper()
	server, clock := newStandIn(t)
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	for _, group := range groups {
		r.add(group)
	}
	options.Clock = prompt{clock}
	r.provider = r.connect(options)
	r.refresh()
	return r
}

// prompt is a fake clock whose timers fire at once when their time has come already, as real ones do.
type prompt struct{ *clocktesting.FakeClock }

// NewTimer returns a timer of this clock.
func (p prompt) NewTimer(d time.Duration) clock.Timer {
	timer := p.FakeClock.NewTimer(d)
	if d <= 0 {
		p.Step(0)
	}
	return timer
}

// quiet waits until the provider has done all that is due, and waits for the time to pass. There must be a group that it watches.
func (r *rig) quiet() {
	r.t.Helper()
	for !r.clock.HasWaiters() {
		if r.t.Context().Err() != nil {
			r.t.Fatal("the provider doesn't watch")
		}
		runtime.Gosched()
	}
}

// pass moves the time in steps of a second, like a loop that never refreshes would see it.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	for range int(d / time.Second) {
		r.quiet()
		r.clock.Step(time.Second)
	}
	r.quiet()
}

// woken tells whether the loop was woken since the last call.
func (r *rig) woken() bool {
	select {
	case <-r.provider.Changed():
		return true
	default:
		return false
	}
}

// at lists when requests of an action came, in seconds after a moment.
func (r *rig) at(action string, since time.Time) []int {
	var seconds []int
	for _, call := range r.server.Calls() {
		if call.Action == action {
			seconds = append(seconds, int(call.Time.Sub(since)/time.Second))
		}
	}
	return seconds
}

func (r *rig) buy(name string, by int) {
	r.t.Helper()
	if _, err := r.group(name).IncreaseSize(r.ctx(), by); err != nil {
		r.t.Fatal(err)
	}
}

func TestAfterAWriteTheProviderLooksByItself(t *testing.T) {
	r := newWatchedRig(t, aws.Options{Nodes: []string{"0:9:a", "0:9:b"}},
		awstest.Group{Name: "a", Max: 9, Timing: awstest.Timing{Request: 32 * time.Second, Launch: time.Second}}, awstest.Group{Name: "b", Max: 9})
	r.server.ForgetCalls()
	start := r.clock.Now()
	r.buy("a", 2)
	r.pass(34 * time.Second)
	r.woken()
	r.clock.Step(time.Second)
	<-r.provider.Changed() // and from then on there is nothing to watch
	if diff := cmp.Diff([]int{5, 15, 25}, r.at("DescribeScalingActivities", start)); diff != "" {
		t.Errorf("asked for activities after so many seconds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{5, 15, 25, 35}, r.at("DescribeAutoScalingGroups", start)); diff != "" {
		t.Errorf("described the group after so many seconds (-want +got):\n%s", diff)
	}
	if got := shape(r.state("a")); got != "running running" {
		t.Errorf("instances %s", got)
	}
}

func TestAFailedLaunchWakesTheLoopWithinSecondsAndSaysWhatFailedWhere(t *testing.T) {
	const a, b = "eu-west-1a", "eu-west-1b"
	tests := map[string]struct {
		zones  []string
		reason awstest.LaunchFailure
		within time.Duration
		class  cloudprovider.ErrorClass
		want   string // start of the message
		typ    string
		until  time.Duration // after the failure
	}{
		"no capacity": {
			zones: []string{a}, within: 10 * time.Second, class: cloudprovider.ErrorClassOutOfResources, typ: "m5.large",
			want: "InsufficientInstanceCapacity: eu-west-1a m5.large (capacity): We currently do not have sufficient m5.large capacity",
		},
		"no capacity in either zone": {
			zones: []string{a, b}, within: 18 * time.Second, class: cloudprovider.ErrorClassOutOfResources, typ: "m5.large",
			want: "InsufficientInstanceCapacity: eu-west-1",
		},
		"a quota": {
			zones: []string{a}, reason: awstest.VcpuLimitExceeded, within: 10 * time.Second, class: cloudprovider.ErrorClassOutOfResources,
			want: "VcpuLimitExceeded: eu-west-1a (quota): You have requested more vCPU capacity", until: 30 * time.Minute,
		},
		"the Spot price": {
			zones: []string{a}, reason: awstest.SpotMaxPriceTooLow, within: 10 * time.Second, class: cloudprovider.ErrorClassOutOfResources,
			want: "SpotMaxPriceTooLow: eu-west-1a (Spot price): ",
		},
		"addresses": {
			zones: []string{a}, reason: awstest.InsufficientFreeAddressesInSubnet, within: 10 * time.Second, class: cloudprovider.ErrorClassOutOfResources,
			want: "InsufficientFreeAddressesInSubnet: eu-west-1a (addresses): ", until: 10 * time.Minute,
		},
		"the configuration": {
			zones: []string{a}, reason: awstest.ImageGone, within: 10 * time.Second, class: cloudprovider.ErrorClassOther,
			want: "InvalidConfiguration: eu-west-1a (configuration): The image id", until: 30 * time.Minute,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newWatchedRig(t, aws.Options{Nodes: []string{"0:9:g"}},
				awstest.Group{Name: "g", Max: 9, Zones: test.zones, Timing: awstest.Timing{Request: 7 * time.Second, Retry: 5 * time.Minute}})
			for _, zone := range test.zones {
				r.server.SetStock(awstest.StockRule{Zone: zone, Left: 0, Reason: test.reason})
			}
			r.buy("g", 1)
			r.pass(7 * time.Second)
			failed := r.clock.Now()
			for !r.woken() {
				r.pass(time.Second)
				if r.clock.Now().Sub(failed) > time.Minute {
					t.Fatal("the loop is not woken")
				}
			}
			if took := r.clock.Now().Sub(failed); took > test.within {
				t.Errorf("woken %v after the failure", took)
			}
			instance := r.state("g").Instances[0]
			if instance.Error == nil || instance.Error.Class != test.class || !strings.HasPrefix(instance.Error.Message, test.want) {
				t.Fatalf("error %+v", instance.Error)
			}
			if !slices.Contains(test.zones, instance.Zone) || instance.Type != test.typ || instance.State != cloudprovider.InstanceCreating {
				t.Errorf("instance %+v", instance)
			}
			until := time.Time{}
			if test.until > 0 {
				until = failed.Add(test.until)
			}
			if !instance.Error.Until.Equal(until) {
				t.Errorf("until %v, want %v", instance.Error.Until, until)
			}
		})
	}
}

func TestAFailedLaunchIsToldOnce(t *testing.T) {
	r := newWatchedRig(t, aws.Options{Nodes: []string{"0:9:g"}},
		awstest.Group{Name: "g", Max: 9, Timing: awstest.Timing{Request: time.Second, Retry: time.Hour}})
	r.server.SetStock(awstest.StockRule{Left: 0})
	r.provider.Notices()
	r.buy("g", 3)
	r.pass(time.Minute)
	var told []string
	for _, n := range r.provider.Notices() {
		told = append(told, fmt.Sprintf("%s %s %.40s", n.Reason, n.Group, n.Message))
	}
	if diff := cmp.Diff([]string{"AWSLaunchFailed g a machine failed to launch: Insufficient"}, told); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if got := shape(r.state("g")); strings.Count(got, "!InsufficientInstanceCapacity") != 3 {
		t.Errorf("instances %s", got)
	}
}

func TestManyGroupsAreServedInTurnWithinTheMinutesRequests(t *testing.T) {
	var groups []awstest.Group
	var flags []string
	for i := range 40 {
		name := fmt.Sprintf("g-%02d", i)
		groups = append(groups, awstest.Group{Name: name, Max: 9, Timing: awstest.Timing{Request: time.Hour}})
		flags = append(flags, "0:9:"+name)
	}
	r := newWatchedRig(t, aws.Options{Nodes: flags}, groups...)
	for _, group := range groups {
		r.buy(group.Name, 1)
	}
	r.server.ForgetCalls()
	for range 5 {
		start := r.clock.Now()
		for range 6 {
			r.pass(10 * time.Second)
			r.refresh()
		}
		reads := 0
		for _, call := range r.server.Calls() {
			if !call.Write && call.Service == awstest.AutoScaling && call.Time.After(start) {
				reads++
			}
		}
		if reads > 30 || reads < 20 {
			t.Errorf("%d reads in a minute", reads)
		}
	}
	asked := map[string]int{}
	for _, call := range r.server.Calls() {
		if call.Action == "DescribeScalingActivities" {
			asked[call.Params.Get("AutoScalingGroupName")]++
		}
	}
	least, most := 1000, 0
	for _, group := range groups {
		least, most = min(least, asked[group.Name]), max(most, asked[group.Name])
	}
	if least < 1 || most > least+1 {
		t.Errorf("groups were asked about from %d to %d times", least, most)
	}
}

func TestAGroupThatStaysShortIsLookedAtMoreSeldom(t *testing.T) {
	r := newWatchedRig(t, aws.Options{Nodes: []string{"0:9:g"}}, awstest.Group{Name: "g", Max: 9, Timing: awstest.Timing{Request: 5 * time.Hour}})
	r.buy("g", 1)
	r.pass(20 * time.Minute)
	start := r.clock.Now()
	r.server.ForgetCalls()
	r.pass(5 * time.Minute)
	if got := len(r.at("DescribeScalingActivities", start)); got != 10 {
		t.Errorf("asked for activities %d times in five minutes", got)
	}
}

func TestTheWatchEndsWithTheProvider(t *testing.T) {
	r := newWatchedRig(t, aws.Options{Nodes: []string{"0:9:g"}}, awstest.Group{Name: "g", Max: 9, Timing: awstest.Timing{Request: time.Hour}})
	r.buy("g", 1)
	r.quiet()
	if err := r.provider.Cleanup(context.WithoutCancel(r.ctx())); err != nil {
		t.Fatal(err)
	}
	r.server.ForgetCalls()
	r.clock.Step(time.Minute)
	if got := len(r.server.Calls()); got != 0 {
		t.Errorf("%d requests after the end", got)
	}
}

// What one group has met is true for all that ask for the same machines in the same zone.
func TestAFailureOfOneGroupTellsOfAShortageInOthers(t *testing.T) {
	mixed := func(name string, types ...string) awstest.Group {
		policy := &awstest.MixedInstances{LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}}
		for _, typ := range types {
			policy.Overrides = append(policy.Overrides, awstest.Override{InstanceType: typ})
		}
		return awstest.Group{Name: name, Max: 9, Zones: []string{"eu-west-1a", "eu-west-1b"}, MixedInstances: policy}
	}
	r := newWatchedRig(t, aws.Options{Nodes: []string{"0:9:a", "0:9:b", "0:9:c"}},
		awstest.Group{Name: "a", Max: 9, Timing: awstest.Timing{Request: time.Second, Retry: time.Hour}}, mixed("b", "m5.large", "m5.xlarge"), mixed("c", "m5.xlarge"))
	r.server.SetStock(awstest.StockRule{Zone: "eu-west-1a", Left: 0})
	r.buy("a", 1)
	r.pass(5 * time.Second)
	want := []cloudprovider.Shortage{{Zone: "eu-west-1a", Type: "m5.large", Until: r.clock.Now().Add(3 * time.Minute), Code: "InsufficientInstanceCapacity"}}
	if diff := cmp.Diff(want, r.state("b").Shortages); diff != "" {
		t.Errorf("shortages (-want +got):\n%s", diff)
	}
	if got := r.state("c").Shortages; len(got) != 0 {
		t.Errorf("shortages of other machines: %v", got)
	}
}
