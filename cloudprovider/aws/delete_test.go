package aws_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestDeletingOneMachine(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"1:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 3, Timing: slowly()})
	r.refresh()
	victim := r.machines("a")[1]
	r.server.ForgetCalls()
	got, err := r.group("a").DeleteNodes(r.ctx(), refs(victim))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]cloudprovider.DeleteOutcome{{Node: refs(victim)[0]}}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Terminate(1,true)"}, r.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	state := r.state("a")
	if state.Target != 2 || shape(state) != "running deleting running" || r.desired("a") != 2 {
		t.Errorf("target %d, instances %s, desired %d", state.Target, shape(state), r.desired("a"))
	}
	if exists, known := r.provider.InstanceExists(nodeOf(victim)); exists || !known {
		t.Errorf("the machine exists %v, known %v", exists, known)
	}

	r.server.ForgetCalls()
	r.after(time.Second) // the next loop looks at once
	if r.count("DescribeAutoScalingGroups") != 1 {
		t.Errorf("%d describe calls", r.count("DescribeAutoScalingGroups"))
	}
	if got, err = r.group("a").DeleteNodes(r.ctx(), refs(victim)); err != nil || got[0].Err != nil {
		t.Errorf("a second time: %v, %v", got, err)
	}
	if len(r.writes()) != 0 || r.desired("a") != 2 {
		t.Errorf("a second time: writes %v, desired %d", r.writes(), r.desired("a"))
	}
	r.after(2 * time.Minute)
	if got := shape(r.state("a")); got != "running running" {
		t.Errorf("instances %s", got)
	}
	if got, err = r.group("a").DeleteNodes(r.ctx(), refs(victim)); err != nil || got[0].Err != nil {
		t.Errorf("when it is gone: %v, %v", got, err)
	}
	if exists, known := r.provider.InstanceExists(nodeOf(victim)); exists || !known {
		t.Errorf("a machine that is gone exists %v, known %v", exists, known)
	}
	if group, err := r.provider.GroupOf(nodeOf(victim)); group != "a" || err != nil {
		t.Errorf("the node of a machine that is gone belongs to %q, %v", group, err)
	}
}

func TestTheMinimumIsCheckedOnFreshDataBeforeAnythingIsWritten(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, awstest.Group{Name: "app", Min: 2, Max: 8, Desired: 4, Tags: tags("x")})
	r.refresh()
	r.clock.Step(55 * time.Second)
	if err := r.server.SetBounds("app", 4, 8); err != nil {
		t.Fatal(err)
	}
	if got := r.state("app").Min; got != 2 {
		t.Fatalf("the view knows the minimum already: %d", got)
	}
	got, err := r.group("app").DeleteNodes(r.ctx(), refs(r.machines("app")[3]))
	if got != nil || kind(err) != "stale bounds, asked 1, room 0" {
		t.Errorf("outcomes %v, %v", got, err)
	}
	if len(r.writes()) != 0 || r.state("app").Min != 4 {
		t.Errorf("writes %v, minimum %d", r.writes(), r.state("app").Min)
	}
}

func TestAListThatWouldGoBelowTheMinimumIsNotDeletedInPart(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"2:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 4})
	r.refresh()
	if _, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[:3]...)); kind(err) != "stale bounds, asked 3, room 2" {
		t.Errorf("%v", err)
	}
	if len(r.writes()) != 0 {
		t.Errorf("writes %v", r.writes())
	}
}

func TestManyMachinesAreEndedInOneCall(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:200:a"}}, awstest.Group{Name: "a", Max: 200, Desired: 150, Timing: slowly()})
	r.refresh()
	victims := r.machines("a")[:120]
	got, err := r.group("a").DeleteNodes(r.ctx(), refs(victims...))
	if err != nil || len(got) != 120 {
		t.Fatalf("%d outcomes, %v", len(got), err)
	}
	for i, outcome := range got {
		if outcome.Err != nil || outcome.Node.ProviderID != victims[i].ProviderID() {
			t.Fatalf("outcome %d: %+v", i, outcome)
		}
	}
	if diff := cmp.Diff([]string{"Terminate(100,true)", "Terminate(20,true)"}, r.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if r.desired("a") != 30 || r.state("a").Target != 30 {
		t.Errorf("desired %d, target %d", r.desired("a"), r.state("a").Target)
	}
}

func TestWhereBatchesAreRefusedMachinesAreEndedOneByOne(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:50:a"}}, awstest.Group{Name: "a", Max: 50, Desired: 30, Timing: slowly()})
	r.refresh()
	r.server.Inject(awstest.Fault{
		Action: "TerminateInstanceInAutoScalingGroup",
		Effect: awstest.ErrorAnswer{Status: 400, Code: "ValidationError", Message: "Unknown parameter InstanceIds"},
	})
	if _, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[:12]...)); err != nil {
		t.Fatal(err)
	}
	if got := len(r.writes()); got != 13 || r.desired("a") != 18 {
		t.Errorf("%d writes, desired %d", got, r.desired("a"))
	}
	r.server.ForgetCalls()
	if _, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[:2]...)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Terminate(1,true)", "Terminate(1,true)"}, r.writes()); diff != "" {
		t.Errorf("batches are not tried again (-want +got):\n%s", diff)
	}
}

func TestOneBadMachineDoesNotSpoilTheOthers(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 4, Timing: slowly()})
	r.refresh()
	victims := r.machines("a")[:3]
	// Between our look and the write somebody else takes one of them out.
	r.server.Inject(awstest.Fault{Action: "TerminateInstanceInAutoScalingGroup", Effect: awstest.Hook{Before: func() {
		if err := r.server.SetLifecycle(victims[1].ID, "Detached"); err != nil {
			t.Error(err)
		}
	}}})
	got, err := r.group("a").DeleteNodes(r.ctx(), refs(victims...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ok", "ok", "ok"}, outcomes(got)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	ending := 0
	for _, event := range r.server.Events() {
		if event.Kind == awstest.EventEnding {
			ending++
		}
	}
	if ending != 2 {
		t.Errorf("%d machines were ended", ending)
	}
}

func TestErrorsOfADeletion(t *testing.T) {
	const action = "TerminateInstanceInAutoScalingGroup"
	answer := func(status int, code, message string) awstest.Effect {
		return awstest.ErrorAnswer{Status: status, Code: code, Message: message}
	}
	tests := map[string]struct {
		effect awstest.Effect
		count  int
		want   []string
		ended  int
	}{
		"throttled":            {awstest.Throttle{}, 1, []string{"transient", "transient"}, 0},
		"no permission":        {answer(403, "AccessDenied", "x"), awstest.Always, []string{"configuration", "configuration"}, 0},
		"expired credentials":  {answer(403, "ExpiredToken", "x"), 1, []string{"configuration", "configuration"}, 0},
		"lost, not done":       {awstest.Drop{}, 1, []string{"transient, outcome unknown", "transient, outcome unknown"}, 0},
		"lost, but done":       {awstest.Drop{Side: awstest.AfterEffect}, 1, []string{"ok", "ok"}, 2},
		"a fault, but done":    {awstest.ErrorAnswer{Status: 503, Side: awstest.AfterEffect}, 1, []string{"ok", "ok"}, 2},
		"refused as a batch":   {answer(400, "ValidationError", "one of them"), 1, []string{"ok", "ok"}, 2},
		"at the minimum":       {answer(400, "ValidationError", "Currently, desiredSize equals minSize (4). Terminating instance without replacement will violate group's min size constraint."), awstest.Always, []string{"stale bounds, asked 1, room 0", "stale bounds, asked 1, room 0"}, 0},
		"gone in the meantime": {answer(400, "ValidationError", "Instance Id not found - No managed instance found for instance ID: i-1"), awstest.Always, []string{"ok", "ok"}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 4, Timing: slowly()})
			r.refresh()
			r.server.Inject(awstest.Fault{Action: action, Count: test.count, Effect: test.effect})
			got, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[:2]...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, outcomes(got)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if live := len(r.machines("a")); live != 4-test.ended {
				t.Errorf("%d machines left, want %d", live, 4-test.ended)
			}
			if want := strings.TrimSpace(strings.Repeat("running ", 4)); test.ended == 0 && shape(r.state("a")) != want {
				t.Errorf("instances %s", shape(r.state("a")))
			}
		})
	}
}

func TestErrorsBeforeADeletionTouchNothing(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a", "0:9:b"}}, awstest.Group{Name: "a", Max: 9, Desired: 2}, awstest.Group{Name: "b", Max: 9, Desired: 1})
	r.refresh()
	mine, other := r.machines("a")[0], r.machines("b")[0]
	stranger := cloudprovider.NodeRef{Name: "n", ProviderID: "aws:///eu-west-1a/i-0123456789abcdef0"}
	tests := map[string]struct {
		nodes []cloudprovider.NodeRef
		want  string
	}{
		"a node of another group":        {refs(mine, other), "its machine belongs to b"},
		"a node of no group":             {append(refs(mine), stranger), "belongs to no known Auto Scaling group"},
		"a node without id":              {append(refs(mine), cloudprovider.NodeRef{Name: "n"}), "belongs to no known Auto Scaling group"},
		"a placeholder of another group": {[]cloudprovider.NodeRef{{Name: "p", ProviderID: "aws:///eu-west-1a/i-placeholder-b-0"}}, "its machine belongs to b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := r.group("a").DeleteNodes(r.ctx(), test.nodes)
			if got != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("outcomes %v, %v", got, err)
			}
		})
	}
	r.old()
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Throttle{}})
	if got, err := r.group("a").DeleteNodes(r.ctx(), refs(mine)); got != nil || kind(err) != "transient" {
		t.Errorf("the look before fails: %v, %v", got, err)
	}
	if got, err := r.group("a").DeleteNodes(r.ctx(), nil); len(got) != 0 || err != nil {
		t.Errorf("no nodes: %v, %v", got, err)
	}
	if len(r.writes()) != 0 {
		t.Errorf("writes %v", r.writes())
	}
}

func TestMachinesInOddStates(t *testing.T) {
	tests := map[awstest.LifecycleState]struct {
		outcome string
		writes  []string
		shape   string // of the view before
	}{
		"Pending":                     {"ok", []string{"Terminate(1,true)"}, "creating running"},
		"Pending:Wait":                {"ok", []string{"Terminate(1,true)"}, "creating running"},
		"Quarantined":                 {"other", nil, "running running"},
		"ReplacingRootVolume":         {"ok", []string{"Terminate(1,true)"}, "running running"},
		"SomethingNew":                {"ok", []string{"Terminate(1,true)"}, "running running"},
		"Terminating":                 {"ok", nil, "deleting running place-0"},
		"Terminating:Wait":            {"ok", nil, "deleting running place-0"},
		"Terminated":                  {"ok", nil, "deleting running place-0"},
		"Terminating:Retained":        {"ok", nil, "deleting running place-0"},
		"Detaching":                   {"ok", nil, "deleting running place-0"},
		"Standby":                     {"other", nil, "running running place-0"},
		"Warmed:Running":              {"", nil, "running place-0"},
		"ReplacingRootVolume:Proceed": {"ok", []string{"Terminate(1,true)"}, "running running"},
	}
	for state, test := range tests {
		t.Run(string(state), func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 2, Timing: awstest.Timing{Request: time.Hour, Terminate: time.Hour}})
			victim := r.machines("a")[0]
			if err := r.server.SetLifecycle(victim.ID, state); err != nil {
				t.Fatal(err)
			}
			r.refresh()
			if got := shape(r.state("a")); got != test.shape {
				t.Fatalf("instances %s, want %s", got, test.shape)
			}
			if test.outcome == "" {
				return
			}
			got, err := r.group("a").DeleteNodes(r.ctx(), refs(victim))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{test.outcome}, outcomes(got)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.writes, r.writes()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSurplusMachinesAreEndedWithoutLoweringTheDesiredCapacity(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"1:9:a"}}, awstest.Group{
		Name: "a", Min: 1, Max: 9, Desired: 1, Timing: slowly(),
		Initial: []awstest.InitialInstance{{Protected: true}, {Protected: true}, {Protected: true}},
	})
	r.refresh()
	if state := r.state("a"); state.Target != 3 {
		t.Fatalf("target %d", state.Target)
	}
	got, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[:2]...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ok", "ok"}, outcomes(got)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Terminate(2,false)"}, r.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if state := r.state("a"); state.Target != 1 || r.desired("a") != 1 || len(r.machines("a")) != 1 {
		t.Errorf("target %d, desired %d, %d machines", state.Target, r.desired("a"), len(r.machines("a")))
	}
}

func TestForcedDeletionsReplaceWhatTheMinimumNeeds(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"2:9:a"}}, awstest.Group{Name: "a", Min: 2, Max: 9, Desired: 3, Timing: slowly()})
	r.refresh()
	forcer, ok := r.group("a").(cloudprovider.ForceDeleter)
	if !ok {
		t.Fatal("the group can't be forced")
	}
	got, err := forcer.ForceDeleteNodes(r.ctx(), refs(r.machines("a")...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ok", "ok", "ok"}, outcomes(got)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Terminate(1,true)", "Terminate(2,false)"}, sorted(r.writes())); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if state := r.state("a"); state.Target != 2 || r.desired("a") != 2 || shape(state) != "deleting deleting deleting place-0 place-1" {
		t.Errorf("target %d, desired %d, instances %s", state.Target, r.desired("a"), shape(state))
	}
}

func TestPlacesAndMachinesInOneCall(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:20:a"}}, awstest.Group{
		Name: "a", Max: 20, Desired: 12, Initial: make([]awstest.InitialInstance, 4), Timing: awstest.Timing{Request: time.Second, Retry: time.Hour, Terminate: time.Minute},
	})
	r.server.SetStock(awstest.StockRule{Left: 3})
	r.refresh()
	view := r.group("a")
	stale := places(view.State(), false)
	if len(stale) != 8 {
		t.Fatalf("instances %s", shape(view.State()))
	}
	for range 8 {
		r.after(10 * time.Second)
	}
	victims := r.machines("a")[:2]
	got, err := view.DeleteNodes(r.ctx(), append(stale, refs(victims...)...))
	if err != nil || len(got) != 10 {
		t.Fatalf("%d outcomes, %v", len(got), err)
	}
	if diff := cmp.Diff([]string{"SetInstanceProtection", "SetDesired(a,7)", "Terminate(2,true)"}, r.writes()); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if r.desired("a") != 5 || r.state("a").Target != 5 {
		t.Errorf("desired %d, target %d", r.desired("a"), r.state("a").Target)
	}
	r.checkWrites()
	r.after(20 * time.Second)
	for _, m := range r.machines("a") {
		if m.Protected {
			t.Errorf("machine %s is still protected", m.ID)
		}
	}
}

func TestDeletionsOfOneGroupAtTheSameTimeNeverGoBelowTheMinimum(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"3:20:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 10, Timing: slowly()})
	r.refresh()
	group := r.group("a")
	machines := r.machines("a")
	results := make([]string, len(machines))
	var wg sync.WaitGroup
	for i, m := range machines {
		wg.Go(func() {
			got, err := group.DeleteNodes(r.ctx(), refs(m))
			if err == nil {
				err = got[0].Err
			}
			results[i] = kind(err)
		})
	}
	wg.Wait()
	counts := map[string]int{}
	for _, result := range results {
		counts[result]++
	}
	if counts["none"] != 7 || counts["stale bounds, asked 1, room 0"] != 3 || r.desired("a") != 3 {
		t.Errorf("results %v, desired %d", counts, r.desired("a"))
	}
}

func TestReadersNeverWaitForAWS(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:20:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 3})
	r.refresh()
	gate := awstest.NewGate(awstest.BeforeEffect)
	r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: gate})
	done := make(chan error)
	group := r.group("a")
	go func() {
		_, err := group.IncreaseSize(r.ctx(), 1)
		done <- err
	}()
	<-gate.Arrived()
	for _, m := range r.machines("a") { // all of these would hang if the write held a lock that they need
		if group, err := r.provider.GroupOf(nodeOf(m)); group != "a" || err != nil {
			t.Errorf("belongs to %q, %v", group, err)
		}
		if _, known := r.provider.InstanceExists(nodeOf(m)); !known {
			t.Error("not known")
		}
	}
	r.after(2 * time.Minute)
	if got := r.state("a").Target; got != 3 {
		t.Errorf("target %d", got)
	}
	gate.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := r.state("a").Target; got != 4 {
		t.Errorf("target %d", got)
	}
}

func TestAnAnswerThatWasAskedForBeforeAWriteIsNotBelieved(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:20:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 3, Timing: slowly()})
	r.refresh()
	r.clock.Step(time.Minute)
	gate := awstest.NewGate(awstest.AfterEffect)
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: gate})
	done := make(chan error)
	go func() { done <- r.provider.Refresh(r.ctx()) }()
	<-gate.Arrived()
	if granted, err := r.group("a").IncreaseSize(r.ctx(), 2); granted != 2 || err != nil {
		t.Fatalf("granted %d, %v", granted, err)
	}
	if _, err := r.group("a").DeleteNodes(r.ctx(), refs(r.machines("a")[0])); err != nil {
		t.Fatal(err)
	}
	gate.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if state := r.state("a"); state.Target != 4 || shape(state) != "deleting running running place-0 place-1" {
		t.Errorf("target %d, instances %s", state.Target, shape(state))
	}
}

// The answer was given between the look before a write and the write itself, and arrives after both.
func TestAnAnswerThatWasOvertakenByAWriteIsNotBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		action string
		write  func(*rig, cloudprovider.NodeGroup) error
		want   string
		target int
	}{
		"a raise": {
			action: "SetDesiredCapacity",
			write: func(r *rig, group cloudprovider.NodeGroup) error {
				_, err := group.IncreaseSize(r.ctx(), 2)
				return err
			},
			want: "running running running place-0 place-1", target: 5,
		},
		"a deletion": {
			action: "TerminateInstanceInAutoScalingGroup",
			write: func(r *rig, group cloudprovider.NodeGroup) error {
				_, err := group.DeleteNodes(r.ctx(), refs(r.machines("a")[0]))
				return err
			},
			want: "deleting running running", target: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:20:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 3, Timing: slowly()})
			r.refresh()
			r.clock.Step(time.Minute)
			write, read := awstest.NewGate(awstest.BeforeEffect), awstest.NewGate(awstest.AfterEffect)
			r.server.Inject(awstest.Fault{Action: test.action, Effect: write})
			r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Skip: 1, Effect: read})
			written, refreshed := make(chan error), make(chan error)
			group := r.group("a")
			go func() { written <- test.write(r, group) }()
			<-write.Arrived()
			go func() { refreshed <- r.provider.Refresh(r.ctx()) }()
			<-read.Arrived()
			write.Release()
			if err := <-written; err != nil {
				t.Fatal(err)
			}
			read.Release()
			if err := <-refreshed; err != nil {
				t.Fatal(err)
			}
			if state := r.state("a"); state.Target != test.target || shape(state) != test.want {
				t.Errorf("target %d, instances %s; want %d, %s", state.Target, shape(state), test.target, test.want)
			}
			r.after(time.Minute) // and the next answer is believed
			if state := r.state("a"); state.Target != test.target {
				t.Errorf("target %d", state.Target)
			}
		})
	}
}

func TestCleanupEndsWhatIsUnderWay(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:20:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 3})
	r.refresh()
	gate := awstest.NewGate(awstest.BeforeEffect)
	r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Effect: gate})
	done := make(chan string)
	group := r.group("a")
	go func() {
		_, err := group.IncreaseSize(r.ctx(), 1)
		done <- kind(err)
	}()
	<-gate.Arrived()
	for range 2 {
		ctx, cancel := context.WithTimeout(r.ctx(), 10*time.Second)
		if err := r.provider.Cleanup(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if got := <-done; got != "transient, outcome unknown" {
		t.Errorf("the raise ended with %s", got)
	}
	if _, err := group.IncreaseSize(r.ctx(), 1); err == nil {
		t.Error("after Cleanup a raise succeeds")
	}
	if got := r.desired("a"); got != 3 {
		t.Errorf("desired %d", got)
	}
}

func TestEveryAttemptIsReportedWithItsCode(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:20:a"}}, awstest.Group{Name: "a", Max: 20, Desired: 3})
	r.refresh()
	r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Count: 1, Effect: awstest.Throttle{}})
	r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Skip: 1, Count: 1, Effect: awstest.Drop{}})
	for range 3 {
		_, _ = r.group("a").IncreaseSize(r.ctx(), 1) // what counts is what is reported
	}
	var got []string
	for _, call := range r.observed.calls {
		if call.Operation == "SetDesiredCapacity" {
			got = append(got, fmt.Sprint(call.Provider, " ", call.Code, " ", call.Duration >= 0))
		}
	}
	if diff := cmp.Diff([]string{"aws Throttling true", "aws error true", "aws success true"}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
