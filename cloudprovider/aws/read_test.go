package aws_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestTheStateIsReadFromAWSAndNotFromTheView(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=mine"}}, awstest.Group{
		Name: "a", Min: 1, Max: 9, Desired: 3, Tags: []awstest.Tag{{Key: "mine"}}, Timing: slowly(),
	})
	r.refresh()
	if err := r.server.SetBounds("a", 3, 9); err != nil {
		t.Fatal(err)
	}
	if got := r.state("a").Min; got != 1 {
		t.Fatalf("the view has the minimum %d already", got)
	}
	reader, ok := r.group("a").(cloudprovider.StateReader)
	if !ok {
		t.Fatal("the group cannot read its state")
	}
	r.old()
	got, err := reader.ReadState(r.ctx())
	if err != nil || got.Min != 3 || got.Target != 3 {
		t.Errorf("minimum %d, target %d, error %v", got.Min, got.Target, err)
	}
	if err := r.server.RemoveGroup("a"); err != nil {
		t.Fatal(err)
	}
	r.old()
	if _, err := reader.ReadState(r.ctx()); err == nil {
		t.Error("a group that is gone can be read")
	} else if _, gone := errors.AsType[*cloudprovider.GoneError](err); !gone {
		t.Errorf("error %v", err)
	}
}

func TestSeveralGroupsThatAreWrittenToShareOneLook(t *testing.T) {
	var groups []awstest.Group
	var nodes []string
	var ids []cloudprovider.GroupID
	for _, name := range []string{"a", "b", "c", "d"} {
		groups = append(groups, awstest.Group{Name: name, Max: 9, Desired: 1, Timing: slowly()})
		nodes = append(nodes, "0:9:"+name)
		ids = append(ids, cloudprovider.GroupID(name))
	}
	r := newRig(t, aws.Options{Nodes: nodes}, groups...)
	r.refresh()
	r.old()
	r.server.ForgetCalls()
	r.provider.ReadGroups(r.ctx(), ids[:3])
	for _, id := range ids[:3] {
		if _, err := r.group(string(id)).IncreaseSize(r.ctx(), 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.count("DescribeAutoScalingGroups"); got != 1 {
		t.Errorf("%d questions for three raises", got)
	}
	r.old() // the writes took longer than an answer is good for: those that are left are read together again
	r.server.ForgetCalls()
	for _, id := range ids[:3] {
		if _, err := r.group(string(id)).DeleteNodes(r.ctx(), refs(r.machines(string(id))[0])); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.count("DescribeAutoScalingGroups"); got != 1 {
		t.Errorf("%d questions for three deletions", got)
	}
	r.server.ForgetCalls()
	if _, err := r.group("d").IncreaseSize(r.ctx(), 1); err != nil {
		t.Fatal(err)
	}
	if calls := r.server.Calls(); calls[0].Params.Get("AutoScalingGroupNames.member.2") != "" {
		t.Errorf("a group that nobody announced was read together with others: %v", calls[0].Params)
	}
}

func TestLooksThatComeUpTogetherAreOneQuestion(t *testing.T) {
	var groups []awstest.Group
	var nodes []string
	for i := range 8 {
		groups = append(groups, awstest.Group{Name: fmt.Sprintf("g%d", i), Max: 9, Desired: 1, Timing: slowly()})
		nodes = append(nodes, fmt.Sprintf("0:9:g%d", i))
	}
	r := newRig(t, aws.Options{Nodes: nodes}, groups...)
	r.refresh()
	r.old()
	r.server.ForgetCalls()
	gate := awstest.NewGate(awstest.BeforeEffect)
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: 1, Effect: gate})
	var all sync.WaitGroup
	all.Go(func() { r.raise("g0") })
	<-gate.Arrived()
	for _, group := range groups[1:] {
		all.Go(func() { r.raise(group.Name) })
	}
	for r.provider.Gathered() < len(groups)-1 {
		runtime.Gosched()
	}
	gate.Release()
	all.Wait()
	if got := r.count("DescribeAutoScalingGroups"); got != 2 {
		t.Errorf("%d questions for %d raises", got, len(groups))
	}
	for _, group := range groups {
		if got := r.desired(group.Name); got != 2 {
			t.Errorf("desired of %s is %d", group.Name, got)
		}
	}
}

// raise must succeed. It may be called from any goroutine.
func (r *rig) raise(name string) {
	r.t.Helper()
	for _, group := range r.provider.NodeGroups() {
		if string(group.ID()) != name {
			continue
		}
		if _, err := group.IncreaseSize(r.ctx(), 1); err != nil {
			r.t.Errorf("raising %s: %v", name, err)
		}
	}
}
