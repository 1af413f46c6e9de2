package simulated_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

// world is a cloud with its clock and one group "g", unless the test adds others.
type world struct {
	testing.TB
	clock *clocktesting.FakeClock
	*simulated.Cloud
}

// group is a group "g" of up to ten machines in zone z1, without delays.
func group() simulated.Group {
	return simulated.Group{ID: "g", Max: 10, Templates: []cloudprovider.TemplateVariant{template("z1")}}
}

// slow is group with a delay for everything.
func slow() simulated.Group {
	g := group()
	g.AppearDelay, g.LaunchDelay, g.RegisterDelay = 10*time.Second, 30*time.Second, 5*time.Second
	g.FailDelay, g.DeleteDelay = 20*time.Second, 15*time.Second
	return g
}

func newWorld(tb testing.TB, groups ...simulated.Group) *world {
	tb.Helper()
	return newWorldOf(tb, simulated.Options{}, groups...)
}

func newWorldOf(tb testing.TB, options simulated.Options, groups ...simulated.Group) *world {
	tb.Helper()
	clk := clocktesting.NewFakeClock(start)
	cloud, err := simulated.NewWithOptions(clk, options, groups...)
	if err != nil {
		tb.Fatal(err)
	}
	return &world{TB: tb, clock: clk, Cloud: cloud}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// to moves the clock to so long after the start.
func (w *world) to(d time.Duration) { w.clock.SetTime(start.Add(d)) }

// group is the group as of a new view.
func (w *world) group(id cloudprovider.GroupID) cloudprovider.NodeGroup {
	w.Helper()
	w.must(w.Refresh(w.Context()))
	return find(w.Cloud, id)
}

func (w *world) increase(delta int) {
	w.Helper()
	_, err := w.group("g").IncreaseSize(w.Context(), delta)
	w.must(err)
}

func (w *world) setTarget(target int) []simulated.Machine {
	w.Helper()
	ended, err := w.SetTarget("g", target)
	w.must(err)
	return ended
}

func (w *world) delete(ids ...string) []cloudprovider.DeleteOutcome {
	w.Helper()
	outcomes, err := w.group("g").DeleteNodes(w.Context(), refs(ids...))
	w.must(err)
	return outcomes
}

// update changes the group "g".
func (w *world) update(change func(*simulated.Group)) {
	w.Helper()
	w.must(w.Update("g", change))
}

func refs(ids ...string) []cloudprovider.NodeRef {
	all := make([]cloudprovider.NodeRef, len(ids))
	for i, id := range ids {
		all[i] = cloudprovider.NodeRef{ProviderID: id}
	}
	return all
}

// told is each machine in one line: its id and what the cloud says of it.
func told(machines []simulated.Machine) []string {
	var lines []string
	for _, m := range machines {
		line := m.Instance.ID + " " + m.Instance.State.String()
		if m.Instance.Placeholder {
			line += " placeholder"
		}
		if m.Instance.Error != nil {
			line += " " + m.Instance.Error.Code
		}
		if !m.RegisteredAt.IsZero() {
			line += " registered"
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) wantMachines(want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, told(w.Machines())); diff != "" {
		w.Errorf("machines at %s (-want +got):\n%s", w.clock.Now().Sub(start), diff)
	}
}

func (w *world) wantTarget(want int) {
	w.Helper()
	if g, _ := w.Group("g"); g.Target != want {
		w.Errorf("target at %s = %d, want %d", w.clock.Now().Sub(start), g.Target, want)
	}
}

func TestAMachineGoesThroughItsLifeByTheClock(t *testing.T) {
	failure := cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOther, Code: "BootFailed"}
	// Each life is what is told at the moments at which something changes, one second before included.
	tests := map[string]struct {
		fate simulated.Fate
		want map[time.Duration]string
	}{
		"as usual": {
			want: map[time.Duration]string{
				0:                "simulated:///z1/placeholder-g-0001 creating placeholder",
				9 * time.Second:  "simulated:///z1/placeholder-g-0001 creating placeholder",
				10 * time.Second: "simulated:///z1/g-0001 creating",
				29 * time.Second: "simulated:///z1/g-0001 creating",
				30 * time.Second: "simulated:///z1/g-0001 running",
				34 * time.Second: "simulated:///z1/g-0001 running",
				35 * time.Second: "simulated:///z1/g-0001 running registered",
			},
		},
		"late": {
			fate: simulated.Fate{Delay: time.Minute},
			want: map[time.Duration]string{
				69 * time.Second: "simulated:///z1/placeholder-g-0001 creating placeholder",
				70 * time.Second: "simulated:///z1/g-0001 creating",
				90 * time.Second: "simulated:///z1/g-0001 running",
				95 * time.Second: "simulated:///z1/g-0001 running registered",
			},
		},
		"stuck": {
			fate: simulated.Fate{Stuck: true},
			want: map[time.Duration]string{
				30 * time.Second: "simulated:///z1/g-0001 running",
				24 * time.Hour:   "simulated:///z1/g-0001 running",
			},
		},
		"failing without a machine": {
			fate: simulated.Fate{Error: &failure},
			want: map[time.Duration]string{
				19 * time.Second: "simulated:///z1/placeholder-g-0001 creating placeholder",
				20 * time.Second: "simulated:///z1/placeholder-g-0001 creating placeholder BootFailed",
				24 * time.Hour:   "simulated:///z1/placeholder-g-0001 creating placeholder BootFailed",
			},
		},
		"failing with a machine": {
			fate: simulated.Fate{Error: &failure, Exists: true, Delay: time.Second},
			want: map[time.Duration]string{
				10 * time.Second: "simulated:///z1/placeholder-g-0001 creating placeholder",
				11 * time.Second: "simulated:///z1/g-0001 creating",
				20 * time.Second: "simulated:///z1/g-0001 creating",
				21 * time.Second: "simulated:///z1/g-0001 creating BootFailed",
				24 * time.Hour:   "simulated:///z1/g-0001 creating BootFailed",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, slow())
			w.must(w.Next("g", test.fate))
			w.increase(1)
			got := map[time.Duration]string{}
			for at := range test.want {
				w.to(at)
				got[at] = told(w.Machines())[0]
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("life (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMachineWithoutAZoneIsNamedAfterItsGroup(t *testing.T) {
	g := group()
	g.Templates = []cloudprovider.TemplateVariant{template("")}
	w := newWorld(t, g)
	w.increase(1)
	w.wantMachines("simulated:///g/g-0001 running registered")
	if got := w.Machines()[0].Variant; got != "default" {
		t.Errorf("variant %q, want default", got)
	}
}

func TestADeletedMachineKeepsItsNodeUntilItIsGone(t *testing.T) {
	g := slow()
	g.Target = 1
	w := newWorld(t, g)
	w.wantMachines("simulated:///z1/g-0001 running registered")
	w.delete("simulated:///z1/g-0001")
	w.to(14 * time.Second)
	w.wantMachines("simulated:///z1/g-0001 deleting registered")
	w.to(15 * time.Second)
	w.wantMachines()
}

func TestAMachineDeletedInCreationNeverRuns(t *testing.T) {
	w := newWorld(t, slow())
	w.increase(2)
	w.to(25 * time.Second)
	w.delete("simulated:///z1/g-0001")
	w.to(36 * time.Second) // both would have registered by now
	w.wantMachines("simulated:///z1/g-0001 deleting", "simulated:///z1/g-0002 running registered")
	w.to(40 * time.Second)
	w.wantMachines("simulated:///z1/g-0002 running registered")
}

func TestADeletedPlaceholderIsCancelledAtOnce(t *testing.T) {
	w := newWorld(t, slow())
	w.increase(2)
	w.delete("simulated:///z1/placeholder-g-0001")
	w.wantTarget(1)
	w.wantMachines("simulated:///z1/placeholder-g-0002 creating placeholder")
	w.to(time.Hour)
	w.wantMachines("simulated:///z1/g-0002 running registered")
}

func TestNextChangeLeadsThroughAllThatComesByItself(t *testing.T) {
	w := newWorld(t, slow())
	if at, ok := w.NextChange(); ok {
		t.Fatalf("the next change of an empty cloud is at %s, want none", at)
	}
	w.must(w.Next("g", simulated.Fate{}, simulated.Fate{Error: &cloudprovider.InstanceError{Code: "X"}}, simulated.Fate{Delay: 2 * time.Second}))
	w.increase(3)
	var steps []string
	walk := func() {
		for at, ok := w.NextChange(); ok; at, ok = w.NextChange() {
			w.clock.SetTime(at)
			steps = append(steps, at.Sub(start).String())
		}
	}
	walk()
	w.delete("simulated:///z1/g-0001")
	walk()
	want := []string{"10s", "12s", "20s", "30s", "32s", "35s", "37s", "52s"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestTheSamePlayGivesTheSameMachines(t *testing.T) {
	play := func() []string {
		g := slow()
		g.Templates = []cloudprovider.TemplateVariant{template("z1"), template("z2"), template("z3")}
		g.Stock = map[string]int{"z2": 2}
		w := newWorld(t, g)
		w.increase(7)
		w.to(time.Minute)
		w.delete(w.Machines()[3].Instance.ID)
		w.setTarget(4)
		w.to(2 * time.Minute)
		return told(w.Machines())
	}
	if diff := cmp.Diff(play(), play()); diff != "" {
		t.Errorf("second play (-first +second):\n%s", diff)
	}
}

func TestANodeLooksLikeItsTemplateWithTheFactsOfItsMachine(t *testing.T) {
	g := slow()
	g.Templates[0].Node.Annotations = map[string]string{"keep": "this"}
	g.Templates[0].Node.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule}}
	w := newWorld(t, g)
	w.increase(1)
	if nodes := w.Nodes(); len(nodes) != 0 {
		t.Fatalf("%d nodes before one has registered, want none", len(nodes))
	}
	w.to(time.Minute)
	registered := metav1.NewTime(start.Add(35 * time.Second))
	capacity := template("").Node.Status.Capacity
	want := []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{
			Name: "g-0001", UID: "simulated:///z1/g-0001", CreationTimestamp: registered,
			Labels: map[string]string{
				"kubernetes.io/hostname": "g-0001", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
				"topology.kubernetes.io/zone": "z1", "node.kubernetes.io/instance-type": "four.core",
			},
			Annotations: map[string]string{"keep": "this", simulated.GroupAnnotation: "g"},
		},
		Spec: corev1.NodeSpec{
			ProviderID: "simulated:///z1/g-0001",
			Taints:     []corev1.Taint{{Key: "dedicated", Value: "ml", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: registered, LastTransitionTime: registered,
			}},
		},
	}}
	if diff := cmp.Diff(want, w.Nodes()); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	instance := w.Machines()[0].Instance
	wantInstance := cloudprovider.Instance{
		ID: "simulated:///z1/g-0001", State: cloudprovider.InstanceRunning, Zone: "z1", Type: "four.core", RequestedAt: start,
	}
	if diff := cmp.Diff(wantInstance, instance); diff != "" {
		t.Errorf("instance (-want +got):\n%s", diff)
	}
	w.Nodes()[0].Labels["changed"] = "by the caller"
	if diff := cmp.Diff(want, w.Nodes()); diff != "" {
		t.Errorf("nodes after the caller changed one (-want +got):\n%s", diff)
	}
}

func TestWhatATemplateSaysIsNotFilledIn(t *testing.T) {
	v := template("")
	v.Key = "win"
	v.Node.Labels[corev1.LabelOSStable] = "windows"
	v.Node.Labels[corev1.LabelArchStable] = "arm64"
	v.Node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: v.Node.Status.Capacity[corev1.ResourcePods]}
	v.Node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	v.Promise, v.Weight = cloudprovider.PromisePossible, 3
	g := group()
	g.Templates = []cloudprovider.TemplateVariant{v}
	got, err := newWorld(t, g).group("g").Templates(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []cloudprovider.TemplateVariant{v}
	want[0].Node = v.Node.DeepCopy()
	want[0].Node.Annotations = map[string]string{simulated.GroupAnnotation: "g"}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
}

func TestAMachineBringsTheCSINodeAndThePodsOfItsTemplate(t *testing.T) {
	g := slow()
	g.Templates[0].CSINode = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "disk"}}}}
	g.Templates[0].Pods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "proxy"}}}
	w := newWorld(t, g)
	w.increase(1)
	m := w.Machines()[0]
	if m.Node() != nil || m.CSINode() != nil || m.Pods() != nil {
		t.Errorf("a machine without a node has %v, %v, %v", m.Node(), m.CSINode(), m.Pods())
	}
	w.to(time.Minute)
	m = w.Machines()[0]
	wantCSI := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: "g-0001"},
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "disk", NodeID: "g-0001"}}},
	}
	if diff := cmp.Diff(wantCSI, m.CSINode()); diff != "" {
		t.Errorf("CSINode (-want +got):\n%s", diff)
	}
	wantPods := []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "proxy-g-0001", UID: "kube-system/proxy-g-0001"},
		Spec:       corev1.PodSpec{NodeName: "g-0001"},
	}}
	if diff := cmp.Diff(wantPods, m.Pods()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	plain := newWorld(t, group())
	plain.increase(1)
	if csiNode := plain.Machines()[0].CSINode(); csiNode != nil {
		t.Errorf("CSINode without one in the template = %v, want none", csiNode)
	}
}

func TestNamesAreCountedAndNeverUsedAgain(t *testing.T) {
	tests := map[string]struct {
		naming   func(int) string
		existing []simulated.Existing
		want     []string // names after starting with two and exchanging one for two
	}{
		"by default": {want: []string{"g-0002", "g-0003", "g-0004"}},
		"by a naming of the group": {
			naming: func(n int) string { return fmt.Sprintf("g-%d", n-1) },
			want:   []string{"g-1", "g-2", "g-3"},
		},
		"around names that are taken": {
			existing: []simulated.Existing{{NodeName: "old"}, {NodeName: "g-0002"}},
			want:     []string{"g-0002", "g-0001", "g-0003"},
		},
		"around ids that are taken": {
			existing: []simulated.Existing{{NodeName: "old"}, {NodeName: "other", ProviderID: "simulated:///z1/g-0001"}},
			want:     []string{"other", "g-0002", "g-0003"},
		},
		"by the default where the naming repeats itself": {
			naming: func(int) string { return "same" },
			want:   []string{"g-0004", "g-0008", "g-0013"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := group()
			g.Target, g.NodeName, g.Existing = 2, test.naming, test.existing
			w := newWorld(t, g)
			w.delete(w.Machines()[0].Instance.ID)
			w.increase(2)
			var got []string
			for _, node := range w.Nodes() {
				got = append(got, node.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExistingMachinesKeepWhatTheyAreKnownBy(t *testing.T) {
	g := group()
	g.Templates = []cloudprovider.TemplateVariant{template("z1"), template("z2")}
	g.Target = 3
	g.Existing = []simulated.Existing{
		{NodeName: "ip-10-0-0-1", ProviderID: "aws:///z2/i-1", Variant: "z2", Since: start.Add(-3 * time.Hour)},
		{NodeName: "ip-10-0-0-2"},
	}
	w := newWorld(t, g)
	w.wantMachines(
		"aws:///z2/i-1 running registered",
		"simulated:///z1/ip-10-0-0-2 running registered",
		"simulated:///z1/g-0001 running registered", // the first of those with the fewest machines
	)
	var since []time.Duration
	for _, node := range w.Nodes() {
		since = append(since, start.Sub(node.CreationTimestamp.Time))
	}
	if diff := cmp.Diff([]time.Duration{3 * time.Hour, time.Hour, time.Hour}, since); diff != "" {
		t.Errorf("ages (-want +got):\n%s", diff)
	}
	w.group("g")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ip-10-0-0-1"}}
	if id, err := w.GroupOf(node); id != "g" || err != nil {
		t.Errorf("GroupOf by the name alone = %q, %v; want g", id, err)
	}
	node.Spec.ProviderID = "other:///i-1"
	if id, err := w.GroupOf(node); id != "" || err != nil {
		t.Errorf("GroupOf a stranger of the same name = %q, %v; want none", id, err)
	}
	node.Annotations = map[string]string{simulated.GroupAnnotation: "g"}
	if id, err := w.GroupOf(node); id != "g" || err != nil {
		t.Errorf("GroupOf by the annotation = %q, %v; want g", id, err)
	}
	node.Annotations = map[string]string{simulated.GroupAnnotation: "unheard-of"}
	if id, err := w.GroupOf(node); id != "" || err != nil {
		t.Errorf("GroupOf by the annotation of a group that is not there = %q, %v; want none", id, err)
	}
}
