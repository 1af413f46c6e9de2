package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
)

// Source is all that a template depends on.
type Source struct {
	Group  string
	Region string        // where a zone tells none
	Zones  []launch.Zone // at least the name of each is known
	Facts  launch.Facts
	Tags   nodetags.Tags // of the Auto Scaling group
	// Managed is what EKS says about the group; nil: EKS doesn't manage it, or the tags have to stand in for what EKS doesn't say.
	Managed *managed.Description
	Now     time.Time // for the conditions of the node
}

// The labels that AWS nodes carry beyond those of Kubernetes itself.
const (
	labelEBSZone         = "topology.ebs.csi.aws.com/zone"
	labelZoneID          = "topology.k8s.aws/zone-id"
	labelNodeGroup       = "eks.amazonaws.com/nodegroup"
	labelImage           = "eks.amazonaws.com/nodegroup-image"
	labelCapacityType    = "eks.amazonaws.com/capacityType"
	labelTemplateID      = "eks.amazonaws.com/sourceLaunchTemplateId"
	labelTemplateVersion = "eks.amazonaws.com/sourceLaunchTemplateVersion"
)

// Variants makes one template per zone and instance type, zones first, without those that AWS doesn't offer there. Of very many types it takes those
// that bound the others from below. They are certain where the group can start only one kind of machine in each zone, and where all of its labels and
// taints are known. The error is for the operator: it says what is missing and where to add it.
func Variants(s Source) ([]cloudprovider.TemplateVariant, error) {
	shapes, err := s.shapes()
	if err != nil {
		return nil, err
	}
	promise := cloudprovider.PromiseCertain
	if len(s.Facts.Choices) > 1 || s.Facts.ByRequirements || s.Tags.Managed() && s.Managed == nil {
		promise = cloudprovider.PromisePossible
	}
	var variants []cloudprovider.TemplateVariant
	for _, zone := range s.Zones {
		for i := range shapes {
			if !s.offered(zone, shapes[i]) {
				continue
			}
			key := zone.Name
			if len(s.Facts.Choices) > 1 {
				key += "/" + shapes[i].choice.Type
			}
			node := s.node(key, zone, shapes[i])
			// The sizes of the group are told in machines, whatever the machines weigh for AWS: each counts one.
			variants = append(variants, cloudprovider.TemplateVariant{Key: key, Node: node, Pods: pods(node, shapes[i].system), Weight: 1, Promise: promise})
		}
	}
	return variants, nil
}

// shape is one kind of machine and what pods find on it.
type shape struct {
	choice                launch.Choice
	system                system
	tags                  nodetags.Tags
	capacity, allocatable corev1.ResourceList
}

// shapes reckons the kinds of machines that the variants stand for.
func (s Source) shapes() ([]shape, error) {
	if len(s.Zones) == 0 {
		return nil, errors.New("AWS tells no Availability Zone for it")
	}
	tags := s.joined()
	var shapes []shape
	for _, choice := range s.choices(tags) {
		if err := s.check(tags, choice); err != nil {
			return nil, err
		}
		sh := shape{choice: choice, tags: tags, system: s.systemOf(tags, choice)}
		sh.capacity, sh.allocatable = s.resources(tags, sh)
		shapes = append(shapes, sh)
	}
	return s.bounding(shapes), nil
}

// joined is what the tags and EKS say together.
func (s Source) joined() nodetags.Tags {
	if s.Managed == nil {
		return s.Tags
	}
	return s.Tags.With(nodetags.Parse(s.Managed.Tags), s.Managed.Labels, s.Managed.Taints)
}

// choices leaves out types that nobody knows where AWS chooses among others too: there are always new ones.
func (s Source) choices(tags nodetags.Tags) []launch.Choice {
	known := slices.DeleteFunc(slices.Clone(s.Facts.Choices), func(c launch.Choice) bool { return s.check(tags, c) != nil })
	if s.Facts.ByRequirements && len(known) > 0 {
		return known
	}
	return s.Facts.Choices
}

// offered tells whether AWS offers a machine in a zone. Should it offer none of them anywhere in the group, what it tells is not about these zones.
func (s Source) offered(zone launch.Zone, sh shape) bool {
	has := func(z launch.Zone, c launch.Choice) bool { return c.Zones == nil || slices.Contains(c.Zones, z.Name) }
	if has(zone, sh.choice) {
		return true
	}
	return !slices.ContainsFunc(s.Zones, func(z launch.Zone) bool {
		return slices.ContainsFunc(s.Facts.Choices, func(c launch.Choice) bool { return has(z, c) })
	})
}

// check tells what is missing to know a machine's size.
func (s Source) check(tags nodetags.Tags, choice launch.Choice) error {
	_, cpu := tags.Resources[corev1.ResourceCPU]
	_, memory := tags.Resources[corev1.ResourceMemory]
	named := choice.Type != "" || s.Facts.ByRequirements
	if named && (choice.Known || cpu && memory) {
		return nil
	}
	byTags := fmt.Sprintf("give the group the tags %s and %s", nodetags.ResourceTag(corev1.ResourceCPU), nodetags.ResourceTag(corev1.ResourceMemory))
	switch {
	case !named:
		return fmt.Errorf("%s names no instance type: name one there, or in a mixed instances policy of the group", s.Facts.Source)
	case s.Facts.ByRequirements && s.Facts.Unlisted != nil:
		return fmt.Errorf("%s lets AWS choose the instance type by requirements, and the types that fit are not known (%w): put that right, or %s",
			s.Facts.Source, s.Facts.Unlisted, byTags)
	default:
		return fmt.Errorf("the instance type %s of %s is known neither to EC2 in region %s nor to the built-in list: correct it, or %s", choice.Type, s.Facts.Source, s.Region, byTags)
	}
}

func (s Source) node(key string, zone launch.Zone, sh shape) *corev1.Node {
	name := nodeName(s.Group, key)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: s.labels(name, zone, sh)},
		Spec:       corev1.NodeSpec{Taints: append([]corev1.Taint(nil), sh.tags.Taints...)},
		Status:     corev1.NodeStatus{Capacity: sh.capacity.DeepCopy(), Allocatable: sh.allocatable.DeepCopy(), Conditions: Conditions(s.Now)},
	}
}

func (s Source) labels(name string, zone launch.Zone, sh shape) map[string]string {
	region := zone.Region
	if region == "" {
		region = s.Region
	}
	labels := map[string]string{
		corev1.LabelOSStable:       sh.system.name(),
		"beta.kubernetes.io/os":    sh.system.name(),
		corev1.LabelTopologyRegion: region,
		corev1.LabelTopologyZone:   zone.Name,
		labelEBSZone:               zone.Name,
		corev1.LabelHostname:       name,
	}
	set := func(key, value string) {
		if value != "" {
			labels[key] = value
		}
	}
	set(labelZoneID, zone.ID)
	set(corev1.LabelArchStable, sh.system.architecture)
	set("beta.kubernetes.io/arch", sh.system.architecture)
	set(corev1.LabelInstanceTypeStable, sh.choice.Type)
	set(corev1.LabelWindowsBuild, sh.system.build)
	s.addEKSLabels(set, sh)
	maps.Copy(labels, sh.tags.Labels)
	return labels
}

// addEKSLabels adds those that EKS gives the nodes by itself.
func (s Source) addEKSLabels(set func(key, value string), sh shape) {
	set(labelNodeGroup, s.Tags.EKSNodeGroup)
	if s.Managed == nil {
		return
	}
	set(labelCapacityType, s.Managed.CapacityType)
	set(labelTemplateID, s.Managed.Template.ID)
	if s.Managed.Template.ID != "" {
		set(labelTemplateVersion, s.Managed.Template.Version)
	}
	if strings.HasPrefix(sh.choice.Template.ImageID, "ami-") {
		set(labelImage, sh.choice.Template.ImageID)
	}
}

// nodeName makes a name that a node may have out of one that a group may have.
func nodeName(group, key string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, group+"-"+key)
	const longest = 63 - len("template-")
	if len(name) > longest {
		name = name[len(name)-longest:] // the end tells the variants of a group apart
	}
	return "template-" + strings.Trim(name, "-")
}

// Conditions are those of a node that has just become ready.
func Conditions(now time.Time) []corev1.NodeCondition {
	since := metav1.NewTime(now.Add(-time.Minute))
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, LastHeartbeatTime: since, LastTransitionTime: since}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue),
		condition(corev1.NodeNetworkUnavailable, corev1.ConditionFalse),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse),
	}
}
