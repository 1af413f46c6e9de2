package ec2api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
)

// offersPage is the most that DescribeInstanceTypeOfferings takes.
const offersPage = 1000

// Fitting lists the names of the types that fit requirements, sorted. architecture and virtualization are EC2's words for an image; empty: any. With
// an error nothing is returned, because a part of the types would promise what the rest does not hold.
func (c *Client) Fitting(ctx context.Context, requirements asg.Requirements, architecture, virtualization string) ([]string, error) {
	in := ec2.GetInstanceTypesFromInstanceRequirementsInput{
		ArchitectureTypes:   []types.ArchitectureType{types.ArchitectureTypeX8664, types.ArchitectureTypeArm64},
		VirtualizationTypes: []types.VirtualizationType{types.VirtualizationTypeHvm},
	}
	if architecture != "" {
		in.ArchitectureTypes = []types.ArchitectureType{types.ArchitectureType(architecture)}
	}
	if virtualization != "" {
		in.VirtualizationTypes = []types.VirtualizationType{types.VirtualizationType(virtualization)}
	}
	var err error
	if in.InstanceRequirements, err = requirementsOf(requirements); err != nil {
		return nil, err
	}
	var names []string
	for {
		out, err := c.fittingPage(ctx, &in)
		if err != nil {
			return nil, err
		}
		for _, t := range out.InstanceTypes {
			names = append(names, aws.ToString(t.InstanceType))
		}
		if aws.ToString(out.NextToken) == "" {
			slices.Sort(names)
			return names, nil
		}
		in.NextToken = out.NextToken
	}
}

func (c *Client) fittingPage(ctx context.Context, in *ec2.GetInstanceTypesFromInstanceRequirementsInput) (*ec2.GetInstanceTypesFromInstanceRequirementsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.GetInstanceTypesFromInstanceRequirements(ctx, in)
	return out, faults.Wrap("GetInstanceTypesFromInstanceRequirements", err)
}

// requirementsOf reads requirements that Auto Scaling or EC2 told: the fields have the same names in both. The SDK wants the two minimums that AWS always tells.
func requirementsOf(text asg.Requirements) (*types.InstanceRequirementsRequest, error) {
	out := &types.InstanceRequirementsRequest{}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, fmt.Errorf("reading instance requirements: %w", err)
	}
	if out.VCpuCount == nil {
		out.VCpuCount = &types.VCpuCountRangeRequest{}
	}
	if out.VCpuCount.Min == nil {
		out.VCpuCount.Min = aws.Int32(0)
	}
	if out.MemoryMiB == nil {
		out.MemoryMiB = &types.MemoryMiBRequest{}
	}
	if out.MemoryMiB.Min == nil {
		out.MemoryMiB.Min = aws.Int32(0)
	}
	return out, nil
}

// Offers tells which zones offer which of the types, each sorted; types that no zone of the region offers are left out. With an error nothing is returned.
func (c *Client) Offers(ctx context.Context, names []string) (map[string][]string, error) {
	found := map[string][]string{}
	for batch := range slices.Chunk(names, pageSize) {
		in := ec2.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, MaxResults: aws.Int32(offersPage),
			Filters: []types.Filter{{Name: aws.String("instance-type"), Values: batch}},
		}
		for {
			out, err := c.offersPage(ctx, &in)
			if err != nil {
				return nil, err
			}
			for _, offer := range out.InstanceTypeOfferings {
				found[string(offer.InstanceType)] = append(found[string(offer.InstanceType)], aws.ToString(offer.Location))
			}
			if aws.ToString(out.NextToken) == "" {
				break
			}
			in.NextToken = out.NextToken
		}
	}
	for _, zones := range found {
		slices.Sort(zones)
	}
	return found, nil
}

func (c *Client) offersPage(ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeInstanceTypeOfferings(ctx, in)
	return out, faults.Wrap("DescribeInstanceTypeOfferings", err)
}

// Zones lists the zones of the region that the account can use, Local Zones and Wavelength Zones among them.
func (c *Client) Zones(ctx context.Context) ([]launch.Zone, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		return nil, faults.Wrap("DescribeAvailabilityZones", err)
	}
	zones := make([]launch.Zone, 0, len(out.AvailabilityZones))
	for _, zone := range out.AvailabilityZones {
		zones = append(zones, launch.Zone{Name: aws.ToString(zone.ZoneName), ID: aws.ToString(zone.ZoneId), Region: aws.ToString(zone.RegionName)})
	}
	return zones, nil
}
