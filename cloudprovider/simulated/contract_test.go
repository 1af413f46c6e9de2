package simulated_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/cloudtest"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// start is when the tests' worlds begin.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// template is a fresh node with four cores in a zone; empty: in none.
func template(zone string) cloudprovider.TemplateVariant {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: "four.core"}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
		}},
	}
	if zone != "" {
		node.Labels[corev1.LabelTopologyZone] = zone
	}
	return cloudprovider.TemplateVariant{Node: node}
}

// harness lets the contract test play with a simulated cloud.
type harness struct {
	testing.TB
	clock *clocktesting.FakeClock
	cloud *simulated.Cloud
}

func newHarness(tb testing.TB, groups ...cloudtest.Group) *harness {
	tb.Helper()
	return newHarnessOf(tb, simulated.Options{RefreshInterval: 10 * time.Second}, groups...)
}

func newHarnessOf(tb testing.TB, options simulated.Options, groups ...cloudtest.Group) *harness {
	tb.Helper()
	h := &harness{TB: tb, clock: clocktesting.NewFakeClock(start)}
	described := make([]simulated.Group, len(groups))
	for i, g := range groups {
		described[i] = simulated.Group{
			ID: g.ID, Min: g.Min, Max: g.Max, Target: g.Target, PricePerHour: 0.2,
			Templates:   []cloudprovider.TemplateVariant{template("z1"), template("z2")},
			AppearDelay: 30 * time.Second, LaunchDelay: time.Minute, RegisterDelay: 10 * time.Second,
			FailDelay: 20 * time.Second, DeleteDelay: 15 * time.Second,
		}
	}
	cloud, err := simulated.NewWithOptions(h.clock, options, described...)
	h.must(err)
	h.cloud = cloud
	return h
}

func (h *harness) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *harness) Provider() cloudprovider.CloudProvider { return h.cloud }
func (h *harness) RefreshInterval() time.Duration        { return 10 * time.Second }
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
var writes = []simulated.Operation{
	simulated.IncreaseSize, simulated.IncreaseSizeAtomically, simulated.DecreaseTargetSize, simulated.DeleteNodes, simulated.ForceDeleteNodes,
}

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

func (h *harness) KeepAnswers() { h.AllowWrites() }

func (h *harness) RemoveGroup(id cloudprovider.GroupID) { h.must(h.cloud.RemoveGroup(id)) }

func TestTheContractHolds(t *testing.T) {
	cloudtest.Run(t, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
		tb.Helper()
		return newHarness(tb, groups...)
	})
}

func TestTheContractHoldsWithoutOptionalAbilities(t *testing.T) {
	cloudtest.Run(t, func(tb testing.TB, groups ...cloudtest.Group) cloudtest.Harness {
		tb.Helper()
		options := simulated.Options{RefreshInterval: 10 * time.Second, NotifyChanges: true, PlainGroups: true}
		return newHarnessOf(tb, options, groups...)
	})
}
