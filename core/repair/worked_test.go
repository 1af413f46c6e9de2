package repair_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/repair"
	"example.com/cluster-autoscaler/core/report"
)

// The worked cases of scale-down 7.9 and 7.10, with their numbers; the provision time is 45 minutes.
func TestWorkedCasesOfMachinesWithoutNodesAndOfSizes(t *testing.T) {
	const hour = time.Hour
	late := func(wait time.Duration, refs ...cloudprovider.NodeRef) []report.RepairAction {
		return []report.RepairAction{{Kind: report.DeleteUnregistered, Group: "g", Nodes: refs, Age: wait}}
	}
	forced := func(wait time.Duration, refs ...cloudprovider.NodeRef) []report.RepairAction {
		actions := late(wait, refs...)
		actions[0].Force = true
		return actions
	}
	failed := []report.RepairAction{{Kind: report.DeleteFailed, Group: "g", Nodes: machines(2, 2)}}
	force := flags()
	force.ForceDeleteUnregistered = true
	tests := map[string]struct {
		group   group
		options *config.ClusterState // nil: defaults
		wait    time.Duration
		want    []report.RepairAction
	}{
		"SD185: unregistered for an hour, room above the minimum": {group: group{min: 1, target: 2, nodes: 1, late: 1}, wait: hour, want: late(hour, machines(2, 2)...)},
		"SD186: unregistered for 10 minutes":                      {group: group{min: 1, target: 2, nodes: 1, late: 1}, wait: 10 * time.Minute},
		"SD187: at the minimum it is kept":                        {group: group{min: 2, target: 2, nodes: 1, late: 1}, wait: hour},
		"SD187: unless forced to":                                 {group: group{min: 2, target: 2, nodes: 1, late: 1}, options: &force, wait: hour, want: forced(hour, machines(2, 2)...)},
		"SD188: as many as the minimum leaves room for":           {group: group{min: 2, target: 4, nodes: 1, late: 3}, wait: hour, want: late(hour, machines(2, 3)...)},

		// Ours: a node that is registered is in the action so that it is drained first; until then the executor puts the group aside.
		"SD189: a whole of ten, nine are unregistered": {group: group{target: 10, nodes: 1, late: 9, atomic: true}, wait: hour,
			want: late(hour, append(nodes(1, 1), machines(2, 10)...)...)},
		"SD189: a part of it may work alone":          {group: group{target: 10, nodes: 1, late: 9, atomic: true, partial: true}, wait: hour},
		"SD189: unless none of the ten is registered": {group: group{target: 10, late: 10, atomic: true, partial: true}, wait: hour, want: late(hour, machines(1, 10)...)},

		"SD190: a failed creation, at the minimum":    {group: group{min: 2, target: 2, nodes: 1, failed: 1}, wait: 2 * time.Minute, want: failed},
		"SD190: in every iteration while it is there": {group: group{min: 2, target: 2, nodes: 1, failed: 1}, wait: hour, want: failed},
		"SD191: two places of three are empty for an hour": {group: group{target: 3, nodes: 1}, wait: hour,
			want: []report.RepairAction{{Kind: report.DecreaseTarget, Group: "g", By: 2, Age: hour}}},
		"SD192: for 10 minutes":     {group: group{target: 3, nodes: 1}, wait: 10 * time.Minute},
		"SD193: two nodes too many": {group: group{target: 1, nodes: 3}, wait: hour},

		// Ours, for SD224: a whole is never ended below its minimum, while the page says that all ten go.
		"SD224: a whole of ten with a minimum of five, nine are unregistered": {group: group{min: 5, target: 10, nodes: 1, late: 9, atomic: true}, wait: hour},
		"SD225: a minimum of one, a part may work alone, none is registered":  {group: group{min: 1, target: 10, late: 10, atomic: true, partial: true}, wait: hour},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			options := flags()
			if test.options != nil {
				options = *test.options
			}
			test.group.provision = 45 * time.Minute
			if diff := cmp.Diff(test.want, plan(test.group, options, 0, test.wait)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// SD229: the clock of a wrong size runs from when this pair of numbers was first seen.
func TestAChangedTargetRestartsTheClockOfAWrongSize(t *testing.T) {
	r := clusterstate.NewRegistry(flags(), t0)
	at := func(at time.Duration, target int) []report.RepairAction {
		seen := observed(t0.Add(at), group{target: target, nodes: 1}, 0, t0)
		return repair.Plan(seen, r.Observe(seen), flags())
	}
	for _, step := range []struct {
		at     time.Duration
		target int
	}{{0, 3}, {10 * time.Minute, 3}, {10*time.Minute + 10*time.Second, 4}, {15*time.Minute + time.Second, 4}, {25*time.Minute + 10*time.Second, 4}} {
		if got := at(step.at, step.target); len(got) > 0 {
			t.Errorf("at %s: %+v, want nothing yet", step.at, got)
		}
	}
	want := []report.RepairAction{{Kind: report.DecreaseTarget, Group: "g", By: 3, Age: 15*time.Minute + time.Second}}
	if diff := cmp.Diff(want, at(25*time.Minute+11*time.Second, 4)); diff != "" {
		t.Errorf("one second later (-want +got):\n%s", diff)
	}
}
