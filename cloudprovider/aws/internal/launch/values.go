package launch

import (
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/userdata"
)

// Template is a version of a launch template, or a launch configuration.
type Template struct {
	ImageID      string // may also be an alias that starts with resolve: and that could not be resolved
	InstanceType string // empty: none is named
	// Requirements are the attributes by which AWS chooses the type; empty: it doesn't.
	Requirements asg.Requirements
	// Aliased tells that ImageID was found behind an alias, which may come to mean another image.
	Aliased bool
	// Spot tells that machines are bought as spot instances.
	Spot    bool
	Volumes []Volume
	VCPUs   int // cores × threads where the template sets them; 0: as the type has
	// EFAInterfaces is how many interfaces of that kind the template asks for.
	EFAInterfaces int
	// UserData is what the script or document for the first boot says; the zero value: nothing that is understood.
	UserData userdata.Settings
}

// Volume is a disk that a machine starts with.
type Volume struct {
	Device string // for example /dev/xvda
	GiB    int64
}

// Image is an AMI. The zero value says that nothing is known.
type Image struct {
	Name           string
	Windows        bool
	Architecture   string // x86_64, arm64 or another word of EC2; empty: not known
	Virtualization string // hvm or paravirtual; empty: not known
	RootDevice     string
	Volumes        []Volume
}

// Bottlerocket tells whether the image is one of Bottlerocket, by its name.
func (i Image) Bottlerocket() bool { return strings.HasPrefix(i.Name, "bottlerocket-") }

// EKS tells whether the image is one that AWS makes for EKS, by its name.
func (i Image) EKS() bool {
	return strings.HasPrefix(i.Name, "amazon-eks-") || strings.HasPrefix(i.Name, "bottlerocket-aws-k8s-") || i.Windows && strings.Contains(i.Name, "EKS_Optimized")
}

// WindowsRelease is the year in the name of an image of Windows Server, for example 2022; empty: it has none.
func (i Image) WindowsRelease() string {
	rest, ok := strings.CutPrefix(i.Name, "Windows_Server-")
	if !ok {
		return ""
	}
	year, _, _ := strings.Cut(rest, "-")
	return year
}

// Zone is what is known about an Availability Zone, Local Zone or Wavelength Zone.
type Zone struct {
	Name   string // for example eu-west-1a
	ID     string // for example euw1-az2
	Region string // that it belongs to
}

// Machine is an instance type with the facts that the built-in list lacks.
type Machine struct {
	instancetypes.Type
	// NeuronCores is how many cores the Neuron devices have in all; 0: none, or not known.
	NeuronCores int
}

// Choice is one kind of machine that a group can start.
type Choice struct {
	// Type is the name of the instance type; empty where neither template nor policy names one.
	Type string
	// Machine is what the type offers; Known is false for a type that neither EC2 nor the built-in list knows.
	Machine Machine
	Known   bool
	// Weight is how many units such a machine counts; 0: the group has no weights.
	Weight   int
	Template Template
	Image    Image
	// Zones are the zones that offer the type; nil: not known.
	Zones []string
}

// Facts is all that is known about the machines of a group.
type Facts struct {
	Choices []Choice // at least one, the preferred first
	// Source names the launch template or configuration, for messages.
	Source string
	// ByRequirements tells that AWS chooses the types by attributes. Where those that fit are not known there is one Choice without a type, and Unlisted
	// says why.
	ByRequirements bool
	Unlisted       error
}

// sourceOf names where a group's machines come from.
func sourceOf(l asg.Launch) string {
	if l.Configuration != "" {
		return "launch configuration " + l.Configuration
	}
	return "launch template " + l.Template.String()
}
