package observation_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// What others ask of a source.
var (
	_ act.Lister      = (*observation.Source)(nil)
	_ drain.Workloads = observation.Workloads(nil)
)

// judged sets the PodScheduled condition.
func judged(pod simtest.PodBuilder, status corev1.ConditionStatus, reason string) simtest.PodBuilder {
	return pod.With(func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: status, Reason: reason})
	})
}

func scheduler(pod simtest.PodBuilder, name string) simtest.PodBuilder {
	return pod.With(func(p *corev1.Pod) { p.Spec.SchedulerName = name })
}

func phase(pod simtest.PodBuilder, phase corev1.PodPhase) simtest.PodBuilder {
	return pod.With(func(p *corev1.Pod) { p.Status.Phase = phase })
}

func TestWhatAPodCountsAs(t *testing.T) {
	type kinds struct{ Placed, Unschedulable, Unprocessed, Nominated, Gated bool }
	waiting := simtest.Pod("p").Unschedulable(now)
	bypass := observation.Options{BypassedSchedulers: []string{"volcano"}}
	allow := observation.Options{AllowedSchedulers: []string{"default-scheduler"}}
	gates := observation.Options{Controllers: true}
	gated := judged(simtest.Pod("p"), corev1.ConditionFalse, corev1.PodReasonSchedulingGated)
	tests := map[string]struct {
		pod     simtest.PodBuilder
		options observation.Options
		want    kinds
	}{
		"a pod on a node takes room":                         {pod: simtest.Pod("p").On("n"), want: kinds{Placed: true}},
		"one that is ending, too":                            {pod: simtest.Pod("p").On("n").DeletedAt(now), want: kinds{Placed: true}},
		"but not one that has succeeded":                     {pod: phase(simtest.Pod("p").On("n"), corev1.PodSucceeded)},
		"nor one that has failed":                            {pod: phase(simtest.Pod("p").On("n"), corev1.PodFailed)},
		"SD072: nor one below the cut-off":                   {pod: simtest.Pod("p").On("n").Priority(-11), options: observation.Options{ExpendableCutoff: -10}},
		"one at the cut-off takes room":                      {pod: simtest.Pod("p").On("n").Priority(-10), options: observation.Options{ExpendableCutoff: -10}, want: kinds{Placed: true}},
		"a pod that a scheduler refused waits":               {pod: waiting, want: kinds{Unschedulable: true}},
		"but not one that is ending":                         {pod: waiting.DeletedAt(now)},
		"nor one that has failed in the meantime":            {pod: phase(waiting, corev1.PodFailed)},
		"one that waits for preemption takes room (P02)":     {pod: waiting.Nominated("n"), want: kinds{Placed: true, Nominated: true}},
		"and is nominated even if its node is not there":     {pod: waiting.Nominated("gone"), want: kinds{Nominated: true}},
		"but not when it is ending":                          {pod: waiting.Nominated("n").DeletedAt(now)},
		"but not below the cut-off":                          {pod: waiting.Nominated("n").Priority(-11), options: observation.Options{ExpendableCutoff: -10}},
		"a gated pod is ignored (P01)":                       {pod: gated},
		"unless somebody asks for gated pods":                {pod: gated, options: gates, want: kinds{Gated: true}},
		"but not for pods with gates that are ending":        {pod: gated.DeletedAt(now), options: gates},
		"the name of the scheduler doesn't matter (P03)":     {pod: scheduler(waiting, "volcano"), want: kinds{Unschedulable: true}},
		"a pod that nobody has judged is ignored (P04)":      {pod: scheduler(simtest.Pod("p"), "volcano")},
		"unless its scheduler is bypassed (P04)":             {pod: scheduler(simtest.Pod("p"), "volcano"), options: bypass, want: kinds{Unprocessed: true}},
		"nor if it was refused without a reason":             {pod: judged(scheduler(simtest.Pod("p"), "volcano"), corev1.ConditionFalse, ""), options: bypass, want: kinds{Unprocessed: true}},
		"but if it was refused for a reason of its own":      {pod: judged(scheduler(simtest.Pod("p"), "volcano"), corev1.ConditionFalse, "Quota"), options: bypass},
		"one of a bypassed scheduler that was refused waits": {pod: scheduler(waiting, "volcano"), options: bypass, want: kinds{Unschedulable: true}},
		"a pod of another scheduler than allowed is none":    {pod: scheduler(waiting, "volcano"), options: allow},
		"but on a node it takes room (P16)":                  {pod: scheduler(simtest.Pod("p").On("n"), "volcano"), options: allow, want: kinds{Placed: true}},
		"where it is nominated, too, and waits for nothing":  {pod: scheduler(waiting.Nominated("n"), "volcano"), options: allow, want: kinds{Placed: true}},
		"the default scheduler also goes without a name":     {pod: scheduler(waiting, ""), options: allow, want: kinds{Unschedulable: true}},
		"bypassed, too": {pod: scheduler(simtest.Pod("p"), ""), options: observation.Options{BypassedSchedulers: []string{"default-scheduler"}},
			want: kinds{Unprocessed: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen := observe(t, filled(t, &cloud{}, test.options, simtest.Node("n").Build(), test.pod.Build()))
			got := kinds{
				Placed:        len(seen.Snapshot.Pods("n")) == 1,
				Unschedulable: len(seen.Unschedulable) == 1, Unprocessed: len(seen.Unprocessed) == 1,
				Nominated: len(seen.Nominated) == 1, Gated: len(seen.Gated) == 1,
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestPodsWaitInOrderOfTheirAge(t *testing.T) {
	young := simtest.Pod("a").CreatedAt(now.Add(-time.Minute)).Unschedulable(now)
	old := simtest.Pod("z").CreatedAt(now.Add(-time.Hour)).Unschedulable(now)
	seen := observe(t, filled(t, &cloud{}, observation.Options{},
		young.Build(), simtest.Pod("c").CreatedAt(now.Add(-time.Hour)).Unschedulable(now).Build(), old.Namespace("a").Build(), old.Build()))
	var got []string
	for _, pod := range seen.Unschedulable {
		got = append(got, pod.Namespace+"/"+pod.Name)
	}
	if diff := cmp.Diff([]string{"a/z", "default/c", "default/z", "default/a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestControllersAreListedIfSomebodyAsks(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	objects := []runtime.Object{
		&appsv1.ReplicaSet{ObjectMeta: meta("b")}, &appsv1.ReplicaSet{ObjectMeta: meta("a")},
		&appsv1.StatefulSet{ObjectMeta: meta("s")}, &batchv1.Job{ObjectMeta: meta("j")},
	}
	for _, asked := range []bool{false, true} {
		var want [3][]string
		if asked {
			want = [3][]string{{"a", "b"}, {"s"}, {"j"}}
		}
		source := filled(t, &cloud{}, observation.Options{Controllers: asked}, objects...)
		of := observe(t, source).Controllers
		if diff := cmp.Diff(want, [3][]string{names(of.ReplicaSets), names(of.StatefulSets), names(of.Jobs)}); diff != "" {
			t.Errorf("asked %t (-want +got):\n%s", asked, diff)
		}
		source.Deny("jobs.batch", errors.New("denied"))
		if of := observe(t, source).Controllers; len(of.Jobs) > 0 || len(of.ReplicaSets) != len(want[0]) {
			t.Errorf("asked %t: %d Jobs that cannot be read and %d ReplicaSets are listed", asked, len(of.Jobs), len(of.ReplicaSets))
		}
	}
}

func TestANodeThatIsNotReadyForWorkIsShownAsNotReady(t *testing.T) {
	startup := observation.Options{Taints: taints.Rules{StartupKeys: []string{"agent"}}}
	tests := map[string]struct {
		node    simtest.NodeBuilder
		options observation.Options
		plain   bool // the cloud knows no accelerators
		want    string
	}{
		"its device is missing":      {node: simtest.Node("n").Label("test/gpu", "k80"), want: readiness.ReasonResourceNotReady},
		"its device is there":        {node: simtest.Node("n").Label("test/gpu", "k80").Resource("nvidia.com/gpu", "1")},
		"the cloud knows no devices": {node: simtest.Node("n").Label("test/gpu", "k80"), plain: true},
		"it carries a startup taint": {node: simtest.Node("n").Taint("agent", "", corev1.TaintEffectNoSchedule), options: startup, want: readiness.ReasonStartupTaint},
		"it carries any other taint": {node: simtest.Node("n").Taint("other", "", corev1.TaintEffectNoSchedule), options: startup},
		"device and taint: the device goes first": {node: simtest.Node("n").Label("test/gpu", "k80").Taint("agent", "", corev1.TaintEffectNoSchedule),
			options: startup, want: readiness.ReasonResourceNotReady},
		"it is cordoned: nobody expects work of it": {node: simtest.Node("n").Label("test/gpu", "k80").Cordoned()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var c cloudprovider.CloudProvider = ableCloud{cloud: &cloud{}}
			if test.plain {
				c = &cloud{}
			}
			node := test.node.Build()
			before := node.DeepCopy()
			seen := observe(t, filled(t, c, test.options, node))
			got := readiness.Of(seen.Nodes[0])
			if got.Ready != (test.want == "") || !got.Ready && got.Reason != test.want {
				t.Errorf("ready is %t because of %q, want %q", got.Ready, got.Reason, test.want)
			}
			if diff := cmp.Diff(before, node); diff != "" {
				t.Errorf("the object in the store was changed:\n%s", diff)
			}
			if shown, _ := seen.Snapshot.Node("n"); shown != seen.Nodes[0] {
				t.Error("the snapshot shows another node than the list")
			}
		})
	}
}

func TestANodeThatIsNotReadyAnywayKeepsItsOwnReason(t *testing.T) {
	node := simtest.Node("n").Label("test/gpu", "k80").NotReady(now).Build()
	seen := observe(t, filled(t, ableCloud{cloud: &cloud{}}, observation.Options{}, node))
	if seen.Nodes[0] != node {
		t.Error("the node was replaced")
	}
}

func TestNodesAreListedByName(t *testing.T) {
	seen := observe(t, filled(t, &cloud{}, observation.Options{},
		simtest.Node("c").Build(), simtest.Node("a").Build(), simtest.Node("b").Build()))
	if diff := cmp.Diff([]string{"a", "b", "c"}, names(seen.Nodes)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Case C09: what cannot be learnt about one group stays with that group.
func TestTheTroubleOfAGroupStaysWithIt(t *testing.T) {
	provision, threshold := time.Hour, 0.7
	fresh := cloudprovider.TemplateVariant{Key: "default", Node: simtest.Node("fresh").Build()}
	whole := nodeGroup{id: "whole", variants: []cloudprovider.TemplateVariant{fresh}, state: cloudprovider.GroupState{
		Min: 1, Max: 5, Target: 2, Instances: []cloudprovider.Instance{{ID: "test:///w-1"}},
		Options: cloudprovider.OptionOverrides{MaxNodeProvisionTime: &provision, ScaleDownUtilizationThreshold: &threshold},
	}}
	stale, broken := errors.New("size unreadable"), errors.New("no launch template")
	c := &cloud{
		groups: []cloudprovider.NodeGroup{
			nodeGroup{id: "stale", state: cloudprovider.GroupState{Max: 3, Target: 1}, templateErr: cloudprovider.ErrNoTemplate},
			whole,
			nodeGroup{id: "broken", state: cloudprovider.GroupState{Max: 3}, templateErr: broken},
		},
		groupErrors: []cloudprovider.GroupError{{Group: "lost", Err: errors.New("not found"), Since: now}, {Group: "stale", Err: stale, Since: now}},
	}
	defaults := observation.GroupOptions{MaxNodeProvisionTime: 15 * time.Minute, MaxNodeStartupTime: 10 * time.Minute, ScaleDownUtilizationThreshold: 0.5}
	seen := observe(t, filled(t, c, observation.Options{GroupDefaults: defaults}))

	overridden := defaults
	overridden.MaxNodeProvisionTime, overridden.ScaleDownUtilizationThreshold = provision, threshold
	want := []observation.Group{
		{ID: "stale", GroupState: cloudprovider.GroupState{Max: 3, Target: 1}, Options: defaults, Stale: stale},
		{ID: "whole", GroupState: whole.state, Options: overridden, Variants: whole.variants},
		{ID: "broken", GroupState: cloudprovider.GroupState{Max: 3}, Options: defaults, TemplateErr: broken},
	}
	if diff := cmp.Diff(want, seen.Groups, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.groupErrors, seen.GroupErrors, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if group, ok := seen.GroupOf("whole"); !ok || group.ID != "whole" {
		t.Error("a group is not found by its id")
	}
	if _, ok := seen.GroupOf("lost"); ok {
		t.Error("a group that could not be described is found")
	}
}

func TestEveryOptionOfAGroupCanBeOverridden(t *testing.T) {
	share, d, yes := 0.9, 7*time.Minute, true
	all := cloudprovider.OptionOverrides{
		ScaleDownUtilizationThreshold: &share, ScaleDownGPUUtilizationThreshold: &share, ScaleDownUnneededTime: &d, ScaleDownUnreadyTime: &d,
		MaxNodeProvisionTime: &d, MaxNodeStartupTime: &d, IgnoreDaemonSetsUtilization: &yes, ZeroOrMaxNodeScaling: &yes, AllowNonAtomicScaleUpToMax: &yes,
	}
	want := observation.GroupOptions{
		ScaleDownUtilizationThreshold: share, ScaleDownGPUUtilizationThreshold: share, ScaleDownUnneededTime: d, ScaleDownUnreadyTime: d,
		MaxNodeProvisionTime: d, MaxNodeStartupTime: d, IgnoreDaemonSetsUtilization: true, ZeroOrMaxNodeScaling: true, AllowNonAtomicScaleUpToMax: true,
	}
	if diff := cmp.Diff(want, observation.GroupOptions{}.Override(all)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want, want.Override(cloudprovider.OptionOverrides{})); diff != "" {
		t.Errorf("nothing overridden (-want +got):\n%s", diff)
	}
}

func TestWhoseNodeItIs(t *testing.T) {
	tagged := simtest.Node("tagged").Taint(taints.ToBeDeleted, "1", corev1.TaintEffectNoSchedule)
	unknown := errors.New("instance not listed yet")
	groupOf := func(node *corev1.Node) (cloudprovider.GroupID, error) {
		switch node.Name {
		case "stranger":
			return "", nil
		case "unknown", "unknown-too":
			return "", unknown
		default:
			return "g", nil
		}
	}
	objects := []runtime.Object{
		simtest.Node("unknown-too").Build(), simtest.Node("member").Build(), simtest.Node("stranger").Build(), simtest.Node("unknown").Build(), tagged.Build(),
	}
	c := &cloud{groupOf: groupOf}
	seen := observe(t, filled(t, c, observation.Options{}, objects...))
	if diff := cmp.Diff(map[string]cloudprovider.GroupID{"member": "g", "tagged": "g"}, seen.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	want := []observation.UnknownNode{{Node: "unknown", Err: unknown}, {Node: "unknown-too", Err: unknown}}
	if diff := cmp.Diff(want, seen.Unknown, cmpopts.EquateErrors()); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

// Cases S22 and S23.
func TestWhenAMachineIsGone(t *testing.T) {
	plain := simtest.Node("n")
	tagged := plain.Taint(taints.ToBeDeleted, "1", corev1.TaintEffectNoSchedule)
	tests := map[string]struct {
		node          simtest.NodeBuilder
		exists, known bool
		unable        bool // the cloud cannot tell of any machine
		want          bool
	}{
		"the cloud says that it exists":                           {node: plain, exists: true, known: true},
		"the cloud says that it does not":                         {node: plain, known: true, want: true},
		"the cloud says that it exists, although it is tainted":   {node: tagged, exists: true, known: true},
		"the cloud does not know and it is tainted":               {node: tagged, exists: true, want: true},
		"the cloud does not know and it is not tainted":           {node: plain},
		"the cloud cannot tell of any machine, and it is tainted": {node: tagged, unable: true, want: true},
		"the cloud cannot tell of any machine, nor is it tainted": {node: plain, unable: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var c cloudprovider.CloudProvider = ableCloud{
				cloud: &cloud{}, exists: map[string]bool{"n": test.exists}, known: map[string]bool{"n": test.known},
			}
			if test.unable {
				c = &cloud{}
			}
			if got := observe(t, filled(t, c, observation.Options{}, test.node.Build())).Gone["n"]; got != test.want {
				t.Errorf("gone is %t, want %t", got, test.want)
			}
		})
	}
}

func TestWhatElseTheCloudHasToSay(t *testing.T) {
	options := observation.Options{Limits: cloudprovider.ResourceLimits{Max: map[string]int64{"cpu": 10}}}
	seen := observe(t, filled(t, ableCloud{cloud: &cloud{}}, options))
	if seen.GPULabel != "test/gpu" || seen.Limits.Max["cpu"] != 20 {
		t.Errorf("label %q, limits %v; want those of the cloud", seen.GPULabel, seen.Limits)
	}
	if !slices.Equal(seen.BookkeepingLabels, []string{"test/pool"}) {
		t.Errorf("labels that do not count: %v; want those of the cloud", seen.BookkeepingLabels)
	}
	seen = observe(t, filled(t, &cloud{}, options))
	if seen.GPULabel != "" || seen.Limits.Max["cpu"] != 10 {
		t.Errorf("label %q, limits %v; want none and those of the flags", seen.GPULabel, seen.Limits)
	}
}

func TestWithoutACloudThereIsNothingToDecideOn(t *testing.T) {
	cause := errors.New("no credentials")
	c := &cloud{refreshErr: cause}
	if _, err := filled(t, c, observation.Options{}).Observe(t.Context(), now, nil); !errors.Is(err, cause) {
		t.Errorf("error %v, want that of the cloud", err)
	}
	c.refreshErr = nil
	source := newSource(t, c, observation.Options{})
	if _, err := source.Observe(t.Context(), now, nil); err == nil {
		t.Error("a source that has read nothing observes something")
	}
	if c.refreshes != 1 {
		t.Errorf("the cloud was asked %d times, want it left alone while there is nothing to observe", c.refreshes)
	}
}

func TestDeletionsAndTimeAreThoseOfTheCaller(t *testing.T) {
	deletions := []observation.Deletion{{Node: "n", Group: "g", Drain: true, Since: now}}
	seen, err := filled(t, &cloud{}, observation.Options{}).Observe(t.Context(), now, deletions)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(deletions, seen.Deletions); diff != "" || !seen.At.Equal(now) {
		t.Errorf("at %s; deletions (-want +got):\n%s", seen.At, diff)
	}
}

func TestTheSnapshotFollowsTheCluster(t *testing.T) {
	source := filled(t, &cloud{}, observation.Options{}, simtest.Node("n").Build(), simtest.Pod("p").On("n").Build(),
		&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	first := observe(t, source)
	if first.Snapshot.CSINode("n") == nil {
		t.Error("the snapshot does not know the volume limits of the node")
	}
	more := simtest.Pod("q").On("n").Build()
	if err := storeOf(t, source, more).Add(more); err != nil {
		t.Fatal(err)
	}
	second := observe(t, source)
	if diff := cmp.Diff([]string{"p", "q"}, names(second.Snapshot.Pods("n"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if first.Snapshot != second.Snapshot {
		t.Error("a second iteration copies the cluster")
	}
}

func TestControllersAndBudgetsAreListedByName(t *testing.T) {
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	seen := observe(t, filled(t, &cloud{}, observation.Options{},
		&appsv1.DaemonSet{ObjectMeta: meta("b", "a")}, &appsv1.DaemonSet{ObjectMeta: meta("a", "b")}, &appsv1.DaemonSet{ObjectMeta: meta("a", "a")},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta("b", "x")}, &policyv1.PodDisruptionBudget{ObjectMeta: meta("a", "y")}))
	var got []string
	for _, set := range seen.DaemonSets {
		got = append(got, set.Namespace+"/"+set.Name)
	}
	if diff := cmp.Diff([]string{"a/a", "a/b", "b/a"}, got); diff != "" {
		t.Errorf("DaemonSets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"y", "x"}, names(seen.PodDisruptionBudgets)); diff != "" {
		t.Errorf("PodDisruptionBudgets (-want +got):\n%s", diff)
	}
}

func TestControllersAreLookedUp(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "there"}
	source := filled(t, &cloud{}, observation.Options{},
		&corev1.ReplicationController{ObjectMeta: meta}, &appsv1.ReplicaSet{ObjectMeta: meta}, &appsv1.StatefulSet{ObjectMeta: meta},
		&appsv1.DaemonSet{ObjectMeta: meta}, &batchv1.Job{ObjectMeta: meta})
	unread := newSource(t, &cloud{}, observation.Options{})
	lookUps := map[string]func(observation.Workloads, string) (bool, error){
		"ReplicationController": func(w observation.Workloads, name string) (bool, error) {
			object, ok, err := w.ReplicationController("default", name)
			return ok && object.Name == name, err
		},
		"ReplicaSet": func(w observation.Workloads, name string) (bool, error) {
			object, ok, err := w.ReplicaSet("default", name)
			return ok && object.Name == name, err
		},
		"StatefulSet": func(w observation.Workloads, name string) (bool, error) {
			object, ok, err := w.StatefulSet("default", name)
			return ok && object.Name == name, err
		},
		"DaemonSet": func(w observation.Workloads, name string) (bool, error) {
			object, ok, err := w.DaemonSet("default", name)
			return ok && object.Name == name, err
		},
		"Job": func(w observation.Workloads, name string) (bool, error) {
			object, ok, err := w.Job("default", name)
			return ok && object.Name == name, err
		},
	}
	for kind, lookUp := range lookUps {
		t.Run(kind, func(t *testing.T) {
			if ok, err := lookUp(source.Workloads(), "there"); !ok || err != nil {
				t.Errorf("one that exists: %t, %v", ok, err)
			}
			if ok, err := lookUp(source.Workloads(), "gone"); ok || err != nil {
				t.Errorf("one that does not exist: %t, %v; want neither it nor an error", ok, err)
			}
			if ok, err := lookUp(unread.Workloads(), "there"); ok || err == nil {
				t.Errorf("where nothing can be read: %t, %v; want an error", ok, err)
			}
		})
	}
}

func TestPodsAreListedForAct(t *testing.T) {
	web := simtest.Pod("web").Label("app", "web").On("n")
	source := filled(t, &cloud{}, observation.Options{}, simtest.Node("n").Build(),
		web.Build(), simtest.Pod("db").Label("app", "db").On("n").Build(), simtest.Pod("ended").Label("app", "web").On("n").With(func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodSucceeded
		}).Build(), simtest.Pod("elsewhere").Label("app", "web").On("m").Build(), web.Namespace("other").Build(), simtest.Pod("waiting").Build())

	on, err := source.Pods("n")
	if diff := cmp.Diff([]string{"db", "web", "web"}, names(on)); diff != "" || err != nil {
		t.Errorf("on the node: %v (-want +got):\n%s", err, diff)
	}
	if on, err := source.Pods("none"); len(on) > 0 || err != nil {
		t.Errorf("on a node that does not exist: %v, %v", names(on), err)
	}
	matching, err := source.PodsMatching("default", labels.SelectorFromSet(labels.Set{"app": "web"}))
	if diff := cmp.Diff([]string{"elsewhere", "web"}, names(matching)); diff != "" || err != nil {
		t.Errorf("matching: %v (-want +got):\n%s", err, diff)
	}
	if node, ok := source.Node("n"); !ok || node.Name != "n" {
		t.Error("a node is not found")
	}
	if _, ok := source.Node("m"); ok {
		t.Error("a node is found that does not exist")
	}
}

func TestBudgetsThatCannotBeReadAreAnError(t *testing.T) {
	source := newSource(t, &cloud{}, observation.Options{})
	if _, err := source.PodDisruptionBudgets(); err == nil {
		t.Error("nothing was read, and there is no error")
	}
}

func TestANodeWaitsForTheDriversThatItsGroupHas(t *testing.T) {
	csi := func(name string, drivers ...string) *storagev1.CSINode {
		out := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, driver := range drivers {
			out.Spec.Drivers = append(out.Spec.Drivers, storagev1.CSINodeDriver{Name: driver})
		}
		return out
	}
	variant := func(described *storagev1.CSINode) cloudprovider.TemplateVariant {
		return cloudprovider.TemplateVariant{Node: simtest.Node("t").Build(), CSINode: described}
	}
	full := []cloudprovider.TemplateVariant{variant(csi("t", "disk", "file"))}
	node := simtest.Node("n")
	for name, tc := range map[string]struct {
		node     simtest.NodeBuilder
		csi      *storagev1.CSINode
		variants []cloudprovider.TemplateVariant
		off      bool // nobody asks for that
		overridden,
		foreign bool // belongs to no group
	}{
		"all are there":                           {node: node, csi: csi("n", "file", "disk", "more"), variants: full},
		"one is missing":                          {node: node, csi: csi("n", "disk"), variants: full, overridden: true},
		"one is missing, but that is not asked":   {node: node, csi: csi("n", "disk"), variants: full, off: true},
		"the node has no CSINode":                 {node: node, variants: full},
		"the template has none":                   {node: node, csi: csi("n"), variants: []cloudprovider.TemplateVariant{variant(nil)}},
		"the group has no template":               {node: node, csi: csi("n")},
		"the node belongs to no group":            {node: node, csi: csi("n"), variants: full, foreign: true},
		"it has all of one of the variants":       {node: node, csi: csi("n", "disk"), variants: append(full, variant(nil), variant(csi("u", "disk")))},
		"it is cordoned: nobody expects anything": {node: node.Cordoned(), csi: csi("n", "disk"), variants: full},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cloud{groups: []cloudprovider.NodeGroup{nodeGroup{id: "g", variants: tc.variants}}}
			c.groupOf = func(*corev1.Node) (cloudprovider.GroupID, error) {
				if tc.foreign {
					return "", nil
				}
				return "g", nil
			}
			objects := []runtime.Object{tc.node.Build()}
			if tc.csi != nil {
				objects = append(objects, tc.csi)
			}
			source := filled(t, c, observation.Options{AwaitDrivers: !tc.off}, objects...)
			for range 2 { // what one observation does must not show in the next
				r := readiness.Of(observe(t, source).Nodes[0])
				if overridden := r.Reason == readiness.ReasonResourceNotReady && !r.Ready; overridden != tc.overridden {
					t.Errorf("the node is ready: %t, reason %q; want it overridden: %t", r.Ready, r.Reason, tc.overridden)
				}
			}
			if tc.overridden {
				whole := csi("n", "disk", "file")
				if err := storeOf(t, source, whole).Update(whole); err != nil {
					t.Fatal(err)
				}
				if r := readiness.Of(observe(t, source).Nodes[0]); !r.Ready {
					t.Errorf("the node is still not ready: %s", r.Reason)
				}
			}
		})
	}
}
