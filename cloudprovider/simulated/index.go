package simulated

import "example.com/cluster-autoscaler/cloudprovider"

// index finds machines by what nodes know of them. It keeps those that are gone, so that a node outlasting its machine is still
// known. It is guarded by the lock of its Cloud.
type index struct {
	byID   map[string]*entry // ids and placeholder ids
	byName map[string]*entry
}

// entry is one machine and the position of its request among all requests, by which a view tells what came after it.
type entry struct {
	machine  *machine
	position int
}

func newIndex() *index {
	return &index{byID: map[string]*entry{}, byName: map[string]*entry{}}
}

// size is how many machines there have ever been. Names are unique, so it is also the position of the latest.
func (x *index) size() int { return len(x.byName) }

func (x *index) add(m *machine) {
	e := &entry{machine: m, position: len(x.byName) + 1}
	x.byName[m.name] = e
	x.byID[m.id] = e
	x.byID[m.placeholderID] = e
}

// taken tells whether the name or the id of a new machine is in use.
func (x *index) taken(name, id string) bool { return x.byName[name] != nil || x.byID[id] != nil }

// find looks up a node by its provider id, or by its name if it has none.
func (x *index) find(providerID, name string) *entry {
	if providerID != "" {
		return x.byID[providerID]
	}
	return x.byName[name]
}

// inGroup looks up a reference within one group; nil if the machine is unknown or of another group.
func (x *index) inGroup(ref cloudprovider.NodeRef, group cloudprovider.GroupID) *machine {
	if e := x.find(ref.ProviderID, ref.Name); e != nil && e.machine.group == group {
		return e.machine
	}
	return nil
}
