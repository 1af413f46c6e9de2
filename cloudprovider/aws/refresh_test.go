package aws_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func tags(pairs ...string) []awstest.Tag {
	var list []awstest.Tag
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		list = append(list, awstest.Tag{Key: key, Value: value})
	}
	return list
}

func TestANamedGroupIsReadWithOneCall(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"2:6:workers"}}, awstest.Group{Name: "workers", Max: 20, Desired: 3})
	if got := len(r.provider.NodeGroups()); got != 0 {
		t.Errorf("before the first refresh there are %d groups", got)
	}
	r.refresh()
	state := r.state("workers")
	if state.Min != 2 || state.Max != 6 || state.Target != 3 || state.Suspended != "" || state.Debug != "workers (2:6)" {
		t.Errorf("state %+v", state)
	}
	var want []cloudprovider.Instance
	for _, i := range r.machines("workers") {
		want = append(want, cloudprovider.Instance{ID: i.ProviderID(), State: cloudprovider.InstanceRunning, Zone: i.Zone, Type: i.Type})
	}
	if diff := cmp.Diff(want, state.Instances); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	var calls []string
	for _, call := range r.server.Calls() {
		if call.Service == awstest.AutoScaling {
			calls = append(calls, call.Action+" "+call.Params.Encode())
		}
	}
	if diff := cmp.Diff([]string{"DescribeAutoScalingGroups AutoScalingGroupNames.member.1=workers&MaxRecords=100"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestDiscoveryAsksByFilterAndOnlyOnce(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=a,b=x"}},
		awstest.Group{Name: "yes", Max: 5, Desired: 1, Tags: tags("a=1", "b=x")},
		awstest.Group{Name: "also", Max: 4, Tags: tags("a", "b=x")},
		awstest.Group{Name: "other-value", Max: 5, Tags: tags("a=1", "b=X")},
		awstest.Group{Name: "no-key", Max: 5, Tags: tags("b=x")},
	)
	r.refresh()
	if diff := cmp.Diff([]string{"also", "yes"}, r.names()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	call := r.server.Calls()[0]
	want := "Filters.member.1.Name=tag-key&Filters.member.1.Values.member.1=a&Filters.member.2.Name=tag%3Ab&Filters.member.2.Values.member.1=x&MaxRecords=100"
	if got := call.Params.Encode(); got != want || r.count("DescribeAutoScalingGroups") != 1 || r.count("DescribeTags") != 0 {
		t.Errorf("call %s, %d calls", got, r.count("DescribeAutoScalingGroups"))
	}
}

func TestSeveralDiscoveryRules(t *testing.T) {
	groups := []awstest.Group{
		{Name: "a", Max: 1, Tags: tags("x")}, {Name: "b", Max: 1, Tags: tags("y")}, {Name: "both", Max: 1, Tags: tags("x", "y")},
	}
	rules := []string{"asg:tag=x", "asg:tag=y"}
	all := newRig(t, aws.Options{AutoDiscovery: rules}, groups...)
	all.refresh()
	if diff := cmp.Diff([]string{"both"}, all.names()); diff != "" {
		t.Errorf("a group must match all rules (-want +got):\n%s", diff)
	}
	anyOf := newRig(t, aws.Options{AutoDiscovery: rules, DiscoverAny: true}, groups...)
	anyOf.refresh()
	if diff := cmp.Diff([]string{"a", "b", "both"}, anyOf.names()); diff != "" {
		t.Errorf("a group must match any rule (-want +got):\n%s", diff)
	}
}

func TestAGroupThatIsNamedAndTaggedIsOneGroupWithTheNamedBounds(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"1:3:a"}, AutoDiscovery: []string{"asg:tag=x"}},
		awstest.Group{Name: "a", Max: 9, Desired: 2, Tags: tags("x")}, awstest.Group{Name: "b", Max: 9, Tags: tags("x")})
	r.refresh()
	if diff := cmp.Diff([]string{"a", "b"}, r.names()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if s := r.state("a"); s.Min != 1 || s.Max != 3 {
		t.Errorf("bounds %d:%d", s.Min, s.Max)
	}
}

func TestManyGroupsArePagedAndAskedForInBatches(t *testing.T) {
	var named []string
	var groups []awstest.Group
	for i := range 250 {
		named = append(named, fmt.Sprintf("0:3:named-%03d", i))
		groups = append(groups, awstest.Group{Name: fmt.Sprintf("named-%03d", i), Max: 3, Desired: 1},
			awstest.Group{Name: fmt.Sprintf("tagged-%03d", i), Max: 3, Desired: 1, Tags: tags("x")})
	}
	r := newRig(t, aws.Options{Nodes: named, AutoDiscovery: []string{"asg:tag=x"}}, groups...)
	// A page may be short, or empty, although more follow.
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Skip: 3, Count: 1, Effect: awstest.ShortPage{Size: 0}})
	r.refresh()
	if got := len(r.provider.NodeGroups()); got != 500 {
		t.Fatalf("%d groups, want 500; errors %v", got, r.errs())
	}
	var sizes []int
	for _, call := range r.server.Calls() {
		if call.Action == "DescribeAutoScalingGroups" {
			names := 0
			for key := range call.Params {
				if strings.HasPrefix(key, "AutoScalingGroupNames") {
					names++
				}
			}
			sizes = append(sizes, names)
		}
	}
	if diff := cmp.Diff([]int{100, 100, 50, 0, 0, 0, 0}, sizes); diff != "" {
		t.Errorf("names per call (-want +got):\n%s", diff)
	}
	if got := r.count("DescribeLaunchTemplateVersions"); got != 1 {
		t.Errorf("%d calls for one launch template", got)
	}
	r.server.ForgetCalls()
	r.after(30 * time.Second)
	if calls := r.server.Calls(); len(calls) != 0 {
		t.Errorf("30 s later a refresh makes %d calls", len(calls))
	}
}

func TestBoundsOfDiscoveredGroupsFollowAWS(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"1:5:named"}, AutoDiscovery: []string{"asg:tag=x"}},
		awstest.Group{Name: "found", Min: 1, Max: 5, Desired: 1, Tags: tags("x")}, awstest.Group{Name: "named", Min: 1, Max: 5, Desired: 1})
	r.refresh()
	for _, name := range []string{"found", "named"} {
		if err := r.server.SetBounds(name, 1, 9); err != nil {
			t.Fatal(err)
		}
	}
	r.server.ForgetCalls()
	r.after(40 * time.Second)
	if len(r.server.Calls()) != 0 || r.state("found").Max != 5 {
		t.Errorf("after 40 s: %d calls, maximum %d", len(r.server.Calls()), r.state("found").Max)
	}
	r.after(20 * time.Second)
	if found, named := r.state("found").Max, r.state("named").Max; found != 9 || named != 5 {
		t.Errorf("after 60 s the maxima are %d and %d", found, named)
	}
}

func TestBoundsOfTheFlagAndOfAWSAreIntersected(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"1:20:wide", "0:2:apart"}},
		awstest.Group{Name: "wide", Min: 3, Max: 8, Desired: 4}, awstest.Group{Name: "apart", Min: 5, Max: 8, Desired: 5})
	r.refresh()
	if s := r.state("wide"); s.Min != 3 || s.Max != 8 {
		t.Errorf("bounds %d:%d", s.Min, s.Max)
	}
	want := []string{`apart: node group "apart" cannot be used until an operator acts: the bounds 0:2 of --nodes and 5:8 of the Auto Scaling group have nothing in common: change either`}
	if diff := cmp.Diff(want, r.errs()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"wide"}, r.names()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestGroupsThatDisappear(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:named"}, AutoDiscovery: []string{"asg:tag=x"}},
		awstest.Group{Name: "deleted", Max: 5, Desired: 1, Tags: tags("x")}, awstest.Group{Name: "untagged", Max: 5, Desired: 1, Tags: tags("x")},
		awstest.Group{Name: "stays", Max: 5, Desired: 1, Tags: tags("x")}, awstest.Group{Name: "named", Max: 5, Desired: 1})
	r.refresh()
	node := nodeOf(r.machines("untagged")[0])
	for _, name := range []string{"deleted", "named"} {
		if err := r.server.RemoveGroup(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.server.SetTags("untagged"); err != nil {
		t.Fatal(err)
	}
	r.after(time.Minute)
	if diff := cmp.Diff([]string{"named", "stays"}, r.names()); diff != "" {
		t.Errorf("the named group keeps its last data for one round (-want +got):\n%s", diff)
	}
	wantErr := []string{`named: node group "named" does not exist any more: AWS knows no Auto Scaling group of this name in region eu-west-1: ` +
		`check --nodes, the region (from the options) and the account`}
	if diff := cmp.Diff(wantErr, r.errs()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if group, err := r.provider.GroupOf(node); group != "" || err != nil {
		t.Errorf("the node of a group that lost its tags belongs to %q, %v", group, err)
	}
	if _, known := r.provider.InstanceExists(node); known {
		t.Error("whether the machine of an unmanaged group exists is not known")
	}
	r.after(time.Minute)
	if diff := cmp.Diff([]string{"stays"}, r.names()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantErr, r.errs()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if since := r.provider.GroupErrors()[0].Since; !since.Equal(eight.Add(time.Minute)) {
		t.Errorf("the error stands since %v", since)
	}
	r.add(awstest.Group{Name: "named", Max: 5, Desired: 2})
	r.after(time.Minute)
	if diff := cmp.Diff([]string{"named", "stays"}, r.names()); diff != "" || len(r.errs()) != 0 {
		t.Errorf("the group came back (-want +got):\n%s\nerrors %v", diff, r.errs())
	}
}

func TestAListingByTagThatLagsLosesNoGroup(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, awstest.Group{Name: "a", Max: 5, Desired: 1, Tags: tags("x")})
	r.refresh()
	r.server.Inject(awstest.Fault{
		Action: "DescribeAutoScalingGroups",
		Effect: awstest.RawAnswer{Body: "<DescribeAutoScalingGroupsResponse><DescribeAutoScalingGroupsResult><AutoScalingGroups/></DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>"},
	})
	r.after(time.Minute)
	if diff := cmp.Diff([]string{"a"}, r.names()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestOneGroupThatCannotBeUsedLeavesTheOthersAlone(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}},
		awstest.Group{Name: "good", Max: 5, Desired: 1, Tags: tags("x")},
		awstest.Group{Name: "operated", Max: 5, Desired: 1, Tags: tags("x"), Operator: "eks.amazonaws.com"},
		awstest.Group{Name: "units", Max: 64, Tags: tags("x"), DesiredCapacityType: "vcpu", LaunchTemplate: &awstest.LaunchTemplateRef{Name: "gone"}},
		awstest.Group{Name: "suspended", Max: 5, Desired: 1, Tags: tags("x"), SuspendedProcesses: []awstest.Process{awstest.ProcessLaunch}},
	)
	r.refresh()
	if diff := cmp.Diff([]string{"good", "operated", "suspended"}, r.names()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	want := []string{
		`operated: node group "operated" cannot be used until an operator acts: AWS lets only eks.amazonaws.com change it: leave it out of --nodes or take the discovery tags off`,
		`units: node group "units" cannot be used until an operator acts: the group counts its size in vcpu and which instance types it may start, to convert that to machines, is not known`,
	}
	if diff := cmp.Diff(want, r.errs()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if got := r.state("suspended").Suspended; got != "the process Launch of the Auto Scaling group is suspended" {
		t.Errorf("suspended: %q", got)
	}
	r.server.ForgetCalls()
	for _, name := range []string{"operated", "suspended"} {
		if granted, err := r.group(name).IncreaseSize(r.ctx(), 1); granted != 0 || kind(err) != "configuration" {
			t.Errorf("raising %s: %d, %v", name, granted, err)
		}
	}
	if writes := r.writes(); len(writes) != 0 {
		t.Errorf("writes %v", writes)
	}
}

func TestElementsThatAWSLeavesOutDoNoHarm(t *testing.T) {
	for _, elements := range [][]string{
		{"AvailabilityZones"}, {"Tags"}, {"LaunchTemplateName"}, {"Version"}, {"Value"}, {"Instances"}, {"InstanceType", "HealthStatus", "LifecycleState"},
		{"MinSize"}, {"DesiredCapacity"}, {"LaunchTemplate"}, {"AutoScalingGroupName"},
	} {
		t.Run(strings.Join(elements, "+"), func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:5:a"}}, awstest.Group{Name: "a", Max: 5, Desired: 1, Tags: tags("k=v")})
			r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: awstest.Always, Effect: awstest.Omit{Elements: elements}})
			r.refresh()
			if len(r.names())+len(r.errs()) == 0 {
				t.Error("the group is neither listed nor in error")
			}
			for _, group := range r.provider.NodeGroups() {
				if _, err := group.Templates(r.ctx()); err != nil {
					t.Logf("template: %v", err)
				}
			}
		})
	}
}

func TestNothingIsAskedForWhenNothingIsWanted(t *testing.T) {
	r := newRig(t, aws.Options{}, awstest.Group{Name: "a", Max: 5, Desired: 1})
	r.refresh()
	if calls := r.server.Calls(); len(calls) != 0 || len(r.names()) != 0 {
		t.Errorf("%d calls, groups %v: an empty question would be for all groups of the account", len(calls), r.names())
	}
}

func TestTheLastGoodDataStayWhileAWSDoesNotAnswer(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:a"}}, awstest.Group{Name: "a", Max: 5, Desired: 2})
	r.refresh()
	remove := r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: awstest.Always, Effect: awstest.Throttle{}})
	before := r.count("DescribeAutoScalingGroups")
	for range 24 { // four minutes of loops
		r.after(10 * time.Second)
	}
	if r.state("a").Target != 2 || len(r.errs()) != 0 {
		t.Errorf("target %d, errors %v", r.state("a").Target, r.errs())
	}
	// 60 s until due, then after 10, 20, 40, 60 and 60 s
	if got := r.count("DescribeAutoScalingGroups") - before; got != 5 {
		t.Errorf("%d attempts in four minutes", got)
	}
	r.clock.Step(70 * time.Second)
	err := r.provider.Refresh(r.ctx())
	if kind(err) != "transient" || !strings.Contains(err.Error(), "Throttling: Rate exceeded") {
		t.Errorf("after more than five minutes: %v", err)
	}
	if errs := r.errs(); len(errs) != 1 || !strings.Contains(errs[0], "AWS has not described the group since 2026-08-03T08:00:00Z") || r.state("a").Target != 2 {
		t.Errorf("errors %v, target %d", errs, r.state("a").Target)
	}
	remove()
	r.after(time.Minute)
	if len(r.errs()) != 0 {
		t.Errorf("errors %v", r.errs())
	}
}

func TestAFailedPageKeepsWhatItWouldHaveShown(t *testing.T) {
	var groups []awstest.Group
	for i := range 150 {
		groups = append(groups, awstest.Group{Name: fmt.Sprintf("g-%03d", i), Max: 3, Tags: tags("x")})
	}
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, groups...)
	r.refresh()
	if err := r.server.SetBounds("g-000", 0, 7); err != nil {
		t.Fatal(err)
	}
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Skip: 1, Effect: awstest.ErrorAnswer{Status: 503}})
	r.after(time.Minute)
	if got := len(r.names()); got != 150 || r.state("g-000").Max != 7 {
		t.Errorf("%d groups, maximum of the first one %d", got, r.state("g-000").Max)
	}
	r.server.ForgetCalls()
	r.after(10 * time.Second)
	if r.count("DescribeAutoScalingGroups") != 2 {
		t.Errorf("an incomplete refresh is repeated after 10 s, %d calls", r.count("DescribeAutoScalingGroups"))
	}
}

func TestWhatAnOperatorMustPutRightIsOneLine(t *testing.T) {
	tests := map[string]struct {
		harm func(*rig)
		want []string
	}{
		"expired credentials": {
			harm: func(r *rig) { r.server.SetCredentials(awstest.CredentialsExpired) },
			want: []string{"DescribeAutoScalingGroups: ExpiredToken: ", "check the credentials of this process", "region eu-west-1"},
		},
		"invalid credentials": {
			harm: func(r *rig) { r.server.SetCredentials(awstest.CredentialsInvalid) },
			want: []string{"DescribeAutoScalingGroups: InvalidClientTokenId: ", "check the credentials"},
		},
		"a permission is missing": {
			harm: func(r *rig) { r.server.Deny("autoscaling:DescribeAutoScalingGroups") },
			want: []string{"DescribeAutoScalingGroups: AccessDenied: ", "allow it in the IAM policy"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:5:a"}}, awstest.Group{Name: "a", Max: 5, Desired: 2})
			r.refresh()
			test.harm(r)
			r.clock.Step(time.Minute)
			err := r.provider.Refresh(r.ctx())
			if kind(err) != "configuration" || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", kind(err), err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q: %v", want, err)
				}
			}
			if diff := cmp.Diff([]string{"a"}, r.names()); diff != "" {
				t.Errorf("the old view is gone:\n%s", diff)
			}
		})
	}
}
