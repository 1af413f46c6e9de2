package simulated_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

func TestAFaultCountsTheRequestsThatItMatches(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		fault simulated.Fault
		want  []bool // whether three increases of g fail
		other bool   // whether a decrease of g fails before them
	}{
		"once":                  {fault: simulated.Fault{On: simulated.IncreaseSize, Group: "g", Count: 1}, want: []bool{true, false, false}},
		"twice":                 {fault: simulated.Fault{On: simulated.IncreaseSize, Group: "g", Count: 2}, want: []bool{true, true, false}},
		"until it is cleared":   {fault: simulated.Fault{On: simulated.IncreaseSize, Group: "g"}, want: []bool{true, true, true}},
		"any group":             {fault: simulated.Fault{On: simulated.IncreaseSize, Count: 1}, want: []bool{true, false, false}},
		"another group":         {fault: simulated.Fault{On: simulated.IncreaseSize, Group: "h"}, want: []bool{false, false, false}},
		"another operation":     {fault: simulated.Fault{On: simulated.DeleteNodes}, want: []bool{false, false, false}},
		"any operation":         {fault: simulated.Fault{Group: "g", Count: 2}, want: []bool{true, false, false}, other: true},
		"a node doesn't matter": {fault: simulated.Fault{On: simulated.IncreaseSize, Node: "g-0001"}, want: []bool{false, false, false}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, group())
			g := w.group("g")
			test.fault.Err = boom
			w.Inject(test.fault)
			if _, err := g.DecreaseTargetSize(t.Context(), 1); (err != nil) != test.other {
				t.Errorf("DecreaseTargetSize: %v, want a failure: %t", err, test.other)
			}
			var got []bool
			for range 3 {
				granted, err := g.IncreaseSize(t.Context(), 1)
				if failed := errors.Is(err, boom); failed == (granted == 1) {
					t.Errorf("IncreaseSize = %d, %v", granted, err)
				}
				got = append(got, err != nil)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			w.Clear(test.fault.On, test.fault.Group)
			if _, err := g.IncreaseSize(t.Context(), 1); err != nil {
				t.Errorf("IncreaseSize after the fault was cleared: %v", err)
			}
		})
	}
}

func TestClearingOneFaultLeavesTheOthers(t *testing.T) {
	w := newWorld(t, group())
	w.Inject(simulated.Fault{On: simulated.IncreaseSize, Group: "g"}, simulated.Fault{On: simulated.IncreaseSize})
	w.Clear(simulated.IncreaseSize, "g")
	w.Clear(simulated.DeleteNodes, "")
	if _, err := w.group("g").IncreaseSize(t.Context(), 1); err == nil {
		t.Error("the fault for all groups is gone too")
	}
}

func TestAFaultWithoutAnErrorThrottles(t *testing.T) {
	w := newWorld(t, group())
	w.Inject(simulated.Fault{On: simulated.IncreaseSize, Count: 1})
	_, err := w.group("g").IncreaseSize(t.Context(), 1)
	if transient, ok := errors.AsType[*cloudprovider.TransientError](err); !ok || transient.OutcomeUnknown {
		t.Errorf("error = %v, want a TransientError with a known outcome", err)
	}
	w.wantTarget(0)
}

func TestALostAnswerLeavesTheEffect(t *testing.T) {
	g := group()
	g.Target = 3
	w := newWorld(t, g)
	w.Inject(simulated.Fault{On: simulated.IncreaseSize, Lost: true, Count: 2}, simulated.Fault{On: simulated.DeleteNodes, Lost: true, Count: 1})
	_, err := w.group("g").IncreaseSize(t.Context(), 1)
	if transient, ok := errors.AsType[*cloudprovider.TransientError](err); !ok || !transient.OutcomeUnknown {
		t.Errorf("IncreaseSize: %v, want an unknown outcome", err)
	}
	w.wantTarget(4)
	if _, err = w.group("g").IncreaseSize(t.Context(), 20); err == nil {
		t.Error("IncreaseSize beyond the maximum: no error, want one")
	} else if _, ok := errors.AsType[*cloudprovider.StaleBoundsError](err); !ok {
		t.Errorf("IncreaseSize beyond the maximum: %v, want the refusal", err)
	}
	for i, o := range w.delete("simulated:///z1/g-0001", "simulated:///z1/g-0002") {
		if transient, ok := errors.AsType[*cloudprovider.TransientError](o.Err); !ok || !transient.OutcomeUnknown {
			t.Errorf("outcome %d: %v, want an unknown one", i, o.Err)
		}
	}
	w.wantTarget(2)
	// Asking again finds them gone.
	for i, o := range w.delete("simulated:///z1/g-0001", "simulated:///z1/g-0002") {
		if o.Err != nil {
			t.Errorf("outcome %d the second time: %v, want none", i, o.Err)
		}
	}
	w.wantTarget(2)
}

func TestALostAnswerOfAReadIsNoAnswer(t *testing.T) {
	w := newWorld(t, group())
	w.Inject(simulated.Fault{On: simulated.Refresh, Lost: true, Count: 1, Err: errors.New("connection reset")})
	err := w.Refresh(t.Context())
	if transient, ok := errors.AsType[*cloudprovider.TransientError](err); !ok || transient.OutcomeUnknown {
		t.Errorf("Refresh: %v, want a TransientError with nothing unknown", err)
	}
	if got := len(w.NodeGroups()); got != 0 {
		t.Errorf("%d groups after a refresh without an answer, want none", got)
	}
}

func TestTheFaultOfOneNodeLeavesTheOthersOfTheCall(t *testing.T) {
	denied := &cloudprovider.ConfigurationError{Err: errors.New("access denied")}
	g := group()
	g.Target = 4
	w := newWorld(t, g)
	w.Inject(
		simulated.Fault{On: simulated.DeleteNodes, Node: "g-0002", Err: denied, Count: 1},
		simulated.Fault{On: simulated.DeleteNodes, Node: "simulated:///z1/g-0003", Lost: true, Err: errors.New("connection reset")},
	)
	first, second, third := "simulated:///z1/g-0001", "simulated:///z1/g-0002", "simulated:///z1/g-0003"
	outcomes := w.delete(second, first, third, second, "simulated:///z1/stranger")
	var got []string
	for _, o := range outcomes {
		text := o.Node.ProviderID
		if o.Err != nil {
			text += ": " + o.Err.Error()
		}
		got = append(got, text)
	}
	want := []string{
		second + ": " + denied.Error(),
		first,
		third + ": the cloud gave no answer and may have carried the request out: connection reset",
		second + ": " + denied.Error(),
		`simulated:///z1/stranger: node "" ("simulated:///z1/stranger") does not belong to node group "g"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	w.wantTarget(2)
	w.wantMachines(second+" running registered", "simulated:///z1/g-0004 running registered")
	if o := w.delete(second); o[0].Err != nil {
		t.Errorf("deleting it again: %v, want none", o[0].Err)
	}
}

func TestASuspendedGroupRefusesWrites(t *testing.T) {
	g := group()
	g.Target = 1
	w := newWorld(t, g)
	w.update(func(g *simulated.Group) { g.Suspended = "process Launch is suspended" })
	_, err := w.group("g").IncreaseSize(t.Context(), 1)
	if refused, ok := errors.AsType[*cloudprovider.ConfigurationError](err); !ok || refused.Group != "g" {
		t.Errorf("IncreaseSize: %v, want a ConfigurationError about g", err)
	}
	if _, err := w.group("g").DeleteNodes(t.Context(), refs("simulated:///z1/g-0001")); err == nil {
		t.Error("DeleteNodes: no error, want one")
	}
	w.wantTarget(1)
	w.update(func(g *simulated.Group) { g.Suspended = "" })
	w.increase(1)
	w.wantTarget(2)
}

func TestWritesAreLoggedInOrder(t *testing.T) {
	g := slow()
	g.Min, g.Max, g.Target, g.Stock = 1, 4, 2, map[string]int{"": 1}
	var told []simulated.Write
	options := simulated.Options{}
	var w *world
	options.OnWrite = func(write simulated.Write) {
		if got := len(w.Writes()); got != len(told)+1 { // it may call the cloud
			t.Errorf("%d writes are logged when write %d is told", got, len(told)+1)
		}
		told = append(told, write)
	}
	w = newWorldOf(t, options, g)
	w.increase(2)
	w.to(40 * time.Second)
	group := w.group("g")
	if _, err := group.IncreaseSize(t.Context(), 1); err == nil {
		t.Error("IncreaseSize beyond the maximum: no error, want one")
	}
	lowered, err := group.DecreaseTargetSize(t.Context(), 3)
	if lowered != 1 || err != nil {
		t.Errorf("DecreaseTargetSize(3) = %d, %v; want 1", lowered, err)
	}
	if lowered, err := group.DecreaseTargetSize(t.Context(), 3); lowered != 0 || err != nil { // nothing to write
		t.Errorf("DecreaseTargetSize(3) = %d, %v; want 0", lowered, err)
	}
	w.setTarget(3) // not a write of ours
	w.to(50 * time.Second)
	w.delete("simulated:///z1/g-0002", "simulated:///z1/g-0001")
	w.delete("simulated:///z1/g-0002") // nothing to write
	if _, err := group.(cloudprovider.ForceDeleter).ForceDeleteNodes(t.Context(), refs("simulated:///z1/g-0003")); err != nil {
		t.Error(err)
	}

	type write struct {
		At        time.Duration
		Operation simulated.Operation
		Asked     int
		From, To  int
		Ended     []string
		Refused   bool
	}
	var got []write
	for _, l := range w.Writes() {
		if l.Group != "g" {
			t.Errorf("write of group %q, want g", l.Group)
		}
		one := write{At: l.At.Sub(start), Operation: l.Operation, Asked: l.Asked, From: l.From, To: l.To, Refused: l.Err != nil}
		for _, m := range l.Ended {
			one.Ended = append(one.Ended, m.NodeName+" "+m.Instance.State.String())
		}
		got = append(got, one)
	}
	want := []write{
		{Operation: simulated.IncreaseSize, Asked: 2, From: 2, To: 4},
		{At: 40 * time.Second, Operation: simulated.IncreaseSize, Asked: 1, From: 4, To: 4, Refused: true},
		{At: 40 * time.Second, Operation: simulated.DecreaseTargetSize, Asked: 3, From: 4, To: 3},
		{At: 50 * time.Second, Operation: simulated.DeleteNodes, Asked: 2, From: 3, To: 1, Ended: []string{"g-0002 running", "g-0001 running"}},
		{At: 50 * time.Second, Operation: simulated.ForceDeleteNodes, Asked: 1, From: 1, To: 1, Ended: []string{"g-0003 running"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(w.Writes(), told, cmpopts.IgnoreUnexported(simulated.Machine{}), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("writes that were told (-logged +told):\n%s", diff)
	}
}

func TestRequestsAreObservedWithTheirCodes(t *testing.T) {
	var got []string
	options := simulated.Options{Observer: cloudprovider.ObserverFunc(func(c cloudprovider.Call) {
		if c.Provider != simulated.Name {
			t.Errorf("provider %q, want %q", c.Provider, simulated.Name)
		}
		got = append(got, c.Operation+" "+c.Code)
	})}
	w := newWorldOf(t, options, group())
	g := w.group("g")
	cause := errors.New("cause")
	for _, err := range []error{
		nil,
		&cloudprovider.ConfigurationError{Err: cause},
		&cloudprovider.QuotaError{Err: cause, Code: "VcpuLimitExceeded"},
		&cloudprovider.QuotaError{Err: cause},
		&cloudprovider.OutOfResourcesError{Err: cause, Code: "InsufficientInstanceCapacity"},
		cause,
	} {
		w.Inject(simulated.Fault{On: simulated.IncreaseSize, Count: 1, Err: err})
		_, _ = g.IncreaseSize(t.Context(), 1)
	}
	_, _ = g.IncreaseSize(t.Context(), 1)
	_, _ = g.IncreaseSize(t.Context(), 100)
	_, _ = g.Templates(t.Context())
	w.Inject(simulated.Fault{On: simulated.ReadSize, Group: "g", Count: 1})
	w.must(w.Refresh(t.Context()))
	w.must(w.RemoveGroup("g"))
	_, _ = g.DecreaseTargetSize(t.Context(), 1)
	w.must(w.Cloud.Cleanup(t.Context()))
	w.Inject(simulated.Fault{On: simulated.Cleanup})
	if err := w.Cloud.Cleanup(t.Context()); err == nil {
		t.Error("Cleanup with a fault: no error, want one")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Cloud.Cleanup(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Cleanup with a cancelled context: %v, want its error", err)
	}
	want := []string{
		"Refresh success", "IncreaseSize Transient", "IncreaseSize Refused", "IncreaseSize VcpuLimitExceeded", "IncreaseSize error",
		"IncreaseSize InsufficientInstanceCapacity", "IncreaseSize error", "IncreaseSize success", "IncreaseSize OutOfBounds",
		"ReadTemplates success", "Refresh success", "ReadSize Transient", "DecreaseTargetSize NotFound", "Cleanup success", "Cleanup Transient",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
