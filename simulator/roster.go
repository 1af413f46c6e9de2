package simulator

import (
	"math/bits"
	"slices"
)

// bitset is a set of small numbers.
type bitset []uint64

const wordBits = 64

func newBitset(size int) bitset { return make(bitset, (size+wordBits-1)/wordBits) }

func (b bitset) set(i int) { b[i/wordBits] |= 1 << (i % wordBits) }

func (b bitset) clear(i int) { b[i/wordBits] &^= 1 << (i % wordBits) }

func (b bitset) has(i int) bool { return b[i/wordBits]&(1<<(i%wordBits)) != 0 }

// nextOfBoth is the least number in both sets, of equal size, that is not less than from and less than to; -1: there is none.
func nextOfBoth(a, b bitset, from, to int) int {
	if from >= to {
		return -1
	}
	word := a[from/wordBits] & b[from/wordBits] &^ (1<<(from%wordBits) - 1)
	for w := from / wordBits; ; {
		if word != 0 {
			if i := w*wordBits + bits.TrailingZeros64(word); i < to {
				return i
			}
			return -1
		}
		if w++; w*wordBits >= to {
			return -1
		}
		word = a[w] & b[w]
	}
}

// roster numbers the nodes of a snapshot in canonical order, and keeps the numbers while nodes leave and come back. It notes where room may have come
// free, so that whoever knows a node to be full hears of it.
type roster struct {
	nodes   []*node // by number; of those that left, as they were
	present bitset
	// ranks are how many present nodes have numbers below each word of the bitset; empty: to be counted.
	ranks []int
	// freed are numbers of nodes from which something was taken away, in the order of that; it begins anew with each epoch.
	freed []int
	epoch int
	// heard is how many of freed somebody has read.
	heard int
	// stale: there are nodes without number, or nodes have changed otherwise.
	stale bool
}

// enroll numbers the nodes as they are now, and follows the snapshot from now on, in the place of any other roster.
func (s *Snapshot) enroll() *roster {
	r := &roster{nodes: append([]*node(nil), s.index.order...), present: newBitset(len(s.index.order))}
	for i, n := range r.nodes {
		n.roster, n.number = r, i
		r.present.set(i)
	}
	s.roster = r
	return r
}

// swap follows the snapshot's.
func (r *roster) swap(old, n *node) {
	switch {
	case old != nil && old.roster != r:
		r.stale = true
	case old == nil && n.roster == r:
		r.take(n, n.number) // it comes back
	case old == nil || n != nil && compareNodes(old, n) != 0:
		r.stale = true
	case n == nil:
		r.present.clear(old.number)
		r.ranks = r.ranks[:0]
	default:
		r.take(n, old.number)
	}
}

func (r *roster) take(n *node, number int) {
	n.roster, n.number = r, number
	r.nodes[number] = n
	if !r.present.has(number) {
		r.present.set(number)
		r.ranks = r.ranks[:0]
	}
	r.free(n)
}

// free notes that something was taken away from the node.
func (r *roster) free(n *node) {
	if n.roster != r {
		return
	}
	last := len(r.freed) - 1
	if last >= r.heard && r.freed[last] == n.number {
		return
	}
	const worthReading = 4 // times the nodes; beyond it, looking at all of them is less work
	if len(r.freed) > worthReading*len(r.nodes) {
		r.epoch++
		r.freed, r.heard = r.freed[:0], 0
	}
	r.freed = append(r.freed, n.number)
}

// rank counts the present nodes, if they may have changed.
func (r *roster) rank() {
	if len(r.ranks) > 0 {
		return
	}
	count := 0
	for _, word := range r.present {
		r.ranks = append(r.ranks, count)
		count += bits.OnesCount64(word)
	}
}

// below is how many present nodes have numbers less than this one.
func (r *roster) below(number int) int {
	r.rank()
	return r.ranks[number/wordBits] + bits.OnesCount64(r.present[number/wordBits]&(1<<(number%wordBits)-1))
}

// at is the number of the present node with so many others below it, which there must be.
func (r *roster) at(below int) int {
	r.rank()
	w, exact := slices.BinarySearch(r.ranks, below)
	if !exact {
		w--
	}
	for w+1 < len(r.ranks) && r.ranks[w+1] == below { // words without any
		w++
	}
	word := r.present[w]
	for below -= r.ranks[w]; below > 0; below-- {
		word &= word - 1
	}
	return w*wordBits + bits.TrailingZeros64(word)
}
