package aws_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// slowly is a group whose machines take their time, so that places stay open.
func slowly() awstest.Timing {
	return awstest.Timing{Request: 20 * time.Second, Launch: 40 * time.Second, Terminate: time.Minute}
}

func TestRaisingAGroup(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:6:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 3, Timing: slowly()})
	r.refresh()
	r.server.ForgetCalls()
	granted, err := r.group("a").IncreaseSize(r.ctx(), 2)
	if granted != 2 || err != nil {
		t.Fatalf("granted %d, %v", granted, err)
	}
	if diff := cmp.Diff([]string{"SetDesired(a,5)"}, r.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if got := r.server.Writes()[0].Params.Get("HonorCooldown"); got != "false" {
		t.Errorf("HonorCooldown is %q", got)
	}
	state := r.state("a")
	if state.Target != 5 || shape(state) != "running running running place-0 place-1" {
		t.Errorf("target %d, instances %s", state.Target, shape(state))
	}
	for _, i := range state.Instances[3:] {
		if !i.RequestedAt.Equal(eight) || !i.Placeholder || i.Error != nil || i.State.String() != "creating" {
			t.Errorf("placeholder %+v", i)
		}
	}
	if id := state.Instances[3].ID; id != "aws:///eu-west-1a/i-placeholder-a-0" {
		t.Errorf("placeholder id %q", id)
	}
	r.after(25 * time.Second)
	if got := shape(r.state("a")); got != "running running running creating creating" {
		t.Errorf("after 25 s: %s", got)
	}
	r.after(40 * time.Second)
	if got := shape(r.state("a")); got != "running running running running running" {
		t.Errorf("after 65 s: %s", got)
	}
}

func TestRaisingAboveTheMaximumWritesNothing(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:6:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 5})
	r.refresh()
	for _, delta := range []int{2, 0, -1} {
		granted, err := r.group("a").IncreaseSize(r.ctx(), delta)
		want := "other"
		if delta > 0 {
			want = "stale bounds, asked 2, room 1"
		}
		if granted != 0 || kind(err) != want {
			t.Errorf("raised by %d: granted %d, %s: %v", delta, granted, kind(err), err)
		}
	}
	if writes := r.writes(); len(writes) != 0 {
		t.Errorf("writes %v", writes)
	}
}

func TestRaisesLookAtTheGroupAsItIsNow(t *testing.T) {
	tests := map[string]struct {
		meanwhile func(*awstest.Server) error
		want      []string // writes
		desired   int
		kind      string
		granted   int
	}{
		"somebody else raised it by less: up to what was planned": {
			meanwhile: func(s *awstest.Server) error { return s.SetDesired("a", 4) }, want: []string{"SetDesired(a,6)"}, desired: 6, kind: "none", granted: 3,
		},
		"somebody else raised it by as much: nothing is bought twice": {
			meanwhile: func(s *awstest.Server) error { return s.SetDesired("a", 6) }, desired: 6, kind: "none", granted: 3,
		},
		"somebody else raised it by more: never lowered": {
			meanwhile: func(s *awstest.Server) error { return s.SetDesired("a", 9) }, desired: 9, kind: "none", granted: 3,
		},
		"somebody else lowered it: what was taken away stays away": {
			meanwhile: func(s *awstest.Server) error { return s.SetDesired("a", 1) }, want: []string{"SetDesired(a,4)"}, desired: 4, kind: "none", granted: 3,
		},
		"the maximum was lowered": {
			meanwhile: func(s *awstest.Server) error { return s.SetBounds("a", 0, 5) }, desired: 3, kind: "stale bounds, asked 3, room 2",
		},
		"launches were suspended": {
			meanwhile: func(s *awstest.Server) error {
				return s.UpdateGroup("a", func(g *awstest.Group) { g.SuspendedProcesses = []awstest.Process{awstest.ProcessLaunch} })
			}, desired: 3, kind: "configuration",
		},
		"the group is being deleted": {
			meanwhile: func(s *awstest.Server) error { return s.DeleteGroup("a") }, desired: 0, kind: "configuration",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:10:a"}}, awstest.Group{Name: "a", Max: 10, Desired: 3, Timing: slowly()})
			r.refresh()
			group := r.group("a")
			if err := test.meanwhile(r.server); err != nil {
				t.Fatal(err)
			}
			r.old()
			granted, err := group.IncreaseSize(r.ctx(), 3)
			if granted != test.granted || kind(err) != test.kind {
				t.Errorf("granted %d, %s: %v", granted, kind(err), err)
			}
			if diff := cmp.Diff(test.want, r.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if got := r.desired("a"); got != test.desired {
				t.Errorf("desired is %d, want %d", got, test.desired)
			}
			select {
			case <-r.provider.Changed():
			default:
				if test.kind == "none" {
					t.Error("the change by somebody else didn't wake the loop")
				}
			}
		})
	}
}

func TestTwoRaisesOnOneViewAreTwoPurchases(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:10:a"}}, awstest.Group{Name: "a", Max: 10, Desired: 3, Timing: slowly()})
	r.refresh()
	group := r.group("a")
	for range 2 {
		if granted, err := group.IncreaseSize(r.ctx(), 2); granted != 2 || err != nil {
			t.Fatalf("granted %d, %v", granted, err)
		}
	}
	if got := r.desired("a"); got != 7 {
		t.Errorf("desired is %d, want 7", got)
	}
}

func TestAnswersOlderThanOurOwnWriteAreNotBelieved(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:10:a"}}, awstest.Group{Name: "a", Max: 10, Desired: 3, Timing: awstest.Timing{Request: time.Hour}})
	r.after(time.Minute)
	for _, want := range []int{4, 5} {
		if granted, err := r.group("a").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
			t.Fatalf("granted %d, %v", granted, err)
		}
		if got := r.desired("a"); got != want {
			t.Fatalf("desired is %d, want %d", got, want)
		}
		r.clock.Step(5 * time.Second)
		r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: 2, Effect: awstest.Stale{Age: 20 * time.Second}})
		r.refresh()
		if got := r.state("a").Target; got != want {
			t.Errorf("target is %d after an old answer, want %d", got, want)
		}
	}
	r.after(2 * time.Minute)
	if err := r.server.SetDesired("a", 3); err != nil {
		t.Fatal(err)
	}
	r.after(time.Minute)
	if got := r.state("a").Target; got != 3 {
		t.Errorf("target is %d although somebody lowered it to 3 long after our write", got)
	}
}

func TestErrorsOfARaise(t *testing.T) {
	const set, read = "SetDesiredCapacity", "DescribeAutoScalingGroups"
	answer := func(status int, code, message string) awstest.Effect {
		return awstest.ErrorAnswer{Status: status, Code: code, Message: message}
	}
	tests := map[string]struct {
		action  string
		effect  awstest.Effect
		want    string
		granted int
		desired int
	}{
		"throttled":               {set, awstest.Throttle{}, "transient", 0, 1},
		"throttled while reading": {read, awstest.Throttle{}, "transient", 0, 1},
		"a server fault before it was carried out": {set, answer(500, "InternalFailure", "x"), "transient, outcome unknown", 0, 1},
		"a server fault after it was carried out":  {set, awstest.ErrorAnswer{Status: 500, Side: awstest.AfterEffect}, "none", 1, 2},
		"no answer, not carried out":               {set, awstest.Drop{}, "transient, outcome unknown", 0, 1},
		"no answer, but carried out":               {set, awstest.Drop{Side: awstest.AfterEffect}, "none", 1, 2},
		"half an answer":                           {set, awstest.Truncate{}, "none", 1, 2},
		"a proxy answers":                          {set, awstest.RawAnswer{Status: 502, ContentType: "text/html", Body: "<html>bad gateway</html>"}, "none", 1, 2},
		"no answer while reading":                  {read, awstest.Drop{}, "transient", 0, 1},
		"the group is gone":                        {set, answer(400, "ValidationError", "AutoScalingGroup name not found - no such group: a"), "gone", 0, 1},
		"above the maximum":                        {set, answer(400, "ValidationError", "New SetDesiredCapacity value 2 is above max value 1 for the AutoScalingGroup."), "stale bounds, asked 1, room 8", 0, 1},
		"below the minimum":                        {set, answer(400, "ValidationError", "New SetDesiredCapacity value 2 is below min value 3 for the AutoScalingGroup."), "stale bounds, asked 1, room 8", 0, 1},
		"no permission":                            {set, answer(403, "AccessDenied", "User x is not authorized to perform: autoscaling:SetDesiredCapacity"), "configuration", 0, 1},
		"expired credentials":                      {set, answer(403, "ExpiredToken", "The security token included in the request is expired"), "configuration", 0, 1},
		"no service-linked role":                   {set, answer(500, "ServiceLinkedRoleFailure", "x"), "configuration", 0, 1},
		"a limit of the account":                   {set, answer(400, "LimitExceeded", "You have reached a limit"), "quota LimitExceeded", 0, 1},
		"something else that AWS refuses":          {set, answer(400, "ValidationError", "The moon is in the wrong phase"), "configuration", 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1, Timing: slowly()})
			r.refresh()
			r.old()
			r.server.Inject(awstest.Fault{Action: test.action, Effect: test.effect})
			granted, err := r.group("a").IncreaseSize(r.ctx(), 1)
			if granted != test.granted || kind(err) != test.want {
				t.Errorf("granted %d, %s: %v; want %d, %s", granted, kind(err), err, test.granted, test.want)
			}
			if got := r.desired("a"); got != test.desired {
				t.Errorf("desired is %d, want %d", got, test.desired)
			}
			// Throttled is not sold out, and an answer that was lost buys nothing twice: the next loop gets there.
			r.after(10 * time.Second)
			want := 2
			if test.desired == 1 {
				if granted, err := r.group("a").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
					t.Errorf("in the next loop: granted %d, %v", granted, err)
				}
			}
			if got := r.desired("a"); got != want {
				t.Errorf("desired is %d in the end, want %d", got, want)
			}
		})
	}
}

func TestAGroupThatAWSIsAtWorkInIsAskedOnceMore(t *testing.T) {
	for _, code := range []string{"ScalingActivityInProgress", "ResourceContention"} {
		for times, want := range map[int]string{1: "none", 2: "transient"} {
			t.Run(fmt.Sprintf("%s, %d times", code, times), func(t *testing.T) {
				r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 2, Timing: slowly()})
				r.provider = r.connect(aws.Options{Nodes: []string{"0:9:a"}, Clock: r.clock})
				r.refresh()
				r.server.Inject(awstest.Fault{Count: times, Action: "SetDesiredCapacity", Effect: awstest.ErrorAnswer{Status: 400, Code: code, Message: "busy"}})
				r.server.Inject(awstest.Fault{Count: times, Action: "TerminateInstanceInAutoScalingGroup", Effect: awstest.ErrorAnswer{Status: 400, Code: code, Message: "busy"}})
				pass := awstest.Hook{Before: func() { r.clock.Step(2 * time.Second) }}
				r.server.Inject(awstest.Fault{Count: 1, Action: "SetDesiredCapacity", Effect: pass})
				r.server.Inject(awstest.Fault{Count: 1, Action: "TerminateInstanceInAutoScalingGroup", Effect: pass})
				if _, err := r.group("a").IncreaseSize(r.ctx(), 1); kind(err) != want {
					t.Errorf("a raise: %s: %v, want %s", kind(err), err, want)
				}
				got, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[0]))
				if err != nil {
					t.Fatal(err)
				}
				if kind(got[0].Err) != want {
					t.Errorf("a deletion: %s: %v, want %s", kind(got[0].Err), got[0].Err, want)
				}
				if r.count("SetDesiredCapacity") != 2 || r.count("TerminateInstanceInAutoScalingGroup") != 2 {
					t.Errorf("writes %v", r.writes())
				}
			})
		}
	}
}

func TestTheGroupVanishedRightBeforeTheRaise(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1})
	r.refresh()
	if err := r.server.RemoveGroup("a"); err != nil {
		t.Fatal(err)
	}
	r.old()
	if granted, err := r.group("a").IncreaseSize(r.ctx(), 1); granted != 0 || kind(err) != "gone" {
		t.Errorf("granted %d, %v", granted, err)
	}
	if writes := r.writes(); len(writes) != 0 {
		t.Errorf("writes %v", writes)
	}
}

func TestARaiseThatTheBoundsOfTheLastSecondsForbidTellsTheRoom(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1, Timing: slowly()})
	r.refresh()
	if err := r.server.SetBounds("a", 0, 3); err != nil {
		t.Fatal(err)
	}
	if granted, err := r.group("a").IncreaseSize(r.ctx(), 4); granted != 0 || kind(err) != "stale bounds, asked 4, room 2" {
		t.Errorf("granted %d, %s: %v", granted, kind(err), err)
	}
	if got := r.state("a"); got.Max != 3 || r.desired("a") != 1 {
		t.Errorf("the view has the maximum %d, desired is %d", got.Max, r.desired("a"))
	}
}

func TestARestartRightAfterARaiseBuysNothingTwice(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1, Timing: slowly()})
	r.refresh()
	if _, err := r.group("a").IncreaseSize(r.ctx(), 2); err != nil {
		t.Fatal(err)
	}
	r.provider = r.connect(aws.Options{Nodes: []string{"0:9:a"}})
	r.refresh()
	if state := r.state("a"); state.Target != 3 || shape(state) != "running place-0 place-1" {
		t.Errorf("target %d, instances %s", state.Target, shape(state))
	}
}

func TestWeightedGroups(t *testing.T) {
	group := awstest.Group{
		Name: "w", Min: 2, Max: 10, Desired: 4,
		MixedInstances: &awstest.MixedInstances{
			LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"},
			Overrides:      []awstest.Override{{InstanceType: "c5.2xlarge", Weight: 1}, {InstanceType: "c5.4xlarge", Weight: 2}},
		},
		Initial: []awstest.InitialInstance{{Type: "c5.4xlarge"}, {Type: "c5.2xlarge"}, {Type: "c5.2xlarge"}},
	}
	t.Run("units are not machines", func(t *testing.T) {
		r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, withTags(group, "x"))
		r.refresh()
		state := r.state("w")
		if state.Target != 3 || state.Min != 2 || state.Max != 9 || shape(state) != "running running running" {
			t.Fatalf("target %d of %d:%d, instances %s", state.Target, state.Min, state.Max, shape(state))
		}
		if granted, err := r.group("w").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
			t.Fatalf("granted %d, %v", granted, err)
		}
		if got := r.desired("w"); got != 5 {
			t.Errorf("desired is %d units, want 5", got)
		}
	})
	t.Run("a heavier machine than planned sets nothing off", func(t *testing.T) {
		g := withTags(group, "x")
		g.SuspendedProcesses = []awstest.Process{awstest.ProcessTerminate} // AWS itself lets a group overshoot by a part of a machine
		r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, g)
		r.server.SetStock(awstest.StockRule{Type: "c5.2xlarge", Left: 0})
		r.refresh()
		if _, err := r.group("w").IncreaseSize(r.ctx(), 1); err != nil {
			t.Fatal(err)
		}
		r.server.ForgetCalls()
		for range 12 {
			r.after(10 * time.Second)
		}
		if state := r.state("w"); state.Target != 4 || shape(state) != "running running running running" {
			t.Errorf("target %d, instances %s", state.Target, shape(state))
		}
		if writes := r.writes(); len(writes) != 0 {
			t.Errorf("writes %v", writes)
		}
	})
	t.Run("removals count what the machine weighs", func(t *testing.T) {
		r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, withTags(group, "x"))
		r.refresh()
		machines := r.machines("w")
		if _, err := r.group("w").DeleteNodes(r.ctx(), refs(machines...)); kind(err) != "stale bounds, asked 3, room 1" {
			t.Errorf("all three: %v", err)
		}
		got, err := r.group("w").DeleteNodes(r.ctx(), refs(heaviest(machines)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"ok"}, outcomes(got)); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
		if got := r.desired("w"); got != 2 {
			t.Errorf("desired is %d units", got)
		}
		if state := r.state("w"); state.Target != 2 || state.Min != 2 {
			t.Errorf("target %d, minimum %d", state.Target, state.Min)
		}
	})
	t.Run("sizes in vCPUs", func(t *testing.T) {
		g := withTags(group, "x")
		g.Max, g.Desired, g.Min, g.DesiredCapacityType, g.Initial = 64, 16, 0, "vcpu", nil
		mixed := *g.MixedInstances
		mixed.Overrides = []awstest.Override{{InstanceType: "c5.2xlarge"}, {InstanceType: "c5.4xlarge"}}
		g.MixedInstances = &mixed
		r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, g)
		r.refresh()
		if state := r.state("w"); state.Target != 2 || state.Max != 8 {
			t.Fatalf("target %d, maximum %d, errors %v, instances %s", state.Target, state.Max, r.errs(), shape(state))
		}
		if granted, err := r.group("w").IncreaseSize(r.ctx(), 2); granted != 2 || err != nil {
			t.Fatalf("granted %d, %v", granted, err)
		}
		if got := r.desired("w"); got != 32 {
			t.Errorf("desired is %d vCPUs, want 32", got)
		}
	})
}

// The write cannot say "at least": whoever raises the group between our look and our write loses places by it. The look after the write puts right what a
// machine stands on.
func TestARaiseThatLoweredWhatSomebodyElseHadJustRaisedIsPutRightByTheFirstLookAfterIt(t *testing.T) {
	group := awstest.Group{Name: "w", Max: 20, Desired: 2, Timing: awstest.Timing{ScaleIn: 8 * time.Second}}
	r := newRig(t, aws.Options{Nodes: []string{"0:20:w"}}, group)
	r.refresh()
	remove := r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: awstest.Hook{Before: func() {
		if err := r.server.SetDesired("w", 9); err != nil {
			t.Error(err)
		}
		r.server.Advance() // all seven come at once
	}}})
	if granted, err := r.group("w").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
		t.Fatalf("granted %d, %v", granted, err)
	}
	remove()
	alive := len(r.machines("w"))
	if r.desired("w") != 3 || alive <= 3 {
		t.Fatalf("desired %d with %d machines, want 3 with more: the write was to be overtaken", r.desired("w"), alive)
	}
	r.after(5 * time.Second)
	if got := r.desired("w"); got != alive {
		t.Errorf("desired is %d after the first look, want the %d machines that there are", got, alive)
	}
}

func withTags(group awstest.Group, pairs ...string) awstest.Group {
	group.Tags = tags(pairs...)
	return group
}

func heaviest(machines []awstest.Instance) awstest.Instance {
	best := machines[0]
	for _, m := range machines {
		if m.Weight > best.Weight {
			best = m
		}
	}
	return best
}
