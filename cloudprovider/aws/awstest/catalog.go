package awstest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// catalog is the instance types that the region offers.
type catalog map[string]instancetypes.Type

// newCatalog holds the built-in list.
func newCatalog() (catalog, error) {
	list, err := instancetypes.Builtin()
	if err != nil {
		return nil, err
	}
	c := catalog{}
	for _, t := range list.All() {
		c[t.Name] = t
	}
	return c, nil
}

// sorted are all types by name.
func (c catalog) sorted() []instancetypes.Type {
	return slices.SortedFunc(maps.Values(c), func(a, b instancetypes.Type) int { return cmp.Compare(a.Name, b.Name) })
}

// architectures are EC2's names for what the type can run.
func architectures(t instancetypes.Type) []string {
	mac := strings.HasPrefix(t.Family(), "mac")
	switch {
	case t.Architecture == "arm64" && mac:
		return []string{"arm64_mac"}
	case t.Architecture == "arm64":
		return []string{"arm64"}
	case mac:
		return []string{"x86_64_mac"}
	case !currentGeneration(t):
		return []string{"i386", "x86_64"}
	}
	return []string{"x86_64"}
}

// cpuManufacturer is a good guess from the family's name: the letter a stands for AMD; some accelerated families use AMD without it.
func cpuManufacturer(t instancetypes.Type) string {
	family := t.Family()
	attributes := strings.TrimLeft(strings.TrimLeft(family, "abcdefghijklmnopqrstuvwxyz"), "0123456789")
	amdWithoutLetter := []string{"g5", "g6", "g6e", "gr6", "p5"}
	switch {
	case strings.HasPrefix(family, "mac") && t.Architecture == "arm64":
		return "Apple"
	case t.Architecture == "arm64":
		return "Amazon Web Services"
	case strings.HasPrefix(attributes, "a"), slices.Contains(amdWithoutLetter, family):
		return "AMD"
	}
	return "Intel"
}

// currentGeneration is false for the families that EC2 lists as previous ones.
func currentGeneration(t instancetypes.Type) bool {
	return !slices.Contains([]string{"c1", "c3", "i2", "m1", "m2", "m3", "r3", "t1"}, t.Family())
}

// neuronName is the name of the type's AWS accelerators; empty when it has none.
func neuronName(t instancetypes.Type) string {
	switch {
	case t.NeuronDevices <= 0:
		return ""
	case strings.HasPrefix(t.Family(), "trn2"):
		return "Trainium2"
	case strings.HasPrefix(t.Family(), "trn"):
		return "Trainium"
	case strings.HasPrefix(t.Family(), "inf2"):
		return "Inferentia2"
	}
	return "Inferentia"
}

// neuronCores is how many cores each of the type's AWS accelerators has.
func neuronCores(t instancetypes.Type) int {
	switch neuronName(t) {
	case "Trainium2":
		return 8
	case "Inferentia":
		return 4
	}
	return 2
}
