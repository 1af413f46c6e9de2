package simulator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// example is a live node with all that a template must and must not take over.
func example() simulator.Example {
	node := simtest.Node("live").Zone("a").Label("team", "x").Annotation("note", "kept").
		Taint("dedicated", "x", corev1.TaintEffectNoSchedule).Taint("node.kubernetes.io/unreachable", "", corev1.TaintEffectNoSchedule).
		Taint("status-taint.cluster-autoscaler.kubernetes.io/u", "", corev1.TaintEffectNoSchedule).
		Taint("startup-taint.cluster-autoscaler.kubernetes.io/s", "", corev1.TaintEffectNoSchedule).
		Taint("example.com/warming-up", "", corev1.TaintEffectNoSchedule).
		With(func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taints.NewToBeDeleted(simtest.Epoch)) })
	return simulator.Example{
		Group: "group", Node: node.Build(), CSINode: attachLimit("live", 3),
		Pods: []*corev1.Pod{
			simtest.Pod("agent").DaemonSet("agent").On("live").Build(),
			simtest.Pod("leaving").DaemonSet("old").On("live").DeletedAt(simtest.Epoch).Build(),
			simtest.Pod("web").OwnedBy("ReplicaSet", "web").On("live").Build(),
			simtest.Pod("proxy").Mirror().On("live").Build(),
			simtest.Pod("marked").OwnedBy("ReplicaSet", "r").Annotation(podfacts.DaemonSetPodAnnotation, "true").On("live").Build(),
			simtest.Pod("static").Annotation(podfacts.ConfigSourceAnnotation, "file").On("live").Build(),
		},
	}
}

func rules() simulator.TemplateRules {
	return simulator.TemplateRules{Taints: taints.Rules{StartupKeys: []string{"example.com/warming-up"}}}
}

// Worked cases T07, T12 and T16.
func TestATemplateIsTheExampleWithoutWhatPasses(t *testing.T) {
	t.Parallel()
	given, untouched := example(), example()
	got := simulator.SanitizedTemplate(given, rules())
	name := got.Node.Name
	number, ok := strings.CutPrefix(name, "template-node-for-group-")
	if !ok || strings.Trim(number, "0123456789") != "" {
		t.Fatalf("name = %q, want template-node-for-group- and a number", name)
	}
	want := simtest.Node("live").Zone("a").Label("team", "x").Annotation("note", "kept").Taint("dedicated", "x", corev1.TaintEffectNoSchedule).
		Label(corev1.LabelHostname, name).Label("cluster-autoscaler.kubernetes.io/template-node", "true").Build()
	want.Name, want.UID, want.Spec.ProviderID = name, got.Node.UID, ""
	if diff := cmp.Diff(want, got.Node); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if got.Node.UID == given.Node.UID || got.Node.UID == "" {
		t.Errorf("the UID %q is not a fresh one", got.Node.UID)
	}
	if diff := cmp.Diff([]string{"agent-" + number, "proxy-" + number, "marked-" + number}, podNames(got.Pods)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	for i, pod := range got.Pods {
		if pod.Spec.NodeName != name || pod.UID == "" || pod.UID == given.Pods[i].UID {
			t.Errorf("pod %s on %q has UID %q", pod.Name, pod.Spec.NodeName, pod.UID)
		}
	}
	wantCSI := attachLimit(name, 3)
	wantCSI.Spec.Drivers[0].NodeID = "live" // is looked up by nobody
	wantCSI.UID = got.CSINode.UID
	wantCSI.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: got.Node.UID}}
	if diff := cmp.Diff(wantCSI, got.CSINode); diff != "" {
		t.Errorf("volume limits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(untouched, given); diff != "" {
		t.Errorf("the example was changed (-before +after):\n%s", diff)
	}
}

func TestATemplateHasNothingThatNamesTheMachine(t *testing.T) {
	t.Parallel()
	node := simtest.Node("ip-10-0-0-1").Label("doks.digitalocean.com/node-id", "5").Label("alpha.eksctl.io/instance-id", "i-0123456789").
		Label("example.com/node", "ip-10-0-0-1").Label("example.com/host", "host-10-0-0-1").Label("example.com/pool", "workers").Build()
	node.Labels[corev1.LabelHostname] = "host-10-0-0-1"
	node.Spec.ProviderID, node.Spec.PodCIDR, node.Spec.PodCIDRs = "aws:///r-1a/i-0123456789", "10.1.0.0/24", []string{"10.1.0.0/24"}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}
	node.Status.NodeInfo = corev1.NodeSystemInfo{MachineID: "m", SystemUUID: "s", BootID: "b", Architecture: "arm64"}
	node.OwnerReferences = []metav1.OwnerReference{{Kind: "Machine", Name: "x"}}
	before := node.DeepCopy()
	got := simulator.SanitizedTemplate(simulator.Example{Group: "g", Node: node}, rules()).Node
	wantLabels := map[string]string{
		"example.com/pool": "workers", corev1.LabelHostname: got.Name, simulator.TemplateNodeLabel: "true",
	}
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(corev1.NodeSpec{}, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(corev1.NodeSystemInfo{Architecture: "arm64"}, got.Status.NodeInfo); diff != "" || got.Status.Addresses != nil || got.OwnerReferences != nil {
		t.Errorf("addresses %v, owners %v, system (-want +got):\n%s", got.Status.Addresses, got.OwnerReferences, diff)
	}
	if diff := cmp.Diff(before, node); diff != "" {
		t.Errorf("the example was changed (-before +after):\n%s", diff)
	}
	short := simtest.Node("web").Label("role", "web").Build()
	if role := simulator.SanitizedTemplate(simulator.Example{Group: "g", Node: short}, rules()).Node.Labels["role"]; role != "web" {
		t.Errorf("a role that equals the node's name by chance became %q", role)
	}
}

func TestTheSameExampleGivesTheSameNameAndAnotherVariantAnother(t *testing.T) {
	t.Parallel()
	name := func(change func(*simulator.Example)) string {
		e := example()
		change(&e)
		return simulator.SanitizedTemplate(e, rules()).Node.Name
	}
	first := name(func(*simulator.Example) {})
	if again := name(func(*simulator.Example) {}); again != first {
		t.Errorf("names of the same example are %s and %s", first, again)
	}
	for what, change := range map[string]func(*simulator.Example){
		"variant": func(e *simulator.Example) { e.Variant = "b" },
		"node":    func(e *simulator.Example) { e.Node.Name = "other" },
	} {
		if other := name(change); other == first {
			t.Errorf("with another %s the name is the same: %s", what, other)
		}
	}
}

// Worked case T13.
func TestACordonIsLiftedOnRequest(t *testing.T) {
	t.Parallel()
	for _, ignore := range []bool{false, true} {
		e := example()
		e.Node.Spec.Unschedulable = true
		got := simulator.SanitizedTemplate(e, simulator.TemplateRules{IgnoreCordon: ignore})
		if got.Node.Spec.Unschedulable == ignore {
			t.Errorf("ignoring cordons %t: unschedulable = %t", ignore, got.Node.Spec.Unschedulable)
		}
	}
}

// Worked cases T15 and T16.
func TestOldLabelsAreAddedToTemplatesByTheCloudOnly(t *testing.T) {
	t.Parallel()
	for _, byCloud := range []bool{true, false} {
		e := simulator.Example{Group: "g", ByCloud: byCloud, Node: simtest.Node("t").Zone("a").Label("node.kubernetes.io/instance-type", "m5.large").Build()}
		labels := simulator.SanitizedTemplate(e, rules()).Node.Labels
		var want map[string]string
		if byCloud {
			want = map[string]string{"beta.kubernetes.io/instance-type": "m5.large", "failure-domain.beta.kubernetes.io/zone": "a"}
		}
		got := map[string]string{}
		for _, key := range []string{"beta.kubernetes.io/instance-type", "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"} {
			if value, ok := labels[key]; ok {
				got[key] = value
			}
		}
		if len(want) != len(got) || want["beta.kubernetes.io/instance-type"] != got["beta.kubernetes.io/instance-type"] {
			t.Errorf("by the cloud %t: old labels = %v, want %v", byCloud, got, want)
		}
	}
}

func TestCopiesAreNodesOfTheirOwn(t *testing.T) {
	t.Parallel()
	template := simulator.SanitizedTemplate(example(), rules())
	name := template.Node.Name
	first, second := template.Copy("e-0"), template.Copy("e-1")
	if first.Node.Name != name+"-e-0" || first.Node.Labels[corev1.LabelHostname] != name+"-e-0" {
		t.Errorf("the copy is called %s with hostname %s", first.Node.Name, first.Node.Labels[corev1.LabelHostname])
	}
	if template.Node.Labels[corev1.LabelHostname] != name {
		t.Error("the template's hostname was changed")
	}
	if diff := cmp.Diff([]corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}, first.Node.Spec.Taints); diff != "" {
		t.Errorf("taints of the copy (-want +got):\n%s", diff)
	}
	seen := map[string]bool{}
	for _, node := range []simulator.NodeTemplate{template, first, second} {
		uids := []string{string(node.Node.UID), string(node.CSINode.UID)}
		for _, pod := range node.Pods {
			uids = append(uids, string(pod.UID))
			if pod.Spec.NodeName != node.Node.Name {
				t.Errorf("pod %s is on %s, not on %s", pod.Name, pod.Spec.NodeName, node.Node.Name)
			}
		}
		for _, uid := range uids {
			if uid == "" || seen[uid] {
				t.Errorf("UID %q is not a fresh one", uid)
			}
			seen[uid] = true
		}
		if node.CSINode.Name != node.Node.Name {
			t.Errorf("the volume limits of %s are called %s", node.Node.Name, node.CSINode.Name)
		}
	}
}

func TestCopiesCountWithTheirPodsAndVolumeLimits(t *testing.T) {
	t.Parallel()
	e := example()
	e.Pods[0].Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *e.Node.Status.Allocatable.Cpu()}
	snapshot, scheduler := simulator.NewSnapshot(), simtest.Scheduler(t, boundClaim("c", "pv"), volume("pv"))
	full := simulator.SanitizedTemplate(e, rules())
	e.Pods, e.CSINode, e.Variant = nil, attachLimit("live", 0), "no volumes"
	limited := simulator.SanitizedTemplate(e, rules())
	pod := simtest.Pod("p").Requests("1", "").Tolerates("dedicated").Claim("c").Build()
	for template, want := range map[*simulator.NodeTemplate]simulator.FilterCode{&full: simulator.InsufficientResource, &limited: simulator.AttachLimit} {
		fresh := template.Copy("e-0")
		must(t, snapshot.AddNode(fresh))
		rejection, err := scheduler.Check(t.Context(), snapshot, pod, fresh.Node.Name)
		must(t, err)
		if rejection == nil || rejection.Filter != want {
			t.Errorf("rejection = %+v, want %s", rejection, want)
		}
	}
}
