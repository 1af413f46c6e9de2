package clusterstate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/processors/nodeinfos"
)

// FailedPlace is a part of a group in which the cloud lately had no machines: one zone, one instance type, or one type in one zone. An empty
// word stands for all.
type FailedPlace struct {
	Zone, Type string
	// Until is how long the place is to be avoided.
	Until time.Time
	// Code is the provider's word for the shortage.
	Code string
}

// covers tells whether a machine at the other place would come from this one. What the other place does not name may be this.
func (p FailedPlace) covers(other nodeinfos.Place) bool {
	part := func(failed, other string) bool { return failed == "" || other == "" || failed == other }
	return part(p.Zone, other.Zone) && part(p.Type, other.Type)
}

// FailedAt returns the failure that says not to count on a machine at the place, such as a variant's; ok is false if there is none. Of several it
// is the one that lasts longest.
func (g GroupState) FailedAt(place nodeinfos.Place) (failed FailedPlace, ok bool) {
	for _, p := range g.FailedPlaces {
		if p.covers(place) && (!ok || p.Until.After(failed.Until)) {
			failed, ok = p, true
		}
	}
	return failed, ok
}

// failedPlaces are those in force, by zone and type.
func (m *memory) failedPlaces(at time.Time) []FailedPlace {
	var out []FailedPlace
	for place, b := range m.places {
		if !b.until.Before(at) {
			out = append(out, FailedPlace{Zone: place.Zone, Type: place.Type, Until: b.until, Code: b.failure.code})
		}
	}
	slices.SortFunc(out, func(a, b FailedPlace) int { return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type)) })
	return out
}

// withShortages adds what the cloud has learnt elsewhere to the failures of the group itself, by zone and type.
func withShortages(failed []FailedPlace, shortages []cloudprovider.Shortage, at time.Time) []FailedPlace {
	for _, s := range shortages {
		same := func(p FailedPlace) bool { return p.Zone == s.Zone && p.Type == s.Type }
		if !s.Until.Before(at) && !slices.ContainsFunc(failed, same) {
			failed = append(failed, FailedPlace{Zone: s.Zone, Type: s.Type, Until: s.Until, Code: s.Code})
		}
	}
	slices.SortFunc(failed, func(a, b FailedPlace) int { return cmp.Or(cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.Type, b.Type)) })
	return failed
}

// forgetPlaces drops the back-offs of places whose last failure is long ago.
func (m *memory) forgetPlaces(at time.Time, d durations) {
	maps.DeleteFunc(m.places, func(_ nodeinfos.Place, b *backoff) bool { return b.forgotten(at, d) })
}

// failedSince says whether machines of the group failed at or after the given time, anywhere.
func (m *memory) failedSince(at time.Time) bool {
	for _, b := range m.places {
		if b.failedSince(at) {
			return true
		}
	}
	return m.backoff.failedSince(at)
}

// shortage backs off what instances at these places, ascending, tell of: the places, as long as the group has others, and the whole group once
// it has none. The whole group is backed off, too, if we have bought since a place failed and the cloud has tried the same one again: it is the cloud that
// chooses the place, and each purchase would end there. Anything but a shortage concerns the whole group, wherever it showed.
func (r *Registry) shortage(id cloudprovider.GroupID, places []nodeinfos.Place, f failure, at time.Time) {
	group, _ := r.seen.GroupOf(id)
	for _, place := range places {
		if f.class != cloudprovider.ErrorClassOutOfResources || !partOf(group, place) {
			r.backOff(id, f, at)
			return
		}
	}
	m, stubborn := r.memory(id), false
	for _, place := range places {
		before := m.places[place]
		stubborn = stubborn || before != nil && !before.until.Before(at) && m.lastScaleUp.After(before.lastFailed)
		m.places[place] = before.after(f, at, r.durations)
	}
	if stubborn {
		r.backOff(id, f, at)
		return
	}
	failed := GroupState{FailedPlaces: m.failedPlaces(at)}
	for i := range group.Variants {
		if _, short := failed.FailedAt(nodeinfos.PlaceOf(group.Variants[i].Node)); !short {
			return
		}
	}
	r.backOff(id, f, at)
}

// partOf tells a place that some variants of the group have and others have not.
func partOf(group observation.Group, place nodeinfos.Place) bool {
	failed := FailedPlace{Zone: place.Zone, Type: place.Type}
	with, without := false, false
	for i := range group.Variants {
		node := group.Variants[i].Node
		if node == nil {
			return false
		}
		if failed.covers(nodeinfos.PlaceOf(node)) {
			with = true
		} else {
			without = true
		}
	}
	return with && without
}
