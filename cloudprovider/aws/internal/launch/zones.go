package launch

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

const (
	zoneLife    = 24 * time.Hour
	strangeZone = 10 * time.Minute // at most one question in this time because of a zone that is not known
)

// zones knows the zones of the region. Safe for concurrent use.
type zones struct {
	mu     sync.Mutex
	list   []Zone
	asked  time.Time // zero: never
	due    time.Time
	failed bool // the last question

	changes uint64 // of list
}

func (z *zones) version() uint64 {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.changes
}

// lookUp finds a zone by its name or id.
func (z *zones) lookUp(nameOrID string) (Zone, bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for _, zone := range z.list {
		if nameOrID != "" && (zone.Name == nameOrID || zone.ID == nameOrID) {
			return zone, true
		}
	}
	return Zone{}, false
}

// due tells whether to ask, given the zones in use.
func (z *zones) isDue(wanted []Wanted, now time.Time) bool {
	z.mu.Lock()
	asked, due, failed := z.asked, z.due, z.failed
	z.mu.Unlock()
	if asked.IsZero() || !now.Before(due) || now.Before(asked) { // before it was asked: the clock was set back
		return true
	}
	if failed || now.Sub(asked) < strangeZone {
		return false
	}
	strange := func(nameOrID string) bool {
		_, known := z.lookUp(nameOrID)
		return !known
	}
	return slices.ContainsFunc(wanted, func(w Wanted) bool {
		return slices.ContainsFunc(w.Zones, strange) || slices.ContainsFunc(w.ZoneIDs, strange)
	})
}

// fill asks for the zones of the region if that is due.
func (z *zones) fill(ctx context.Context, wanted []Wanted, m machines, now time.Time) {
	if len(wanted) == 0 || !z.isDue(wanted, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, extraLimit)
	defer cancel()
	list, err := m.Zones(ctx)
	z.mu.Lock()
	defer z.mu.Unlock()
	before := z.failed
	z.asked, z.failed, z.due = now, err != nil, now.Add(zoneLife)
	if err == nil {
		if !slices.Equal(z.list, list) {
			z.changes++
		}
		z.list = list
		return
	}
	z.due = now.Add(lastRetry)
	if !before {
		klog.FromContext(ctx).V(1).Info("EC2 does not tell the Availability Zones: the region of Local Zones and the ids of zones are not known", "reason", err.Error())
	}
}
