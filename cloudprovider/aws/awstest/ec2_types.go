package awstest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// describeInstanceTypes lists instance types: all, by name, or by filters.
func describeInstanceTypes(c *call) ([]element, error) {
	names, filters := c.params.list("InstanceType"), c.params.filters(EC2)
	switch {
	case len(names) > 100:
		return nil, c.invalid("The number of instance types (%d) is above 100.", len(names))
	case len(names) > 0 && c.params.value("MaxResults") != "":
		return nil, failure(http.StatusBadRequest, "InvalidParameterCombination", "The parameter MaxResults cannot be used with the parameter InstanceTypes")
	}
	var missing []string
	for _, name := range names {
		if _, ok := c.w.types[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, failure(http.StatusBadRequest, "InvalidInstanceType", "The following supplied instance types do not exist: [%s]", strings.Join(missing, ", "))
	}
	var found []instancetypes.Type
	for _, t := range c.w.types.sorted() {
		ok, err := typeFits(c, t, filters)
		if err != nil {
			return nil, err
		}
		if ok && (len(names) == 0 || slices.Contains(names, t.Name)) {
			found = append(found, t)
		}
	}
	found, next, err := page(c, found, func(t instancetypes.Type) string { return t.Name }, resultPages(5, 100))
	if err != nil {
		return nil, err
	}
	set := node("instanceTypeSet")
	for _, t := range found {
		set.children = append(set.children, node("item", typeXML(t)...))
	}
	return []element{set, optional("nextToken", next)}, nil
}

// typeFits judges a type by filters. Values may contain * for anything.
func typeFits(c *call, t instancetypes.Type, filters []filter) (bool, error) {
	for _, f := range filters {
		var facts []string
		switch f.name {
		case "instance-type":
			facts = []string{t.Name}
		case "processor-info.supported-architecture":
			facts = architectures(t)
		case "current-generation":
			facts = []string{strconv.FormatBool(currentGeneration(t))}
		case "bare-metal":
			facts = []string{strconv.FormatBool(t.BareMetal())}
		case "burstable-performance-supported":
			facts = []string{strconv.FormatBool(t.Burstable())}
		case "vcpu-info.default-vcpus":
			facts = []string{strconv.Itoa(t.VCPUs)}
		case "memory-info.size-in-mib":
			facts = []string{strconv.FormatInt(t.MemoryMiB, 10)}
		case "supported-usage-class":
			for _, class := range usageClasses(t) {
				facts = append(facts, string(class))
			}
		default:
			return false, c.invalid("The filter '%s' is invalid", f.name)
		}
		if !slices.ContainsFunc(facts, func(fact string) bool { return anyGlob(f.values, fact) }) {
			return false, nil
		}
	}
	return true, nil
}

// typeXML renders an instance type. What the list of types doesn't know is left out.
func typeXML(t instancetypes.Type) []element {
	threads := 2
	if t.Architecture == "arm64" || t.VCPUs == 1 {
		threads = 1
	}
	hypervisor := "nitro"
	switch {
	case t.BareMetal():
		hypervisor = ""
	case !currentGeneration(t):
		hypervisor = "xen"
	}
	return append([]element{
		text("instanceType", t.Name),
		boolean("currentGeneration", currentGeneration(t)),
		boolean("bareMetal", t.BareMetal()),
		boolean("burstablePerformanceSupported", t.Burstable()),
		optional("hypervisor", hypervisor),
		texts("supportedUsageClasses", "item", usageClasses(t)),
		texts("supportedVirtualizationTypes", "item", []string{"hvm"}),
		node("vCpuInfo", number("defaultVCpus", t.VCPUs), number("defaultCores", max(t.VCPUs/threads, 1)), number("defaultThreadsPerCore", threads)),
		node("memoryInfo", number("sizeInMiB", t.MemoryMiB)),
		node("processorInfo", texts("supportedArchitectures", "item", architectures(t)), text("manufacturer", cpuManufacturer(t))),
	}, devicesXML(t)...)
}

// usageClasses are the markets in which the type can be had.
func usageClasses(t instancetypes.Type) []Market {
	classes := []Market{OnDemand, Spot}
	if strings.HasPrefix(t.Family(), "mac") {
		return classes[:1]
	}
	if strings.HasPrefix(t.Family(), "p4") || strings.HasPrefix(t.Family(), "p5") || strings.HasPrefix(t.Family(), "trn") {
		classes = append(classes, CapacityBlock)
	}
	return classes
}

// devicesXML renders accelerators, disks and network interfaces.
func devicesXML(t instancetypes.Type) []element {
	var devices []element
	if t.GPUModel != "" {
		partition := element{}
		if t.GPUs == 0 {
			partition = text("gpuPartitionSize", "0.125")
		}
		devices = append(devices, node("gpuInfo", node("gpus", node("item", text("name", t.GPUModel),
			text("manufacturer", t.GPUManufacturer), number("count", t.GPUs), number("logicalGpuCount", t.LogicalGPUs()), partition))))
	}
	if t.Family() == "inf1" && t.NeuronDevices > 0 {
		// The one list of EC2 whose elements are called member.
		devices = append(devices, node("inferenceAcceleratorInfo", node("accelerators", node("member",
			text("name", "Inferentia"), text("manufacturer", "AWS"), number("count", t.NeuronDevices)))))
	}
	if t.NeuronDevices > 0 {
		devices = append(devices, node("neuronInfo", node("neuronDevices", node("item",
			text("name", neuronName(t)), number("count", t.NeuronDevices), node("coreInfo", number("count", neuronCores(t)), number("version", 2))))))
	}
	if t.LocalStorageGB != instancetypes.Unknown {
		devices = append(devices, boolean("instanceStorageSupported", t.LocalStorageGB > 0))
	}
	if t.LocalStorageGB > 0 {
		devices = append(devices, node("instanceStorageInfo", number("totalSizeInGB", t.LocalStorageGB),
			node("disks", node("item", number("sizeInGB", t.LocalStorageGB), number("count", 1), text("type", "ssd"))),
			text("nvmeSupport", "required")))
	}
	if t.ENIs == instancetypes.Unknown {
		return devices
	}
	cards := max(t.EFAInterfaces, 1) // types with several EFA interfaces have a network card for each
	network := node("networkInfo",
		number("maximumNetworkInterfaces", t.ENIs), number("maximumNetworkCards", cards), number("defaultNetworkCardIndex", 0),
		number("ipv4AddressesPerInterface", t.IPv4PerENI), number("ipv6AddressesPerInterface", t.IPv4PerENI),
		boolean("ipv6Supported", true), boolean("efaSupported", t.EFAInterfaces > 0))
	list := node("networkCards")
	for i := range cards {
		list.children = append(list.children, node("item", number("networkCardIndex", i), number("maximumNetworkInterfaces", max(t.ENIs/cards, 1))))
	}
	network.children = append(network.children, list)
	if t.EFAInterfaces > 0 {
		network.children = append(network.children, node("efaInfo", number("maximumEfaInterfaces", t.EFAInterfaces)))
	}
	return append(devices, network)
}

// getInstanceTypesFromInstanceRequirements lists the names of the types that fit.
func getInstanceTypesFromInstanceRequirements(c *call) ([]element, error) {
	r, err := requirementsFrom(c.params)
	if err != nil {
		return nil, err
	}
	virtualization := c.params.list("VirtualizationType")
	var names []string
	if len(virtualization) == 0 || slices.Contains(virtualization, "hvm") {
		for _, t := range c.w.selectTypes(r, c.params.list("ArchitectureType")) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	names, next, err := page(c, names, func(s string) string { return s }, resultPages(1, 1000))
	if err != nil {
		return nil, err
	}
	set := node("instanceTypeSet")
	for _, name := range names {
		set.children = append(set.children, node("item", text("instanceType", name)))
	}
	return []element{set, optional("nextToken", next)}, nil
}
