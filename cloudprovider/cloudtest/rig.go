package cloudtest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

// fresh is the age up to which a provider may take data for fresh. After a change behind its back a check lets as much pass.
const fresh = 10 * time.Second

// rig is what a check works with.
type rig struct {
	testing.TB
	harness Harness
	cloud   cloudprovider.CloudProvider
}

// refresh brings a new view into force.
func (r *rig) refresh() {
	r.Helper()
	r.harness.Advance(r.harness.RefreshInterval())
	if err := r.cloud.Refresh(r.Context()); err != nil {
		r.Fatalf("Refresh: %v, want no error", err)
	}
}

// group is a group of the view.
func (r *rig) group(id cloudprovider.GroupID) cloudprovider.NodeGroup {
	r.Helper()
	for _, g := range r.cloud.NodeGroups() {
		if g.ID() == id {
			return g
		}
	}
	r.Fatalf("node group %q is not in the view", id)
	return nil
}

// increase asks for delta more nodes and wants them granted.
func (r *rig) increase(id cloudprovider.GroupID, delta int) {
	r.Helper()
	granted, err := r.group(id).IncreaseSize(r.Context(), delta)
	if err != nil || granted != delta {
		r.Fatalf("IncreaseSize(%d) = %d, %v; want %d and no error", delta, granted, err, delta)
	}
}

// deleteNodes wants the call to succeed for every node.
func (r *rig) deleteNodes(id cloudprovider.GroupID, providerIDs ...string) {
	r.Helper()
	refs := refsOf(providerIDs...)
	outcomes, err := r.group(id).DeleteNodes(r.Context(), refs)
	if err != nil {
		r.Fatalf("DeleteNodes(%q): %v, want no error", providerIDs, err)
	}
	r.wantOutcomes(outcomes, refs)
}

// wantOutcomes wants success for each of the nodes, in their order.
func (r *rig) wantOutcomes(outcomes []cloudprovider.DeleteOutcome, refs []cloudprovider.NodeRef) {
	r.Helper()
	var got []cloudprovider.NodeRef
	for _, o := range outcomes {
		got = append(got, o.Node)
		if o.Err != nil {
			r.Errorf("deleting %q: %v, want no error", o.Node.ProviderID, o.Err)
		}
	}
	if diff := cmp.Diff(refs, got); diff != "" {
		r.Errorf("nodes of the outcomes (-want +got):\n%s", diff)
	}
}

// truth is the group as the cloud has it. Whatever a check does, the target must never be below what exists.
func (r *rig) truth(id cloudprovider.GroupID) Truth {
	r.Helper()
	truth := r.harness.Truth(id)
	if truth.Target < len(truth.Machines) {
		r.Errorf("the target of %q is %d with %d machines that exist", id, truth.Target, len(truth.Machines))
	}
	return truth
}

// wantTruth compares the group with what it should be.
func (r *rig) wantTruth(id cloudprovider.GroupID, want Truth) {
	r.Helper()
	if diff := cmp.Diff(want, r.truth(id)); diff != "" {
		r.Errorf("node group %q in the cloud (-want +got):\n%s", id, diff)
	}
}

// wantTarget compares the target of group a with what it should be.
func (r *rig) wantTarget(want int) {
	r.Helper()
	if got := r.truth("a").Target; got != want {
		r.Errorf("target of \"a\" = %d, want %d", got, want)
	}
}

// settled moves on until the world is at rest, and takes a new view of it.
func (r *rig) settled() {
	r.Helper()
	r.harness.Settle()
	r.refresh()
}

// eventually tries as long as a cautious provider may want to look again before it acts.
func (r *rig) eventually(what string, try func() bool) {
	r.Helper()
	for range 40 {
		if try() {
			return
		}
		r.harness.Advance(30 * time.Second)
		r.refresh()
	}
	r.Fatalf("did not happen within 20 minutes: %s", what)
}

// wantBounds wants a StaleBoundsError about group a.
func (r *rig) wantBounds(err error) {
	r.Helper()
	stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err)
	if !ok {
		r.Errorf("error = %v, want a StaleBoundsError", err)
		return
	}
	if stale.Group != "a" {
		r.Errorf("StaleBoundsError is about %q, want \"a\"", stale.Group)
	}
	if stale.Asked <= stale.Room {
		r.Errorf("StaleBoundsError says that %d were asked for and %d possible", stale.Asked, stale.Room)
	}
}

// refsOf refers to the nodes of machines.
func refsOf(providerIDs ...string) []cloudprovider.NodeRef {
	refs := make([]cloudprovider.NodeRef, len(providerIDs))
	for i, id := range providerIDs {
		refs[i] = cloudprovider.RefOf(nodeOf(id))
	}
	return refs
}

// nodeOf is a node as the autoscaler may know it of a machine.
func nodeOf(providerID string) *corev1.Node {
	name := providerID[strings.LastIndex(providerID, "/")+1:]
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

// listed are the ids of a group's instances, those that are ending left out.
func listed(state cloudprovider.GroupState) []string {
	var ids []string
	for _, i := range state.Instances {
		if i.State != cloudprovider.InstanceDeleting {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// running are the ids of a group's machines that exist, in ascending order, those that are ending left out.
func running(state cloudprovider.GroupState) []string {
	var ids []string
	for _, i := range state.Instances {
		if i.State != cloudprovider.InstanceDeleting && !i.Placeholder {
			ids = append(ids, i.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// copyOf is a state that stays as it is even if the original is changed.
func copyOf(state cloudprovider.GroupState) cloudprovider.GroupState {
	state.Instances = slices.Clone(state.Instances)
	for i := range state.Instances {
		if e := state.Instances[i].Error; e != nil {
			kept := *e
			state.Instances[i].Error = &kept
		}
	}
	return state
}

// without is the list without one of its values.
func without(list []string, value string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == value })
}
