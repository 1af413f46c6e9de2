package aws_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestWhatHoldsAGroup(t *testing.T) {
	const pausing = "k8s.io/cluster-autoscaler/enabled"
	suspend := func(processes ...awstest.Process) func(*awstest.Group) {
		return func(g *awstest.Group) { g.SuspendedProcesses = processes }
	}
	tag := func(value string) func(*awstest.Group) {
		return func(g *awstest.Group) { g.Tags = []awstest.Tag{{Key: pausing, Value: value}} }
	}
	tests := map[string]struct {
		change          func(*awstest.Group)
		pauseByTag      bool
		suspended, held string
	}{
		"nothing":                             {change: func(*awstest.Group) {}},
		"Launch is suspended":                 {change: suspend(awstest.ProcessLaunch), suspended: "the process Launch of the Auto Scaling group is suspended"},
		"Terminate is suspended":              {change: suspend("Terminate"), held: "the process Terminate of the Auto Scaling group is suspended: resume it to let machines go"},
		"others are suspended":                {change: suspend("AZRebalance", "HealthCheck", "ReplaceUnhealthy", "AlarmNotification", "ScheduledActions", "InstanceRefresh")},
		"a tag pauses it":                     {change: tag("False"), pauseByTag: true, suspended: `the tag k8s.io/cluster-autoscaler/enabled of the Auto Scaling group is "False"`},
		"another word does":                   {change: tag("disabled"), pauseByTag: true, suspended: `the tag k8s.io/cluster-autoscaler/enabled of the Auto Scaling group is "disabled"`},
		"the tag says yes":                    {change: tag("true"), pauseByTag: true},
		"the tag says nothing":                {change: tag(""), pauseByTag: true},
		"nobody asked for the tag to be read": {change: tag("false")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group := awstest.Group{Name: "a", Max: 9, Desired: 2, Timing: slowly()}
			test.change(&group)
			r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}, PauseByTag: test.pauseByTag}, group)
			r.refresh()
			state := r.state("a")
			if state.Suspended != test.suspended || state.Held != test.held {
				t.Errorf("suspended %q, held %q", state.Suspended, state.Held)
			}
			_, err := r.group("a").IncreaseSize(r.ctx(), 1)
			if want := map[bool]string{true: "none", false: "configuration"}[test.suspended == ""]; kind(err) != want {
				t.Errorf("a raise: %s: %v, want %s", kind(err), err, want)
			}
		})
	}
}

func TestMachinesThatAreHeldOrDoomedSaySo(t *testing.T) {
	tests := map[string]struct {
		state        awstest.LifecycleState
		health       string
		held, doomed string
	}{
		"in service": {},
		"in standby": {state: "Standby", held: "it is in standby, out of which only an operator takes it"},
		"quarantined": {
			state: "Quarantined", held: "its lifecycle state is Quarantined: AWS keeps it for inspection",
		},
		"being detached": {state: "Detaching", held: "it is being detached from its group"},
		"unhealthy":      {health: "Unhealthy", doomed: "its health status is Unhealthy, the Auto Scaling group is about to replace it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 2, Timing: awstest.Timing{Request: time.Hour, HealthCheck: time.Hour}})
			id := r.machines("a")[0].ID
			if test.state != "" {
				if err := r.server.SetLifecycle(id, test.state); err != nil {
					t.Fatal(err)
				}
			}
			if test.health != "" {
				if err := r.server.SetHealth(id, test.health); err != nil {
					t.Fatal(err)
				}
			}
			r.refresh()
			got := r.state("a").Instances
			if got[0].Held != test.held || got[0].Doomed != test.doomed || got[1].Held+got[1].Doomed != "" {
				t.Errorf("instances %+v", got[:2])
			}
		})
	}
}

func TestAQuarantinedMachineIsEndedOnlyByForce(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 2, Timing: slowly()})
	victim := r.machines("a")[0]
	if err := r.server.SetLifecycle(victim.ID, "Quarantined"); err != nil {
		t.Fatal(err)
	}
	r.refresh()
	got, err := r.group("a").(cloudprovider.ForceDeleter).ForceDeleteNodes(r.ctx(), refs(victim))
	if err != nil || len(got) != 1 || got[0].Err != nil || r.desired("a") != 1 {
		t.Errorf("outcomes %v, %v, desired %d", got, err, r.desired("a"))
	}
}

func TestAGroupIsNotShrunkDuringAnInstanceRefresh(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 3, Timing: slowly()})
	r.refresh()
	check := func() string { return r.group("a").(cloudprovider.ShrinkChecker).CheckShrink(r.ctx()) }
	if got := check(); got != "" {
		t.Errorf("before: %q", got)
	}
	if err := r.server.StartInstanceRefresh("a"); err != nil {
		t.Fatal(err)
	}
	if got := check(); got != "" {
		t.Errorf("the answer of a moment ago is good: %q", got)
	}
	r.after(40 * time.Second)
	const running = "an instance refresh replaces its machines: InProgress"
	if got := check(); got != running {
		t.Errorf("while it runs: %q", got)
	}
	if err := r.server.CancelInstanceRefresh("a"); err != nil {
		t.Fatal(err)
	}
	r.after(40 * time.Second)
	if got := check(); got != "" {
		t.Errorf("afterwards: %q", got)
	}
	var told []string
	for _, notice := range r.provider.Notices() {
		if notice.Reason == "AWSGroupHeld" || notice.Message == "the instance refresh is over" {
			told = append(told, notice.Message)
		}
	}
	want := []string{"an instance refresh replaces the machines (InProgress): none is ended by choice meanwhile", "the instance refresh is over"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestWhoMayNotAskAboutInstanceRefreshesDoesWithout(t *testing.T) {
	const action = "DescribeInstanceRefreshes"
	for name, test := range map[string]struct {
		effect awstest.Effect
		held   bool
		again  bool // asked anew each time
	}{
		"denied":    {effect: awstest.ErrorAnswer{Status: 403, Code: "AccessDenied", Message: "x is not authorized"}},
		"unknown":   {effect: awstest.ErrorAnswer{Status: 400, Code: "InvalidAction", Message: "no such action"}},
		"throttled": {effect: awstest.Throttle{}, held: true, again: true},
		"no answer": {effect: awstest.Drop{}, held: true, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 3, Timing: slowly()})
			r.refresh()
			r.server.Inject(awstest.Fault{Action: action, Count: awstest.Always, Effect: test.effect})
			for range 2 {
				if got := r.group("a").(cloudprovider.ShrinkChecker).CheckShrink(r.ctx()); (got != "") != test.held {
					t.Errorf("held because %q", got)
				}
			}
			if got, want := r.count(action), map[bool]int{false: 1, true: 2}[test.again]; got != want {
				t.Errorf("%d questions, want %d", got, want)
			}
		})
	}
}
