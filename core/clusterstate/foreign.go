package clusterstate

import (
	"time"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// written is a change of a group's target, in units, that followed from a write of ours.
type written struct {
	by int
	at time.Time
}

// wrote notes that a write of ours may change the target by so much.
func (m *memory) wrote(by int, at time.Time) {
	if by != 0 {
		m.writes = append(m.writes, written{by: by, at: at})
	}
}

// foreign compares the target with that of the view before and returns what our own writes do not account for; nil: nothing. In doubt a change
// is ours: the view shows our writes late, one by one, and for some time not at all. deleting is how much removals in progress may take away.
func (m *memory) foreign(group observation.Group, deleting int, at time.Time) *report.TargetChange {
	if group.Stale != nil {
		return nil
	}
	var open []written
	more, less := 0, deleting
	for _, w := range m.writes {
		if w.at.Add(viewLag).Before(at) {
			continue
		}
		open = append(open, w)
		more += max(w.by, 0)
		less += max(-w.by, 0)
	}
	m.writes = open
	before := m.shown
	m.shown = &group.Target
	if before == nil {
		return nil
	}
	change := group.Target - *before
	switch {
	case change > more:
		m.settle(more)
		return &report.TargetChange{Group: group.ID, From: *before + more, To: group.Target}
	case change < -less:
		m.settle(-less)
		return &report.TargetChange{Group: group.ID, From: *before - less, To: group.Target}
	default:
		m.settle(change)
		return nil
	}
}

// settle takes what the view has shown off the open writes, the oldest first.
func (m *memory) settle(change int) {
	for i := range m.writes {
		switch by := m.writes[i].by; {
		case change > 0 && by > 0:
			shown := min(change, by)
			m.writes[i].by, change = by-shown, change-shown
		case change < 0 && by < 0:
			shown := max(change, by)
			m.writes[i].by, change = by-shown, change-shown
		}
	}
}
