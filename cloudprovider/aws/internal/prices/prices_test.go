package prices_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
)

var noon = time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)

func shape(t *testing.T) prices.Shape {
	t.Helper()
	list, err := instancetypes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	return list.Lookup
}

// desk knows list prices of two types and spot prices of one of them in two zones.
func desk(t *testing.T, overrides string) prices.Desk {
	t.Helper()
	o, err := prices.ParseOverrides([]byte(overrides))
	if err != nil {
		t.Fatal(err)
	}
	book := new(prices.Book).WithList([]prices.ListPrice{
		{Type: "m5.large", System: prices.Linux, PerHour: 0.10}, {Type: "m5.xlarge", System: prices.Linux, PerHour: 0.20},
		{Type: "m5.large", System: prices.Windows, PerHour: 0.19}, {Type: "m5.2xlarge", System: prices.Linux}, // not told
	}, shape(t)).WithSpot([]prices.SpotPrice{
		{Type: "m5.large", Zone: "a", System: prices.Linux, PerHour: 0.03, At: noon},
		{Type: "m5.large", Zone: "a", System: prices.Linux, PerHour: 0.09, At: noon.Add(-time.Hour)},
		{Type: "m5.large", Zone: "b", System: prices.Linux, PerHour: 0.05, At: noon},
	})
	return prices.Desk{Book: book, Overrides: o, Region: "eu-west-1", Shape: shape(t)}
}

func about() cmp.Option { return cmpopts.EquateApprox(0, 1e-9) }

func TestQuote(t *testing.T) {
	large := prices.Offer{Type: "m5.large", System: prices.Linux, Market: prices.OnDemand, Zone: "a", Group: "team/workers"}
	with := func(change func(*prices.Offer)) prices.Offer {
		o := large
		change(&o)
		return o
	}
	spot := with(func(o *prices.Offer) { o.Market = prices.Spot })
	tests := map[string]struct {
		overrides string
		offer     prices.Offer
		want      prices.Quote
	}{
		"the price list":                     {offer: large, want: prices.Quote{PerHour: 0.10, Source: prices.FromList}},
		"the system counts":                  {offer: with(func(o *prices.Offer) { o.System = prices.Windows }), want: prices.Quote{PerHour: 0.19, Source: prices.FromList}},
		"the newest spot price of the zone":  {offer: spot, want: prices.Quote{PerHour: 0.03, Source: prices.FromHistory}},
		"a zone without a price has a mean":  {offer: with(func(o *prices.Offer) { o.Market, o.Zone = prices.Spot, "c" }), want: prices.Quote{PerHour: 0.04, Source: prices.FromHistory}},
		"spot that nobody told is on demand": {offer: with(func(o *prices.Offer) { o.Type, o.Market = "m5.xlarge", prices.Spot }), want: prices.Quote{PerHour: 0.20, Source: prices.FromList}},
		"a price of the file comes first, and no factor changes it": {
			overrides: "prices:\n- {types: [m5.*], pricePerHour: 0}\n- {types: [m5.large], pricePerHour: 7}\nfactors:\n- {factor: 3}\n",
			offer:     large, want: prices.Quote{Source: prices.FromFile},
		},
		"all factors that match count": {
			overrides: "factors:\n- {types: ['m5.*'], capacityTypes: [on-demand], factor: 0.5}\n- {regions: [eu-west-1], zones: [a], factor: 0.5}\n" +
				"- {regions: [us-east-1], factor: 9}\n- {capacityTypes: [spot], factor: 9}\n",
			offer: large, want: prices.Quote{PerHour: 0.025, Source: prices.FromList},
		},
		"a rule for a group whose name has a slash": {
			overrides: `{"prices": [{"nodeGroups": ["team/workers"], "pricePerHour": 0.01}]}`, offer: large, want: prices.Quote{PerHour: 0.01, Source: prices.FromFile},
		},
		"a rule for another group": {
			overrides: `{"prices": [{"nodeGroups": ["other"], "pricePerHour": 0.01}]}`, offer: large, want: prices.Quote{PerHour: 0.10, Source: prices.FromList},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := desk(t, test.overrides).Quote(test.offer, []string{"a", "b"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, about()); diff != "" {
				t.Errorf("quote (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATypeOutsideTheListIsPricedByTheFormulaAtTheLevelOfTheList(t *testing.T) {
	quote := func(d prices.Desk) float64 {
		q, err := d.Quote(prices.Offer{Type: "c5.large", System: prices.Linux, Market: prices.OnDemand}, nil)
		if err != nil || q.Source != prices.FromFormula {
			t.Fatalf("quote %v, %v", q, err)
		}
		return q.PerHour
	}
	plain := prices.Desk{Book: &prices.Book{}, Region: "eu-west-1", Shape: shape(t)}
	base, err := plain.Quote(prices.Offer{Type: "m5.large", System: prices.Linux, Market: prices.Spot}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dear := plain
	dear.Book = plain.Book.WithList([]prices.ListPrice{{Type: "m5.large", System: prices.Linux, PerHour: 3 * base.PerHour}}, plain.Shape)
	if got, want := quote(dear), 3*quote(plain); math.Abs(got-want) > 1e-9 {
		t.Errorf("price %v, want %v", got, want)
	}
	if _, err := plain.Quote(prices.Offer{Type: "zz9.large", System: prices.Linux}, nil); err == nil || !strings.Contains(err.Error(), `"zz9.large"`) {
		t.Errorf("a type that nobody knows: %v", err)
	}
}

// In China spot prices are in CNY, which the formula is not.
func TestTwoCurrenciesAreNotMixed(t *testing.T) {
	d := prices.Desk{Region: "cn-north-1", Shape: shape(t)}
	d.Book = new(prices.Book).WithSpot([]prices.SpotPrice{{Type: "m5.large", Zone: "a", System: prices.Linux, PerHour: 9, At: noon}})
	offer := prices.Offer{Type: "m5.large", System: prices.Linux, Market: prices.Spot, Zone: "a"}
	if q, err := d.Quote(offer, nil); err != nil || q.Source != prices.FromFormula {
		t.Errorf("without a list: %v, %v", q, err)
	}
	d.Book = d.Book.WithList([]prices.ListPrice{{Type: "m5.large", System: prices.Linux, PerHour: 20}}, d.Shape)
	if q, err := d.Quote(offer, nil); err != nil || q.PerHour != 9 {
		t.Errorf("with the list: %v, %v", q, err)
	}
}

// The formula is to order machines, so it has to be near the list for families of every class. The prices are those of us-east-1.
func TestTheFormulaIsNearTheListPrices(t *testing.T) {
	d := prices.Desk{Book: &prices.Book{}, Shape: shape(t)}
	for name, list := range map[string]float64{
		"m5.large": 0.096, "c5.large": 0.085, "r5.large": 0.126, "m5.24xlarge": 4.608, "m6g.large": 0.077, "c6g.xlarge": 0.136, "r6g.large": 0.1008,
		"m5a.large": 0.086, "m6i.xlarge": 0.192, "c6i.large": 0.085, "t3.micro": 0.0104, "t3.large": 0.0832, "t4g.small": 0.0168, "i3.large": 0.156,
		"c5n.large": 0.108, "m5d.large": 0.113, "g4dn.xlarge": 0.526, "g5.xlarge": 1.006, "p3.2xlarge": 3.06, "inf1.xlarge": 0.228,
	} {
		q, err := d.Quote(prices.Offer{Type: name, System: prices.Linux, Market: prices.OnDemand}, nil)
		limit := 0.2
		if name == "inf1.xlarge" { // far below the rate of newer devices
			limit = 2
		}
		if err != nil || math.Abs(q.PerHour/list-1) > limit {
			t.Errorf("%s: formula %.4f, list %.4f, %v", name, q.PerHour, list, err)
		}
	}
}

func TestEveryBuiltInTypeHasAPrice(t *testing.T) {
	list, err := instancetypes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	d := prices.Desk{Book: &prices.Book{}, Shape: list.Lookup}
	for _, kind := range list.All() {
		linux, err := d.Quote(prices.Offer{Type: kind.Name, System: prices.Linux}, nil)
		windows, errWindows := d.Quote(prices.Offer{Type: kind.Name, System: prices.Windows}, nil)
		if err != nil || errWindows != nil || linux.PerHour <= 0 || linux.PerHour > 500 || windows.PerHour <= linux.PerHour {
			t.Errorf("%s: %v %v, %v %v", kind.Name, linux, err, windows, errWindows)
		}
	}
}

func TestNext(t *testing.T) {
	two := prices.Plan{Group: "g", Zone: "a", Zones: []string{"a", "b"}, System: prices.Linux, Types: []string{"m5.xlarge", "m5.large"}}
	mixed := func(base, percentage, units int, onDemand, spot string) prices.Plan {
		p := two
		p.Units = units
		p.Distribution = &asg.Distribution{OnDemandBase: base, OnDemandPercentage: percentage, OnDemandStrategy: onDemand, SpotStrategy: spot}
		return p
	}
	tests := map[string]struct {
		plan prices.Plan
		want float64
	}{
		"a template on demand":                               {plan: two, want: 0.20},
		"a template for spot":                                {plan: prices.Plan{Zone: "a", System: prices.Linux, Types: []string{"m5.large"}, Spot: true}, want: 0.03},
		"the base of a mixed group is not filled":            {plan: mixed(3, 0, 2, "prioritized", "lowest-price"), want: 0.20},
		"the base is filled, the rest is spot, the cheapest": {plan: mixed(3, 0, 3, "prioritized", "lowest-price"), want: 0.03},
		"all on demand, the cheapest":                        {plan: mixed(0, 100, 9, "lowest-price", "lowest-price"), want: 0.10},
		"the cheapest is that whose unit costs least": {plan: func() prices.Plan {
			p := mixed(0, 100, 0, "lowest-price", "lowest-price")
			p.Weights = map[string]int{"m5.xlarge": 4}
			return p
		}(), want: 0.20},
		"by capacity nobody knows which: the mean":              {plan: mixed(0, 0, 0, "prioritized", "capacity-optimized"), want: (0.20 + 0.03) / 2},
		"price and capacity: the mean":                          {plan: mixed(0, 0, 0, "prioritized", "price-capacity-optimized"), want: (0.20 + 0.03) / 2},
		"a quarter on demand":                                   {plan: mixed(0, 25, 0, "prioritized", "lowest-price"), want: 0.25*0.20 + 0.75*0.03},
		"a percentage that cannot be is taken for the next one": {plan: mixed(0, 250, 0, "prioritized", "lowest-price"), want: 0.20},
		"somebody knows the market better, spot": {plan: func() prices.Plan {
			p := mixed(9, 100, 0, "prioritized", "lowest-price")
			p.Only = prices.Spot
			return p
		}(), want: 0.03},
		"somebody knows the market better, on demand": {
			plan: prices.Plan{Zone: "a", System: prices.Linux, Types: []string{"m5.large"}, Spot: true, Only: prices.OnDemand}, want: 0.10,
		},
		"a type that nobody knows is passed over": {
			plan: prices.Plan{System: prices.Linux, Types: []string{"zz9.large", "m5.large"}}, want: 0.10,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := desk(t, "").Next(test.plan)
			if err != nil || math.Abs(got.PerHour-test.want) > 1e-9 {
				t.Errorf("price %v, %v; want %v", got, err, test.want)
			}
		})
	}
	if _, err := desk(t, "").Next(prices.Plan{Group: "g", Types: []string{"zz9.large"}}); err == nil || !strings.Contains(err.Error(), `node group "g" has no price`) {
		t.Errorf("a group of unknown types: %v", err)
	}
}

func TestShare(t *testing.T) {
	lookup := shape(t)
	machine := func(name string, price float64) prices.Machine {
		kind, ok := lookup(name)
		if !ok {
			t.Fatal(name)
		}
		return prices.Machine{Type: kind, PerHour: price}
	}
	d := desk(t, "")
	whole := prices.Request{Cores: 2, GiB: 8}
	half := prices.Request{Cores: 1, GiB: 4}
	large, dear := machine("m5.large", 0.10), machine("m5.large", 1)
	if got := d.Share(whole, []prices.Machine{large}); math.Abs(got-0.10) > 1e-9 {
		t.Errorf("all of a machine costs %v", got)
	}
	if got := d.Share(half, []prices.Machine{dear, large}); math.Abs(got-0.05) > 1e-9 {
		t.Errorf("half of the cheapest machine costs %v", got)
	}
	if got, all := d.Share(half, []prices.Machine{machine("m5.large", 0)}), d.Share(half, nil); got != all || got <= 0 {
		t.Errorf("beside a machine that is free it costs %v, want %v", got, all)
	}
	if got, all := d.Share(prices.Request{Cores: 3}, []prices.Machine{large}), d.Share(prices.Request{Cores: 3}, nil); got != all || got <= 0 {
		t.Errorf("more than a machine has costs %v, want %v", got, all)
	}
	accelerated := prices.Request{Cores: 1, GiB: 1, Accelerators: 1}
	if got := d.Share(accelerated, []prices.Machine{large, machine("g4dn.xlarge", 0.5)}); got < 0.25 || got > 0.5 {
		t.Errorf("an accelerator costs %v, want most of its machine", got)
	}
	if got := d.Share(prices.Request{}, []prices.Machine{large}); got != 0 {
		t.Errorf("nothing costs %v", got)
	}
}

func TestOverridesAreCheckedAllAtOnce(t *testing.T) {
	_, err := prices.ParseOverrides([]byte(`
prices:
- {types: [m5.large]}
- {pricePerHour: -1}
- {pricePerHour: 1, factor: 2}
factors:
- {factor: 0.5, capacityTypes: [onDemand]}
- {factor: 0.5, types: ["[m5"]}
`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"prices[0]: pricePerHour is missing", "prices[1]: pricePerHour -1: want a number from 0 to 1000000", "prices[2]: pricePerHour belongs into prices",
		`factors[0]: capacityTypes: "onDemand": want on-demand or spot`, `factors[1]: "[m5": want a name or a pattern`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	for name, text := range map[string]string{"an unknown key": "price: []", "no list": "prices: 3", "no YAML": "{", "a mistyped key": "prices: [{typ: [a], pricePerHour: 1}]"} {
		if _, err := prices.ParseOverrides([]byte(text)); err == nil || !strings.Contains(err.Error(), "want YAML or JSON") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := prices.ParseOverrides(nil); err != nil {
		t.Errorf("no file: %v", err)
	}
}

func TestTheExampleOfAnOverrideFileCanBeRead(t *testing.T) {
	text, err := os.ReadFile("../../../../deploy/aws/price-overrides.yaml")
	if err != nil {
		t.Fatal(err)
	}
	q, err := desk(t, string(text)).Quote(prices.Offer{Type: "m5.large", System: prices.Linux, Market: prices.OnDemand, Group: "reserved-a"}, nil)
	if err != nil || q != (prices.Quote{Source: prices.FromFile}) {
		t.Errorf("a reserved machine costs %v, %v", q, err)
	}
}

func FuzzParseOverrides(f *testing.F) {
	f.Add("prices: [{types: [m5.*], pricePerHour: 1}]")
	f.Add("factors: [{factor: 0.5}]")
	f.Fuzz(func(t *testing.T, text string) {
		o, err := prices.ParseOverrides([]byte(text))
		if err != nil {
			return
		}
		d := prices.Desk{Book: &prices.Book{}, Overrides: o, Shape: func(string) (instancetypes.Type, bool) { return instancetypes.Type{VCPUs: 1, MemoryMiB: 1024}, true }}
		if q, err := d.Quote(prices.Offer{Type: "m5.large"}, nil); err != nil || q.PerHour < 0 || math.IsNaN(q.PerHour) {
			t.Errorf("%q gives %v, %v", text, q, err)
		}
	})
}

func TestAFailedReadingIsTriedAgainSoon(t *testing.T) {
	var s prices.Schedule
	now := noon
	if !s.Due(now) {
		t.Error("nothing was read yet and nothing is due")
	}
	var waits []time.Duration
	var news []bool
	for range 7 {
		news = append(news, s.Failed(now))
		begin := now
		for !s.Due(now) {
			now = now.Add(time.Second)
		}
		waits = append(waits, now.Sub(begin))
	}
	want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false, false, false}, news); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if first, second := s.Succeeded(now, time.Hour), s.Succeeded(now, time.Hour); !first || second {
		t.Errorf("news after failures %v, then %v", first, second)
	}
	if s.Due(now.Add(59*time.Minute)) || !s.Due(now.Add(time.Hour)) {
		t.Error("after a success it is due in an hour")
	}
	s.Hasten(now.Add(time.Minute))
	if s.Due(now.Add(59*time.Second)) || !s.Due(now.Add(time.Minute)) {
		t.Error("hastened it is due in a minute")
	}
}
