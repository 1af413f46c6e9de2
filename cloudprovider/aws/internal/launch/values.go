package launch

import (
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// Template is a version of a launch template, or a launch configuration.
type Template struct {
	ImageID      string // may also be an alias that starts with resolve:
	InstanceType string // empty: none is named
	// Requirements tells that AWS chooses the type by attributes.
	Requirements bool
	// Spot tells that machines are bought as spot instances.
	Spot    bool
	Volumes []Volume
	VCPUs   int // cores × threads where the template sets them; 0: as the type has
	// EFAInterfaces is how many interfaces of that kind the template asks for.
	EFAInterfaces int
}

// Volume is a disk that a machine starts with.
type Volume struct {
	Device string // for example /dev/xvda
	GiB    int64
}

// Image is an AMI. The zero value says that nothing is known.
type Image struct {
	Windows    bool
	RootDevice string
	Volumes    []Volume
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
}

// Facts is all that is known about the machines of a group.
type Facts struct {
	Choices []Choice // at least one, the preferred first
	// Source names the launch template or configuration, for messages.
	Source string
	// ByRequirements tells that AWS chooses the types by attributes; there is one Choice without a type then.
	ByRequirements bool
}

// sourceOf names where a group's machines come from.
func sourceOf(l asg.Launch) string {
	if l.Configuration != "" {
		return "launch configuration " + l.Configuration
	}
	return "launch template " + l.Template.String()
}
