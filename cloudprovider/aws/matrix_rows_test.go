package aws_test

import (
	"slices"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// failingCalls are the rows of the matrix.
func failingCalls() []failing {
	return slices.Concat(failingReads(), failingWrites(), failingSources(), failingFacts(), failingPrices(), failingAccess())
}

// same is the outcome whatever the fault is.
func same(text string) outcomesBy { return outcomesBy{"": text} }

// unless is the outcome of faults that pass by themselves, and of a permission that lacks.
func unless(passes, lacks string) outcomesBy {
	return outcomesBy{"": passes, string(denied): lacks}
}

// absent is what a group that was never described looks like.
const absent = "not in the view, not in the view, desired 3"

// Both groups are as in the stand-in when nothing fails: somebody else has set the desired capacity of both to 3.
func failingReads() []failing {
	const all, old = "autoscaling:DescribeAutoScalingGroups", "shows old data, template none, "
	return []failing{
		{
			call: all, why: "of one group", group: "bad", act: (*stage).readsAndGrows, sound: "target 3, +1 none, desired 4",
			bad: unless("target 2, +0 transient, desired 3", "target 2, +0 configuration, desired 3"),
		},
		{ // the last good data do until they are too old; a permission that lacks is told at once
			call: all, why: "of all groups", act: (*stage).readsAndGrows, sound: "target 3, +1 none, desired 4",
			bad:    unless("target 2, +0 transient, desired 3", "target 2, +0 configuration, desired 3"),
			good:   unless(old+"+0 transient, desired 3, deletion transient", old+"+0 configuration, desired 3, deletion configuration"),
			health: unless("none", "configuration"),
		},
		{ // too old to plan with: both groups are set aside, and health says so
			call: all, why: "of all groups, for six minutes", act: (*stage).outlasts, sound: "target 3, +1 none, desired 4",
			bad:    unless("target 2, set aside: transient, +0 transient, desired 3", "target 2, set aside: transient, +0 configuration, desired 3"),
			good:   unless(old+"+0 transient, desired 3, deletion transient", old+"+0 configuration, desired 3, deletion configuration"),
			health: unless("none, then transient", "configuration"),
		},
		{ // nothing at all is usable
			call: all, why: "of all groups, at the start", early: true, act: (*stage).readsAndGrows, sound: "target 3, +1 none, desired 4",
			bad: same(absent), good: same("shows old data, " + absent), health: unless("transient", "configuration"),
		},
		{ // without the reason of a failure the place waits, and nothing is lowered blindly
			call: "autoscaling:DescribeScalingActivities", group: "bad", world: startsShort, act: (*stage).withdraws,
			sound: "running running place-0!InsufficientInstanceCapacity, -1 none, desired 2",
			bad:   unless("running running place-0, -0 transient, desired 3", "running running place-0, -0 configuration, desired 3"),
		},
		{
			call: "autoscaling:DescribeInstanceRefreshes", group: "bad", act: (*stage).shrinkable, sound: "shrinks",
			bad: unless("not shrunk", "shrinks"),
		},
	}
}

func failingWrites() []failing {
	const short = "running running place-0!InsufficientInstanceCapacity, "
	return []failing{
		{
			call: "autoscaling:SetDesiredCapacity", why: "raising", group: "bad", act: (*stage).grows, sound: "+1 none, desired 4",
			bad: outcomesBy{
				"throttled": "+0 transient, desired 3", "lostBefore": "+0 transient, outcome unknown, desired 3", "lostAfter": "+1 none, desired 4",
				"denied": "+0 configuration, desired 3",
			},
		},
		{
			call: "autoscaling:SetDesiredCapacity", why: "withdrawing", group: "bad", world: startsShort, act: (*stage).withdraws, sound: short + "-1 none, desired 2",
			bad: outcomesBy{
				"throttled": short + "-0 transient, desired 3", "lostBefore": short + "-0 transient, outcome unknown, desired 3", "lostAfter": short + "-1 none, desired 2",
				"denied": short + "-0 configuration, desired 3",
			},
		},
		{ // nothing is lowered while it isn't known whether the machines are protected; who may not protect them trusts in the other rules
			call: "autoscaling:SetInstanceProtection", group: "bad", world: startsShort, act: (*stage).withdraws, sound: short + "-1 none, desired 2",
			bad: outcomesBy{
				"throttled": short + "-0 transient, desired 3", "lostBefore": short + "-0 transient, outcome unknown, desired 3",
				"lostAfter": short + "-0 transient, outcome unknown, desired 3", "denied": short + "-1 none, desired 2",
			},
		},
		{
			call: "autoscaling:TerminateInstanceInAutoScalingGroup", why: "one machine", group: "bad", act: ends(1), sound: "ok, desired 2, 2 machines",
			bad: outcomesBy{
				"throttled": "transient, desired 3, 3 machines", "lostBefore": "transient, outcome unknown, desired 3, 3 machines",
				"lostAfter": "ok, desired 2, 2 machines", "denied": "configuration, desired 3, 3 machines",
			},
		},
		{
			call: "autoscaling:TerminateInstanceInAutoScalingGroup", why: "two machines", group: "bad", act: ends(2), sound: "ok, desired 1, 1 machines",
			bad: outcomesBy{
				"throttled": "transient, desired 3, 3 machines", "lostBefore": "transient, outcome unknown, desired 3, 3 machines",
				"lostAfter": "ok, desired 1, 1 machines", "denied": "configuration, desired 3, 3 machines",
			},
		},
	}
}

const (
	plainNode = "eu-west-1a 20Gi euw1-az1"
	grown     = ", +1 none, desired 4"
)

// failingSources are calls without which a group has no template. It can grow all the same: whether it should is not for the provider to say.
func failingSources() []failing {
	template := unless("template transient"+grown, "template configuration"+grown)
	versions := func(s *stage, _ *aws.Options, good, _ *awstest.Group) {
		s.server.PutLaunchConfiguration(awstest.LaunchConfiguration{Name: "lc", InstanceType: "m5.large"})
		good.LaunchConfiguration = "lc"
	}
	managed := func(s *stage, _ *aws.Options, _, bad *awstest.Group) {
		nodegroup := awstest.Nodegroup{Cluster: "c", Name: "ng", Labels: map[string]string{"team": "red"}}
		s.put(nodegroup)
		bad.Tags = nodegroup.GroupTags()
	}
	return []failing{
		{
			call: "autoscaling:DescribeLaunchConfigurations", early: true, act: (*stage).describes, sound: plainNode + grown, bad: template,
			world: func(s *stage, _ *aws.Options, _, bad *awstest.Group) {
				s.server.PutLaunchConfiguration(awstest.LaunchConfiguration{Name: "lc", InstanceType: "m5.large"})
				bad.LaunchConfiguration = "lc"
			},
		},
		{call: "ec2:DescribeLaunchTemplateVersions", early: true, act: (*stage).describes, sound: plainNode + grown, bad: template, world: versions},
		{
			call: "ec2:DescribeLaunchTemplateVersions", why: "anew", after: 6 * time.Minute, act: (*stage).describes, sound: plainNode + grown,
			bad: same(plainNode + grown), world: versions,
		},
		{
			call: "ec2:GetInstanceTypesFromInstanceRequirements", early: true, act: (*stage).describes, sound: plainNode + grown, bad: template,
			world: func(_ *stage, _ *aws.Options, _, bad *awstest.Group) {
				bad.MixedInstances = &awstest.MixedInstances{
					LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, Overrides: []awstest.Override{{Requirements: &awstest.Requirements{
						AllowedInstanceTypes: []string{"m5.large"}, VCPUs: awstest.Range{Min: 2}, MemoryMiB: awstest.Range{Min: 4096},
					}}},
				}
			},
		},
		{call: "eks:DescribeNodegroup", group: "bad", early: true, act: (*stage).describes, sound: plainNode + " red" + grown, bad: template, world: managed},
		{
			call: "eks:DescribeNodegroup", why: "anew", group: "bad", after: 12 * time.Minute, act: (*stage).describes, sound: plainNode + " red" + grown,
			bad: same(plainNode + " red" + grown), world: managed,
		},
	}
}

// failingFacts are calls without which a template lacks something, or is made of what is built in.
func failingFacts() []failing {
	offered := func(s *stage, _ *aws.Options, _, bad *awstest.Group) {
		s.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "rare", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.xlarge"}}})
		s.server.SetOffered("m5.xlarge", "eu-west-1b", false)
		bad.Zones, bad.LaunchTemplate = []string{"eu-west-1a", "eu-west-1b"}, &awstest.LaunchTemplateRef{Name: "rare"}
	}
	zoneless := func(_ *stage, _ *aws.Options, _, bad *awstest.Group) {
		bad.ZoneIDsOnly, bad.Desired, bad.Zones, bad.Timing = true, 0, []string{"eu-west-1a"}, awstest.Timing{Request: 100 * time.Hour}
	}
	return []failing{
		{
			call: "ec2:DescribeImages", early: true, act: (*stage).describes, sound: "eu-west-1a 77Gi euw1-az1" + grown, bad: same(plainNode + grown),
			world: func(s *stage, _ *aws.Options, _, bad *awstest.Group) {
				s.server.PutImage(awstest.Image{ID: "ami-1", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 77}}})
				s.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "imaged", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-1"}}})
				bad.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "imaged"}
			},
		},
		{ // of a type that isn't built in
			call: "ec2:DescribeInstanceTypes", early: true, act: (*stage).describes, sound: plainNode + grown, bad: same("template configuration" + grown),
			world: func(s *stage, _ *aws.Options, _, bad *awstest.Group) {
				s.server.PutInstanceType(instancetypes.Type{Name: "q9.huge", VCPUs: 512, MemoryMiB: 1 << 20, Architecture: "amd64", ENIs: 3, IPv4PerENI: 10})
				s.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "new", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "q9.huge"}}})
				bad.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "new"}
			},
		},
		{
			call: "ec2:DescribeInstanceTypeOfferings", early: true, act: (*stage).describes, sound: plainNode + grown,
			bad: same(plainNode + " + eu-west-1b 20Gi euw1-az2" + grown), world: offered,
		},
		{
			call: "ec2:DescribeInstanceTypeOfferings", why: "anew", after: 25 * time.Hour, act: (*stage).describes, sound: plainNode + grown, bad: same(plainNode + grown),
			world: offered,
		},
		{ // of a group whose zones AWS tells by their ids only
			call: "ec2:DescribeAvailabilityZones", early: true, act: (*stage).describes, sound: plainNode + grown, bad: same("template configuration" + grown), world: zoneless,
		},
		{
			call: "ec2:DescribeAvailabilityZones", why: "anew", after: 25 * time.Hour, act: (*stage).describes, sound: plainNode + grown, bad: same(plainNode + grown),
			world: zoneless,
		},
	}
}

// fewTypes makes price lists short.
func fewTypes(s *stage) {
	all, err := instancetypes.Builtin()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, known := range all.All() {
		if !strings.HasPrefix(known.Name, "m5.") {
			s.server.RemoveInstanceType(known.Name)
		}
	}
}

// The built-in formula says 0.096 for an m5.large.
func failingPrices() []failing {
	spot := func(s *stage, o *aws.Options, _, bad *awstest.Group) {
		o.ReadPrices = true
		fewTypes(s)
		s.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "spot", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", Spot: true}}})
		s.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.15})
		s.server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", PerHour: 0.02})
		bad.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "spot"}
	}
	list := func(s *stage, o *aws.Options, _, _ *awstest.Group) {
		o.ReadPrices = true
		fewTypes(s)
		s.server.SetPrice(awstest.Price{Type: "m5.large", PerHour: 0.55})
	}
	return []failing{
		{call: "ec2:DescribeSpotPriceHistory", early: true, act: (*stage).costs, sound: "costs 0.02" + grown, bad: same("costs 0.15" + grown), world: spot},
		{
			call: "ec2:DescribeSpotPriceHistory", why: "anew", after: 31 * time.Minute, act: (*stage).costs, sound: "costs 0.02" + grown, bad: same("costs 0.02" + grown),
			world: spot,
		},
		{call: "pricing:GetProducts", early: true, act: (*stage).costs, sound: "costs 0.55" + grown, bad: same("costs 0.10" + grown), world: list},
		{call: "pricing:GetProducts", why: "anew", after: 13 * time.Hour, act: (*stage).costs, sound: "costs 0.55" + grown, bad: same("costs 0.55" + grown), world: list},
	}
}

func failingAccess() []failing {
	nothing := failing{early: true, act: (*stage).readsAndGrows, sound: "target 3" + grown, bad: same(absent), good: same("shows old data, " + absent), health: unless("transient", "configuration")}
	role, token := nothing, nothing
	role.call, role.world = "sts:AssumeRole", func(_ *stage, o *aws.Options, _, _ *awstest.Group) {
		o.CloudConfig = []byte("[Global]\nRoleARN = arn:aws:iam::111122223333:role/scaler\n")
	}
	token.call, token.world = "sts:AssumeRoleWithWebIdentity", webIdentity
	return []failing{
		{
			call: "sts:GetCallerIdentity", early: true, act: (*stage).introduced, sound: "told" + grown, bad: same("not told" + grown),
			world: func(_ *stage, o *aws.Options, _, _ *awstest.Group) { o.ReportIdentity = true },
		},
		role, token,
	}
}
