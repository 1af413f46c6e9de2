package placeholders

import (
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Place stands for one machine that was asked for and isn't there.
type Place struct {
	Number int
	// RequestedAt is when it was asked for, or first missed.
	RequestedAt time.Time
	// Failure says why it won't come; nil: it is on its way as far as known. AWS goes on trying all the same.
	Failure *cloudprovider.InstanceError
	// Zone and Type say where what kind of machine failed; empty: not known, or it hasn't.
	Zone, Type string
	// from is the earliest moment at which it may have been asked for.
	from time.Time
}

// Ledger keeps the places of one group, oldest first. The zero value is an empty ledger. Not safe for concurrent use.
type Ledger struct {
	next   int
	open   []Place
	judged map[string]time.Time // ids of the activities that have been reckoned with, and their start
	looked bool                 // at activities, at least once
}

// Open returns the places, oldest first. The caller may keep the slice.
func (l *Ledger) Open() []Place { return slices.Clone(l.open) }

// Change is what happened to a group between two looks.
type Change struct {
	Missing int // how many machines are missing now
	Arrived int // how many machines are new since the last look
	// At is when new places were asked for, as far as known; From is the earliest moment that is possible.
	At, From time.Time
}

// Settle makes the number of places equal to the number of missing machines. A machine that arrived uses up the oldest place that is
// still hoped for. Where there are too many places afterwards, somebody lowered the target: failed places go first, then the youngest.
func (l *Ledger) Settle(change Change) {
	for range change.Arrived {
		i := slices.IndexFunc(l.open, func(p Place) bool { return p.Failure == nil })
		if i < 0 {
			break
		}
		l.open = slices.Delete(l.open, i, i+1)
	}
	for len(l.open) > change.Missing {
		i := slices.IndexFunc(l.open, func(p Place) bool { return p.Failure != nil })
		if i < 0 {
			i = len(l.open) - 1
		}
		l.open = slices.Delete(l.open, i, i+1)
	}
	for len(l.open) < change.Missing {
		l.open = append(l.open, Place{Number: l.next, RequestedAt: change.At, from: change.From})
		l.next++
	}
}

// Withdraw removes the places with these numbers; numbers without a place are passed over.
func (l *Ledger) Withdraw(numbers []int) {
	l.open = slices.DeleteFunc(l.open, func(p Place) bool { return slices.Contains(numbers, p.Number) })
}

// Expendable lists up to count places, the ones to withdraw first: failed ones, then the youngest.
func (l *Ledger) Expendable(count int) []int {
	var numbers []int
	for _, p := range l.open {
		if p.Failure != nil {
			numbers = append(numbers, p.Number)
		}
	}
	for _, p := range slices.Backward(l.open) {
		if p.Failure == nil {
			numbers = append(numbers, p.Number)
		}
	}
	return numbers[:min(count, len(numbers))]
}

// Has tells whether there is a place of that number.
func (l *Ledger) Has(number int) bool {
	return slices.ContainsFunc(l.open, func(p Place) bool { return p.Number == number })
}

func (l *Ledger) hopeful() int {
	count := 0
	for _, p := range l.open {
		if p.Failure == nil {
			count++
		}
	}
	return count
}
