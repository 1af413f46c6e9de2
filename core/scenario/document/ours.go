package document

import (
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/cluster-autoscaler/simulator/defaults"
)

// The defaults of the format.
const (
	defaultProvisionTime = time.Minute
	defaultDeletionTime  = 5 * time.Second
	defaultFailAfter     = 5 * time.Second
	defaultAge           = 10 * time.Minute
)

// The most that one document may ask for: beyond the largest clusters there are, a slip.
const (
	maxNodes = 100_000
	maxPods  = 1_000_000
)

// ours takes a document of our own group.
func (s scope) ours(h header, data []byte) {
	switch h.Kind {
	case KindNodeGroup:
		s.nodeGroup(data)
	case KindPods:
		s.pods(data)
	case KindScenario:
		s.scenario(data)
	default:
		s.bad("kind", "there is no kind %q in %s: want NodeGroup, Pods or Scenario", h.Kind, APIVersion)
	}
}

// strictly decodes a document of our own. Whatever in it is wrong is reported.
func strictly(s scope, data []byte, into any) bool {
	before := len(s.at.to.errors)
	s.explain(data, reflect.TypeOf(into), true, nil)
	if len(s.at.to.errors) > before {
		return false
	}
	if err := utiljson.Unmarshal(data, into); err != nil {
		s.bad("", "%s", err)
		return false
	}
	return true
}

// clusterWide makes sure that a document that no namespace holds names none, and notes its name.
func (s scope) clusterWide(kind string, m Metadata) bool {
	if m.Namespace != "" {
		s.bad("metadata.namespace", "a %s is in no namespace", kind)
	}
	return s.plainName(m.Name) && s.name(key{kind: kind, name: m.Name})
}

// plainName reports a name that can't start the names of nodes and pods.
func (s scope) plainName(name string) bool {
	faults := validation.IsDNS1123Subdomain(name)
	if name == "" || len(faults) == 0 {
		return true
	}
	s.bad("metadata.name", "%q is not a name: want lower case letters, digits, '-' and '.'", name)
	return false
}

func (s scope) nodeGroup(data []byte) {
	var d struct {
		metav1.TypeMeta `json:",inline"`
		NodeGroup       `json:",inline"`
	}
	if !strictly(s, data, &d) || !s.clusterWide(KindNodeGroup, d.Metadata) {
		return
	}
	group := d.NodeGroup
	spec := &group.Spec
	report := s.in("spec")
	groupSizes(spec, report)
	groupTimes(spec, report)
	groupTemplates(spec, report)
	spec.ProvisionTime = spec.ProvisionTime.orElse(defaultProvisionTime)
	spec.DeletionTime = spec.DeletionTime.orElse(defaultDeletionTime)
	spec.FailAfter = spec.FailAfter.orElse(defaultFailAfter)
	if spec.MaxSize == nil {
		spec.MaxSize = new(0) // reported
	}
	s.to.NodeGroups = append(s.to.NodeGroups, &group)
}

func groupSizes(spec *NodeGroupSpec, report at) {
	notNegative(&spec.MinSize, "minSize", report)
	switch {
	case spec.MaxSize == nil:
		report.bad("maxSize", "is required")
	case *spec.MaxSize < 0:
		report.bad("maxSize", "is %d, want at least 0", *spec.MaxSize)
	case *spec.MaxSize < spec.MinSize:
		report.bad("maxSize", "is %d, want at least minSize, which is %d", *spec.MaxSize, spec.MinSize)
	}
	notNegative(spec.TargetSize, "targetSize", report)
	notNegative(spec.Stock, "stock", report)
	notNegative(&spec.PriceHour, "priceHour", report)
	notNegative(&spec.Nodes, "nodes", report)
	atMost(&spec.Nodes, maxNodes, "nodes", report)
	atMost(spec.TargetSize, maxNodes, "targetSize", report)
	threshold(spec.Options.ScaleDownUtilizationThreshold, "options.scaleDownUtilizationThreshold", report)
	threshold(spec.Options.ScaleDownGPUUtilizationThreshold, "options.scaleDownGpuUtilizationThreshold", report)
}

func threshold(share *float64, name string, report at) {
	if share != nil && (*share < 0 || *share > 1) {
		report.bad(name, "is %v, want 0 to 1", *share)
	}
}

func atMost(value *int, limit int, name string, report at) {
	if value != nil && *value > limit {
		report.bad(name, "is %d, want at most %d", *value, limit)
	}
}

func groupTimes(spec *NodeGroupSpec, report at) {
	for _, d := range []struct {
		name  string
		value *Duration
	}{
		{"provisionTime", spec.ProvisionTime},
		{"deletionTime", spec.DeletionTime},
		{"failAfter", spec.FailAfter},
		{"options.scaleDownUnneededTime", spec.Options.ScaleDownUnneededTime},
		{"options.scaleDownUnreadyTime", spec.Options.ScaleDownUnreadyTime},
		{"options.maxNodeProvisionTime", spec.Options.MaxNodeProvisionTime},
		{"options.maxNodeStartupTime", spec.Options.MaxNodeStartupTime},
	} {
		notNegativeTime(d.value, d.name, report)
	}
	for i := range spec.LateTaints {
		taint, in := &spec.LateTaints[i], report.in(index("lateTaints", i))
		required(taint.Key, "key", in)
		effect(taint.Effect, in)
		notNegativeTime(&taint.For, "for", in)
	}
	for i := range spec.LateResources {
		late, in := &spec.LateResources[i], report.in(index("lateResources", i))
		required(string(late.Name), "name", in)
		if late.Quantity.Sign() < 0 {
			in.bad("quantity", "is %s, want at least 0", late.Quantity.String())
		}
		notNegativeTime(&late.After, "after", in)
	}
}

func required(value, name string, report at) {
	if value == "" {
		report.bad(name, "is required")
	}
}

func effect(value corev1.TaintEffect, report at) {
	switch value {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	case "":
		report.bad("effect", "is required")
	default:
		report.bad("effect", "is %q, want NoSchedule, PreferNoSchedule or NoExecute", value)
	}
}

// groupTemplates looks at the templates and fills in what nearly every node would say alike.
func groupTemplates(spec *NodeGroupSpec, report at) {
	if spec.Template != nil && len(spec.Variants) > 0 {
		report.bad("variants", "stand in place of a template, this group has both")
	}
	if spec.Nodes > 0 && spec.Template == nil && len(spec.Variants) == 0 {
		report.bad("nodes", "nodes are made from a template, and there is none")
	}
	if spec.Template != nil {
		nodeTemplate(spec.Template, report.in("template"))
	}
	for i := range spec.Variants {
		variant, in := &spec.Variants[i], report.in(index("variants", i))
		notNegative(&variant.Weight, "weight", in)
		if variant.Template == nil {
			in.bad("template", "is required")
			continue
		}
		nodeTemplate(variant.Template, in.in("template"))
	}
}

// defaultMaxPods is what a kubelet takes that isn't told otherwise.
const defaultMaxPods = "110"

func nodeTemplate(node *corev1.Node, report at) {
	if len(node.Status.Capacity) == 0 && len(node.Status.Allocatable) == 0 {
		report.bad("status.capacity", "is required")
	}
	nodeStatus(&node.Status, report.in("status"))
	for i := range node.Spec.Taints {
		taint, in := &node.Spec.Taints[i], report.in(index("spec.taints", i))
		required(taint.Key, "key", in)
		effect(taint.Effect, in)
	}
	completeCapacity(node)
}

// completeCapacity fills in what a kubelet would report. It takes no pods only if told so.
func completeCapacity(node *corev1.Node) {
	if len(node.Status.Capacity) == 0 {
		node.Status.Capacity = node.Status.Allocatable.DeepCopy()
	}
	for _, list := range []corev1.ResourceList{node.Status.Capacity, node.Status.Allocatable} {
		if _, ok := list[corev1.ResourcePods]; !ok && len(list) > 0 {
			list[corev1.ResourcePods] = resource.MustParse(defaultMaxPods)
		}
	}
	if len(node.Status.Allocatable) == 0 {
		node.Status.Allocatable = nil
	}
	defaults.Node(node)
}

func (s scope) pods(data []byte) {
	var d struct {
		metav1.TypeMeta `json:",inline"`
		Pods            `json:",inline"`
	}
	if !strictly(s, data, &d) {
		return
	}
	pods := d.Pods
	if pods.Metadata.Namespace == "" {
		pods.Metadata.Namespace = metav1.NamespaceDefault
	}
	if !s.plainName(pods.Metadata.Name) || !s.name(key{KindPods, pods.Metadata.Namespace, pods.Metadata.Name}) {
		return
	}
	spec := &pods.Spec
	report := s.in("spec")
	notNegative(spec.Count, "count", report)
	atMost(spec.Count, maxPods, "count", report)
	notNegativeTime(spec.Age, "age", report)
	podSpec(&spec.Template.Spec, report.in("template.spec"))
	if spec.Owner == "" {
		spec.Owner = OwnerReplicaSet
	} else if !isKind(spec.Owner) {
		report.bad("owner", "%q is not a kind: want ReplicaSet, StatefulSet, Job, DaemonSet, None or a kind of your own", spec.Owner)
	}
	for i, node := range spec.OnNodes {
		required(node, index("onNodes", i), report)
	}
	if spec.Template.Spec.NodeName != "" {
		report.bad("template.spec.nodeName", "onNodes says where the pods run")
	}
	if spec.Count == nil {
		count := 1
		if spec.Owner == OwnerDaemonSet {
			count = len(spec.OnNodes)
		}
		spec.Count = &count
	}
	if s.timeline {
		spec.Age = spec.Age.orElse(0)
	} else {
		spec.Age = spec.Age.orElse(defaultAge)
	}
	defaults.PodSpec(&spec.Template.Spec)
	s.to.PodsDocuments = append(s.to.PodsDocuments, &pods)
}

// isKind tells whether a word may be a kind of the API: it starts with a capital letter and goes on with letters and digits.
func isKind(word string) bool {
	for i, r := range word {
		letter := r >= 'A' && r <= 'Z' || i > 0 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
		if !letter {
			return false
		}
	}
	return word != "" && !strings.HasSuffix(word, "List")
}
