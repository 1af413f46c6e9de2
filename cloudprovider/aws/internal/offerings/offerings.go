package offerings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

const (
	// shortFor is how long a lack of capacity or too low a price is believed.
	shortFor = 3 * time.Minute
	// most bounds the table; with more than that known the shortest-lived go.
	most = 1000
)

// Offering is a kind of machine in a place. An empty word stands for all.
type Offering struct {
	Type, Zone string
	Spot       bool
}

// Shortage is an offering that AWS could not deliver.
type Shortage struct {
	Offering
	Until time.Time
	// Code is the word of AWS, or the one that stands for it.
	Code string
}

// String is one line for people.
func (s Shortage) String() string {
	market := "on demand"
	if s.Spot {
		market = "Spot"
	}
	return fmt.Sprintf("%s %s in %s: %s until %s", market, cmp.Or(s.Type, "of all types"), cmp.Or(s.Zone, "all zones"), s.Code, s.Until.UTC().Format(time.TimeOnly))
}

// Table remembers shortages. The zero value is empty. Safe for concurrent use.
type Table struct {
	mu    sync.Mutex
	short map[Offering]Shortage
}

// Fail enters a failed launch. Causes that say nothing about other groups are passed over, and so is a failure of which neither type nor zone is known.
func (t *Table) Fail(o Offering, code string, cause asg.Cause, now time.Time) {
	until := now.Add(shortFor)
	switch cause {
	case asg.CauseCapacity, asg.CausePrice:
	case asg.CauseQuota:
		o.Zone, until = "", now.Add(cause.Pause()) // a quota is one of the region
	case asg.CauseAddresses:
		return // it is one of a subnet, which other groups in the zone need not use
	case asg.CauseUnset, asg.CauseConfiguration, asg.CauseOther:
		return
	}
	if o.Type == "" {
		return // a whole zone is never short of everything
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.short == nil {
		t.short = map[Offering]Shortage{}
	}
	t.short[o] = Shortage{Offering: o, Until: until, Code: code}
	t.prune(now)
}

// Empty tells whether there are none at all, not even ones that are over.
func (t *Table) Empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.short) == 0
}

// Came forgets the shortages that a machine which came proves wrong.
func (t *Table) Came(typ, zone string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.short, func(o Offering, _ Shortage) bool { return o.Type == typ && (o.Zone == "" || o.Zone == zone) })
}

// Find returns the shortage that covers an offering; of several the one that lasts longest.
func (t *Table) Find(o Offering, now time.Time) (found Shortage, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range []Shortage{t.short[o], t.short[Offering{Type: o.Type, Spot: o.Spot}]} {
		if s.Until.After(now) && s.Until.After(found.Until) {
			found, ok = s, true
		}
	}
	return found, ok
}

// List returns what is in force, by type, zone and market.
func (t *Table) List(now time.Time) []Shortage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune(now)
	return slices.SortedFunc(maps.Values(t.short), func(a, b Shortage) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Zone, b.Zone), compareBool(a.Spot, b.Spot))
	})
}

// prune drops what is over, and what is too much. Call with mu held.
func (t *Table) prune(now time.Time) {
	maps.DeleteFunc(t.short, func(_ Offering, s Shortage) bool { return !s.Until.After(now) })
	if len(t.short) <= most {
		return
	}
	all := slices.SortedFunc(maps.Values(t.short), func(a, b Shortage) int {
		return cmp.Or(b.Until.Compare(a.Until), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Zone, b.Zone), compareBool(a.Spot, b.Spot))
	})
	for _, s := range all[most:] {
		delete(t.short, s.Offering)
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
