package awstest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// The usual product descriptions of spot prices.
const (
	SpotLinux   = "Linux/UNIX"
	SpotWindows = "Windows"
)

// SpotPrice is the price of a spot pool from the moment on at which it is set.
type SpotPrice struct {
	Type, Zone string
	Product    string // empty: SpotLinux
	PerHour    float64
}

// spotPool names a spot pool.
type spotPool struct{ typ, zone, product string }

// spotRecord is a price of a pool since a moment.
type spotRecord struct {
	spotPool
	price float64
	since time.Time
}

func (r spotRecord) key() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d", r.typ, r.zone, r.product, r.since.UnixNano())
}

// compare orders records as their keys do: no part holds the separator.
func (r spotRecord) compare(o spotRecord) int {
	return cmp.Or(cmp.Compare(r.typ, o.typ), cmp.Compare(r.zone, o.zone), cmp.Compare(r.product, o.product), r.since.Compare(o.since))
}

// SetSpotPrice changes the price of a spot pool from now on. Without it a pool costs a third of the on-demand price since an hour before
// the Server was made.
func (s *Server) SetSpotPrice(p SpotPrice) {
	_ = s.change(func(w *world) error { // can't fail
		pool := spotPool{p.Type, p.Zone, cmp.Or(p.Product, SpotLinux)}
		w.spotPrices[pool] = append(w.spotPrices[pool], spotRecord{spotPool: pool, price: p.PerHour, since: w.now})
		return nil
	})
}

// records are the prices of a pool, oldest first.
func (w *world) records(pool spotPool) []spotRecord {
	system := linux
	if pool.product != SpotLinux {
		system = windows
	}
	usual := spotRecord{spotPool: pool, price: w.onDemandPrice(pool.typ, system) / 3, since: w.born.Add(-time.Hour)}
	return append([]spotRecord{usual}, w.spotPrices[pool]...)
}

// spotPrice is the present price of a type with Linux in a zone; set tells whether it was set by hand.
func (w *world) spotPrice(typ, zone string) (price float64, set bool) {
	records := w.records(spotPool{typ, zone, SpotLinux})
	return records[len(records)-1].price, len(records) > 1
}

// describeSpotPriceHistory lists the prices of pools within a time: those that began in it, and the one with which it began.
func describeSpotPriceHistory(c *call) ([]element, error) {
	from, to, err := c.window()
	if err != nil {
		return nil, err
	}
	wanted := map[string][]string{
		"instance-type": c.params.list("InstanceType"), "product-description": c.params.list("ProductDescription"),
	}
	if zone := c.params.value("AvailabilityZone"); zone != "" {
		wanted["availability-zone"] = []string{zone}
	}
	filters := c.params.filters(EC2)
	for name, values := range wanted {
		if len(values) > 0 {
			filters = append(filters, filter{name, values})
		}
	}
	for _, f := range filters {
		if !slices.Contains([]string{"instance-type", "product-description", "availability-zone", "spot-price"}, f.name) {
			return nil, c.invalid("The filter '%s' is invalid", f.name)
		}
	}
	var found []spotRecord
	byPool := slices.DeleteFunc(slices.Clone(filters), func(f filter) bool { return f.name == "spot-price" })
	for _, pool := range c.w.spotPools() {
		if !(spotRecord{spotPool: pool}).fits(byPool) {
			continue
		}
		for _, r := range within(c.w.records(pool), from, to) {
			if r.fits(filters) {
				found = append(found, r)
			}
		}
	}
	slices.SortFunc(found, spotRecord.compare)
	found, next, err := page(c, found, spotRecord.key, resultPages(1, 1000))
	if err != nil {
		return nil, err
	}
	set := node("spotPriceHistorySet")
	for _, r := range found {
		set.children = append(set.children, node("item",
			text("instanceType", r.typ), text("productDescription", r.product), text("spotPrice", strconv.FormatFloat(r.price, 'f', 6, 64)),
			text("timestamp", timestamp(r.since)), text("availabilityZone", r.zone), text("availabilityZoneId", zoneID(r.zone))))
	}
	return []element{set, text("nextToken", next)}, nil // an empty token ends the listing
}

// window is the time that the request asks for: by default all.
func (c *call) window() (from, to time.Time, err error) {
	to = c.w.now
	for name, into := range map[string]*time.Time{"StartTime": &from, "EndTime": &to} {
		raw := c.params.value(name)
		if raw == "" {
			continue
		}
		if *into, err = time.Parse(time.RFC3339, raw); err != nil {
			return from, to, failure(http.StatusBadRequest, "InvalidParameterValue", "Value (%s) for parameter %s is invalid.", raw, name)
		}
	}
	return from, to, nil
}

// within are the records that were the price at some time of a window.
func within(records []spotRecord, from, to time.Time) []spotRecord {
	first := 0
	for i, r := range records {
		if !r.since.After(from) {
			first = i
		}
	}
	end := first
	for end < len(records) && !records[end].since.After(to) {
		end++
	}
	return records[first:end]
}

// spotPools are all pools: each type in each zone that offers it, and what was set by hand.
func (w *world) spotPools() []spotPool {
	pools := map[spotPool]bool{}
	for _, zone := range w.zones() {
		for name, t := range w.types {
			if !w.offered(name, zone) {
				continue
			}
			pools[spotPool{name, zone, SpotLinux}] = true
			if t.Architecture == "amd64" {
				pools[spotPool{name, zone, SpotWindows}] = true
			}
		}
	}
	for pool := range w.spotPrices {
		pools[pool] = true
	}
	all := make([]spotPool, 0, len(pools))
	for pool := range pools {
		all = append(all, pool)
	}
	return all
}

func (r spotRecord) fits(filters []filter) bool {
	return !slices.ContainsFunc(filters, func(f filter) bool { return !anyGlob(f.values, r.fact(f.name)) })
}

// fact is what filters of a name ask for.
func (r spotRecord) fact(name string) string {
	switch name {
	case "instance-type":
		return r.typ
	case "product-description":
		return r.product
	case "availability-zone":
		return r.zone
	}
	return strconv.FormatFloat(r.price, 'f', 6, 64)
}

// place is a type in a zone.
type place struct{ typ, zone string }

// SetOffered says whether a zone offers an instance type. Launches of a type that a zone doesn't offer fail there as Unsupported.
func (s *Server) SetOffered(typ, zone string, offered bool) {
	_ = s.change(func(w *world) error { // can't fail
		w.notOffered[place{typ, zone}] = !offered
		return nil
	})
}

// offered tells whether a zone offers a type. A type that the region doesn't know is judged at launch.
func (w *world) offered(typ, zone string) bool { return !w.notOffered[place{typ, zone}] }

// describeInstanceTypeOfferings lists which types are offered where.
func describeInstanceTypeOfferings(c *call) ([]element, error) {
	kind := cmp.Or(c.params.value("LocationType"), "region")
	locations := map[string]string{} // what is told → zone
	switch kind {
	case "region":
		locations[c.w.cfg.Region] = ""
	case "availability-zone":
		for _, z := range c.w.zones() {
			locations[z] = z
		}
	case "availability-zone-id":
		for _, z := range c.w.zones() {
			locations[zoneID(z)] = z
		}
	default:
		return nil, c.invalid("Value (%s) for parameter LocationType is invalid.", kind)
	}
	filters := c.params.filters(EC2)
	for _, f := range filters {
		if f.name != "location" && f.name != "instance-type" {
			return nil, c.invalid("The filter '%s' is invalid", f.name)
		}
	}
	var found []place
	for _, t := range c.w.types.sorted() {
		for location, zone := range locations {
			facts := map[string]string{"location": location, "instance-type": t.Name}
			fits := !slices.ContainsFunc(filters, func(f filter) bool { return !anyGlob(f.values, facts[f.name]) })
			if fits && (zone == "" || c.w.offered(t.Name, zone)) {
				found = append(found, place{t.Name, location})
			}
		}
	}
	key := func(p place) string { return p.typ + "/" + p.zone }
	slices.SortFunc(found, func(a, b place) int { return cmp.Compare(key(a), key(b)) })
	found, next, err := page(c, found, key, resultPages(5, 1000))
	if err != nil {
		return nil, err
	}
	set := node("instanceTypeOfferingSet")
	for _, p := range found {
		set.children = append(set.children, node("item", text("instanceType", p.typ), text("locationType", kind), text("location", p.zone)))
	}
	return []element{set, optional("nextToken", next)}, nil
}
