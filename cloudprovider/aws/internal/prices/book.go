package prices

import (
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// System is the operating system that a price includes.
type System string

// The systems that a node can run.
const (
	Linux   System = "linux"
	Windows System = "windows"
)

// Market is how a machine is bought.
type Market string

// The markets, in the words of the override file.
const (
	OnDemand Market = "on-demand"
	Spot     Market = "spot"
)

// ListPrice is what one machine costs on demand, in any zone of the region.
type ListPrice struct {
	Type    string
	System  System
	PerHour float64
}

// SpotPrice is what one machine costs as a spot instance at a time.
type SpotPrice struct {
	Type, Zone string
	System     System
	PerHour    float64
	At         time.Time
}

type listKey struct {
	kind   string
	system System
}

type spotKey struct {
	listKey
	zone string
}

// Book holds the prices that AWS told for one region. It never changes after it was made: the With methods make another one. The
// zero value holds nothing and can be asked.
type Book struct {
	list  map[listKey]float64
	spot  map[spotKey]float64
	scale float64 // 0: no list
}

// WithList returns a book with these on-demand prices in place of all that were there before, and with the spot prices of this one.
// Prices that are not above 0 are left out; of several for the same machine the last counts. shape tells what a type offers, from
// which the book learns how far the region's prices are from those of the formula.
func (b *Book) WithList(list []ListPrice, shape Shape) *Book {
	next := &Book{list: make(map[listKey]float64, len(list)), spot: b.spot}
	for _, p := range list {
		if usable(p.PerHour) {
			next.list[listKey{p.Type, p.System}] = p.PerHour
		}
	}
	var ratios []float64
	for key, price := range next.list {
		if t, known := shape(key.kind); known && key.system == Linux {
			ratios = append(ratios, price/formula(t, Linux))
		}
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		next.scale = ratios[len(ratios)/2]
	}
	return next
}

// WithSpot returns a book with these spot prices in place of all that were there before. Of several for the same machine and zone the
// newest counts.
func (b *Book) WithSpot(spot []SpotPrice) *Book {
	next := &Book{list: b.list, spot: make(map[spotKey]float64, len(spot)), scale: b.scale}
	newest := make(map[spotKey]time.Time, len(spot))
	for _, p := range spot {
		key := spotKey{listKey{p.Type, p.System}, p.Zone}
		if _, known := next.spot[key]; usable(p.PerHour) && (!known || p.At.After(newest[key])) {
			next.spot[key], newest[key] = p.PerHour, p.At
		}
	}
	return next
}

// HasList tells whether AWS's price list is in the book.
func (b *Book) HasList() bool { return len(b.list) > 0 }

// onDemand is the list price of a machine.
func (b *Book) onDemand(kind string, system System) (float64, bool) {
	price, ok := b.list[listKey{kind, system}]
	return price, ok
}

// spotIn is the spot price of a machine in a zone. Without a zone, or where AWS tells none for it, it is the mean over the zones
// that are given.
func (b *Book) spotIn(kind string, system System, zone string, zones []string) (float64, bool) {
	if price, ok := b.spot[spotKey{listKey{kind, system}, zone}]; ok {
		return price, true
	}
	sum, count := 0.0, 0
	for _, z := range zones {
		if price, ok := b.spot[spotKey{listKey{kind, system}, z}]; ok {
			sum, count = sum+price, count+1
		}
	}
	if count == 0 {
		return 0, false
	}
	return sum / float64(count), true
}

// scaled is the price by the formula, at the level of the region's price list as far as that is known.
func (b *Book) scaled(t instancetypes.Type, system System) float64 {
	price := formula(t, system)
	if b.scale > 0 {
		price *= b.scale
	}
	return price
}

// Shape tells what an instance type offers; false: nobody knows the type.
type Shape func(name string) (instancetypes.Type, bool)

func usable(price float64) bool { return price > 0 && price < 1e9 }
