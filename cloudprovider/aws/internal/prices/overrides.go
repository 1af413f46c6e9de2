package prices

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/yaml"
)

// Overrides is what an operator pays that AWS's lists don't tell: savings plans, reservations, an agreement. The zero value changes
// nothing.
type Overrides struct {
	prices  []rule
	factors []rule
}

// rule is one entry of the file.
type rule struct {
	// All lists that are not empty must match. Types and NodeGroups hold shell patterns.
	Types         []string `json:"types"`
	Regions       []string `json:"regions"`
	Zones         []string `json:"zones"`
	NodeGroups    []string `json:"nodeGroups"`
	CapacityTypes []Market `json:"capacityTypes"`

	PricePerHour *float64 `json:"pricePerHour"`
	Factor       *float64 `json:"factor"`
}

// file is the form of the override file.
type file struct {
	Prices  []rule `json:"prices"`
	Factors []rule `json:"factors"`
}

// ParseOverrides reads the override file, YAML or JSON. No text means no overrides. The error joins all that is wrong, each with the
// entry and what is expected there.
func ParseOverrides(text []byte) (Overrides, error) {
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return Overrides{}, fmt.Errorf("want YAML or JSON with the lists prices and factors: %w", err)
	}
	var faults []error
	for i, r := range f.Prices {
		faults = append(faults, r.check(fmt.Sprintf("prices[%d]", i), "pricePerHour", r.PricePerHour, r.Factor))
	}
	for i, r := range f.Factors {
		faults = append(faults, r.check(fmt.Sprintf("factors[%d]", i), "factor", r.Factor, r.PricePerHour))
	}
	if err := errors.Join(faults...); err != nil {
		return Overrides{}, err
	}
	return Overrides{prices: f.Prices, factors: f.Factors}, nil
}

// check tells what is wrong with a rule that should have a value for the key, and only that.
func (r rule) check(where, key string, value, other *float64) error {
	var faults []error
	switch {
	case value == nil:
		faults = append(faults, fmt.Errorf("%s: %s is missing", where, key))
	case *value < 0 || *value > 1e6:
		faults = append(faults, fmt.Errorf("%s: %s %v: want a number from 0 to 1000000", where, key, *value))
	}
	if other != nil {
		faults = append(faults, fmt.Errorf("%s: pricePerHour belongs into prices and factor into factors", where))
	}
	for _, market := range r.CapacityTypes {
		if market != OnDemand && market != Spot {
			faults = append(faults, fmt.Errorf("%s: capacityTypes: %q: want %s or %s", where, market, OnDemand, Spot))
		}
	}
	for _, pattern := range slices.Concat(r.Types, r.NodeGroups) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			faults = append(faults, fmt.Errorf("%s: %q: want a name or a pattern with * and ?", where, pattern))
		}
	}
	return errors.Join(faults...)
}

// Offer is one way to buy one machine.
type Offer struct {
	Type   string
	System System
	Market Market
	Region string
	Zone   string // empty: not known
	Group  string // empty: none
}

func (r rule) matches(o Offer) bool {
	return anyPattern(r.Types, o.Type) && anyPattern(r.NodeGroups, o.Group) && anyOf(r.Regions, o.Region) &&
		anyOf(r.Zones, o.Zone) && anyOf(r.CapacityTypes, o.Market)
}

func anyOf[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

func anyPattern(patterns []string, name string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil || pattern == name // names of groups may have slashes, which a star doesn't cover
	})
}

// price is the fixed price of an offer: that of the first rule that matches.
func (o Overrides) price(offer Offer) (float64, bool) {
	for _, r := range o.prices {
		if r.matches(offer) {
			return *r.PricePerHour, true
		}
	}
	return 0, false
}

// factor is the product of all factors that match an offer.
func (o Overrides) factor(offer Offer) float64 {
	product := 1.0
	for _, r := range o.factors {
		if r.matches(offer) {
			product *= *r.Factor
		}
	}
	return product
}
