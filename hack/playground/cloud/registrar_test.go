package cloud

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/hack/playground/annotations"
)

var start = time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)

// pretended is a cloud whose machines a test sets.
type pretended struct{ machines []Machine }

func (p *pretended) Machines() ([]Machine, error) { return slices.Clone(p.machines), nil }
func (p *pretended) Changed() <-chan struct{}     { return nil }
func machine(name string, change ...func(*Machine)) Machine {
	m := Machine{
		ProviderID: "aws:///eu-west-1a/" + name, NodeName: name, Running: true, Type: "m5.large", Region: "eu-west-1", Zone: "eu-west-1a",
		Size: Size{VCPUs: 2, MemoryMiB: 8192, Architecture: "amd64", Pods: 29, DiskGiB: 20},
	}
	for _, f := range change {
		f(&m)
	}
	return m
}

// world is a registrar between a cloud and a cluster, both in memory.
type world struct {
	cloud   *pretended
	client  *fake.Clientset
	clock   *clocktesting.FakeClock
	subject *Registrar
}

func newWorld(machines ...Machine) *world {
	w := &world{cloud: &pretended{machines: machines}, client: fake.NewClientset(), clock: clocktesting.NewFakeClock(start)}
	w.subject = NewRegistrar(w.client, w.cloud, w.clock, Delays{Register: 30 * time.Second, Ready: 10 * time.Second, Remove: 5 * time.Second})
	return w
}

// nodes are the names of the cluster's nodes.
func (w *world) nodes(t *testing.T) []string {
	t.Helper()
	list, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return names
}

func TestAMachineRegistersWhenItHasRunForTheDelayAndItsNodeGoesAfterItsEnd(t *testing.T) {
	w := newWorld(machine("a"), machine("b", func(m *Machine) { m.Running = false }))
	steps := []struct {
		what      string
		after     time.Duration
		change    func()
		wantWait  time.Duration
		wantNodes []string
	}{
		{what: "just started", wantWait: 30 * time.Second},
		{what: "a moment before the delay ends", after: 29 * time.Second, wantWait: time.Second},
		{what: "registered", after: time.Second, wantNodes: []string{"a"}},
		{what: "nothing to do", after: time.Hour, wantNodes: []string{"a"}},
		{what: "the other one starts", change: func() { w.cloud.machines[1].Running = true }, wantWait: 30 * time.Second, wantNodes: []string{"a"}},
		{what: "both registered", after: 30 * time.Second, wantNodes: []string{"a", "b"}},
		{what: "one left the list", change: func() { w.cloud.machines = w.cloud.machines[1:] }, wantWait: 5 * time.Second, wantNodes: []string{"a", "b"}},
		{what: "and its node follows", after: 5 * time.Second, wantNodes: []string{"b"}},
		{what: "the other one ended", change: func() { w.cloud.machines[0].Running = false }, wantWait: 5 * time.Second, wantNodes: []string{"b"}},
		{what: "all gone", after: 5 * time.Second},
	}
	for _, s := range steps {
		if s.change != nil {
			s.change()
		}
		w.clock.Step(s.after)
		if wait := w.subject.step(t.Context()); wait != s.wantWait {
			t.Errorf("%s: waits %v, want %v", s.what, wait, s.wantWait)
		}
		if diff := cmp.Diff(append([]string{}, s.wantNodes...), w.nodes(t)); diff != "" {
			t.Errorf("%s: nodes: %s", s.what, diff)
		}
	}
}

func TestAMachineThatEndsBeforeItRegistersLeavesNoNode(t *testing.T) {
	w := newWorld(machine("a"))
	w.subject.step(t.Context())
	w.cloud.machines = nil
	w.clock.Step(time.Hour)
	if wait := w.subject.step(t.Context()); wait != 0 || len(w.nodes(t)) > 0 {
		t.Errorf("waits %v, nodes %v; want nothing", wait, w.nodes(t))
	}
}

func TestARefusedRegistrationIsTriedAgain(t *testing.T) {
	w := newWorld(machine("a"))
	refusals := 1
	w.client.PrependReactor("create", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
		refusals--
		return refusals >= 0, nil, errors.New("the server is busy")
	})
	w.subject.step(t.Context())
	w.clock.Step(30 * time.Second)
	if wait := w.subject.step(t.Context()); wait != retryAfter || len(w.nodes(t)) > 0 {
		t.Fatalf("waits %v, nodes %v; want a retry", wait, w.nodes(t))
	}
	w.clock.Step(retryAfter)
	if wait := w.subject.step(t.Context()); wait != 0 || len(w.nodes(t)) != 1 {
		t.Errorf("waits %v, nodes %v; want the node", wait, w.nodes(t))
	}
}

func TestANodeThatAnotherMachineRegisteredUnderTheNameStays(t *testing.T) {
	w := newWorld(machine("a"))
	w.subject.step(t.Context())
	w.clock.Step(time.Hour)
	w.subject.step(t.Context())
	node, err := w.client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.ProviderID = "aws:///eu-west-1a/other"
	if _, err := w.client.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.cloud.machines = nil
	w.subject.step(t.Context())
	w.clock.Step(time.Hour)
	w.subject.step(t.Context())
	if diff := cmp.Diff([]string{"a"}, w.nodes(t)); diff != "" {
		t.Error(diff)
	}
}

func TestANodeHasWhatItsMachineHas(t *testing.T) {
	m := machine("a", func(m *Machine) {
		m.Address = "10.0.0.7"
		m.Size = Size{VCPUs: 8, MemoryMiB: 32768, Architecture: "arm64", Pods: 58, GPUs: 1, DiskGiB: 100}
		m.Labels = map[string]string{"team": "blue"}
		m.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		m.Resources = corev1.ResourceList{"example.com/slot": resource.MustParse("3")}
	})
	node := m.node(start, 10*time.Second)

	type facts struct {
		ProviderID, ReadyAt, Managed, Team, Arch, Zone, Type string
		Taints                                               []corev1.Taint
		Ready                                                corev1.ConditionStatus
		Addresses                                            []corev1.NodeAddress
	}
	got := facts{
		ProviderID: node.Spec.ProviderID, ReadyAt: node.Annotations[annotations.ReadyAt], Managed: node.Annotations[annotations.Managed],
		Team: node.Labels["team"], Arch: node.Labels[corev1.LabelArchStable], Zone: node.Labels[corev1.LabelTopologyZone],
		Type: node.Labels[corev1.LabelInstanceTypeStable], Taints: node.Spec.Taints, Ready: node.Status.Conditions[0].Status, Addresses: node.Status.Addresses,
	}
	want := facts{
		ProviderID: "aws:///eu-west-1a/a", ReadyAt: "2026-05-01T10:00:10Z", Managed: "fake", Team: "blue", Arch: "arm64", Zone: "eu-west-1a",
		Type: "m5.large", Taints: m.Taints, Ready: corev1.ConditionFalse,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.7"}, {Type: corev1.NodeHostName, Address: "a"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	// 8 cores keep 60+10+5+5+4*2.5 = 90 m; 32768 MiB show 31129 MiB, of which 255 + 58*11 + 100 MiB are kept.
	wantAllocatable := map[corev1.ResourceName]string{
		"cpu": "7910m", "memory": "30136Mi", "pods": "58", "ephemeral-storage": "91136Mi", "nvidia.com/gpu": "1", "example.com/slot": "3",
		"hugepages-1Gi": "0", "hugepages-2Mi": "0",
	}
	for name, want := range wantAllocatable {
		if got := node.Status.Allocatable[name]; got.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("allocatable %s: %s, want %s", name, got.String(), want)
		}
	}
	if len(node.Status.Allocatable) != len(wantAllocatable) {
		t.Errorf("allocatable: %d resources, want %d", len(node.Status.Allocatable), len(wantAllocatable))
	}
	if got := node.Status.Capacity[corev1.ResourceMemory]; got.Cmp(resource.MustParse("31129Mi")) != 0 {
		t.Errorf("memory capacity: %s, want 31129Mi", got.String())
	}
	if !strings.Contains(m.String(), "aws:///eu-west-1a/a") {
		t.Errorf("%q doesn't name the machine", m)
	}
}
