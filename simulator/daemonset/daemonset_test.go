package daemonset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/simulator/daemonset"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// set is a DaemonSet whose pods are like the one given.
func set(name string, template simtest.PodBuilder) *appsv1.DaemonSet {
	pod := template.Build()
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID("DaemonSet-" + name)},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: pod.Spec,
		}},
	}
}

func critical(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }

func preempts(policy corev1.PreemptionPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &policy }
}

func TestRunsOn(t *testing.T) {
	t.Parallel()
	plain := simtest.Pod("d")
	requires := func(key string, operator corev1.NodeSelectorOperator, values ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}},
			}}}
		}
	}
	onHostNetwork := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
	tainted := func(key string, effect corev1.TaintEffect) simtest.NodeBuilder {
		return simtest.Node("n").Taint(key, "", effect)
	}
	cases := map[string]struct {
		pod  simtest.PodBuilder
		node simtest.NodeBuilder
		want bool
	}{
		"a plain set runs everywhere":                   {pod: plain, node: simtest.Node("n"), want: true},
		"the node lacks a label":                        {pod: plain.NodeSelector("disk", "ssd"), node: simtest.Node("n")},
		"the node has the label":                        {pod: plain.NodeSelector("disk", "ssd"), node: simtest.Node("n").Label("disk", "ssd"), want: true},
		"node affinity excludes the node":               {pod: plain.With(requires("zone", corev1.NodeSelectorOpIn, "a")), node: simtest.Node("n").Label("zone", "b")},
		"node affinity that can't be read excludes it":  {pod: plain.With(requires("zone", "Near", "a")), node: simtest.Node("n").Label("zone", "a")},
		"node affinity includes it":                     {pod: plain.With(requires("zone", corev1.NodeSelectorOpIn, "a")), node: simtest.Node("n").Label("zone", "a"), want: true},
		"a set for one node":                            {pod: plain.On("other"), node: simtest.Node("n")},
		"a taint keeps it away":                         {pod: plain, node: tainted("dedicated", corev1.TaintEffectNoSchedule)},
		"so does one that evicts":                       {pod: plain, node: tainted("dedicated", corev1.TaintEffectNoExecute)},
		"a taint that is only a wish doesn't":           {pod: plain, node: tainted("dedicated", corev1.TaintEffectPreferNoSchedule), want: true},
		"a tolerated taint doesn't":                     {pod: plain.Tolerates("dedicated"), node: tainted("dedicated", corev1.TaintEffectNoSchedule), want: true},
		"a cordon doesn't":                              {pod: plain, node: tainted(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule).Cordoned(), want: true},
		"memory pressure doesn't":                       {pod: plain, node: tainted(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule), want: true},
		"a full disk doesn't":                           {pod: plain, node: tainted(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule), want: true},
		"too many processes don't":                      {pod: plain, node: tainted(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule), want: true},
		"eviction from a node that isn't ready doesn't": {pod: plain, node: tainted(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), want: true},
		"eviction from an unreachable one doesn't":      {pod: plain, node: tainted(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute), want: true},
		"but it isn't started on one that isn't ready":  {pod: plain, node: tainted(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)},
		"a missing network keeps it away":               {pod: plain, node: tainted(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule)},
		"unless it brings the network":                  {pod: plain.With(onHostNetwork), node: tainted(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule), want: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := daemonset.RunsOn(set("ds", c.pod), c.node.Build()); got != c.want {
				t.Errorf("runs = %t, want %t", got, c.want)
			}
		})
	}
}

func names(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// Worked cases T08 to T11, T15 and T16.
func TestWhichPodsAreAdded(t *testing.T) {
	t.Parallel()
	plain := simtest.Pod("d")
	node := simtest.Node("fresh").Taint("x", "", corev1.TaintEffectNoSchedule).Build()
	a, b, c := set("a", plain.Tolerates("x")), set("b", plain), set("c", plain.Tolerates("x").NodeSelector("disk", "ssd"))
	vital := set("vital", plain.Tolerates("x").With(critical))
	patient := set("patient", plain.Tolerates("x").With(critical).With(preempts(corev1.PreemptNever)))
	eager := set("eager", plain.Tolerates("x").With(critical).With(preempts(corev1.PreemptLowerPriority)))
	lesser := set("lesser", plain.Tolerates("x").With(func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-cluster-critical" }))
	running := simtest.Pod("a-1").DaemonSet("a")
	annotated := simtest.Pod("r").OwnedBy("ReplicaSet", "a").Annotation(podfacts.DaemonSetPodAnnotation, "true").
		With(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "DaemonSet-a" })
	all := []*appsv1.DaemonSet{vital, a, b, c, patient, eager, lesser}
	type want struct{ All, Critical []string }
	for name, c := range map[string]struct {
		running []simtest.PodBuilder
		want    want
	}{
		"a template by the cloud": {want: want{
			All: []string{"vital-fresh", "a-fresh", "patient-fresh", "eager-fresh", "lesser-fresh"}, Critical: []string{"vital-fresh", "eager-fresh"},
		}},
		"what runs is not added": {running: []simtest.PodBuilder{running, simtest.Pod("v").DaemonSet("vital")}, want: want{
			All: []string{"patient-fresh", "eager-fresh", "lesser-fresh"}, Critical: []string{"eager-fresh"},
		}},
		"a pod being deleted doesn't run": {running: []simtest.PodBuilder{running.DeletedAt(simtest.Epoch)}, want: want{
			All: []string{"vital-fresh", "a-fresh", "patient-fresh", "eager-fresh", "lesser-fresh"}, Critical: []string{"vital-fresh", "eager-fresh"},
		}},
		"only a controller of that kind counts": {running: []simtest.PodBuilder{annotated}, want: want{
			All: []string{"vital-fresh", "a-fresh", "patient-fresh", "eager-fresh", "lesser-fresh"}, Critical: []string{"vital-fresh", "eager-fresh"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pods []*corev1.Pod
			for _, pod := range c.running {
				pods = append(pods, pod.Build())
			}
			got := want{All: names(daemonset.Missing(node, pods, all)), Critical: names(daemonset.MissingCritical(node, pods, all))}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("added pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNewPodIsTheSetsOwnAndHasNoClaims(t *testing.T) {
	t.Parallel()
	withClaims := func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "dev"}}
		p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "dev"}}
	}
	owner := set("ds", simtest.Pod("d").Requests("100m", "").With(withClaims))
	before := owner.DeepCopy()
	pod := daemonset.NewPod(owner, simtest.Node("n").Build())
	if pod.Namespace != "kube-system" || pod.Spec.NodeName != "n" || pod.UID == "" || !podfacts.IsDaemonSet(pod) || !metav1.IsControlledBy(pod, owner) {
		t.Errorf("pod = %+v", pod.ObjectMeta)
	}
	if podfacts.HasResourceClaims(pod) || len(pod.Spec.Containers[0].Resources.Claims) > 0 {
		t.Error("the pod has resource claims")
	}
	if got := podfacts.Requests(pod)[corev1.ResourceCPU]; got.MilliValue() != 100 {
		t.Errorf("the pod asks for %s CPU, want 100m", got.String())
	}
	if diff := cmp.Diff(before, owner); diff != "" {
		t.Errorf("the set was changed (-before +after):\n%s", diff)
	}
	if other := daemonset.NewPod(owner, simtest.Node("m").Build()); other.UID == pod.UID {
		t.Error("pods of two nodes have one UID")
	}
}
