package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asgapi"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/attempts"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/cloudconfig"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/ec2api"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/eksapi"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/session"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/throttle"
	"example.com/cluster-autoscaler/cloudprovider/internal/calls"
)

// Name selects this provider in --cloud-provider.
const Name = "aws"

// Options is what a Provider is made with.
type Options struct {
	Nodes         []string // the values of --nodes: MIN:MAX:NAME
	AutoDiscovery []string // the values of --node-group-auto-discovery: asg:tag=KEY[=VALUE],…
	// DiscoverAny takes every group that one of several discovery rules matches; false: a group must match all of them.
	DiscoverAny bool
	// CloudConfig is the content of the file behind --cloud-config; nil: none.
	CloudConfig []byte
	// StaticInstanceTypes never asks EC2 what an instance type offers; --aws-use-static-instance-list.
	StaticInstanceTypes bool
	// MaxNodeProvisionTime is how far back failed launches count after a start, and how long machines may take to become nodes; --max-node-provision-time.
	MaxNodeProvisionTime time.Duration
	// PauseByTag leaves groups alone whose tag k8s.io/cluster-autoscaler/enabled is false or disabled; --aws-pause-by-tag.
	PauseByTag bool
	// Version goes into the user agent of all calls; empty: dev.
	Version string
	Clock   clock.Clock // required
	// RefreshInterval is the time between two readings of everything; 0: a minute. --aws-refresh-interval
	RefreshInterval time.Duration
	// Random draws by how much each interval differs from that, up to a tenth; nil: not at all.
	Random *rand.Rand
	// Rates bounds the requests per second; the zero value gives the defaults.
	Rates Rates
	// Observer is told about every request, retries included; nil: nobody is. If it is an EventObserver too, it is told what happens besides.
	Observer cloudprovider.CallObserver
	// PriceOverrides is the content of the file behind --aws-price-overrides; nil: none.
	PriceOverrides []byte
	// ReadPrices asks AWS for prices in the background; false: prices are those of the overrides and of a formula.
	ReadPrices bool
	// ReportIdentity asks STS once, in the background, as whom AWS is called, and logs it.
	ReportIdentity bool
	// SDK changes what the SDK's default chain gives; nil: nothing is changed.
	SDK []func(*config.LoadOptions) error
}

// New checks the options and makes a Provider with an empty view. It reads the environment and the shared files of AWS through the SDK,
// and asks the instance metadata service for the region if nothing else tells it; AWS itself is first asked by Refresh. The error joins
// all that is wrong with the options.
func New(ctx context.Context, o Options) (*Provider, error) {
	if o.Clock == nil {
		return nil, errors.New("making the AWS provider: Options.Clock is nil")
	}
	named, namedErr := discovery.ParseNodes(o.Nodes)
	rules, rulesErr := discovery.ParseAutoDiscovery(o.AutoDiscovery)
	cloud, cloudErr := cloudconfig.Parse(o.CloudConfig)
	builtin, builtinErr := instancetypes.Builtin()
	told, events := newNotices(o.Clock), eventsOf(o.Observer)
	sent := &traffic{to: &denials{to: observerOr(o.Observer), notices: told}, clock: o.Clock}
	pace := throttle.New(throttle.Rates(o.Rates), o.Clock, told.throttled)
	var s session.Session
	overrides, overridesErr := o.priceOverrides()
	err := errors.Join(namedErr, rulesErr, cloudErr, builtinErr, overridesErr)
	if cloudErr == nil { // the region may stand in the cloud config
		var sessionErr error
		s, sessionErr = session.Load(ctx, session.Options{
			Cloud: cloud, Version: versionOr(o.Version), Attempt: inTurn(attempts.Observe(Name, sent, o.Clock), pace.Install), Overrides: o.SDK,
		})
		err = errors.Join(err, sessionErr)
	}
	if err != nil {
		return nil, fmt.Errorf("configuring the AWS provider: %w", err)
	}
	logger := klog.FromContext(ctx)
	for _, warning := range cloud.Warnings {
		logger.Info("Part of the AWS cloud config is not understood", "reason", warning)
	}
	for _, warning := range s.Warnings {
		logger.Info("Part of the AWS environment has no effect", "reason", warning)
	}
	logger.Info("Using AWS", "region", s.Region, "regionSource", s.RegionSource, "roleARN", cloud.RoleARN)
	groups := asgapi.New(s.Config, s.Override("autoscaling"), o.Clock.Now)
	machines := ec2api.New(s.Config, s.Override("ec2"))
	p := &Provider{
		calls:         calls.Group{Cloud: "AWS"},
		api:           groups,
		launches:      launch.NewCache(groups, machines, builtin, !o.StaticInstanceTypes, o.Clock),
		managed:       managed.NewCache(eksapi.New(s.Config, s.Override("eks")), o.Clock),
		clock:         o.Clock,
		wanted:        wanted{named: named, given: rules, rules: effective(rules, o.DiscoverAny), region: s.Region, regionSource: s.RegionSource},
		history:       o.Clock.Now().Add(-o.MaxNodeProvisionTime),
		provisionTime: o.MaxNodeProvisionTime,
		changed:       make(chan struct{}, 1),
		notices:       told, events: events, traffic: sent,
		interval: cmp.Or(o.RefreshInterval, fullEvery), random: o.Random,
		nudged: make(chan struct{}, 1),
		books:  map[string]*book{},

		pauseByTag: o.PauseByTag,
		gathering:  gathering{turn: make(chan struct{}, 1)},
	}
	p.view.Store(&view{})
	p.prices = o.pricing(s, overrides, machines, p.launches)
	if o.ReportIdentity {
		p.identify = s.Identity
	}
	return p, nil
}

// wanted is which groups the operator asked for, and where.
type wanted struct {
	named        []discovery.Named
	given        []discovery.Rule // one per flag
	rules        []discovery.Rule // one question each; a group belongs to us if any of them matches
	region       string
	regionSource string
}

func effective(rules []discovery.Rule, matchAny bool) []discovery.Rule {
	if matchAny || len(rules) == 0 {
		return rules
	}
	return []discovery.Rule{discovery.Merge(rules)}
}

func versionOr(version string) string {
	if version == "" {
		return "dev"
	}
	return version
}

// Rates are how many requests per second are sent to each API at most; 0: the default, below 0: any number.
type Rates struct {
	AutoScaling float64 // 5 by default
	EC2         float64 // 10 by default
	EKS         float64 // 2 by default
}

// inTurn makes one option of the SDK of two.
func inTurn(first, second func(*middleware.Stack) error) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		if err := first(stack); err != nil {
			return err
		}
		return second(stack)
	}
}

// eventsOf is the observer if it wants to be told of events, too.
func eventsOf(observer cloudprovider.CallObserver) cloudprovider.EventObserver {
	events, _ := observer.(cloudprovider.EventObserver)
	return events
}

func observerOr(observer cloudprovider.CallObserver) cloudprovider.CallObserver {
	if observer == nil {
		return cloudprovider.ObserverFunc(func(cloudprovider.Call) {})
	}
	return observer
}

// RequestEndpoint is the value that the label endpoint of the metric aws_request_duration_seconds has for an operation of the API. measured is
// false for operations that upstream doesn't measure.
func RequestEndpoint(operation string) (label string, measured bool) {
	switch operation {
	case "DescribeAutoScalingGroups":
		return "DescribeAutoScalingGroupsPages", true
	case "SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup", "DescribeScalingActivities", "DescribeNodegroup", "DescribeLaunchConfigurations",
		"DescribeLaunchTemplateVersions", "DescribeImages", "GetInstanceTypesFromInstanceRequirements":
		return operation, true
	default:
		return "", false
	}
}
