package simulated_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
)

func TestBadDescriptionsAreRefusedWithAllThatIsWrong(t *testing.T) {
	tests := map[string]struct {
		groups  []simulated.Group
		options simulated.Options
		want    []string
	}{
		"everything at once": {
			groups: []simulated.Group{{
				Min: 3, Max: 2, Target: -1, PricePerHour: -1,
				AppearDelay: -1, LaunchDelay: -1, RegisterDelay: -1, FailDelay: -1, DeleteDelay: -1,
				Stock: map[string]int{"z": -1}, Fate: simulated.Fate{Delay: -1, Variant: "x"},
				Existing: []simulated.Existing{{}, {NodeName: "n", Variant: "y"}},
			}},
			want: []string{
				"the id is empty", "bounds are 3 to 2", "target is -1", "price is -1", "AppearDelay is -1ns", "LaunchDelay is", "RegisterDelay is",
				"FailDelay is", "DeleteDelay is", "Fate.Delay is", `stock of "z" is -1`, "there is no template",
				`the fate names template "x"`, "existing machine 0 has no node name", `existing machine "n" names template "y"`,
			},
		},
		"templates": {
			groups: []simulated.Group{{ID: "g", Templates: []cloudprovider.TemplateVariant{
				{}, template("z1"), template("z1"), variant("w", "", cloudprovider.PromiseUnset, -1),
			}}},
			want: []string{`node group "g": template 0 has no node`, `the key "z1" stands for two templates`, `weight of template "w" is -1`},
		},
		"two groups of one id": {groups: []simulated.Group{group(), group()}, want: []string{`adding node group "g"`}},
		"two machines of one name": {
			groups: []simulated.Group{{ID: "g", Templates: group().Templates, Existing: []simulated.Existing{{NodeName: "n"}, {NodeName: "n"}}}},
			want:   []string{`existing machine "n" has the name or id of another one`},
		},
		"two machines of one id": {
			groups: []simulated.Group{{ID: "g", Templates: group().Templates, Existing: []simulated.Existing{{NodeName: "n", ProviderID: "i"}, {NodeName: "m", ProviderID: "i"}}}},
			want:   []string{`existing machine "m" has the name or id of another one`},
		},
		"a refresh interval below nothing": {options: simulated.Options{RefreshInterval: -1}, want: []string{"refresh interval"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := simulated.NewWithOptions(clocktesting.NewFakeClock(start), test.options, test.groups...)
			if err == nil {
				t.Fatal("no error, want one")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q:\n%v", want, err)
				}
			}
		})
	}
	if _, err := simulated.New(nil); err == nil {
		t.Error("a cloud without a clock: no error, want one")
	}
}

func TestInterferingWithWhatIsNotThereIsAnError(t *testing.T) {
	w := newWorld(t, group())
	tests := map[string]error{
		"updating":        w.Update("x", func(*simulated.Group) {}),
		"removing":        w.RemoveGroup("x"),
		"fates":           w.Next("x"),
		"no fates":        w.ForgetNext("x"),
		"retrying":        w.Retry("x"),
		"losing":          w.Lose("x"),
		"terminating":     w.Terminate("x"),
		"breaking":        w.Break("x", cloudprovider.InstanceError{}),
		"a second group":  w.AddGroup(group()),
		"unknown variant": w.Next("g", simulated.Fate{Variant: "x"}),
		"negative delay":  w.Next("g", simulated.Fate{Delay: -1}),
		"new id":          w.Update("g", func(g *simulated.Group) { g.ID = "x" }),
		"new target":      w.Update("g", func(g *simulated.Group) { g.Target = 5 }),
		"new machines":    w.Update("g", func(g *simulated.Group) { g.Existing = []simulated.Existing{{NodeName: "n"}} }),
		"bad bounds":      w.Update("g", func(g *simulated.Group) { g.Min, g.Max = 5, 4 }),
	}
	_, tests["resizing"] = w.SetTarget("x", 1)
	_, tests["resizing below nothing"] = w.SetTarget("g", -1)
	for name, err := range tests {
		if err == nil {
			t.Errorf("%s: no error, want one", name)
		}
	}
	if g, ok := w.Group("g"); !ok || g.Min != 0 || g.Max != 10 || g.Target != 0 || len(w.Machines()) != 0 {
		t.Errorf("group after refused changes = %d:%d target %d, want 0:10 and 0", g.Min, g.Max, g.Target)
	}
	if _, ok := w.Group("x"); ok {
		t.Error("there is a group x")
	}
}

func TestDescriptionsAreCopied(t *testing.T) {
	g := group()
	w := newWorld(t, g)
	g.Templates[0].Node.Labels["changed"] = "by the caller"
	got, _ := w.Group("g")
	got.Templates[0].Node.Labels["changed"] = "too"
	var kept *simulated.Group
	w.update(func(g *simulated.Group) { kept = g })
	kept.Templates[0].Node.Labels["changed"] = "three"
	variants, err := w.group("g").Templates(t.Context())
	if err != nil || variants[0].Node.Labels["changed"] != "" {
		t.Errorf("label = %q, %v; want none", variants[0].Node.Labels["changed"], err)
	}
}

func TestUpdatesOfTemplatesConcernNewMachinesAndTheNextView(t *testing.T) {
	w := newWorld(t, group())
	w.increase(1)
	old := w.group("g")
	w.update(func(g *simulated.Group) { g.Templates = []cloudprovider.TemplateVariant{template("z9")} })
	w.must(w.Next("g", simulated.Fate{}))
	variants, err := old.Templates(t.Context())
	if err != nil || variants[0].Key != "z1" {
		t.Errorf("old view: template %q, %v; want z1", variants[0].Key, err)
	}
	w.increase(1)
	w.wantMachines("simulated:///z1/g-0001 running registered", "simulated:///z9/g-0002 running registered")
	if variants, err = w.group("g").Templates(t.Context()); err != nil || variants[0].Key != "z9" {
		t.Errorf("new view: template %q, %v; want z9", variants[0].Key, err)
	}
}

func TestAViewStaysInForceForTheRefreshInterval(t *testing.T) {
	w := newWorldOf(t, simulated.Options{RefreshInterval: time.Minute}, group())
	w.group("g")
	w.setTarget(2)
	w.to(59 * time.Second)
	if got := w.group("g").State().Target; got != 0 {
		t.Errorf("target after 59 s = %d, want 0", got)
	}
	w.to(time.Minute)
	if got := w.group("g").State().Target; got != 2 {
		t.Errorf("target after a minute = %d, want 2", got)
	}
}

func TestAStateTellsAllThatTheGroupIs(t *testing.T) {
	threshold := 0.7
	g := group()
	g.Min, g.Target = 1, 2
	g.Options.ScaleDownUtilizationThreshold = &threshold
	g.Theoretical, g.Autoprovisioned, g.Suspended = true, true, "launches are suspended"
	got := newWorld(t, g).group("g").State()
	since := start.Add(-time.Hour)
	instance := func(id string) cloudprovider.Instance {
		return cloudprovider.Instance{ID: id, State: cloudprovider.InstanceRunning, Zone: "z1", Type: "four.core", RequestedAt: since}
	}
	want := cloudprovider.GroupState{
		Min: 1, Max: 10, Target: 2,
		Instances:   []cloudprovider.Instance{instance("simulated:///z1/g-0001"), instance("simulated:///z1/g-0002")},
		Options:     cloudprovider.OptionOverrides{ScaleDownUtilizationThreshold: &threshold},
		Theoretical: true, Autoprovisioned: true, Suspended: "launches are suspended", Debug: "g (1:10), target 2, 2 instances",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestAGroupThatWasNeverReadIsLeftOut(t *testing.T) {
	for _, on := range []simulated.Operation{simulated.ReadSize, simulated.ListInstances} {
		b := group()
		b.ID = "b"
		w := newWorld(t, group(), b)
		cause := errors.New("group not found")
		w.Inject(simulated.Fault{On: on, Group: "g", Err: cause})
		w.to(time.Minute)
		if id := w.group("b").ID(); id != "b" || len(w.NodeGroups()) != 1 {
			t.Errorf("%s: %d groups, want b alone", on, len(w.NodeGroups()))
		}
		errs := w.GroupErrors()
		if len(errs) != 1 || errs[0].Group != "g" || !errors.Is(errs[0].Err, cause) || !errs[0].Since.Equal(start.Add(time.Minute)) {
			t.Errorf("%s: GroupErrors = %v, want one about g since a minute after the start", on, errs)
		}
	}
}

func TestGroupErrorsAreInOrderWhateverTheOrderOfGroups(t *testing.T) {
	groups := make([]simulated.Group, 3)
	for i, id := range []cloudprovider.GroupID{"c", "a", "b"} {
		groups[i] = group()
		groups[i].ID = id
	}
	w := newWorld(t, groups...)
	w.Inject(simulated.Fault{On: simulated.ReadSize})
	w.must(w.Refresh(t.Context()))
	var ids []cloudprovider.GroupID
	for _, e := range w.GroupErrors() {
		ids = append(ids, e.Group)
	}
	if diff := cmp.Diff([]cloudprovider.GroupID{"a", "b", "c"}, ids); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAStaleGroupKnowsNothingOfNewMachines(t *testing.T) {
	g := group()
	g.Target = 1
	w := newWorld(t, g)
	w.group("g")
	w.setTarget(2)
	w.Inject(simulated.Fault{On: simulated.ReadSize, Group: "g"})
	for range 2 {
		node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "simulated:///z1/g-0002"}}
		if exists, known := w.InstanceExists(node); exists || known {
			t.Errorf("InstanceExists of a machine after the view = %t, %t; want unknown", exists, known)
		}
		if id, err := w.GroupOf(node); id != "" || err != nil {
			t.Errorf("GroupOf a machine after the view = %q, %v; want none", id, err)
		}
		w.must(w.Refresh(t.Context()))
	}
}

func TestTheNodeOfALostMachineStillBelongsToItsGroup(t *testing.T) {
	g := group()
	g.Target = 1
	w := newWorld(t, g)
	node := w.Nodes()[0]
	w.must(w.Lose(node.Spec.ProviderID))
	w.group("g")
	if exists, known := w.InstanceExists(node); exists || !known {
		t.Errorf("InstanceExists = %t, %t; want known not to exist", exists, known)
	}
	if id, err := w.GroupOf(node); id != "g" || err != nil {
		t.Errorf("GroupOf = %q, %v; want g", id, err)
	}
}

func TestAGroupThatReturnsUnderItsOldNameIsANewOne(t *testing.T) {
	g := group()
	g.Target = 1
	w := newWorld(t, g)
	old := w.group("g")
	w.must(w.RemoveGroup("g"))
	g.Max = 3
	w.must(w.AddGroup(g))
	w.wantMachines("simulated:///z1/g-0002 running registered")
	if got := w.group("g").State(); got.Max != 3 || len(got.Instances) != 1 || got.Instances[0].ID != "simulated:///z1/g-0002" {
		t.Errorf("state = %+v, want that of the new group", got)
	}
	if got := old.State(); got.Max != 10 || got.Instances[0].ID != "simulated:///z1/g-0001" {
		t.Errorf("old state = %+v, want that of the old group", got)
	}
}

func TestTemplatesAreTheOnesOfTheGroupOrNone(t *testing.T) {
	w := newWorld(t, group())
	w.Inject(simulated.Fault{On: simulated.ReadTemplates, Group: "g", Count: 1, Err: &cloudprovider.TransientError{Err: errors.New("404")}})
	g := w.group("g")
	_, err := g.Templates(t.Context())
	if _, ok := errors.AsType[*cloudprovider.TransientError](err); !ok {
		t.Errorf("Templates with a fault: %v, want the TransientError", err)
	}
	if got := len(w.GroupErrors()); got != 0 {
		t.Errorf("%d group errors for a template, want none", got)
	}
	if variants, err := g.Templates(t.Context()); err != nil || len(variants) != 1 || variants[0].Key != "z1" || variants[0].Weight != 1 {
		t.Errorf("Templates = %v, %v; want the one of z1 with weight 1", variants, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Templates(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Templates with a cancelled context: %v, want its error", err)
	}
	w.update(func(g *simulated.Group) { g.WithoutTemplates = true })
	if _, err := w.group("g").Templates(t.Context()); !errors.Is(err, cloudprovider.ErrNoTemplate) {
		t.Errorf("Templates of a group without: %v, want ErrNoTemplate", err)
	}
	w.increase(1)
	w.wantMachines("simulated:///z1/g-0001 running registered")
}

// woken tells whether the loop was woken, and makes ready for the next time.
func woken(c cloudprovider.CloudProvider) bool {
	select {
	case <-c.Changed():
		return true
	default:
		return false
	}
}

func TestTheLoopIsWokenWhenSomethingComesByItself(t *testing.T) {
	g := slow()
	g.Target = 1
	w := newWorldOf(t, simulated.Options{NotifyChanges: true}, g)
	w.Machines()
	woken(w.Cloud)
	w.increase(1)
	w.Machines()
	if woken(w.Cloud) {
		t.Error("woken by a write of our own of which nothing has come yet")
	}
	for _, at := range []time.Duration{10 * time.Second, 30 * time.Second, 35 * time.Second} {
		w.to(at - time.Second)
		w.NextChange()
		if woken(w.Cloud) {
			t.Errorf("woken one second before %s", at)
		}
		w.to(at)
		w.NextChange()
		if !woken(w.Cloud) {
			t.Errorf("not woken at %s", at)
		}
		w.NextChange()
		if woken(w.Cloud) {
			t.Errorf("woken twice at %s", at)
		}
	}
	interfering := map[string]func() error{
		"a foreign resize":  func() error { _, err := w.SetTarget("g", 3); return err },
		"a lost machine":    func() error { return w.Lose("simulated:///z1/g-0001") },
		"new bounds":        func() error { return w.Update("g", func(g *simulated.Group) { g.Max = 20 }) },
		"a removed group":   func() error { return w.RemoveGroup("g") },
		"a group that came": func() error { return w.AddGroup(simulated.Group{ID: "h", Templates: group().Templates}) },
	}
	for _, name := range []string{"a foreign resize", "a lost machine", "new bounds", "a removed group", "a group that came"} {
		w.must(interfering[name]())
		w.NextChange()
		if !woken(w.Cloud) {
			t.Errorf("not woken by %s", name)
		}
	}
}

func TestTheLoopIsWokenByWhatFailsAtOnce(t *testing.T) {
	g := group()
	g.Stock = map[string]int{"": 0}
	w := newWorldOf(t, simulated.Options{NotifyChanges: true}, g)
	w.increase(1)
	woken(w.Cloud)
	w.increase(1)
	w.NextChange()
	if !woken(w.Cloud) {
		t.Error("not woken by a request that failed without delay")
	}
}

func TestACloudThatWasNotAskedWakesNobody(t *testing.T) {
	if newWorld(t, group()).Changed() != nil {
		t.Error("Changed returns a channel, want nil")
	}
}

func TestPlainGroupsHaveNoOptionalAbilities(t *testing.T) {
	g := newWorldOf(t, simulated.Options{PlainGroups: true}, group()).group("g")
	if _, ok := g.(cloudprovider.AtomicIncreaser); ok {
		t.Error("the group grows atomically")
	}
	if _, ok := g.(cloudprovider.ForceDeleter); ok {
		t.Error("the group deletes by force")
	}
	if _, ok := g.(cloudprovider.GroupCreator); ok {
		t.Error("the group can be created")
	}
}

// pod requests as much.
func pod(cpu, memory string) *corev1.Pod {
	requests := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if quantity != "" {
			requests[name] = resource.MustParse(quantity)
		}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}},
	}
}

func TestPodsCostTheCheapestShareOfAMachine(t *testing.T) {
	big, free := group(), group()
	big.ID, free.ID = "big", "free"
	big.PricePerHour = 1 // four times the price for four times the cpu and half the memory
	big.Templates[0].Node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	g := group()
	g.PricePerHour = 0.5
	w := newWorld(t, big, g, free)
	w.must(w.Refresh(t.Context()))
	tests := map[string]struct {
		pod  *corev1.Pod
		want float64 // below zero: none
	}{
		"by cpu on the big one":           {pod("4", ""), 0.25},
		"by memory on the small one":      {pod("1", "8Gi"), 0.25},
		"more than a machine holds":       {pod("32", ""), 2},
		"nothing":                         {pod("", ""), 0},
		"a zero of what nobody offers":    {withRequest(pod("", ""), "vendor/chip", "0"), 0},
		"something that is never offered": {withRequest(pod("", ""), "vendor/chip", "1"), -1},
	}
	for name, test := range tests {
		got, err := w.PodPricePerHour(test.pod)
		if test.want < 0 {
			if err == nil {
				t.Errorf("%s: price %g, want an error", name, got)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%s: price %g, %v; want %g", name, got, err, test.want)
		}
	}
}

func withRequest(pod *corev1.Pod, name corev1.ResourceName, quantity string) *corev1.Pod {
	pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity)
	return pod
}

func TestNodesCostWhatTheirGroupDoes(t *testing.T) {
	free, g := group(), group()
	free.ID = "free"
	free.Target, g.Target, g.PricePerHour = 1, 1, 0.5
	w := newWorld(t, g, free)
	w.must(w.Refresh(t.Context()))
	nodes := w.Nodes()
	if got, err := w.NodePricePerHour(nodes[0]); got != 0.5 || err != nil {
		t.Errorf("price = %g, %v; want 0.5", got, err)
	}
	if got, err := w.NodePricePerHour(nodes[1]); err == nil {
		t.Errorf("price of a group without one = %g, want an error", got)
	}
	if got, err := w.NodePricePerHour(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}); err == nil {
		t.Errorf("price of a stranger = %g, want an error", got)
	}
	if got, err := newWorld(t, free).PodPricePerHour(pod("1", "")); err == nil {
		t.Errorf("price of a pod where nothing has one = %g, want an error", got)
	}
}

func TestAcceleratorsAreThoseOfTheTemplates(t *testing.T) {
	g, h := group(), group()
	h.ID = "h"
	g.Templates[0].Node.Labels["gpu"] = "t4"
	h.Templates = []cloudprovider.TemplateVariant{template("z1"), template("z2"), template("z3")}
	h.Templates[0].Node.Labels["gpu"] = "a100"
	h.Templates[1].Node.Labels["gpu"] = "t4"
	w := newWorldOf(t, simulated.Options{GPULabel: "gpu"}, g, h)
	w.must(w.Refresh(t.Context()))
	if diff := cmp.Diff([]string{"a100", "t4"}, w.GPUTypes()); diff != "" || w.GPULabel() != "gpu" {
		t.Errorf("label %q, types (-want +got):\n%s", w.GPULabel(), diff)
	}
	if got := newWorld(t, group()).GPULabel(); got != simulated.DefaultGPULabel {
		t.Errorf("label by default = %q, want %q", got, simulated.DefaultGPULabel)
	}
}

func TestLimitsOfTheCloudReplaceThoseOfTheFlags(t *testing.T) {
	flags := cloudprovider.ResourceLimits{Min: map[string]int64{"cpu": 1}, Max: map[string]int64{"cpu": 10, "memory": 20}}
	if diff := cmp.Diff(flags, newWorld(t, group()).ResourceLimits(flags)); diff != "" {
		t.Errorf("without own limits (-want +got):\n%s", diff)
	}
	own := &cloudprovider.ResourceLimits{Min: map[string]int64{"cpu": 2}, Max: map[string]int64{"memory": 5, "t4": 1}}
	want := cloudprovider.ResourceLimits{Min: map[string]int64{"cpu": 2}, Max: map[string]int64{"cpu": 10, "memory": 5, "t4": 1}}
	if diff := cmp.Diff(want, newWorldOf(t, simulated.Options{Limits: own}, group()).ResourceLimits(flags)); diff != "" {
		t.Errorf("with own limits (-want +got):\n%s", diff)
	}
}
