package simulated_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// The tests of this file play situations from reports as far as the cloud alone is concerned: that they can be told at all, and
// that the contract alone prevents the worst of them.

func outOfResources() *cloudprovider.InstanceError {
	return &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOutOfResources, Code: "NoCapacity", Message: "no capacity"}
}

func TestACleanUpDuringALateArrivalEndsNoMachine(t *testing.T) {
	g := slow()
	g.Min, g.Max, g.Target, g.AppearDelay = 1, 20, 6, 40*time.Second
	w := newWorld(t, g)
	w.must(w.Next("g", simulated.Fate{}, simulated.Fate{Error: outOfResources(), Delay: 15 * time.Second}))
	w.setTarget(8)
	w.to(39700 * time.Millisecond)
	stale := w.group("g") // sees 6 machines, one request that failed, one on its way
	w.to(40 * time.Second)
	lowered, err := stale.DecreaseTargetSize(t.Context(), 2)
	if lowered != 1 || err != nil {
		t.Errorf("DecreaseTargetSize(2) = %d, %v; want 1, as the other machine has just come", lowered, err)
	}
	w.wantTarget(7)
	if got := len(w.Machines()); got != 7 {
		t.Errorf("%d machines, want 7", got)
	}
}

func TestMachinesThatComeBetweenFailuresAreAllKept(t *testing.T) {
	g := slow()
	g.Max, g.Target, g.AppearDelay, g.LaunchDelay, g.RegisterDelay = 40, 6, 0, 0, 0
	g.FailDelay = 0
	w := newWorld(t, g)
	var fates []simulated.Fate
	for i := range 4 {
		fates = append(fates, simulated.Fate{Error: outOfResources(), Delay: time.Duration(20*(i+1)) * time.Second})
	}
	for i := range 10 {
		fates = append(fates, simulated.Fate{Delay: time.Duration(30+12*i) * time.Second})
	}
	w.must(w.Next("g", fates...))
	w.increase(14)
	withdrawn := 0
	for at, ok := w.NextChange(); ok; at, ok = w.NextChange() {
		w.clock.SetTime(at)
		lowered, err := w.group("g").DecreaseTargetSize(t.Context(), 20)
		w.must(err)
		withdrawn += lowered
	}
	if withdrawn != 4 || len(w.Nodes()) != 16 {
		t.Errorf("%d withdrawn, %d nodes; want 4 and 16", withdrawn, len(w.Nodes()))
	}
	w.wantTarget(16)
}

func TestARaisedMinimumStopsARemovalBeforeItBegins(t *testing.T) {
	g := slow()
	g.Min, g.Max, g.Target = 2, 8, 4
	w := newWorldOf(t, simulated.Options{RefreshInterval: time.Minute}, g)
	old := w.group("g")
	w.to(5 * time.Second)
	w.update(func(g *simulated.Group) { g.Min = 4 })
	w.to(55 * time.Second)
	_, err := old.DeleteNodes(t.Context(), refs("simulated:///z1/g-0004"))
	if stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); !ok || stale.Room != 0 {
		t.Errorf("DeleteNodes: %v, want a StaleBoundsError with no room", err)
	}
	w.wantTarget(4)
	if got := len(w.Nodes()); got != 4 {
		t.Errorf("%d nodes, want 4", got)
	}
}

func TestMachinesInCreationWithoutAnIDAreTwoDifferentOnes(t *testing.T) {
	g := slow()
	g.Target, g.AppearDelay, g.LaunchDelay = 2, 200*time.Second, 200*time.Second
	w := newWorld(t, g)
	w.increase(2)
	var before string
	for _, at := range []time.Duration{10, 100, 180} {
		w.to(at * time.Second)
		s := w.group("g").State()
		ids := fmt.Sprint(s.Instances[2].ID, s.Instances[3].ID)
		if s.Target != 4 || len(s.Instances) != 4 || s.Instances[2].ID == s.Instances[3].ID || (before != "" && ids != before) {
			t.Errorf("after %d s: target %d, instances %+v; want two placeholders that stay", at, s.Target, s.Instances[2:])
		}
		before = ids
	}
}

func BenchmarkRefreshOfAnUnchangedCloud(b *testing.B) {
	for _, size := range []int{1250, 5000, 20000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			g := group()
			g.Max, g.Target = size, size
			w := newWorld(b, g)
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Refresh(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
