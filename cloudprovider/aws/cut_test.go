package aws_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// served remembers every machine that was ever in service; its node may have run pods from then on.
func (r *rig) served(before map[string]bool) map[string]bool {
	if before == nil {
		before = map[string]bool{}
	}
	for _, instance := range r.server.Instances() {
		if instance.Lifecycle == awstest.InService {
			before[instance.ID] = true
		}
	}
	return before
}

// checkUnharmed fails if a machine that served was told to end.
func (r *rig) checkUnharmed(served map[string]bool) {
	r.t.Helper()
	for _, event := range r.server.Events() {
		if event.Kind == awstest.EventEnding && served[event.Instance] {
			r.t.Errorf("%s: machine %s in use was ended (%s, call %d)", event.Time.Format(time.TimeOnly), event.Instance, event.Cause, event.Call)
		}
	}
}

// checkWrites fails if a desired capacity was written below the machines that were there or on their way at that moment.
func (r *rig) checkWrites() {
	r.t.Helper()
	for _, call := range r.server.Writes() {
		if c := call.Change; call.Action == "SetDesiredCapacity" && c != nil && c.DesiredTo < c.DesiredFrom && c.DesiredTo < c.LiveFrom {
			r.t.Errorf("call %d lowered %s from %d to %d although %d machines were there", call.Number, c.Group, c.DesiredFrom, c.DesiredTo, c.LiveFrom)
		}
	}
}

// arrive lets one machine come into a group at once for which AWS is out of stock.
func (r *rig) arrive(name string) {
	r.t.Helper()
	r.server.SetStock(awstest.StockRule{Left: awstest.Unlimited})
	if err := r.server.Rebalance(name); err != nil {
		r.t.Error(err)
	}
	r.server.SetStock(awstest.StockRule{Left: 0})
}

// Case C01: one of two launches fails, the other one arrives while the failed place is being cleaned up.
func TestALateMachineIsNotHarmedByTheCleanUpOfAnother(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"1:20:ci-a"}},
		awstest.Group{Name: "ci-a", Min: 1, Max: 20, Desired: 6, Timing: awstest.Timing{Retry: time.Hour}})
	r.refresh()
	served := r.served(nil)
	if err := r.server.ScriptLaunches("ci-a", awstest.ScriptedLaunch{After: 35 * time.Second, Fail: awstest.InsufficientInstanceCapacity}, awstest.ScriptedLaunch{After: 40 * time.Second}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.group("ci-a").IncreaseSize(r.ctx(), 2); err != nil {
		t.Fatal(err)
	}
	failures := 0
	for range 30 { // five minutes of loops that clean up whatever has failed
		r.after(10 * time.Second)
		served = r.served(served)
		if failed := places(r.state("ci-a"), true); len(failed) > 0 {
			failures++
			if _, err := r.group("ci-a").DeleteNodes(r.ctx(), failed); err != nil {
				t.Fatal(err)
			}
		}
	}
	if failures == 0 {
		t.Error("the failed launch was never seen")
	}
	r.checkUnharmed(served)
	r.checkWrites()
	if got, live := r.desired("ci-a"), len(r.machines("ci-a")); got != 7 || live != 7 {
		t.Errorf("desired %d, %d machines; want 7", got, live)
	}
}

// Case C01, adversarial: whenever a write is about to be carried out, the machine that is missing arrives.
func TestAMachineThatArrivesBetweenReadAndWriteCostsNoMachineInUse(t *testing.T) {
	for name, timing := range map[string]awstest.Timing{
		"AWS chooses its victims at once": {Retry: 20 * time.Second},
		"AWS takes a second to choose":    {Retry: 20 * time.Second, ScaleIn: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"1:20:ci-a"}}, awstest.Group{Name: "ci-a", Min: 1, Max: 20, Desired: 6, Timing: timing})
			r.refresh()
			served := r.served(nil)
			r.server.SetStock(awstest.StockRule{Left: 0})
			if _, err := r.group("ci-a").IncreaseSize(r.ctx(), 2); err != nil {
				t.Fatal(err)
			}
			arrivals := 0
			r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Count: awstest.Always, Effect: awstest.Hook{Before: func() {
				if r.desired("ci-a") <= len(r.machines("ci-a")) {
					return
				}
				r.arrive("ci-a")
				arrivals++
			}}})
			for range 30 {
				r.after(10 * time.Second)
				served = r.served(served)
				if failed := places(r.state("ci-a"), true); len(failed) > 0 {
					if _, err := r.group("ci-a").DeleteNodes(r.ctx(), failed); err != nil {
						t.Fatal(err)
					}
				}
			}
			if arrivals == 0 {
				t.Error("the adversary never got a chance")
			}
			r.checkUnharmed(served)
			for _, m := range r.machines("ci-a") {
				if m.Protected {
					t.Errorf("machine %s is still protected", m.ID)
				}
			}
		})
	}
}

// Case C02: the first failure must not cancel the machines that are still on their way.
func TestFailuresAreHeldAgainstSinglePlaces(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:40:ci-a"}}, awstest.Group{Name: "ci-a", Max: 40, Desired: 6, Timing: awstest.Timing{Retry: time.Hour}})
	r.refresh()
	served := r.served(nil)
	var script []awstest.ScriptedLaunch
	for i := range 4 {
		script = append(script, awstest.ScriptedLaunch{After: time.Duration(i+1) * 20 * time.Second, Fail: awstest.InsufficientInstanceCapacity})
	}
	for i := range 10 {
		script = append(script, awstest.ScriptedLaunch{After: 30*time.Second + time.Duration(i)*13*time.Second})
	}
	if err := r.server.ScriptLaunches("ci-a", script...); err != nil {
		t.Fatal(err)
	}
	if _, err := r.group("ci-a").IncreaseSize(r.ctx(), 14); err != nil {
		t.Fatal(err)
	}
	seen := map[string]time.Duration{}
	for elapsed := 10 * time.Second; elapsed <= 10*time.Minute; elapsed += 10 * time.Second {
		r.after(10 * time.Second)
		served = r.served(served)
		failed := places(r.state("ci-a"), true)
		for _, ref := range failed {
			if _, known := seen[ref.ProviderID]; !known {
				seen[ref.ProviderID] = elapsed
			}
		}
		if len(failed) > 0 {
			if _, err := r.group("ci-a").DeleteNodes(r.ctx(), failed); err != nil {
				t.Fatal(err)
			}
		}
	}
	var times []time.Duration
	for _, at := range seen {
		times = append(times, at)
	}
	slices.Sort(times)
	if len(times) != 4 {
		t.Fatalf("%d places failed, want 4: %v", len(times), times)
	}
	for i, at := range times {
		if late := at - time.Duration(i+1)*20*time.Second; late < 0 || late > 30*time.Second {
			t.Errorf("failure %d was seen after %v", i+1, late)
		}
	}
	r.checkUnharmed(served)
	r.checkWrites()
	if got, live := r.desired("ci-a"), len(r.machines("ci-a")); got != 16 || live != 16 {
		t.Errorf("desired %d, %d machines; want 16", got, live)
	}
}

// Case C03: nothing is taken back right after a raise.
func TestNothingIsCutRightAfterARaise(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"2:100:run"}}, awstest.Group{Name: "run", Min: 2, Max: 100, Desired: 30, Timing: awstest.Timing{Retry: time.Hour}})
	r.refresh()
	script := []awstest.ScriptedLaunch{{After: 5 * time.Second, Fail: awstest.InsufficientInstanceCapacity}}
	for range 15 {
		script = append(script, awstest.ScriptedLaunch{After: 60 * time.Second})
	}
	if err := r.server.ScriptLaunches("run", script...); err != nil {
		t.Fatal(err)
	}
	if _, err := r.group("run").IncreaseSize(r.ctx(), 16); err != nil {
		t.Fatal(err)
	}
	served := r.served(nil)
	for i := range 12 {
		r.after(10 * time.Second)
		served = r.served(served)
		state := r.state("run")
		if i == 0 && (len(places(state, true)) != 1 || len(places(state, false)) != 16) {
			t.Errorf("after 10 s: %s", shape(state))
		}
		if failed := places(state, true); len(failed) > 0 {
			if _, err := r.group("run").DeleteNodes(r.ctx(), failed); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.checkUnharmed(served)
	for _, call := range r.server.Writes() {
		if call.Action == "SetDesiredCapacity" && call.Change.DesiredTo < 45 {
			t.Errorf("desired was set to %d", call.Change.DesiredTo)
		}
	}
}

func TestWithdrawingPlacesWaitsUntilTheGroupIsAtRest(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1, Timing: awstest.Timing{Retry: time.Hour}})
	r.refresh()
	if err := r.server.ScriptLaunches("a", awstest.ScriptedLaunch{After: 8 * time.Second, Fail: awstest.VcpuLimitExceeded}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.group("a").IncreaseSize(r.ctx(), 1); err != nil {
		t.Fatal(err)
	}
	r.after(10 * time.Second)
	if got := shape(r.state("a")); got != "running place-0!VcpuLimitExceeded" {
		t.Fatalf("instances %s", got)
	}
	instance := r.state("a").Instances[1]
	if instance.Error.Class != cloudprovider.ErrorClassOutOfResources || instance.Error.Message == "" {
		t.Errorf("error %+v", instance.Error)
	}
	lowered, err := r.group("a").DecreaseTargetSize(r.ctx(), 1)
	if lowered != 0 || err != nil {
		t.Errorf("10 s after the raise: lowered %d, %v", lowered, err)
	}
	r.after(50 * time.Second)
	if lowered, err = r.group("a").DecreaseTargetSize(r.ctx(), 3); lowered != 1 || err != nil {
		t.Errorf("a minute after the raise: lowered %d, %v", lowered, err)
	}
	if state := r.state("a"); state.Target != 1 || shape(state) != "running" || r.desired("a") != 1 {
		t.Errorf("target %d, instances %s, desired %d", state.Target, shape(state), r.desired("a"))
	}
	if lowered, err = r.group("a").DecreaseTargetSize(r.ctx(), 1); lowered != 0 || err != nil {
		t.Errorf("nothing is missing: lowered %d, %v", lowered, err)
	}
	if lowered, err = r.group("a").DecreaseTargetSize(r.ctx(), 0); lowered != 0 || err == nil {
		t.Errorf("lowered by none: %d, %v", lowered, err)
	}
	r.checkWrites()
}

func TestPlacesOfTheMinimumStay(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{
		Name: "a", Min: 2, Max: 9, Desired: 2, Initial: []awstest.InitialInstance{{}}, Timing: awstest.Timing{Request: time.Hour},
	})
	r.server.SetStock(awstest.StockRule{Left: 0})
	r.refresh()
	r.after(2 * time.Minute)
	got, err := r.group("a").DeleteNodes(r.ctx(), places(r.state("a"), false))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept"}, outcomes(got)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if state := r.state("a"); len(r.writes()) != 0 || shape(state) != "running place-0" {
		t.Errorf("writes %v, instances %s", r.writes(), shape(state))
	}
}

func TestOnlyTheGivenPlacesAreWithdrawn(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1, Timing: awstest.Timing{Retry: time.Hour, Request: time.Second}})
	r.server.SetStock(awstest.StockRule{Left: 0})
	r.refresh()
	if _, err := r.group("a").IncreaseSize(r.ctx(), 4); err != nil {
		t.Fatal(err)
	}
	for range 7 {
		r.after(10 * time.Second)
	}
	all := places(r.state("a"), false)
	if len(all) != 4 {
		t.Fatalf("instances %s", shape(r.state("a")))
	}
	got, err := r.group("a").DeleteNodes(r.ctx(), []cloudprovider.NodeRef{all[1], all[2], {Name: "x", ProviderID: "aws:///eu-west-1a/i-placeholder-a-99"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ok", "ok", "ok"}, outcomes(got)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	left := places(r.state("a"), false)
	if r.desired("a") != 3 || len(left) != 2 || left[0].ProviderID != all[0].ProviderID || left[1].ProviderID != all[3].ProviderID {
		t.Errorf("desired %d, places left %v", r.desired("a"), left)
	}
}

func TestACutNeedsToSeeTheLaunches(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 3, Initial: []awstest.InitialInstance{{}}, Timing: awstest.Timing{Request: time.Hour}})
	r.refresh()
	r.server.Deny("autoscaling:DescribeScalingActivities")
	r.after(2 * time.Minute)
	lowered, err := r.group("a").DecreaseTargetSize(r.ctx(), 2)
	if lowered != 0 || kind(err) != "configuration" {
		t.Errorf("lowered %d, %s: %v", lowered, kind(err), err)
	}
	got, err := r.group("a").DeleteNodes(r.ctx(), places(r.state("a"), false))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"configuration", "configuration"}, outcomes(got)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(r.writes()) != 0 {
		t.Errorf("writes %v", r.writes())
	}
	before := r.count("DescribeScalingActivities")
	for range 12 {
		r.after(10 * time.Second)
	}
	if got := r.count("DescribeScalingActivities") - before; got != 0 {
		t.Errorf("%d questions within two minutes of a denial", got)
	}
}

func TestWithoutThePermissionToProtectTheOtherRulesMustDo(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 3, Initial: []awstest.InitialInstance{{}, {}}, Timing: awstest.Timing{Request: time.Second, Retry: time.Hour}})
	r.server.SetStock(awstest.StockRule{Left: 0})
	r.server.Deny("autoscaling:SetInstanceProtection")
	r.refresh()
	for range 8 {
		r.after(10 * time.Second)
	}
	lowered, err := r.group("a").DecreaseTargetSize(r.ctx(), 1)
	if lowered != 1 || err != nil || r.desired("a") != 2 {
		t.Errorf("lowered %d, %v, desired %d", lowered, err, r.desired("a"))
	}
	r.checkWrites()
}

// A machine that arrives right after the desired capacity was lowered is kept: the capacity goes up again before AWS has chosen a victim.
func TestAMachineThatArrivesAfterTheCutIsKept(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{
		Name: "a", Max: 9, Desired: 3, Initial: []awstest.InitialInstance{{}, {}}, Timing: awstest.Timing{Request: time.Second, Retry: time.Hour, ScaleIn: 30 * time.Second},
	})
	r.server.SetStock(awstest.StockRule{Left: 0})
	r.server.Deny("autoscaling:SetInstanceProtection")
	r.refresh()
	for range 8 {
		r.after(10 * time.Second)
	}
	served := r.served(nil)
	if lowered, err := r.group("a").DecreaseTargetSize(r.ctx(), 1); lowered != 1 || err != nil {
		t.Fatalf("lowered %d, %v", lowered, err)
	}
	r.server.SetStock(awstest.StockRule{Left: awstest.Unlimited})
	if err := r.server.Rebalance("a"); err != nil {
		t.Fatal(err)
	}
	if err := r.server.LaunchNow("a"); err != nil {
		t.Fatal(err)
	}
	if got := len(r.machines("a")); got != 3 {
		t.Fatalf("%d machines, the third one did not come", got)
	}
	for range 12 {
		r.after(10 * time.Second)
	}
	r.checkUnharmed(served)
	if r.desired("a") != 3 || len(r.machines("a")) != 3 {
		t.Errorf("desired %d, %d machines", r.desired("a"), len(r.machines("a")))
	}
}
