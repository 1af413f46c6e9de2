package cloudtest

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

func abilityChecks() []Check {
	one := []Group{{ID: "a", Min: 2, Max: 5, Target: 3}}
	return []Check{
		{Name: "an atomic increase grants all or nothing", groups: one, run: atomicIsAllOrNothing},
		{Name: "a forced deletion passes over the minimum and the target does not fall below it", groups: one, run: forceKeepsMin},
		{Name: "machines that end or never were do not exist", groups: one, run: existenceIsTold},
		{Name: "the types of accelerators are listed in order under one label", groups: one, run: acceleratorsAreListed},
		{Name: "prices are above zero and the same each time", groups: one, run: pricesStay},
		{Name: "limits of the provider leave those of the flags untouched", groups: one, run: limitsAreCopies},
	}
}

func atomicIsAllOrNothing(r *rig) {
	r.refresh()
	g, ok := r.group("a").(cloudprovider.AtomicIncreaser)
	if !ok {
		r.Skip("groups cannot grow atomically")
	}
	granted, err := g.IncreaseSizeAtomically(r.Context(), 3)
	r.wantBounds(err)
	if granted != 0 {
		r.Errorf("granted %d of 3 with room for 2, want 0", granted)
	}
	r.wantTarget(3)
	granted, err = g.IncreaseSizeAtomically(r.Context(), 2)
	if granted != 2 || err != nil {
		r.Errorf("IncreaseSizeAtomically(2) = %d, %v; want 2 and no error", granted, err)
	}
	r.wantTarget(5)
	r.harness.Settle()
	if got := len(r.truth("a").Machines); got != 5 {
		r.Errorf("%d machines, want 5", got)
	}
}

func forceKeepsMin(r *rig) {
	r.refresh()
	g, ok := r.group("a").(cloudprovider.ForceDeleter)
	if !ok {
		r.Skip("groups cannot delete by force")
	}
	m := r.truth("a").Machines
	refs := refsOf(m[0], m[1])
	outcomes, err := g.ForceDeleteNodes(r.Context(), refs)
	if err != nil {
		r.Fatalf("ForceDeleteNodes: %v, want no error", err)
	}
	r.wantOutcomes(outcomes, refs)
	r.wantTarget(2)
	r.harness.Settle()
	after := r.truth("a")
	if after.Target != 2 || len(after.Machines) != 2 || !slices.Contains(after.Machines, m[2]) ||
		slices.Contains(after.Machines, m[0]) || slices.Contains(after.Machines, m[1]) {
		r.Errorf("target %d, machines %q; want 2 with %q and a new one", after.Target, after.Machines, m[2])
	}
}

func existenceIsTold(r *rig) {
	checker, ok := r.cloud.(cloudprovider.InstanceChecker)
	if !ok {
		r.Skip("the provider cannot tell whether machines exist")
	}
	m := r.truth("a").Machines
	if _, known := checker.InstanceExists(nodeOf(m[0])); known {
		r.Error("a machine is known before the first refresh")
	}
	r.refresh()
	if exists, known := checker.InstanceExists(nodeOf(m[0])); !exists || !known {
		r.Errorf("InstanceExists of a machine that runs = %t, %t; want true, true", exists, known)
	}
	if exists, known := checker.InstanceExists(nodeOf("elsewhere:///zone/stranger")); exists && known {
		r.Error("a machine of nobody exists")
	}
	r.deleteNodes("a", m[0])
	if _, known := checker.InstanceExists(nodeOf(m[0])); !known { // whether one that was told to end exists is a matter of taste
		r.Error("a machine that was told to end is not known")
	}
	r.settled()
	if exists, known := checker.InstanceExists(nodeOf(m[0])); exists && known {
		r.Error("a machine that is gone exists")
	}
	if exists, known := checker.InstanceExists(nodeOf(m[1])); !exists || !known {
		r.Errorf("InstanceExists of another machine = %t, %t; want true, true", exists, known)
	}
}

func acceleratorsAreListed(r *rig) {
	labeler, ok := r.cloud.(cloudprovider.GPULabeler)
	if !ok {
		r.Skip("the provider has no label for accelerators")
	}
	before := labeler.GPULabel()
	r.refresh()
	if before == "" || labeler.GPULabel() != before {
		r.Errorf("label %q before and %q after the first refresh, want one that stays", before, labeler.GPULabel())
	}
	types := labeler.GPUTypes()
	if !slices.IsSorted(types) || len(slices.Compact(slices.Clone(types))) != len(types) {
		r.Errorf("types %q, want each once in ascending order", types)
	}
}

func pricesStay(r *rig) {
	pricer, ok := r.cloud.(cloudprovider.Pricer)
	if !ok {
		r.Skip("the provider has no prices")
	}
	r.refresh()
	variants, err := r.group("a").Templates(r.Context())
	if errors.Is(err, cloudprovider.ErrNoTemplate) {
		r.Skip("the provider has no templates")
	}
	if err != nil {
		r.Fatalf("Templates: %v, want no error", err)
	}
	for _, v := range variants {
		if reader, ok := r.cloud.(cloudprovider.PriceReader); ok {
			reader.ReadPrices(r.Context(), []*corev1.Node{v.Node}, []*corev1.Pod{halfOf(v)})
		}
		first, err := pricer.NodePricePerHour(v.Node)
		again, errAgain := pricer.NodePricePerHour(v.Node)
		if err != nil || errAgain != nil || first <= 0 || first != again {
			r.Errorf("NodePricePerHour of variant %q = %g, %v and %g, %v; want the same price twice", v.Key, first, err, again, errAgain)
		}
		share, err := pricer.PodPricePerHour(halfOf(v))
		if err != nil || share <= 0 || share > first {
			r.Errorf("PodPricePerHour of half a machine = %g, %v; want at most the %g of the whole", share, err, first)
		}
	}
}

func limitsAreCopies(r *rig) {
	limiter, ok := r.cloud.(cloudprovider.Limiter)
	if !ok {
		r.Skip("the provider brings no limits")
	}
	defaults := cloudprovider.ResourceLimits{Min: map[string]int64{"cpu": 1}, Max: map[string]int64{"cpu": 100}}
	limits := limiter.ResourceLimits(defaults)
	if limits.Max["cpu"] < limits.Min["cpu"] {
		r.Errorf("limits %v, want a maximum of at least the minimum", limits)
	}
	if defaults.Min["cpu"] != 1 || defaults.Max["cpu"] != 100 || len(defaults.Min) != 1 || len(defaults.Max) != 1 {
		r.Errorf("limits of the flags are %v after the call", defaults)
	}
}
