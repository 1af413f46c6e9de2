package cloudtest

import (
	"context"
	"slices"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
)

func deleteChecks() []Check {
	one := []Group{{ID: "a", Max: 9, Target: 4}}
	return []Check{
		{Name: "a deletion ends exactly these machines and lowers the target", groups: one, run: deleteEndsExactly},
		{Name: "a deletion of what ends or is gone succeeds and changes nothing", groups: one, run: deleteIsIdempotent},
		{Name: "a machine that is named twice is deleted once", groups: one, run: deleteTwiceNamed},
		{Name: "a deletion of nothing does nothing", groups: one, run: deleteNothing},
		{Name: "a deletion below the minimum deletes nothing at all", groups: one, run: deleteBelowMin},
		{Name: "a deletion respects a minimum that was raised behind our back", groups: one, run: deleteBelowNewMin},
		{Name: "a node of another group is not deleted", groups: append([]Group{{ID: "b", Max: 3, Target: 1}}, one...), run: deleteForeign},
		{Name: "a request that failed can be deleted like a machine", groups: one, run: deleteFailed},
		{Name: "the placeholder of a machine that has come does not stand for it", groups: one, run: deleteArrived},
	}
}

func deleteEndsExactly(r *rig) {
	r.refresh()
	m := r.truth("a").Machines
	r.deleteNodes("a", m[2], m[0]) // the order of the outcomes is that of the call
	want := Truth{Target: 2, Machines: []string{m[1], m[3]}}
	r.wantTruth("a", want)
	r.harness.Settle()
	r.wantTruth("a", want)
}

func deleteIsIdempotent(r *rig) {
	r.refresh()
	m := r.truth("a").Machines
	want := Truth{Target: 3, Machines: without(m, m[1])}
	r.deleteNodes("a", m[1])
	r.deleteNodes("a", m[1])
	r.wantTruth("a", want)
	r.refresh()
	r.deleteNodes("a", m[1])
	r.wantTruth("a", want)
	r.harness.Settle()
	r.deleteNodes("a", m[1])
	r.settled()
	r.deleteNodes("a", m[1])
	r.wantTruth("a", want)
	// One that is gone beside one that is not.
	r.deleteNodes("a", m[1], m[0])
	r.wantTruth("a", Truth{Target: 2, Machines: without(want.Machines, m[0])})
}

func deleteTwiceNamed(r *rig) {
	r.refresh()
	m := r.truth("a").Machines
	r.deleteNodes("a", m[0], m[0])
	r.wantTruth("a", Truth{Target: 3, Machines: without(m, m[0])})
}

func deleteNothing(r *rig) {
	r.refresh()
	before := r.truth("a")
	outcomes, err := r.group("a").DeleteNodes(r.Context(), nil)
	if len(outcomes) != 0 || err != nil {
		r.Errorf("DeleteNodes of nothing = %v, %v; want no outcome and no error", outcomes, err)
	}
	r.wantTruth("a", before)
}

func deleteBelowMin(r *rig) {
	r.harness.SetBounds("a", 3, 9)
	r.refresh()
	before := r.truth("a")
	r.wantUntouched(before, before.Machines[0], before.Machines[1])
	r.deleteNodes("a", before.Machines[0])
	r.wantTarget(3)
	r.harness.Advance(fresh)
	r.wantUntouched(Truth{Target: 3, Machines: before.Machines[1:]}, before.Machines[1])
}

func deleteBelowNewMin(r *rig) {
	r.refresh()
	before := r.truth("a")
	r.harness.SetBounds("a", 4, 9)
	r.harness.Advance(fresh)
	r.wantUntouched(before, before.Machines[3])
}

// wantUntouched wants a deletion refused for the minimum and the group to stay as it was.
func (r *rig) wantUntouched(before Truth, providerIDs ...string) {
	r.Helper()
	outcomes, err := r.group("a").DeleteNodes(r.Context(), refsOf(providerIDs...))
	r.wantBounds(err)
	if len(outcomes) != 0 {
		r.Errorf("outcomes %v beside an error, want none", outcomes)
	}
	r.wantTruth("a", before)
	r.harness.Settle()
	r.wantTruth("a", before)
}

func deleteForeign(r *rig) {
	r.refresh()
	a, b := r.truth("a"), r.truth("b")
	outcomes, err := r.group("a").DeleteNodes(r.Context(), refsOf(b.Machines[0], a.Machines[0]))
	r.wantTruth("b", b)
	if err != nil { // refused as a whole
		r.wantTruth("a", a)
		return
	}
	if len(outcomes) != 2 || outcomes[0].Err == nil || outcomes[1].Err != nil {
		r.Errorf("outcomes %v, want an error for the first of two", outcomes)
	}
	r.wantTruth("a", Truth{Target: 3, Machines: without(a.Machines, a.Machines[0])})
}

func deleteFailed(r *rig) {
	r.refresh()
	machines := r.truth("a").Machines
	r.harness.SetStock("a", 0)
	r.increase("a", 2)
	r.settled()
	r.eventually("both failed requests show", func() bool { return failures(r.group("a").State()) == 2 })
	r.eventually("both failed requests are deleted", func() bool {
		var refs []cloudprovider.NodeRef
		for _, i := range r.group("a").State().Instances {
			if i.Error != nil {
				refs = append(refs, cloudprovider.RefOfInstance(i))
			}
		}
		outcomes, err := r.group("a").DeleteNodes(r.Context(), refs)
		if err != nil {
			r.Fatalf("DeleteNodes of failed requests: %v, want no error", err)
		}
		r.wantOutcomes(outcomes, refs)
		return r.truth("a").Target == 4
	})
	r.settled()
	r.wantTruth("a", Truth{Target: 4, Machines: machines})
	if s := r.group("a").State(); len(s.Instances) != 4 {
		r.Errorf("%d instances are listed in the end, want 4", len(s.Instances))
	}
}

func deleteArrived(r *rig) {
	r.refresh()
	r.increase("a", 1)
	r.refresh()
	var refs []cloudprovider.NodeRef
	for _, i := range r.group("a").State().Instances {
		if i.Placeholder {
			refs = append(refs, cloudprovider.RefOfInstance(i))
		}
	}
	if len(refs) == 0 {
		r.Skip("the provider knows the ids of machines at once")
	}
	r.harness.Settle()
	before := r.truth("a").Machines
	outcomes, err := r.group("a").DeleteNodes(r.Context(), refs)
	if err != nil {
		r.Fatalf("DeleteNodes: %v, want no error", err)
	}
	r.wantOutcomes(outcomes, refs)
	r.harness.Settle()
	if diff := cmp.Diff(before, r.truth("a").Machines); diff != "" || len(before) != 5 {
		r.Errorf("%d machines; after the deletion of a placeholder (-before +after):\n%s", len(before), diff)
	}
}

func cancelledChangesNothing(r *rig) {
	r.refresh()
	before := r.truth("a")
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	g := r.group("a")
	if granted, err := g.IncreaseSize(ctx, 1); granted != 0 || err == nil {
		r.Errorf("IncreaseSize = %d, %v; want 0 and an error", granted, err)
	}
	if lowered, err := g.DecreaseTargetSize(ctx, 1); lowered != 0 || err == nil {
		r.Errorf("DecreaseTargetSize = %d, %v; want 0 and an error", lowered, err)
	}
	outcomes, err := g.DeleteNodes(ctx, refsOf(before.Machines[0]))
	if err == nil && !slices.ContainsFunc(outcomes, func(o cloudprovider.DeleteOutcome) bool { return o.Err != nil }) {
		r.Errorf("DeleteNodes = %v, no error; want an error", outcomes)
	}
	if err := r.cloud.Refresh(ctx); err == nil {
		r.harness.Advance(r.harness.RefreshInterval())
		if err := r.cloud.Refresh(ctx); err == nil {
			r.Error("Refresh: no error, want one")
		}
	}
	r.harness.Settle()
	r.wantTruth("a", before)
}
