package awstest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// Price is the on-demand price of an instance type.
type Price struct {
	Type     string
	System   string  // Linux or Windows; empty: Linux
	PerHour  float64 // 0 is told as 0, as the service does for products that aren't really sold
	Currency string  // empty: USD, or CNY in China
	Missing  bool    // the product isn't listed
}

// SetPrice replaces an on-demand price. Without it a type costs what its vCPUs, memory and accelerators make: OnDemandPrice.
func (s *Server) SetPrice(p Price) {
	_ = s.change(func(w *world) error { w.prices[priceKey{p.Type, cmp.Or(p.System, linux)}] = p; return nil }) // can't fail
}

// OnDemandPrice is the price per hour that the Pricing API tells for a type with Linux; 0 for an unknown type.
func (s *Server) OnDemandPrice(typ string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.world.onDemandPrice(typ, linux)
}

const (
	linux   = "Linux"
	windows = "Windows"
)

// priceKey names a price: type and operating system.
type priceKey struct{ typ, system string }

// onDemandPrice is the price per hour of a type, given or made up: an m5.large costs 0.096.
func (w *world) onDemandPrice(typ, system string) float64 {
	if p, ok := w.prices[priceKey{typ, system}]; ok {
		return p.PerHour
	}
	t, ok := w.types[typ]
	if !ok {
		return 0
	}
	cpu := 0.024 * float64(t.VCPUs)
	if t.Architecture == "arm64" {
		cpu *= 0.8
	}
	price := cpu + 0.006*float64(t.MemoryMiB)/1024 + 0.7*float64(max(t.GPUs, 0)) + 0.4*float64(max(t.NeuronDevices, 0))
	if system == windows {
		price += 0.046 * float64(t.VCPUs)
	}
	return price
}

// pricingRegions are those that have a Pricing API.
func pricingRegions() []string {
	return []string{"us-east-1", "eu-central-1", "ap-south-1", "cn-northwest-1"}
}

// product is one entry of the price list.
type product struct {
	instancetypes.Type
	system, tenancy, capacity string
}

// products are all entries for a type by key, more than anybody wants: filters must find the right one.
func products(t instancetypes.Type) []product {
	var all []product
	tenancy := "Dedicated"
	if !t.BareMetal() {
		tenancy = "Shared"
		all = append(all, product{t, linux, "Dedicated", "Used"})
	}
	all = append(all, product{t, linux, tenancy, "UnusedCapacityReservation"}, product{t, linux, tenancy, "Used"})
	if t.Architecture == "amd64" {
		all = append(all, product{t, windows, tenancy, "Used"})
	}
	return all
}

// key sorts by the parts in turn: no part holds the separator.
func (p product) key() string {
	return p.Name + "\x00" + p.system + "\x00" + p.tenancy + "\x00" + p.capacity
}

// sku is the product's id, which looks random but isn't.
func (p product) sku() string {
	return strings.ToUpper(strings.NewReplacer(".", "", "\x00", "", "-", "").Replace(p.key()))
}

// attributes are the names of what an entry tells about itself, besides productFamily. Filters can ask for each.
func attributes() []string {
	return []string{
		"instanceType", "operatingSystem", "tenancy", "capacitystatus", "regionCode", "servicecode", "servicename", "preInstalledSw",
		"marketoption", "vcpu", "memory", "locationType", "licenseModel",
	}
}

// attribute is what the entry tells of one name; empty: there is no such attribute.
func (p product) attribute(w *world, name string) string {
	switch name {
	case "productFamily":
		if p.BareMetal() {
			return "Compute Instance (bare metal)"
		}
		return "Compute Instance"
	case "instanceType":
		return p.Name
	case "operatingSystem":
		return cmp.Or(p.system, linux)
	case "tenancy":
		return cmp.Or(p.tenancy, "Shared")
	case "capacitystatus":
		return cmp.Or(p.capacity, "Used")
	case "regionCode":
		return w.cfg.Region
	case "vcpu":
		return strconv.Itoa(p.VCPUs)
	case "memory":
		return strconv.FormatFloat(float64(p.MemoryMiB)/1024, 'f', -1, 64) + " GiB"
	}
	return fixedAttribute(name)
}

// fixedAttribute is an attribute that is the same for all entries.
func fixedAttribute(name string) string {
	switch name {
	case "servicecode":
		return "AmazonEC2"
	case "servicename":
		return "Amazon Elastic Compute Cloud"
	case "preInstalledSw":
		return "NA"
	case "marketoption":
		return "OnDemand"
	case "locationType":
		return "AWS Region"
	case "licenseModel":
		return "No License required"
	}
	return ""
}

// document is the JSON text of the entry.
func (p product) document(w *world) string {
	told := map[string]any{}
	for _, name := range attributes() {
		told[name] = p.attribute(w, name)
	}
	currency := "USD"
	if strings.HasPrefix(w.cfg.Region, "cn-") {
		currency = "CNY"
	}
	price := w.onDemandPrice(p.Name, p.system)
	if given, ok := w.prices[priceKey{p.Name, p.system}]; ok {
		currency = cmp.Or(given.Currency, currency)
	}
	if p.capacity == "Used" && p.tenancy == "Dedicated" && !p.BareMetal() {
		price *= 1.06
	}
	term, rate := p.sku()+".JRTCKXETXF", p.sku()+".JRTCKXETXF.6YS6EN2CT7"
	amount := strconv.FormatFloat(price, 'f', 10, 64)
	raw, err := json.Marshal(map[string]any{
		"product":     map[string]any{"sku": p.sku(), "productFamily": p.attribute(w, "productFamily"), "attributes": told},
		"serviceCode": "AmazonEC2",
		"terms": map[string]any{"OnDemand": map[string]any{term: map[string]any{
			"sku": p.sku(), "offerTermCode": "JRTCKXETXF", "effectiveDate": "2026-08-01T00:00:00Z", "termAttributes": map[string]any{},
			"priceDimensions": map[string]any{rate: map[string]any{
				"unit": "Hrs", "beginRange": "0", "endRange": "Inf", "rateCode": rate, "appliesTo": []any{},
				"description":  "$" + amount + " per On Demand " + p.system + " " + p.Name + " Instance Hour",
				"pricePerUnit": map[string]any{currency: amount},
			}},
		}}},
		"version": "20260801000000", "publicationDate": w.now.UTC().Format(time.RFC3339),
	})
	if err != nil {
		return "{}" // texts and maps can't fail
	}
	return string(raw)
}

// getProducts lists the price list of EC2.
func getProducts(c *call) (any, error) {
	switch service := c.params.value("ServiceCode"); {
	case service == "":
		return nil, failure(http.StatusBadRequest, "InvalidParameterException", "ServiceCode must be given.")
	case service != "AmazonEC2":
		return nil, failure(http.StatusBadRequest, "NotFoundException", "Unable to find service: %s", service)
	}
	conditions, err := priceFilters(c)
	if err != nil {
		return nil, err
	}
	var found []product
	for _, t := range c.w.types.sorted() {
		for _, p := range products(t) {
			if !c.w.prices[priceKey{p.Name, p.system}].Missing && conditions.hold(c.w, p) {
				found = append(found, p)
			}
		}
	}
	found, next, err := page(c, found, product.key, resultPages(1, 100))
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, len(found))
	for _, p := range found {
		list = append(list, p.document(c.w))
	}
	out := map[string]any{"FormatVersion": "aws_v1", "PriceList": list}
	if next != "" {
		out["NextToken"] = next
	}
	return out, nil
}

// conditions are the filters of a request. An attribute must have one of its filter's values, and all filters count.
type conditions []filter

func (c conditions) hold(w *world, p product) bool {
	return !slices.ContainsFunc(c, func(f filter) bool { return !slices.Contains(f.values, p.attribute(w, f.name)) })
}

// priceFilters reads the filters. The field names of attributes are exact, except for serviceCode.
func priceFilters(c *call) (conditions, error) {
	var found conditions
	for i := 1; ; i++ {
		at := "Filters.member." + strconv.Itoa(i) + "."
		field, value := c.params.value(at+"Field"), c.params.value(at+"Value")
		if field == "" {
			return found, nil
		}
		if field == "serviceCode" || field == "ServiceCode" {
			field = "servicecode"
		}
		if (product{}).attribute(c.w, field) == "" && field != "instanceType" {
			return nil, failure(http.StatusBadRequest, "InvalidParameterException", "Field %q is no attribute of AmazonEC2 that this service knows.", field)
		}
		switch kind := c.params.value(at + "Type"); kind {
		case "TERM_MATCH", "EQUALS":
			found = append(found, filter{field, []string{value}})
		case "ANY_OF":
			found = append(found, filter{field, strings.Split(value, ",")})
		default:
			return nil, failure(http.StatusBadRequest, "InvalidParameterException", "Filter type %q isn't served.", kind)
		}
	}
}
