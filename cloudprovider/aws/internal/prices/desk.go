package prices

import (
	"errors"
	"fmt"
	"strings"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

// Desk quotes prices from what is known at one time. All fields are shared and not changed.
type Desk struct {
	Book      *Book
	Overrides Overrides
	Region    string
	Shape     Shape
}

// Source says where a price comes from.
type Source string

// The sources.
const (
	FromFile    Source = "override file"
	FromList    Source = "price list"
	FromHistory Source = "spot price history"
	FromFormula Source = "built-in formula"
)

// Quote is a price per hour and where it comes from.
type Quote struct {
	PerHour float64
	Source  Source
}

// Quote tells what one machine costs. A spot price that AWS has not told is taken for the one on demand. zones are those that may stand
// in for the offer's own, when nothing is known there. The error names a type that nobody knows.
func (d Desk) Quote(o Offer, zones []string) (Quote, error) {
	o.Region = d.Region
	if price, ok := d.Overrides.price(o); ok {
		return Quote{PerHour: price, Source: FromFile}, nil
	}
	q, err := d.told(o, zones)
	q.PerHour *= d.Overrides.factor(o)
	return q, err
}

// told is the price without the operator's part.
func (d Desk) told(o Offer, zones []string) (Quote, error) {
	if o.Market == Spot && d.oneCurrency() {
		if price, ok := d.Book.spotIn(o.Type, o.System, o.Zone, zones); ok {
			return Quote{PerHour: price, Source: FromHistory}, nil
		}
	}
	if price, ok := d.Book.onDemand(o.Type, o.System); ok {
		return Quote{PerHour: price, Source: FromList}, nil
	}
	if t, ok := d.Shape(o.Type); ok {
		return Quote{PerHour: d.Book.scaled(t, o.System), Source: FromFormula}, nil
	}
	return Quote{}, fmt.Errorf("instance type %q has no price: neither AWS nor the built-in list knows it", o.Type)
}

// oneCurrency tells whether spot prices and the others can be compared: without a price list the formula answers, which reckons in USD, and
// spot prices of China are in CNY.
func (d Desk) oneCurrency() bool { return d.Book.HasList() || !strings.HasPrefix(d.Region, "cn-") }

// Plan is how a group buys its next machine.
type Plan struct {
	Group  string
	Zone   string   // of the machine; empty: not known
	Zones  []string // of the group
	System System
	// Types are those that the group can start, the preferred first; at least one.
	Types []string
	// Weights are how many units a machine of a type counts; a type that is missing counts 1.
	Weights map[string]int
	// Spot tells that the launch template or configuration asks for spot instances. It counts only without Distribution.
	Spot bool
	// Distribution is that of a mixed instances policy; nil: there is none.
	Distribution *asg.Distribution
	// Only is the market that the group buys from whatever the fields above say; empty: they decide.
	Only Market
	// Units is what the group has or has asked for already, in the units of its capacity.
	Units int
}

// Next tells what the next machine of a group costs: in the market that the group buys from next, of the type that its allocation
// strategy takes. Where either is open it is the mean. The error is that of Quote.
func (d Desk) Next(p Plan) (Quote, error) {
	share := p.onDemandShare()
	var total Quote
	for _, part := range []struct {
		market   Market
		share    float64
		strategy string
	}{{OnDemand, share, p.strategy(OnDemand)}, {Spot, 1 - share, p.strategy(Spot)}} {
		if part.share <= 0 {
			continue
		}
		q, err := d.choose(p, part.market, part.strategy)
		if err != nil {
			return Quote{}, err
		}
		total = Quote{PerHour: total.PerHour + part.share*q.PerHour, Source: q.Source}
	}
	return total, nil
}

// onDemandShare is how likely the next machine is one on demand.
func (p Plan) onDemandShare() float64 {
	switch {
	case p.Only == Spot, p.Only == "" && p.Distribution == nil && p.Spot:
		return 0
	case p.Only == OnDemand, p.Distribution == nil, p.Units < p.Distribution.OnDemandBase:
		return 1
	default:
		return float64(min(100, max(0, p.Distribution.OnDemandPercentage))) / 100
	}
}

// BuysSpot tells whether the group may buy spot instances, now or later.
func (p Plan) BuysSpot() bool {
	if p.Distribution == nil || p.Only != "" {
		return p.onDemandShare() < 1
	}
	return p.Distribution.OnDemandPercentage < 100
}

func (p Plan) strategy(market Market) string {
	switch {
	case p.Distribution == nil:
		return "prioritized"
	case market == Spot:
		return p.Distribution.SpotStrategy
	default:
		return p.Distribution.OnDemandStrategy
	}
}

// choose applies an allocation strategy of AWS to the types of a group.
func (d Desk) choose(p Plan, market Market, strategy string) (Quote, error) {
	var quotes []Quote
	var units []float64
	var faults []error
	for _, kind := range p.Types {
		q, err := d.Quote(Offer{Type: kind, System: p.System, Market: market, Zone: p.Zone, Group: p.Group}, p.Zones)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		quotes, units = append(quotes, q), append(units, float64(max(1, p.Weights[kind])))
	}
	if len(quotes) == 0 {
		return Quote{}, errors.Join(append(faults, fmt.Errorf("node group %q has no price", p.Group))...)
	}
	switch strategy {
	case "prioritized":
		return quotes[0], nil
	case "lowest-price":
		lowest := 0
		for i := range quotes { // AWS compares what a unit costs
			if quotes[i].PerHour/units[i] < quotes[lowest].PerHour/units[lowest] {
				lowest = i
			}
		}
		return quotes[lowest], nil
	default: // by capacity, which nobody knows beforehand
		sum := 0.0
		for _, q := range quotes {
			sum += q.PerHour
		}
		return Quote{PerHour: sum / float64(len(quotes)), Source: quotes[0].Source}, nil
	}
}

// Machine is a machine that a pod might run on.
type Machine struct {
	Type    instancetypes.Type
	PerHour float64
}

// Request is what a pod asks for.
type Request struct {
	Cores, GiB   float64
	Accelerators float64 // pieces, whoever made them
}

// Share is the lowest price of what a pod takes of one of the machines: of each of CPU, memory and accelerators its part, these weighed
// by what they cost in the formula. Machines that are too small or free of charge don't count; without any other the formula tells.
func (d Desk) Share(r Request, machines []Machine) float64 {
	lowest, found := 0.0, false
	for _, m := range machines {
		share, fits := r.shareOf(m.Type)
		if price := share * m.PerHour; fits && usable(m.PerHour) && (!found || price < lowest) {
			lowest, found = price, true
		}
	}
	if found {
		return lowest
	}
	price := perVCPU*r.Cores + perGiB*r.GiB + perOtherGPU*r.Accelerators
	if d.Book.scale > 0 {
		price *= d.Book.scale
	}
	return price
}

// shareOf is which part of a machine's price belongs to the request, from 0 to 1, and whether it fits at all.
func (r Request) shareOf(t instancetypes.Type) (share float64, fits bool) {
	cost := partsOf(t)
	has := float64(t.LogicalGPUs() + max(0, t.NeuronDevices))
	for _, part := range []struct{ asked, offered, cost float64 }{
		{r.Cores, float64(t.VCPUs), cost.cpu}, {r.GiB, gib(t), cost.memory}, {r.Accelerators, has, cost.accelerators},
	} {
		if part.asked <= 0 {
			continue
		}
		if part.asked > part.offered {
			return 0, false
		}
		share += part.asked / part.offered * part.cost / cost.sum()
	}
	return share, true
}
