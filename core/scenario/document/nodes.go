package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/simulator/taints"
)

// nodes finishes the nodes, makes those that groups ask for, and sorts them into their groups.
func (f *finisher) nodes() {
	members := map[string][]*corev1.Node{}
	for _, node := range f.out.Nodes {
		completeCapacity(node)
		f.completeNode(node)
		if group := f.groupOf(node); group != "" {
			members[group] = append(members[group], node)
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, simulated.GroupAnnotation, group) // so that it joins a group that exists already
		}
	}
	for _, group := range f.out.NodeGroups {
		for i := range group.Spec.Nodes {
			if node := f.nodeOf(group, i); node != nil {
				f.out.Nodes = append(f.out.Nodes, node)
				members[group.Metadata.Name] = append(members[group.Metadata.Name], node)
			}
		}
	}
	for _, group := range f.groups {
		name := group.Metadata.Name
		for _, node := range members[name] {
			if node.Spec.ProviderID == "" {
				node.Spec.ProviderID = providerID(name, node.Name)
			}
		}
		if f.known != nil {
			f.known.makes(key{kind: "Node", name: name})
		}
	}
	f.providerIDs()
	for _, group := range f.out.NodeGroups {
		f.resolveGroup(group, members[group.Metadata.Name])
	}
}

func providerID(group, node string) string { return "simulated:///" + group + "/" + node }

// completeNode fills in what a kubelet reports.
func (f *finisher) completeNode(node *corev1.Node) {
	f.identify("Node", node, f.objectAge)
	own := map[string]string{corev1.LabelHostname: node.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	maps.Copy(own, node.Labels)
	node.Labels = own
	if len(node.Status.Conditions) == 0 {
		node.Status.Conditions = []corev1.NodeCondition{ready(node.CreationTimestamp)}
	}
}

func ready(since metav1.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: since, LastHeartbeatTime: since,
	}
}

// groupOf is the name of the group that a node belongs to; empty: none.
func (f *finisher) groupOf(node *corev1.Node) string {
	if name := node.Annotations[simulated.GroupAnnotation]; name != "" {
		if !slices.ContainsFunc(f.groups, func(g *NodeGroup) bool { return g.Metadata.Name == name }) {
			f.where(nodeKey(node.Name)).bad("metadata.annotations"+entry(simulated.GroupAnnotation), "there is no node group %q", name)
			return ""
		}
		return name
	}
	found := ""
	for _, group := range f.groups {
		name := group.Metadata.Name
		if len(group.Spec.NodeSelector) == 0 || name == found || !labels.SelectorFromSet(group.Spec.NodeSelector).Matches(labels.Set(node.Labels)) {
			continue
		}
		if found != "" {
			f.where(nodeKey(node.Name)).bad("metadata.labels", "the nodeSelectors of two node groups match, those of %q and %q", found, name)
			return found
		}
		found = name
	}
	return found
}

func nodeKey(name string) key { return key{kind: "Node", name: name} }

func groupKey(name string) key { return key{kind: KindNodeGroup, name: name} }

// nodeOf makes the i-th node that a group asks for; nil if its name is taken.
func (f *finisher) nodeOf(group *NodeGroup, i int) *corev1.Node {
	looks := looksOf(group)
	if len(looks) == 0 {
		return nil // reported when the group was read
	}
	node := looks[i%len(looks)].Template.DeepCopy()
	node.Name, node.UID, node.CreationTimestamp = fmt.Sprintf("%s-%d", group.Metadata.Name, i), "", metav1.Time{}
	if !f.add(nodeKey(node.Name), groupKey(group.Metadata.Name)) {
		return nil
	}
	delete(node.Labels, corev1.LabelHostname)
	node.Spec.ProviderID = ""
	f.completeNode(node)
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, simulated.GroupAnnotation, group.Metadata.Name)
	return node
}

// looksOf are the templates of a group's document, its one template among them.
func looksOf(group *NodeGroup) []Variant {
	if group.Spec.Template != nil {
		return []Variant{{Template: group.Spec.Template}}
	}
	return group.Spec.Variants
}

// providerIDs reports two nodes of one machine.
func (f *finisher) providerIDs() {
	first := map[string]string{}
	for _, node := range f.out.Nodes {
		id := node.Spec.ProviderID
		if id == "" {
			continue
		}
		if other, ok := first[id]; ok {
			f.where(nodeKey(node.Name)).bad("spec.providerID", "%q is that of node %s already", id, other)
			continue
		}
		first[id] = node.Name
	}
}

// resolveGroup completes a group with what follows from its nodes.
func (f *finisher) resolveGroup(group *NodeGroup, members []*corev1.Node) {
	resolved := ResolvedGroup{NodeGroup: group, Existing: members}
	for _, look := range looksOf(group) {
		resolved.Templates = append(resolved.Templates, cloudprovider.TemplateVariant{
			Node: f.template(look.Template), Weight: max(look.Weight, 1), Promise: cloudprovider.PromiseCertain,
		})
	}
	if len(resolved.Templates) == 0 {
		resolved.Templates = f.copied(members)
	}
	if len(resolved.Templates) == 0 && f.exists(group) {
		f.out.Groups = append(f.out.Groups, resolved) // its new nodes look as they did
		return
	}
	if len(resolved.Templates) == 0 {
		if !group.Spec.WithoutTemplate {
			f.where(groupKey(group.Metadata.Name)).bad("spec.template", "is required: the group has no node to copy it from")
			return
		}
		resolved.Templates = []cloudprovider.TemplateVariant{{Node: f.template(unknownMachine()), Weight: 1, Promise: cloudprovider.PromiseCertain}}
	}
	nameVariants(resolved.Templates)
	weights := make(map[string]int, len(resolved.Templates))
	for _, template := range resolved.Templates {
		weights[template.Key] = template.Weight
	}
	for _, node := range members {
		variant := VariantOf(node, resolved.Templates)
		resolved.ExistingVariants = append(resolved.ExistingVariants, variant)
		resolved.Target += weights[variant]
	}
	if group.Spec.TargetSize != nil {
		resolved.Target = *group.Spec.TargetSize
	}
	f.out.Groups = append(f.out.Groups, resolved)
}

// exists tells a group that takes the place of another one of its name.
func (f *finisher) exists(group *NodeGroup) bool {
	return slices.ContainsFunc(f.groups, func(g *NodeGroup) bool { return g != group && g.Metadata.Name == group.Metadata.Name })
}

// template is a fresh node of that look.
func (f *finisher) template(look *corev1.Node) *corev1.Node {
	node := look.DeepCopy()
	node.ObjectMeta = metav1.ObjectMeta{Labels: node.Labels, Annotations: node.Annotations}
	node.Spec.ProviderID = ""
	f.completeNode(node)
	node.UID, node.CreationTimestamp = "", metav1.Time{}
	delete(node.Labels, corev1.LabelHostname)
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastTransitionTime, node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}, metav1.Time{}
	}
	return node
}

// copied are templates made from a group's nodes: of each zone, the first by name.
func (f *finisher) copied(members []*corev1.Node) []cloudprovider.TemplateVariant {
	sorted := slices.SortedFunc(slices.Values(members), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	seen := map[string]bool{}
	var variants []cloudprovider.TemplateVariant
	for _, example := range sorted {
		zone := example.Labels[corev1.LabelTopologyZone]
		if seen[zone] {
			continue
		}
		seen[zone] = true
		node := example.DeepCopy()
		node.Annotations = nil
		node.Spec = corev1.NodeSpec{Taints: taints.Rules{}.Lasting(node.Spec.Taints)}
		node.Status = corev1.NodeStatus{Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable, NodeInfo: node.Status.NodeInfo}
		variants = append(variants, cloudprovider.TemplateVariant{
			Node: f.template(node), CSINode: csiNodeOf(f.out.CSINodes, example.Name), Weight: 1, Promise: cloudprovider.PromiseCertain,
		})
	}
	return variants
}

// csiNodeOf is a fresh CSINode with the drivers that the node has; nil if it has no CSINode.
func csiNodeOf(all []*storagev1.CSINode, node string) *storagev1.CSINode {
	for _, csiNode := range all {
		if csiNode.Name == node {
			return &storagev1.CSINode{Spec: *csiNode.Spec.DeepCopy()}
		}
	}
	return nil
}

// unknownMachine is what a cloud makes that can't say what it makes, in a group that nobody has seen a node of.
func unknownMachine() *corev1.Node {
	node := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
	}}}
	completeCapacity(node)
	return node
}

// VariantOf is the key of the template that a node looks like: the first of the same zone and type, else of the same zone, else the first of
// all. There must be a template.
func VariantOf(node *corev1.Node, templates []cloudprovider.TemplateVariant) string {
	same := func(t cloudprovider.TemplateVariant, label string) bool {
		return t.Node.Labels[label] == node.Labels[label]
	}
	inZone := ""
	for _, t := range templates {
		switch {
		case !same(t, corev1.LabelTopologyZone):
		case same(t, corev1.LabelInstanceTypeStable):
			return t.Key
		case inZone == "":
			inZone = t.Key
		}
	}
	if inZone == "" {
		return templates[0].Key
	}
	return inZone
}

// nameVariants gives the templates of a group keys of their own, which say what sets them apart.
func nameVariants(variants []cloudprovider.TemplateVariant) {
	taken := map[string]bool{}
	for i := range variants {
		node := variants[i].Node
		name := node.Labels[corev1.LabelTopologyZone]
		if name == "" {
			name = "default"
		}
		if kind := node.Labels[corev1.LabelInstanceTypeStable]; taken[name] && kind != "" {
			name += "/" + kind
		}
		unique := name
		for n := 2; taken[unique]; n++ {
			unique = fmt.Sprintf("%s#%d", name, n)
		}
		taken[unique], variants[i].Key = true, unique
	}
}
