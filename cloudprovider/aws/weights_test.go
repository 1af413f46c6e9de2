package aws_test

import (
	"testing"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// Case C27: a group whose sizes are counted in units, of which a machine is one or two.
func TestUnitsAreNotTakenForMachines(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"2:10:w"}}, awstest.Group{
		Name: "w", Min: 2, Max: 10, Desired: 4,
		MixedInstances: &awstest.MixedInstances{
			LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"},
			Overrides:      []awstest.Override{{InstanceType: "c5.2xlarge", Weight: 1}, {InstanceType: "c5.4xlarge", Weight: 2}},
		},
		Initial: []awstest.InitialInstance{{Type: "c5.4xlarge"}, {Type: "c5.2xlarge"}, {Type: "c5.2xlarge"}},
	})
	r.refresh()
	state := r.state("w")
	if state.Target != 3 || len(state.Instances) != 3 {
		t.Errorf("target %d, instances %s", state.Target, shape(state))
	}
	for i := 0; r.desired("w") < 10 && i < 9; i++ {
		before := r.desired("w")
		if granted, err := r.group("w").IncreaseSize(r.ctx(), 1); err != nil || granted != 1 {
			t.Fatalf("at %d units: granted %d, %v", before, granted, err)
		}
		if got := r.desired("w"); got != before+1 {
			t.Errorf("one machine more raised %d units to %d", before, got)
		}
		r.after(time.Minute)
	}
	if got := r.desired("w"); got > 10 {
		t.Errorf("%d units of 10", got)
	}
}
