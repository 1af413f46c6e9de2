package cloud

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// awsServer is the part of the AWS stand-in that machines are read from.
type awsServer interface {
	Instances() []awstest.Instance
	Groups() []awstest.Group
	Nodegroups() []awstest.Nodegroup
	InstanceType(name string) (instancetypes.Type, bool)
	Changed() <-chan struct{}
}

// AWS shows the instances of Auto Scaling groups as machines. Their kubelets have the labels, taints and resources that the
// node-template tags of their group promise, as an administrator would keep them equal, and those of the EKS managed node group that owns it, as EKS
// does.
type AWS struct {
	server awsServer
	region string
}

// NewAWS shows the instances of a stand-in that serves a region.
func NewAWS(server awsServer, region string) *AWS { return &AWS{server: server, region: region} }

// Changed is closed at the next change of an instance.
func (a *AWS) Changed() <-chan struct{} { return a.server.Changed() }

// Machines lists the instances of all groups. A tag that a kubelet wouldn't accept is an error: the stand-in was set up wrongly.
func (a *AWS) Machines() ([]Machine, error) {
	tags := map[string]groupTags{}
	for _, group := range a.server.Groups() {
		parsed, err := a.traits(group)
		if err != nil {
			return nil, err
		}
		tags[group.Name] = parsed
	}
	var machines []Machine
	for _, i := range a.server.Instances() {
		m, err := a.machine(i.Type, i.Zone, tags[i.Group])
		if err != nil {
			return nil, fmt.Errorf("reading instance %s: %w", i.ID, err)
		}
		m.ProviderID, m.NodeName, m.Address = i.ProviderID(), i.PrivateDNSName, i.PrivateIP
		m.Running = i.Machine == awstest.MachineRunning
		machines = append(machines, m)
	}
	return machines, nil
}

// machine is one of a type in a zone, of a group with the tags. It has no identity yet.
func (a *AWS) machine(instanceType, zone string, tags groupTags) (Machine, error) {
	t, ok := a.server.InstanceType(instanceType)
	if !ok {
		return Machine{}, fmt.Errorf("the stand-in doesn't know its type %q", instanceType)
	}
	return Machine{
		Type: instanceType, Region: a.region, Zone: zone, Size: sizeOf(t),
		Labels: tags.labels, Taints: tags.taints, Resources: tags.resources,
	}, nil
}

// Template is what the Node of a group's next machine will look like, if that is of the type and in the zone: without a name and without all
// else that only one machine has.
func (a *AWS) Template(group awstest.Group, instanceType, zone string) (*corev1.Node, error) {
	tags, err := a.traits(group)
	if err != nil {
		return nil, err
	}
	m, err := a.machine(instanceType, zone, tags)
	if err != nil {
		return nil, fmt.Errorf("making a template for group %s: %w", group.Name, err)
	}
	return m.template(), nil
}

// Limits that kubelets on AWS have when nobody says otherwise.
const (
	maxPods     = 110
	rootDiskGiB = 20
)

// sizeOf tells what a machine of a type offers, with one address per pod from the machine's network interfaces.
func sizeOf(t instancetypes.Type) Size {
	size := Size{VCPUs: t.VCPUs, MemoryMiB: t.MemoryMiB, Architecture: t.Architecture, Pods: maxPods, DiskGiB: rootDiskGiB}
	if t.ENIs > 0 && t.IPv4PerENI > 0 {
		size.Pods = min(maxPods, t.ENIs*(t.IPv4PerENI-1)+2)
	}
	if t.GPUManufacturer == "NVIDIA" {
		size.GPUs = t.GPUs
	}
	return size
}

// traits is what the nodes of a group have of its tags and of EKS.
func (a *AWS) traits(group awstest.Group) (groupTags, error) {
	parsed, err := parseTags(group.Tags)
	if err != nil {
		return groupTags{}, fmt.Errorf("reading the tags of group %s: %w", group.Name, err)
	}
	owner := map[string]string{}
	for _, tag := range group.Tags {
		owner[tag.Key] = tag.Value
	}
	for _, n := range a.server.Nodegroups() {
		if n.Cluster == owner[eksCluster] && n.Name == owner[eksNodegroup] {
			parsed.join(n)
		}
	}
	return parsed, nil
}

// Tags by which EKS marks the Auto Scaling groups of a managed node group, and a label that it gives to nodes (aws §7.6).
const (
	eksCluster   = "eks:cluster-name"
	eksNodegroup = "eks:nodegroup-name"
	eksLabel     = "eks.amazonaws.com/nodegroup"
)

// join adds what EKS gives to the nodes of a managed node group.
func (g *groupTags) join(n awstest.Nodegroup) {
	g.labels[eksLabel] = n.Name
	maps.Copy(g.labels, n.Labels)
	effects := map[string]corev1.TaintEffect{
		"NO_SCHEDULE": corev1.TaintEffectNoSchedule, "NO_EXECUTE": corev1.TaintEffectNoExecute, "PREFER_NO_SCHEDULE": corev1.TaintEffectPreferNoSchedule,
	}
	for _, t := range n.Taints {
		g.taints = append(g.taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: effects[t.Effect]})
	}
}

// groupTags is what a group's tags say about its nodes.
type groupTags struct {
	labels    map[string]string
	taints    []corev1.Taint
	resources corev1.ResourceList
}

// Tag keys (aws §7.7) that describe nodes.
const (
	labelPrefix    = "k8s.io/cluster-autoscaler/node-template/label/"
	taintPrefix    = "k8s.io/cluster-autoscaler/node-template/taint/"
	resourcePrefix = "k8s.io/cluster-autoscaler/node-template/resources/"
)

func parseTags(tags []awstest.Tag) (groupTags, error) {
	parsed := groupTags{labels: map[string]string{}, resources: corev1.ResourceList{}}
	for _, tag := range tags {
		if key, ok := strings.CutPrefix(tag.Key, labelPrefix); ok {
			parsed.labels[key] = tag.Value
		}
		if key, ok := strings.CutPrefix(tag.Key, taintPrefix); ok {
			cut := strings.LastIndex(tag.Value, ":")
			if cut < 0 {
				return groupTags{}, fmt.Errorf("tag %s: value %q isn't VALUE:EFFECT", tag.Key, tag.Value)
			}
			parsed.taints = append(parsed.taints, corev1.Taint{Key: key, Value: tag.Value[:cut], Effect: corev1.TaintEffect(tag.Value[cut+1:])})
		}
		if key, ok := strings.CutPrefix(tag.Key, resourcePrefix); ok {
			quantity, err := resource.ParseQuantity(tag.Value)
			if err != nil {
				return groupTags{}, fmt.Errorf("tag %s: value %q: %w", tag.Key, tag.Value, err)
			}
			parsed.resources[corev1.ResourceName(key)] = quantity
		}
	}
	return parsed, nil
}
