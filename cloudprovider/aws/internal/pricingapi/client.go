package pricingapi

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	smithyendpoints "github.com/aws/smithy-go/endpoints"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
)

const (
	pageLimit = 30 * time.Second // bounds one page, retries included
	pageSize  = 100              // the most that GetProducts gives
	// maxPages ends a listing that never ends; a region has some dozens of pages.
	maxPages = 1000
)

// service is what is used of the SDK's client.
type service interface {
	GetProducts(ctx context.Context, in *pricing.GetProductsInput, opts ...func(*pricing.Options)) (*pricing.GetProductsOutput, error)
}

// Client asks the price list about the machines of one region. Safe for concurrent use; all methods block. Errors are of type
// *faults.Error.
type Client struct {
	api    service
	region string // whose prices are asked for
}

// New makes a client for the prices of config's region. override is that of a cloud config for the region of the Pricing API, see Region;
// zero where the SDK knows where the service is.
func New(config aws.Config, override endpoint.Override) *Client {
	api := pricing.NewFromConfig(config, func(o *pricing.Options) {
		if region, ok := Region(config.Region); ok {
			o.Region = region
		}
		if override.URL != "" {
			o.EndpointResolverV2 = resolver{override: override}
		}
	})
	return &Client{api: api, region: config.Region}
}

// Region is the region whose Pricing API tells the prices of a region; false: there is none, as for GovCloud and the isolated regions.
func Region(of string) (string, bool) {
	switch {
	case strings.HasPrefix(of, "cn-"):
		return "cn-northwest-1", true
	case strings.HasPrefix(of, "us-gov-"), strings.Contains(of, "-iso"), strings.HasPrefix(of, "eusc-"):
		return "", false
	case strings.HasPrefix(of, "ap-"):
		return "ap-south-1", true
	case strings.HasPrefix(of, "eu-"):
		return "eu-central-1", true
	default:
		return "us-east-1", true
	}
}

// resolver sends all calls to the address of a service override.
type resolver struct{ override endpoint.Override }

var _ pricing.EndpointResolverV2 = resolver{}

// ResolveEndpoint ignores region and environment: an override wins over both.
func (r resolver) ResolveEndpoint(context.Context, pricing.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return r.override.Resolve()
}

// OnDemand reads the list prices of all machines with the system, those without a hypervisor included. Products without a price, or
// that cannot be read, are left out. With an error nothing is returned.
func (c *Client) OnDemand(ctx context.Context, system prices.System) ([]prices.ListPrice, error) {
	var list []prices.ListPrice
	for _, kind := range []struct{ tenancy, family string }{
		{"Shared", "Compute Instance"},
		{"Dedicated", "Compute Instance (bare metal)"},
	} {
		in := pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), FormatVersion: aws.String("aws_v1"), MaxResults: aws.Int32(pageSize)}
		for _, filter := range [][2]string{
			{"regionCode", c.region}, {"serviceCode", "AmazonEC2"}, {"operatingSystem", operatingSystem(system)}, {"preInstalledSw", "NA"},
			{"capacitystatus", "Used"}, {"marketoption", "OnDemand"}, {"tenancy", kind.tenancy}, {"productFamily", kind.family},
		} {
			in.Filters = append(in.Filters, types.Filter{Type: types.FilterTypeTermMatch, Field: aws.String(filter[0]), Value: aws.String(filter[1])})
		}
		products, err := c.products(ctx, &in)
		if err != nil {
			return nil, err
		}
		for _, text := range products {
			if name, price, ok := readProduct(text); ok {
				list = append(list, prices.ListPrice{Type: name, System: system, PerHour: price})
			}
		}
	}
	return list, nil
}

func operatingSystem(system prices.System) string {
	if system == prices.Windows {
		return "Windows"
	}
	return "Linux"
}

// products reads all pages of a question.
func (c *Client) products(ctx context.Context, in *pricing.GetProductsInput) ([]string, error) {
	var all []string
	for range maxPages {
		out, err := c.page(ctx, in)
		if err != nil {
			return nil, err
		}
		all = append(all, out.PriceList...)
		if aws.ToString(out.NextToken) == "" { // a page may be short or empty although more follow
			return all, nil
		}
		in.NextToken = out.NextToken
	}
	return nil, &faults.Error{Operation: "GetProducts", Class: faults.Refused, Message: fmt.Sprintf("the listing does not end after %d pages", maxPages)}
}

func (c *Client) page(ctx context.Context, in *pricing.GetProductsInput) (*pricing.GetProductsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, pageLimit)
	defer cancel()
	out, err := c.api.GetProducts(ctx, in)
	return out, faults.Wrap("GetProducts", err)
}

// product is the part of an entry of the list that matters.
type product struct {
	Product struct {
		Attributes struct {
			InstanceType string `json:"instanceType"`
		} `json:"attributes"`
	} `json:"product"`
	Terms struct {
		OnDemand map[string]struct {
			PriceDimensions map[string]struct {
				PricePerUnit map[string]string `json:"pricePerUnit"`
			} `json:"priceDimensions"`
		} `json:"OnDemand"`
	} `json:"terms"`
}

// readProduct reads the type and the price of an entry, which is a JSON text. Of several prices the highest counts: the others are
// for hours that were paid before.
func readProduct(text string) (name string, price float64, ok bool) {
	var p product
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return "", 0, false
	}
	for _, term := range p.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			for _, currency := range []string{"USD", "CNY"} {
				if value, err := strconv.ParseFloat(dimension.PricePerUnit[currency], 64); err == nil {
					price = max(price, value)
				}
			}
		}
	}
	name = p.Product.Attributes.InstanceType
	return name, price, name != "" && price > 0
}
