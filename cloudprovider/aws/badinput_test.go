package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// sane is a group as the service describes it. Pairs of what stands in it and what is to stand there instead follow the name.
func sane(name string, replace ...string) string {
	return strings.NewReplacer(replace...).Replace("<member><AutoScalingGroupName>" + name + "</AutoScalingGroupName><MinSize>0</MinSize><MaxSize>9</MaxSize>" +
		"<DesiredCapacity>1</DesiredCapacity><AvailabilityZones><member>eu-west-1a</member></AvailabilityZones>" +
		"<LaunchTemplate><LaunchTemplateName>workers</LaunchTemplateName><Version>1</Version></LaunchTemplate>" +
		"<Instances><member><InstanceId>i-0abc1234</InstanceId><AvailabilityZone>eu-west-1a</AvailabilityZone><InstanceType>m5.large</InstanceType>" +
		"<LifecycleState>InService</LifecycleState><HealthStatus>Healthy</HealthStatus></member></Instances></member>")
}

// policy is a mixed instances policy with one override.
func policy(override string) []string {
	return []string{
		"<LaunchTemplate><LaunchTemplateName>workers</LaunchTemplateName><Version>1</Version></LaunchTemplate>",
		"<MixedInstancesPolicy><LaunchTemplate><LaunchTemplateSpecification><LaunchTemplateName>workers</LaunchTemplateName></LaunchTemplateSpecification><Overrides>" +
			override + "</Overrides></LaunchTemplate></MixedInstancesPolicy>",
	}
}

// A description that makes no sense sets its group aside, or is used as far as it makes sense; the other group of the same answer works.
func TestOddDescriptionsOfAGroupHarmNoOther(t *testing.T) {
	const instance = "<InstanceId>i-0abc1234</InstanceId>"
	tests := map[string]struct {
		odd  []string
		want string // target, instances, template; or the error
	}{
		"nothing odd":                   {want: "1, 1 instances, template none"},
		"a minimum above the maximum":   {[]string{"<MinSize>0", "<MinSize>10"}, "AWS tells a maximum below the minimum"},
		"no maximum":                    {[]string{"<MaxSize>9</MaxSize>", ""}, "AWS does not tell its minimum, maximum and desired capacity"},
		"a negative desired capacity":   {[]string{"<DesiredCapacity>1", "<DesiredCapacity>-1"}, "AWS tells a negative size"},
		"a negative minimum":            {[]string{"<MinSize>0", "<MinSize>-3"}, "AWS tells a negative size"},
		"a desired capacity beyond max": {[]string{"<DesiredCapacity>1", "<DesiredCapacity>12"}, "12, 12 instances, template none"},
		"an instance without an id":     {[]string{instance, ""}, "1, 1 instances, template none"},
		"an instance with a foreign id": {[]string{instance, "<InstanceId>mi-7</InstanceId>"}, "1, 1 instances, template none"},
		"an instance twice": {
			[]string{"<Instances>", "<Instances><member>" + instance + "<LifecycleState>InService</LifecycleState></member>"}, "1, 1 instances, template none",
		},
		"an instance without a zone":      {[]string{"<AvailabilityZone>eu-west-1a</AvailabilityZone>", ""}, "1, 1 instances, template none"},
		"a lifecycle state from tomorrow": {[]string{"InService", "Levitating"}, "1, 1 instances, template none"},
		"no launch source at all": {
			[]string{"<LaunchTemplate><LaunchTemplateName>workers</LaunchTemplateName><Version>1</Version></LaunchTemplate>", ""}, "1, 1 instances, template configuration",
		},
		"a launch template without a name": {[]string{"<LaunchTemplateName>workers</LaunchTemplateName>", ""}, "1, 1 instances, template configuration"},
		"a zone that doesn't exist":        {[]string{"<member>eu-west-1a</member>", "<member>mars-1a</member>"}, "1, 1 instances, template none"},
		"a weight that is no number": {
			policy("<member><InstanceType>m5.large</InstanceType><WeightedCapacity>heavy</WeightedCapacity></member>"),
			`the weight "heavy" of instance type "m5.large" is not a whole number above 0`,
		},
		"a weight below one": {
			policy("<member><InstanceType>m5.large</InstanceType><WeightedCapacity>-2</WeightedCapacity></member>"),
			`the weight "-2" of instance type "m5.large" is not a whole number above 0`,
		},
		"an override without anything": {policy("<member/>"), "1, 1 instances, template none"},
		"a unit from tomorrow":         {[]string{"<MinSize>", "<DesiredCapacityType>kilograms</DesiredCapacityType><MinSize>"}, "kilograms"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:99:odd", "0:99:good"}})
			body := "<DescribeAutoScalingGroupsResponse><DescribeAutoScalingGroupsResult><AutoScalingGroups>" + sane("odd", test.odd...) +
				sane("good", "i-0abc1234", "i-0def5678") + "</AutoScalingGroups></DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>"
			r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: awstest.Always, Effect: awstest.RawAnswer{Body: body}})
			r.refresh()
			if got := r.look("good"); got != "1, 1 instances, template none" {
				t.Errorf("the other group: %s", got)
			}
			if got := r.look("odd"); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// look sums up a group: its error, or what the view has of it.
func (r *rig) look(name string) string {
	r.t.Helper()
	for _, e := range r.provider.GroupErrors() {
		if string(e.Group) == name {
			return e.Err.Error()
		}
	}
	state := r.state(name)
	_, err := r.group(name).Templates(r.ctx())
	return fmt.Sprintf("%d, %d instances, template %s", state.Target, len(state.Instances), kind(err))
}

// Answers that can be read and make no sense end like answers that can't be read: what needs them does without, the rest works.
func TestOddAnswersHarmOnlyWhatNeedsThem(t *testing.T) {
	xml := func(action, content string) awstest.Effect {
		return awstest.RawAnswer{Body: "<" + action + "Response>" + content + "</" + action + "Response>"}
	}
	tests := []struct {
		call, name string
		effect     awstest.Effect
		want       string
	}{
		{"autoscaling:DescribeScalingActivities", "without times and causes", xml("DescribeScalingActivities",
			"<DescribeScalingActivitiesResult><Activities><member><ActivityId>1</ActivityId><StatusCode>Failed</StatusCode></member><member/></Activities></DescribeScalingActivitiesResult>"),
			"running running place-0, -1 none, desired 2"},
		{"autoscaling:DescribeInstanceRefreshes", "a status from tomorrow", xml("DescribeInstanceRefreshes",
			"<DescribeInstanceRefreshesResult><InstanceRefreshes><member><Status>Meditating</Status></member><member/></InstanceRefreshes></DescribeInstanceRefreshesResult>"), "shrinks"},
		{"autoscaling:DescribeLaunchConfigurations", "an empty list", xml("DescribeLaunchConfigurations",
			"<DescribeLaunchConfigurationsResult><LaunchConfigurations/></DescribeLaunchConfigurationsResult>"), "template configuration" + grown},
		{"ec2:DescribeLaunchTemplateVersions", "an empty list", xml("DescribeLaunchTemplateVersions", "<launchTemplateVersionSet/>"), "template configuration" + grown},
		{"ec2:DescribeLaunchTemplateVersions", "a version without data", xml("DescribeLaunchTemplateVersions",
			"<launchTemplateVersionSet><item><versionNumber>1</versionNumber></item></launchTemplateVersionSet>"), "template configuration" + grown},
		{"ec2:DescribeLaunchTemplateVersions", "user data that is none", xml("DescribeLaunchTemplateVersions",
			"<launchTemplateVersionSet><item><launchTemplateData><instanceType>m5.large</instanceType><userData>%%%</userData></launchTemplateData></item></launchTemplateVersionSet>"),
			plainNode + grown},
		{"ec2:DescribeImages", "an empty list", xml("DescribeImages", "<imagesSet/>"), plainNode + grown},
		{"ec2:DescribeImages", "an image without anything", xml("DescribeImages", "<imagesSet><item/></imagesSet>"), plainNode + grown},
		{"ec2:DescribeInstanceTypes", "a type without anything", xml("DescribeInstanceTypes",
			"<instanceTypeSet><item><instanceType>q9.huge</instanceType></item><item/></instanceTypeSet>"), "template configuration" + grown},
		{"ec2:DescribeInstanceTypeOfferings", "an empty list", xml("DescribeInstanceTypeOfferings", "<instanceTypeOfferingSet/>"),
			plainNode + " + eu-west-1b 20Gi euw1-az2" + grown},
		{"ec2:DescribeAvailabilityZones", "an empty list", xml("DescribeAvailabilityZones", "<availabilityZoneInfo/>"), "template configuration" + grown},
		{"ec2:GetInstanceTypesFromInstanceRequirements", "an empty list", xml("GetInstanceTypesFromInstanceRequirements", "<instanceTypeSet/>"), "template configuration" + grown},
		{"eks:DescribeNodegroup", "an empty document", awstest.RawAnswer{Body: "{}"}, "template transient" + grown},
		{"eks:DescribeNodegroup", "null", awstest.RawAnswer{Body: "null"}, "template transient" + grown},
		{"eks:DescribeNodegroup", "labels of the wrong kind", awstest.RawAnswer{Body: `{"nodegroup":{"labels":["a"],"taints":{}}}`}, "template transient" + grown},
		{"ec2:DescribeSpotPriceHistory", "a price that is no number", xml("DescribeSpotPriceHistory",
			"<spotPriceHistorySet><item><instanceType>m5.large</instanceType><availabilityZone>eu-west-1a</availabilityZone><productDescription>Linux/UNIX</productDescription>"+
				"<spotPrice>cheap</spotPrice></item><item/></spotPriceHistorySet>"), "costs 0.15" + grown},
		{"pricing:GetProducts", "products that are no products", awstest.RawAnswer{Body: `{"FormatVersion":"aws_v1","PriceList":["","{}","[]","{\"product\":7}"]}`}, "costs 0.10" + grown},
	}
	for _, test := range tests {
		t.Run(test.call+" "+test.name, func(t *testing.T) {
			rows := failingCalls()
			i := slices.IndexFunc(rows, func(row failing) bool { return row.call == test.call && row.why == "" })
			if i < 0 {
				t.Fatal("the matrix has no such row")
			}
			got := play(t, rows[i], faultKind{effect: test.effect})
			if diff := cmp.Diff(cell{Bad: test.want, Good: working, Health: "none"}, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

// A group that is made anew under its name is another one: its machines are known, those of the old one are gone.
func TestAGroupThatIsMadeAnewUnderItsNameIsAnother(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, awstest.Group{Name: "a", Max: 9, Desired: 3, Tags: tags("x")})
	r.refresh()
	old, before := r.group("a"), r.machines("a")
	if granted, err := old.IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
		t.Fatalf("granted %d, %v", granted, err)
	}
	if err := r.server.RemoveGroup("a"); err != nil {
		t.Fatal(err)
	}
	r.add(awstest.Group{Name: "a", Max: 5, Desired: 1, Tags: tags("x"), Zones: []string{"eu-west-1b"}})
	r.after(2 * time.Minute)
	state := r.state("a")
	if state.Max != 5 || state.Target != 1 || shape(state) != "running" {
		t.Errorf("max %d, target %d, %s", state.Max, state.Target, shape(state))
	}
	if exists, known := r.provider.InstanceExists(nodeOf(before[0])); exists || !known {
		t.Errorf("a machine of the old group: exists %t, known %t", exists, known)
	}
	if group, err := r.provider.GroupOf(nodeOf(r.machines("a")[0])); group != "a" || err != nil {
		t.Errorf("a machine of the new group belongs to %q, %v", group, err)
	}
	outcome, err := old.DeleteNodes(r.ctx(), refs(before[0]))
	if err != nil || outcome[0].Err != nil || r.desired("a") != 1 {
		t.Errorf("deleting a machine of the old group: %v, %v, desired %d", outcome, err, r.desired("a"))
	}
	if granted, err := r.group("a").IncreaseSize(r.ctx(), 1); granted != 1 || err != nil || r.desired("a") != 2 {
		t.Errorf("granted %d, %v, desired %d", granted, err, r.desired("a"))
	}
}

// A group that was deleted a moment ago is gone, whatever is asked of it.
func TestWhateverIsAskedOfADeletedGroupItIsGone(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}}, awstest.Group{Name: "a", Max: 9, Desired: 2, Tags: tags("x")},
		awstest.Group{Name: "b", Max: 9, Desired: 1, Tags: tags("x")})
	r.refresh()
	group, machines := r.group("a"), r.machines("a")
	if err := r.server.RemoveGroup("a"); err != nil {
		t.Fatal(err)
	}
	for _, moment := range []string{"before a refresh", "after it"} {
		r.old()
		if granted, err := group.IncreaseSize(r.ctx(), 1); granted != 0 || kind(err) != "gone" {
			t.Errorf("%s: raised by %d, %v", moment, granted, err)
		}
		if lowered, err := group.DecreaseTargetSize(r.ctx(), 1); lowered != 0 || kind(err) != "gone" {
			t.Errorf("%s: lowered by %d, %v", moment, lowered, err)
		}
		if got, err := group.DeleteNodes(r.ctx(), refs(machines...)); err != nil || !slices.Equal(outcomes(got), []string{"ok", "ok"}) {
			t.Errorf("%s: deleted %v, %v", moment, outcomes(got), err)
		}
		if _, err := group.(cloudprovider.StateReader).ReadState(r.ctx()); kind(err) != "gone" {
			t.Errorf("%s: read: %v", moment, err)
		}
		if _, err := group.Templates(r.ctx()); err != nil {
			t.Errorf("%s: its template: %v", moment, err)
		}
		r.after(time.Minute)
	}
	if got := r.raised("b"); got != 2 {
		t.Errorf("the other group was raised to %d", got)
	}
	if writes := r.writes(); !slices.Equal(writes, []string{"SetDesired(b,2)"}) {
		t.Errorf("writes %v", writes)
	}
}

// raised raises a group by one and returns its desired capacity.
func (r *rig) raised(name string) int {
	r.t.Helper()
	if granted, err := r.group(name).IncreaseSize(r.ctx(), 1); granted != 1 || err != nil {
		r.t.Errorf("granted %d, %v", granted, err)
	}
	return r.desired(name)
}

// A clock that jumps neither stops the refreshes nor costs a machine.
func TestAClockThatJumpsStopsNothing(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back by an hour": -time.Hour, "back by a month": -30 * 24 * time.Hour, "on by an hour": time.Hour, "on by a month": 30 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			var wrong atomic.Int64
			server, clock := newStandIn(t)
			r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
			r.add(awstest.Group{Name: "a", Max: 9, Desired: 3, Timing: awstest.Timing{Request: 20 * time.Second, Retry: time.Hour}})
			r.add(awstest.Group{Name: "b", Max: 9, Desired: 1})
			nodegroup := awstest.Nodegroup{Cluster: "c", Name: "ng"}
			r.put(nodegroup)
			r.add(awstest.Group{Name: "eks", Max: 9, Tags: nodegroup.GroupTags()})
			options := aws.Options{Nodes: []string{"0:9:a", "0:9:b", "0:9:eks"}, ReadPrices: true, Clock: jumping{Clock: clock, wrong: &wrong}}
			r.provider = r.connect(options)
			r.load()
			served := r.served(nil)
			if got := r.raised("a"); got != 4 {
				t.Fatalf("desired %d", got)
			}
			wrong.Store(int64(jump))
			r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.xlarge"}}})
			r.server.SetStock(awstest.StockRule{Group: "a", Left: 0})
			if err := r.server.SetDesired("b", 2); err != nil {
				t.Fatal(err)
			}
			for range 9 {
				r.after(10 * time.Second)
			}
			if got := r.state("b").Target; got != 2 {
				t.Errorf("90 s later the target of b is %d, want the 2 of somebody else", got)
			}
			if got := shape(r.state("a")); got != "running running running place-0!InsufficientInstanceCapacity" {
				t.Errorf("90 s later the failed launch shows as %s", got)
			}
			if got := r.raised("b"); got != 3 {
				t.Errorf("b was raised to %d", got)
			}
			for range 30 {
				r.after(10 * time.Second)
			}
			if lowered, err := r.group("a").DecreaseTargetSize(r.ctx(), 4); lowered != 1 || err != nil || r.desired("a") != 3 {
				t.Errorf("lowered by %d, %v, desired %d", lowered, err, r.desired("a"))
			}
			if got := r.fresh("b").Labels["node.kubernetes.io/instance-type"]; got != "m5.xlarge" {
				t.Errorf("the launch template's new version is not seen: %s", got)
			}
			for range 13 {
				r.after(time.Minute)
			}
			if got := r.count("DescribeNodegroup"); got < 2 {
				t.Errorf("EKS was asked %d times in 20 minutes", got)
			}
			r.checkUnharmed(served)
			r.checkWrites()
			if errs := r.errs(); len(errs) != 0 {
				t.Errorf("set aside: %v", errs)
			}
		})
	}
}
