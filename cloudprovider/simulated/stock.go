package simulated

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
)

// codeOutOfStock is the cloud's word for machines that can't be had.
const codeOutOfStock = "InsufficientCapacity"

// draw picks the template of the next machine and takes it from the stock. Without stock the fate becomes a failure.
func (p *pool) draw(fate Fate, counts map[*variant]int) (*variant, Fate) {
	if v := p.variant(fate.Variant); v != nil {
		return v, fate
	}
	wanted := p.preferences(counts)
	if fate.Error != nil && !fate.Exists {
		return wanted[0], fate // nothing is made, so nothing is used up
	}
	for _, v := range wanted {
		if inStock(p.spec.Stock, v) {
			take(p.spec.Stock, v)
			return v, fate
		}
	}
	fate.Error, fate.Exists = outOfStock(wanted[0]), false
	return wanted[0], fate
}

// preferences lists the variants in the order in which the cloud tries them: certain ones first, those with the fewest
// machines before the others, then possible ones as they are listed.
func (p *pool) preferences(counts map[*variant]int) []*variant {
	var certain, possible []*variant
	for _, v := range p.variants {
		if v.Promise == cloudprovider.PromiseCertain {
			certain = append(certain, v)
		} else {
			possible = append(possible, v)
		}
	}
	slices.SortStableFunc(certain, func(a, b *variant) int { return counts[a] - counts[b] })
	return append(certain, possible...)
}

// stockKeys are the entries of a stock that a machine of the variant needs, each once.
func stockKeys(v *variant) []string {
	keys := []string{"", v.zone, v.Key}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// inStock tells whether one more machine of the variant can be had.
func inStock(stock map[string]int, v *variant) bool {
	for _, key := range stockKeys(v) {
		if left, limited := stock[key]; limited && left < 1 {
			return false
		}
	}
	return true
}

// take removes one machine of the variant from the stock.
func take(stock map[string]int, v *variant) {
	for _, key := range stockKeys(v) {
		if _, limited := stock[key]; limited {
			stock[key]--
		}
	}
}

// affordable is how many of the units can be had from the stock.
func (p *pool) affordable(units int, now time.Time) int {
	stock, counts := maps.Clone(p.spec.Stock), p.counts(now)
	have := 0
	for have < units {
		wanted := p.preferences(counts)
		i := slices.IndexFunc(wanted, func(v *variant) bool { return inStock(stock, v) })
		if i < 0 {
			break
		}
		take(stock, wanted[i])
		counts[wanted[i]]++
		have += wanted[i].Weight
	}
	return min(have, units)
}

// outOfStock is the error of a machine that can't be had.
func outOfStock(v *variant) *cloudprovider.InstanceError {
	what := "machines"
	if v.instanceType != "" {
		what = v.instanceType
	}
	if v.zone != "" {
		what += " in " + v.zone
	}
	return &cloudprovider.InstanceError{
		Class: cloudprovider.ErrorClassOutOfResources, Code: codeOutOfStock,
		Message: fmt.Sprintf("there are no more %s", what),
	}
}
