package clusterstate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/report"
)

func TestARequestIsDoneWhenNothingIsUpcoming(t *testing.T) {
	f := newFleet("g", 0, 10, 2).ready(2)
	r := newRegistry()
	r.Observe(see(t0, f))
	state := r.AfterScaleUp(grown(f, 2, t0), nil)
	want := &clusterstate.Request{Increase: 2, Since: t0, Expires: after(15 * time.Minute)}
	if diff := cmp.Diff(want, groupOf(state, f).Request); diff != "" {
		t.Fatalf("the request (-want +got):\n%s", diff)
	}
	if !groupOf(state, f).ScalingUp || !state.LastScaleUp.Equal(t0) || !groupOf(state, f).LastScaleUp.Equal(t0) {
		t.Errorf("scaling up %t, stamps %s and %s, want the time of the iteration", groupOf(state, f).ScalingUp, state.LastScaleUp, groupOf(state, f).LastScaleUp)
	}
	f.group.Target = 4
	f.creating(2)
	if got := groupOf(r.Observe(see(after(time.Minute), f)), f); !got.ScalingUp || got.Request == nil {
		t.Errorf("scaling up %t, request %v while nodes are missing", got.ScalingUp, got.Request)
	}
	f.registers(2, after(90*time.Second))
	state = r.Observe(see(after(2*time.Minute), f))
	if got := groupOf(state, f); got.ScalingUp || got.Request != nil || got.Backoff != nil || len(state.TimedOut) > 0 {
		t.Errorf("after all came: scaling up %t, request %v, back-off %v, timed out %v", got.ScalingUp, got.Request, got.Backoff, state.TimedOut)
	}
}

// Case S12.
func TestADoneRequestLeavesTheBackOff(t *testing.T) {
	f := newFleet("g", 0, 10, 2).ready(2)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 2, t0), nil)
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil)
	f.group.Target = 4
	f.ready(2)
	if got := groupOf(r.Observe(see(after(time.Minute), f)), f); got.Request != nil || got.Backoff == nil {
		t.Errorf("request %v, back-off %v, want only the back-off", got.Request, got.Backoff)
	}
}

// Case S13: the time-out is told, backs the group off and ends the request; what to give back is for the plan to say.
func TestARequestTimesOut(t *testing.T) {
	f := newFleet("g", 0, 20, 5).ready(5)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 4, t0), nil)
	f.group.Target = 9
	f.ready(3).creating(1)
	if state := r.Observe(see(after(15*time.Minute), f)); len(state.TimedOut) > 0 {
		t.Fatalf("timed out at exactly the provision time: %v", state.TimedOut)
	}
	state := r.Observe(see(after(15*time.Minute+time.Second), f))
	want := []report.RequestTimeout{{Group: "g", Increase: 4, After: 15*time.Minute + time.Second}}
	if diff := cmp.Diff(want, state.TimedOut); diff != "" {
		t.Errorf("timed out (-want +got):\n%s", diff)
	}
	got := groupOf(state, f)
	wantBackoff := &report.Backoff{
		Until: after(20*time.Minute + time.Second), Class: cloudprovider.ErrorClassOther, Code: "timeout", Message: "nodes did not register within 15m0s",
	}
	if diff := cmp.Diff(wantBackoff, got.Backoff); diff != "" {
		t.Errorf("back-off (-want +got):\n%s", diff)
	}
	if got.Request != nil || got.ScalingUp || got.Target != 9 {
		t.Errorf("request %v, scaling up %t, target %d; want none, false and 9", got.Request, got.ScalingUp, got.Target)
	}
	if state = r.Observe(see(after(16*time.Minute), f)); len(state.TimedOut) > 0 {
		t.Error("the same time-out is news twice")
	}
}

// Case S28: a later increase renews the time of the whole request.
func TestALaterIncreaseRenewsTheTimeOfTheRequest(t *testing.T) {
	f := newFleet("g", 0, 20, 0)
	f.group.Options.MaxNodeProvisionTime = 5 * time.Minute
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 2, t0), nil)
	f.group.Target = 2
	r.Observe(see(after(4*time.Minute), f))
	r.AfterScaleUp(grown(f, 1, after(4*time.Minute)), nil)
	f.group.Target = 3
	for _, at := range []time.Duration{5*time.Minute + time.Second, 9 * time.Minute} {
		if state := r.Observe(see(after(at), f)); len(state.TimedOut) > 0 {
			t.Fatalf("timed out at %s", at)
		}
	}
	state := r.Observe(see(after(9*time.Minute+time.Second), f))
	want := []report.RequestTimeout{{Group: "g", Increase: 3, After: 5*time.Minute + time.Second}}
	if diff := cmp.Diff(want, state.TimedOut); diff != "" {
		t.Errorf("timed out (-want +got):\n%s", diff)
	}
}

func TestWhatIsOverdueFromBeforeTheRequestIsNotHeldAgainstIt(t *testing.T) {
	for name, f := range map[string]*fleet{
		"a machine that never registered": newFleet("g", 0, 20, 3).ready(2).creating(1),
		"a place that was never filled":   newFleet("g", 0, 20, 3).ready(2),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRegistry()
			r.Observe(see(t0, f))
			r.Observe(see(after(20*time.Minute), f))
			r.AfterScaleUp(grown(f, 1, after(20*time.Minute)), nil)
			f.group.Target = 4
			f.ready(1)
			if got := groupOf(r.Observe(see(after(21*time.Minute), f)), f); got.Request != nil {
				t.Errorf("request %+v, want it met", got.Request)
			}
			state := r.Observe(see(after(36*time.Minute), f))
			if len(state.TimedOut) > 0 || groupOf(state, f).Backoff != nil {
				t.Errorf("timed out %v, back-off %v", state.TimedOut, groupOf(state, f).Backoff)
			}
		})
	}
}

func TestMachinesThatBecomeOverdueInOneGoWithTheirRequestMakeItTimeOut(t *testing.T) {
	f := newFleet("g", 0, 20, 0)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 2, t0), nil)
	f.group.Target = 2
	f.creating(2)
	r.Observe(see(after(10*time.Second), f))
	state := r.Observe(see(after(16*time.Minute), f)) // the iterations are a quarter of an hour apart
	if len(state.TimedOut) != 1 || groupOf(state, f).Backoff == nil {
		t.Errorf("timed out %v, back-off %v, want both", state.TimedOut, groupOf(state, f).Backoff)
	}
}

func TestARequestIsNotJudgedOnOldData(t *testing.T) {
	f := newFleet("g", 0, 20, 1).ready(1)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(grown(f, 2, t0), nil)
	f.group.Stale = errors.New("throttled")
	state := r.Observe(see(after(20*time.Minute), f))
	if got := groupOf(state, f); got.Request == nil || len(state.TimedOut) > 0 || got.Backoff != nil {
		t.Errorf("request %v, timed out %v, back-off %v; want the request to stay", got.Request, state.TimedOut, got.Backoff)
	}
	f.group.Stale = nil
	f.group.Target = 3
	f.ready(2)
	if got := groupOf(r.Observe(see(after(21*time.Minute), f)), f); got.Request != nil || got.Backoff != nil {
		t.Errorf("request %v, back-off %v; want it met", got.Request, got.Backoff)
	}
}

func TestTheReactionToARefusalIsTheOneThatItsTypeAsksFor(t *testing.T) {
	cause := errors.New("because")
	wrapped := func(err error) error { return fmt.Errorf("resizing: %w", err) }
	backedOff := func(class cloudprovider.ErrorClass, code, message string, until time.Duration) *report.Backoff {
		return &report.Backoff{Until: after(until), Class: class, Code: code, Message: message}
	}
	aside := func(message string, until time.Duration) *report.GroupSetAside {
		return &report.GroupSetAside{Error: message, Since: t0, Until: after(until)}
	}
	type reaction struct {
		Backoff  *report.Backoff
		SetAside *report.GroupSetAside
		Upcoming int
	}
	tests := map[string]struct {
		err  error
		want reaction
	}{
		"a throttled call is tried again and held against nobody": {err: wrapped(&cloudprovider.TransientError{Err: cause})},
		"a call whose answer is lost may have been carried out":   {err: wrapped(&cloudprovider.TransientError{OutcomeUnknown: true, Err: cause}), want: reaction{Upcoming: 3}},
		"so may one that ran out of time":                         {err: wrapped(context.DeadlineExceeded), want: reaction{Upcoming: 3}},
		"a bound that has changed asks for a new plan":            {err: wrapped(&cloudprovider.StaleBoundsError{Group: "g", Err: cause})},
		"a group that is gone is left alone for a minute": {
			err:  &cloudprovider.GoneError{Group: "g", Err: cause},
			want: reaction{SetAside: aside(`node group "g" does not exist any more: because`, time.Minute)},
		},
		"what an operator has to mend is left alone for five minutes": {
			err:  &cloudprovider.ConfigurationError{Group: "g", Err: cause},
			want: reaction{SetAside: aside(`node group "g" cannot be used until an operator acts: because`, 5*time.Minute)},
		},
		"or for as long as the cloud says": {
			err:  &cloudprovider.ConfigurationError{Group: "g", Retry: time.Hour, Err: cause},
			want: reaction{SetAside: aside(`node group "g" cannot be used until an operator acts: because`, time.Hour)},
		},
		"a quota backs the group off as a shortage": {
			err: &cloudprovider.QuotaError{Group: "g", Code: "VcpuLimitExceeded", Err: cause},
			want: reaction{Backoff: backedOff(cloudprovider.ErrorClassOutOfResources, "VcpuLimitExceeded",
				`an account limit stops node group "g": because`, 5*time.Minute)},
		},
		"a shortage backs the group off": {
			err: &cloudprovider.OutOfResourcesError{Group: "g", Err: cause},
			want: reaction{Backoff: backedOff(cloudprovider.ErrorClassOutOfResources, "cloudProviderError",
				`the cloud is out of its machines for node group "g": because`, 5*time.Minute)},
		},
		"a shortage backs the group off for as long as the cloud says": {
			err: &cloudprovider.OutOfResourcesError{Group: "g", Code: "ICE", Until: after(time.Hour), Err: cause},
			want: reaction{Backoff: backedOff(cloudprovider.ErrorClassOutOfResources, "ICE",
				`the cloud is out of its machines for node group "g": because`, time.Hour)},
		},
		"but not for less than usual": {
			err: &cloudprovider.OutOfResourcesError{Group: "g", Code: "ICE", Until: after(time.Minute), Err: cause},
			want: reaction{Backoff: backedOff(cloudprovider.ErrorClassOutOfResources, "ICE",
				`the cloud is out of its machines for node group "g": because`, 5*time.Minute)},
		},
		"any other error backs the group off": {
			err: wrapped(cause), want: reaction{Backoff: backedOff(cloudprovider.ErrorClassOther, "cloudProviderError", "resizing: because", 5*time.Minute)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFleet("g", 0, 10, 2).ready(2)
			r := newRegistry()
			r.Observe(see(t0, f))
			state := r.AfterScaleUp(refused(f, 3, t0, test.err), nil)
			got := groupOf(state, f)
			if diff := cmp.Diff(test.want, reaction{got.Backoff, got.SetAside, got.Upcoming}); diff != "" {
				t.Errorf("in the same iteration (-want +got):\n%s", diff)
			}
			code, failed := clusterstate.FailureCode(test.err)
			if failed != (test.want.Backoff != nil) || failed && code != test.want.Backoff.Code {
				t.Errorf("counts as failed scale-up: %t with code %q", failed, code)
			}
			if test.want.Upcoming == 0 && got.Request != nil {
				t.Errorf("request %+v for something refused", got.Request)
			}
			if !state.LastScaleUp.Equal(t0.Add(-time.Hour)) || !got.LastScaleUp.IsZero() {
				t.Errorf("a refusal starts a cool-down: %s, %s", state.LastScaleUp, got.LastScaleUp)
			}
			test.want.Upcoming = 0 // the next view tells
			got = groupOf(r.Observe(see(after(10*time.Second), f)), f)
			if diff := cmp.Diff(test.want, reaction{got.Backoff, got.SetAside, got.Upcoming}); diff != "" {
				t.Errorf("in the next iteration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASetAsideGroupComesBack(t *testing.T) {
	f := newFleet("g", 0, 10, 2).ready(2)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(refused(f, 1, t0, &cloudprovider.ConfigurationError{Group: "g", Err: errors.New("denied")}), nil)
	if got := groupOf(r.Observe(see(after(5*time.Minute), f)), f).SetAside; got == nil {
		t.Error("the group is back at the end of its pause, want after it")
	}
	if got := groupOf(r.Observe(see(after(5*time.Minute+time.Second), f)), f); got.SetAside != nil || got.SafeToScaleUp() != nil {
		t.Errorf("set aside %v, against growing %v", got.SetAside, got.SafeToScaleUp())
	}
}

func TestAPartlyGrantedIncreaseCountsForWhatWasGranted(t *testing.T) {
	f := newFleet("g", 0, 4, 2).ready(2)
	r := newRegistry()
	r.Observe(see(t0, f))
	outcomes := refused(f, 5, t0, &cloudprovider.StaleBoundsError{Group: "g", Asked: 5, Room: 2, Err: errors.New("max")})
	outcomes[0].Granted = 2
	got := groupOf(r.AfterScaleUp(outcomes, nil), f)
	if got.Upcoming != 2 || got.Target != 4 || got.Request == nil || got.Request.Increase != 2 || got.Backoff != nil {
		t.Errorf("upcoming %d, target %d, request %+v, back-off %v; want 2, 4, a request for 2 and none", got.Upcoming, got.Target, got.Request, got.Backoff)
	}
}

func TestStatesHandedOutBeforeStayAsTheyWere(t *testing.T) {
	f := newFleet("g", 0, 10, 2).ready(2)
	r := newRegistry()
	seen := r.Observe(see(t0, f))
	before := groupOf(seen, f)
	r.AfterScaleUp(grown(f, 2, t0), nil)
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil)
	if diff := cmp.Diff(before, groupOf(seen, f)); diff != "" {
		t.Errorf("the state changed afterwards (-before +now):\n%s", diff)
	}
}

func TestAGroupThatTheCloudForgetsIsForgotten(t *testing.T) {
	f := newFleet("g", 0, 10, 2).ready(2)
	r := newRegistry()
	r.Observe(see(t0, f))
	r.AfterScaleUp(refused(f, 1, t0, errors.New("no")), nil)

	missing := see(after(10*time.Second), strangers())
	missing.GroupErrors = []cloudprovider.GroupError{{Group: "g", Err: errors.New("unreadable")}}
	r.Observe(missing)
	if got := groupOf(r.Observe(see(after(20*time.Second), f)), f); got.Backoff == nil {
		t.Error("a group that could not be described for a while is forgotten")
	}
	r.Observe(see(after(30*time.Second), strangers()))
	if got := groupOf(r.Observe(see(after(40*time.Second), f)), f); got.Backoff != nil {
		t.Errorf("a group that did not exist for a while has the back-off %+v", got.Backoff)
	}
}

func TestTheStampsOfTheCoolDowns(t *testing.T) {
	f := newFleet("g", 0, 10, 2).ready(2)
	r := newRegistry()
	state := r.Observe(see(t0, f))
	hourAgo := t0.Add(-time.Hour)
	if !state.LastScaleUp.Equal(hourAgo) || !state.LastDeletion.Equal(hourAgo) || !state.LastFailure.Equal(hourAgo) {
		t.Errorf("stamps %s, %s, %s at the start, want one hour before it", state.LastScaleUp, state.LastDeletion, state.LastFailure)
	}
	r.AfterScaleDown([]report.Removal{{Node: "g-01", Group: "g"}, {Node: "g-02", Group: "g"}}, nil)
	if got := r.AfterScaleDown(nil, nil).DeletionOf; got != "g-01 and 1 more" {
		t.Errorf("deletion of %q, want both nodes", got)
	}
	state = r.AfterScaleDown([]report.Removal{{Node: "g-01", Group: "g"}}, nil)
	if !state.LastDeletion.Equal(t0) || !state.LastFailure.Equal(hourAgo) {
		t.Errorf("stamps of deletion %s and failure %s after a start, want now and before", state.LastDeletion, state.LastFailure)
	}
	state = r.AfterScaleDown(nil, errors.New("tainting"))
	if !state.LastFailure.Equal(t0) || state.FailureBy != "tainting" || state.DeletionOf != "g-01" {
		t.Errorf("stamp of failure %s by %q, deletion of %q; want now by the error, and the node", state.LastFailure, state.FailureBy, state.DeletionOf)
	}
	for _, result := range []report.RemovalResult{report.RemovalTaintFailed, report.RemovalEvictionFailed, report.RemovalInternalFailure} {
		r.Ended([]report.RemovalOutcome{{Removal: report.Removal{Group: "g"}, Result: result, Ended: after(time.Minute)}})
	}
	if got := groupOf(r.Observe(see(after(time.Minute), f)), f); !got.LastDeletion.IsZero() || !got.LastFailure.IsZero() {
		t.Errorf("stamps of the group %s and %s, want none", got.LastDeletion, got.LastFailure)
	}
	r.Ended([]report.RemovalOutcome{
		{Removal: report.Removal{Group: "g", Node: "n1"}, Result: report.RemovalOK, Ended: after(2 * time.Minute)},
		{
			Removal: report.Removal{Group: "g", Node: "n2"}, Result: report.RemovalDeletionFailed, RefusedByCloud: true,
			Err: errors.New("denied"), Ended: after(3 * time.Minute),
		},
		{Removal: report.Removal{Group: "g"}, Result: report.RemovalDeletionFailed, Ended: after(4 * time.Minute)}, // it came to nothing on our side
	})
	state = r.Observe(see(after(4*time.Minute), f))
	if got := groupOf(state, f); !got.LastDeletion.Equal(after(2*time.Minute)) || !got.LastFailure.Equal(after(3*time.Minute)) {
		t.Errorf("stamps of the group %s and %s, want when the removals ended", got.LastDeletion, got.LastFailure)
	}
	if got := groupOf(state, f); got.DeletionOf != "n1" || got.FailureBy != "n2: denied" {
		t.Errorf("stamps of the group by %q and %q, want the nodes and the error", got.DeletionOf, got.FailureBy)
	}
	if !state.LastDeletion.Equal(t0) {
		t.Errorf("the global stamp %s follows the end of a removal, want its start", state.LastDeletion)
	}
}
