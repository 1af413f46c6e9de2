package externalgrpc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// rig is a scripted server and a provider that talks to it.
type rig struct {
	*testing.T
	server   *scripted
	provider *externalgrpc.Provider
	clock    *clocktesting.FakePassiveClock
}

func newRig(t *testing.T, server *scripted) *rig {
	t.Helper()
	clock := clocktesting.NewFakePassiveClock(eight)
	return &rig{T: t, server: server, clock: clock, provider: connect(t, listen(t, server, nil), externalgrpc.Options{Clock: clock})}
}

func (r *rig) refresh() {
	r.Helper()
	if err := r.provider.Refresh(testContext(r)); err != nil {
		r.Fatalf("Refresh: %v", err)
	}
}

func (r *rig) group(id string) cloudprovider.NodeGroup {
	r.Helper()
	for _, group := range r.provider.NodeGroups() {
		if string(group.ID()) == id {
			return group
		}
	}
	r.Fatalf("there is no group %q", id)
	return nil
}

func named(name, providerID string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: providerID}}
}

func machine(id string, state protocol.InstanceStatus_InstanceState) *protocol.Instance {
	return &protocol.Instance{Id: id, Status: &protocol.InstanceStatus{InstanceState: state}}
}

func TestStatesAndErrorsOfInstancesAreRead(t *testing.T) {
	s := oneGroup("a", 0, 9, 7)
	failed := func(id string, state protocol.InstanceStatus_InstanceState, code string) *protocol.Instance {
		i := machine(id, state)
		i.Status.ErrorInfo = &protocol.InstanceErrorInfo{ErrorCode: code, ErrorMessage: "none left", InstanceErrorClass: 1}
		return i
	}
	s.instances["a"] = []*protocol.Instance{
		{Id: "x://bare"}, machine("x://runs", 1), machine("x://comes", 2), machine("x://goes", 3), machine("x://new-word", 77),
		failed("x://failed", 2, "OUT"), failed("x://without-code", 2, ""), failed("x://without-state", 0, "OUT"),
		machine("x://runs", 3), {Id: ""},
	}
	r := newRig(t, s)
	r.refresh()
	want := []cloudprovider.Instance{
		{ID: "x://bare"},
		{ID: "x://runs", State: cloudprovider.InstanceRunning},
		{ID: "x://comes", State: cloudprovider.InstanceCreating},
		{ID: "x://goes", State: cloudprovider.InstanceDeleting},
		{ID: "x://new-word"},
		{ID: "x://failed", State: cloudprovider.InstanceCreating, Error: &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOutOfResources, Code: "OUT", Message: "none left"}},
		{ID: "x://without-code", State: cloudprovider.InstanceCreating},
		{ID: "x://without-state"},
	}
	if diff := cmp.Diff(want, r.group("a").State().Instances); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

//go:fix inline
func ptr[T any](v T) *T { return new(v) }

func TestOptionsOfAGroupAreThoseOfTheServerAndADurationLeftOutIsThatOfTheFlags(t *testing.T) {
	flags := cloudprovider.OptionOverrides{
		ScaleDownUtilizationThreshold: new(0.5), ScaleDownGPUUtilizationThreshold: new(0.6), ScaleDownUnneededTime: ptr(10 * time.Minute),
		ScaleDownUnreadyTime: ptr(20 * time.Minute), MaxNodeProvisionTime: ptr(15 * time.Minute), MaxNodeStartupTime: ptr(16 * time.Minute),
	}
	// What the server of a release before 1.33 sends: no bools, durations in the old form, nothing of what came later.
	old := &protocol.NodeGroupAutoscalingOptions{
		ScaleDownUtilizationThreshold: 0.3, ScaleDownUnneededTime: &protocol.OldDuration{Nanoseconds: int64(time.Hour)},
		MaxNodeProvisionTime: &protocol.OldDuration{},
	}
	no := new(false)
	tests := map[string]struct {
		answer *protocol.NodeGroupAutoscalingOptions
		want   cloudprovider.OptionOverrides
	}{
		"none": {want: cloudprovider.OptionOverrides{}},
		"all": {
			answer: &protocol.NodeGroupAutoscalingOptions{
				ScaleDownUtilizationThreshold: 0.1, ScaleDownGpuUtilizationThreshold: 0.2, ZeroOrMaxNodeScaling: true, IgnoreDaemonSetsUtilization: true,
				ScaleDownUnneededDuration: durationpb.New(time.Minute), ScaleDownUnneededTime: &protocol.OldDuration{Nanoseconds: 5},
				ScaleDownUnreadyDuration: durationpb.New(0), MaxNodeProvisionDuration: durationpb.New(3 * time.Minute),
				MaxNodeStartupDuration: durationpb.New(4 * time.Minute), AllowNonAtomicScaleUpToMax: true,
			},
			want: cloudprovider.OptionOverrides{
				ScaleDownUtilizationThreshold: new(0.1), ScaleDownGPUUtilizationThreshold: new(0.2), ZeroOrMaxNodeScaling: new(true),
				IgnoreDaemonSetsUtilization: new(true), ScaleDownUnneededTime: ptr(time.Minute), ScaleDownUnreadyTime: ptr(time.Duration(0)),
				MaxNodeProvisionTime: ptr(3 * time.Minute), MaxNodeStartupTime: ptr(4 * time.Minute), AllowNonAtomicScaleUpToMax: new(true),
			},
		},
		"those of an old server": {
			answer: old,
			want: cloudprovider.OptionOverrides{
				ScaleDownUtilizationThreshold: new(0.3), ScaleDownGPUUtilizationThreshold: new(0.0), ScaleDownUnneededTime: ptr(time.Hour),
				ZeroOrMaxNodeScaling: no, IgnoreDaemonSetsUtilization: no, AllowNonAtomicScaleUpToMax: no,
			},
		},
		"less than no time": {
			answer: &protocol.NodeGroupAutoscalingOptions{MaxNodeProvisionDuration: durationpb.New(-time.Minute), ScaleDownUnneededDuration: durationpb.New(-1)},
			want: cloudprovider.OptionOverrides{
				ScaleDownUtilizationThreshold: new(0.0), ScaleDownGPUUtilizationThreshold: new(0.0), ZeroOrMaxNodeScaling: no,
				IgnoreDaemonSetsUtilization: no, AllowNonAtomicScaleUpToMax: no,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := oneGroup("a", 0, 9, 0)
			var asked *protocol.NodeGroupAutoscalingOptions
			s.options = func(request *protocol.NodeGroupAutoscalingOptionsRequest) (*protocol.NodeGroupAutoscalingOptionsResponse, error) {
				asked = request.GetDefaults()
				return &protocol.NodeGroupAutoscalingOptionsResponse{NodeGroupAutoscalingOptions: test.answer}, nil
			}
			p := connect(t, listen(t, s, nil), externalgrpc.Options{Defaults: flags})
			if err := p.Refresh(testContext(t)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, p.NodeGroups()[0].State().Options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
			if asked.GetMaxNodeProvisionDuration().AsDuration() != 15*time.Minute || asked.GetMaxNodeProvisionTime().GetNanoseconds() != int64(15*time.Minute) {
				t.Errorf("the server was told the defaults %v, want the flags' in the fields of all ages", asked)
			}
		})
	}
}

func TestAServerIsAskedOnceForWhatStays(t *testing.T) {
	s := oneGroup("a", 0, 9, 2)
	s.instances["a"] = []*protocol.Instance{machine("x://1", 1), machine("x://2", 1)}
	s.nodes["by-hand"] = "a"
	s.options = func(*protocol.NodeGroupAutoscalingOptionsRequest) (*protocol.NodeGroupAutoscalingOptionsResponse, error) {
		return &protocol.NodeGroupAutoscalingOptionsResponse{}, nil
	}
	s.template = func() (*protocol.NodeGroupTemplateNodeInfoResponse, error) {
		bytes, err := freshNode().Marshal()
		return &protocol.NodeGroupTemplateNodeInfoResponse{NodeBytes: bytes}, err
	}
	r := newRig(t, s)
	loop := func() map[string]int {
		s.forget()
		r.refresh()
		for range 3 {
			for i := range 4 { // two of the group, one that only the server knows to be of it, one that is nobody's
				node := named(fmt.Sprintf("n%d", i), fmt.Sprintf("x://%d", i+1))
				if i == 2 {
					node.Name = "by-hand"
				}
				if _, err := r.provider.GroupOf(node); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.group("a").Templates(testContext(t)); err != nil {
				t.Fatal(err)
			}
			r.group("a").State()
			r.provider.GPULabel()
		}
		return s.forget()
	}
	each := map[string]int{"Refresh": 1, "NodeGroups": 1, "NodeGroupTargetSize": 1, "NodeGroupNodes": 1, "NodeGroupGetOptions": 1}
	plus := func(more map[string]int) map[string]int {
		sum := map[string]int{}
		for _, m := range []map[string]int{each, more} {
			for name, n := range m {
				sum[name] += n
			}
		}
		return sum
	}
	for _, step := range []struct {
		name string
		wait time.Duration
		want map[string]int
	}{
		{name: "first loop", want: plus(map[string]int{"NodeGroupTemplateNodeInfo": 1})},
		{name: "second loop, which asks about the two nodes that no group lists", want: plus(map[string]int{"NodeGroupForNode": 2})},
		{name: "third loop", wait: 10 * time.Second, want: each},
		{name: "a minute later", wait: time.Minute, want: plus(map[string]int{"NodeGroupForNode": 2})},
		{name: "ten minutes later", wait: 10 * time.Minute, want: plus(map[string]int{"NodeGroupForNode": 2, "NodeGroupTemplateNodeInfo": 1})},
	} {
		r.clock.SetTime(r.clock.Now().Add(step.wait))
		if diff := cmp.Diff(step.want, loop()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", step.name, diff)
		}
	}
	if id, _ := r.provider.GroupOf(named("by-hand", "x://3")); id != "a" {
		t.Errorf("GroupOf the node that only the server knows = %q, want a", id)
	}
	if id, _ := r.provider.GroupOf(named("n3", "x://4")); id != "" {
		t.Errorf("GroupOf a node of nobody = %q, want none", id)
	}
}

func TestANodeThatNoGroupListsWakesTheLoopOnce(t *testing.T) {
	r := newRig(t, oneGroup("a", 0, 9, 0))
	r.refresh()
	for range 2 {
		if _, err := r.provider.GroupOf(named("n", "x://n")); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-r.provider.Changed():
	default:
		t.Error("the loop was not woken")
	}
	select {
	case <-r.provider.Changed():
		t.Error("the loop was woken twice")
	default:
	}
}

func TestAGroupThatLooksTheSameIsTheSameObject(t *testing.T) {
	s := oneGroup("a", 0, 9, 1)
	r := newRig(t, s)
	r.refresh()
	first := r.group("a")
	if again := r.group("a"); first != again {
		t.Error("two groups of one view, want one")
	}
}

func TestAServerThatCannotListItsGroupsLeavesTheViewAsItIs(t *testing.T) {
	for _, call := range []string{"Refresh", "NodeGroups"} {
		t.Run(call, func(t *testing.T) {
			s := oneGroup("a", 1, 9, 2)
			r := newRig(t, s)
			r.refresh()
			s.change(func() {
				s.fail = map[string]error{call: status.Error(codes.Unavailable, "going down")}
				s.targets["a"] = 5
			})
			err := r.provider.Refresh(testContext(t))
			if _, ok := errors.AsType[*cloudprovider.TransientError](err); !ok {
				t.Errorf("Refresh = %v, want a TransientError", err)
			}
			if got := r.group("a").State().Target; got != 2 {
				t.Errorf("target %d, want the 2 of before", got)
			}
		})
	}
}

func TestAGroupThatCannotBeReadOrUsedIsSetAsideAlone(t *testing.T) {
	tests := map[string]struct {
		spoil func(s *scripted)
		part  string // of the group's error
		known bool   // the group is still listed with what was known
	}{
		"a negative target":           {spoil: func(s *scripted) { s.targets["a"] = -1 }, part: "target size of -1: want at least 0", known: true},
		"a maximum below the minimum": {spoil: func(s *scripted) { s.groups[0].MaxSize = 0 }, part: "minSize 1 and maxSize 0: want 0 <= minSize <= maxSize", known: true},
		"a negative minimum":          {spoil: func(s *scripted) { s.groups[0].MinSize = -1 }, part: "minSize -1", known: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := oneGroup("a", 1, 9, 2)
			s.groups = append(s.groups, &protocol.NodeGroup{Id: "b", MaxSize: 3}, &protocol.NodeGroup{Id: "b", MaxSize: 7})
			r := newRig(t, s)
			r.refresh()
			s.change(func() { test.spoil(s) })
			r.refresh()
			errs := r.provider.GroupErrors()
			if len(errs) != 1 || errs[0].Group != "a" || !strings.Contains(errs[0].Err.Error(), test.part) || !errs[0].Since.Equal(eight) {
				t.Errorf("group errors %v, want one about a with %q", errs, test.part)
			}
			if got := r.group("a").State().Target; got != 2 {
				t.Errorf("a has target %d, want what was known", got)
			}
			if got := r.group("b").State(); got.Max != 3 || got.Target != 0 {
				t.Errorf("b is %+v, want what its first entry says", got)
			}
		})
	}
}

func TestAGroupWithoutAnIDIsReported(t *testing.T) {
	r := newRig(t, oneGroup("", 0, 3, 0))
	r.refresh()
	errs := r.provider.GroupErrors()
	if len(r.provider.NodeGroups()) != 0 || len(errs) != 1 || !strings.Contains(errs[0].Err.Error(), "without an id") {
		t.Errorf("%d groups, errors %v; want no group and one error", len(r.provider.NodeGroups()), errs)
	}
}

func TestStatusCodesBecomeTheErrorsThatAskForTheRightReaction(t *testing.T) {
	is := func(want any) func(error) bool {
		return func(err error) bool { return errors.As(err, want) }
	}
	tests := map[codes.Code]func(error) bool{
		codes.NotFound:           is(new(*cloudprovider.GoneError)),
		codes.ResourceExhausted:  is(new(*cloudprovider.OutOfResourcesError)),
		codes.FailedPrecondition: is(new(*cloudprovider.StaleBoundsError)),
		codes.OutOfRange:         is(new(*cloudprovider.StaleBoundsError)),
		codes.Unavailable: func(err error) bool {
			e, ok := errors.AsType[*cloudprovider.TransientError](err)
			return ok && e.OutcomeUnknown
		},
		codes.Aborted: func(err error) bool {
			e, ok := errors.AsType[*cloudprovider.TransientError](err)
			return ok && !e.OutcomeUnknown
		},
		codes.PermissionDenied: is(new(*cloudprovider.ConfigurationError)),
		codes.Unauthenticated:  is(new(*cloudprovider.ConfigurationError)),
		codes.Unimplemented:    is(new(*cloudprovider.ConfigurationError)),
		codes.InvalidArgument:  is(new(*cloudprovider.ConfigurationError)),
		codes.Internal:         func(err error) bool { return status.Code(err) == codes.Internal },
		codes.Unknown:          func(err error) bool { return status.Code(err) == codes.Unknown },
	}
	for code, check := range tests {
		t.Run(code.String(), func(t *testing.T) {
			s := oneGroup("a", 0, 9, 2)
			s.instances["a"] = []*protocol.Instance{machine("x://1", 1)}
			r := newRig(t, s)
			r.refresh()
			failure := status.Error(code, "says the server")
			s.change(func() {
				s.fail = map[string]error{"NodeGroupIncreaseSize": failure, "NodeGroupDeleteNodes": failure}
			})
			granted, err := r.group("a").IncreaseSize(testContext(t), 1)
			if granted != 0 || !check(err) || !strings.Contains(err.Error(), "says the server") {
				t.Errorf("IncreaseSize = %d, %v (%T)", granted, err, err)
			}
			outcomes, err := r.group("a").DeleteNodes(testContext(t), []cloudprovider.NodeRef{{Name: "n", ProviderID: "x://1"}})
			if err == nil && len(outcomes) == 1 {
				err = outcomes[0].Err
			}
			if !check(err) {
				t.Errorf("DeleteNodes: %v (%T)", err, err)
			}
		})
	}
}

func TestARaiseBeyondTheMaximumIsNotAskedFor(t *testing.T) {
	s := oneGroup("a", 0, 3, 2)
	r := newRig(t, s)
	r.refresh()
	s.change(func() { s.groups[0].MaxSize = 4 }) // behind our back
	granted, err := r.group("a").IncreaseSize(testContext(t), 3)
	stale, ok := errors.AsType[*cloudprovider.StaleBoundsError](err)
	if granted != 0 || !ok || stale.Room != 2 || stale.Asked != 3 {
		t.Errorf("IncreaseSize(3) = %d, %v; want room for 2", granted, err)
	}
	if calls := s.forget(); calls["NodeGroupIncreaseSize"] != 0 {
		t.Error("the server was asked all the same")
	}
}

func TestADeletionThatFailsInPartTellsWhichNodesAreGoing(t *testing.T) {
	s := oneGroup("a", 0, 9, 3)
	s.instances["a"] = []*protocol.Instance{machine("x://1", 1), machine("x://2", 1), machine("x://3", 3)}
	r := newRig(t, s)
	r.refresh()
	s.change(func() {
		s.fail = map[string]error{"NodeGroupDeleteNodes": status.Error(codes.Unknown, "the second one is stuck")}
		s.instances["a"] = []*protocol.Instance{machine("x://1", 1), machine("x://2", 1), machine("x://3", 3)}
	})
	nodes := []cloudprovider.NodeRef{{Name: "1", ProviderID: "x://1"}, {Name: "2", ProviderID: "x://2"}, {Name: "3", ProviderID: "x://3"}, {Name: "4", ProviderID: "x://4"}}
	outcomes, err := r.group("a").DeleteNodes(testContext(t), nodes)
	if err != nil || len(outcomes) != 4 {
		t.Fatalf("DeleteNodes = %v, %v; want four outcomes", outcomes, err)
	}
	for i, failed := range []bool{true, true, false, false} { // the third is going, the fourth is gone
		if (outcomes[i].Err != nil) != failed {
			t.Errorf("outcome of node %d: %v", i+1, outcomes[i].Err)
		}
	}
}

func TestAnAnswerThatTakesTooLongIsTransientAndMayHaveBeenCarriedOut(t *testing.T) {
	s := oneGroup("a", 0, 9, 2)
	p := connect(t, "", externalgrpc.Options{CloudConfig: fmt.Appendf(nil, "address: %q\ngrpc_timeout: 1m\n", listen(t, s, nil))})
	if err := p.Refresh(testContext(t)); err != nil {
		t.Fatal(err)
	}
	hasty := connect(t, "", externalgrpc.Options{CloudConfig: fmt.Appendf(nil, "address: %q\ngrpc_timeout: 100ms\ngrpc_mutation_timeout: 100ms\n", listen(t, s, nil))})
	s.change(func() { s.slow = map[string]bool{"Refresh": true} })
	err := hasty.Refresh(testContext(t))
	if e, ok := errors.AsType[*cloudprovider.TransientError](err); !ok || e.OutcomeUnknown {
		t.Errorf("Refresh of a server that doesn't answer = %v, want a TransientError about a read", err)
	}
}

func TestAServerThatRestartsIsFoundAgain(t *testing.T) {
	s := oneGroup("a", 0, 9, 2)
	first := serve(t, "127.0.0.1:0", s, nil)
	p := connect(t, first.address, externalgrpc.Options{})
	if err := p.Refresh(testContext(t)); err != nil {
		t.Fatal(err)
	}
	first.stop()
	if err := p.Refresh(testContext(t)); err == nil {
		t.Error("Refresh without a server succeeds")
	}
	if len(p.NodeGroups()) != 1 {
		t.Error("the groups are forgotten while the server is away")
	}
	serve(t, first.address, s, nil)
	for p.Refresh(testContext(t)) != nil { // until gRPC dials again
		if t.Context().Err() != nil {
			t.Fatal("the server is not found again")
		}
	}
}

func TestTemplatesOfOldAndNewServersAreRead(t *testing.T) {
	bytes, err := freshNode().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	old := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), bytes) // as a release before 1.34 encodes it
	var decoded protocol.NodeGroupTemplateNodeInfoResponse
	if err := proto.Unmarshal(old, &decoded); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		answer *protocol.NodeGroupTemplateNodeInfoResponse
		err    error
		check  func(error) bool // nil: a template
	}{
		"new":           {answer: &protocol.NodeGroupTemplateNodeInfoResponse{NodeBytes: bytes, ResourceSliceBytes: [][]byte{{1}}}},
		"old":           {answer: &decoded},
		"both":          {answer: &protocol.NodeGroupTemplateNodeInfoResponse{NodeBytes: bytes, NodeInfo: []byte{1}}},
		"nothing":       {answer: &protocol.NodeGroupTemplateNodeInfoResponse{}, check: func(err error) bool { return errors.Is(err, cloudprovider.ErrNoTemplate) }},
		"unimplemented": {err: status.Error(codes.Unimplemented, ""), check: func(err error) bool { return errors.Is(err, cloudprovider.ErrNoTemplate) }},
		"no node": {answer: &protocol.NodeGroupTemplateNodeInfoResponse{NodeBytes: []byte{0xff}}, check: func(err error) bool {
			e, ok := errors.AsType[*cloudprovider.ConfigurationError](err)
			return ok && e.Group == "a" && strings.Contains(err.Error(), "v1.Node")
		}},
		"away": {err: status.Error(codes.Unavailable, ""), check: func(err error) bool {
			_, ok := errors.AsType[*cloudprovider.TransientError](err)
			return ok
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := oneGroup("a", 0, 9, 0)
			s.template = func() (*protocol.NodeGroupTemplateNodeInfoResponse, error) { return test.answer, test.err }
			r := newRig(t, s)
			r.refresh()
			variants, err := r.group("a").Templates(testContext(t))
			if test.check != nil {
				if !test.check(err) {
					t.Errorf("Templates: %v (%T)", err, err)
				}
				return
			}
			if err != nil || len(variants) != 1 {
				t.Fatalf("Templates = %v, %v; want one", variants, err)
			}
			if diff := cmp.Diff(freshNode(), variants[0].Node); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
			variants[0].Node.Labels["mine"] = "now"
			again, err := r.group("a").Templates(testContext(t))
			if err != nil || again[0].Node.Labels["mine"] != "" {
				t.Errorf("a template that the caller changed is handed out again (%v)", err)
			}
		})
	}
}

func TestATemplateIsReadAgainWhenTheGroupIsDescribedInAnotherWay(t *testing.T) {
	s := oneGroup("a", 0, 9, 0)
	s.template = func() (*protocol.NodeGroupTemplateNodeInfoResponse, error) {
		return &protocol.NodeGroupTemplateNodeInfoResponse{}, nil
	}
	r := newRig(t, s)
	for _, debug := range []string{"small", "large", "large"} {
		s.change(func() { s.groups[0].Debug = debug })
		r.refresh()
		_, _ = r.group("a").Templates(testContext(t)) // there is none, which is remembered, too
	}
	if got := s.forget()["NodeGroupTemplateNodeInfo"]; got != 2 {
		t.Errorf("the template was asked for %d times, want 2", got)
	}
}

func TestPricesAreAskedForOncePerKindForOneHour(t *testing.T) {
	s := oneGroup("a", 0, 9, 0)
	s.nodePrice = func(q *protocol.PricingNodePriceRequest) (*protocol.PricingNodePriceResponse, error) {
		if q.GetEndTimestamp().AsTime().Sub(q.GetStartTimestamp().AsTime()) != time.Hour || q.GetEndTime().GetSeconds()-q.GetStartTime().GetSeconds() != 3600 {
			return nil, status.Error(codes.InvalidArgument, "want an hour")
		}
		return &protocol.PricingNodePriceResponse{Price: 0.4}, nil
	}
	s.podPrice = func(q *protocol.PricingPodPriceRequest) (*protocol.PricingPodPriceResponse, error) {
		pod := &corev1.Pod{}
		if err := pod.Unmarshal(q.GetPod()); err != nil || pod.Unmarshal(q.GetPodBytes()) != nil {
			return nil, status.Error(codes.InvalidArgument, "want a pod in the fields of all ages")
		}
		return &protocol.PricingPodPriceResponse{Price: float64(len(pod.Spec.NodeName))}, nil
	}
	r := newRig(t, s)
	pods := make([]*corev1.Pod, 50)
	for i := range pods {
		pods[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d", i)}, Spec: corev1.PodSpec{NodeName: strings.Repeat("x", i%2)}}
	}
	if _, err := r.provider.PodPricePerHour(pods[0]); err == nil {
		t.Error("a price that nobody asked for")
	}
	r.provider.ReadPrices(testContext(t), []*corev1.Node{freshNode(), freshNode()}, pods)
	if price, err := r.provider.NodePricePerHour(freshNode()); price != 0.4 || err != nil {
		t.Errorf("NodePricePerHour = %g, %v; want 0.4", price, err)
	}
	if price, err := r.provider.PodPricePerHour(pods[1]); price != 1 || err != nil {
		t.Errorf("PodPricePerHour = %g, %v; want 1", price, err)
	}
	if calls := s.forget(); calls["PricingPodPrice"] != 2 || calls["PricingNodePrice"] > 2 {
		t.Errorf("calls %v, want two for pods and at most two for nodes", calls)
	}
}

func TestAServerWithoutPricesIsAskedOnce(t *testing.T) {
	s := oneGroup("a", 0, 9, 0)
	r := newRig(t, s)
	pods := []*corev1.Pod{{}, {Spec: corev1.PodSpec{NodeName: "x"}}}
	r.provider.ReadPrices(testContext(t), []*corev1.Node{freshNode()}, pods)
	if _, err := r.provider.PodPricePerHour(pods[0]); err == nil || !strings.Contains(err.Error(), "has no prices") {
		t.Errorf("error %v, want one that says that there are no prices", err)
	}
	if calls := s.forget(); calls["PricingPodPrice"] != 0 || calls["PricingNodePrice"] != 1 {
		t.Errorf("calls %v, want one", calls)
	}
}

func TestAGroupOfThousandsOfMachinesIsRead(t *testing.T) {
	s := oneGroup("a", 0, 9000, 5000)
	for i := range 5000 {
		m := machine(fmt.Sprintf("x://zone/%s-%05d", strings.Repeat("long", 250), i), 1) // more than the 4 MiB that gRPC takes by itself
		s.instances["a"] = append(s.instances["a"], m)
	}
	r := newRig(t, s)
	r.refresh()
	if got := len(r.group("a").State().Instances); got != 5000 {
		t.Errorf("%d machines, want 5000; errors %v", got, r.provider.GroupErrors())
	}
}

// A server may attribute a node to a group by its name, say, and not list its machine. Whoever chose the node to go must not be told that it went.
func TestANodeThatOnlyTheServerKnowsToBeOfAGroupIsDeletedLikeTheOthers(t *testing.T) {
	s := oneGroup("a", 0, 9, 2)
	s.instances["a"] = []*protocol.Instance{machine("x://1", 1)}
	s.nodes["by-hand"] = "a"
	r := newRig(t, s)
	r.refresh()
	if _, err := r.provider.GroupOf(named("by-hand", "x://2")); err != nil {
		t.Fatal(err)
	}
	r.refresh()
	outcomes, err := r.group("a").DeleteNodes(testContext(t), []cloudprovider.NodeRef{{Name: "by-hand", ProviderID: "x://2"}, {Name: "stranger", ProviderID: "x://9"}})
	if err != nil || len(outcomes) != 2 || outcomes[0].Err != nil || outcomes[1].Err != nil {
		t.Fatalf("DeleteNodes = %v, %v; want two successes", outcomes, err)
	}
	if len(s.deleted) != 1 || s.deleted[0].GetName() != "by-hand" {
		t.Errorf("the server was asked to delete %v, want by-hand alone", s.deleted)
	}
}

func TestANodeWhoseGroupCannotBeAskedForIsAskedAboutAgainAfterAWhile(t *testing.T) {
	s := oneGroup("a", 0, 9, 0)
	r := newRig(t, s)
	r.refresh()
	s.change(func() { s.fail = map[string]error{"NodeGroupForNode": status.Error(codes.Internal, "confused")} })
	asked := func(wait time.Duration) int {
		r.clock.SetTime(r.clock.Now().Add(wait))
		if _, err := r.provider.GroupOf(named("n", "x://n")); err != nil {
			t.Fatal(err)
		}
		s.forget()
		r.refresh()
		return s.forget()["NodeGroupForNode"]
	}
	if first, next, later := asked(0), asked(10*time.Second), asked(time.Minute); first != 1 || next != 0 || later != 1 {
		t.Errorf("asked %d, %d and %d times, want once, not at all, and once", first, next, later)
	}
}
