package repair_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/repair"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

var t0 = time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC)

// group is one node group. Its machines are called g-1, g-2 and so on, nodes first.
type group struct {
	min, target int
	nodes       int
	// late are instances without a node, in the order in which they are listed; each was there from the start.
	late int
	// young are instances without a node that are there for a minute only.
	young int
	// failed are instances that cannot be created.
	failed int
	// placeholder makes late, young and failed machines such that don't exist yet.
	placeholder     bool
	atomic, partial bool
	stale           bool
	provision       time.Duration // zero: 15 minutes
}

// see is the group at the time; what is young has come a minute before.
func (g group) see(at, youngSince time.Time) (observation.Group, []*corev1.Node) {
	out := observation.Group{ID: "g"}
	out.Min, out.Max, out.Target = g.min, 20, g.target
	out.Options = observation.GroupOptions{
		MaxNodeProvisionTime: provisionTime(g.provision), MaxNodeStartupTime: 15 * time.Minute, ZeroOrMaxNodeScaling: g.atomic, AllowNonAtomicScaleUpToMax: g.partial,
	}
	if g.stale {
		out.Stale = errors.New("stale")
	}
	var nodes []*corev1.Node
	add := func(n int, state cloudprovider.InstanceState, fault *cloudprovider.InstanceError, registered bool) {
		for range n {
			name := fmt.Sprintf("g-%d", len(out.Instances)+1)
			out.Instances = append(out.Instances, cloudprovider.Instance{
				ID: "test:///" + name, State: state, Error: fault, Placeholder: g.placeholder && !registered,
			})
			if registered {
				nodes = append(nodes, simtest.Node(name).CreatedAt(t0.Add(-time.Hour)).Label("doks", name).Build())
			}
		}
	}
	add(g.nodes, cloudprovider.InstanceRunning, nil, true)
	add(g.late, cloudprovider.InstanceCreating, nil, false)
	add(g.failed, cloudprovider.InstanceCreating, &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOther, Code: "Q"}, false)
	if !at.Before(youngSince) {
		add(g.young, cloudprovider.InstanceCreating, nil, false)
	} else {
		out.Target -= g.young
	}
	return out, nodes
}

func provisionTime(d time.Duration) time.Duration {
	if d == 0 {
		return 15 * time.Minute
	}
	return d
}

func observed(at time.Time, g group, strangers int, youngSince time.Time) observation.Observation {
	described, nodes := g.see(at, youngSince)
	seen := observation.Observation{
		At: at, Groups: []observation.Group{described}, Nodes: nodes, Members: map[string]cloudprovider.GroupID{}, Gone: map[string]bool{},
	}
	for _, node := range nodes {
		seen.Members[node.Name] = "g"
	}
	for i := range strangers { // unready, to make the cluster unhealthy
		seen.Nodes = append(seen.Nodes, simtest.Node(fmt.Sprintf("stranger-%d", i)).CreatedAt(t0.Add(-time.Hour)).NotReady(t0).Build())
	}
	return seen
}

// plan lets the group be for the time and returns what is to be repaired then.
func plan(g group, options config.ClusterState, strangers int, wait time.Duration) []report.RepairAction {
	r := clusterstate.NewRegistry(options, t0)
	now := t0.Add(wait)
	r.Observe(observed(t0, g, strangers, now.Add(-time.Minute)))
	r.Observe(observed(now.Add(-time.Minute), g, strangers, now.Add(-time.Minute)))
	seen := observed(now, g, strangers, now.Add(-time.Minute))
	return repair.Plan(seen, r.Observe(seen), options)
}

func flags() config.ClusterState {
	return config.ClusterState{
		MaxUnreadyPercentage: 45, OKUnreadyCount: 3, InitialBackoff: 5 * time.Minute, MaxBackoff: 30 * time.Minute, BackoffResetTimeout: 3 * time.Hour,
	}
}

func machines(from, to int) []cloudprovider.NodeRef {
	var refs []cloudprovider.NodeRef
	for i := from; i <= to; i++ {
		id := fmt.Sprintf("test:///g-%d", i)
		refs = append(refs, cloudprovider.NodeRef{Name: id, ProviderID: id})
	}
	return refs
}

func nodes(from, to int) []cloudprovider.NodeRef {
	var refs []cloudprovider.NodeRef
	for i := from; i <= to; i++ {
		refs = append(refs, cloudprovider.RefOf(simtest.Node(fmt.Sprintf("g-%d", i)).Label("doks", fmt.Sprintf("g-%d", i)).Build()))
	}
	return refs
}

const overdue = 15*time.Minute + time.Second

func TestWhatIsRepaired(t *testing.T) {
	late := func(refs ...cloudprovider.NodeRef) report.RepairAction {
		return report.RepairAction{Kind: report.DeleteUnregistered, Group: "g", Nodes: refs, Age: overdue}
	}
	failed := func(refs ...cloudprovider.NodeRef) report.RepairAction {
		return report.RepairAction{Kind: report.DeleteFailed, Group: "g", Nodes: refs}
	}
	lower := func(by int, age time.Duration) report.RepairAction {
		return report.RepairAction{Kind: report.DecreaseTarget, Group: "g", By: by, Age: age}
	}
	forced := func(action report.RepairAction) report.RepairAction {
		action.Force = true
		return action
	}
	forceUnregistered, forceFailed, allNodes := flags(), flags(), flags()
	forceUnregistered.ForceDeleteUnregistered = true
	forceFailed.ForceDeleteFailed = true
	allNodes.HealthScopeAllNodes = true

	tests := map[string]struct {
		group   group
		options config.ClusterState
		wait    time.Duration // zero: until everything is overdue
		unready int
		want    []report.RepairAction
	}{
		"nothing in a group that has all its nodes": {group: group{target: 3, nodes: 3}},

		// Cases L22 to L25.
		"late machines are ended down to the minimum": {group: group{min: 3, target: 5, nodes: 1, late: 4}, want: []report.RepairAction{late(machines(2, 3)...)}},
		"none of them at the minimum":                 {group: group{min: 3, target: 3, late: 4}},
		"all of them if the minimum does not matter": {group: group{min: 3, target: 3, late: 4}, options: forceUnregistered,
			want: []report.RepairAction{forced(late(machines(1, 4)...))}},
		"none before the provision time is over": {group: group{target: 1, late: 1}, wait: 15 * time.Minute},
		"only those whose time is over": {group: group{target: 4, nodes: 2, late: 1, young: 1},
			want: []report.RepairAction{late(machines(3, 3)...)}},

		// Case L36: the minimum is the cloud's to keep.
		"machines that failed are ended at once, at the minimum too": {group: group{min: 2, target: 2, failed: 2}, wait: time.Minute,
			want: []report.RepairAction{failed(machines(1, 2)...)}},
		"by force if wanted": {group: group{min: 2, target: 2, failed: 2}, options: forceFailed, wait: time.Minute,
			want: []report.RepairAction{forced(failed(machines(1, 2)...))}},
		"late and failed machines of one group are ended both": {group: group{target: 4, nodes: 2, late: 1, failed: 1},
			want: []report.RepairAction{late(machines(3, 3)...), failed(machines(4, 4)...)}},

		// Cases L28 to L30.
		"places that nothing stands for are given back":  {group: group{target: 5, nodes: 3}, want: []report.RepairAction{lower(2, overdue)}},
		"but not before the provision time is over":      {group: group{target: 5, nodes: 3}, wait: 15 * time.Minute},
		"nor below the minimum":                          {group: group{min: 4, target: 5, nodes: 3}, want: []report.RepairAction{lower(1, overdue)}},
		"nor if nodes are too many":                      {group: group{target: 5, nodes: 6}, wait: time.Hour},
		"nor for machines that may still come":           {group: group{target: 5, nodes: 3, young: 2}},
		"nor twice for a placeholder that is ended":      {group: group{target: 5, nodes: 3, late: 2, placeholder: true}, want: []report.RepairAction{late(machines(4, 5)...)}},
		"nor beyond what a target below its minimum has": {group: group{min: 6, target: 5, nodes: 3}},

		// Case L31: while the cluster is unhealthy only late machines are ended.
		"in an unhealthy cluster machines that failed stay": {group: group{target: 9, nodes: 5, late: 1, failed: 2}, options: allNodes, unready: 6,
			want: []report.RepairAction{late(machines(6, 6)...)}},
		"and places are not given back": {group: group{target: 9, nodes: 5}, options: allNodes, unready: 6},

		// Cases L26 and L27, with our difference: nodes are drained first, which is for the executor to see.
		"a group that goes as a whole is ended as a whole": {group: group{target: 4, nodes: 3, late: 1, atomic: true},
			want: []report.RepairAction{late(append(nodes(1, 3), machines(4, 4)...)...)}},
		"for a machine that failed, too": {group: group{target: 4, nodes: 3, failed: 1, atomic: true}, wait: time.Minute,
			want: []report.RepairAction{failed(append(nodes(1, 3), machines(4, 4)...)...)}},
		"once, if machines are late and others failed": {group: group{target: 4, late: 2, failed: 2, atomic: true},
			want: []report.RepairAction{late(machines(1, 4)...)}},
		"unless a part of it may work alone":            {group: group{target: 4, nodes: 3, late: 1, atomic: true, partial: true}},
		"even so if nothing of it came":                 {group: group{target: 4, late: 4, atomic: true, partial: true}, want: []report.RepairAction{late(machines(1, 4)...)}},
		"but never below the minimum":                   {group: group{min: 5, target: 10, nodes: 1, late: 9, atomic: true}},
		"nor even by one":                               {group: group{min: 1, target: 10, late: 10, atomic: true, partial: true}},
		"unless the minimum does not matter":            {group: group{min: 1, target: 2, late: 2, atomic: true}, options: forceUnregistered, want: []report.RepairAction{forced(late(machines(1, 2)...))}},
		"nothing in a group known from older data only": {group: group{target: 5, nodes: 3, late: 1, failed: 1, stale: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.options == (config.ClusterState{}) {
				test.options = flags()
			}
			if test.wait == 0 {
				test.wait = overdue
			}
			if diff := cmp.Diff(test.want, plan(test.group, test.options, test.unready, test.wait)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestThoseMachinesGoFirstThatAreOverdueForLongest(t *testing.T) {
	r := clusterstate.NewRegistry(flags(), t0)
	see := func(at time.Duration, names ...string) observation.Observation {
		seen := observed(t0.Add(at), group{min: 1, target: 3, nodes: 0}, 0, t0)
		for _, name := range names {
			seen.Groups[0].Instances = append(seen.Groups[0].Instances, cloudprovider.Instance{ID: "test:///" + name})
		}
		return seen
	}
	r.Observe(see(0, "g-2"))
	r.Observe(see(time.Minute, "g-3", "g-1", "g-2"))
	seen := see(20*time.Minute, "g-3", "g-1", "g-2")
	got := repair.Plan(seen, r.Observe(seen), flags())
	want := []report.RepairAction{{
		Kind: report.DeleteUnregistered, Group: "g", Age: 20 * time.Minute, Nodes: append(machines(2, 2), machines(1, 1)...),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMachinesStayWhileANodeDoesNotSayWhichOfThemItIs(t *testing.T) {
	r := clusterstate.NewRegistry(flags(), t0)
	see := func(at time.Time) observation.Observation {
		seen := observed(at, group{target: 2, nodes: 1, late: 1}, 0, t0)
		seen.Nodes[0].Spec.ProviderID = ""
		return seen
	}
	r.Observe(see(t0))
	seen := see(t0.Add(time.Hour))
	if got := repair.Plan(seen, r.Observe(seen), flags()); len(got) > 0 {
		t.Errorf("repairs %+v, want none", got)
	}
}

// Cases S13 and S14, with our difference: only what neither exists nor may still arrive is given back.
func TestWhatDidNotComeOfARequestIsGivenBack(t *testing.T) {
	tests := map[string]struct {
		after group // when it times out
		asked int
		want  []report.RepairAction
	}{
		"the empty places": {group{target: 9, nodes: 8}, 4, []report.RepairAction{{Kind: report.RevertScaleUp, Group: "g", By: 1, Age: overdue}}},
		"no more than was asked for": {group{target: 9, nodes: 3}, 4,
			[]report.RepairAction{{Kind: report.RevertScaleUp, Group: "g", By: 4, Age: overdue}}},
		"not below the minimum": {group{min: 8, target: 9, nodes: 5}, 4,
			[]report.RepairAction{{Kind: report.RevertScaleUp, Group: "g", By: 1, Age: overdue}}},
		"no machine that exists": {group{target: 9, nodes: 8, young: 1}, 4, nil},
		"placeholders": {group{target: 9, nodes: 7, young: 2, placeholder: true}, 4,
			[]report.RepairAction{{Kind: report.RevertScaleUp, Group: "g", By: 2, Age: overdue}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := clusterstate.NewRegistry(flags(), t0)
			before := group{target: test.after.target - test.asked, nodes: test.after.target - test.asked}
			r.Observe(observed(t0, before, 0, t0))
			r.AfterScaleUp([]report.ResizeOutcome{{
				Resize: report.Resize{Group: "g", From: before.target, To: test.after.target}, Granted: test.asked, At: t0, Deadline: t0.Add(15 * time.Minute),
			}}, nil)
			r.Observe(observed(t0.Add(15*time.Minute), test.after, 0, t0))
			seen := observed(t0.Add(overdue), test.after, 0, t0)
			state := r.Observe(seen)
			if len(state.TimedOut) != 1 {
				t.Fatalf("timed out: %v, want one request", state.TimedOut)
			}
			if diff := cmp.Diff(test.want, repair.Plan(seen, state, flags())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Cases C09 and C11: the trouble of one group stays with that group, and a refusal is not asked for in every iteration.
func TestARepairThatFailedIsTriedAgainAfterAPause(t *testing.T) {
	r := clusterstate.NewRegistry(flags(), t0)
	g := group{target: 3, nodes: 1, failed: 1}
	see := func(at time.Time) (observation.Observation, clusterstate.State) {
		seen := observed(at, g, 0, t0)
		other := seen.Groups[0]
		other.ID, other.Instances = "h", []cloudprovider.Instance{{
			ID: "h-1", State: cloudprovider.InstanceCreating, Error: &cloudprovider.InstanceError{Code: "Q"},
		}}
		seen.Groups = append(seen.Groups, other)
		return seen, r.Observe(seen)
	}
	kinds := func(at time.Duration) (out []string) {
		seen, state := see(t0.Add(at))
		for _, action := range repair.Plan(seen, state, flags()) {
			out = append(out, string(action.Group)+" "+string(action.Kind))
		}
		return out
	}
	both := []string{"g DeleteFailed", "h DeleteFailed"}
	if diff := cmp.Diff(both, kinds(0)); diff != "" {
		t.Fatalf("at first (-want +got):\n%s", diff)
	}
	r.AfterRepair([]report.RepairOutcome{{
		RepairAction: report.RepairAction{Kind: report.DeleteFailed, Group: "g"}, Err: errors.New("AccessDenied"), At: t0,
	}})
	if diff := cmp.Diff([]string{"h DeleteFailed"}, kinds(5*time.Minute-time.Second)); diff != "" {
		t.Errorf("during the pause (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(both, kinds(5*time.Minute)); diff != "" {
		t.Errorf("after the pause (-want +got):\n%s", diff)
	}
}
