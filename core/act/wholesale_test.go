package act_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/report"
)

// CheckShrink tells what the test says that the cloud is at.
func (g readableGroup) CheckShrink(context.Context) string { return g.busy }

// wholesale is a cloud that can read several groups at once.
type wholesale struct {
	*world
	asked [][]cloudprovider.GroupID
}

func (c *wholesale) ReadGroups(_ context.Context, groups []cloudprovider.GroupID) {
	c.asked = append(c.asked, groups)
}

func TestGroupsThatAreWrittenToInOneGoAreReadTogether(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	cloud := &wholesale{world: newWorld(t, clock)}
	a := act.New(act.Collaborators{Cloud: cloud, Kube: cloud, Lister: listers{cloud.world}, Workloads: everything{}, Observer: cloud, Clock: clock}, defaults())
	s := &stage{world: cloud.world, Actuator: a, time: clock}
	for _, id := range []cloudprovider.GroupID{"a", "b"} {
		g := s.add(id, node(string(id)+"1"), node(string(id)+"2"))
		g.state = cloudprovider.GroupState{Max: 9, Target: 2}
	}
	if _, err := s.Resize(silent(t), []report.Resize{{Group: "b", From: 2, To: 3}, {Group: "a", From: 2, To: 3}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resize(silent(t), []report.Resize{{Group: "b", From: 3, To: 4}}); err != nil {
		t.Fatal(err)
	}
	s.Shrink(silent(t), planOf(s.candidate("b", "b1"), s.candidate("a", "a1"), s.candidate("b", "b2")))
	want := [][]cloudprovider.GroupID{{"a", "b"}, {"a", "b"}}
	if diff := cmp.Diff(want, cloud.asked); diff != "" {
		t.Errorf("read together (-want +got):\n%s", diff)
	}
}

func TestNothingIsTaintedWhileTheCloudIsAtWorkInTheGroup(t *testing.T) {
	s := newStage(t, defaults())
	g := s.add("g", node("n1"), node("n2"))
	g.fresh, g.busy = &cloudprovider.GroupState{Max: 8, Target: 2}, "an instance refresh replaces its machines"
	got := s.Shrink(silent(t), planOf(s.candidate("g", "n1")))
	want := []report.NodeVerdict{{
		Node: "n1", Group: "g", Reason: report.UnexpectedError{Error: `node group "g" is not shrunk: an instance refresh replaces its machines`},
	}}
	if diff := cmp.Diff(want, got.Refused); diff != "" || len(got.Started) > 0 || s.look("n1") != unmarked {
		t.Errorf("started %v, node %s, refused (-want +got):\n%s", got.Started, s.look("n1"), diff)
	}
	g.busy = ""
	if got := s.Shrink(silent(t), planOf(s.candidate("g", "n1"))); len(got.Started) != 1 {
		t.Errorf("afterwards: refused %v", got.Refused)
	}
}
