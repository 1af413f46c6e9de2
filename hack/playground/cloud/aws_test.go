package cloud

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func newAWS(t *testing.T, tags ...awstest.Tag) (*awstest.Server, *AWS) {
	t.Helper()
	server, err := awstest.New(awstest.Config{Clock: clocktesting.NewFakeClock(start), Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
	err = server.AddGroup(awstest.Group{
		Name: "workers", Max: 5, Desired: 1, Zones: []string{"eu-west-1b"}, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}, Tags: tags,
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, NewAWS(server, "eu-west-1")
}

func TestAnInstanceIsAMachineWithTheTraitsOfItsGroup(t *testing.T) {
	server, aws := newAWS(t,
		awstest.Tag{Key: "k8s.io/cluster-autoscaler/enabled", Value: "true"},
		awstest.Tag{Key: labelPrefix + "example.com/team", Value: "blue"},
		awstest.Tag{Key: taintPrefix + "dedicated", Value: "a:b:NoSchedule"},
		awstest.Tag{Key: resourcePrefix + "example.com/slot", Value: "3"},
	)
	instance := server.Instances()[0]
	got, err := aws.Machines()
	if err != nil {
		t.Fatal(err)
	}
	want := []Machine{{
		ProviderID: "aws:///eu-west-1b/" + instance.ID, NodeName: instance.PrivateDNSName, Address: instance.PrivateIP, Running: true,
		Type: "m5.large", Region: "eu-west-1", Zone: "eu-west-1b",
		Size:      Size{VCPUs: 2, MemoryMiB: 8192, Architecture: "amd64", Pods: 29, DiskGiB: 20},
		Labels:    map[string]string{"example.com/team": "blue"},
		Taints:    []corev1.Taint{{Key: "dedicated", Value: "a:b", Effect: corev1.TaintEffectNoSchedule}},
		Resources: corev1.ResourceList{"example.com/slot": resource.MustParse("3")},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestADeadMachineDoesNotRunEvenWhileItsGroupBelievesIt(t *testing.T) {
	server, aws := newAWS(t)
	changed := aws.Changed()
	if err := server.UpdateGroup("workers", func(g *awstest.Group) { g.SuspendedProcesses = []awstest.Process{awstest.ProcessHealthCheck} }); err != nil {
		t.Fatal(err)
	}
	if err := server.KillInstance(server.Instances()[0].ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("no change was told")
	}
	got, err := aws.Machines()
	if err != nil || len(got) != 1 || got[0].Running {
		t.Errorf("got %+v, error %v; want one machine that doesn't run", got, err)
	}
}

func TestTagsThatNoKubeletAcceptsAreErrors(t *testing.T) {
	for _, tag := range []awstest.Tag{{Key: taintPrefix + "dedicated", Value: "NoSchedule"}, {Key: resourcePrefix + "slot", Value: "many"}} {
		_, aws := newAWS(t, tag)
		if _, err := aws.Machines(); err == nil || !strings.Contains(err.Error(), tag.Key) || !strings.Contains(err.Error(), "workers") {
			t.Errorf("%s=%s: error %v, want one that names tag and group", tag.Key, tag.Value, err)
		}
	}
}

func TestMachinesOfAManagedNodeGroupHaveWhatEKSGivesThem(t *testing.T) {
	owner := awstest.Nodegroup{
		Cluster: "c", Name: "batch", Labels: map[string]string{"team": "blue"},
		Taints: []awstest.NodegroupTaint{{Key: "dedicated", Value: "batch", Effect: "NO_SCHEDULE"}},
	}
	server, aws := newAWS(t, owner.GroupTags()...)
	for _, n := range []awstest.Nodegroup{owner, {Cluster: "d", Name: "batch", Labels: map[string]string{"team": "red"}}} {
		if err := server.PutNodegroup(n); err != nil {
			t.Fatal(err)
		}
	}
	got, err := aws.Machines()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"team": "blue", "eks.amazonaws.com/nodegroup": "batch"}, got[0].Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}, got[0].Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}

func TestATemplateIsTheNodeOfAMachineWithoutWhatOnlyThatMachineHas(t *testing.T) {
	server, aws := newAWS(t,
		awstest.Tag{Key: labelPrefix + "example.com/team", Value: "blue"},
		awstest.Tag{Key: taintPrefix + "dedicated", Value: "batch:NoSchedule"},
		awstest.Tag{Key: resourcePrefix + "example.com/slot", Value: "3"},
	)
	machines, err := aws.Machines()
	if err != nil {
		t.Fatal(err)
	}
	node := machines[0].node(start, 0)
	want := &corev1.Node{}
	want.Labels, want.Spec.Taints = node.Labels, node.Spec.Taints
	want.Status.Capacity, want.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	delete(want.Labels, corev1.LabelHostname)
	got, err := aws.Template(server.Groups()[0], "m5.large", "eu-west-1b")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if _, err := aws.Template(server.Groups()[0], "m5.enormous", "eu-west-1b"); err == nil || !strings.Contains(err.Error(), "m5.enormous") {
		t.Errorf("error %v, want one that names the type", err)
	}
}
