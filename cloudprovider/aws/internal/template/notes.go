package template

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
)

// alike is how much larger the largest machine of a group may be than the smallest before it is worth a word.
const alike = 1.5

// Notes lists what the operator should know about the templates of a group, one sentence each; nil: nothing.
func Notes(s Source) []string {
	var notes []string
	if s.Managed != nil {
		notes = append(notes, s.Managed.Oddities...)
		for _, rejected := range nodetags.Parse(s.Managed.Tags).Rejected {
			notes = append(notes, rejected.String()+" (of the EKS node group)")
		}
	}
	shapes, err := s.shapes()
	if err != nil {
		return notes // told where the template is asked for
	}
	notes = append(notes, exceeding(shapes)...)
	return append(notes, differing(shapes)...)
}

// exceeding tells tags that promise more than a machine has.
func exceeding(shapes []shape) []string {
	var notes []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		promised, ok := shapes[0].tags.Resources[name]
		if !ok {
			continue
		}
		for _, sh := range shapes {
			m := sh.choice.Machine
			has := resource.NewQuantity(int64(m.VCPUs), resource.DecimalSI)
			if name == corev1.ResourceMemory {
				has = resource.NewQuantity(m.MemoryMiB*mib, resource.BinarySI)
			}
			if sh.choice.Known && promised.Cmp(*has) > 0 {
				notes = append(notes, fmt.Sprintf("the tag %s promises %s, the instance type %s has %s", nodetags.ResourceTag(name), promised.String(), sh.choice.Type, has.String()))
				break
			}
		}
	}
	return notes
}

// differing tells that machines of the group are not alike, so that pods are planned for less than many of them offer.
func differing(shapes []shape) []string {
	if len(shapes) < 2 {
		return nil
	}
	var parts []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		amount := func(sh shape) float64 { q := sh.capacity[name]; return q.AsApproximateFloat64() }
		byAmount := func(a, b shape) int {
			if amount(a) < amount(b) {
				return -1
			}
			return 1
		}
		least, most := slices.MinFunc(shapes, byAmount), slices.MaxFunc(shapes, byAmount)
		if amount(most) > alike*amount(least) {
			low, high := least.capacity[name], most.capacity[name]
			parts = append(parts, fmt.Sprintf("%s from %s (%s) to %s (%s)", name, low.String(), least.choice.Type, high.String(), most.choice.Type))
		}
	}
	for _, name := range accelerators() {
		first := shapes[0].capacity[name]
		if other := slices.IndexFunc(shapes, func(sh shape) bool { q := sh.capacity[name]; return q.Cmp(first) != 0 }); other >= 0 {
			q := shapes[other].capacity[name]
			parts = append(parts, fmt.Sprintf("%s %s (%s) and %s (%s)", name, first.String(), shapes[0].choice.Type, q.String(), shapes[other].choice.Type))
		}
	}
	if other := slices.IndexFunc(shapes, func(sh shape) bool { return sh.system.architecture != shapes[0].system.architecture }); other >= 0 {
		parts = append(parts, fmt.Sprintf("architecture %s (%s) and %s (%s)",
			shapes[0].system.architecture, shapes[0].choice.Type, shapes[other].system.architecture, shapes[other].choice.Type))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"its instance types differ: " + strings.Join(parts, ", ") +
		"; pods are planned for the least, and what only some of the types hold gets one attempt: use types that are alike"}
}
