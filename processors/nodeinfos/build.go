package nodeinfos

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/daemonset"
)

var errUnknown = errors.New("the group has no node, nothing was learnt of it and the cloud does not describe it")

type builder struct {
	in       In
	examples map[cloudprovider.GroupID]*groupExamples
	rules    simulator.TemplateRules
}

// learn makes a template from a good node of each place and puts it in the place of what was known, which stays for the other places.
func (b builder) learn(group *observation.Group, known []LearntTemplate) []LearntTemplate {
	var out []LearntTemplate
	if found := b.examples[group.ID]; found != nil {
		for i := range found.good {
			good := &found.good[i]
			before := newest(known, func(l LearntTemplate) bool { return l.Place == good.place })
			out = append(out, b.show(group, good, before))
		}
	}
	for _, old := range known {
		if !slices.ContainsFunc(out, func(l LearntTemplate) bool { return l.Place == old.Place }) {
			out = append(out, old.compare(b.describes(group, old.Place), b.in.At))
		}
	}
	slices.SortStableFunc(out, func(l, m LearntTemplate) int { return l.Place.compare(m.Place) })
	return out
}

// show takes the first node as the example. Once the cloud has come to describe nodes otherwise, it is the first one that was made since; until there is
// one, an older node shows what it can. before is what was known of the place; nil: nothing.
func (b builder) show(group *observation.Group, good *example, before *LearntTemplate) LearntTemplate {
	learnt := LearntTemplate{Group: group.ID, Place: good.place}
	if before != nil {
		learnt = *before
	}
	learnt = learnt.compare(b.describes(group, good.place), b.in.At)
	node := good.nodes[0]
	if !learnt.Changed.IsZero() {
		switch fresh := good.since(learnt.Changed); {
		case fresh != nil:
			node = fresh
			learnt.Described, learnt.Newest = cmp.Or(learnt.Newest, learnt.Described), nil
		case learnt.Newest == nil: // what was learnt of a newer node, which is gone, is better than what the old ones show
			return learnt
		}
	}
	limits := learnt.Template.CSINode
	learnt.At, learnt.Template = b.in.At, slim(b.fromNode(group.ID, good.place.key(), node))
	if limited(limits) && !limited(learnt.Template.CSINode) { // a driver that is being restarted
		learnt.Template.CSINode = limitsFor(learnt.Template.Node, limits)
	}
	return learnt
}

// template puts the variants of a group together. Which variants there are is the cloud's to say; where it is silent, they are what its nodes
// have shown.
func (b builder) template(group *observation.Group, learnt []LearntTemplate) Template {
	out := Template{Group: group.ID}
	switch {
	case len(group.Variants) > 0:
		out.Variants, out.Err = b.correct(group, learnt)
	case len(learnt) > 0:
		out.Variants = b.asShown(learnt)
	default:
		out.Variants, out.Err = b.lastResort(group)
	}
	if found := b.examples[group.ID]; found != nil {
		slices.SortStableFunc(out.Variants, func(v, w Variant) int {
			return found.members[PlaceOf(v.Node).Zone] - found.members[PlaceOf(w.Node).Zone]
		})
	}
	for i := range out.Variants {
		b.addAttachLimits(group, &out.Variants[i], learnt)
	}
	return out
}

// correct takes each variant of the cloud from a node that belongs to it, if there is or was one. A variant that makes no sense leaves the group
// without template, because without it the set would promise what the group may not deliver.
func (b builder) correct(group *observation.Group, learnt []LearntTemplate) ([]Variant, error) {
	var out []Variant
	belongs := belonging(len(group.Variants))
	for i := range group.Variants {
		described := &group.Variants[i]
		if described.Node == nil {
			return nil, fmt.Errorf("describing a fresh node of group %s: variant %q has no node", group.ID, described.Key)
		}
		variant := Variant{Key: described.Key, Weight: max(described.Weight, 1), Promise: described.Promise, Source: Cloud}
		place := PlaceOf(described.Node)
		shown := newest(learnt, func(l LearntTemplate) bool { return belongs(l.Place, place) })
		if shown == nil {
			variant.NodeTemplate = b.fromCloud(group.ID, described)
		} else {
			variant.Source = b.source(*shown)
			variant.NodeTemplate = withCloudResources(b.corrected(b.upToDate(*shown)), described.Node)
		}
		out = append(out, variant)
	}
	return out, nil
}

// newest prefers what was seen last, then the first in the order of places; nil if nothing matches.
func newest(learnt []LearntTemplate, matches func(LearntTemplate) bool) *LearntTemplate {
	var best *LearntTemplate
	for i := range learnt {
		if matches(learnt[i]) && (best == nil || learnt[i].At.After(best.At)) {
			best = &learnt[i]
		}
	}
	return best
}

func (b builder) asShown(learnt []LearntTemplate) []Variant {
	promise := cloudprovider.PromiseCertain
	if len(learnt) > 1 {
		promise = cloudprovider.PromisePossible
	}
	var out []Variant
	for _, l := range learnt {
		out = append(out, Variant{Key: l.Place.key(), NodeTemplate: b.upToDate(l).Template, Weight: 1, Promise: promise, Source: b.source(l)})
	}
	return out
}

func (b builder) source(l LearntTemplate) Source {
	if l.At.Equal(b.in.At) {
		return LiveNode
	}
	return Learnt
}

func (b builder) lastResort(group *observation.Group) ([]Variant, error) {
	found := b.examples[group.ID]
	if found == nil || found.bad == nil {
		if group.TemplateErr != nil {
			return nil, group.TemplateErr
		}
		return nil, errUnknown
	}
	key := PlaceOf(found.bad).key()
	return []Variant{{
		Key: key, NodeTemplate: b.fromNode(group.ID, key, found.bad), Weight: 1, Promise: cloudprovider.PromiseCertain, Source: LastResort,
	}}, nil
}

func (b builder) fromNode(id cloudprovider.GroupID, variant string, node *corev1.Node) simulator.NodeTemplate {
	running := b.in.Snapshot.Pods(node.Name)
	template := simulator.SanitizedTemplate(simulator.Example{
		Group: string(id), Variant: variant, Node: node, Pods: running, CSINode: b.in.Snapshot.CSINode(node.Name),
	}, b.rules)
	if b.in.Options.ForceDaemonSets {
		return with(template, daemonset.Missing(template.Node, running, b.in.DaemonSets))
	}
	return with(template, daemonset.MissingCritical(template.Node, running, b.in.DaemonSets))
}

// slim leaves out what of the pods takes no part in simulation once they have a node, since the template is kept for long.
func slim(template simulator.NodeTemplate) simulator.NodeTemplate {
	pods := make([]*corev1.Pod, 0, len(template.Pods))
	for _, pod := range template.Pods {
		slim := *pod
		slim.Status, slim.Spec.Tolerations, slim.Spec.NodeSelector = corev1.PodStatus{}, nil, nil
		if affinity := pod.Spec.Affinity; affinity != nil {
			slim.Spec.Affinity = nil
			if affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil {
				slim.Spec.Affinity = &corev1.Affinity{PodAffinity: affinity.PodAffinity, PodAntiAffinity: affinity.PodAntiAffinity}
			}
		}
		pods = append(pods, &slim)
	}
	template.Pods = pods
	return template
}

func (b builder) fromCloud(id cloudprovider.GroupID, variant *cloudprovider.TemplateVariant) simulator.NodeTemplate {
	template := simulator.SanitizedTemplate(simulator.Example{
		Group: string(id), Variant: variant.Key, Node: variant.Node, Pods: variant.Pods, CSINode: variant.CSINode, ByCloud: true,
	}, b.rules)
	return with(template, daemonset.Missing(template.Node, variant.Pods, b.in.DaemonSets))
}

func with(template simulator.NodeTemplate, pods []*corev1.Pod) simulator.NodeTemplate {
	template.Pods = append(slices.Clip(template.Pods), pods...)
	return template
}

// withCloudResources adds the resources that only the cloud knows of, such as those that an operator put into tags or that a
// device plug-in has not reported yet. What the node shows is never overwritten.
func withCloudResources(template simulator.NodeTemplate, described *corev1.Node) simulator.NodeTemplate {
	capacity := lacking(template.Node.Status.Capacity, described.Status.Capacity)
	allocatable := lacking(template.Node.Status.Allocatable, described.Status.Allocatable)
	if len(capacity)+len(allocatable) == 0 {
		return template
	}
	node := template.Node.DeepCopy()
	node.Status.Capacity = merged(node.Status.Capacity, capacity)
	node.Status.Allocatable = merged(node.Status.Allocatable, allocatable)
	template.Node = node
	return template
}

func lacking(have, wanted corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, quantity := range wanted {
		if _, ok := have[name]; !ok {
			out[name] = quantity.DeepCopy()
		}
	}
	return out
}

func merged(have, more corev1.ResourceList) corev1.ResourceList {
	if have == nil {
		return more
	}
	maps.Copy(have, more)
	return have
}

// addAttachLimits gives a variant without volume limits those of another node of the group: a live one, else what the cloud says,
// else what was learnt. Limits differ little within a group, and none at all would promise room that no machine has.
func (b builder) addAttachLimits(group *observation.Group, variant *Variant, learnt []LearntTemplate) {
	if limited(variant.CSINode) {
		return
	}
	if found := b.examples[group.ID]; found != nil && found.attach != nil {
		variant.CSINode = limitsFor(variant.Node, b.in.Snapshot.CSINode(found.attach.Name))
		return
	}
	for i := range group.Variants {
		if limited(group.Variants[i].CSINode) {
			variant.CSINode = limitsFor(variant.Node, group.Variants[i].CSINode)
			return
		}
	}
	if l := newest(learnt, func(l LearntTemplate) bool { return limited(l.Template.CSINode) }); l != nil {
		variant.CSINode = limitsFor(variant.Node, l.Template.CSINode)
	}
}

func limited(csi *storagev1.CSINode) bool { return csi != nil && len(csi.Spec.Drivers) > 0 }

func limitsFor(node *corev1.Node, csi *storagev1.CSINode) *storagev1.CSINode {
	out := csi.DeepCopy()
	out.Name, out.UID, out.OwnerReferences = node.Name, node.UID, nil
	return out
}
