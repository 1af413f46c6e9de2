package asg

import "fmt"

// Weigher tells how many units a machine of a type counts in one group. It is needed where a group counts in vCPUs or MiB.
type Weigher func(instanceType string) (units int, known bool)

// Sizes are the figures of a group, once in machines, as the autoscaler counts, and once in units, as AWS does. In a group without
// weights both are the same.
type Sizes struct {
	LiveMachines, LiveUnits int
	// Missing is how many more machines AWS still means to start.
	Missing int
	// BaseUnits is what a raise starts from: the desired capacity, or the live units where those are more.
	BaseUnits int
	// UnitsPerMachine is how many units a new machine is reckoned to count.
	UnitsPerMachine int
	// MaxUnitsPerMachine is the largest weight in the group; AWS may overshoot the desired capacity by one less.
	MaxUnitsPerMachine int
	// MinUnits and MaxUnits bound the desired capacity.
	MinUnits, MaxUnits int
	// Min, Max and Target are for the autoscaler, in machines.
	Min, Max, Target int
}

// Measure reckons the figures of a group whose desired capacity may be between lowest and highest, in units.
func (g Group) Measure(lowest, highest int, weigh Weigher) (Sizes, error) {
	weights, err := g.weights(weigh)
	if err != nil {
		return Sizes{}, err
	}
	s := Sizes{UnitsPerMachine: weights.first, MaxUnitsPerMachine: weights.largest, MinUnits: lowest, MaxUnits: highest}
	for _, instance := range g.Live() {
		units, err := g.UnitsOf(instance, weigh)
		if err != nil {
			return Sizes{}, err
		}
		s.LiveMachines++
		s.LiveUnits += units
		s.MaxUnitsPerMachine = max(s.MaxUnitsPerMachine, units)
		weights.smallest = min(weights.smallest, units)
	}
	if short := g.Desired - s.LiveUnits; short > 0 {
		s.Missing = ceilDiv(short, s.UnitsPerMachine)
	}
	s.BaseUnits = max(g.Desired, s.LiveUnits)
	s.Target = s.LiveMachines + s.Missing
	s.Max = s.Target + max(0, highest-s.BaseUnits)/s.UnitsPerMachine
	if s.BaseUnits >= lowest {
		// Whichever machines stay, this many of them are worth the minimum. More than there are need not stay.
		s.Min = min(ceilDiv(lowest, weights.smallest), s.Target)
	} else {
		s.Min = min(s.Target+ceilDiv(lowest-s.BaseUnits, s.UnitsPerMachine), s.Max)
	}
	return s, nil
}

// Machines converts units to whole machines, rounded down.
func (s Sizes) Machines(units int) int { return max(0, units) / s.UnitsPerMachine }

// groupWeights are the weights of the machines that a group can start.
type groupWeights struct{ first, smallest, largest int }

func (g Group) weights(weigh Weigher) (groupWeights, error) {
	switch g.Unit {
	case "", "units":
	default:
		return g.typeWeights(weigh)
	}
	var w groupWeights
	for _, o := range g.Launch.Overrides {
		weight := max(o.Weight, 1)
		if w.first == 0 {
			w = groupWeights{first: weight, smallest: weight, largest: weight}
			continue
		}
		w.smallest, w.largest = min(w.smallest, weight), max(w.largest, weight)
	}
	if w.first == 0 {
		w = groupWeights{first: 1, smallest: 1, largest: 1}
	}
	return w, nil
}

// typeWeights are the weights in a group that counts vCPUs or MiB.
func (g Group) typeWeights(weigh Weigher) (groupWeights, error) {
	var w groupWeights
	names := g.Launch.Types()
	if len(names) == 0 {
		names = g.Candidates
	}
	for _, name := range names {
		units, known := weigh(name)
		if !known || units < 1 {
			return groupWeights{}, fmt.Errorf("the group counts its size in %s, and how many an instance of type %s has is not known", g.Unit, name)
		}
		if w.first == 0 {
			w = groupWeights{first: units, smallest: units, largest: units}
			continue
		}
		w.smallest, w.largest = min(w.smallest, units), max(w.largest, units)
	}
	if w.first == 0 {
		return groupWeights{}, fmt.Errorf("the group counts its size in %s and which instance types it may start, to convert that to machines, is not known", g.Unit)
	}
	return w, nil
}

// UnitsOf is how many units an instance of the group counts.
func (g Group) UnitsOf(instance Instance, weigh Weigher) (int, error) {
	if instance.Weight > 0 {
		return instance.Weight, nil
	}
	if g.Unit != "" && g.Unit != "units" {
		units, known := weigh(instance.Type)
		if !known || units < 1 {
			return 0, fmt.Errorf("the group counts its size in %s, and how many instance %s of type %q has is not known", g.Unit, instance.ID, instance.Type)
		}
		return units, nil
	}
	for _, o := range g.Launch.Overrides {
		if o.Type == instance.Type && o.Weight > 0 {
			return o.Weight, nil
		}
	}
	return 1, nil
}

func ceilDiv(a, b int) int {
	if a <= 0 {
		return 0
	}
	return (a + b - 1) / b
}
