package awstest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

func TestAllInstanceTypesCanBePagedThrough(t *testing.T) {
	r := newRig(t)
	list, err := instancetypes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]instancetypes.Type{}
	pages := ec2.NewDescribeInstanceTypesPaginator(r.ec2, &ec2.DescribeInstanceTypesInput{})
	for pages.HasMorePages() {
		out := must[*ec2.DescribeInstanceTypesOutput](t)(pages.NextPage(t.Context()))
		for _, i := range out.InstanceTypes {
			got[string(i.InstanceType)] = typeOf(i)
		}
	}
	want := map[string]instancetypes.Type{}
	for _, i := range list.All() {
		want[i.Name] = i
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-list +wire):\n%s", diff)
	}
	if n := r.Count("DescribeInstanceTypes"); n != (len(want)+99)/100 {
		t.Errorf("%d requests for %d types", n, len(want))
	}
}

// typeOf reads a type back from the wire, as far as the list has it. What is missing there is Unknown.
func typeOf(i types.InstanceTypeInfo) instancetypes.Type {
	t := instancetypes.Type{
		Name: string(i.InstanceType), VCPUs: int(*i.VCpuInfo.DefaultVCpus), MemoryMiB: *i.MemoryInfo.SizeInMiB, Architecture: "amd64",
		EFAInterfaces: instancetypes.Unknown, ENIs: instancetypes.Unknown, IPv4PerENI: instancetypes.Unknown, LocalStorageGB: instancetypes.Unknown,
	}
	if strings.HasPrefix(string(i.ProcessorInfo.SupportedArchitectures[0]), "arm64") {
		t.Architecture = "arm64"
	}
	if i.GpuInfo != nil {
		gpu := i.GpuInfo.Gpus[0]
		t.GPUs, t.GPUManufacturer, t.GPUModel = int(*gpu.Count), *gpu.Manufacturer, *gpu.Name
	}
	if i.NeuronInfo != nil {
		t.NeuronDevices = int(*i.NeuronInfo.NeuronDevices[0].Count)
	}
	if i.InstanceStorageSupported != nil {
		t.LocalStorageGB = 0
	}
	if i.InstanceStorageInfo != nil {
		t.LocalStorageGB = int(*i.InstanceStorageInfo.TotalSizeInGB)
	}
	if n := i.NetworkInfo; n != nil {
		t.ENIs, t.IPv4PerENI, t.EFAInterfaces = int(*n.MaximumNetworkInterfaces), int(*n.Ipv4AddressesPerInterface), 0
		if n.EfaInfo != nil {
			t.EFAInterfaces = int(*n.EfaInfo.MaximumEfaInterfaces)
		}
	} else {
		t.NeuronDevices = instancetypes.Unknown // the list doesn't know the devices of these types either
	}
	return t
}

func TestInstanceTypesAreFoundByNameAndFilter(t *testing.T) {
	r := newRig(t)
	r.PutInstanceType(instancetypes.Type{Name: "n1.large", VCPUs: 2, MemoryMiB: 4096, Architecture: "arm64"})
	r.RemoveInstanceType("m5.metal")
	names := func(in *ec2.DescribeInstanceTypesInput) []string {
		var got []string
		for _, i := range must[*ec2.DescribeInstanceTypesOutput](t)(r.ec2.DescribeInstanceTypes(t.Context(), in)).InstanceTypes {
			got = append(got, string(i.InstanceType))
		}
		return got
	}
	if diff := cmp.Diff([]string{"m5.large", "n1.large"}, names(&ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"n1.large", "m5.large"}})); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	filters := []types.Filter{{Name: aws.String("instance-type"), Values: []string{"n1.*", "m5.m*"}}}
	if diff := cmp.Diff([]string{"n1.large"}, names(&ec2.DescribeInstanceTypesInput{Filters: filters})); diff != "" {
		t.Errorf("by filter (-want +got):\n%s", diff)
	}
	_, err := r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.metal", "m5.large"}})
	wantCode(t, err, 400, "InvalidInstanceType")
	_, err = r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large"}, MaxResults: aws.Int32(10)})
	wantCode(t, err, 400, "InvalidParameterCombination")
	_, err = r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(4)})
	wantCode(t, err, 400, "InvalidParameterValue")
}

func TestLaunchTemplateVersionsAreResolved(t *testing.T) {
	r := newRig(t)
	r.PutImageAlias("/images/workers", "ami-9")
	id := r.PutLaunchTemplate(awstest.LaunchTemplate{Name: "pool", Default: 2, Versions: []awstest.LaunchTemplateVersion{
		{InstanceType: "m5.large"},
		{InstanceType: "m5.xlarge", ImageID: "resolve:ssm:/images/workers", Spot: true, UserData: "IyEvYmluL3No", CPUCores: 1, CPUThreadsPerCore: 2, EFAInterfaces: 1,
			BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 100, VolumeType: "gp3"}}, InstanceTags: map[string]string{"team": "blue"}},
		{Requirements: &awstest.Requirements{VCPUs: awstest.Range{Min: 2, Max: 4}, MemoryMiB: awstest.Range{Min: 8192}, BareMetal: "included", ExcludedInstanceTypes: []string{"t*"}}},
	}})
	ask := func(in *ec2.DescribeLaunchTemplateVersionsInput) []types.LaunchTemplateVersion {
		return must[*ec2.DescribeLaunchTemplateVersionsOutput](t)(r.ec2.DescribeLaunchTemplateVersions(t.Context(), in)).LaunchTemplateVersions
	}
	for version, want := range map[string]int64{"$Default": 2, "$Latest": 3, "1": 1} {
		got := ask(&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("pool"), Versions: []string{version}})
		if len(got) != 1 || *got[0].VersionNumber != want || *got[0].LaunchTemplateId != id || *got[0].DefaultVersion != (want == 2) {
			t.Errorf("%s: %+v, want version %d", version, got, want)
		}
	}
	data := ask(&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"2"}, ResolveAlias: aws.Bool(true)})[0].LaunchTemplateData
	got := []any{
		*data.ImageId, data.InstanceType, *data.UserData, data.InstanceMarketOptions.MarketType, *data.CpuOptions.CoreCount, *data.CpuOptions.ThreadsPerCore,
		*data.NetworkInterfaces[0].InterfaceType, *data.BlockDeviceMappings[0].Ebs.VolumeSize, *data.TagSpecifications[0].Tags[0].Value,
	}
	want := []any{"ami-9", types.InstanceTypeM5Xlarge, "IyEvYmluL3No", types.MarketTypeSpot, int32(1), int32(2), "efa", int32(100), "blue"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("data of version 2 (-want +got):\n%s", diff)
	}
	requirements := ask(&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"3"}})[0].LaunchTemplateData.InstanceRequirements
	if *requirements.VCpuCount.Max != 4 || *requirements.MemoryMiB.Min != 8192 || requirements.BareMetal != types.BareMetalIncluded || requirements.ExcludedInstanceTypes[0] != "t*" {
		t.Errorf("requirements of version 3: %+v", requirements)
	}
	if got := ask(&ec2.DescribeLaunchTemplateVersionsInput{Versions: []string{"$Latest", "$Default"}}); len(got) != 3 {
		t.Errorf("%d latest and default versions of both templates, want 3", len(got))
	}
}

func TestMissingTemplatesVersionsAndImagesAreErrors(t *testing.T) {
	r := newRig(t)
	r.PutImage(awstest.Image{ID: "ami-1"})
	templates := func(in *ec2.DescribeLaunchTemplateVersionsInput) error {
		_, err := r.ec2.DescribeLaunchTemplateVersions(t.Context(), in)
		return err
	}
	wantCode(t, templates(&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: aws.String("lt-none")}), 400, "InvalidLaunchTemplateId.NotFound")
	wantCode(t, templates(&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("none")}), 400, "InvalidLaunchTemplateName.NotFoundException")
	wantCode(t, templates(&ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("workers"), Versions: []string{"7"}}), 400, "InvalidLaunchTemplateId.VersionNotFound")
	wantCode(t, templates(&ec2.DescribeLaunchTemplateVersionsInput{}), 400, "MissingParameter")
	for id, code := range map[string]string{"ami-2": "InvalidAMIID.NotFound", "resolve:ssm:/x": "InvalidAMIID.Malformed"} {
		_, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-1", id}})
		wantCode(t, err, 400, code)
	}
}

func TestImagesTellPlatformAndDisks(t *testing.T) {
	r := newRig(t)
	r.PutImage(awstest.Image{ID: "ami-win", Windows: true, BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/sda1", SizeGiB: 50}}})
	r.PutImage(awstest.Image{ID: "ami-arm", Architecture: "arm64"})
	out := must[*ec2.DescribeImagesOutput](t)(r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-win", "ami-arm"}}))
	arm, win := out.Images[0], out.Images[1]
	if arm.Architecture != types.ArchitectureValuesArm64 || arm.Platform != "" {
		t.Errorf("ARM image: %+v", arm)
	}
	if win.Platform != "windows" || aws.ToString(win.RootDeviceName) != "/dev/sda1" || *win.BlockDeviceMappings[0].Ebs.VolumeSize != 50 ||
		win.Architecture != types.ArchitectureValuesX8664 {
		t.Errorf("Windows image: %+v", win)
	}
}

func TestRequirementsSelectTypes(t *testing.T) {
	r := newRig(t)
	request := func(change func(*types.InstanceRequirementsRequest)) []string {
		in := &types.InstanceRequirementsRequest{
			VCpuCount: &types.VCpuCountRangeRequest{Min: aws.Int32(2), Max: aws.Int32(2)}, MemoryMiB: &types.MemoryMiBRequest{Min: aws.Int32(8192), Max: aws.Int32(8192)},
			AllowedInstanceTypes: []string{"m5*", "m6g*", "t3*", "c5*", "g4dn*"},
		}
		change(in)
		out := must[*ec2.GetInstanceTypesFromInstanceRequirementsOutput](t)(r.ec2.GetInstanceTypesFromInstanceRequirements(t.Context(),
			&ec2.GetInstanceTypesFromInstanceRequirementsInput{
				ArchitectureTypes: []types.ArchitectureType{types.ArchitectureTypeX8664}, VirtualizationTypes: []types.VirtualizationType{types.VirtualizationTypeHvm},
				InstanceRequirements: in,
			}))
		var got []string
		for _, i := range out.InstanceTypes {
			got = append(got, *i.InstanceType)
		}
		return got
	}
	for name, tc := range map[string]struct {
		change func(*types.InstanceRequirementsRequest)
		want   []string
	}{
		"size and architecture": {func(*types.InstanceRequirementsRequest) {}, []string{"m5.large", "m5a.large", "m5ad.large", "m5d.large", "m5dn.large", "m5n.large", "m5zn.large"}},
		"with burstable ones": {func(i *types.InstanceRequirementsRequest) {
			i.BurstablePerformance = types.BurstablePerformanceRequired
		}, []string{"t3.large", "t3a.large"}},
		"of one CPU maker": {func(i *types.InstanceRequirementsRequest) {
			i.CpuManufacturers = []types.CpuManufacturer{types.CpuManufacturerAmd}
		}, []string{"m5a.large", "m5ad.large"}},
		"with local disks": {func(i *types.InstanceRequirementsRequest) { i.LocalStorage = types.LocalStorageRequired }, []string{"m5ad.large", "m5d.large", "m5dn.large"}},
		"with GPUs": {func(i *types.InstanceRequirementsRequest) {
			i.VCpuCount.Max, i.MemoryMiB.Max = aws.Int32(8), aws.Int32(32768)
			i.AcceleratorCount = &types.AcceleratorCountRequest{Min: aws.Int32(1)}
			i.AcceleratorNames = []types.AcceleratorName{types.AcceleratorNameT4}
		}, []string{"g4dn.2xlarge", "g4dn.xlarge"}},
		"by memory per vCPU": {func(i *types.InstanceRequirementsRequest) {
			i.MemoryMiB, i.MemoryGiBPerVCpu = &types.MemoryMiBRequest{Min: aws.Int32(0)}, &types.MemoryGiBPerVCpuRequest{Max: aws.Float64(2)}
		}, []string{"c5.large", "c5a.large", "c5ad.large", "c5d.large"}},
		"none": {func(i *types.InstanceRequirementsRequest) { i.AllowedInstanceTypes = []string{"z*"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, request(tc.change)); diff != "" {
				t.Errorf("types (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGroupWithRequirementsLaunchesTheSmallestTypeThatFits(t *testing.T) {
	r := newRig(t)
	g := workers(1)
	g.LaunchTemplate = nil
	g.MixedInstances = &awstest.MixedInstances{LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, Overrides: []awstest.Override{{Requirements: &awstest.Requirements{
		VCPUs: awstest.Range{Min: 3}, MemoryMiB: awstest.Range{Min: 1024}, AllowedInstanceTypes: []string{"m5.*"},
	}}}}
	r.mustAdd(t, g)
	if got := r.Instances()[0].Type; got != "m5.xlarge" {
		t.Errorf("type %s, want m5.xlarge", got)
	}
}

func TestMachinesAreListedForAnHourAfterTheirEnd(t *testing.T) {
	r := newRig(t)
	r.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{
		{InstanceType: "m5.large", InstanceTags: map[string]string{"team": "blue"}},
	}})
	g := workers(1)
	g.Tags = []awstest.Tag{{Key: "cluster", Value: "c", PropagateAtLaunch: true}, {Key: "private", Value: "p"}}
	r.mustAdd(t, g)
	i := r.Instances()[0]
	wantTags := map[string]string{"team": "blue", "cluster": "c", "aws:autoscaling:groupName": "workers",
		"aws:ec2launchtemplate:id": "lt-0a", "aws:ec2launchtemplate:version": "1"}
	if diff := cmp.Diff(wantTags, i.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if i.ProviderID() != "aws:///us-east-1a/"+i.ID || !strings.HasSuffix(i.PrivateDNSName, ".ec2.internal") {
		t.Errorf("provider id %s, DNS name %s", i.ProviderID(), i.PrivateDNSName)
	}
	state := func() string {
		out, err := r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{i.ID}})
		if err != nil {
			wantCode(t, err, 400, "InvalidInstanceID.NotFound")
			return "gone"
		}
		m := out.Reservations[0].Instances[0]
		if aws.ToString(m.PrivateDnsName) != i.PrivateDNSName || aws.ToString(m.Placement.AvailabilityZone) != zoneA || len(m.Tags) != len(wantTags) {
			t.Errorf("machine %+v", m)
		}
		return string(m.State.Name)
	}
	got := []string{state()}
	r.mustSetDesired(t, 0)
	for _, after := range []time.Duration{0, 30 * time.Second, time.Hour, time.Second} {
		r.clock.Step(after)
		got = append(got, state())
	}
	if diff := cmp.Diff([]string{"running", "shutting-down", "terminated", "terminated", "gone"}, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestMachinesCanBeFiltered(t *testing.T) {
	r := newRig(t)
	g := workers(2)
	g.Zones = []string{zoneA, zoneB}
	r.mustAdd(t, g)
	find := func(name, value string) int {
		out := must[*ec2.DescribeInstancesOutput](t)(r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{
			Filters: []types.Filter{{Name: aws.String(name), Values: []string{value}}},
		}))
		return len(out.Reservations)
	}
	for filter, want := range map[string]int{"availability-zone=us-east-1b": 1, "tag:aws:autoscaling:groupName=work*": 2, "instance-state-name=terminated": 0} {
		name, value, _ := strings.Cut(filter, "=")
		if got := find(name, value); got != want {
			t.Errorf("%s: %d machines, want %d", filter, got, want)
		}
	}
}

func TestZonesAreThoseOfTheRegionAndOfTheGroups(t *testing.T) {
	r := newRig(t)
	g := workers(0)
	g.Zones = []string{"us-east-1-bos-1a"}
	r.mustAdd(t, g)
	var got []string
	for _, z := range must[*ec2.DescribeAvailabilityZonesOutput](t)(r.ec2.DescribeAvailabilityZones(t.Context(), nil)).AvailabilityZones {
		got = append(got, *z.ZoneName+" "+*z.ZoneId+" "+*z.ZoneType+" "+*z.RegionName)
	}
	want := []string{
		"us-east-1-bos-1a use1b1-az1 local-zone us-east-1",
		"us-east-1a use1-az1 availability-zone us-east-1",
		"us-east-1b use1-az2 availability-zone us-east-1",
		"us-east-1c use1-az3 availability-zone us-east-1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
}

func TestNetworkCardsAndProcessorsFollowFromTheType(t *testing.T) {
	r := newRig(t)
	out := must[*ec2.DescribeInstanceTypesOutput](t)(r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{
		InstanceTypes: []types.InstanceType{"p4d.24xlarge", "g5.xlarge", "m5.large", "m5a.large", "m6g.large", "mac2.metal", "t1.micro"},
	}))
	got := map[string]string{}
	for _, i := range out.InstanceTypes {
		n := i.NetworkInfo
		got[string(i.InstanceType)] = fmt.Sprint(*i.ProcessorInfo.Manufacturer, " ", i.ProcessorInfo.SupportedArchitectures, " ", i.Hypervisor,
			" cards ", len(n.NetworkCards), "x", *n.NetworkCards[0].MaximumNetworkInterfaces, " current ", *i.CurrentGeneration)
	}
	want := map[string]string{
		"p4d.24xlarge": "Intel [x86_64] nitro cards 4x15 current true",
		"g5.xlarge":    "AMD [x86_64] nitro cards 1x4 current true",
		"m5.large":     "Intel [x86_64] nitro cards 1x3 current true",
		"m5a.large":    "AMD [x86_64] nitro cards 1x3 current true",
		"m6g.large":    "Amazon Web Services [arm64] nitro cards 1x3 current true",
		"mac2.metal":   "Apple [arm64_mac]  cards 1x8 current true",
		"t1.micro":     "Intel [i386 x86_64] xen cards 1x2 current false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
}

func TestAcceleratedTypesTellWhatTheyHave(t *testing.T) {
	r := newRig(t)
	out := must[*ec2.DescribeInstanceTypesOutput](t)(r.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{
		InstanceTypes: []types.InstanceType{"g4ad.xlarge", "g6f.large", "inf1.2xlarge", "p4d.24xlarge"},
	}))
	amd, part, inf, big := out.InstanceTypes[0], out.InstanceTypes[1], out.InstanceTypes[2], out.InstanceTypes[3]
	if got := aws.ToString(amd.GpuInfo.Gpus[0].Manufacturer); got != "AMD" {
		t.Errorf("g4ad is made by %s", got)
	}
	if g := part.GpuInfo.Gpus[0]; aws.ToInt32(g.Count) != 0 || aws.ToInt32(g.LogicalGpuCount) != 1 || aws.ToFloat64(g.GpuPartitionSize) != 0.125 {
		t.Errorf("part of a GPU: %+v", g)
	}
	if got := aws.ToInt32(inf.InferenceAcceleratorInfo.Accelerators[0].Count); got != 1 || aws.ToInt32(inf.NeuronInfo.NeuronDevices[0].CoreInfo.Count) != 4 {
		t.Errorf("%d inference accelerators, %+v", got, inf.NeuronInfo)
	}
	if n := big.NetworkInfo; aws.ToInt32(n.MaximumNetworkCards) != 4 || aws.ToInt32(n.EfaInfo.MaximumEfaInterfaces) != 4 || len(n.NetworkCards) != 4 {
		t.Errorf("network of p4d: %+v", n)
	}
	if !slices.Contains(big.SupportedUsageClasses, "capacity-block") || slices.Contains(amd.SupportedUsageClasses, "capacity-block") {
		t.Errorf("usage classes %v and %v", big.SupportedUsageClasses, amd.SupportedUsageClasses)
	}
}
