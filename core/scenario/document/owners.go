package document

import "strings"

// ownerCycles reports objects that own themselves, directly or through others. Each cycle is reported once.
func ownerCycles(objects *Objects, where func(key) at) {
	owners := ownersOf(objects)
	const (
		unseen = iota
		open   // on the way that is being followed
		done
	)
	state := map[key]int{}
	objects.each(func(kind apiKind, o object) {
		start := key{kind.Kind, o.GetNamespace(), o.GetName()}
		if state[start] != unseen || len(owners[start]) == 0 {
			return
		}
		way := []key{start}
		next := map[key]int{} // how many owners of a key were followed
		state[start] = open
		for len(way) > 0 {
			last := way[len(way)-1]
			if next[last] == len(owners[last]) {
				state[last] = done
				way = way[:len(way)-1]
				continue
			}
			owner := owners[last][next[last]]
			next[last]++
			switch state[owner] {
			case unseen:
				state[owner] = open
				way = append(way, owner)
			case open:
				where(owner).bad("metadata.ownerReferences", "the owners form a cycle: %s", cycle(way, owner))
			}
		}
	})
}

// cycle names the part of the way from the key on, and the key again.
func cycle(way []key, from key) string {
	var text strings.Builder
	for i, k := range way {
		if k == from {
			way = way[i:]
			break
		}
	}
	for _, k := range way {
		text.WriteString(k.String() + " -> ")
	}
	return text.String() + from.String()
}

// ownersOf are the owners of each object that has any. Pods are left out unless something says that a pod owns it: there are many, and
// hardly ever do they own anything.
func ownersOf(objects *Objects) map[key][]key {
	owners, podsOwn := map[key][]key{}, false
	collect := func(kind apiKind, o object) {
		refs := o.GetOwnerReferences()
		if len(refs) == 0 {
			return
		}
		list := make([]key, len(refs))
		for i, ref := range refs {
			list[i] = key{ref.Kind, o.GetNamespace(), ref.Name}
		}
		owners[key{kind.Kind, o.GetNamespace(), o.GetName()}] = list
	}
	objects.each(func(kind apiKind, o object) {
		for _, ref := range o.GetOwnerReferences() {
			podsOwn = podsOwn || ref.Kind == "Pod"
		}
	})
	objects.each(func(kind apiKind, o object) {
		if kind.Kind != "Pod" || podsOwn {
			collect(kind, o)
		}
	})
	return owners
}
