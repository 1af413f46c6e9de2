package aws_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// notices renders what came up since the last call, cut.
func (r *rig) notices() []string {
	var texts []string
	for _, n := range r.provider.Notices() {
		texts = append(texts, fmt.Sprintf("%s|%s|%.60s", n.Reason, n.Group, n.Message))
	}
	return texts
}

// ask asks about the nodes of all machines of a group, as the loop does in each iteration.
func (r *rig) ask(name string) {
	r.t.Helper()
	for _, machine := range r.machines(name) {
		if _, err := r.provider.GroupOf(nodeOf(machine)); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestADiscoveredGroupNoneOfWhoseMachinesJoinsIsLeftAlone(t *testing.T) {
	ours := awstest.Group{Name: "ours", Max: 5, Desired: 2, Tags: tags("x")}
	theirs := awstest.Group{Name: "theirs", Max: 5, Desired: 2, Tags: tags("x")}
	named := awstest.Group{Name: "named", Max: 5, Desired: 2}
	bought := awstest.Group{Name: "bought", Max: 5, Tags: tags("x")}
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}, Nodes: []string{"0:5:named"}}, ours, theirs, named, bought)
	r.refresh()
	r.ask("ours")
	if _, err := r.group("bought").IncreaseSize(r.ctx(), 1); err != nil {
		t.Fatal(err)
	}
	aside := func() []string {
		var names []string
		for _, e := range r.provider.GroupErrors() {
			names = append(names, string(e.Group))
		}
		return names
	}
	for range 15 {
		r.after(time.Minute)
		r.ask("ours")
	}
	if got := aside(); len(got) != 0 {
		t.Errorf("set aside after 15 minutes: %v", got)
	}
	r.after(time.Minute)
	r.ask("ours")
	r.after(time.Minute)
	if diff := cmp.Diff([]string{"theirs"}, aside()); diff != "" {
		t.Fatalf("set aside (-want +got):\n%s", diff)
	}
	want := "none of its machines has become a node of this cluster although they are in service since 2026-08-03T08:00:00Z"
	if err := r.provider.GroupErrors()[0].Err; kind(err) != "configuration" || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	r.ask("theirs")
	r.after(time.Minute)
	if got := aside(); len(got) != 0 {
		t.Errorf("still set aside: %v", got)
	}
}

// While the cluster cannot be read nobody asks about any node, and no group is the worse for it.
func TestNoGroupIsForeignBecauseNobodyAsksAboutNodes(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, awstest.Group{Name: "g", Max: 5, Desired: 2, Tags: tags("x")})
	r.refresh()
	for range 30 {
		r.after(time.Minute)
	}
	if got := r.errs(); len(got) != 0 {
		t.Errorf("errors %v", got)
	}
}

func TestGroupsThatAreSetAsideAreToldOfOnChange(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:a", "0:5:b"}}, awstest.Group{Name: "a", Max: 5, Tags: []awstest.Tag{
		{Key: "k8s.io/cluster-autoscaler/node-template/taint/dedicated", Value: "nonsense"},
	}})
	for range 5 {
		r.after(time.Minute)
	}
	if diff := cmp.Diff([]string{
		`AWSGroupSetAside|b|set aside: node group "b" does not exist any more: AWS knows`,
		`AWSTagRejected|a|tags cannot be used: tag k8s.io/cluster-autoscaler/node-temp`,
	}, sorted(r.notices())); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]aws.Figure{{Group: "b", SetAside: "gone"}}, r.provider.Figures()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	r.add(awstest.Group{Name: "b", Max: 5})
	r.after(time.Minute)
	if diff := cmp.Diff([]string{"|b|no longer set aside"}, r.notices()); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}

func TestThrottlingIsToldAtMostOnceInTenMinutesAndCountedEachTime(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:a"}, Rates: aws.Rates{AutoScaling: 1000, EC2: -1, EKS: -1}}, awstest.Group{Name: "a", Max: 5})
	r.refresh()
	r.notices()
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: awstest.Always, Effect: awstest.Throttle{}})
	told := 0
	for range 15 {
		r.clock.Step(time.Minute)
		_ = r.provider.Refresh(r.ctx()) // after five minutes it says that nothing is usable
		for _, n := range r.provider.Notices() {
			if n.Reason == "AWSThrottled" {
				told++
			}
		}
	}
	if told != 2 {
		t.Errorf("told %d times in 15 minutes", told)
	}
	throttled := 0
	for _, call := range r.observed.calls {
		if call.Throttled && call.Service == "autoscaling" && call.Code == "Throttling" {
			throttled++
		}
	}
	if throttled != 15 {
		t.Errorf("%d requests are observed as throttled", throttled)
	}
	if got := r.provider.Figures(); len(got) != 1 || got[0].SetAside != "stale" || got[0].Stale != 15*time.Minute {
		t.Errorf("figures %+v", got)
	}
}

func TestAThrottledPurchaseIsNoFailureOfTheGroup(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:a"}}, awstest.Group{Name: "a", Max: 5})
	r.refresh()
	r.server.Inject(awstest.Fault{Action: "SetDesiredCapacity", Count: 1, Effect: awstest.Throttle{}})
	if _, err := r.group("a").IncreaseSize(r.ctx(), 1); kind(err) != "transient" {
		t.Errorf("%s: %v", kind(err), err)
	}
	if granted, err := r.group("a").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
		t.Errorf("the next attempt: granted %d, %v", granted, err)
	}
}

func TestRefreshesComeAtTheirIntervalWithJitterButNeverEarlyWhileGroupsChange(t *testing.T) {
	for name, test := range map[string]struct {
		desired  int
		earliest time.Duration
	}{
		"at rest":        {0, 27 * time.Second},
		"while it grows": {1, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:5:a"}, RefreshInterval: 30 * time.Second, Random: rand.New(rand.NewPCG(1, 2))},
				awstest.Group{Name: "a", Max: 5, Timing: awstest.Timing{Request: 24 * time.Hour}})
			if err := r.server.SetDesired("a", test.desired); err != nil {
				t.Fatal(err)
			}
			r.refresh()
			for range 10 * 60 {
				r.after(time.Second)
			}
			distinct := map[time.Duration]bool{}
			shortest, last := time.Hour, eight
			for _, event := range r.observed.events[1:] {
				interval := event.At.Sub(last)
				distinct[interval], last = true, event.At
				shortest = min(shortest, interval)
				if interval > 33*time.Second || event.Code != "success" {
					t.Errorf("interval %v, %s", interval, event.Code)
				}
			}
			if len(distinct) < 3 || shortest < test.earliest || shortest > test.earliest+time.Second {
				t.Errorf("the shortest interval is %v, there are %d different ones", shortest, len(distinct))
			}
		})
	}
}

func TestSeveralRulesAreToldWithWhatEachFinds(t *testing.T) {
	groups := []awstest.Group{{Name: "x", Max: 1, Tags: tags("x")}, {Name: "y", Max: 1, Tags: tags("y")}, {Name: "xy", Max: 1, Tags: tags("x", "y")}}
	for name, test := range map[string]struct {
		matchAny bool
		want     string
	}{
		"all": {false, "a group must match all of them (--aws-discovery-match): found 1 (asg:tag=x alone: 2, asg:tag=y alone: 2)"},
		"any": {true, "a group must match any of them (--aws-discovery-match): found 3 (asg:tag=x alone: 2, asg:tag=y alone: 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x", "asg:tag=y"}, DiscoverAny: test.matchAny}, groups...)
			r.refresh()
			r.after(time.Minute)
			var told []string
			for _, n := range r.provider.Notices() {
				if strings.Contains(n.Message, "--node-group-auto-discovery") {
					told = append(told, n.Message)
				}
			}
			if len(told) != 1 || !strings.HasSuffix(told[0], test.want) {
				t.Errorf("notices %q", told)
			}
		})
	}
}

func TestRequestsBeyondTheBurstWaitForTheirTurn(t *testing.T) {
	var groups []awstest.Group
	for i := range 450 {
		groups = append(groups, awstest.Group{Name: fmt.Sprintf("g-%03d", i), Max: 3, Tags: tags("x")})
	}
	server, clock := newStandIn(t)
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	for _, group := range groups {
		r.add(group)
	}
	r.provider = r.connect(aws.Options{AutoDiscovery: []string{"asg:tag=x"}, Clock: clock, Rates: aws.Rates{AutoScaling: 0.1, EC2: -1, EKS: -1}})
	over := make(chan error, 1)
	go func() { over <- r.provider.Refresh(r.ctx()) }()
	r.quiet() // a timer is set
	if got := r.count("DescribeAutoScalingGroups"); got != 4 {
		t.Errorf("%d of five pages are read at once", got)
	}
	clock.Step(10 * time.Second)
	if err := <-over; err != nil || len(r.names()) != 450 {
		t.Errorf("%d groups, %v", len(r.names()), err)
	}
}
