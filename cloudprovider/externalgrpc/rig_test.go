package externalgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/cloudtest"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/serving"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

var eight = time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC)

// listen serves the protocol on a port of this machine and returns its address.
func listen(tb testing.TB, server protocol.CloudProviderServer, creds credentials.TransportCredentials) string {
	tb.Helper()
	return serve(tb, "127.0.0.1:0", server, creds).address
}

// running is a server that runs.
type running struct {
	address string
	stop    func()
}

func serve(tb testing.TB, address string, server protocol.CloudProviderServer, creds credentials.TransportCredentials) running {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(16 << 20)}
	if creds != nil {
		options = append(options, grpc.Creds(creds))
	}
	s := grpc.NewServer(options...)
	protocol.RegisterCloudProviderServer(s, server)
	var wait sync.WaitGroup
	wait.Go(func() { _ = s.Serve(listener) }) // ends with an error when it is stopped
	stop := sync.OnceFunc(func() {
		s.Stop()
		wait.Wait()
	})
	tb.Cleanup(stop)
	return running{address: listener.Addr().String(), stop: stop}
}

// connect makes a provider. Time limits are long, so that a busy machine doesn't fail tests that are not about them.
func connect(tb testing.TB, address string, options externalgrpc.Options) *externalgrpc.Provider {
	tb.Helper()
	if options.CloudConfig == nil {
		options.CloudConfig = fmt.Appendf(nil, "address: %q\ngrpc_timeout: 1m\n", address)
	}
	if options.Clock == nil {
		options.Clock = clocktesting.NewFakePassiveClock(eight)
	}
	p, err := externalgrpc.New(testContext(tb), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Cleanup(context.WithoutCancel(tb.Context())) }) // the server may be gone
	return p
}

// testContext carries a logger whose lines are shown when the test fails.
func testContext(tb testing.TB) context.Context {
	tb.Helper()
	return klog.NewContext(tb.Context(), ktesting.NewLogger(tb, ktesting.NewConfig(ktesting.Verbosity(4))))
}

// harness lets the contract test play with a simulated cloud behind a server.
type harness struct {
	testing.TB
	clock    *clocktesting.FakeClock
	cloud    *simulated.Cloud
	provider *externalgrpc.Provider
}

func newHarness(tb testing.TB, groups ...cloudtest.Group) *harness {
	tb.Helper()
	h := &harness{TB: tb, clock: clocktesting.NewFakeClock(eight)}
	described := make([]simulated.Group, len(groups))
	for i, g := range groups {
		described[i] = simulated.Group{
			ID: g.ID, Min: g.Min, Max: g.Max, Target: g.Target, PricePerHour: 0.2,
			Templates:   []cloudprovider.TemplateVariant{{Node: freshNode()}},
			AppearDelay: 30 * time.Second, LaunchDelay: time.Minute, RegisterDelay: 10 * time.Second,
			FailDelay: 20 * time.Second, DeleteDelay: 15 * time.Second,
		}
	}
	cloud, err := simulated.New(h.clock, described...)
	h.must(err)
	h.cloud = cloud
	h.provider = connect(tb, listen(tb, serving.New(cloud), nil), externalgrpc.Options{Clock: h.clock})
	return h
}

// freshNode has four cores and lies in z1.
func freshNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: "four.core", corev1.LabelTopologyZone: "z1"}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

func (h *harness) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) Provider() cloudprovider.CloudProvider { return h.provider }
func (h *harness) RefreshInterval() time.Duration        { return time.Second }
func (h *harness) Advance(d time.Duration)               { h.clock.Step(d) }

func (h *harness) Settle() {
	for at, ok := h.cloud.NextChange(); ok; at, ok = h.cloud.NextChange() {
		h.clock.SetTime(at)
	}
}

func (h *harness) Truth(id cloudprovider.GroupID) cloudtest.Truth {
	g, _ := h.cloud.Group(id)
	truth := cloudtest.Truth{Target: g.Target}
	for _, m := range h.cloud.Machines(id) {
		if !m.Instance.Placeholder && m.Instance.State != cloudprovider.InstanceDeleting {
			truth.Machines = append(truth.Machines, m.Instance.ID)
		}
	}
	slices.Sort(truth.Machines)
	return truth
}

func (h *harness) SetBounds(id cloudprovider.GroupID, minimum, maximum int) {
	h.must(h.cloud.Update(id, func(g *simulated.Group) { g.Min, g.Max = minimum, maximum }))
}

func (h *harness) SetTarget(id cloudprovider.GroupID, target int) {
	_, err := h.cloud.SetTarget(id, target)
	h.must(err)
}

func (h *harness) SetStock(id cloudprovider.GroupID, machines int) {
	h.must(h.cloud.Update(id, func(g *simulated.Group) { g.Stock = map[string]int{"": machines} }))
}

func (h *harness) FailGroup(id cloudprovider.GroupID) {
	h.cloud.Inject(simulated.Fault{On: simulated.ListInstances, Group: id, Err: errors.New("no list today")})
}

func (h *harness) HealGroup(id cloudprovider.GroupID) { h.cloud.Clear(simulated.ListInstances, id) }
func (h *harness) FailCloud()                         { h.cloud.Inject(simulated.Fault{}) }
func (h *harness) HealCloud()                         { h.cloud.Clear("", "") }

// writes are the operations that change something.
var writes = []simulated.Operation{simulated.IncreaseSize, simulated.DecreaseTargetSize, simulated.DeleteNodes}

func (h *harness) RefuseWrites(reason cloudtest.Refusal) {
	cause := errors.New("refused by the test")
	errs := map[cloudtest.Refusal]error{
		cloudtest.RefusalThrottled: nil,
		cloudtest.RefusalDenied:    &cloudprovider.ConfigurationError{Err: cause},
		cloudtest.RefusalQuota:     &cloudprovider.QuotaError{Code: "MaxSpotInstanceCountExceeded", Err: cause},
	}
	for _, on := range writes {
		h.cloud.Inject(simulated.Fault{On: on, Err: errs[reason]})
	}
}

func (h *harness) AllowWrites() {
	for _, on := range writes {
		h.cloud.Clear(on, "")
	}
}

func (h *harness) LoseAnswers() {
	for _, on := range writes {
		h.cloud.Inject(simulated.Fault{On: on, Lost: true, Err: errors.New("connection reset")})
	}
}

func (h *harness) KeepAnswers()                         { h.AllowWrites() }
func (h *harness) RemoveGroup(id cloudprovider.GroupID) { h.must(h.cloud.RemoveGroup(id)) }

func TestTheContractHoldsThroughTheProtocol(t *testing.T) {
	for _, check := range cloudtest.Checks() {
		t.Run(check.Name, func(t *testing.T) {
			if check.Name == "a machine that cannot come is listed with its error" {
				t.Skip("the protocol doesn't tell machines from places of machines to come; how errors are read is tested on its own")
			}
			check.Run(t, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
				tb.Helper()
				return newHarness(tb, groups...)
			})
		})
	}
}
