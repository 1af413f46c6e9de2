package awstest

import (
	"cmp"
	"slices"
	"strconv"
)

// LaunchTemplate is an EC2 launch template with all its versions.
type LaunchTemplate struct {
	ID       string // empty: made up
	Name     string
	Default  int // number of the default version; 0: the first one
	Versions []LaunchTemplateVersion
}

// LaunchTemplateVersion is what one version says. Zero fields are left out of the answer.
type LaunchTemplateVersion struct {
	Number            int // 0: one more than the version before
	InstanceType      string
	Requirements      *Requirements // instead of InstanceType
	ImageID           string        // an AMI id, or resolve:ssm: and a parameter name (PutImageAlias)
	UserData          string        // base64, as the API has it
	Spot              bool
	SpotMaxPrice      string // USD per hour as text; empty: none
	CapacityBlock     bool   // the market is capacity-block
	BlockDevices      []BlockDevice
	CPUCores          int // CpuOptions
	CPUThreadsPerCore int
	EFAInterfaces     int                // network interfaces of type efa, one per network card
	NetworkInterfaces []NetworkInterface // further ones
	InstanceTags      map[string]string  // tag specification for instances

	CapacityReservation           string // preference: open, none, capacity-reservations-only
	PlacementGroup                string
	Tenancy                       string // default, dedicated, host
	InstanceProfile               string // name
	MetadataHopLimit              int
	RequiresMetadataToken         bool // IMDSv2 only
	HibernationSupport, EnclaveOn bool
}

// NetworkInterface is one network interface of a launch template.
type NetworkInterface struct {
	Type   string // interface, efa or efa-only; empty: left out, which means interface
	Card   int    // index of the network card
	Device int    // index of the device on the card
	Subnet string // empty: left out
}

// BlockDevice is one disk of a launch template, launch configuration or image.
type BlockDevice struct {
	DeviceName string
	SizeGiB    int
	VolumeType string // for example gp3; empty: left out
	IOPS       int    // 0: left out
	Throughput int    // MiB per second; 0: left out
	SnapshotID string // empty: left out
}

// LaunchConfiguration is the older kind of template, which has no versions.
type LaunchConfiguration struct {
	Name         string
	InstanceType string
	ImageID      string
	SpotPrice    string // USD per hour as text; empty: on demand
	UserData     string
	BlockDevices []BlockDevice
}

// Image is an AMI.
type Image struct {
	ID           string
	Architecture string // EC2's name: x86_64, arm64; empty: x86_64
	Windows      bool
	BlockDevices []BlockDevice // the first one is the root device, unless RootDevice says otherwise
	RootDevice   string        // name of the root device; empty: that of the first one
	Details      string        // platformDetails; empty: Linux/UNIX or Windows
	Name         string        // empty: left out
	Paravirtual  bool          // virtualizationType paravirtual instead of hvm
	Gone         bool          // deregistered: launches fail and lookups say that there is none
}

// latest is the newest version, or false for a template without any.
func (t LaunchTemplate) latest() (LaunchTemplateVersion, bool) {
	if len(t.Versions) == 0 {
		return LaunchTemplateVersion{}, false
	}
	return slices.MaxFunc(t.Versions, func(a, b LaunchTemplateVersion) int { return cmp.Compare(a.Number, b.Number) }), true
}

// version resolves a number, $Latest, $Default or nothing, which means $Default.
func (t LaunchTemplate) version(name string) (LaunchTemplateVersion, bool) {
	if name == "$Latest" {
		return t.latest()
	}
	want := t.Default
	if name != "" && name != "$Default" {
		n, err := strconv.Atoi(name)
		if err != nil {
			return LaunchTemplateVersion{}, false
		}
		want = n
	}
	for _, v := range t.Versions {
		if v.Number == want {
			return v, true
		}
	}
	return LaunchTemplateVersion{}, false
}

// numbered gives every version a number and the template a default one.
func (t LaunchTemplate) numbered() LaunchTemplate {
	t.Versions = slices.Clone(t.Versions)
	last := 0
	for i := range t.Versions {
		if t.Versions[i].Number == 0 {
			t.Versions[i].Number = last + 1
		}
		last = t.Versions[i].Number
	}
	if t.Default == 0 && len(t.Versions) > 0 {
		t.Default = t.Versions[0].Number
	}
	return t
}

// template finds a launch template by id or, without one, by name.
func (w *world) template(id, name string) (LaunchTemplate, bool) {
	if id != "" {
		t, ok := w.templates[id]
		return t, ok
	}
	for _, t := range w.templates {
		if name != "" && t.Name == name {
			return t, true
		}
	}
	return LaunchTemplate{}, false
}

// completeRefs fills in the missing one of id and name in a group's references to known templates.
func (w *world) completeRefs(g *group) {
	g.Group = g.clone() // views share what is behind its pointers
	if g.LaunchTemplate != nil {
		*g.LaunchTemplate = w.completed(*g.LaunchTemplate)
	}
	if g.MixedInstances == nil {
		return
	}
	g.MixedInstances.LaunchTemplate = w.completed(g.MixedInstances.LaunchTemplate)
	for i, o := range g.MixedInstances.Overrides {
		if o.LaunchTemplate != nil {
			ref := w.completed(*o.LaunchTemplate)
			g.MixedInstances.Overrides[i].LaunchTemplate = &ref
		}
	}
}

// completed fills in the missing one of a reference's id and name.
func (w *world) completed(ref LaunchTemplateRef) LaunchTemplateRef {
	if t, ok := w.template(ref.ID, ref.Name); ok {
		ref.ID, ref.Name = t.ID, t.Name
	}
	return ref
}
