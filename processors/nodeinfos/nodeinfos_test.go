package nodeinfos_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

const group cloudprovider.GroupID = "g"

var (
	now     = simtest.Epoch.Add(time.Hour)
	forever = config.Templates{NodeInfoCacheExpireTime: 87600 * time.Hour}
)

// world builds an In of one group whose nodes are those given.
type world struct {
	nodes    []simtest.NodeBuilder
	pods     []*corev1.Pod
	csi      []*storagev1.CSINode
	sets     []*appsv1.DaemonSet
	variants []cloudprovider.TemplateVariant
	err      error
	learnt   []nodeinfos.LearntTemplate
	options  config.Templates
	at       time.Time
}

func (w world) in(t *testing.T) nodeinfos.In {
	t.Helper()
	in := nodeinfos.In{
		At: w.at, Groups: []observation.Group{{ID: group, Variants: w.variants, TemplateErr: w.err}}, Members: map[string]cloudprovider.GroupID{},
		DaemonSets: w.sets, Learnt: w.learnt, Options: w.options,
	}
	if in.At.IsZero() {
		in.At = now
	}
	if in.Options.NodeInfoCacheExpireTime == 0 {
		in.Options.NodeInfoCacheExpireTime = forever.NodeInfoCacheExpireTime
	}
	for _, b := range w.nodes {
		node := b.Build()
		in.Nodes = append(in.Nodes, node)
		in.Members[node.Name] = group
	}
	in.Snapshot = simulator.NewSnapshot()
	if _, err := in.Snapshot.Sync(simulator.Cluster{Nodes: in.Nodes, Pods: w.pods, CSINodes: w.csi}); err != nil {
		t.Fatal(err)
	}
	return in
}

func (w world) build(t *testing.T) nodeinfos.Template {
	t.Helper()
	return nodeinfos.Build(w.in(t)).Templates[group]
}

// marked is a node whose label "from" tells afterwards where a template came from.
func marked(name string) simtest.NodeBuilder { return simtest.Node(name).Label("from", name) }

func cloudVariant(key string, node simtest.NodeBuilder) cloudprovider.TemplateVariant {
	return cloudprovider.TemplateVariant{Key: key, Node: node.Build(), Promise: cloudprovider.PromiseCertain}
}

func learntFrom(name string, at time.Time) []nodeinfos.LearntTemplate {
	return []nodeinfos.LearntTemplate{{Group: group, At: at, Template: simulator.NodeTemplate{Node: marked(name).Build()}}}
}

func TestTheSourceOfATemplate(t *testing.T) {
	fresh := now.Add(-40 * time.Second)
	described := []cloudprovider.TemplateVariant{cloudVariant("", marked("cloud"))}
	type source struct {
		From   string
		Source nodeinfos.Source
	}
	for name, tc := range map[string]struct {
		world
		want source
		err  string
	}{
		"T01: a node that is ready for minutes is the best example": {
			world: world{nodes: []simtest.NodeBuilder{marked("n")}, variants: described}, want: source{"n", nodeinfos.LiveNode},
		},
		"T02: a node that is ready for 40 seconds is not": {
			world: world{nodes: []simtest.NodeBuilder{marked("n").Condition(corev1.NodeReady, corev1.ConditionTrue, fresh)}, variants: described},
			want:  source{"cloud", nodeinfos.Cloud},
		},
		"a node that is ready for exactly a minute is not": {
			world: world{
				nodes:    []simtest.NodeBuilder{marked("n").Condition(corev1.NodeReady, corev1.ConditionTrue, now.Add(-time.Minute))},
				variants: described,
			},
			want: source{"cloud", nodeinfos.Cloud},
		},
		"T03: an unready node is better than nothing": {
			world: world{nodes: []simtest.NodeBuilder{marked("n").NotReady(fresh)}}, want: source{"n", nodeinfos.LastResort},
		},
		"T04: what was learnt of the group is better than what the cloud says": {
			world: world{variants: described, learnt: learntFrom("old", now.Add(-time.Hour))}, want: source{"old", nodeinfos.Learnt},
		},
		"T05: unless it is too old": {
			world: world{
				variants: described, learnt: learntFrom("old", now.Add(-time.Hour)),
				options: config.Templates{NodeInfoCacheExpireTime: 30 * time.Minute},
			},
			want: source{"cloud", nodeinfos.Cloud},
		},
		"T06: a node being removed is better than nothing": {
			world: world{
				nodes: []simtest.NodeBuilder{marked("n").Taint(taints.ToBeDeleted, "1", corev1.TaintEffectNoSchedule)}, err: errors.New("throttled"),
			},
			want: source{"n", nodeinfos.LastResort},
		},
		"a cordoned node is no good example": {
			world: world{nodes: []simtest.NodeBuilder{marked("n").Cordoned()}, variants: described}, want: source{"cloud", nodeinfos.Cloud},
		},
		"the first node by name is the example": {
			world: world{nodes: []simtest.NodeBuilder{marked("a"), marked("b")}}, want: source{"a", nodeinfos.LiveNode},
		},
		"a node of another machine type says nothing about the machines to come": {
			world: world{
				nodes:    []simtest.NodeBuilder{marked("n").Label(corev1.LabelInstanceTypeStable, "small")},
				variants: []cloudprovider.TemplateVariant{cloudVariant("", marked("cloud").Label(corev1.LabelInstanceTypeStable, "large"))},
			},
			want: source{"cloud", nodeinfos.Cloud},
		},
		"nothing is known": {err: "does not describe it"},
		"the cloud's error is told": {
			world: world{err: errors.New("no such launch template")}, err: "no such launch template",
		},
		"a description without node is an error of that group": {
			world: world{variants: []cloudprovider.TemplateVariant{{Key: "x"}}}, err: `variant "x" has no node`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.build(t)
			if tc.err != "" {
				if got.Err == nil || !strings.Contains(got.Err.Error(), tc.err) || len(got.Variants) > 0 {
					t.Fatalf("got %d variants and error %v, want an error about %q", len(got.Variants), got.Err, tc.err)
				}
				return
			}
			if got.Err != nil || len(got.Variants) != 1 {
				t.Fatalf("got %d variants, error %v; want one", len(got.Variants), got.Err)
			}
			v := got.Variants[0]
			if diff := cmp.Diff(tc.want, source{v.Node.Labels["from"], v.Source}); diff != "" {
				t.Error(diff)
			}
			if v.Weight != 1 || got.Weight() != 1 {
				t.Errorf("it weighs %d, want 1", v.Weight)
			}
			if _, leaving := taints.Find(v.Node, taints.ToBeDeleted); leaving {
				t.Error("the deletion taint stayed")
			}
		})
	}
}

func TestTaintsOfATemplate(t *testing.T) {
	node := marked("n").NotReady(now).
		Taint("dedicated", "x", corev1.TaintEffectNoSchedule).
		Taint(corev1.TaintNodeUnreachable, "", corev1.TaintEffectNoExecute).
		Taint(corev1.TaintNodeOutOfService, "", corev1.TaintEffectNoExecute).
		Taint(taints.DeletionCandidate, "1", corev1.TaintEffectPreferNoSchedule).
		Taint(taints.StatusPrefix+"u", "", corev1.TaintEffectNoSchedule).
		Taint(taints.StartupPrefix+"s", "", corev1.TaintEffectNoSchedule).
		Taint("vendor/agent", "", corev1.TaintEffectNoSchedule).
		Taint("vendor/prefix-1", "", corev1.TaintEffectNoSchedule).
		Taint("vendor/status", "", corev1.TaintEffectNoSchedule)
	got := world{nodes: []simtest.NodeBuilder{node}, options: config.Templates{
		StartupTaints: []string{"vendor/agent"}, StartupTaintPrefixes: []string{"vendor/prefix-"}, StatusTaints: []string{"vendor/status"},
	}}.build(t)
	var keys []string
	for _, taint := range got.Variants[0].Node.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	if diff := cmp.Diff([]string{"dedicated", corev1.TaintNodeOutOfService}, keys); diff != "" {
		t.Error(diff)
	}
}

func TestACordonedLastResort(t *testing.T) {
	for ignore, want := range map[bool]bool{false: true, true: false} {
		got := world{nodes: []simtest.NodeBuilder{marked("n").Cordoned()}, options: config.Templates{FromUnschedulable: ignore}}.build(t)
		if got.Variants[0].Node.Spec.Unschedulable != want {
			t.Errorf("with --scale-from-unschedulable=%v the template is cordoned: %v", ignore, !want)
		}
	}
}

func daemonSet(name string, change func(*corev1.PodSpec)) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID("DaemonSet-" + name)}}
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main"}}
	if change != nil {
		change(&set.Spec.Template.Spec)
	}
	return set
}

func TestPodsOfATemplate(t *testing.T) {
	critical := func(s *corev1.PodSpec) { s.PriorityClassName = "system-node-critical" }
	never := corev1.PreemptNever
	tolerating := func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}}
	}
	a, b := daemonSet("a", nil), daemonSet("b", nil)
	podOfA := simtest.Pod("a-1").DaemonSet("a").On("n").Build()
	live := []simtest.NodeBuilder{marked("n")}
	for name, tc := range map[string]struct {
		world
		want []string // controller, else first letters of the name
	}{
		"T08: a set that runs is taken over, one that does not is not missed": {
			world: world{nodes: live, pods: []*corev1.Pod{podOfA}, sets: []*appsv1.DaemonSet{a, b}}, want: []string{"a"},
		},
		"T09: with --force-ds it is added": {
			world: world{nodes: live, pods: []*corev1.Pod{podOfA}, sets: []*appsv1.DaemonSet{a, b}, options: config.Templates{ForceDaemonSets: true}},
			want:  []string{"a", "b"},
		},
		"T10: one that pushes others out is added": {
			world: world{nodes: live, pods: []*corev1.Pod{podOfA}, sets: []*appsv1.DaemonSet{a, daemonSet("b", critical)}}, want: []string{"a", "b"},
		},
		"T11: a pod that ends is not taken over": {
			world: world{nodes: live, pods: []*corev1.Pod{simtest.Pod("a-1").DaemonSet("a").DeletedAt(now).On("n").Build()}, sets: []*appsv1.DaemonSet{a}},
		},
		"T12: a mirror pod is taken over, one of a ReplicaSet is not": {
			world: world{nodes: live, pods: []*corev1.Pod{
				simtest.Pod("mirror").Mirror().On("n").Build(), simtest.Pod("web").OwnedBy("ReplicaSet", "web").On("n").Build(),
			}},
			want: []string{"mirror"},
		},
		"T15: on the cloud's template every set runs that tolerates and selects it": {
			world: world{
				variants: []cloudprovider.TemplateVariant{cloudVariant("", marked("cloud").Taint("x", "", corev1.TaintEffectNoSchedule))},
				sets: []*appsv1.DaemonSet{daemonSet("a", tolerating), b, daemonSet("c", func(s *corev1.PodSpec) {
					tolerating(s)
					s.NodeSelector = map[string]string{"other": "x"}
				})},
			},
			want: []string{"a"},
		},
		"T16: annotated as a DaemonSet's is enough, static without mirror is not; polite and less critical sets are not added": {
			world: world{
				nodes: live,
				pods: []*corev1.Pod{
					simtest.Pod("annotated").OwnedBy("ReplicaSet", "web").Annotation("cluster-autoscaler.kubernetes.io/daemonset-pod", "true").On("n").Build(),
					simtest.Pod("static").Annotation("kubernetes.io/config.source", "file").On("n").Build(),
				},
				sets: []*appsv1.DaemonSet{
					daemonSet("cluster", func(s *corev1.PodSpec) { s.PriorityClassName = "system-cluster-critical" }),
					daemonSet("polite", func(s *corev1.PodSpec) { critical(s); s.PreemptionPolicy = &never }),
				},
			},
			want: []string{"web"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, pod := range tc.build(t).Variants[0].Pods {
				name := strings.Split(pod.Name, "-")[0]
				if owner := metav1.GetControllerOf(pod); owner != nil {
					name = owner.Name
				}
				got = append(got, name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOldLabelsAreAddedToTheCloudsTemplateOnly(t *testing.T) {
	node := marked("n").Zone("r-1a").Label(corev1.LabelInstanceTypeStable, "m").Label(corev1.LabelTopologyRegion, "r-1")
	old := []string{corev1.LabelInstanceType, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion}
	for _, key := range old {
		if got := (world{variants: []cloudprovider.TemplateVariant{cloudVariant("", node)}}).build(t).Variants[0].Node.Labels[key]; got == "" {
			t.Errorf("the cloud's template lacks %s", key)
		}
		if got := (world{nodes: []simtest.NodeBuilder{node}}).build(t).Variants[0].Node.Labels[key]; got != "" {
			t.Errorf("the template of a live node has %s=%s", key, got)
		}
	}
}

func TestResourcesThatOnlyTheCloudKnowsAreAdded(t *testing.T) {
	// The device plug-in has not reported yet (C31), and an operator's tag names a resource that no node has.
	described := cloudVariant("", marked("cloud").CPU("8").Resource("nvidia.com/gpu", "1").Resource("example.com/widget", "3"))
	for name, tc := range map[string]world{
		"live":   {nodes: []simtest.NodeBuilder{marked("n").CPU("4")}},
		"learnt": {learnt: []nodeinfos.LearntTemplate{{Group: group, At: now, Template: simulator.NodeTemplate{Node: marked("n").CPU("4").Build()}}}},
	} {
		tc.variants = []cloudprovider.TemplateVariant{described}
		in := tc.in(t)
		node := nodeinfos.Build(in).Templates[group].Variants[0].Node
		for _, list := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
			if cpu := list.Cpu().Value(); cpu != 4 {
				t.Errorf("%s: what the node shows was overwritten: %d CPUs", name, cpu)
			}
			for key, want := range map[corev1.ResourceName]int64{"nvidia.com/gpu": 1, "example.com/widget": 3} {
				if got := list[key]; got.Value() != want {
					t.Errorf("%s: %s is %v, want %d", name, key, &got, want)
				}
			}
		}
		for _, live := range in.Nodes {
			if _, changed := live.Status.Capacity["nvidia.com/gpu"]; changed {
				t.Error("the live node was changed")
			}
		}
	}
}

func TestALiveNodeCorrectsItsVariantAndNarrowsNothing(t *testing.T) {
	a, b := marked("cloud-a").Zone("r-1a").CPU("8"), marked("cloud-b").Zone("r-1b").CPU("8")
	got := world{
		nodes: []simtest.NodeBuilder{marked("n").Zone("r-1b").CPU("7500m")},
		variants: []cloudprovider.TemplateVariant{
			cloudVariant("r-1b", b), {Key: "r-1a", Node: a.Build(), Weight: 2, Promise: cloudprovider.PromisePossible},
		},
	}.build(t)
	type variant struct {
		Key, From string
		Source    nodeinfos.Source
		Weight    int
		Promise   cloudprovider.Promise
	}
	var found []variant
	for _, v := range got.Variants {
		found = append(found, variant{v.Key, v.Node.Labels["from"], v.Source, v.Weight, v.Promise})
	}
	want := []variant{ // the zone without nodes comes first
		{"r-1a", "cloud-a", nodeinfos.Cloud, 2, cloudprovider.PromisePossible},
		{"r-1b", "n", nodeinfos.LiveNode, 1, cloudprovider.PromiseCertain},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if got.Weight() != 1 {
		t.Errorf("a node weighs at least %d, want 1", got.Weight())
	}
}

func TestWithoutTheCloudVariantsAreWhatNodesHaveShown(t *testing.T) {
	first := nodeinfos.Build(world{nodes: []simtest.NodeBuilder{marked("n1").Zone("r-1a"), marked("n2").Zone("r-1b")}}.in(t))
	second := world{nodes: []simtest.NodeBuilder{marked("n3").Zone("r-1a")}, learnt: first.Learnt, at: now.Add(time.Minute)}.build(t)
	got := map[string]nodeinfos.Source{}
	for _, v := range second.Variants {
		got[v.Key+" from "+v.Node.Labels["from"]] = v.Source
	}
	want := map[string]nodeinfos.Source{"r-1a from n3": nodeinfos.LiveNode, "r-1b from n2": nodeinfos.Learnt}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsLearntOfVanishedGroupsIsForgotten(t *testing.T) {
	old := learntFrom("old", now)
	other := learntFrom("other", now)
	other[0].Group = "other"
	in := world{learnt: append(old, other...)}.in(t)
	if got := nodeinfos.Build(in).Learnt; len(got) != 1 || got[0].Group != group {
		t.Errorf("kept %v, want that of %s only", got, group)
	}
	in.GroupErrors = []cloudprovider.GroupError{{Group: "other", Err: errors.New("throttled")}}
	if got := nodeinfos.Build(in).Learnt; len(got) != 2 {
		t.Errorf("kept %d templates, want also that of the group that cannot be described for now", len(got))
	}
}

func TestAGroupInTroubleDisturbsNoOther(t *testing.T) {
	in := world{variants: []cloudprovider.TemplateVariant{cloudVariant("", marked("cloud"))}}.in(t)
	in.Groups = append(in.Groups, observation.Group{ID: "bad", TemplateErr: errors.New("denied")})
	got := nodeinfos.Build(in).Templates
	if got["bad"].Err == nil || got[group].Err != nil || len(got[group].Variants) != 1 {
		t.Errorf("got %+v", got)
	}
}

func attachLimit(node string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "d", NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}}},
	}}
}

func TestAttachLimits(t *testing.T) {
	described := cloudVariant("", marked("cloud"))
	limited := described
	limited.CSINode = attachLimit("x", 5)
	known := learntFrom("old", now.Add(-time.Hour))
	known[0].Template.CSINode = attachLimit("old", 7)
	elsewhere := known[0]
	elsewhere.Place = nodeinfos.Place{Zone: "other"}
	elsewhere.Template.Node = marked("old").Zone("other").Build()
	zoned := described
	zoned.Node = marked("cloud").Zone("here").Build()
	for name, tc := range map[string]struct {
		world
		want int32 // 0: none
	}{
		"of the live node": {
			world: world{nodes: []simtest.NodeBuilder{marked("n")}, csi: []*storagev1.CSINode{attachLimit("n", 3)}, variants: []cloudprovider.TemplateVariant{limited}},
			want:  3,
		},
		"of another live node of the group": {
			world: world{
				nodes: []simtest.NodeBuilder{marked("m"), marked("n")}, csi: []*storagev1.CSINode{attachLimit("n", 3)},
				variants: []cloudprovider.TemplateVariant{described},
			},
			want: 3,
		},
		"as the cloud says, where no node tells": {
			world: world{nodes: []simtest.NodeBuilder{marked("n")}, variants: []cloudprovider.TemplateVariant{limited}}, want: 5,
		},
		"as learnt": {world: world{variants: []cloudprovider.TemplateVariant{described}, learnt: known}, want: 7},
		"as learnt of another variant": {
			world: world{variants: []cloudprovider.TemplateVariant{zoned}, learnt: []nodeinfos.LearntTemplate{elsewhere}}, want: 7,
		},
		"unknown": {world: world{variants: []cloudprovider.TemplateVariant{described}}},
	} {
		t.Run(name, func(t *testing.T) {
			v := tc.build(t).Variants[0]
			var got int32
			if v.CSINode != nil {
				got = *v.CSINode.Spec.Drivers[0].Allocatable.Count
				if v.CSINode.Name != v.Node.Name {
					t.Errorf("the limits are of %q, the node is %q", v.CSINode.Name, v.Node.Name)
				}
			}
			if got != tc.want {
				t.Errorf("the limit is %d, want %d", got, tc.want)
			}
		})
	}
}

func TestSmallest(t *testing.T) {
	variants := []nodeinfos.Variant{
		{NodeTemplate: simulator.NodeTemplate{Node: simtest.Node("a").CPU("2").Memory("32Gi").Resource("example.com/widget", "1").Build()}},
		{NodeTemplate: simulator.NodeTemplate{Node: simtest.Node("b").CPU("4").Memory("8Gi").Build()}},
	}
	before := variants[0].Node.DeepCopy()
	got := nodeinfos.Smallest(variants)
	want := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	for i, name := range []string{"a", "b"} {
		if got[i].Node.Name != name {
			t.Errorf("number %d is %s, want %s", i, got[i].Node.Name, name)
		}
		if diff := cmp.Diff(want, got[i].Node.Status.Allocatable); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff(before, variants[0].Node); diff != "" {
		t.Errorf("the variant itself was changed: %s", diff)
	}
	if single := nodeinfos.Smallest(variants[:1]); single[0].Node != variants[0].Node {
		t.Error("a single variant is copied for nothing")
	}
}

func TestMatch(t *testing.T) {
	variant := func(zone, machine string) nodeinfos.Variant {
		return nodeinfos.Variant{NodeTemplate: simulator.NodeTemplate{
			Node: simtest.Node("t").Zone(zone).Label(corev1.LabelInstanceTypeStable, machine).Build(),
		}}
	}
	two := nodeinfos.Template{Variants: []nodeinfos.Variant{variant("a", "m"), variant("b", "m")}}
	one := nodeinfos.Template{Variants: []nodeinfos.Variant{variant("a", "m")}}
	for _, tc := range []struct {
		template nodeinfos.Template
		place    nodeinfos.Place
		index    int
		ok       bool
	}{
		{two, nodeinfos.Place{Zone: "b", Type: "m"}, 1, true},
		{two, nodeinfos.Place{Zone: "b"}, 0, false},
		{two, nodeinfos.Place{Zone: "c", Type: "m"}, 0, false},
		{one, nodeinfos.Place{}, 0, true},
		{one, nodeinfos.Place{Zone: "b"}, 0, false},
		{nodeinfos.Template{}, nodeinfos.Place{}, 0, false},
	} {
		if index, ok := tc.template.Match(tc.place); index != tc.index || ok != tc.ok {
			t.Errorf("%+v matches %d (%v) of %d variants, want %d (%v)", tc.place, index, ok, len(tc.template.Variants), tc.index, tc.ok)
		}
	}
}

func TestTheOrderOfTheInputsDoesNotMatter(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{marked("n1").Zone("r-1b"), marked("n2").Zone("r-1a"), marked("n3").Zone("r-1b")},
		pods:  []*corev1.Pod{simtest.Pod("a-1").DaemonSet("a").On("n1").Build(), simtest.Pod("m").Mirror().On("n1").Build()},
	}
	first := nodeinfos.Build(w.in(t))
	slices.Reverse(w.pods)
	w.learnt = slices.Clone(first.Learnt)
	slices.Reverse(w.learnt)
	if diff := cmp.Diff(first, nodeinfos.Build(w.in(t))); diff != "" {
		t.Error(diff)
	}
}
