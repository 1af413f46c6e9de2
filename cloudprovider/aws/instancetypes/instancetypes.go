package instancetypes

import (
	"cmp"
	_ "embed" // types.txt
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Unknown stands for a count that the source of the list didn't have.
const Unknown = -1

//go:embed types.txt
var builtin string

// Type is what one EC2 instance type offers. Counts are 0 for "has none" and Unknown where a field says that it may be.
type Type struct {
	Name            string // for example m5.large
	VCPUs           int    // default vCPUs
	MemoryMiB       int64  // what the hardware has; the operating system sees less
	Architecture    string // amd64 or arm64, the values of the label kubernetes.io/arch
	GPUs            int    // whole accelerators that EC2 reports as GPUs, whoever made them
	GPUManufacturer string // NVIDIA, AMD, Habana; empty without GPUs
	GPUModel        string // for example A10G; empty without GPUs. With GPUs 0 the type has a part of one
	NeuronDevices   int    // AWS Inferentia and Trainium devices, or Unknown
	EFAInterfaces   int    // most EFA interfaces, or Unknown
	ENIs            int    // most network interfaces over all network cards, or Unknown
	IPv4PerENI      int    // IPv4 addresses per network interface, or Unknown
	LocalStorageGB  int    // instance store in all, GB of 10^9 bytes, or Unknown
}

// Family is the part of the name before the dot.
func (t Type) Family() string {
	family, _, _ := strings.Cut(t.Name, ".")
	return family
}

// Size is the part of the name after the dot.
func (t Type) Size() string {
	_, size, _ := strings.Cut(t.Name, ".")
	return size
}

// BareMetal tells whether the type is a whole machine without a hypervisor; the name says so.
func (t Type) BareMetal() bool {
	return t.Size() == "metal" || strings.HasPrefix(t.Size(), "metal-")
}

// Burstable tells whether the type gets its CPU time by credits (the T families).
func (t Type) Burstable() bool {
	family := t.Family()
	return len(family) > 1 && family[0] == 't' && family[1] >= '0' && family[1] <= '9'
}

// LogicalGPUs is how many GPUs the operating system sees: the whole ones, or one where the type has a part of one.
func (t Type) LogicalGPUs() int {
	if t.GPUs == 0 && t.GPUModel != "" {
		return 1
	}
	return t.GPUs
}

// NeuronCores is how many cores the Neuron devices have in all, which follows from the family; 0: none, or not known.
func (t Type) NeuronCores() int {
	perDevice := 0
	switch family := t.Family(); {
	case strings.HasPrefix(family, "inf1"):
		perDevice = 4
	case strings.HasPrefix(family, "inf2"), strings.HasPrefix(family, "trn1"):
		perDevice = 2
	case strings.HasPrefix(family, "trn2"):
		perDevice = 8
	}
	return perDevice * max(t.NeuronDevices, 0)
}

// List is an immutable set of instance types. The zero value is empty and usable; any number of goroutines may read it.
type List struct {
	asOf   string
	types  []Type // by name
	byName map[string]int
}

// Builtin parses the list that is compiled in. Keep the result: each call parses anew (about a millisecond). The error is
// there for a broken build only.
func Builtin() (List, error) {
	list, err := Parse(builtin)
	if err != nil {
		return List{}, fmt.Errorf("parsing the built-in list of instance types: %w", err)
	}
	return list, nil
}

// AsOf is the month that the list describes, as YYYY-MM.
func (l List) AsOf() string { return l.asOf }

// Len is the number of types.
func (l List) Len() int { return len(l.types) }

// All returns the types sorted by name, as a copy.
func (l List) All() []Type { return slices.Clone(l.types) }

// Lookup finds a type by its exact name.
func (l List) Lookup(name string) (Type, bool) {
	i, ok := l.byName[name]
	if !ok {
		return Type{}, false
	}
	return l.types[i], true
}

// Parse reads a list in the format of doc.go. Errors name the line and what was expected there.
func Parse(text string) (List, error) {
	list := List{byName: map[string]int{}}
	var family Type
	for n, line := range strings.Split(text, "\n") {
		var err error
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "as-of "):
			list.asOf = strings.TrimPrefix(line, "as-of ")
		case strings.HasPrefix(line, "\t"):
			var t Type
			if t, err = parseSize(family, strings.TrimPrefix(line, "\t")); err == nil {
				list.types = append(list.types, t)
			}
		default:
			family, err = parseFamily(line)
		}
		if err != nil {
			return List{}, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	slices.SortFunc(list.types, func(a, b Type) int { return cmp.Compare(a.Name, b.Name) })
	for i, t := range list.types {
		if _, twice := list.byName[t.Name]; twice {
			return List{}, fmt.Errorf("instance type %s occurs twice", t.Name)
		}
		list.byName[t.Name] = i
	}
	return list, nil
}

// parseFamily reads a line like "g5 amd64 NVIDIA/A10G". The result carries the family in Name.
func parseFamily(line string) (Type, error) {
	name, rest, _ := strings.Cut(line, " ")
	arch, gpu, _ := strings.Cut(rest, " ")
	if arch != "amd64" && arch != "arm64" {
		return Type{}, fmt.Errorf("family %q: architecture %q is neither amd64 nor arm64", name, arch)
	}
	t := Type{Name: name, Architecture: arch}
	if gpu != "" {
		maker, model, ok := strings.Cut(gpu, "/")
		if !ok {
			return Type{}, fmt.Errorf("family %q: accelerator %q isn't MAKER/MODEL", name, gpu)
		}
		t.GPUManufacturer, t.GPUModel = maker, model
	}
	return t, nil
}

// parseSize reads a line like "xlarge 4 16384 4x15 gpus=1 disk=250" of the given family.
func parseSize(family Type, line string) (Type, error) {
	if family.Name == "" {
		return Type{}, fmt.Errorf("size %q stands before any family", line)
	}
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return Type{}, fmt.Errorf("size %q of %s: want SIZE VCPUS MEMORY-MIB ENISxIPV4", line, family.Name)
	}
	t := family
	t.Name = family.Name + "." + fields[0]
	var vcpus, memory int64
	enis, perENI, _ := strings.Cut(fields[3], "x")
	facts := []struct {
		text string
		into func(int64)
	}{
		{fields[1], func(n int64) { vcpus = n }},
		{fields[2], func(n int64) { memory = n }},
		{enis, func(n int64) { t.ENIs = int(n) }},
		{perENI, func(n int64) { t.IPv4PerENI = int(n) }},
	}
	for _, fact := range facts {
		n, err := count(fact.text)
		if err != nil {
			return Type{}, fmt.Errorf("%s: %w", t.Name, err)
		}
		fact.into(n)
	}
	if vcpus <= 0 || memory <= 0 {
		return Type{}, fmt.Errorf("%s: %d vCPUs and %d MiB; both must be known", t.Name, vcpus, memory)
	}
	t.VCPUs, t.MemoryMiB = int(vcpus), memory
	return parseExtras(t, fields[4:])
}

// parseExtras reads the facts that most types don't have.
func parseExtras(t Type, fields []string) (Type, error) {
	for _, field := range fields {
		key, value, _ := strings.Cut(field, "=")
		n, err := count(value)
		if err != nil {
			return Type{}, fmt.Errorf("%s: %s: %w", t.Name, key, err)
		}
		switch key {
		case "gpus":
			t.GPUs = int(n)
		case "neuron":
			t.NeuronDevices = int(n)
		case "efa":
			t.EFAInterfaces = int(n)
		case "disk":
			t.LocalStorageGB = int(n)
		default:
			return Type{}, fmt.Errorf("%s: unknown fact %q", t.Name, key)
		}
	}
	if t.GPUs > 0 && t.GPUModel == "" {
		return Type{}, fmt.Errorf("%s: %d GPUs of no model", t.Name, t.GPUs)
	}
	return t, nil
}

// count reads a number that isn't negative, or a question mark as Unknown.
func count(text string) (int64, error) {
	if text == "?" {
		return Unknown, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q isn't a count", text)
	}
	return n, nil
}
