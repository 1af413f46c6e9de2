package awstest

import (
	"math"
	"slices"
	"time"
)

// Unlimited is the StockRule.Left that takes a rule away.
const Unlimited = -1

// StockRule limits how many machines launches can still get. Empty fields stand for any. When several rules cover a launch, all of
// them must have machines left, and each gives one.
type StockRule struct {
	Group, Zone, Type string
	Market            Market
	Left              int           // machines still to be had; Unlimited removes the rule
	Reason            LaunchFailure // why launches fail when none is left; empty: InsufficientInstanceCapacity
	Until             time.Time     // when capacity returns and the rule is over; zero: it stays
}

// covers tells whether the rule is about such a launch.
func (r StockRule) covers(group, zone, typ string, market Market) bool {
	return (r.Group == "" || r.Group == group) && (r.Zone == "" || r.Zone == zone) &&
		(r.Type == "" || r.Type == typ) && (r.Market == "" || r.Market == market)
}

// over tells whether the rule's time has passed.
func (r StockRule) over(now time.Time) bool { return !r.Until.IsZero() && !now.Before(r.Until) }

// left is how many machines of a kind could be had now.
func (w *world) left(group, zone, typ string, market Market) int {
	least := math.MaxInt
	for _, rule := range w.stock {
		if rule.covers(group, zone, typ, market) && !rule.over(w.now) {
			least = min(least, rule.Left)
		}
	}
	return least
}

// sameScope tells whether two rules are about the same launches.
func (r StockRule) sameScope(o StockRule) bool {
	return r.Group == o.Group && r.Zone == o.Zone && r.Type == o.Type && r.Market == o.Market
}

// take gets one machine from the stock, or tells why it can't.
func (w *world) take(group, zone, typ string, market Market) (LaunchFailure, bool) {
	if !w.offered(typ, zone) {
		return UnsupportedInZone, false
	}
	var hit []int
	for i, rule := range w.stock {
		if !rule.covers(group, zone, typ, market) || rule.over(w.now) {
			continue
		}
		if rule.Left == 0 {
			if rule.Reason == "" {
				return InsufficientInstanceCapacity, false
			}
			return rule.Reason, false
		}
		hit = append(hit, i)
	}
	for _, i := range hit {
		w.stock[i].Left--
	}
	return "", true
}

// setStock replaces the rule of the same scope.
func (w *world) setStock(rule StockRule) {
	w.stock = slices.DeleteFunc(w.stock, rule.sameScope)
	if rule.Left >= 0 {
		w.stock = append(w.stock, rule)
	}
}
