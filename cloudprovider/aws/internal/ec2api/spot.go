package ec2api

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
)

const (
	spotPage  = 1000 // the most that DescribeSpotPriceHistory gives
	spotTypes = 100  // instance types in one question
)

// SpotPrices reads what machines of these types cost now as spot instances, in all zones of the region. now is the time for which the
// prices are asked. No types, no call; names that EC2 doesn't know are left out. With an error nothing is returned.
func (c *Client) SpotPrices(ctx context.Context, names []string, systems []prices.System, now time.Time) ([]prices.SpotPrice, error) {
	var list []prices.SpotPrice
	for batch := range slices.Chunk(names, spotTypes) {
		in := ec2.DescribeSpotPriceHistoryInput{
			StartTime: aws.Time(now), // so only the present price of each pool is told
			// By filter: with a name that doesn't exist among InstanceTypes EC2 would refuse the whole question.
			Filters:             []types.Filter{{Name: aws.String("instance-type"), Values: batch}},
			ProductDescriptions: productsOf(systems),
			MaxResults:          aws.Int32(spotPage),
		}
		for {
			out, err := c.spotPage(ctx, &in)
			if err != nil {
				return nil, err
			}
			for _, item := range out.SpotPriceHistory {
				if price, ok := convertSpot(item); ok {
					list = append(list, price)
				}
			}
			if aws.ToString(out.NextToken) == "" {
				break
			}
			in.NextToken = out.NextToken
		}
	}
	return list, nil
}

func (c *Client) spotPage(ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput) (*ec2.DescribeSpotPriceHistoryOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeSpotPriceHistory(ctx, in)
	return out, faults.Wrap("DescribeSpotPriceHistory", err)
}

// productsOf lists AWS's words for the systems, those of accounts with and without the older network.
func productsOf(systems []prices.System) []string {
	var words []string
	for _, system := range systems {
		word := "Linux/UNIX"
		if system == prices.Windows {
			word = "Windows"
		}
		words = append(words, word, word+" (Amazon VPC)")
	}
	return words
}

func convertSpot(in types.SpotPrice) (prices.SpotPrice, bool) {
	value, err := strconv.ParseFloat(aws.ToString(in.SpotPrice), 64)
	if err != nil {
		return prices.SpotPrice{}, false
	}
	system := prices.Linux
	if strings.HasPrefix(string(in.ProductDescription), "Windows") {
		system = prices.Windows
	}
	return prices.SpotPrice{
		Type: string(in.InstanceType), Zone: aws.ToString(in.AvailabilityZone), System: system, PerHour: value, At: aws.ToTime(in.Timestamp),
	}, true
}
