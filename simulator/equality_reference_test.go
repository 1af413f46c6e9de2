package simulator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/component-helpers/resource"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// kubeScheduler is what everything here is measured against: the whole profile of kube-scheduler, on kube-scheduler's own snapshot. Of
// the code under test it takes nothing but the devices that don't exist.
type kubeScheduler struct {
	framework framework.Framework
	snapshot  *currentSnapshot
	csi       *csiNodes
}

// currentSnapshot lets one framework look at one snapshot after the other.
type currentSnapshot struct{ *cache.Snapshot }

type csiNodes struct{ byName map[string]*storagev1.CSINode }

func (c *csiNodes) CSINodes() fwk.CSINodeLister { return c }

func (c *csiNodes) List() ([]*storagev1.CSINode, error) {
	var all []*storagev1.CSINode
	for _, csi := range c.byName {
		all = append(all, csi)
	}
	return all, nil
}

func (c *csiNodes) Get(name string) (*storagev1.CSINode, error) {
	if csi, ok := c.byName[name]; ok {
		return csi, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: "storage.k8s.io", Resource: "csinodes"}, name)
}

// newKubeScheduler builds one for the configuration, the default one if it is empty. A Scheduler must have been made before, for it makes
// the metrics without which the framework panics.
func newKubeScheduler(t *testing.T, factory informers.SharedInformerFactory, configuration string) *kubeScheduler {
	t.Helper()
	var object apiruntime.Object
	object, err := latest.Default()
	if configuration != "" {
		object, _, err = scheme.Codecs.UniversalDecoder().Decode([]byte(configuration), nil, nil)
	}
	must(t, err)
	k := &kubeScheduler{snapshot: &currentSnapshot{cache.NewEmptySnapshot()}, csi: &csiNodes{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	k.framework, err = runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), &object.(*config.KubeSchedulerConfiguration).Profiles[0],
		runtime.WithInformerFactory(factory), runtime.WithSnapshotSharedLister(k.snapshot), runtime.WithSharedCSIManager(k.csi),
		runtime.WithSharedDRAManager(simulator.EmptyDRAManager()), runtime.WithParallelism(1),
		runtime.WithLogger(klog.Logger{})) // says nothing
	must(t, err)
	stop()
	runtime.WaitForShutdown(k.framework)
	return k
}

// look makes the framework see what the reference holds.
func (k *kubeScheduler) look(r reference) {
	k.csi.byName = map[string]*storagev1.CSINode{}
	var nodes []*corev1.Node
	for _, n := range r.nodes {
		nodes = append(nodes, n.object)
		if n.csi != nil {
			k.csi.byName[n.object.Name] = n.csi
		}
	}
	var pods []*corev1.Pod
	for i, l := range r.lies {
		pod := *l.pod
		pod.UID, pod.Spec.NodeName = types.UID(fmt.Sprint(i)), l.node
		pods = append(pods, &pod)
	}
	k.snapshot.Snapshot = cache.NewSnapshot(pods, nodes)
}

// verdict is an answer for one node, or for all: a rejection, nil where the pod fits, or that a plug-in broke.
type verdict struct {
	rejection *simulator.Rejection
	broken    bool
}

func verdictOf(rejection *simulator.Rejection, err error) verdict {
	return verdict{rejection: rejection, broken: err != nil}
}

// question is about one pod, after PreFilter.
type askedPod struct {
	k     *kubeScheduler
	pod   *corev1.Pod
	state fwk.CycleState
	only  *fwk.PreFilterResult
	by    sets.Set[string]
	all   *verdict // what is said of all nodes before one is looked at; nil: they have to be looked at
}

func (k *kubeScheduler) ask(ctx context.Context, pod *corev1.Pod) askedPod {
	a := askedPod{k: k, pod: pod, state: framework.NewCycleState()}
	if podfacts.HasResourceClaims(pod) {
		a.all = &verdict{rejection: &simulator.Rejection{Filter: simulator.ResourceClaimsNotSimulated, Unresolvable: true}}
		return a
	}
	var status *fwk.Status
	a.only, status, a.by = k.framework.RunPreFilterPlugins(ctx, a.state, pod)
	if !status.IsSuccess() {
		v := a.verdict(status)
		a.all = &v
	}
	return a
}

// about is what the framework says of a node.
func (a askedPod) about(ctx context.Context, node string) verdict {
	if a.all != nil {
		return *a.all
	}
	if !a.only.AllNodes() && !a.only.NodeNames.Has(node) {
		words := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(a.by))
		return a.verdict(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, words))
	}
	info, err := a.k.snapshot.Get(node)
	if err != nil {
		return verdict{broken: true}
	}
	v := a.verdict(a.k.framework.RunFilterPlugins(ctx, a.state, a.pod, info))
	if v.rejection != nil {
		a.addNumbers(v.rejection, info)
	}
	return v
}

// addNumbers works out what the reasons don't say.
func (a askedPod) addNumbers(r *simulator.Rejection, info fwk.NodeInfo) {
	switch r.Filter {
	case simulator.TaintNotTolerated:
		for _, taint := range info.Node().Spec.Taints {
			tolerates := func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Logger{}, &taint, false) }
			if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(a.pod.Spec.Tolerations, tolerates) {
				r.Taint = &taint
				return
			}
		}
	case simulator.InsufficientResource:
		requests := resource.PodRequests(a.pod, resource.PodResourcesOptions{})
		for _, reason := range r.Reasons {
			r.Short = append(r.Short, shortage(strings.TrimPrefix(reason, "Insufficient "), requests, info))
		}
		slices.SortFunc(r.Short, func(a, b simulator.Shortage) int { return strings.Compare(string(a.Resource), string(b.Resource)) })
	default:
	}
}

func shortage(name string, requests corev1.ResourceList, info fwk.NodeInfo) simulator.Shortage {
	has, used, asked := info.GetAllocatable(), info.GetRequested(), requests[corev1.ResourceName(name)]
	s := simulator.Shortage{Resource: corev1.ResourceName(name), Asked: asked.Value()}
	switch s.Resource {
	case "Too many pods":
		return simulator.Shortage{Resource: corev1.ResourcePods, Asked: 1, Offered: int64(has.GetAllowedPodNumber() - len(info.GetPods()))}
	case corev1.ResourceCPU:
		s.Asked, s.Offered = asked.MilliValue(), has.GetMilliCPU()-used.GetMilliCPU()
	case corev1.ResourceMemory:
		s.Offered = has.GetMemory() - used.GetMemory()
	case corev1.ResourceEphemeralStorage:
		s.Offered = has.GetEphemeralStorage() - used.GetEphemeralStorage()
	default:
		s.Offered = has.GetScalarResources()[s.Resource] - used.GetScalarResources()[s.Resource]
	}
	return s
}

// verdict puts a status into our words.
func (a askedPod) verdict(status *fwk.Status) verdict {
	if status.IsSuccess() {
		return verdict{}
	}
	if !status.IsRejected() {
		return verdict{broken: true}
	}
	plugin := status.Plugin()
	if plugin == "" {
		plugin = sets.List(a.by)[0]
	}
	return verdict{rejection: &simulator.Rejection{
		Filter: expectedCode(plugin, status.Reasons()), Plugin: plugin, Unresolvable: status.Code() == fwk.UnschedulableAndUnresolvable,
		Reasons: slices.Sorted(slices.Values(status.Reasons())),
	}}
}

// expectedCode tells the codes by the plug-in, or, where one plug-in has several, by what it says.
func expectedCode(plugin string, reasons []string) simulator.FilterCode {
	if code, ok := map[string]simulator.FilterCode{
		"NodeUnschedulable": simulator.NodeUnschedulable, "TaintToleration": simulator.TaintNotTolerated, "NodeAffinity": simulator.NodeAffinityMismatch,
		"NodePorts": simulator.HostPortTaken, "NodeResourcesFit": simulator.InsufficientResource, "PodTopologySpread": simulator.TopologySpread,
		"NodeDeclaredFeatures": simulator.NodeFeatureMissing, "DynamicResources": simulator.ResourceClaim,
	}[plugin]; ok {
		return code
	}
	words := strings.Join(reasons, "; ")
	for part, code := range map[string]simulator.FilterCode{
		"existing pods anti-affinity rules": simulator.ExistingPodAntiAffinity, "match pod anti-affinity rules": simulator.PodAntiAffinity,
		"match pod affinity rules": simulator.PodAffinityMismatch, "no available volume zone": simulator.VolumeZone,
		"PersistentVolume's node affinity": simulator.VolumeZone, "no available disk": simulator.VolumeInUse, "already in-use": simulator.VolumeInUse,
		"max volume count": simulator.AttachLimit,
	} {
		if strings.Contains(words, part) {
			return code
		}
	}
	if strings.Contains(plugin, "Volume") {
		return simulator.VolumeUnbound
	}
	return simulator.OtherFilter
}

// coverage counts what the answers were, by plug-in, and by reason where the plug-in has several.
type coverage struct {
	asked, fit, broken int
	rejected           map[string]int
}

func (c *coverage) count(v verdict) {
	c.asked++
	switch {
	case v.broken:
		c.broken++
	case v.rejection == nil:
		c.fit++
	default:
		name := v.rejection.Plugin
		switch {
		case v.rejection.Filter == simulator.ResourceClaimsNotSimulated:
			name = "(resource claims)"
		case name == "InterPodAffinity":
			name += " " + string(v.rejection.Filter)
		case strings.Contains(name, "Volume"):
			c.rejected["volumes together"]++
		}
		c.rejected[name]++
	}
}

func (c *coverage) share(name string) float64 {
	return 100 * float64(c.rejected[name]) / float64(c.asked)
}

// table lists the counts, and fails the test where something hardly ever happened.
func (c *coverage) table(t *testing.T, wanted ...string) {
	t.Helper()
	var names []string
	for name := range c.rejected {
		names = append(names, name)
	}
	for _, name := range wanted {
		if c.share(name) < 1 {
			t.Errorf("%s rejected %.2f %% of the pairs, at least 1 %% are needed for a proof", name, c.share(name))
		}
		if c.rejected[name] == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var text strings.Builder
	fmt.Fprintf(&text, "%d pairs, of which %d fit and %d broke a plug-in\n", c.asked, c.fit, c.broken)
	for _, name := range names {
		fmt.Fprintf(&text, "%-42s %7d %6.2f %%\n", name, c.rejected[name], c.share(name))
	}
	t.Log(text.String())
}

// clusterOf is the reference as what a snapshot is synced with, when nothing was injected.
func clusterOf(nodes []*corev1.Node, csi []*storagev1.CSINode, pods []*corev1.Pod) reference {
	var r reference
	for _, object := range nodes {
		n := referenceNode{object: object}
		if i := slices.IndexFunc(csi, func(c *storagev1.CSINode) bool { return c.Name == object.Name }); i >= 0 {
			n.csi = csi[i]
		}
		r.nodes = append(r.nodes, n)
	}
	slices.SortFunc(r.nodes, func(a, b referenceNode) int { return strings.Compare(a.object.Name, b.object.Name) })
	for _, pod := range pods {
		name := pod.Spec.NodeName
		if name == "" {
			name = pod.Status.NominatedNodeName
		}
		if r.find(name) >= 0 {
			r.lies = append(r.lies, lying{pod: pod, node: name})
		}
	}
	return r
}

// keyOf names a pod for people.
func keyOf(pod metav1.Object) string { return pod.GetNamespace() + "/" + pod.GetName() }
