package asg_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

func TestEveryLifecycleStateHasAPhase(t *testing.T) {
	tests := map[asg.Lifecycle]struct {
		phase  asg.Phase
		counts bool
		known  bool
	}{
		"Pending":                     {asg.PhaseCreating, true, true},
		"Pending:Wait":                {asg.PhaseCreating, true, true},
		"Pending:Proceed":             {asg.PhaseCreating, true, true},
		"Quarantined":                 {asg.PhaseKept, true, true},
		"InService":                   {asg.PhaseRunning, true, true},
		"ReplacingRootVolume":         {asg.PhaseRunning, true, true},
		"ReplacingRootVolume:Wait":    {asg.PhaseRunning, true, true},
		"ReplacingRootVolume:Proceed": {asg.PhaseRunning, true, true},
		"RootVolumeReplaced":          {asg.PhaseRunning, true, true},
		"EnteringStandby":             {asg.PhaseStandby, false, true},
		"Standby":                     {asg.PhaseStandby, false, true},
		"Detaching":                   {asg.PhaseLeaving, false, true},
		"Detached":                    {asg.PhaseLeaving, false, true},
		"Terminating":                 {asg.PhaseEnding, false, true},
		"Terminating:Wait":            {asg.PhaseEnding, false, true},
		"Terminating:Proceed":         {asg.PhaseEnding, false, true},
		"Terminating:Retained":        {asg.PhaseRetained, false, true},
		"Terminated":                  {asg.PhaseEnding, false, true},
		"Warmed:Running":              {asg.PhaseWarm, false, true},
		"Warmed:Terminating:Retained": {asg.PhaseWarm, false, true},
		"Hibernating":                 {asg.PhaseRunning, true, false},
		"":                            {asg.PhaseRunning, true, false},
	}
	for state, want := range tests {
		t.Run(string(state), func(t *testing.T) {
			if got := state.Phase(); got != want.phase || got.Counts() != want.counts || state.Known() != want.known {
				t.Errorf("phase %d, counts %v, known %v; want %+v", got, got.Counts(), state.Known(), want)
			}
		})
	}
}

func TestMeasure(t *testing.T) {
	in := func(count int, typeName string, weight int) []asg.Instance {
		var list []asg.Instance
		for range count {
			list = append(list, asg.Instance{Type: typeName, Lifecycle: asg.InService, Weight: weight})
		}
		return list
	}
	weighted := asg.Launch{Overrides: []asg.Override{{Type: "c.2xl", Weight: 1}, {Type: "c.4xl", Weight: 2}}}
	byCPU := asg.Launch{Overrides: []asg.Override{{Type: "m5.large"}, {Type: "m5.xlarge"}}}
	tests := map[string]struct {
		group           asg.Group
		lowest, highest int
		want            asg.Sizes
		fails           bool
	}{
		"three of three": {
			group: asg.Group{Desired: 3, Instances: in(3, "m5.large", 0)}, lowest: 2, highest: 6,
			want: asg.Sizes{LiveMachines: 3, LiveUnits: 3, BaseUnits: 3, UnitsPerMachine: 1, MaxUnitsPerMachine: 1, MinUnits: 2, MaxUnits: 6, Min: 2, Max: 6, Target: 3},
		},
		"one of three": {
			group: asg.Group{Desired: 3, Instances: in(1, "m5.large", 0)}, highest: 6,
			want: asg.Sizes{LiveMachines: 1, LiveUnits: 1, Missing: 2, BaseUnits: 3, UnitsPerMachine: 1, MaxUnitsPerMachine: 1, MaxUnits: 6, Max: 6, Target: 3},
		},
		"an ending machine is no longer one, and its replacement is missing": {
			group:   asg.Group{Desired: 2, Instances: []asg.Instance{{Lifecycle: asg.InService}, {Lifecycle: "Terminating:Wait"}, {Lifecycle: "Standby"}}},
			highest: 6,
			want:    asg.Sizes{LiveMachines: 1, LiveUnits: 1, Missing: 1, BaseUnits: 2, UnitsPerMachine: 1, MaxUnitsPerMachine: 1, MaxUnits: 6, Max: 6, Target: 2},
		},
		"more machines than desired": {
			group: asg.Group{Desired: 1, Instances: in(3, "", 0)}, lowest: 1, highest: 4,
			want: asg.Sizes{LiveMachines: 3, LiveUnits: 3, BaseUnits: 3, UnitsPerMachine: 1, MaxUnitsPerMachine: 1, MinUnits: 1, MaxUnits: 4, Min: 1, Max: 4, Target: 3},
		},
		"the maximum was lowered below what runs": {
			group: asg.Group{Desired: 5, Instances: in(5, "", 0)}, highest: 3,
			want: asg.Sizes{LiveMachines: 5, LiveUnits: 5, BaseUnits: 5, UnitsPerMachine: 1, MaxUnitsPerMachine: 1, MaxUnits: 3, Max: 5, Target: 5},
		},
		"the minimum of the flag is above the desired capacity": {
			group: asg.Group{Desired: 2, Instances: in(2, "", 0)}, lowest: 4, highest: 6,
			want: asg.Sizes{LiveMachines: 2, LiveUnits: 2, BaseUnits: 2, UnitsPerMachine: 1, MaxUnitsPerMachine: 1, MinUnits: 4, MaxUnits: 6, Min: 4, Max: 6, Target: 2},
		},
		"weights: four units on three machines, nothing is missing": {
			group:  asg.Group{Desired: 4, Launch: weighted, Instances: append(in(1, "c.4xl", 2), in(2, "c.2xl", 1)...)},
			lowest: 2, highest: 10,
			want: asg.Sizes{LiveMachines: 3, LiveUnits: 4, BaseUnits: 4, UnitsPerMachine: 1, MaxUnitsPerMachine: 2, MinUnits: 2, MaxUnits: 10, Min: 2, Max: 9, Target: 3},
		},
		"weights that the instances don't tell are taken from the policy": {
			group:  asg.Group{Desired: 6, Launch: weighted, Instances: append(in(2, "c.4xl", 0), in(1, "c.2xl", 0)...)},
			lowest: 4, highest: 6,
			want: asg.Sizes{LiveMachines: 3, LiveUnits: 5, Missing: 1, BaseUnits: 6, UnitsPerMachine: 1, MaxUnitsPerMachine: 2, MinUnits: 4, MaxUnits: 6, Min: 4, Max: 4, Target: 4},
		},
		"a heavy first type: a missing unit is one machine, and the room is rounded down": {
			group: asg.Group{
				Desired: 5, Launch: asg.Launch{Overrides: []asg.Override{{Type: "b", Weight: 4}, {Type: "a", Weight: 2}}}, Instances: in(2, "a", 2),
			}, highest: 12,
			want: asg.Sizes{LiveMachines: 2, LiveUnits: 4, Missing: 1, BaseUnits: 5, UnitsPerMachine: 4, MaxUnitsPerMachine: 4, MaxUnits: 12, Max: 4, Target: 3},
		},
		"all machines are needed for the minimum, although lighter ones would be more": {
			group: asg.Group{Desired: 10, Launch: weighted, Instances: in(5, "c.4xl", 2)}, lowest: 10, highest: 20,
			want: asg.Sizes{LiveMachines: 5, LiveUnits: 10, BaseUnits: 10, UnitsPerMachine: 1, MaxUnitsPerMachine: 2, MinUnits: 10, MaxUnits: 20, Min: 5, Max: 15, Target: 5},
		},
		"sizes in vCPUs": {
			group: asg.Group{Desired: 8, Unit: "vcpu", Launch: byCPU, Instances: in(1, "m5.xlarge", 0)}, highest: 16,
			want: asg.Sizes{LiveMachines: 1, LiveUnits: 4, Missing: 2, BaseUnits: 8, UnitsPerMachine: 2, MaxUnitsPerMachine: 4, MaxUnits: 16, Max: 7, Target: 3},
		},
		"sizes in vCPUs and a choice that isn't known": {
			group: asg.Group{Unit: "vcpu", Launch: asg.Launch{Overrides: []asg.Override{{Type: "new.large"}}}}, fails: true,
		},
		"sizes in vCPUs and an instance that isn't known": {
			group: asg.Group{Unit: "vcpu", Launch: byCPU, Instances: in(1, "new.large", 0)}, fails: true,
		},
		"sizes in vCPUs of types that requirements tell": {
			group: asg.Group{Desired: 8, Unit: "vcpu", Candidates: []string{"m5.large", "m5.xlarge"}, Instances: in(1, "m5.xlarge", 0)}, highest: 16,
			want: asg.Sizes{LiveMachines: 1, LiveUnits: 4, Missing: 2, BaseUnits: 8, UnitsPerMachine: 2, MaxUnitsPerMachine: 4, MaxUnits: 16, Max: 7, Target: 3},
		},
		"sizes in vCPUs without any choice": {group: asg.Group{Unit: "vcpu"}, fails: true},
	}
	weigh := func(name string) (int, bool) {
		units, known := map[string]int{"m5.large": 2, "m5.xlarge": 4}[name]
		return units, known
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.group.Measure(test.lowest, test.highest, weigh)
			if (err != nil) != test.fails {
				t.Fatalf("error %v, want one: %v", err, test.fails)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTypesOfALaunchSource(t *testing.T) {
	launch := asg.Launch{Overrides: []asg.Override{{Type: "t2"}, {Type: "t1"}, {Type: "t2", Weight: 3}, {Requirements: "{}"}}}
	if diff := cmp.Diff([]string{"t2", "t1"}, launch.Types()); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	if !launch.ByRequirements() || (asg.Launch{}).ByRequirements() {
		t.Error("ByRequirements doesn't tell the two apart")
	}
}

func TestTemplatesAreNamedForPeople(t *testing.T) {
	tests := map[string]asg.TemplateRef{
		"blue (lt-0a) version 3": {ID: "lt-0a", Name: "blue", Version: "3"},
		"lt-0a version $Latest":  {ID: "lt-0a", Version: "$Latest"},
		"blue version $Default":  {Name: "blue", Version: "$Default"},
	}
	for want, ref := range tests {
		if got := ref.String(); got != want {
			t.Errorf("String = %q, want %q", got, want)
		}
	}
}
