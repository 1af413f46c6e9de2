package clusterstate_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// weighted gives a group variants of one type each, with their weights.
func (f *fleet) weighted(weights map[string]int) *fleet {
	for _, kind := range []string{"big", "small"} {
		if units := weights[kind]; units > 0 {
			variant := variants(nodeinfos.Place{Type: kind})[0]
			variant.Weight = units
			f.group.Variants = append(f.group.Variants, variant)
		}
	}
	return f
}

// of adds n machines of a type: ready, or without a node.
func (f *fleet) of(kind string, ready, creating int) *fleet {
	f.join(ready, func(b nodeBuilder) nodeBuilder { return b.Label("node.kubernetes.io/instance-type", kind) })
	return f.instances(creating, func(i *cloudprovider.Instance) { i.Type = kind })
}

func TestMachinesCountAsManyUnitsAsTheyWeigh(t *testing.T) {
	heavy, mixed := map[string]int{"big": 2}, map[string]int{"big": 4, "small": 1}
	for name, test := range map[string]struct {
		fleet                     *fleet
		upcoming, missing, failed int
		wrong                     bool
	}{
		"all are there":                                  {newFleet("g", 0, 20, 4).weighted(heavy).of("big", 2, 0), 0, 0, 0, false},
		"one of two is missing":                          {newFleet("g", 0, 20, 4).weighted(heavy).of("big", 1, 0), 1, 0, 0, true},
		"one of two is being created":                    {newFleet("g", 0, 20, 4).weighted(heavy).of("big", 1, 1), 1, 0, 0, false},
		"nothing is there yet":                           {newFleet("g", 0, 20, 5).weighted(heavy), 3, 0, 0, false},
		"of mixed weights all are there":                 {newFleet("g", 0, 20, 6).weighted(mixed).of("big", 1, 0).of("small", 2, 0), 0, 0, 0, false},
		"of mixed weights the heavy one is coming":       {newFleet("g", 0, 20, 6).weighted(mixed).of("big", 0, 1).of("small", 2, 0), 1, 0, 0, false},
		"of mixed weights nobody knows what will come":   {newFleet("g", 0, 20, 6).weighted(mixed).of("small", 2, 0), 4, 0, 0, true},
		"of mixed weights one comes and more is owed":    {newFleet("g", 0, 20, 7).weighted(mixed).of("big", 0, 1), 4, 0, 0, true},
		"a machine of unknown type is taken for a light": {newFleet("g", 0, 20, 6).weighted(mixed).of("odd", 1, 0).of("big", 1, 0), 1, 0, 0, true},
		"more came than was asked for":                   {newFleet("g", 0, 20, 3).weighted(heavy).of("big", 2, 0), 0, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := groupOf(newRegistry().Observe(see(t0, test.fleet)), test.fleet)
			if got.Upcoming != test.upcoming || got.Missing != test.missing || (got.WrongSize != nil) != test.wrong || !got.Healthy {
				t.Errorf("upcoming %d, missing %d, wrong size %+v, healthy %t; want %+v", got.Upcoming, got.Missing, got.WrongSize, got.Healthy, test)
			}
		})
	}
}

func TestARaiseIsFulfilledByFewerHeavierMachines(t *testing.T) {
	f := newFleet("g", 0, 20, 0).weighted(map[string]int{"big": 2})
	r := newRegistry()
	r.Observe(see(t0, f))
	state := r.AfterScaleUp(grown(f, 4, t0), triggered)
	if got := groupOf(state, f); got.Target != 4 || got.Upcoming != 2 {
		t.Errorf("after the purchase: target %d, upcoming %d; want 4 units and 2 nodes", got.Target, got.Upcoming)
	}
	f.group.Target = 4
	f.of("big", 0, 2)
	f.registers(1, after(time.Minute))
	f.machines[0].node.Labels["node.kubernetes.io/instance-type"] = "big"
	if got := groupOf(r.Observe(see(after(time.Minute), f)), f); got.Upcoming != 1 || got.Request == nil {
		t.Errorf("when one is there: upcoming %d, request %+v; want 1 and the request", got.Upcoming, got.Request)
	}
	f.registers(1, after(2*time.Minute))
	f.machines[1].node.Labels["node.kubernetes.io/instance-type"] = "big"
	state = r.Observe(see(after(2*time.Minute), f))
	if got := groupOf(state, f); got.Upcoming != 0 || got.Request != nil {
		t.Errorf("when both are there: upcoming %d, request %+v; want neither", got.Upcoming, got.Request)
	}
	if len(state.Purchases) != 1 || !state.Purchases["p"].Until.Equal(after(5*time.Minute)) {
		t.Errorf("purchases %+v; want one until the second node has settled", state.Purchases)
	}
	if late := r.Observe(see(after(16*time.Minute), f)); len(late.TimedOut) != 0 || groupOf(late, f).Lost != 0 {
		t.Errorf("timed out %+v, lost %d", late.TimedOut, groupOf(late, f).Lost)
	}
}

func TestAFailedMachineTakesItsWeightOffTheRequest(t *testing.T) {
	f := newFleet("g", 0, 20, 0).weighted(map[string]int{"big": 2})
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 6, t0), nil)
	f.group.Target = 6
	f.of("big", 0, 2).instances(1, short("", "big", cloudprovider.ErrorClassOther))
	state := r.Observe(see(after(10*time.Second), f))
	if got := groupOf(state, f); got.Request == nil || got.Request.Increase != 4 || got.Upcoming != 2 {
		t.Errorf("request %+v, upcoming %d; want 4 units and 2 nodes", got.Request, got.Upcoming)
	}
	want := []report.FailedInstances{{Group: "g", Count: 1, Class: cloudprovider.ErrorClassOther, Code: "Q", Messages: []string{"none"}}}
	if diff := cmp.Diff(want, state.Failed); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
}
