package nodeinfos

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/daemonset"
)

// Description is what of the cloud's description of a node an operator can change without making another group: by tags, or a new version of a launch
// template. It can be stored as JSON.
type Description struct {
	// Labels are without the host name, Taints without those that pass.
	Labels      map[string]string   `json:"labels,omitempty"`
	Taints      []corev1.Taint      `json:"taints,omitempty"`
	Capacity    corev1.ResourceList `json:"capacity,omitempty"`
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
}

// describes is what the cloud says of a node at the place; nil: nothing, or nothing that fits.
func (b builder) describes(group *observation.Group, place Place) *Description {
	belongs := belonging(len(group.Variants))
	for i := range group.Variants {
		if node := group.Variants[i].Node; node != nil && belongs(place, PlaceOf(node)) {
			return b.description(&group.Variants[i])
		}
	}
	return nil
}

func (b builder) description(variant *cloudprovider.TemplateVariant) *Description {
	labels := maps.Clone(variant.Node.Labels)
	delete(labels, corev1.LabelHostname)
	return &Description{
		Labels: labels, Taints: b.rules.Taints.Lasting(variant.Node.Spec.Taints),
		Capacity: variant.Node.Status.Capacity, Allocatable: variant.Node.Status.Allocatable,
	}
}

func (d *Description) equal(other *Description) bool {
	return maps.Equal(d.Labels, other.Labels) && sameTaints(d.Taints, other.Taints) &&
		sameResources(d.Capacity, other.Capacity) && sameResources(d.Allocatable, other.Allocatable)
}

func sameTaints(a, b []corev1.Taint) bool {
	return slices.EqualFunc(a, b, func(a, b corev1.Taint) bool { return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect })
}

// compare takes note of what the cloud says now; nil: nothing for the time being.
func (l LearntTemplate) compare(now *Description, at time.Time) LearntTemplate {
	latest := cmp.Or(l.Newest, l.Described)
	switch {
	case now == nil:
	case latest == nil:
		l.Described = now
	case l.Described.equal(now):
		if l.Newest != nil { // somebody took it back
			l.Newest, l.Changed = nil, time.Time{}
		}
	case !latest.equal(now):
		l.Newest, l.Changed = now, at
	}
	return l
}

// corrected is the template with what the cloud has come to describe otherwise since its node was made. What only the node shows stays, such as labels that
// agents add and how much of its memory is allocatable.
func (b builder) corrected(l LearntTemplate) simulator.NodeTemplate {
	if l.Newest == nil || l.Described == nil {
		return l.Template
	}
	now := l.Newest
	out, old := l.Template, l.Described
	node := out.Node.DeepCopy()
	node.Labels = replace(node.Labels, old.Labels, now.Labels, func(a, b string) bool { return a == b })
	node.Status.Capacity = replace(node.Status.Capacity, old.Capacity, now.Capacity, sameAmount)
	node.Status.Allocatable = replace(node.Status.Allocatable, old.Allocatable, now.Allocatable, sameAmount)
	node.Spec.Taints = replaceTaints(node.Spec.Taints, old.Taints, now.Taints)
	out.Pods = b.daemonsOf(out, node)
	out.Node = node
	return out
}

// replace puts those values of is into have that were others, takes those out that are no more, and returns have.
func replace[M ~map[K]V, K comparable, V any](have, was, is M, same func(a, b V) bool) M {
	if have == nil {
		have = M{}
	}
	for key, value := range is {
		if before, ok := was[key]; !ok || !same(before, value) {
			have[key] = value
		}
	}
	for key := range was {
		if _, ok := is[key]; !ok {
			delete(have, key)
		}
	}
	return have
}

func replaceTaints(have, was, is []corev1.Taint) []corev1.Taint {
	among := func(taints []corev1.Taint, wanted corev1.Taint) bool {
		return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return sameTaints([]corev1.Taint{t}, []corev1.Taint{wanted}) })
	}
	out := slices.DeleteFunc(slices.Clone(have), func(t corev1.Taint) bool { return among(was, t) && !among(is, t) })
	for _, taint := range is {
		if !among(was, taint) && !among(out, taint) {
			out = append(out, taint)
		}
	}
	return out
}

// daemonsOf are the pods of the template as it is corrected to the node: DaemonSets that do not run on such a node any more have none, those that now do
// have one.
func (b builder) daemonsOf(template simulator.NodeTemplate, node *corev1.Node) []*corev1.Pod {
	leaving, coming := map[string]bool{}, []*appsv1.DaemonSet{}
	for _, set := range b.in.DaemonSets {
		switch did, does := daemonset.RunsOn(set, template.Node), daemonset.RunsOn(set, node); {
		case did && !does:
			leaving[string(set.UID)] = true
		case does && !did:
			coming = append(coming, set)
		}
	}
	pods := slices.DeleteFunc(slices.Clone(template.Pods), func(pod *corev1.Pod) bool { return leaving[setOf(pod)] })
	return append(pods, daemonset.Missing(node, pods, coming)...)
}

// upToDate is a template of a node that is no more, with the pods of the DaemonSets that there are now: one that was made since runs on every node that it
// fits, as nobody can have seen it missing there.
func (b builder) upToDate(l LearntTemplate) LearntTemplate {
	if b.source(l) == LiveNode || len(b.in.DaemonSets) == 0 { // it shows them; or there are none, or they cannot be read
		return l
	}
	known := make(map[string]bool, len(b.in.DaemonSets))
	var since []*appsv1.DaemonSet
	for _, set := range b.in.DaemonSets {
		known[string(set.UID)] = true
		if set.CreationTimestamp.After(l.At) {
			since = append(since, set)
		}
	}
	l.Template.Pods = slices.DeleteFunc(slices.Clone(l.Template.Pods), func(pod *corev1.Pod) bool {
		set := setOf(pod)
		return set != "" && !known[set]
	})
	l.Template.Pods = append(l.Template.Pods, daemonset.Missing(l.Template.Node, l.Template.Pods, since)...)
	return l
}

// setOf is the UID of the DaemonSet that made the pod; empty: none did.
func setOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "DaemonSet" {
		return string(owner.UID)
	}
	return ""
}

func sameAmount(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }
