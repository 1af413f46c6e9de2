package simulator

import "math"

// tally counts pods per topology domain: the nodes that have the same value of one label.
type tally struct {
	topologyKey string
	// counts says whose pods are counted; nil: those that are brought one by one (see shape.groups).
	counts func(*labelSet) bool
	// living: pods that are being deleted don't count.
	living bool
	// admits says which nodes take part, beside having the label; nil: all.
	admits func(*node) bool

	domains map[string]*domain
	at      []*domain // by slot of the node; nil: the node takes no part
	// pods is how many are counted.
	pods int
	// levels is how many domains hold so many pods, by the number of pods; lowest is the least of these. Only where evenness matters.
	even   bool
	levels []int
	lowest int
	// populated is how many domains have nodes.
	populated int
	// used is the round in which somebody last asked.
	used int
}

type domain struct{ pods, nodes int }

// enter makes the node part of its domain. The pods on it are added one by one.
func (t *tally) enter(n *node) {
	for len(t.at) <= n.slot {
		t.at = append(t.at, nil)
	}
	value, ok := n.label(t.topologyKey)
	if !ok || t.admits != nil && !t.admits(n) {
		return
	}
	d := t.domains[value]
	if d == nil {
		d = &domain{}
		t.domains[value] = d
	}
	t.at[n.slot] = d
	if d.nodes++; d.nodes == 1 {
		t.populated++
		t.level(d.pods, 1)
	}
}

// leave is the inverse of enter, after its pods were taken away.
func (t *tally) leave(n *node) {
	if n.slot >= len(t.at) || t.at[n.slot] == nil {
		return
	}
	d := t.at[n.slot]
	t.at[n.slot] = nil
	if d.nodes--; d.nodes == 0 {
		t.populated--
		t.level(d.pods, -1)
		if d.pods == 0 {
			value, _ := n.label(t.topologyKey)
			delete(t.domains, value)
		}
	}
}

// add counts pods on the node, or uncounts them.
func (t *tally) add(n *node, pods int) {
	if n.slot >= len(t.at) {
		return
	}
	d := t.at[n.slot]
	if d == nil {
		return
	}
	t.level(d.pods, -1)
	d.pods += pods
	t.pods += pods
	t.level(d.pods, 1)
}

// level notes that so many more domains hold so many pods.
func (t *tally) level(pods, domains int) {
	if !t.even {
		return
	}
	for len(t.levels) <= pods {
		t.levels = append(t.levels, 0)
	}
	t.levels[pods] += domains
	if domains > 0 && pods < t.lowest {
		t.lowest = pods
	}
}

// minimum is the least number of pods in a domain; the largest number there is without domains.
func (t *tally) minimum() int {
	if t.populated == 0 {
		return math.MaxInt32
	}
	for t.levels[t.lowest] == 0 {
		t.lowest++
	}
	return t.lowest
}

// on is how many pods are counted in the domain of the node, which need not take part itself; ok is false if it has no such label.
func (t *tally) on(n *node) (pods int, ok bool) {
	if n.slot < len(t.at) {
		if d := t.at[n.slot]; d != nil {
			return d.pods, true
		}
	}
	value, ok := n.label(t.topologyKey)
	if !ok {
		return 0, false
	}
	if d := t.domains[value]; d != nil {
		return d.pods, true
	}
	return 0, true
}

// tally returns the tally of this name, which says all about it. It is made and filled if there is none.
func (s *Snapshot) tally(name string, fresh func() *tally) *tally {
	t, ok := s.talliesByName[name]
	if !ok {
		t = fresh()
		t.domains = map[string]*domain{}
		s.talliesByName[name] = t
		s.tallies = append(s.tallies, t)
		for _, set := range s.labelSets {
			if set.counted = t.counts(set); set.counted {
				set.tallies = append(set.tallies, t)
			}
		}
		s.fill(t)
	}
	t.used = s.round
	return t
}

// fill counts what is there. The labels of pods that nobody has looked at become known, and count where they should.
func (s *Snapshot) fill(t *tally) {
	for _, n := range s.index.order {
		t.enter(n)
		for _, p := range n.placements {
			known := p.labels != nil
			if !known {
				before := len(s.labelSets)
				p.labels = s.labelsOf(p.pod)
				if len(s.labelSets) > before { // a new set, which has not been told
					p.labels.counted = t.counts(p.labels)
				}
			}
			if p.labels.counted && (!t.living || !p.ending) {
				t.add(n, 1)
			}
		}
	}
}

// group returns the tally of pods that hold an anti-affinity term, by the term's name.
func (s *Snapshot) group(name, topologyKey string, term antiTerm) *tally {
	t, ok := s.groupsByName[name]
	if !ok {
		t = &tally{topologyKey: topologyKey, domains: map[string]*domain{}}
		s.groupsByName[name] = t
		s.groups = append(s.groups, heldTerm{tally: t, antiTerm: term})
		s.byNamespace = s.byNamespace || byNamespaceLabels(term.namespaceSelector)
		for _, n := range s.index.order {
			t.enter(n)
		}
	}
	return t
}

// dropTallies lets go of what nobody has asked for in the last rounds.
func (s *Snapshot) dropTallies() {
	const keptFor = 3
	stale := func(t *tally) bool { return s.round-t.used > keptFor }
	dropped := false
	for name, t := range s.talliesByName {
		if stale(t) {
			delete(s.talliesByName, name)
			dropped = true
		}
	}
	if !dropped {
		return
	}
	s.tallies = keep(s.tallies, stale)
	for _, set := range s.labelSets {
		set.tallies = keep(set.tallies, stale)
	}
}

func keep(tallies []*tally, stale func(*tally) bool) []*tally {
	var kept []*tally
	for _, t := range tallies {
		if !stale(t) {
			kept = append(kept, t)
		}
	}
	return kept
}
