package awstest

import (
	"slices"
	"strconv"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// Range is a minimum and a maximum. Max 0 means no maximum.
type Range struct{ Min, Max int }

func (r Range) isZero() bool { return r == Range{} }

// holds tells whether a count lies in the range. A count that isn't known lies in any.
func (r Range) holds(n int) bool {
	return n == instancetypes.Unknown || n >= r.Min && (r.Max == 0 || n <= r.Max)
}

// Requirements is attribute-based instance selection. Zero fields ask for nothing, except as noted. Told is what this package can't judge:
// it is told to clients, and has no effect on the choice.
type Requirements struct {
	VCPUs                    Range
	MemoryMiB                Range
	MemoryMiBPerVCPU         Range    // the API has GiB
	CPUManufacturers         []string // intel, amd, amazon-web-services, apple
	AllowedInstanceTypes     []string // names with * for anything
	ExcludedInstanceTypes    []string
	Generations              []string // current, previous
	BareMetal                string   // included, required; anything else: excluded
	BurstablePerformance     string   // included, required; anything else: excluded
	LocalStorage             string   // required, excluded; anything else: included
	TotalLocalStorageGB      Range
	NetworkInterfaces        Range
	Accelerators             Range    // count; Max 0 with Min 0 asks for nothing
	AcceleratorTypes         []string // gpu, inference
	AcceleratorManufacturers []string // nvidia, amd, habana, amazon-web-services
	AcceleratorNames         []string // for example t4, a10g
	Told                     ToldRequirements
}

// ToldRequirements are the attributes that are told to clients without an effect on the choice. Zero fields are left out.
type ToldRequirements struct {
	RequireHibernateSupport, RequireEncryptionInTransit bool
	NetworkBandwidthGbps                                Range
	LocalStorageTypes                                   []string // hdd, ssd
	BaselineEBSBandwidthMbps                            Range
	AcceleratorTotalMemoryMiB                           Range
	SpotMaxPricePercentageOverLowestPrice               int
	MaxSpotPriceAsPercentageOfOptimalOnDemandPrice      int
	OnDemandMaxPricePercentageOverLowestPrice           int
	BaselineFamilies                                    []string // instance families of baselinePerformanceFactors
}

// matches tells whether a type of the given architectures fits.
func (r Requirements) matches(t instancetypes.Type) bool {
	maker, current := strings.ToLower(strings.ReplaceAll(cpuManufacturer(t), " ", "-")), "previous"
	if currentGeneration(t) {
		current = "current"
	}
	switch {
	case !r.VCPUs.holds(t.VCPUs), !r.MemoryMiB.holds(int(t.MemoryMiB)), !r.MemoryMiBPerVCPU.holds(int(t.MemoryMiB) / t.VCPUs),
		!r.NetworkInterfaces.holds(t.ENIs), !r.TotalLocalStorageGB.holds(t.LocalStorageGB):
		return false
	case len(r.CPUManufacturers) > 0 && !slices.Contains(r.CPUManufacturers, maker),
		len(r.Generations) > 0 && !slices.Contains(r.Generations, current):
		return false
	case !allows(r.BareMetal, "excluded", t.BareMetal()), !allows(r.BurstablePerformance, "excluded", t.Burstable()),
		!allows(r.LocalStorage, "included", t.LocalStorageGB != 0):
		return false
	case len(r.AllowedInstanceTypes) > 0 && !anyGlob(r.AllowedInstanceTypes, t.Name), anyGlob(r.ExcludedInstanceTypes, t.Name):
		return false
	}
	return r.acceleratorsMatch(t)
}

func (r Requirements) acceleratorsMatch(t instancetypes.Type) bool {
	if r.Accelerators.isZero() && len(r.AcceleratorTypes)+len(r.AcceleratorManufacturers)+len(r.AcceleratorNames) == 0 {
		return t.LogicalGPUs() == 0 && t.NeuronDevices <= 0 // the service leaves accelerated types out unless asked for them
	}
	kind, maker, name, n := "gpu", strings.ToLower(t.GPUManufacturer), acceleratorName(t.GPUModel), t.LogicalGPUs()
	if t.NeuronDevices > 0 {
		kind, maker, n = "inference", "amazon-web-services", t.NeuronDevices
		name = strings.ToLower(neuronName(t))
	}
	return n > 0 && r.Accelerators.holds(n) &&
		(len(r.AcceleratorTypes) == 0 || slices.Contains(r.AcceleratorTypes, kind)) &&
		(len(r.AcceleratorManufacturers) == 0 || slices.Contains(r.AcceleratorManufacturers, maker)) &&
		(len(r.AcceleratorNames) == 0 || slices.Contains(r.AcceleratorNames, name))
}

// acceleratorName is the spelling of requirements for a model: lower case with dashes.
func acceleratorName(model string) string {
	return strings.ToLower(strings.ReplaceAll(model, " ", "-"))
}

// allows judges an included/excluded/required attribute.
func allows(setting, otherwise string, has bool) bool {
	if setting == "" {
		setting = otherwise
	}
	switch setting {
	case "required":
		return has
	case "excluded":
		return !has
	}
	return true
}

// anyGlob tells whether a text matches one of the patterns, in which * stands for anything.
func anyGlob(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return glob(pattern, text) })
}

func glob(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	parts := strings.Split(rest, "*")
	text = text[len(head):]
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, last)
}

// requirementsFrom reads the InstanceRequirements of an EC2 request.
func requirementsFrom(p params) (Requirements, error) {
	const prefix = "InstanceRequirements."
	var r Requirements
	ranges := map[string]*Range{
		"VCpuCount": &r.VCPUs, "MemoryMiB": &r.MemoryMiB, "TotalLocalStorageGB": &r.TotalLocalStorageGB,
		"NetworkInterfaceCount": &r.NetworkInterfaces, "AcceleratorCount": &r.Accelerators, "MemoryGiBPerVCpu": &r.MemoryMiBPerVCPU,
	}
	for name, into := range ranges {
		for bound, value := range map[string]*int{"Min": &into.Min, "Max": &into.Max} {
			key := prefix + name + "." + bound
			raw := p.value(key)
			if raw == "" {
				continue
			}
			n, err := strconv.ParseFloat(raw, 64)
			if err != nil || n < 0 {
				return Requirements{}, failure(400, "InvalidParameterValue", "Value (%s) for parameter %s is invalid.", raw, key)
			}
			if name == "MemoryGiBPerVCpu" {
				n *= 1024
			}
			*value = int(n)
		}
	}
	for name, into := range map[string]*[]string{
		"CpuManufacturer": &r.CPUManufacturers, "AllowedInstanceType": &r.AllowedInstanceTypes, "ExcludedInstanceType": &r.ExcludedInstanceTypes,
		"InstanceGeneration": &r.Generations, "AcceleratorType": &r.AcceleratorTypes,
		"AcceleratorManufacturer": &r.AcceleratorManufacturers, "AcceleratorName": &r.AcceleratorNames,
	} {
		*into = p.list(prefix + name)
	}
	r.BareMetal, r.BurstablePerformance = p.value(prefix+"BareMetal"), p.value(prefix+"BurstablePerformance")
	r.LocalStorage = p.value(prefix + "LocalStorage")
	if r.VCPUs.isZero() || r.MemoryMiB.isZero() {
		for _, name := range []string{"VCpuCount", "MemoryMiB"} {
			if p.value(prefix+name+".Min") == "" {
				return Requirements{}, failure(400, "MissingParameter", "The request must contain the parameter %s%s.Min", prefix, name)
			}
		}
	}
	return r, nil
}

// spelling says how a service writes the elements of requirements.
type spelling struct {
	name func(string) string // of a scalar or range, given Auto Scaling's name
	list func(plural, singular string, values []string) element
	min  string
	max  string
}

// autoScalingSpelling writes VCpuCount/Min and CpuManufacturers/member.
func autoScalingSpelling() spelling {
	return spelling{
		name: func(s string) string { return s },
		list: func(plural, _ string, values []string) element { return texts(plural, "member", values) },
		min:  "Min", max: "Max",
	}
}

// ec2Spelling writes vCpuCount/min and cpuManufacturerSet/item.
func ec2Spelling() spelling {
	lower := func(s string) string { return strings.ToLower(s[:1]) + s[1:] }
	return spelling{
		name: lower,
		list: func(_, singular string, values []string) element { return texts(lower(singular)+"Set", "item", values) },
		min:  "min", max: "max",
	}
}

// xml renders the requirements in a service's spelling.
func (r Requirements) xml(tag string, s spelling) element {
	limits := func(name string, v Range, divide int) element {
		if v.isZero() {
			return element{}
		}
		bound := func(n int) string { return strconv.FormatFloat(float64(n)/float64(divide), 'f', -1, 64) }
		children := []element{text(s.min, bound(v.Min))}
		if v.Max > 0 {
			children = append(children, text(s.max, bound(v.Max)))
		}
		return node(s.name(name), children...)
	}
	return node(tag, append(r.Told.xml(s, limits),
		limits("VCpuCount", r.VCPUs, 1),
		limits("MemoryMiB", r.MemoryMiB, 1),
		limits("MemoryGiBPerVCpu", r.MemoryMiBPerVCPU, 1024),
		s.list("CpuManufacturers", "CpuManufacturer", r.CPUManufacturers),
		s.list("AllowedInstanceTypes", "AllowedInstanceType", r.AllowedInstanceTypes),
		s.list("ExcludedInstanceTypes", "ExcludedInstanceType", r.ExcludedInstanceTypes),
		s.list("InstanceGenerations", "InstanceGeneration", r.Generations),
		optional(s.name("BareMetal"), r.BareMetal),
		optional(s.name("BurstablePerformance"), r.BurstablePerformance),
		optional(s.name("LocalStorage"), r.LocalStorage),
		limits("TotalLocalStorageGB", r.TotalLocalStorageGB, 1),
		limits("NetworkInterfaceCount", r.NetworkInterfaces, 1),
		limits("AcceleratorCount", r.Accelerators, 1),
		s.list("AcceleratorTypes", "AcceleratorType", r.AcceleratorTypes),
		s.list("AcceleratorManufacturers", "AcceleratorManufacturer", r.AcceleratorManufacturers),
		s.list("AcceleratorNames", "AcceleratorName", r.AcceleratorNames),
	)...)
}

// xml renders the attributes that have no effect.
func (r ToldRequirements) xml(s spelling, limits func(string, Range, int) element) []element {
	flag := func(name string, set bool) element {
		if !set {
			return element{}
		}
		return boolean(s.name(name), true)
	}
	families := element{}
	if len(r.BaselineFamilies) > 0 {
		reference := node(s.name("ReferenceSet"))
		if s.min == "Min" {
			reference.name = "Reference"
		}
		for _, family := range r.BaselineFamilies {
			reference.children = append(reference.children, node("item", text(s.name("InstanceFamily"), family)))
		}
		families = node(s.name("BaselinePerformanceFactors"), node(s.name("Cpu"), reference))
	}
	return []element{
		flag("RequireHibernateSupport", r.RequireHibernateSupport), flag("RequireEncryptionInTransit", r.RequireEncryptionInTransit),
		limits("NetworkBandwidthGbps", r.NetworkBandwidthGbps, 1), s.list("LocalStorageTypes", "LocalStorageType", r.LocalStorageTypes),
		limits("BaselineEbsBandwidthMbps", r.BaselineEBSBandwidthMbps, 1), limits("AcceleratorTotalMemoryMiB", r.AcceleratorTotalMemoryMiB, 1),
		positive(s.name("SpotMaxPricePercentageOverLowestPrice"), r.SpotMaxPricePercentageOverLowestPrice),
		positive(s.name("MaxSpotPriceAsPercentageOfOptimalOnDemandPrice"), r.MaxSpotPriceAsPercentageOfOptimalOnDemandPrice),
		positive(s.name("OnDemandMaxPricePercentageOverLowestPrice"), r.OnDemandMaxPricePercentageOverLowestPrice),
		families,
	}
}
