package cloudtest

import (
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
)

func sizeChecks() []Check {
	one := []Group{{ID: "a", Max: 9, Target: 3}}
	return []Check{
		{Name: "an increase is granted in full and machines come", groups: one, run: increaseComes},
		{Name: "an increase counts from the target as it is now", groups: one, run: increaseCountsFromNow},
		{Name: "an increase beyond the maximum is refused with the room there is", groups: one, run: increaseBeyondMax},
		{Name: "an increase keeps to a maximum that was lowered behind our back", groups: one, run: increaseBeyondNewMax},
		{Name: "an increase or decrease by nothing is an error and no write", groups: one, run: nothingIsAnError},
		{Name: "a decrease never touches machines that exist", groups: one, run: decreaseKeepsMachines},
		{Name: "a decrease never touches what may still arrive", groups: one, run: decreaseKeepsArriving},
		{Name: "a decrease is judged on what has arrived since the view", groups: one, run: decreaseIsFresh},
		{Name: "a decrease withdraws what failed, and no more than asked", groups: one, run: decreaseWithdraws},
		{Name: "a decrease stops at the minimum as it is now", groups: one, run: decreaseStopsAtMin},
		{Name: "a cancelled write changes nothing", groups: one, run: cancelledChangesNothing},
	}
}

func increaseComes(r *rig) {
	r.refresh()
	before := r.truth("a").Machines
	r.increase("a", 2)
	r.wantTruth("a", Truth{Target: 5, Machines: before})
	r.harness.Settle()
	after := r.truth("a")
	if after.Target != 5 || len(after.Machines) != 5 {
		r.Errorf("target %d with %d machines, want 5 and 5", after.Target, len(after.Machines))
	}
	for _, id := range before {
		if !slices.Contains(after.Machines, id) {
			r.Errorf("machine %q went away", id)
		}
	}
}

func increaseCountsFromNow(r *rig) {
	r.refresh()
	r.harness.SetTarget("a", 5)
	r.harness.Advance(fresh)
	// What somebody else has raised since the view may count for the plan that was made on it: who sees the same pods buys for the same need. It is never
	// taken back.
	r.increase("a", 1)
	r.increase("a", 1)
	if got := r.truth("a").Target; got < 6 || got > 7 {
		r.Errorf("target of \"a\" = %d, want the 5 of somebody else and the second of two purchases at least, and both at most", got)
	}
}

func increaseBeyondMax(r *rig) {
	r.refresh()
	granted, err := r.group("a").IncreaseSize(r.Context(), 7)
	r.wantBounds(err)
	if granted < 0 || granted > 6 {
		r.Errorf("granted %d, want 0 to 6", granted)
	}
	r.wantTarget(3 + granted)
	r.increase("a", 6-granted)
	r.wantTarget(9)
	granted, err = r.group("a").IncreaseSize(r.Context(), 1)
	r.wantBounds(err)
	if granted != 0 {
		r.Errorf("granted %d at the maximum, want 0", granted)
	}
	r.wantTarget(9)
}

func increaseBeyondNewMax(r *rig) {
	r.refresh()
	r.harness.SetBounds("a", 0, 4)
	r.harness.Advance(fresh)
	granted, err := r.group("a").IncreaseSize(r.Context(), 2)
	r.wantBounds(err)
	if granted < 0 || granted > 1 {
		r.Errorf("granted %d, want 0 or 1", granted)
	}
	r.wantTarget(3 + granted)
}

func nothingIsAnError(r *rig) {
	r.refresh()
	g := r.group("a")
	for _, n := range []int{0, -1} {
		if granted, err := g.IncreaseSize(r.Context(), n); granted != 0 || err == nil {
			r.Errorf("IncreaseSize(%d) = %d, %v; want 0 and an error", n, granted, err)
		}
		if lowered, err := g.DecreaseTargetSize(r.Context(), n); lowered != 0 || err == nil {
			r.Errorf("DecreaseTargetSize(%d) = %d, %v; want 0 and an error", n, lowered, err)
		}
		if a, ok := g.(cloudprovider.AtomicIncreaser); ok {
			if granted, err := a.IncreaseSizeAtomically(r.Context(), n); granted != 0 || err == nil {
				r.Errorf("IncreaseSizeAtomically(%d) = %d, %v; want 0 and an error", n, granted, err)
			}
		}
	}
	r.wantTarget(3)
}

// decrease tries to withdraw nodes several times, as a provider may look twice before it acts, and returns how many it did.
func (r *rig) decrease(by int) int {
	r.Helper()
	sum := 0
	for range 4 {
		lowered, err := r.group("a").DecreaseTargetSize(r.Context(), by)
		if err != nil || lowered < 0 || lowered > by {
			r.Fatalf("DecreaseTargetSize(%d) = %d, %v; want 0 to %d and no error", by, lowered, err, by)
		}
		sum += lowered
		r.truth("a")
		r.harness.Advance(fresh)
	}
	return sum
}

func decreaseKeepsMachines(r *rig) {
	r.refresh()
	before := r.truth("a")
	if got := r.decrease(2); got != 0 {
		r.Errorf("lowered by %d, want 0", got)
	}
	r.harness.Settle()
	r.wantTruth("a", before)
}

func decreaseKeepsArriving(r *rig) {
	r.refresh()
	r.increase("a", 2)
	lowered, err := r.group("a").DecreaseTargetSize(r.Context(), 2)
	if lowered != 0 || err != nil {
		r.Errorf("DecreaseTargetSize(2) = %d, %v; want 0 and no error", lowered, err)
	}
	r.wantTarget(5)
	r.harness.Settle()
	if got := len(r.truth("a").Machines); got != 5 {
		r.Errorf("%d machines, want 5", got)
	}
}

func decreaseIsFresh(r *rig) {
	r.refresh()
	r.increase("a", 2)
	r.refresh() // shows two that are missing
	r.harness.Settle()
	before := r.truth("a")
	if got := r.decrease(2); got != 0 {
		r.Errorf("lowered by %d, want 0", got)
	}
	r.harness.Settle()
	r.wantTruth("a", before)
}

func decreaseWithdraws(r *rig) {
	r.refresh()
	machines := r.truth("a").Machines
	r.harness.SetStock("a", 0)
	r.increase("a", 3)
	r.harness.Settle()
	r.refresh()
	sum := 0
	for _, want := range []int{2, 3} { // the second time more is asked for than is left
		r.eventually("failed requests are withdrawn", func() bool {
			lowered, err := r.group("a").DecreaseTargetSize(r.Context(), 2)
			if err != nil || lowered < 0 || lowered > 2 {
				r.Fatalf("DecreaseTargetSize(2) = %d, %v; want 0 to 2 and no error", lowered, err)
			}
			sum += lowered
			r.wantTarget(6 - sum)
			return sum >= want
		})
	}
	if got := r.decrease(1); got != 0 {
		r.Errorf("lowered by %d with nothing left to withdraw, want 0", got)
	}
	r.wantTruth("a", Truth{Target: 3, Machines: machines})
	r.settled()
	if s := r.group("a").State(); len(s.Instances) != 3 || failures(s) != 0 {
		r.Errorf("%d instances with %d failures are listed in the end, want 3 and 0", len(s.Instances), failures(s))
	}
}

func decreaseStopsAtMin(r *rig) {
	r.refresh()
	r.harness.SetStock("a", 0)
	r.increase("a", 3)
	r.settled()
	r.harness.SetBounds("a", 5, 9)
	r.harness.Advance(fresh)
	r.eventually("the target is lowered to the minimum", func() bool {
		lowered, err := r.group("a").DecreaseTargetSize(r.Context(), 3)
		if err != nil || lowered < 0 || lowered > 1 {
			r.Fatalf("DecreaseTargetSize(3) = %d, %v; want at most 1 and no error", lowered, err)
		}
		return lowered == 1
	})
	r.decrease(3)
	r.wantTarget(5)
}
