package asgapi

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
)

func TestTheDistributionOfAPolicyHasTheDefaultsOfAWS(t *testing.T) {
	tests := map[string]struct {
		in             *types.InstancesDistribution
		byRequirements bool
		want           asg.Distribution
	}{
		"none is given": {want: asg.Distribution{OnDemandPercentage: 100, OnDemandStrategy: "prioritized", SpotStrategy: "lowest-price"}},
		"an empty one":  {in: &types.InstancesDistribution{}, want: asg.Distribution{OnDemandPercentage: 100, OnDemandStrategy: "prioritized", SpotStrategy: "lowest-price"}},
		"types by their attributes": {
			byRequirements: true, want: asg.Distribution{OnDemandPercentage: 100, OnDemandStrategy: "lowest-price", SpotStrategy: "lowest-price"},
		},
		"all is given, a percentage of 0 too": {
			in: &types.InstancesDistribution{
				OnDemandBaseCapacity: aws.Int32(2), OnDemandPercentageAboveBaseCapacity: aws.Int32(0), OnDemandAllocationStrategy: aws.String("lowest-price"),
				SpotAllocationStrategy: aws.String("price-capacity-optimized"),
			},
			want: asg.Distribution{OnDemandBase: 2, OnDemandStrategy: "lowest-price", SpotStrategy: "price-capacity-optimized"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&test.want, convertDistribution(test.in, test.byRequirements)); diff != "" {
				t.Errorf("distribution (-want +got):\n%s", diff)
			}
		})
	}
}
