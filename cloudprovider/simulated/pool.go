package simulated

import (
	"fmt"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// pool is a group at work: its description, its target and its machines. It is guarded by the lock of its Cloud.
type pool struct {
	spec     Group // Target and Existing are those of the start
	variants []*variant
	index    *index

	target   int
	machines []*machine // in the order of the requests; gone ones leave at the next settling
	fates    []Fate     // of the next machines that are asked for
	number   int        // of the last name that was given out

	revision int       // counts the changes of what can be seen
	next     time.Time // of the next change that comes by itself; zero: none. Wrong while dirty
	dirty    bool      // something was written since the last settling
	news     bool      // a machine appeared or failed in that moment, or somebody else interfered
}

// newPool starts a valid group: everything up to its target runs.
func newPool(g Group, index *index, now time.Time) (*pool, error) {
	p := &pool{spec: g, variants: variantsOf(g), index: index, target: g.Target, dirty: true}
	before := now.Add(-time.Hour) // long enough for no timer of the autoscaler to take these for new
	for _, e := range g.Existing {
		if e.Since.IsZero() {
			e.Since = before
		}
		m, err := p.existing(e)
		if err != nil {
			return nil, fmt.Errorf("node group %q: %w", g.ID, err)
		}
		p.add(m)
	}
	counts := p.counts(now)
	for units := p.units(now); units < p.target; {
		v := p.preferences(counts)[0]
		m := p.makeMachine(p.nextName(v), v, before)
		m.appearsAt, m.runsAt, m.registersAt = before, before, before
		p.add(m)
		units += m.variant.Weight
		counts[m.variant]++
	}
	return p, nil
}

// existing makes a machine that runs and has registered. Its template must exist.
func (p *pool) existing(e Existing) (*machine, error) {
	v := p.variants[0]
	if e.Variant != "" {
		v = p.variant(e.Variant)
	}
	if v == nil {
		return nil, fmt.Errorf("existing machine %q names template %q, which does not exist", e.NodeName, e.Variant)
	}
	m := p.makeMachine(e.NodeName, v, e.Since)
	if e.ProviderID != "" {
		m.id = e.ProviderID
	}
	if p.index.taken(m.name, m.id) {
		return nil, fmt.Errorf("existing machine %q has the name or id of another one", e.NodeName)
	}
	m.appearsAt, m.runsAt, m.registersAt = e.Since, e.Since, e.Since
	return m, nil
}

// settle brings the pool up to date and tells whether something happened since the last time that a waiting loop would want to know.
func (p *pool) settle(now time.Time) (news bool) {
	passed := reached(p.next, now)
	if !p.dirty && !passed {
		return false
	}
	news = passed || p.news
	p.machines = slices.DeleteFunc(p.machines, func(m *machine) bool { return m.gone(now) })
	p.next = time.Time{}
	for _, m := range p.machines {
		p.next = earliest(p.next, m.next(now))
	}
	p.dirty, p.news = false, false
	p.revision++
	return news
}

// units is what the pool has or awaits, in units, failed ones included and ending ones not.
func (p *pool) units(now time.Time) int {
	sum := 0
	for _, m := range p.machines {
		if !m.ending(now) {
			sum += m.variant.Weight
		}
	}
	return sum
}

// floor is how many units exist or may still arrive.
func (p *pool) floor(now time.Time) int {
	sum := 0
	for _, m := range p.machines {
		if !m.ending(now) && !m.withdrawable(now) {
			sum += m.variant.Weight
		}
	}
	return sum
}

// counts is how many machines there are of each variant, ending ones left out.
func (p *pool) counts(now time.Time) map[*variant]int {
	counts := map[*variant]int{}
	for _, m := range p.machines {
		if !m.ending(now) {
			counts[m.variant]++
		}
	}
	return counts
}

// launch asks for machines until the target is met.
func (p *pool) launch(now time.Time) {
	units := p.units(now)
	if units >= p.target {
		return
	}
	counts := p.counts(now)
	for units < p.target {
		m := p.request(now, counts)
		units += m.variant.Weight
		counts[m.variant]++
	}
}

// request asks for one machine and settles its fate.
func (p *pool) request(now time.Time, counts map[*variant]int) *machine {
	v, fate := p.draw(p.nextFate(), counts)
	m := p.makeMachine(p.nextName(v), v, now)
	m.schedule(p.spec, fate)
	p.add(m)
	p.news = p.news || reached(m.appearsAt, now) || m.failed(now)
	return m
}

// nextFate is that of the next machine.
func (p *pool) nextFate() Fate {
	if len(p.fates) == 0 {
		return p.spec.Fate
	}
	fate := p.fates[0]
	p.fates = p.fates[1:]
	return fate
}

// add puts a machine into the pool and into the index.
func (p *pool) add(m *machine) {
	p.machines = append(p.machines, m)
	p.index.add(m)
	p.dirty = true
}

// makeMachine makes a machine of which nothing exists yet.
func (p *pool) makeMachine(name string, v *variant, requested time.Time) *machine {
	return &machine{
		group: p.spec.ID, name: name, variant: v, requestedAt: requested,
		id: p.idOf(name, v), placeholderID: p.idOf("placeholder-"+name, v),
	}
}

// idOf is the provider id of a node of that name.
func (p *pool) idOf(name string, v *variant) string {
	place := v.zone
	if place == "" {
		place = string(p.spec.ID)
	}
	return "simulated:///" + place + "/" + name
}

// nextName gives out the next name that is free.
func (p *pool) nextName(v *variant) string {
	usual := func(n int) string { return fmt.Sprintf("%s-%04d", p.spec.ID, n) }
	naming := p.spec.NodeName
	if naming == nil {
		naming = usual
	}
	free := func(name string) bool { return name != "" && !p.index.taken(name, p.idOf(name, v)) }
	for range p.index.size() + 1 { // a naming without repetitions has found a free name by then
		p.number++
		if name := naming(p.number); free(name) {
			return name
		}
	}
	for {
		p.number++
		if name := usual(p.number); free(name) {
			return name
		}
	}
}

// variant finds a template by its key; nil if there is none.
func (p *pool) variant(key string) *variant {
	for _, v := range p.variants {
		if v.Key == key {
			return v
		}
	}
	return nil
}

// state is the group as of now.
func (p *pool) state(now time.Time) cloudprovider.GroupState {
	s := cloudprovider.GroupState{
		Min: p.spec.Min, Max: p.spec.Max, Target: p.target,
		Instances: make([]cloudprovider.Instance, 0, len(p.machines)),
		Options:   p.spec.Options, Theoretical: p.spec.Theoretical, Autoprovisioned: p.spec.Autoprovisioned,
		Suspended: p.spec.Suspended,
	}
	for _, m := range p.machines {
		if !m.gone(now) {
			s.Instances = append(s.Instances, m.instance(now))
		}
	}
	s.Debug = fmt.Sprintf("%s (%d:%d), target %d, %d instances", p.spec.ID, s.Min, s.Max, s.Target, len(s.Instances))
	return s
}

// resize sets the target, and nothing else.
func (p *pool) resize(target int) {
	p.target = target
	p.dirty = true
}

// withdraw drops failed requests, the oldest first, while the target is met without them.
func (p *pool) withdraw(now time.Time) {
	p.drop(now, p.machines, func(m *machine) bool { return m.withdrawable(now) })
}

// shed makes the pool as small as its target: failed requests go first, then those on their way, the youngest first, then
// machines, the oldest first. It returns the machines that it ended, as they were before.
func (p *pool) shed(now time.Time) []Machine {
	p.withdraw(now)
	youngest := slices.Clone(p.machines)
	slices.Reverse(youngest)
	p.drop(now, youngest, func(m *machine) bool { return m.placeholder(now) })
	if p.spec.KeepSurplus {
		return nil
	}
	return p.drop(now, p.machines, func(*machine) bool { return true })
}

// drop ends those of the machines that are to go, in the order given, as long as the target is met without them.
func (p *pool) drop(now time.Time, machines []*machine, goes func(*machine) bool) []Machine {
	var dropped []Machine
	units := p.units(now)
	for _, m := range machines {
		if m.ending(now) || !goes(m) || units-m.variant.Weight < p.target {
			continue
		}
		units -= m.variant.Weight
		dropped = append(dropped, m.at(now))
		m.end(now, p.spec.DeleteDelay)
	}
	p.dirty = true
	return dropped
}
