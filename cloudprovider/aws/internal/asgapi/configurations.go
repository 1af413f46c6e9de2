package asgapi

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/userdata"
)

// Configurations reads launch configurations by name; names that AWS doesn't know are left out. With an error nothing is returned.
func (c *Client) Configurations(ctx context.Context, names []string) (map[string]launch.Template, error) {
	found := map[string]launch.Template{}
	for batch := range slices.Chunk(names, configNames) {
		in := autoscaling.DescribeLaunchConfigurationsInput{LaunchConfigurationNames: batch, MaxRecords: aws.Int32(pageSize)}
		for {
			out, err := c.configurationPage(ctx, &in)
			if err != nil {
				return nil, err
			}
			for _, configuration := range out.LaunchConfigurations {
				found[aws.ToString(configuration.LaunchConfigurationName)] = convertConfiguration(configuration)
			}
			if aws.ToString(out.NextToken) == "" {
				break
			}
			in.NextToken = out.NextToken
		}
	}
	return found, nil
}

func (c *Client) configurationPage(ctx context.Context, in *autoscaling.DescribeLaunchConfigurationsInput) (*autoscaling.DescribeLaunchConfigurationsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeLaunchConfigurations(ctx, in)
	return out, faults.Wrap("DescribeLaunchConfigurations", err)
}

func convertConfiguration(in types.LaunchConfiguration) launch.Template {
	template := launch.Template{
		InstanceType: aws.ToString(in.InstanceType), ImageID: aws.ToString(in.ImageId), Spot: aws.ToString(in.SpotPrice) != "",
		UserData: userdata.Parse(aws.ToString(in.UserData)),
	}
	for _, mapping := range in.BlockDeviceMappings {
		if mapping.Ebs != nil && mapping.Ebs.VolumeSize != nil {
			template.Volumes = append(template.Volumes, launch.Volume{Device: aws.ToString(mapping.DeviceName), GiB: int64(*mapping.Ebs.VolumeSize)})
		}
	}
	return template
}
