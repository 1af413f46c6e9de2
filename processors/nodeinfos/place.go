package nodeinfos

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Place is what tells the variants of one group apart. Empty means unknown.
type Place struct {
	Zone string
	Type string // instance type
}

// PlaceOf reads the well-known labels of a node, the newer ones first.
func PlaceOf(node *corev1.Node) Place {
	return Place{
		Zone: cmp.Or(node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelFailureDomainBetaZone]),
		Type: cmp.Or(node.Labels[corev1.LabelInstanceTypeStable], node.Labels[corev1.LabelInstanceType]),
	}
}

// belonging returns the test whether a machine at a place is of the variant at another one, in a group of so many variants. What the
// variant does not name may be anything. What the machine does not name counts as a match only if there is no other variant to confuse it with.
func belonging(variants int) func(machine, variant Place) bool {
	part := func(machine, variant string) bool { return variant == "" || machine == variant }
	if variants == 1 {
		part = func(machine, variant string) bool { return variant == "" || machine == "" || machine == variant }
	}
	return func(machine, variant Place) bool {
		return part(machine.Zone, variant.Zone) && part(machine.Type, variant.Type)
	}
}

func (p Place) key() string {
	return strings.Trim(p.Zone+"/"+p.Type, "/")
}

func (p Place) compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Zone, other.Zone), cmp.Compare(p.Type, other.Type))
}
