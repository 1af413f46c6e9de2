package cloudtest

import (
	"errors"
	"slices"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
)

func failureChecks() []Check {
	two := []Group{{ID: "a", Max: 5, Target: 2}, {ID: "b", Max: 5, Target: 2}}
	return []Check{
		{Name: "a group that cannot be read leaves the others alone", groups: two, run: groupFailsAlone},
		{Name: "a cloud that cannot be read leaves the view in force", groups: two, run: cloudFailureKeepsView},
		{Name: "a refused write says what to do about it and changes nothing", groups: two, run: refusalsAreTyped},
		{Name: "a write whose answer is lost is told as such", groups: two, run: lostAnswersAreTold},
		{Name: "a group that was removed is gone and leaves the view", groups: two, run: removedGroupIsGone},
	}
}

func groupFailsAlone(r *rig) {
	failer, ok := r.harness.(GroupFailer)
	if !ok {
		r.Skip("the harness cannot make a group fail")
	}
	r.refresh()
	before := copyOf(r.group("a").State())
	failer.FailGroup("a")
	r.harness.SetTarget("a", 3)
	r.harness.SetTarget("b", 4)
	r.refresh()
	first := r.wantFailing("a")
	if got := r.group("b").State().Target; got != 4 {
		r.Errorf("target of the healthy group = %d, want 4", got)
	}
	for _, g := range r.cloud.NodeGroups() {
		if g.ID() != "a" {
			continue
		}
		if diff := cmp.Diff(before, g.State()); diff != "" {
			r.Errorf("data of the failing group (-last good +now):\n%s", diff)
		}
	}
	r.harness.Advance(r.harness.RefreshInterval())
	r.refresh()
	if again := r.wantFailing("a"); !again.Since.Equal(first.Since) {
		r.Errorf("the group fails since %s, and later since %s", first.Since, again.Since)
	}
	failer.HealGroup("a")
	r.refresh()
	if errs := r.cloud.GroupErrors(); len(errs) != 0 {
		r.Errorf("GroupErrors = %v when the group can be read again, want none", errs)
	}
	if got := r.group("a").State().Target; got != 3 {
		r.Errorf("target of the group that can be read again = %d, want 3", got)
	}
}

// wantFailing wants exactly this group among the errors.
func (r *rig) wantFailing(id cloudprovider.GroupID) cloudprovider.GroupError {
	r.Helper()
	errs := r.cloud.GroupErrors()
	if len(errs) != 1 || errs[0].Group != id || errs[0].Err == nil || errs[0].Since.IsZero() {
		r.Fatalf("GroupErrors = %v, want one about %q with an error and a time", errs, id)
	}
	return errs[0]
}

func cloudFailureKeepsView(r *rig) {
	failer, ok := r.harness.(CloudFailer)
	if !ok {
		r.Skip("the harness cannot make the cloud fail")
	}
	r.refresh()
	before := copyOf(r.group("a").State())
	r.harness.SetTarget("a", 3)
	failer.FailCloud()
	r.harness.Advance(r.harness.RefreshInterval())
	if err := r.cloud.Refresh(r.Context()); err == nil {
		r.Error("Refresh: no error, want one")
	}
	if diff := cmp.Diff(before, r.group("a").State()); diff != "" {
		r.Errorf("view after a refresh that failed (-before +after):\n%s", diff)
	}
	if got := len(r.cloud.NodeGroups()); got != 2 {
		r.Errorf("%d groups after a refresh that failed, want 2", got)
	}
	failer.HealCloud()
	r.refresh()
	if got := r.group("a").State().Target; got != 3 {
		r.Errorf("target when the cloud can be read again = %d, want 3", got)
	}
}

func refusalsAreTyped(r *rig) {
	refuser, ok := r.harness.(WriteRefuser)
	if !ok {
		r.Skip("the harness cannot have writes refused")
	}
	r.refresh()
	before := r.truth("a")
	for _, reason := range []Refusal{RefusalThrottled, RefusalDenied, RefusalQuota} {
		refuser.RefuseWrites(reason)
		granted, err := r.group("a").IncreaseSize(r.Context(), 1)
		if granted != 0 || !refused(err, reason) {
			r.Errorf("%s: IncreaseSize = %d, %v (%T); want 0 and an error of that kind", reason, granted, err, err)
		}
		outcomes, err := r.group("a").DeleteNodes(r.Context(), refsOf(before.Machines[0]))
		if err == nil {
			if len(outcomes) != 1 {
				r.Fatalf("%s: outcomes %v, want one", reason, outcomes)
			}
			err = outcomes[0].Err
		}
		if !refused(err, reason) {
			r.Errorf("%s: DeleteNodes: %v (%T), want an error of that kind", reason, err, err)
		}
		refuser.AllowWrites()
		r.wantTruth("a", before)
		r.harness.Settle()
	}
	r.refresh()
	r.increase("a", 1)
	r.deleteNodes("a", before.Machines[0])
}

// refused tells whether the error is of the type that belongs to the reason.
func refused(err error, reason Refusal) bool {
	switch reason {
	case RefusalThrottled:
		e, ok := errors.AsType[*cloudprovider.TransientError](err)
		return ok && !e.OutcomeUnknown
	case RefusalDenied:
		_, ok := errors.AsType[*cloudprovider.ConfigurationError](err)
		return ok
	case RefusalQuota:
		_, ok := errors.AsType[*cloudprovider.QuotaError](err)
		return ok
	case RefusalUnset:
		return err == nil
	default:
		return false
	}
}

func lostAnswersAreTold(r *rig) {
	loser, ok := r.harness.(AnswerLoser)
	if !ok {
		r.Skip("the harness cannot lose answers")
	}
	r.refresh()
	machines := r.truth("a").Machines
	loser.LoseAnswers()
	granted, err := r.group("a").IncreaseSize(r.Context(), 1)
	if (granted != 0 || !unknown(err)) && (granted != 1 || err != nil) { // a provider may find out by a second look
		r.Errorf("IncreaseSize = %d, %v; want 0 and a TransientError with OutcomeUnknown, or 1 and no error", granted, err)
	}
	r.wantTarget(3)
	outcomes, err := r.group("a").DeleteNodes(r.Context(), refsOf(machines[0]))
	if err != nil || len(outcomes) != 1 || (outcomes[0].Err != nil && !unknown(outcomes[0].Err)) {
		r.Errorf("DeleteNodes = %v, %v; want one outcome that is unknown, or a success", outcomes, err)
	}
	loser.KeepAnswers()
	r.settled()
	if s := r.group("a").State(); s.Target != 2 || slices.Contains(listed(s), machines[0]) {
		r.Errorf("target %d, instances %q; want 2 without %q", s.Target, listed(s), machines[0])
	}
	r.deleteNodes("a", machines[0]) // asking again does no harm
	r.wantTarget(2)
}

// unknown tells whether the write may have been carried out.
func unknown(err error) bool {
	e, ok := errors.AsType[*cloudprovider.TransientError](err)
	return ok && e.OutcomeUnknown
}

func removedGroupIsGone(r *rig) {
	remover, ok := r.harness.(GroupRemover)
	if !ok {
		r.Skip("the harness cannot remove a group")
	}
	r.refresh()
	machine := r.truth("a").Machines[0]
	remover.RemoveGroup("a")
	r.harness.Advance(fresh)
	old := r.group("a")
	granted, err := old.IncreaseSize(r.Context(), 1)
	if gone, ok := errors.AsType[*cloudprovider.GoneError](err); granted != 0 || !ok || gone.Group != "a" {
		r.Errorf("IncreaseSize = %d, %v; want 0 and a GoneError about the group", granted, err)
	}
	r.refresh()
	r.refresh() // a provider may look twice: listings can lack a group for a moment
	var ids []cloudprovider.GroupID
	for _, g := range r.cloud.NodeGroups() {
		ids = append(ids, g.ID())
	}
	if !slices.Equal(ids, []cloudprovider.GroupID{"b"}) {
		r.Errorf("groups %q, want only b", ids)
	}
	if id, err := r.cloud.GroupOf(nodeOf(machine)); id != "" || err != nil {
		r.Errorf("GroupOf a node of the removed group = %q, %v; want none and no error", id, err)
	}
}

// halfOf is a pod that requests half of what the variant's node offers.
func halfOf(v cloudprovider.TemplateVariant) *corev1.Pod {
	half := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		offered := v.Node.Status.Allocatable[name]
		half[name] = *resource.NewMilliQuantity(offered.MilliValue()/2, offered.Format)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "half"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: half}}}},
	}
}
