package aws_test

import (
	"errors"
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
	got, err := reader.ReadState(r.ctx())
	if err != nil || got.Min != 3 || got.Target != 3 {
		t.Errorf("minimum %d, target %d, error %v", got.Min, got.Target, err)
	}
	if err := r.server.RemoveGroup("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.ReadState(r.ctx()); err == nil {
		t.Error("a group that is gone can be read")
	} else if _, gone := errors.AsType[*cloudprovider.GoneError](err); !gone {
		t.Errorf("error %v", err)
	}
}
