package ec2api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	smithyendpoints "github.com/aws/smithy-go/endpoints"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/userdata"
)

const (
	readLimit = 15 * time.Second // bounds one call, retries included: the loop waits for it
	pageSize  = 100              // the most that DescribeInstanceTypes takes

	versionsPage = 200 // the most that DescribeLaunchTemplateVersions takes
)

// service is what is used of the SDK's client.
type service interface {
	templateService
	typeService
}

type typeService interface {
	DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeInstanceTypeOfferings(ctx context.Context, in *ec2.DescribeInstanceTypeOfferingsInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstanceTypeOfferingsOutput, error)
	GetInstanceTypesFromInstanceRequirements(ctx context.Context, in *ec2.GetInstanceTypesFromInstanceRequirementsInput, opts ...func(*ec2.Options)) (*ec2.GetInstanceTypesFromInstanceRequirementsOutput, error)
	DescribeAvailabilityZones(ctx context.Context, in *ec2.DescribeAvailabilityZonesInput, opts ...func(*ec2.Options)) (*ec2.DescribeAvailabilityZonesOutput, error)
}

type templateService interface {
	DescribeLaunchTemplateVersions(ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput, opts ...func(*ec2.Options)) (*ec2.DescribeLaunchTemplateVersionsOutput, error)
	DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, opts ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
	DescribeInstanceTypes(ctx context.Context, in *ec2.DescribeInstanceTypesInput, opts ...func(*ec2.Options)) (*ec2.DescribeInstanceTypesOutput, error)
	DescribeSpotPriceHistory(ctx context.Context, in *ec2.DescribeSpotPriceHistoryInput, opts ...func(*ec2.Options)) (*ec2.DescribeSpotPriceHistoryOutput, error)
}

// Client asks EC2 in one region. Safe for concurrent use; all methods block. Errors are of type *faults.Error.
type Client struct{ api service }

// New makes a client. override is zero where the SDK knows where the service is.
func New(config aws.Config, override endpoint.Override) *Client {
	return &Client{api: ec2.NewFromConfig(config, func(o *ec2.Options) {
		if override.URL != "" {
			o.EndpointResolverV2 = resolver{override: override}
		}
	})}
}

// resolver sends all calls to the address of a service override.
type resolver struct{ override endpoint.Override }

var _ ec2.EndpointResolverV2 = resolver{}

// ResolveEndpoint ignores region and environment: an override wins over both.
func (r resolver) ResolveEndpoint(context.Context, ec2.EndpointParameters) (smithyendpoints.Endpoint, error) {
	return r.override.Resolve()
}

// Template reads a version of a launch template.
func (c *Client) Template(ctx context.Context, ref asg.TemplateRef) (launch.Template, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	in := ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{ref.Version}}
	if ref.ID != "" { // the two exclude each other, and the id never changes its meaning
		in.LaunchTemplateId = aws.String(ref.ID)
	} else {
		in.LaunchTemplateName = aws.String(ref.Name)
	}
	t, err := c.templateVersion(ctx, &in)
	if err != nil || !strings.HasPrefix(t.ImageID, "resolve:") {
		return t, err
	}
	// The image stands behind a parameter, which takes a permission of its own to read: without the image the rest is still good.
	in.ResolveAlias = aws.Bool(true)
	resolved, err := c.templateVersion(ctx, &in)
	if err != nil || strings.HasPrefix(resolved.ImageID, "resolve:") {
		return t, nil
	}
	resolved.Aliased = true
	return resolved, nil
}

// Aliases reads what $Latest and $Default mean for all launch templates of the account, in at most so many calls: more are left out. The refs have either an id
// or a name. Templates whose image stands behind an alias are left out as well, see Template. With an error nothing is returned.
func (c *Client) Aliases(ctx context.Context, calls int) (map[asg.TemplateRef]launch.Template, error) {
	in := ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest", "$Default"}, MaxResults: aws.Int32(versionsPage)}
	found, newest := map[asg.TemplateRef]launch.Template{}, map[string]int64{}
	for range calls {
		out, err := c.versionsPage(ctx, &in)
		if err != nil {
			return nil, err
		}
		for i := range out.LaunchTemplateVersions {
			if err := addAliases(found, newest, &out.LaunchTemplateVersions[i]); err != nil {
				return nil, err
			}
		}
		if aws.ToString(out.NextToken) == "" {
			break
		}
		in.NextToken = out.NextToken
	}
	return found, nil
}

func (c *Client) versionsPage(ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput) (*ec2.DescribeLaunchTemplateVersionsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeLaunchTemplateVersions(ctx, in)
	return out, faults.Wrap("DescribeLaunchTemplateVersions", err)
}

// addAliases enters a version that is the default one, or the latest, or both: of a template the answer holds no others.
func addAliases(found map[asg.TemplateRef]launch.Template, newest map[string]int64, in *types.LaunchTemplateVersion) error {
	id, name, number := aws.ToString(in.LaunchTemplateId), aws.ToString(in.LaunchTemplateName), aws.ToInt64(in.VersionNumber)
	var aliases []string
	if aws.ToBool(in.DefaultVersion) {
		aliases = append(aliases, "$Default")
	}
	if number >= newest[id] {
		newest[id] = number
		aliases = append(aliases, "$Latest")
	}
	for _, alias := range aliases {
		byID, byName := asg.TemplateRef{ID: id, Version: alias}, asg.TemplateRef{Name: name, Version: alias}
		delete(found, byID)
		delete(found, byName)
		if in.LaunchTemplateData == nil || strings.HasPrefix(aws.ToString(in.LaunchTemplateData.ImageId), "resolve:") {
			continue
		}
		t, err := convertTemplate(in.LaunchTemplateData)
		if err != nil {
			return err
		}
		found[byID], found[byName] = t, t
	}
	return nil
}

func (c *Client) templateVersion(ctx context.Context, in *ec2.DescribeLaunchTemplateVersionsInput) (launch.Template, error) {
	out, err := c.api.DescribeLaunchTemplateVersions(ctx, in)
	if err != nil {
		return launch.Template{}, faults.Wrap("DescribeLaunchTemplateVersions", err)
	}
	if len(out.LaunchTemplateVersions) == 0 || out.LaunchTemplateVersions[0].LaunchTemplateData == nil {
		return launch.Template{}, &faults.Error{Operation: "DescribeLaunchTemplateVersions", Class: faults.NotFound, Message: "AWS answers without the version"}
	}
	return convertTemplate(out.LaunchTemplateVersions[0].LaunchTemplateData)
}

func convertTemplate(in *types.ResponseLaunchTemplateData) (launch.Template, error) {
	t := launch.Template{ImageID: aws.ToString(in.ImageId), InstanceType: string(in.InstanceType), UserData: userdata.Parse(aws.ToString(in.UserData))}
	if in.InstanceRequirements != nil {
		text, err := json.Marshal(in.InstanceRequirements)
		if err != nil {
			return launch.Template{}, fmt.Errorf("keeping the instance requirements of a launch template: %w", err)
		}
		t.Requirements = asg.Requirements(text)
	}
	if options := in.InstanceMarketOptions; options != nil {
		t.Spot = options.MarketType == types.MarketTypeSpot
	}
	for _, mapping := range in.BlockDeviceMappings {
		if mapping.Ebs != nil && mapping.Ebs.VolumeSize != nil {
			t.Volumes = append(t.Volumes, launch.Volume{Device: aws.ToString(mapping.DeviceName), GiB: int64(*mapping.Ebs.VolumeSize)})
		}
	}
	if options := in.CpuOptions; options != nil && options.CoreCount != nil {
		t.VCPUs = int(*options.CoreCount) * max(int(aws.ToInt32(options.ThreadsPerCore)), 1)
	}
	for _, network := range in.NetworkInterfaces {
		if kind := aws.ToString(network.InterfaceType); kind == "efa" || kind == "efa-only" {
			t.EFAInterfaces++
		}
	}
	return t, nil
}

// Image reads an AMI.
func (c *Client) Image(ctx context.Context, id string) (launch.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
	if err != nil {
		return launch.Image{}, faults.Wrap("DescribeImages", err)
	}
	if len(out.Images) == 0 {
		return launch.Image{}, &faults.Error{Operation: "DescribeImages", Class: faults.NotFound, Message: "AWS answers without the image"}
	}
	in := out.Images[0]
	image := launch.Image{
		Name: aws.ToString(in.Name), Architecture: string(in.Architecture),
		Windows:        strings.EqualFold(string(in.Platform), string(types.PlatformValuesWindows)), // AWS sends another case than the SDK says
		Virtualization: string(in.VirtualizationType), RootDevice: aws.ToString(in.RootDeviceName),
	}
	for _, mapping := range in.BlockDeviceMappings {
		if mapping.Ebs != nil && mapping.Ebs.VolumeSize != nil {
			image.Volumes = append(image.Volumes, launch.Volume{Device: aws.ToString(mapping.DeviceName), GiB: int64(*mapping.Ebs.VolumeSize)})
		}
	}
	return image, nil
}

// Machines reads instance types by name; names that EC2 doesn't know are left out. With an error it returns what was read before.
func (c *Client) Machines(ctx context.Context, names []string) (map[string]launch.Machine, error) {
	found := map[string]launch.Machine{}
	for batch := range slices.Chunk(names, pageSize) {
		// By filter and not by name: with a name that doesn't exist EC2 would refuse the whole question.
		in := ec2.DescribeInstanceTypesInput{
			MaxResults: aws.Int32(pageSize), Filters: []types.Filter{{Name: aws.String("instance-type"), Values: batch}},
		}
		for {
			out, err := c.typePage(ctx, &in)
			if err != nil {
				return found, err
			}
			for i := range out.InstanceTypes {
				if m := convertMachine(&out.InstanceTypes[i]); m.VCPUs > 0 && m.MemoryMiB > 0 { // a machine of no size would take no pods
					found[m.Name] = m
				}
			}
			if aws.ToString(out.NextToken) == "" {
				break
			}
			in.NextToken = out.NextToken
		}
	}
	return found, nil
}

func (c *Client) typePage(ctx context.Context, in *ec2.DescribeInstanceTypesInput) (*ec2.DescribeInstanceTypesOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	out, err := c.api.DescribeInstanceTypes(ctx, in)
	return out, faults.Wrap("DescribeInstanceTypes", err)
}

func convertMachine(in *types.InstanceTypeInfo) launch.Machine {
	var m launch.Machine
	m.Name = string(in.InstanceType)
	if in.VCpuInfo != nil {
		m.VCPUs = int(aws.ToInt32(in.VCpuInfo.DefaultVCpus))
	}
	if in.MemoryInfo != nil {
		m.MemoryMiB = aws.ToInt64(in.MemoryInfo.SizeInMiB)
	}
	m.Architecture = architecture(in.ProcessorInfo)
	addGPUs(&m, in.GpuInfo)
	addNeuron(&m, in)
	addNetwork(&m, in.NetworkInfo)
	if in.InstanceStorageInfo != nil {
		m.LocalStorageGB = int(aws.ToInt64(in.InstanceStorageInfo.TotalSizeInGB))
	}
	return m
}

func architecture(in *types.ProcessorInfo) string {
	if in != nil && len(in.SupportedArchitectures) > 0 {
		switch in.SupportedArchitectures[0] {
		case types.ArchitectureTypeArm64, types.ArchitectureTypeArm64Mac:
			return "arm64"
		default:
			return "amd64"
		}
	}
	return "amd64"
}

func addGPUs(m *launch.Machine, in *types.GpuInfo) {
	if in == nil {
		return
	}
	for _, gpu := range in.Gpus {
		count := max(int(aws.ToInt32(gpu.Count)), int(aws.ToInt32(gpu.LogicalGpuCount))) // logical ones are parts of a card
		if count == 0 || (m.GPUManufacturer != "" && m.GPUManufacturer != aws.ToString(gpu.Manufacturer)) {
			continue
		}
		m.GPUs += count
		m.GPUManufacturer, m.GPUModel = aws.ToString(gpu.Manufacturer), aws.ToString(gpu.Name)
	}
}

func addNeuron(m *launch.Machine, in *types.InstanceTypeInfo) {
	if in.NeuronInfo != nil {
		for _, device := range in.NeuronInfo.NeuronDevices {
			count := int(aws.ToInt32(device.Count))
			m.NeuronDevices += count
			if device.CoreInfo != nil {
				m.NeuronCores += count * int(aws.ToInt32(device.CoreInfo.Count))
			}
		}
	}
	if m.NeuronDevices > 0 || in.InferenceAcceleratorInfo == nil {
		return
	}
	for _, device := range in.InferenceAcceleratorInfo.Accelerators {
		m.NeuronDevices += int(aws.ToInt32(device.Count))
	}
}

func addNetwork(m *launch.Machine, in *types.NetworkInfo) {
	if in == nil {
		return
	}
	m.ENIs, m.IPv4PerENI = int(aws.ToInt32(in.MaximumNetworkInterfaces)), int(aws.ToInt32(in.Ipv4AddressesPerInterface))
	for _, card := range in.NetworkCards {
		if aws.ToInt32(card.NetworkCardIndex) == aws.ToInt32(in.DefaultNetworkCardIndex) && card.MaximumNetworkInterfaces != nil {
			m.ENIs = int(*card.MaximumNetworkInterfaces) // pods get addresses from the default card only
		}
	}
	if in.EfaInfo != nil {
		m.EFAInterfaces = int(aws.ToInt32(in.EfaInfo.MaximumEfaInterfaces))
	}
}
