package cloud

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
)

func TestTheNodesOfAPoolAreMachinesThatOfferWhatItsTemplateSays(t *testing.T) {
	clock := clocktesting.NewFakeClock(start)
	server, err := dotest.New(dotest.Config{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	err = server.AddPool(dotest.Pool{
		ID: "web", Size: "s-2vcpu-4gb", AutoScale: true, Max: 3, Labels: map[string]string{"team": "a"},
		Taints: []dotest.Taint{{Key: "dedicated", Value: "web", Effect: "NoSchedule"}},
		Delays: dotest.Delays{Droplet: time.Second, Running: time.Second, Register: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.UpdatePool("web", func(p *dotest.Pool) { p.Count = 1 }); err != nil {
		t.Fatal(err)
	}
	subject := NewDOKS(server)
	list := func(wait time.Duration) []Machine {
		t.Helper()
		clock.Step(wait)
		machines, err := subject.Machines()
		if err != nil {
			t.Fatal(err)
		}
		return machines
	}
	if got := list(0); len(got) != 0 {
		t.Errorf("machines %v before there is a Droplet, want none", got)
	}
	if got := list(time.Second); len(got) != 1 || got[0].Running {
		t.Errorf("machines %v with a Droplet, want one that doesn't run", got)
	}
	got := list(2 * time.Second)
	if len(got) != 1 || !got[0].Running {
		t.Fatalf("machines %v, want one that runs", got)
	}
	n := server.Nodes("web")[0]
	node := got[0].node(start, 0)
	if node.Spec.ProviderID != "digitalocean://"+n.DropletID || node.Name != n.Name {
		t.Errorf("node %s of %s, want %s of its Droplet", node.Name, node.Spec.ProviderID, n.Name)
	}
	labels := map[string]string{}
	for _, key := range []string{"team", doksPool, doksPoolID, doksNodeID, corev1.LabelInstanceTypeStable, corev1.LabelTopologyRegion} {
		labels[key] = node.Labels[key]
	}
	want := map[string]string{
		"team": "a", doksPool: "web", doksPoolID: "web", doksNodeID: n.ID, corev1.LabelInstanceTypeStable: "s-2vcpu-4gb", corev1.LabelTopologyRegion: "fra1",
	}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if _, zoned := node.Labels[corev1.LabelTopologyZone]; zoned {
		t.Error("the node has a zone, which DOKS has not")
	}
	if diff := cmp.Diff([]corev1.Taint{{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	template := server.Template("web")
	if got := node.Status.Allocatable.Cpu().MilliValue(); got != template.Allocatable.CPUMilliCores {
		t.Errorf("allocatable CPU %d m, want the template's %d m", got, template.Allocatable.CPUMilliCores)
	}
	if disk := node.Status.Capacity.StorageEphemeral().String(); disk != "80Gi" {
		t.Errorf("a disk of %s, want that of the size", disk)
	}
	fresh, err := subject.Template(server.Pool("web"))
	if err != nil {
		t.Fatal(err)
	}
	next := &corev1.Node{}
	next.Labels, next.Spec.Taints = node.Labels, node.Spec.Taints
	next.Status.Capacity, next.Status.Allocatable = node.Status.Capacity, node.Status.Allocatable
	delete(next.Labels, corev1.LabelHostname)
	delete(next.Labels, doksNodeID)
	if diff := cmp.Diff(next, fresh); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}
