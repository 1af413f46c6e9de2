package aws_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

var eight = time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC)

// still is a clock whose timers never fire. The provider then does nothing by itself; what is due it does when it is asked to refresh, so that tests
// know when that is.
type still struct{ clock.Clock }

// NewTimer returns a timer that never fires.
func (still) NewTimer(time.Duration) clock.Timer { return never{} }

type never struct{}

func (never) C() <-chan time.Time      { return nil }
func (never) Stop() bool               { return true }
func (never) Reset(time.Duration) bool { return true }

// rig is a stand-in and a provider that talks to it over the wire. Time stands still until the test moves it, and the provider does nothing by itself
// unless the test gives it another clock.
type rig struct {
	t        *testing.T
	clock    *clocktesting.FakeClock
	server   *awstest.Server
	provider *aws.Provider
	observed *observed
}

// observed collects the calls that the provider reports.
type observed struct {
	mu     sync.Mutex
	calls  []cloudprovider.Call
	events []cloudprovider.Event
}

func (o *observed) ObserveEvent(event cloudprovider.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, event)
}

func (o *observed) ObserveCall(call cloudprovider.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, call)
}

// newStandIn starts a stand-in with a launch template called "workers" of m5.large.
func newStandIn(t *testing.T) (*awstest.Server, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(eight)
	server, err := awstest.New(awstest.Config{Clock: clock, Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
	if err := server.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, clock
}

// newRig makes a provider with these options for a stand-in with these groups. Groups without a launch source use "workers", groups
// without zones eu-west-1a.
func newRig(t *testing.T, options aws.Options, groups ...awstest.Group) *rig {
	t.Helper()
	server, clock := newStandIn(t)
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	for _, group := range groups {
		r.add(group)
	}
	r.provider = r.connect(options)
	return r
}

func (r *rig) add(group awstest.Group) {
	r.t.Helper()
	if group.LaunchTemplate == nil && group.LaunchConfiguration == "" && group.MixedInstances == nil {
		group.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "workers"}
	}
	if group.Zones == nil {
		group.Zones = []string{"eu-west-1a"}
	}
	if err := r.server.AddGroup(group); err != nil {
		r.t.Fatal(err)
	}
}

// connect makes one more provider, as after a restart of the process.
func (r *rig) connect(options aws.Options) *aws.Provider {
	r.t.Helper()
	if options.Clock == nil {
		options.Clock = still{r.clock}
	}
	if options.Rates == (aws.Rates{}) {
		options.Rates = aws.Rates{AutoScaling: -1, EC2: -1, EKS: -1}
	}
	options.Observer = r.observed
	if options.MaxNodeProvisionTime == 0 {
		options.MaxNodeProvisionTime = 15 * time.Minute
	}
	options.SDK = append(sdkOptions(r.server), options.SDK...)
	provider, err := aws.New(r.ctx(), options)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := provider.Cleanup(context.WithoutCancel(r.t.Context())); err != nil {
			r.t.Error(err)
		}
	})
	return provider
}

// sdkOptions keep the SDK away from this machine's environment and let it try once only.
func sdkOptions(server *awstest.Server) []func(*config.LoadOptions) error {
	return []func(*config.LoadOptions) error{
		config.WithRegion("eu-west-1"),
		config.WithBaseEndpoint(server.URL()),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")),
		config.WithSharedConfigFiles([]string{}), config.WithSharedCredentialsFiles([]string{}),
		config.WithRetryMaxAttempts(1),
	}
}

// ctx carries a logger whose lines are shown when the test fails.
func (r *rig) ctx() context.Context { return testContext(r.t) }

func testContext(t *testing.T) context.Context {
	t.Helper()
	return klog.NewContext(t.Context(), ktesting.NewLogger(t, ktesting.NewConfig(ktesting.Verbosity(4))))
}

// refresh must succeed.
func (r *rig) refresh() {
	r.t.Helper()
	if err := r.provider.Refresh(r.ctx()); err != nil {
		r.t.Fatalf("Refresh: %v", err)
	}
}

// after moves the time and refreshes.
func (r *rig) after(d time.Duration) {
	r.t.Helper()
	r.clock.Step(d)
	r.server.Advance()
	r.refresh()
}

// group finds a group of the view.
func (r *rig) group(name string) cloudprovider.NodeGroup {
	r.t.Helper()
	for _, group := range r.provider.NodeGroups() {
		if string(group.ID()) == name {
			return group
		}
	}
	r.t.Fatalf("the view has no group %q", name)
	return nil
}

// old lets what was read be too old to write on.
func (r *rig) old() { r.clock.Step(6 * time.Second) }

func (r *rig) state(name string) cloudprovider.GroupState {
	r.t.Helper()
	return r.group(name).State()
}

// names lists the groups of the view.
func (r *rig) names() []string {
	var names []string
	for _, group := range r.provider.NodeGroups() {
		names = append(names, string(group.ID()))
	}
	return names
}

// errs lists the group errors of the view as "name: text".
func (r *rig) errs() []string {
	var texts []string
	for _, e := range r.provider.GroupErrors() {
		texts = append(texts, string(e.Group)+": "+e.Err.Error())
	}
	return texts
}

// desired is the desired capacity in the stand-in.
func (r *rig) desired(name string) int {
	r.t.Helper()
	for _, group := range r.server.Groups() {
		if group.Name == name {
			return group.Desired
		}
	}
	r.t.Fatalf("the stand-in has no group %q", name)
	return 0
}

// machines lists the instances of a group in the stand-in that are not ending, by id.
func (r *rig) machines(name string) []awstest.Instance {
	var list []awstest.Instance
	for _, instance := range r.server.Instances() {
		if instance.Group == name && !instance.Ending() {
			list = append(list, instance)
		}
	}
	return list
}

// writes renders the writes since the last ForgetCalls.
func (r *rig) writes() []string {
	var texts []string
	for _, call := range r.server.Writes() {
		switch call.Action {
		case "SetDesiredCapacity":
			texts = append(texts, fmt.Sprintf("SetDesired(%s,%s)", call.Params.Get("AutoScalingGroupName"), call.Params.Get("DesiredCapacity")))
		case "TerminateInstanceInAutoScalingGroup":
			count := 1
			if call.Params.Get("InstanceId") == "" {
				count = 0
				for key := range call.Params {
					if strings.HasPrefix(key, "InstanceIds.member.") {
						count++
					}
				}
			}
			texts = append(texts, fmt.Sprintf("Terminate(%d,%s)", count, call.Params.Get("ShouldDecrementDesiredCapacity")))
		default:
			texts = append(texts, call.Action)
		}
	}
	return texts
}

// ids lists the provider ids of the instances of a state, shortened: placeholders to their number, machines to their state.
func shape(state cloudprovider.GroupState) string {
	var parts []string
	for _, instance := range state.Instances {
		text := instance.State.String()
		if instance.Placeholder {
			text = "place" + instance.ID[strings.LastIndex(instance.ID, "-"):]
		}
		if instance.Error != nil {
			text += "!" + instance.Error.Code
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// places lists references to the placeholders of a state.
func places(state cloudprovider.GroupState, failedOnly bool) []cloudprovider.NodeRef {
	var refs []cloudprovider.NodeRef
	for _, instance := range state.Instances {
		if instance.Placeholder && (!failedOnly || instance.Error != nil) {
			refs = append(refs, cloudprovider.RefOfInstance(instance))
		}
	}
	return refs
}

// node is the Node of an instance.
func nodeOf(instance awstest.Instance) *corev1.Node {
	node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: instance.ProviderID()}}
	node.Name = instance.PrivateDNSName
	return node
}

func refs(instances ...awstest.Instance) []cloudprovider.NodeRef {
	var list []cloudprovider.NodeRef
	for _, instance := range instances {
		list = append(list, cloudprovider.RefOf(nodeOf(instance)))
	}
	return list
}

// outcomes renders the outcomes of a deletion: "ok", "kept" or the error's type.
func outcomes(list []cloudprovider.DeleteOutcome) []string {
	var texts []string
	for _, o := range list {
		text := "ok"
		if o.Kept != "" {
			text = "kept"
		}
		if o.Err != nil {
			text = kind(o.Err)
		}
		texts = append(texts, text)
	}
	return texts
}

// count is how many requests of an action the stand-in got.
func (r *rig) count(action string) int { return r.server.Count(action) }

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
