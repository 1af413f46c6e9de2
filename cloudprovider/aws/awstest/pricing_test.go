package awstest_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// priceQuery is the question for the on-demand prices of a system.
func priceQuery(more ...string) *pricing.GetProductsInput {
	in := &pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), MaxResults: aws.Int32(100)}
	fields := append([]string{
		"regionCode", "us-east-1", "serviceCode", "AmazonEC2", "operatingSystem", "Linux", "preInstalledSw", "NA", "capacitystatus", "Used",
		"marketoption", "OnDemand",
	}, more...)
	for i := 0; i < len(fields); i += 2 {
		in.Filters = append(in.Filters, types.Filter{Type: types.FilterTypeTermMatch, Field: &fields[i], Value: &fields[i+1]})
	}
	return in
}

// prices reads the whole price list.
func (r *rig) prices(t *testing.T, in *pricing.GetProductsInput) map[string]string {
	t.Helper()
	found := map[string]string{}
	pages := pricing.NewGetProductsPaginator(pricing.NewFromConfig(r.cfg), in)
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range out.PriceList {
			var p struct {
				Product struct{ Attributes struct{ InstanceType string } }
				Terms   struct {
					OnDemand map[string]struct {
						PriceDimensions map[string]struct{ PricePerUnit map[string]string }
					}
				}
			}
			if err := json.Unmarshal([]byte(entry), &p); err != nil {
				t.Fatal(err)
			}
			for _, term := range p.Terms.OnDemand {
				for _, dimension := range term.PriceDimensions {
					if _, twice := found[p.Product.Attributes.InstanceType]; twice {
						t.Errorf("%s is priced twice", p.Product.Attributes.InstanceType)
					}
					found[p.Product.Attributes.InstanceType] = dimension.PricePerUnit["USD"]
				}
			}
		}
	}
	return found
}

func TestThePriceListIsFilteredAndPaged(t *testing.T) {
	r := newRig(t)
	r.SetPrice(awstest.Price{Type: "c5.large", PerHour: 0.085})
	r.SetPrice(awstest.Price{Type: "c5.xlarge", Missing: true})
	r.SetPrice(awstest.Price{Type: "c5.2xlarge", PerHour: 3, Currency: "CNY"})
	r.SetPrice(awstest.Price{Type: "c5.4xlarge"})
	got := r.prices(t, priceQuery("tenancy", "Shared", "productFamily", "Compute Instance"))
	want := map[string]string{"m5.large": "0.0960000000", "c5.large": "0.0850000000", "c5.xlarge": "", "c5.2xlarge": "", "c5.4xlarge": "0.0000000000", "c5.metal": ""}
	for name, price := range want {
		if got[name] != price {
			t.Errorf("price of %s: %q, want %q", name, got[name], price)
		}
	}
	if n := r.Count("GetProducts"); n != (len(got)+99)/100 || n < 5 {
		t.Errorf("%d pages for %d products", n, len(got))
	}
	metal := r.prices(t, priceQuery("tenancy", "Dedicated", "productFamily", "Compute Instance (bare metal)"))
	if metal["c5.metal"] == "" || metal["m5.large"] != "" {
		t.Errorf("bare metal: c5.metal %q, m5.large %q", metal["c5.metal"], metal["m5.large"])
	}
	if windows := r.prices(t, priceQuery("operatingSystem", "Windows")); len(windows) != 0 {
		t.Errorf("two systems at once: %d products", len(windows))
	}
	if p := r.OnDemandPrice("m5.large"); math.Abs(p-0.096) > 1e-9 {
		t.Errorf("OnDemandPrice %v, want 0.096", p)
	}
}

func TestPricesAreToldInTheRegionsOfThePriceListOnly(t *testing.T) {
	r := newRig(t)
	r.cfg.Region = "eu-central-1"
	if _, err := pricing.NewFromConfig(r.cfg).GetProducts(t.Context(), priceQuery()); err != nil {
		t.Errorf("in eu-central-1: %v", err)
	}
	r.cfg.Region = "eu-west-3"
	_, err := pricing.NewFromConfig(r.cfg).GetProducts(t.Context(), priceQuery())
	wantCode(t, err, 400, "InvalidSignatureException")
}

func TestPriceRequestsThatMakeNoSenseAreRefused(t *testing.T) {
	r := newRig(t, func(c *awstest.Config) { c.TokenLifetime = time.Minute })
	client := pricing.NewFromConfig(r.cfg)
	ask := func(change func(*pricing.GetProductsInput)) error {
		in := priceQuery()
		change(in)
		_, err := client.GetProducts(t.Context(), in)
		return err
	}
	wantCode(t, ask(func(in *pricing.GetProductsInput) { in.ServiceCode = aws.String("AmazonEC3") }), 400, "NotFoundException")
	wantCode(t, ask(func(in *pricing.GetProductsInput) { in.MaxResults = aws.Int32(101) }), 400, "InvalidParameterException")
	wantCode(t, ask(func(in *pricing.GetProductsInput) { in.NextToken = aws.String("no token") }), 400, "InvalidNextTokenException")
	wantCode(t, ask(func(in *pricing.GetProductsInput) { in.Filters[0].Field = aws.String("colour") }), 400, "InvalidParameterException")
	out := must[*pricing.GetProductsOutput](t)(client.GetProducts(t.Context(), priceQuery()))
	r.clock.Step(2 * time.Minute)
	wantCode(t, ask(func(in *pricing.GetProductsInput) { in.NextToken = out.NextToken }), 400, "ExpiredNextTokenException")
}

func TestSpotPricesHaveAHistory(t *testing.T) {
	r := newRig(t)
	r.SetOffered("m5.large", "us-east-1c", false)
	r.clock.Step(time.Hour)
	r.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: zoneA, PerHour: 0.05})
	r.clock.Step(time.Hour)
	ask := func(from time.Time) map[string][]string {
		t.Helper()
		found := map[string][]string{}
		pages := ec2.NewDescribeSpotPriceHistoryPaginator(r.ec2, &ec2.DescribeSpotPriceHistoryInput{
			InstanceTypes: []ec2types.InstanceType{"m5.large"}, ProductDescriptions: []string{awstest.SpotLinux, "Linux/UNIX (Amazon VPC)"}, StartTime: &from,
			MaxResults: aws.Int32(1),
		})
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range out.SpotPriceHistory {
				zone := aws.ToString(p.AvailabilityZone)
				found[zone] = append(found[zone], aws.ToString(p.SpotPrice)+" "+p.Timestamp.Format(time.TimeOnly))
			}
		}
		return found
	}
	now := map[string][]string{zoneA: {"0.050000 09:00:00"}, zoneB: {"0.032000 07:00:00"}}
	if diff := cmp.Diff(now, ask(r.clock.Now())); diff != "" {
		t.Errorf("prices now (-want +got):\n%s", diff)
	}
	all := map[string][]string{zoneA: {"0.032000 07:00:00", "0.050000 09:00:00"}, zoneB: {"0.032000 07:00:00"}}
	if diff := cmp.Diff(all, ask(eightOClock)); diff != "" {
		t.Errorf("prices since eight (-want +got):\n%s", diff)
	}
	_, err := r.ec2.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{Filters: []ec2types.Filter{{Name: aws.String("colour")}}})
	wantCode(t, err, 400, "InvalidParameterValue")
}

func TestAllSpotPricesOfNowTakeFewPages(t *testing.T) {
	r := newRig(t)
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(r.ec2, &ec2.DescribeSpotPriceHistoryInput{StartTime: aws.Time(r.clock.Now()), ProductDescriptions: []string{awstest.SpotLinux}})
	n := 0
	for pages.HasMorePages() {
		out, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(out.SpotPriceHistory)
	}
	if want := (n + 999) / 1000; n < 3000 || r.Count("DescribeSpotPriceHistory") != want {
		t.Errorf("%d prices in %d pages, want %d", n, r.Count("DescribeSpotPriceHistory"), want)
	}
}

func TestOfferingsTellWhichZonesHaveAType(t *testing.T) {
	r := newRig(t)
	r.SetOffered("m5.large", zoneB, false)
	ask := func(kind ec2types.LocationType) []string {
		t.Helper()
		out := must[*ec2.DescribeInstanceTypeOfferingsOutput](t)(r.ec2.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: kind, Filters: []ec2types.Filter{{Name: aws.String("instance-type"), Values: []string{"m5.large"}}},
		}))
		var where []string
		for _, o := range out.InstanceTypeOfferings {
			where = append(where, aws.ToString(o.Location))
		}
		return where
	}
	for kind, want := range map[ec2types.LocationType][]string{
		ec2types.LocationTypeAvailabilityZone:   {zoneA, "us-east-1c"},
		ec2types.LocationTypeAvailabilityZoneId: {"use1-az1", "use1-az3"},
		ec2types.LocationTypeRegion:             {"us-east-1"},
	} {
		if diff := cmp.Diff(want, ask(kind)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	g := workers(0)
	g.Zones = []string{zoneB}
	r.mustAdd(t, g)
	r.mustSetDesired(t, 1)
	r.clock.Step(10 * time.Second)
	events := r.Events()
	want := "Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1b). Launching EC2 instance failed."
	if last := events[len(events)-1]; last.Detail != want {
		t.Errorf("launch where the type isn't offered: %+v", last)
	}
}
