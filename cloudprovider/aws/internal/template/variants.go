package template

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
)

// Source is all that a template depends on.
type Source struct {
	Group  string
	Region string
	Zones  []string
	Facts  launch.Facts
	Tags   nodetags.Tags
	Now    time.Time // for the conditions of the node
}

// The labels that AWS nodes carry beyond those of Kubernetes itself.
const (
	labelEBSZone   = "topology.ebs.csi.aws.com/zone"
	labelNodeGroup = "eks.amazonaws.com/nodegroup"
)

// Variants makes one template per zone and instance type, zones first. They are certain where the group can start only one kind
// of machine in each zone, and where all of its labels and taints are known, which for managed node groups of EKS they are not.
// The error is for the operator: it says what is missing and where to add it.
func Variants(s Source) ([]cloudprovider.TemplateVariant, error) {
	if len(s.Zones) == 0 {
		return nil, errors.New("AWS tells no Availability Zone for it")
	}
	promise := cloudprovider.PromiseCertain
	if len(s.Facts.Choices) > 1 || s.Facts.ByRequirements || s.Tags.Managed() {
		promise = cloudprovider.PromisePossible
	}
	var variants []cloudprovider.TemplateVariant
	for _, zone := range s.Zones {
		for _, choice := range s.Facts.Choices {
			if err := s.check(choice); err != nil {
				return nil, err
			}
			key := zone
			if len(s.Facts.Choices) > 1 {
				key += "/" + choice.Type
			}
			node := s.node(key, zone, choice)
			// The sizes of the group are told in machines, whatever the machines weigh for AWS: each counts one.
			variants = append(variants, cloudprovider.TemplateVariant{Key: key, Node: node, Pods: pods(node, choice), Weight: 1, Promise: promise})
		}
	}
	return variants, nil
}

// check tells what is missing to know a machine's size.
func (s Source) check(choice launch.Choice) error {
	_, cpu := s.Tags.Resources[corev1.ResourceCPU]
	_, memory := s.Tags.Resources[corev1.ResourceMemory]
	byTags := fmt.Sprintf("give the group the tags %s and %s", nodetags.ResourceTag(corev1.ResourceCPU), nodetags.ResourceTag(corev1.ResourceMemory))
	switch {
	case choice.Type == "" && !s.Facts.ByRequirements:
		return fmt.Errorf("%s names no instance type: name one there, or in a mixed instances policy of the group", s.Facts.Source)
	case choice.Known, cpu && memory:
		return nil
	case s.Facts.ByRequirements:
		return fmt.Errorf("%s lets AWS choose the instance type by requirements, so the size of a fresh node is not known: %s", s.Facts.Source, byTags)
	default:
		return fmt.Errorf("the instance type %s of %s is known neither to EC2 in region %s nor to the built-in list: correct it, or %s", choice.Type, s.Facts.Source, s.Region, byTags)
	}
}

func (s Source) node(key, zone string, choice launch.Choice) *corev1.Node {
	capacity, allocatable := s.resources(choice)
	name := nodeName(s.Group, key)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: s.labels(name, zone, choice)},
		Spec:       corev1.NodeSpec{Taints: append([]corev1.Taint(nil), s.Tags.Taints...)},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: allocatable, Conditions: conditions(s.Now)},
	}
}

func (s Source) labels(name, zone string, choice launch.Choice) map[string]string {
	system := operatingSystem(choice)
	labels := map[string]string{
		corev1.LabelOSStable:       system,
		"beta.kubernetes.io/os":    system,
		corev1.LabelTopologyRegion: s.Region,
		corev1.LabelTopologyZone:   zone,
		labelEBSZone:               zone,
		corev1.LabelHostname:       name,
	}
	if choice.Known {
		labels[corev1.LabelArchStable] = choice.Machine.Architecture
		labels["beta.kubernetes.io/arch"] = choice.Machine.Architecture
	}
	if choice.Type != "" {
		labels[corev1.LabelInstanceTypeStable] = choice.Type
	}
	if s.Tags.Managed() {
		labels[labelNodeGroup] = s.Tags.EKSNodeGroup
	}
	maps.Copy(labels, s.Tags.Labels)
	return labels
}

func operatingSystem(choice launch.Choice) string {
	if choice.Image.Windows {
		return "windows"
	}
	return "linux"
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

func conditions(now time.Time) []corev1.NodeCondition {
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
