package cloudtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

func viewChecks() []Check {
	three := []Group{{ID: "b", Max: 5, Target: 2}, {ID: "a", Max: 5}, {ID: "c", Min: 1, Max: 4, Target: 1}}
	one := []Group{{ID: "a", Max: 9, Target: 3}}
	return []Check{
		{Name: "before the first refresh nothing is known", groups: three, run: nothingBeforeRefresh},
		{Name: "a refresh shows every group as it is", groups: three, run: refreshShowsGroups},
		{Name: "groups and instances keep their order", groups: three, run: orderStays},
		{Name: "the view stays as it is until the next refresh", groups: three, run: viewStays},
		{Name: "a group of an old view keeps answering from it", groups: one, run: oldGroupStays},
		{Name: "every missing machine is listed under an id of its own", groups: one, run: missingAreListed},
		{Name: "a machine that cannot come is listed with its error", groups: one, run: failedAreListed},
		{Name: "an ending machine does not count and is not listed as running", groups: one, run: endingAreListed},
		{Name: "every node finds its group", groups: three, run: nodesFindGroups},
		{Name: "a node of nobody belongs to no group and is no error", groups: one, run: strangersHaveNoGroup},
		{Name: "templates are complete, told apart, and owned by the caller", groups: one, run: templatesAreOwned},
		{Name: "the name and the channel of changes stay", groups: one, run: nameStays},
	}
}

func nothingBeforeRefresh(r *rig) {
	if got := r.cloud.NodeGroups(); len(got) != 0 {
		r.Errorf("NodeGroups lists %d groups, want none", len(got))
	}
	if got := r.cloud.GroupErrors(); len(got) != 0 {
		r.Errorf("GroupErrors = %v, want none", got)
	}
	id, err := r.cloud.GroupOf(nodeOf(r.truth("b").Machines[0]))
	if id != "" || err != nil {
		r.Errorf("GroupOf = %q, %v; want no group and no error", id, err)
	}
}

func refreshShowsGroups(r *rig) {
	r.refresh()
	type shown struct {
		Min, Max, Target int
		Machines         []string
	}
	got := map[cloudprovider.GroupID]shown{}
	for _, g := range r.cloud.NodeGroups() {
		s := g.State()
		got[g.ID()] = shown{Min: s.Min, Max: s.Max, Target: s.Target, Machines: running(s)}
	}
	want := map[cloudprovider.GroupID]shown{
		"b": {Max: 5, Target: 2, Machines: r.truth("b").Machines},
		"a": {Max: 5},
		"c": {Min: 1, Max: 4, Target: 1, Machines: r.truth("c").Machines},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("groups (-want +got):\n%s", diff)
	}
	if len(got["b"].Machines) != 2 || len(got["c"].Machines) != 1 {
		r.Errorf("the harness runs %d and %d machines, want 2 and 1", len(got["b"].Machines), len(got["c"].Machines))
	}
	if errs := r.cloud.GroupErrors(); len(errs) != 0 {
		r.Errorf("GroupErrors = %v, want none", errs)
	}
}

func orderStays(r *rig) {
	order := func() []string {
		var all []string
		for _, g := range r.cloud.NodeGroups() {
			all = append(all, string(g.ID()))
			for _, i := range g.State().Instances {
				all = append(all, i.ID)
			}
		}
		return all
	}
	r.refresh()
	first := order()
	for range 5 {
		r.refresh()
		if diff := cmp.Diff(first, order()); diff != "" {
			r.Fatalf("order after one more refresh (-before +after):\n%s", diff)
		}
	}
}

func viewStays(r *rig) {
	r.refresh()
	before := copyOf(r.group("b").State())
	r.harness.SetTarget("b", 4)
	r.harness.SetBounds("b", 1, 7)
	if diff := cmp.Diff(before, r.group("b").State()); diff != "" {
		r.Errorf("view after a change by somebody else (-before +after):\n%s", diff)
	}
	r.harness.Settle()
	gone := r.truth("c").Machines[0]
	r.harness.SetBounds("c", 0, 4)
	// What a write of our own has learnt may be in the view at once, for the next write. What was taken from the view before stays.
	oldB, oldC := r.group("b"), r.group("c")
	r.increase("b", 1)
	r.harness.Advance(fresh)
	r.deleteNodes("c", gone)
	if diff := cmp.Diff(before, oldB.State()); diff != "" {
		r.Errorf("view after a change of our own (-before +after):\n%s", diff)
	}
	if got := listed(oldC.State()); !slices.Equal(got, []string{gone}) {
		r.Errorf("the view lists %q after a deletion, want %q still", got, gone)
	}
	r.refresh()
	b, c := r.group("b").State(), r.group("c").State()
	target := r.truth("b").Target
	if b.Min != 1 || b.Max != 7 || b.Target != target || target < 4 || target > 5 || c.Target != 0 {
		r.Errorf("after the refresh: b is %d:%d target %d of %d, c has target %d; want 1:7, 4 or 5 and 0", b.Min, b.Max, b.Target, target, c.Target)
	}
}

func oldGroupStays(r *rig) {
	r.refresh()
	old := r.group("a")
	before := copyOf(old.State())
	r.increase("a", 2)
	r.settled()
	if diff := cmp.Diff(before, old.State()); diff != "" {
		r.Errorf("old group after a refresh (-before +after):\n%s", diff)
	}
	if got := r.group("a").State().Target; got != 5 {
		r.Errorf("target in the new view = %d, want 5", got)
	}
	// Its writes act on the cloud as it is now.
	if granted, err := old.IncreaseSize(r.Context(), 1); granted != 1 || err != nil {
		r.Errorf("IncreaseSize(1) of the old group = %d, %v; want 1 and no error", granted, err)
	}
	r.wantTarget(6)
}

func missingAreListed(r *rig) {
	r.refresh()
	r.increase("a", 2)
	for _, moment := range []string{"right after the request", "one refresh later"} {
		r.refresh()
		s := r.group("a").State()
		ids := listed(s)
		if s.Target != 5 || len(ids) != 5 {
			r.Errorf("%s: target %d with %d instances, want 5 and 5", moment, s.Target, len(ids))
		}
		slices.Sort(ids)
		if unique := slices.Compact(slices.Clone(ids)); len(unique) != len(ids) || slices.Contains(ids, "") {
			r.Errorf("%s: ids %q, want each once", moment, ids)
		}
	}
	r.settled()
	s := r.group("a").State()
	if diff := cmp.Diff(r.truth("a").Machines, running(s)); diff != "" || len(s.Instances) != 5 {
		r.Errorf("%d instances after all have come; machines (-want +got):\n%s", len(s.Instances), diff)
	}
	for _, i := range s.Instances {
		if i.Placeholder || i.Error != nil || (i.State != cloudprovider.InstanceRunning && i.State != cloudprovider.InstanceUnset) {
			r.Errorf("instance %+v, want a machine that runs", i)
		}
	}
}

func failedAreListed(r *rig) {
	r.refresh()
	r.harness.SetStock("a", 1)
	r.increase("a", 3)
	r.harness.Settle()
	r.eventually("two requests show that they failed", func() bool { return failures(r.group("a").State()) == 2 })
	s := r.group("a").State()
	if s.Target != 6 || len(listed(s)) != 6 {
		r.Errorf("target %d with %d instances, want 6 and 6", s.Target, len(listed(s)))
	}
	for _, i := range s.Instances {
		if i.Error == nil {
			continue
		}
		if i.Error.Class != cloudprovider.ErrorClassOutOfResources || i.Error.Code == "" || i.State != cloudprovider.InstanceCreating {
			r.Errorf("instance in state %s with error %+v, want creating, out of resources, with a code", i.State, *i.Error)
		}
	}
	if diff := cmp.Diff(r.truth("a").Machines, running(s)); diff != "" || len(running(s)) != 4 {
		r.Errorf("%d machines; (-want +got):\n%s", len(running(s)), diff)
	}
}

// failures is how many instances show an error.
func failures(s cloudprovider.GroupState) int {
	count := 0
	for _, i := range s.Instances {
		if i.Error != nil {
			count++
		}
	}
	return count
}

func endingAreListed(r *rig) {
	r.refresh()
	gone := r.truth("a").Machines[1]
	r.deleteNodes("a", gone)
	for range 2 { // while it ends, if that takes time, and when it is gone
		r.refresh()
		s := r.group("a").State()
		if s.Target != 2 || len(listed(s)) != 2 || slices.Contains(listed(s), gone) {
			r.Errorf("target %d, instances %q; want 2 without %q", s.Target, listed(s), gone)
		}
		r.harness.Settle()
	}
	r.refresh()
	if s := r.group("a").State(); len(s.Instances) != 2 {
		r.Errorf("%d instances when it is gone, want 2", len(s.Instances))
	}
}

func nodesFindGroups(r *rig) {
	r.refresh()
	r.increase("a", 1)
	r.refresh()
	for _, g := range r.cloud.NodeGroups() {
		for _, i := range g.State().Instances {
			unregistered := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: i.ID}, Spec: corev1.NodeSpec{ProviderID: i.ID}}
			for kind, node := range map[string]*corev1.Node{"registered": nodeOf(i.ID), "unregistered": unregistered} {
				if id, err := r.cloud.GroupOf(node); id != g.ID() || err != nil {
					r.Errorf("GroupOf(%s %q) = %q, %v; want %q and no error", kind, i.ID, id, err, g.ID())
				}
			}
		}
	}
}

func strangersHaveNoGroup(r *rig) {
	r.refresh()
	for _, node := range []*corev1.Node{
		nodeOf("elsewhere:///zone/stranger"),
		{ObjectMeta: metav1.ObjectMeta{Name: "without-provider-id"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.NodeSpec{ProviderID: "no form at all"}},
		{},
	} {
		if id, err := r.cloud.GroupOf(node); id != "" || err != nil {
			r.Errorf("GroupOf(%q, %q) = %q, %v; want no group and no error", node.Name, node.Spec.ProviderID, id, err)
		}
	}
}

func templatesAreOwned(r *rig) {
	r.refresh()
	variants, err := r.group("a").Templates(r.Context())
	if errors.Is(err, cloudprovider.ErrNoTemplate) {
		r.Skip("the provider has no templates")
	}
	if err != nil || len(variants) == 0 {
		r.Fatalf("Templates = %d variants, %v; want at least one and no error", len(variants), err)
	}
	describe := func(variants []cloudprovider.TemplateVariant) string {
		var text strings.Builder
		for _, v := range variants {
			fmt.Fprintln(&text, v.Key, v.Promise, v.Weight, v.Node.Labels, v.Node.Annotations, v.Node.Status.Allocatable.Cpu(), len(v.Pods))
		}
		return text.String()
	}
	before := describe(variants)
	keys := map[string]bool{}
	for _, v := range variants {
		r.wantComplete(v)
		if keys[v.Key] {
			r.Errorf("two variants have the key %q", v.Key)
		}
		keys[v.Key] = true
		if v.Node.Labels == nil {
			v.Node.Labels = map[string]string{}
		}
		v.Node.Labels["cloudtest"] = "changed by the caller"
		v.Node.Status.Allocatable[corev1.ResourceCPU] = v.Node.Status.Allocatable[corev1.ResourceMemory]
	}
	again, err := r.group("a").Templates(r.Context())
	if err != nil {
		r.Fatalf("Templates the second time: %v, want no error", err)
	}
	if diff := cmp.Diff(before, describe(again)); diff != "" {
		r.Errorf("templates after the caller changed those it got (-before +after):\n%s", diff)
	}
}

// wantComplete wants a node that looks fresh and ready.
func (r *rig) wantComplete(v cloudprovider.TemplateVariant) {
	r.Helper()
	ready := slices.ContainsFunc(v.Node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	if !ready {
		r.Errorf("the node of variant %q is not ready", v.Key)
	}
	if v.Node.Status.Allocatable.Cpu().IsZero() || v.Node.Status.Allocatable.Memory().IsZero() || v.Node.Status.Allocatable.Pods().IsZero() {
		r.Errorf("the node of variant %q offers %v, want cpu, memory and pods", v.Key, v.Node.Status.Allocatable)
	}
	if v.Promise == cloudprovider.PromiseUnset || v.Weight < 0 || v.Key == "" {
		r.Errorf("variant %q has promise %s and weight %d, want a key, a promise and a weight", v.Key, v.Promise, v.Weight)
	}
}

func nameStays(r *rig) {
	name, changed := r.cloud.Name(), r.cloud.Changed()
	if name == "" {
		r.Error("the provider has no name")
	}
	r.refresh()
	if again := r.cloud.Name(); again != name {
		r.Errorf("Name = %q and later %q", name, again)
	}
	if r.cloud.Changed() != changed {
		r.Error("Changed returns another channel after a refresh")
	}
	if err := r.cloud.Cleanup(r.Context()); err != nil {
		r.Errorf("Cleanup: %v, want no error", err)
	}
}
