package nodeinfos_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// gist is what the tests look at in a template.
type gist struct {
	From, Team, Late, CPU, Widgets string
	Taints                         []string
	Source                         nodeinfos.Source
}

func gistOf(t *testing.T, template nodeinfos.Template) gist {
	t.Helper()
	if template.Err != nil || len(template.Variants) != 1 {
		t.Fatalf("got %d variants, error %v; want one", len(template.Variants), template.Err)
	}
	v := template.Variants[0]
	widgets := v.Node.Status.Allocatable["example.com/widget"]
	g := gist{
		From: v.Node.Labels["from"], Team: v.Node.Labels["team"], Late: v.Node.Labels["late"], CPU: v.Node.Status.Allocatable.Cpu().String(),
		Widgets: widgets.String(), Source: v.Source,
	}
	for _, taint := range v.Node.Spec.Taints {
		g.Taints = append(g.Taints, taint.Key+"="+taint.Value)
	}
	return g
}

// stored sends what was learnt through JSON, as over a restart.
func stored(t *testing.T, learnt []nodeinfos.LearntTemplate) (out []nodeinfos.LearntTemplate) {
	t.Helper()
	text, err := json.Marshal(learnt)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Remedy 9.2-32: what an operator changes in tags or in a launch template counts for the nodes to come, whether there are nodes or not.
func TestWhatTheCloudComesToDescribeOtherwiseCorrectsWhatWasLearnt(t *testing.T) {
	first := simtest.Node("cloud").CPU("4").Label("team", "x").Taint("dedicated", "x", corev1.TaintEffectNoSchedule).Resource("example.com/widget", "1")
	second := simtest.Node("cloud").CPU("4").Label("team", "y").Taint("dedicated", "y", corev1.TaintEffectNoSchedule).
		Taint("vendor/agent", "", corev1.TaintEffectNoSchedule).Resource("example.com/widget", "2")
	none := simtest.Node("cloud").CPU("4")
	like := func(name string, described simtest.NodeBuilder, at time.Time) simtest.NodeBuilder {
		return described.With(func(n *corev1.Node) {
			n.Name, n.Labels["from"], n.Labels["late"] = name, name, "seen"
		}).CPU("3900m").CreatedAt(at)
	}
	before, after := gist{"", "x", "seen", "3900m", "1", []string{"dedicated=x"}, 0}, gist{"", "y", "seen", "3900m", "2", []string{"dedicated=y"}, 0}
	plain := gist{"", "", "seen", "3900m", "0", nil, 0}
	from := func(g gist, name string, source nodeinfos.Source) gist {
		g.From, g.Source = name, source
		return g
	}
	old, changed := like("a-old", first, simtest.Epoch), now.Add(time.Minute)
	fresh := like("b-new", second, changed.Add(time.Minute))
	type pass struct {
		described *simtest.NodeBuilder // nil: the cloud cannot tell
		nodes     []simtest.NodeBuilder
		want      gist
	}
	for name, passes := range map[string][]pass{
		"an old node goes on to be the example, and is corrected": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "a-old", nodeinfos.LiveNode)},
		},
		"a node that was made since is the better example, and what it showed lasts longer than it": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old, fresh}, from(after, "b-new", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "b-new", nodeinfos.Learnt)},
			{&second, nil, from(after, "b-new", nodeinfos.Learnt)},
		},
		"what was learnt of nodes that are gone is corrected": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&first, nil, from(before, "a-old", nodeinfos.Learnt)},
			{&second, nil, from(after, "a-old", nodeinfos.Learnt)},
		},
		"what is described no more goes": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&none, []simtest.NodeBuilder{old}, from(plain, "a-old", nodeinfos.LiveNode)},
		},
		"a change that is taken back is none": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "a-old", nodeinfos.LiveNode)},
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
		},
		"one change after the other": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "a-old", nodeinfos.LiveNode)},
			{&none, []simtest.NodeBuilder{old}, from(plain, "a-old", nodeinfos.LiveNode)},
		},
		"what a node shows is right as long as the cloud says the same": {
			{&second, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&second, nil, from(before, "a-old", nodeinfos.Learnt)},
		},
		"a cloud that cannot tell changes nothing": {
			{&first, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{nil, []simtest.NodeBuilder{old}, from(before, "a-old", nodeinfos.LiveNode)},
			{&second, []simtest.NodeBuilder{old}, from(after, "a-old", nodeinfos.LiveNode)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{}
			w.options.StartupTaints = []string{"vendor/agent"}
			for i, pass := range passes {
				w.at, w.nodes, w.variants, w.err = now.Add(time.Duration(i)*time.Minute), pass.nodes, nil, errors.New("throttled")
				if i >= 2 { // the nodes of these tests need their time to be good examples
					w.at = w.at.Add(time.Hour)
				}
				if pass.described != nil {
					w.variants = []cloudprovider.TemplateVariant{cloudVariant("", *pass.described)}
				}
				built := nodeinfos.Build(w.in(t))
				if diff := cmp.Diff(pass.want, gistOf(t, built.Templates[group])); diff != "" {
					t.Errorf("iteration %d (-want +got):\n%s", i, diff)
				}
				w.learnt = stored(t, built.Learnt)
			}
		})
	}
}

func TestDaemonSetsFollowTheCorrectedNode(t *testing.T) {
	tolerating := daemonSet("tolerating", func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}}
	})
	sets := []*appsv1.DaemonSet{tolerating, daemonSet("plain", nil), daemonSet("selecting", func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"team": "y"} })}
	for _, set := range sets {
		set.CreationTimestamp = metav1.NewTime(simtest.Epoch)
	}
	var pods []*corev1.Pod
	for _, name := range []string{"tolerating", "plain"} {
		pods = append(pods, simtest.Pod(name+"-1").DaemonSet(name).On("n").Build())
	}
	w := world{nodes: []simtest.NodeBuilder{marked("n")}, pods: pods, sets: sets, variants: []cloudprovider.TemplateVariant{cloudVariant("", simtest.Node("cloud"))}}
	w.learnt = nodeinfos.Build(w.in(t)).Learnt
	w.variants = []cloudprovider.TemplateVariant{cloudVariant("", simtest.Node("cloud").Label("team", "y"))}
	if got := owners(w.build(t)); !slices.Equal(got, []string{"plain", "selecting", "tolerating"}) {
		t.Errorf("with the label the template runs %v", got)
	}
	w.variants = []cloudprovider.TemplateVariant{cloudVariant("", simtest.Node("cloud").Taint("x", "", corev1.TaintEffectNoSchedule))}
	if got := owners(w.build(t)); !slices.Equal(got, []string{"tolerating"}) {
		t.Errorf("with the taint the template runs %v", got)
	}
}

func owners(template nodeinfos.Template) (names []string) {
	for _, pod := range template.Variants[0].Pods {
		names = append(names, metav1.GetControllerOf(pod).Name)
	}
	slices.Sort(names)
	return names
}

func TestALearntTemplateHasTheDaemonSetsOfToday(t *testing.T) {
	made := func(name string, at time.Time) *appsv1.DaemonSet {
		set := daemonSet(name, nil)
		set.CreationTimestamp = metav1.NewTime(at)
		return set
	}
	later := now.Add(time.Minute)
	kept, gone, missed, since := made("kept", simtest.Epoch), made("gone", simtest.Epoch), made("missed", simtest.Epoch), made("since", later)
	w := world{
		nodes: []simtest.NodeBuilder{marked("n")}, sets: []*appsv1.DaemonSet{kept, gone, missed},
		pods: []*corev1.Pod{simtest.Pod("kept-1").DaemonSet("kept").On("n").Build(), simtest.Pod("gone-1").DaemonSet("gone").On("n").Build()},
	}
	w.learnt = stored(t, nodeinfos.Build(w.in(t)).Learnt)
	w.nodes, w.pods, w.at = nil, nil, later.Add(time.Hour)
	for name, tc := range map[string]struct {
		sets []*appsv1.DaemonSet
		want []string
	}{
		"as they were":                      {[]*appsv1.DaemonSet{kept, gone, missed}, []string{"gone", "kept"}},
		"one is gone, one was made since":   {[]*appsv1.DaemonSet{kept, missed, since}, []string{"kept", "since"}},
		"they cannot be read, or all went":  {nil, []string{"gone", "kept"}},
		"another one of the name was made":  {[]*appsv1.DaemonSet{kept, renewed(gone, later)}, []string{"gone", "kept"}},
		"one that was made since runs once": {[]*appsv1.DaemonSet{kept, gone, since}, []string{"gone", "kept", "since"}},
	} {
		for pass := range 2 { // what is added is not learnt, whether the cloud describes the node or not
			w.sets, w.variants = tc.sets, nil
			if pass == 1 {
				w.variants = []cloudprovider.TemplateVariant{cloudVariant("", simtest.Node("cloud"))}
			}
			built := nodeinfos.Build(w.in(t))
			if got := owners(built.Templates[group]); !slices.Equal(got, tc.want) {
				t.Errorf("%s, pass %d: the template runs %v, want %v", name, pass, got, tc.want)
			}
			if got := len(built.Learnt[0].Template.Pods); got != 2 {
				t.Errorf("%s: %d pods are learnt, want 2", name, got)
			}
		}
	}
}

func renewed(set *appsv1.DaemonSet, at time.Time) *appsv1.DaemonSet {
	out := set.DeepCopy()
	out.UID, out.CreationTimestamp = "another", metav1.NewTime(at)
	return out
}

func TestWhatWasLearntSurvivesStorage(t *testing.T) {
	agent := simtest.Pod("agent-1").DaemonSet("agent").Requests("100m", "64Mi").HostPort(9100).Tolerates("x").On("n").With(func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}
		p.Status.Phase = corev1.PodRunning
	}).Build()
	w := world{
		nodes: []simtest.NodeBuilder{
			marked("n").Zone("r-1a").CPU("3900m").Resource("nvidia.com/gpu", "2").Label("late", "seen").Taint("dedicated", "x", corev1.TaintEffectNoSchedule).
				Annotation("agent", "ready").With(func(n *corev1.Node) { n.Status.DeclaredFeatures = []string{"f"} }),
		},
		pods: []*corev1.Pod{agent}, csi: []*storagev1.CSINode{attachLimit("n", 3)},
		variants: []cloudprovider.TemplateVariant{cloudVariant("r-1a", simtest.Node("cloud").Zone("r-1a").CPU("4"))},
	}
	learnt := nodeinfos.Build(w.in(t)).Learnt
	pod := learnt[0].Template.Pods[0]
	if pod.Spec.Tolerations != nil || pod.Spec.Affinity.NodeAffinity != nil || pod.Spec.Affinity.PodAntiAffinity == nil || pod.Status.Phase != "" {
		t.Errorf("the pod that is kept is %+v %+v", pod.Spec, pod.Status)
	}
	again := stored(t, learnt)
	if diff := cmp.Diff(learnt, again); diff != "" {
		t.Errorf("what is stored differs (-before +after):\n%s", diff)
	}
	w.nodes, w.pods, w.csi, w.at = nil, nil, nil, now.Add(time.Minute)
	w.learnt = learnt
	want := w.build(t)
	w.learnt = again
	got := w.build(t)
	if diff := cmp.Diff(want, got); diff != "" || got.Variants[0].Source != nodeinfos.Learnt || got.Variants[0].CSINode == nil {
		t.Errorf("the template differs (-before +after):\n%s", diff)
	}
	if got.Variants[0].Node.Spec.ProviderID != "" {
		t.Errorf("the template has the provider ID %s", got.Variants[0].Node.Spec.ProviderID)
	}
}

func TestWhatIsStoredInABadWayDoesNoHarm(t *testing.T) {
	bare := []nodeinfos.LearntTemplate{{Group: group, At: now.Add(-time.Minute), Described: &nodeinfos.Description{}, Newest: &nodeinfos.Description{
		Labels: map[string]string{"a": "b"}, Capacity: corev1.ResourceList{}, Taints: []corev1.Taint{{Key: taints.ToBeDeleted}},
	}}}
	bare[0].Template.Node = &corev1.Node{}
	w := world{learnt: bare, variants: []cloudprovider.TemplateVariant{cloudVariant("", simtest.Node("cloud").CPU("4").Label("team", "x"))}}
	got := gistOf(t, w.build(t))
	if diff := cmp.Diff(gist{Team: "x", CPU: "4", Widgets: "0", Source: nodeinfos.Learnt}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAttachLimitsLastWhileADriverRestarts(t *testing.T) {
	w := world{nodes: []simtest.NodeBuilder{marked("n")}, csi: []*storagev1.CSINode{attachLimit("n", 3)}}
	w.learnt = nodeinfos.Build(w.in(t)).Learnt
	w.csi = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "n"}}}
	for pass := range 2 {
		built := nodeinfos.Build(w.in(t))
		csi := built.Templates[group].Variants[0].CSINode
		if csi == nil || len(csi.Spec.Drivers) != 1 || csi.Name != built.Templates[group].Variants[0].Node.Name {
			t.Errorf("pass %d: the limits are %v", pass, csi)
		}
		w.learnt = built.Learnt
	}
}
