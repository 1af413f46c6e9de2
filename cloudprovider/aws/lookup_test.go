package aws_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestWhoseNodeIsIt(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:My_Group/a"}}, awstest.Group{Name: "My_Group/a", Max: 9, Desired: 2, Initial: []awstest.InitialInstance{{}}, Timing: awstest.Timing{Request: time.Hour}})
	machine := r.machines("My_Group/a")[0]
	if group, err := r.provider.GroupOf(nodeOf(machine)); group != "" || err != nil {
		t.Errorf("before the first refresh: %q, %v", group, err)
	}
	r.refresh()
	placeholder := r.state("My_Group/a").Instances[1]
	if want := "aws:///eu-west-1a/i-placeholder-My_Group%2Fa-0"; placeholder.ID != want {
		t.Errorf("placeholder %q, want %q", placeholder.ID, want)
	}
	tests := map[string]struct {
		id            string
		want          cloudprovider.GroupID
		exists, known bool
	}{
		"a machine of the group":                   {machine.ProviderID(), "My_Group/a", true, true},
		"the same machine with another zone text":  {"aws:///use1-az1/" + machine.ID, "My_Group/a", true, true},
		"the same machine without zone":            {"aws:////" + machine.ID, "My_Group/a", true, true},
		"a placeholder":                            {placeholder.ID, "My_Group/a", false, false},
		"a placeholder that was used up":           {"aws:///eu-west-1a/i-placeholder-My_Group%2Fa-77", "My_Group/a", false, false},
		"a placeholder of a group that isn't ours": {"aws:///eu-west-1a/i-placeholder-x-0", "", false, false},
		"a machine of nobody":                      {"aws:///eu-west-1a/i-0123456789abcdef0", "", false, false},
		"a Fargate node":                           {"aws:///eu-west-1a/uuid/fargate-ip-10-0-1-2.eu-west-1.compute.internal", "", false, false},
		"an EKS hybrid node":                       {"eks-hybrid:///eu-west-1/my-cluster/mi-0abc", "", false, false},
		"a HyperPod node":                          {"aws:///usw2-az1/sagemaker/cluster/hyperpod-x-" + machine.ID, "", false, false},
		"no provider id":                           {"", "", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: test.id}}
			if group, err := r.provider.GroupOf(node); group != test.want || err != nil {
				t.Errorf("GroupOf = %q, %v; want %q", group, err, test.want)
			}
			if exists, known := r.provider.InstanceExists(node); exists != test.exists || known != test.known {
				t.Errorf("InstanceExists = %v, %v", exists, known)
			}
			node.Annotations = map[string]string{"k8s.io/cluster-autoscaler-enabled": "false"}
			if exists, known := r.provider.InstanceExists(node); known && !exists {
				t.Error("an annotation makes the machine vanish")
			}
		})
	}
}

func TestANewNodeOfAnUnknownMachineBringsTheNextRefreshForward(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1})
	r.refresh()
	if err := r.server.SetDesired("a", 2); err != nil { // somebody else, so that we have no reason to look
		t.Fatal(err)
	}
	r.clock.Step(10 * time.Second)
	node := nodeOf(r.machines("a")[1])
	node.CreationTimestamp = metav1.NewTime(eight.Add(5 * time.Second))
	if group, _ := r.provider.GroupOf(node); group != "" {
		t.Fatalf("belongs to %q", group)
	}
	r.refresh()
	if group, _ := r.provider.GroupOf(node); group != "" {
		t.Errorf("10 s after the last refresh: belongs to %q", group)
	}
	r.after(5 * time.Second)
	if group, _ := r.provider.GroupOf(node); group != "a" {
		t.Errorf("15 s after the last refresh: belongs to %q", group)
	}
	old := nodeOf(awstest.Instance{ID: "i-0f", Zone: "eu-west-1a"})
	old.CreationTimestamp = metav1.NewTime(eight.Add(-time.Hour))
	r.server.ForgetCalls()
	if group, _ := r.provider.GroupOf(old); group != "" {
		t.Fatal("a stranger belongs to us")
	}
	r.after(20 * time.Second)
	if calls := r.server.Calls(); len(calls) != 0 {
		t.Errorf("an old stranger causes %d calls", len(calls))
	}
}

func TestAMachineThatWasDetachedIsNotGone(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 2})
	r.refresh()
	detached, killed := r.machines("a")[0], r.machines("a")[1]
	if err := r.server.SetLifecycle(detached.ID, "Detached"); err != nil {
		t.Fatal(err)
	}
	r.after(time.Minute)
	if exists, known := r.provider.InstanceExists(nodeOf(detached)); !exists || !known {
		t.Errorf("detached: %v, %v", exists, known)
	}
	if err := r.server.KillInstance(killed.ID); err != nil {
		t.Fatal(err)
	}
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Omit{Elements: []string{"Instances"}}})
	r.after(time.Minute)
	if _, known := r.provider.InstanceExists(nodeOf(detached)); known {
		t.Error("a detached machine that left the list is known to be gone")
	}
	if exists, known := r.provider.InstanceExists(nodeOf(killed)); exists || !known {
		t.Errorf("killed: %v, %v", exists, known)
	}
}

func TestAListingThatLacksMachinesForAMomentLosesNone(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9, Desired: 1})
	r.refresh()
	machine := r.machines("a")[0]
	r.server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Effect: awstest.Omit{Elements: []string{"Instances"}}})
	r.after(time.Minute)
	r.after(15 * time.Second)
	if exists, known := r.provider.InstanceExists(nodeOf(machine)); !exists || !known {
		t.Errorf("exists %v, known %v", exists, known)
	}
	if state := r.state("a"); shape(state) != "running" {
		t.Errorf("instances %s", shape(state))
	}
}

func TestGPUs(t *testing.T) {
	r := newRig(t, aws.Options{})
	if got := r.provider.GPULabel(); got != "k8s.amazonaws.com/accelerator" {
		t.Errorf("label %q", got)
	}
	types := r.provider.GPUTypes()
	if diff := cmp.Diff(sorted(types), types); diff != "" {
		t.Errorf("not in ascending order (-want +got):\n%s", diff)
	}
	for _, want := range []string{"nvidia-tesla-k80", "nvidia-tesla-p100", "nvidia-tesla-v100", "nvidia-tesla-t4", "nvidia-tesla-a100", "nvidia-a10g", "nvidia-l4", "nvidia-l40s"} {
		found := false
		for _, got := range types {
			found = found || got == want
		}
		if !found {
			t.Errorf("%s is missing", want)
		}
	}
	if r.provider.Name() != "aws" {
		t.Errorf("name %q", r.provider.Name())
	}
}

func TestLabelsThatOnlyTellGroupsApart(t *testing.T) {
	var provider cloudprovider.BookkeepingLabeler = newRig(t, aws.Options{}).provider
	got := provider.BookkeepingLabels()
	for _, want := range []string{
		"alpha.eksctl.io/instance-id", "alpha.eksctl.io/nodegroup-name", "eks.amazonaws.com/nodegroup", "k8s.amazonaws.com/eniConfig", "lifecycle",
		"topology.ebs.csi.aws.com/zone", "topology.k8s.aws/zone-id", // what operators know
		"eks.amazonaws.com/sourceLaunchTemplateId", "eks.amazonaws.com/sourceLaunchTemplateVersion", "aws:*", // C36
	} {
		if !slices.Contains(got, want) {
			t.Errorf("label %s counts", want)
		}
	}
	if slices.ContainsFunc(got, func(key string) bool { return key == "*" || key == "node.kubernetes.io/instance-type" }) {
		t.Errorf("the type of the machine does not count: %v", got)
	}
}
