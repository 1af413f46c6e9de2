package simulator

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// amounts are quantities of resources as the scheduler counts them: cpu in milli, memory and ephemeral storage in bytes, others in units.
type amounts struct {
	cpu, memory, storage int64
	scalars              []scalar // by ascending name, each name once
}

// scalar is the amount of one extended, hugepages or attachable resource.
type scalar struct {
	name   corev1.ResourceName
	amount int64
}

func amountsOf(from fwk.Resource) amounts {
	a := amounts{cpu: from.GetMilliCPU(), memory: from.GetMemory(), storage: from.GetEphemeralStorage()}
	for name, amount := range from.GetScalarResources() {
		a.scalars = append(a.scalars, scalar{name, amount})
	}
	slices.SortFunc(a.scalars, func(a, b scalar) int { return cmp.Compare(a.name, b.name) })
	return a
}

// add adds b, times +1 or -1. The scalars of a must not be shared.
func (a *amounts) add(b *amounts, times int64) {
	a.cpu += times * b.cpu
	a.memory += times * b.memory
	a.storage += times * b.storage
	for _, s := range b.scalars {
		i, found := a.find(s.name)
		if !found {
			a.scalars = slices.Insert(a.scalars, i, scalar{name: s.name})
		}
		a.scalars[i].amount += times * s.amount
	}
}

// of is the amount of one scalar; 0 if there is none.
func (a *amounts) of(name corev1.ResourceName) int64 {
	if i, found := a.find(name); found {
		return a.scalars[i].amount
	}
	return 0
}

func (a *amounts) find(name corev1.ResourceName) (index int, found bool) {
	for i := range a.scalars { // there are very few
		if a.scalars[i].name >= name {
			return i, a.scalars[i].name == name
		}
	}
	return len(a.scalars), false
}

func (a *amounts) equal(b *amounts) bool {
	return a.cpu == b.cpu && a.memory == b.memory && a.storage == b.storage && slices.Equal(a.nonZero(), b.nonZero())
}

func (a *amounts) nonZero() []scalar {
	return slices.DeleteFunc(slices.Clone(a.scalars), func(s scalar) bool { return s.amount == 0 })
}

// resources are the amounts by name, zeros included for the three that are always there.
func (a *amounts) resources() Resources {
	out := Resources{corev1.ResourceCPU: a.cpu, corev1.ResourceMemory: a.memory, corev1.ResourceEphemeralStorage: a.storage}
	for _, s := range a.scalars {
		out[s.name] = s.amount
	}
	return out
}
