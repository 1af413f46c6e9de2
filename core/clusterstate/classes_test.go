package clusterstate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func TestANodeCountsOnceByItsClass(t *testing.T) {
	ago := func(d time.Duration) time.Time { return t0.Add(-d) }
	tests := map[string]struct {
		node simtest.NodeBuilder
		gone bool
		want report.NodeCounts
	}{
		"S20: a node that is not ready and younger than the start-up time has not started": {
			node: simtest.Node("n").CreatedAt(ago(14 * time.Minute)).NotReady(ago(time.Minute)), want: report.NodeCounts{NotStarted: 1},
		},
		"S20: a node that is not ready and older than the start-up time is unready": {
			node: simtest.Node("n").CreatedAt(ago(16 * time.Minute)).NotReady(ago(time.Minute)), want: report.NodeCounts{Unready: 1},
		},
		"a node whose start-up time ends right now is unready": {
			node: simtest.Node("n").CreatedAt(ago(15 * time.Minute)).NotReady(ago(time.Minute)), want: report.NodeCounts{Unready: 1},
		},
		"S21: a ready node that is suspended is suspended": {
			node: simtest.Node("n").Condition("Suspended", corev1.ConditionTrue, t0), want: report.NodeCounts{Suspended: 1},
		},
		"S22: a ready node whose machine is gone is deleted": {
			node: simtest.Node("n"), gone: true, want: report.NodeCounts{Deleted: 1},
		},
		"S24: a node whose Ready condition is contradicted by a taint is not ready": {
			node: simtest.Node("n").CreatedAt(ago(time.Hour)).Taint(corev1.TaintNodeNotReady, "", corev1.TaintEffectNoExecute),
			want: report.NodeCounts{Unready: 1},
		},
		"S25: a node under memory pressure is ready": {
			node: simtest.Node("n").Condition(corev1.NodeMemoryPressure, corev1.ConditionTrue, t0), want: report.NodeCounts{Ready: 1},
		},
		"S26: a young node without its device has not started": {
			node: simtest.Node("n").CreatedAt(ago(3 * time.Minute)).With(deviceMissing), want: report.NodeCounts{NotStarted: 1},
		},
		"an old node without its device is unready, and is told apart": {
			node: simtest.Node("n").CreatedAt(ago(time.Hour)).With(deviceMissing), want: report.NodeCounts{Unready: 1, ResourceUnready: 1},
		},
		"S32: a ready node marked for deletion stays ready while its machine exists": {
			node: simtest.Node("n").Taint(taints.ToBeDeleted, "1", corev1.TaintEffectNoSchedule), want: report.NodeCounts{Ready: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 1)
			f.machines = []*machine{{node: test.node.Build(), gone: test.gone}}
			state := newRegistry().Observe(see(t0, f))
			test.want.Registered = 1
			want := report.ClusterStatus{Counts: test.want, Managed: test.want}
			got := report.ClusterStatus{Counts: state.Cluster.Counts, Managed: state.Cluster.Managed}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("counts of the cluster (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, groupOf(state, f).Counts); diff != "" {
				t.Errorf("counts of the group (-want +got):\n%s", diff)
			}
		})
	}
}

// deviceMissing is how an observation shows a node that is ready except for its device.
func deviceMissing(node *corev1.Node) {
	*node = *readiness.Override(node, readiness.ReasonResourceNotReady)
}

// Case S30.
func TestTheStartUpTimeIsThatOfTheNodesGroup(t *testing.T) {
	slow := newFleet("slow", 0, 10, 1).starting(1, t0.Add(-30*time.Minute))
	slow.group.Options.MaxNodeStartupTime = time.Hour
	alone := strangers().starting(1, t0.Add(-30*time.Minute))
	for name, fleets := range map[string][]*fleet{"the group's node first": {slow, alone}, "the stranger first": {alone, slow}} {
		t.Run(name, func(t *testing.T) {
			state := newRegistry().Observe(see(t0, fleets...))
			want := report.ClusterStatus{
				Counts:  report.NodeCounts{Registered: 2, NotStarted: 1, Unready: 1},
				Managed: report.NodeCounts{Registered: 1, NotStarted: 1},
			}
			if diff := cmp.Diff(want, report.ClusterStatus{Counts: state.Cluster.Counts, Managed: state.Cluster.Managed}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnInstanceWithoutANodeIsUnregistered(t *testing.T) {
	tests := map[string]struct {
		change func(*cloudprovider.Instance)
		want   report.NodeCounts
		failed int
	}{
		"whatever phase it is in":         {change: func(i *cloudprovider.Instance) { i.State = cloudprovider.InstanceUnset }, want: report.NodeCounts{Unregistered: 1}},
		"while it is created":             {want: report.NodeCounts{Unregistered: 1}},
		"but not while it is ending":      {change: func(i *cloudprovider.Instance) { i.State = cloudprovider.InstanceDeleting }},
		"but not if its creation failed":  {change: broken(cloudprovider.InstanceCreating), failed: 1},
		"but not if it runs with a fault": {change: broken(cloudprovider.InstanceRunning)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 1).instances(1, test.change)
			group := groupOf(newRegistry().Observe(see(t0, f)), f)
			if diff := cmp.Diff(test.want, group.Counts); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(group.Failed) != test.failed {
				t.Errorf("%d instances failed, want %d", len(group.Failed), test.failed)
			}
		})
	}
}

func broken(state cloudprovider.InstanceState) func(*cloudprovider.Instance) {
	return func(i *cloudprovider.Instance) {
		i.State, i.Error = state, &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOther, Code: "Broken"}
	}
}

func TestTheClockOfAnUnregisteredInstance(t *testing.T) {
	f := newFleet("g", 0, 10, 1).creating(1)
	r := newRegistry()
	long := func(d time.Duration) bool {
		group := groupOf(r.Observe(see(after(d), f)), f)
		return group.Counts.LongUnregistered == 1 && len(group.Unregistered) == 1 && group.Unregistered[0].Long
	}
	for _, step := range []struct {
		at   time.Duration
		want bool
		name string
	}{
		{0, false, "runs from when it was first seen"},
		{15 * time.Minute, false, "is not over at exactly the provision time"},
		{15*time.Minute + time.Second, true, "is over after it"},
	} {
		if got := long(step.at); got != step.want {
			t.Errorf("at %s: long unregistered is %t, want %t: the clock %s", step.at, got, step.want, step.name)
		}
	}
	f.registers(1, after(16*time.Minute))
	if long(16 * time.Minute) {
		t.Error("a registered instance is still unregistered")
	}
	f.machines[0].node = nil
	if long(16*time.Minute + time.Second) {
		t.Error("a machine whose node was deleted inherits the old clock")
	}
	if !long(31*time.Minute + 2*time.Second) {
		t.Error("a machine whose node was deleted gets no clock of its own")
	}
}

// Other than S29: the clock goes on, and the machine is overdue at its time.
func TestAFailedListingDoesNotRestartTheClockOfAnUnregisteredInstance(t *testing.T) {
	f := newFleet("g", 0, 10, 1).creating(1)
	r := newRegistry()
	r.Observe(see(t0, f))
	unlisted := see(after(10*time.Minute), strangers())
	unlisted.GroupErrors = []cloudprovider.GroupError{{Group: "g"}}
	r.Observe(unlisted)
	if got := groupOf(r.Observe(see(after(15*time.Minute+2*time.Second), f)), f).Counts; got.LongUnregistered != 1 {
		t.Errorf("counts are %+v, want the instance to be long unregistered", got)
	}
}

func TestAMachineIsNotUnregisteredIfItsNodeExists(t *testing.T) {
	t.Run("although it cannot be told whose it is", func(t *testing.T) {
		f := newFleet("g", 0, 10, 1).ready(1)
		f.machines[0].foreign = true
		r := newRegistry()
		r.Observe(see(t0, f))
		group := groupOf(r.Observe(see(after(time.Hour), f)), f)
		if len(group.Unregistered) > 0 || group.Upcoming != 0 {
			t.Errorf("unregistered %v, upcoming %d, want none", group.Unregistered, group.Upcoming)
		}
	})
	t.Run("nor does it count twice if its node does not say which machine it is", func(t *testing.T) {
		f := newFleet("g", 0, 10, 3).ready(1).creating(1)
		f.machines[0].node.Spec.ProviderID = ""
		r := newRegistry()
		r.Observe(see(t0, f))
		if group := groupOf(r.Observe(see(t0, f)), f); group.Anonymous != 1 || group.Upcoming != 2 {
			t.Errorf("anonymous %d, upcoming %d; want 1 and 2", group.Anonymous, group.Upcoming)
		}
		if group := groupOf(r.Observe(see(after(time.Hour), f)), f); group.Upcoming != 0 || group.Lost != 1 {
			t.Errorf("when all is overdue: upcoming %d, lost %d; want 0 and 1", group.Upcoming, group.Lost)
		}
	})
}

func TestCapacityLeavesOutNodesThatAreBeingDeleted(t *testing.T) {
	young, old := t0.Add(-4*time.Minute), t0.Add(-6*time.Minute)
	mark := func(at time.Time) func(simtest.NodeBuilder) simtest.NodeBuilder {
		return func(b simtest.NodeBuilder) simtest.NodeBuilder {
			taint := taints.NewToBeDeleted(at)
			return b.Taint(taint.Key, taint.Value, taint.Effect)
		}
	}
	f := newFleet("g", 0, 10, 3).ready(1).join(1, mark(young)).join(1, mark(old))
	state := newRegistry().Observe(see(t0, f))
	if state.Cluster.MilliCPU != 8000 || state.Cluster.Memory != 2*16<<30 {
		t.Errorf("capacity is %d milli-CPU and %d bytes, want that of two nodes", state.Cluster.MilliCPU, state.Cluster.Memory)
	}
	if !clusterstate.BeingDeleted(f.machines[1].node, t0) || clusterstate.BeingDeleted(f.machines[2].node, t0) {
		t.Error("a deletion taint counts for less or more than five minutes")
	}
}
