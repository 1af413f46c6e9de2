package act_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/report"
)

// forceful can delete without regard to the minimum.
type forceful struct{ *group }

func (f forceful) ForceDeleteNodes(_ context.Context, refs []cloudprovider.NodeRef) ([]cloudprovider.DeleteOutcome, error) {
	return f.delete("force", refs)
}

// cloud hands out groups that can be forced.
type cloud struct{ w *world }

func (c cloud) NodeGroups() []cloudprovider.NodeGroup {
	var out []cloudprovider.NodeGroup
	for _, g := range c.w.NodeGroups() {
		if own, ok := g.(*group); ok {
			out = append(out, forceful{own})
		}
	}
	return out
}

func ref(id string) cloudprovider.NodeRef { return cloudprovider.NodeRef{Name: id, ProviderID: id} }

func TestRepairs(t *testing.T) {
	yes := true
	bounds := func(minimum, target int) cloudprovider.GroupState {
		return cloudprovider.GroupState{Min: minimum, Max: 10, Target: target}
	}
	machines := func(state cloudprovider.GroupState, running, placeholders, deleting int) cloudprovider.GroupState {
		for range running {
			state.Instances = append(state.Instances, cloudprovider.Instance{State: cloudprovider.InstanceRunning})
		}
		for range placeholders {
			state.Instances = append(state.Instances, cloudprovider.Instance{State: cloudprovider.InstanceCreating, Placeholder: true})
		}
		for range deleting {
			state.Instances = append(state.Instances, cloudprovider.Instance{State: cloudprovider.InstanceDeleting})
		}
		return state
	}
	wholeGroup := func(state cloudprovider.GroupState) cloudprovider.GroupState {
		state.Options.ZeroOrMaxNodeScaling = &yes
		return state
	}
	for name, test := range map[string]struct {
		state    cloudprovider.GroupState
		forceful bool
		action   report.RepairAction
		late     string // node that registered meanwhile, with a pod
		errs     []error
		podErr   error
		want     []string
		lowered  int
		refused  bool
		fails    bool
	}{
		"a machine that never registered is ended": {
			state: bounds(1, 3), action: report.RepairAction{Kind: report.DeleteUnregistered, Nodes: []cloudprovider.NodeRef{ref("i1")}},
			want: []string{"0 delete g i1: <nil>"},
		},
		"one that has registered meanwhile and holds a pod is not": {
			state: bounds(1, 3), action: report.RepairAction{Kind: report.DeleteUnregistered, Nodes: []cloudprovider.NodeRef{ref("i1"), ref("i2")}},
			late: "i2", want: []string{"0 delete g i1: <nil>"}, refused: true,
		},
		"nor is a group that goes as a whole then": {
			state: wholeGroup(bounds(0, 3)), action: report.RepairAction{Kind: report.DeleteUnregistered, Nodes: []cloudprovider.NodeRef{ref("i1"), ref("i2")}},
			late: "i2", refused: true,
		},
		"nor is anything if its pods cannot be listed": {
			state: bounds(1, 3), action: report.RepairAction{Kind: report.DeleteUnregistered, Nodes: []cloudprovider.NodeRef{ref("i2")}},
			late: "i2", podErr: errors.New("away"), refused: true,
		},
		"a failed machine that became a node with pods is not ended either": {
			state: bounds(1, 3), forceful: true, action: report.RepairAction{Kind: report.DeleteFailed, Force: true, Nodes: []cloudprovider.NodeRef{ref("i2")}},
			late: "i2", refused: true,
		},
		"the minimum is kept": {
			state: bounds(2, 3), action: report.RepairAction{Kind: report.DeleteUnregistered, Nodes: []cloudprovider.NodeRef{ref("i1"), ref("i2")}},
			want: []string{"0 delete g i1: <nil>"}, refused: true,
		},
		"unless it is forced": {
			state: bounds(3, 3), forceful: true,
			action: report.RepairAction{Kind: report.DeleteUnregistered, Force: true, Nodes: []cloudprovider.NodeRef{ref("i1")}},
			want:   []string{"0 force g i1: <nil>"},
		},
		"a force that the cloud doesn't have falls back": {
			state:  bounds(1, 3),
			action: report.RepairAction{Kind: report.DeleteUnregistered, Force: true, Nodes: []cloudprovider.NodeRef{ref("i1")}},
			want:   []string{"0 delete g i1: <nil>"},
		},
		"a failed machine at the minimum is replaced": {
			state: bounds(3, 3), forceful: true, action: report.RepairAction{Kind: report.DeleteFailed, Nodes: []cloudprovider.NodeRef{ref("i1")}},
			want: []string{"0 force g i1: <nil>"},
		},
		"and above it ended": {
			state: bounds(2, 3), forceful: true, action: report.RepairAction{Kind: report.DeleteFailed, Nodes: []cloudprovider.NodeRef{ref("i1")}},
			want: []string{"0 delete g i1: <nil>"},
		},
		"the cloud's refusal is told": {
			state: bounds(1, 3), action: report.RepairAction{Kind: report.DeleteUnregistered, Nodes: []cloudprovider.NodeRef{ref("i1")}},
			errs: []error{errors.New("AccessDenied")}, want: []string{"0 delete g i1: AccessDenied"}, fails: true,
		},
		"places that were never filled are withdrawn": {
			state: machines(bounds(1, 5), 3, 2, 0), action: report.RepairAction{Kind: report.DecreaseTarget, By: 2},
			want: []string{"0 decrease g 2: <nil>"}, lowered: 2,
		},
		"but not those that a machine has filled since": {
			state: machines(bounds(1, 5), 4, 1, 0), action: report.RepairAction{Kind: report.RevertScaleUp, By: 2},
			want: []string{"0 decrease g 1: <nil>"}, lowered: 1,
		},
		"none, if all are filled": {
			state: machines(bounds(1, 5), 5, 0, 0), action: report.RepairAction{Kind: report.DecreaseTarget, By: 2}, refused: true,
		},
		"machines that are ending fill none": {
			state: machines(bounds(1, 5), 3, 0, 2), action: report.RepairAction{Kind: report.DecreaseTarget, By: 2},
			want: []string{"0 decrease g 2: <nil>"}, lowered: 2,
		},
		"nor below the minimum": {
			state: machines(bounds(4, 5), 3, 2, 0), action: report.RepairAction{Kind: report.DecreaseTarget, By: 2},
			want: []string{"0 decrease g 1: <nil>"}, lowered: 1,
		},
		"a suspended group is left alone": {
			state:  cloudprovider.GroupState{Target: 5, Suspended: "Launch"},
			action: report.RepairAction{Kind: report.DecreaseTarget, By: 2}, refused: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			if test.late != "" {
				s.add("g", node(test.late))
				s.run(pod("p", test.late))
			}
			s.podErr = test.podErr
			g := s.add("g")
			g.state, g.errs = test.state, test.errs
			a := s.Actuator
			if test.forceful {
				a = act.New(act.Collaborators{Cloud: cloud{s.world}, Kube: s.world, Lister: listers{s.world}, Workloads: everything{}, Observer: s.world, Clock: s.time}, defaults())
			}
			test.action.Group = "g"
			outcomes := a.Repair(silent(t), []report.RepairAction{test.action})
			if diff := cmp.Diff(test.want, s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			got := outcomes[0]
			if diff := cmp.Diff(test.action, got.RepairAction); diff != "" || got.At != start {
				t.Errorf("the outcome is of another action, at %v:\n%s", got.At, diff)
			}
			if got.Lowered != test.lowered || (got.Refused != "") != test.refused || (got.Err != nil) != test.fails {
				t.Errorf("lowered %d, refused %q, error %v; want %d, %t, %t", got.Lowered, got.Refused, got.Err, test.lowered, test.refused, test.fails)
			}
			if test.refused && test.state.Suspended == "" && test.podErr == nil && len(s.events) == 0 {
				t.Error("nobody is told of the invariant")
			}
		})
	}
}

// L32, for every kind of repair.
func TestTheFailureOfOneRepairStopsNoOther(t *testing.T) {
	s := newStage(t, defaults())
	d1, d2 := s.add("d1"), s.add("d2")
	d1.state, d1.errs = cloudprovider.GroupState{Min: 1, Target: 5}, []error{errors.New("AccessDenied")}
	d2.state = cloudprovider.GroupState{Target: 3}
	outcomes := s.Repair(silent(t), []report.RepairAction{
		{Kind: report.DeleteUnregistered, Group: "d1", Nodes: []cloudprovider.NodeRef{ref("i5")}},
		{Kind: report.DecreaseTarget, Group: "missing", By: 1},
		{Kind: report.DecreaseTarget, Group: "d2", By: 1},
	})
	want := []string{"0 delete d1 i5: AccessDenied", "0 decrease d2 1: <nil>"}
	if diff := cmp.Diff(want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if _, gone := errors.AsType[*cloudprovider.GoneError](outcomes[1].Err); outcomes[0].Err == nil || !gone || outcomes[2].Err != nil {
		t.Errorf("outcomes: %+v", outcomes)
	}
}

func TestResizes(t *testing.T) {
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		state    cloudprovider.GroupState
		fresh    *cloudprovider.GroupState
		errs     []error
		less     int
		want     []string
		granted  int
		stale    bool
		deadline time.Duration
	}{
		"as planned": {
			state: cloudprovider.GroupState{Max: 10, Target: 3}, want: []string{"0 increase g 2: <nil>"}, granted: 2, deadline: 15 * time.Minute,
		},
		"with a provision time of its own": {
			state: cloudprovider.GroupState{Max: 10, Target: 3, Options: cloudprovider.OptionOverrides{MaxNodeProvisionTime: &day}},
			want:  []string{"0 increase g 2: <nil>"}, granted: 2, deadline: day,
		},
		"what somebody else has bought meanwhile is not bought again": {
			state: cloudprovider.GroupState{Max: 10, Target: 3}, fresh: &cloudprovider.GroupState{Max: 10, Target: 4},
			want: []string{"0 increase g 1: <nil>"}, granted: 1, deadline: 15 * time.Minute,
		},
		"nothing is left to buy": {
			state: cloudprovider.GroupState{Max: 10, Target: 3}, fresh: &cloudprovider.GroupState{Max: 10, Target: 5}, stale: true, deadline: 15 * time.Minute,
		},
		"the maximum was lowered": {
			state: cloudprovider.GroupState{Max: 10, Target: 3}, fresh: &cloudprovider.GroupState{Max: 4, Target: 3}, stale: true, deadline: 15 * time.Minute,
		},
		"the cloud grants less": {
			state: cloudprovider.GroupState{Max: 10, Target: 3}, less: 1, want: []string{"0 increase g 2: <nil>"}, granted: 1, deadline: 15 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, defaults())
			g := s.add("g")
			g.state, g.fresh, g.errs, g.grantLess = test.state, test.fresh, test.errs, test.less
			resize := report.Resize{Group: "g", From: 3, To: 5, Max: 10}
			got, err := s.Resize(silent(t), []report.Resize{resize})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, s.takeLog()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if _, stale := errors.AsType[*cloudprovider.StaleBoundsError](got[0].Err); stale != test.stale || !stale && got[0].Err != nil {
				t.Errorf("error %v, want stale bounds: %t", got[0].Err, test.stale)
			}
			got[0].Err = nil
			want := []report.ResizeOutcome{{Resize: resize, Granted: test.granted, At: start, Deadline: start.Add(test.deadline)}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if asked := len(test.want) > 0; asked != (len(s.events) == 1 && s.events[0] == "resizing g 3->5") {
				t.Errorf("events: %v", s.events)
			}
		})
	}
}

func TestResizesStopAtTheFirstFailure(t *testing.T) {
	s := newStage(t, defaults())
	for _, id := range []cloudprovider.GroupID{"a", "b", "c"} {
		s.add(id)
	}
	out := &cloudprovider.OutOfResourcesError{Group: "b", Err: errors.New("none left")}
	s.groups["b"].errs = []error{out}
	got, err := s.Resize(silent(t), []report.Resize{{Group: "a", To: 1}, {Group: "b", To: 1}, {Group: "c", To: 1}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"0 increase a 1: <nil>", "0 increase b 1: " + out.Error()}
	if diff := cmp.Diff(want, s.takeLog()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if _, typed := errors.AsType[*cloudprovider.OutOfResourcesError](got[1].Err); len(got) != 2 || !typed || got[0].Granted != 1 {
		t.Errorf("outcomes: %+v", got)
	}
}
