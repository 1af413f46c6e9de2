package digitalocean_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

var eight = time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC)

// delays are those of a node in the tests.
var delays = dotest.Delays{
	Droplet: 30 * time.Second, Running: time.Minute, Register: 10 * time.Second, Fail: 20 * time.Second, Drain: 10 * time.Second, Delete: 15 * time.Second,
}

// rig is a stand-in and a provider that talks to it over the wire. Time stands still until the test moves it.
type rig struct {
	t        testing.TB
	clock    *clocktesting.FakeClock
	server   *dotest.Server
	provider *digitalocean.Provider
	observed *observed
}

// observed collects the calls that the provider reports.
type observed struct {
	mu    sync.Mutex
	calls []cloudprovider.Call
}

func (o *observed) ObserveCall(call cloudprovider.Call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, call)
}

// list is what was collected, as "operation code".
func (o *observed) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var texts []string
	for _, call := range o.calls {
		texts = append(texts, call.Operation+" "+call.Code)
	}
	return texts
}

// newServer starts a stand-in.
func newServer(t testing.TB, config dotest.Config) (*dotest.Server, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(eight)
	config.Clock = clock
	server, err := dotest.New(config)
	if err != nil {
		t.Fatal(err)
	}
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

// newRig makes a provider for a stand-in with these pools, which have managed autoscaling and the usual delays unless they say otherwise.
func newRig(t testing.TB, pools ...dotest.Pool) *rig {
	t.Helper()
	return newRigOf(t, dotest.Config{}, digitalocean.Options{}, pools...)
}

func newRigOf(t testing.TB, config dotest.Config, options digitalocean.Options, pools ...dotest.Pool) *rig {
	t.Helper()
	server, clock := newServer(t, config)
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	for _, pool := range pools {
		r.add(pool)
	}
	r.provider = r.connect(options)
	return r
}

// on is a pool with managed autoscaling.
func on(id string, minimum, maximum, count int) dotest.Pool {
	return dotest.Pool{ID: id, Name: id, AutoScale: true, Min: minimum, Max: maximum, Count: count, Delays: delays}
}

func (r *rig) add(pool dotest.Pool) {
	r.t.Helper()
	if err := r.server.AddPool(pool); err != nil {
		r.t.Fatal(err)
	}
}

// connect makes one more provider, as after a restart of the process.
func (r *rig) connect(options digitalocean.Options) *digitalocean.Provider {
	r.t.Helper()
	options.Clock, options.Observer = r.clock, r.observed
	if options.CloudConfig == nil {
		options.CloudConfig = []byte(r.server.CloudConfig())
	}
	provider, err := digitalocean.New(r.ctx(), options)
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

// with is the stand-in's cloud config with more keys.
func (r *rig) with(keys string) []byte {
	return []byte(strings.TrimSuffix(r.server.CloudConfig(), "}") + ", " + keys + "}")
}

// ctx carries a logger whose lines are shown when the test fails.
func (r *rig) ctx() context.Context { return testContext(r.t) }

func testContext(t testing.TB) context.Context {
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
	r.refresh()
}

// settle moves the time on until nothing more happens by itself.
func (r *rig) settle() {
	for at, ok := r.server.NextChange(); ok; at, ok = r.server.NextChange() {
		r.clock.SetTime(at)
	}
	r.server.Advance()
}

// group finds a group of the view.
func (r *rig) group(id string) cloudprovider.NodeGroup {
	r.t.Helper()
	for _, group := range r.provider.NodeGroups() {
		if string(group.ID()) == id {
			return group
		}
	}
	r.t.Fatalf("the view has no group %q", id)
	return nil
}

func (r *rig) state(id string) cloudprovider.GroupState {
	r.t.Helper()
	return r.group(id).State()
}

// ids lists the groups of the view.
func (r *rig) ids() []string {
	var ids []string
	for _, group := range r.provider.NodeGroups() {
		ids = append(ids, string(group.ID()))
	}
	return ids
}

// errs lists the group errors of the view as "id: kind".
func (r *rig) errs() []string {
	var texts []string
	for _, e := range r.provider.GroupErrors() {
		texts = append(texts, string(e.Group)+": "+kind(e.Err))
	}
	return texts
}

// notices hands over the notices as "reason group: message".
func (r *rig) notices() []string {
	var texts []string
	for _, n := range r.provider.Notices() {
		texts = append(texts, fmt.Sprintf("%s %s: %s", n.Reason, n.Group, n.Message))
	}
	return texts
}

// node picks a node of a pool in the stand-in.
func (r *rig) node(pool string, number int) dotest.Node {
	r.t.Helper()
	nodes := r.server.Nodes(pool)
	if number >= len(nodes) {
		r.t.Fatalf("pool %s has %d nodes", pool, len(nodes))
	}
	return nodes[number]
}

// writes renders the writes since the last ForgetCalls.
func (r *rig) writes() []string {
	var texts []string
	for _, call := range r.server.Writes() {
		switch call.Operation {
		case dotest.UpdateNodePool:
			texts = append(texts, fmt.Sprintf("PUT %s %s", call.Pool, strings.TrimSpace(call.Body)))
		case dotest.DeleteNode:
			text := fmt.Sprintf("DELETE %s %s", call.Pool, call.Node)
			if query := call.Query.Encode(); query != "" {
				text += "?" + query
			}
			texts = append(texts, text)
		default:
			texts = append(texts, call.Operation)
		}
	}
	return texts
}

// shape renders the instances of a state: what they are, not which.
func shape(state cloudprovider.GroupState) string {
	var parts []string
	for _, i := range state.Instances {
		text := i.State.String()
		if i.Placeholder {
			text += "*"
		}
		if i.Error != nil {
			text += "!" + i.Error.Code
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// registered is the Node of a machine as DOKS sets it up.
func registered(node dotest.Node) *corev1.Node {
	n := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: node.ProviderID()}}
	n.Name = node.Name
	n.CreationTimestamp.Time = node.CreatedAt
	n.Labels = map[string]string{"doks.digitalocean.com/node-id": node.ID, "doks.digitalocean.com/node-pool-id": node.Pool}
	return n
}

func refs(nodes ...dotest.Node) []cloudprovider.NodeRef {
	var list []cloudprovider.NodeRef
	for _, node := range nodes {
		list = append(list, cloudprovider.RefOf(registered(node)))
	}
	return list
}

// places lists references to the instances of a state that don't exist yet.
func places(state cloudprovider.GroupState) []cloudprovider.NodeRef {
	var list []cloudprovider.NodeRef
	for _, i := range state.Instances {
		if i.Placeholder {
			list = append(list, cloudprovider.RefOfInstance(i))
		}
	}
	return list
}

// kind names the type of an error, the outermost of the contract's.
func kind(err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch typed := e.(type) { //nolint:errorlint // each layer is looked at for itself
		case *cloudprovider.TransientError:
			if typed.OutcomeUnknown {
				return "Unknown"
			}
			return "Transient"
		case *cloudprovider.GoneError:
			return "Gone"
		case *cloudprovider.StaleBoundsError:
			return fmt.Sprintf("StaleBounds(%d of %d)", typed.Room, typed.Asked)
		case *cloudprovider.ConfigurationError:
			return "Configuration"
		case *cloudprovider.QuotaError:
			return "Quota " + typed.Code
		case *cloudprovider.OutOfResourcesError:
			return "OutOfResources " + typed.Code
		}
	}
	if err == nil {
		return "ok"
	}
	return "Other"
}

// outcomes renders a deletion: the error of the whole, else one word per node.
func outcomes(list []cloudprovider.DeleteOutcome, err error) string {
	if err != nil {
		return "refused: " + kind(err)
	}
	var texts []string
	for _, o := range list {
		texts = append(texts, kind(o.Err))
	}
	return strings.Join(texts, " ")
}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}
