package aws_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// keys are those of the variants of a group.
func (r *rig) keys(name string) []string {
	r.t.Helper()
	list, err := r.group(name).Templates(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	var keys []string
	for _, v := range list {
		keys = append(keys, v.Key)
	}
	return keys
}

// mixed is a group with a policy of these types.
func mixed(zones []string, types ...string) awstest.Group {
	policy := &awstest.MixedInstances{LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}}
	for _, name := range types {
		policy.Overrides = append(policy.Overrides, awstest.Override{InstanceType: name})
	}
	return awstest.Group{Name: "mix", Max: 9, Zones: zones, MixedInstances: policy}
}

// Case C18: each zone of a group is a variant, so that volumes and spread find the zone that they need.
func TestTheZonesOfATemplate(t *testing.T) {
	type zone struct{ Key, Zone, Disks, Region, ID string }
	tests := map[string]struct {
		group awstest.Group
		deny  bool
		want  []zone
	}{
		"three zones": {
			group: awstest.Group{Zones: []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}},
			want: []zone{
				{"eu-west-1a", "eu-west-1a", "eu-west-1a", "eu-west-1", "euw1-az1"}, {"eu-west-1b", "eu-west-1b", "eu-west-1b", "eu-west-1", "euw1-az2"},
				{"eu-west-1c", "eu-west-1c", "eu-west-1c", "eu-west-1", "euw1-az3"},
			},
		},
		"zones by their ids": {
			group: awstest.Group{Zones: []string{"eu-west-1a", "eu-west-1b"}, ZoneIDsOnly: true},
			want:  []zone{{"eu-west-1a", "eu-west-1a", "eu-west-1a", "eu-west-1", "euw1-az1"}, {"eu-west-1b", "eu-west-1b", "eu-west-1b", "eu-west-1", "euw1-az2"}},
		},
		"a Local Zone belongs to the region of its parent": {
			group: awstest.Group{Zones: []string{"eu-west-1-lhr-1a"}}, want: []zone{{"eu-west-1-lhr-1a", "eu-west-1-lhr-1a", "eu-west-1-lhr-1a", "eu-west-1", "euw1l1-az1"}},
		},
		"without permission the region is that of the client, and ids are not known": {
			group: awstest.Group{Zones: []string{"eu-west-1-lhr-1a"}}, deny: true, want: []zone{{"eu-west-1-lhr-1a", "eu-west-1-lhr-1a", "eu-west-1-lhr-1a", "eu-west-1", ""}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.group.Name, test.group.Max = "g", 9
			r := newRig(t, aws.Options{Nodes: []string{"0:9:g"}}, test.group)
			if test.deny {
				r.server.Deny("ec2:DescribeAvailabilityZones")
			}
			r.refresh()
			list, err := r.group("g").Templates(r.ctx())
			if err != nil {
				t.Fatal(err)
			}
			var got []zone
			for _, v := range list {
				l := v.Node.Labels
				got = append(got, zone{v.Key, l["topology.kubernetes.io/zone"], l["topology.ebs.csi.aws.com/zone"], l["topology.kubernetes.io/region"], l["topology.k8s.aws/zone-id"]})
				if v.Promise != cloudprovider.PromiseCertain {
					t.Errorf("%s: %s", v.Key, v.Promise)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("zones (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGroupOfZonesThatCannotBeNamedSaysSo(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:g"}}, awstest.Group{Name: "g", Max: 9, Zones: []string{"eu-west-1a"}, ZoneIDsOnly: true})
	r.server.Deny("ec2:DescribeAvailabilityZones")
	r.refresh()
	if _, err := r.group("g").Templates(r.ctx()); kind(err) != "configuration" || !strings.Contains(err.Error(), "Availability Zone") {
		t.Errorf("%s: %v", kind(err), err)
	}
	r.server.Allow("ec2:DescribeAvailabilityZones")
	r.after(31 * time.Minute)
	if diff := cmp.Diff([]string{"eu-west-1a"}, r.keys("g")); diff != "" {
		t.Errorf("when it is allowed (-want +got):\n%s", diff)
	}
}

func TestNothingIsPromisedThatAZoneDoesNotOffer(t *testing.T) {
	zones := []string{"eu-west-1a", "eu-west-1b"}
	r := newRig(t, aws.Options{Nodes: []string{"0:9:mix", "0:9:one"}}, mixed(zones, "m5.large", "m6i.large"), awstest.Group{Name: "one", Max: 9, Zones: zones})
	r.server.SetOffered("m6i.large", "eu-west-1b", false)
	r.server.SetOffered("m5.large", "eu-west-1a", false)
	r.refresh()
	if diff := cmp.Diff([]string{"eu-west-1a/m6i.large", "eu-west-1b/m5.large"}, r.keys("mix")); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"eu-west-1b"}, r.keys("one")); diff != "" {
		t.Errorf("a group of one type (-want +got):\n%s", diff)
	}
}

func TestWithoutKnowingTheOffersAllZonesArePromised(t *testing.T) {
	zones := []string{"eu-west-1a", "eu-west-1b"}
	for name, prepare := range map[string]func(*awstest.Server){
		"denied": func(s *awstest.Server) { s.Deny("ec2:DescribeInstanceTypeOfferings") },
		"offered nowhere": func(s *awstest.Server) {
			s.SetOffered("m5.large", "eu-west-1a", false)
			s.SetOffered("m5.large", "eu-west-1b", false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:one"}}, awstest.Group{Name: "one", Max: 9, Zones: zones})
			prepare(r.server)
			r.refresh()
			if diff := cmp.Diff(zones, r.keys("one")); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
		})
	}
}

// Case C26: the group may deliver any of its types, and says which.
func TestAMixedGroupPromisesNoneOfItsTypes(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:mix"}}, mixed([]string{"eu-west-1a"}, "m5.large", "m5a.large", "m6i.large"))
	r.refresh()
	list, err := r.group("mix").Templates(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range list {
		got = append(got, fmt.Sprint(v.Node.Labels["node.kubernetes.io/instance-type"], " ", v.Promise, " ", v.Weight))
	}
	if diff := cmp.Diff([]string{"m5.large possible 1", "m5a.large possible 1", "m6i.large possible 1"}, got); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
}

func TestAnOverrideHasAnImageOfItsOwn(t *testing.T) {
	group := mixed([]string{"eu-west-1a"}, "m5.large", "m6g.large")
	group.MixedInstances.Overrides[1].ImageID = "ami-2"
	r := newRig(t, aws.Options{Nodes: []string{"0:5:mix"}})
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-1"}}})
	r.server.PutImage(awstest.Image{ID: "ami-1", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 30}}})
	r.server.PutImage(awstest.Image{ID: "ami-2", Architecture: "arm64", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 40}}})
	r.add(group)
	r.refresh()
	list, err := r.group("mix").Templates(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range list {
		got = append(got, v.Node.Labels["node.kubernetes.io/instance-type"]+" "+v.Node.Labels["kubernetes.io/arch"]+" "+v.Node.Status.Capacity.StorageEphemeral().String())
	}
	if diff := cmp.Diff([]string{"m5.large amd64 30Gi", "m6g.large arm64 40Gi"}, got); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
}

func TestRequirementsAreAskedWithAllThatTheyHoldAndForTheImage(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:g"}})
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{ImageID: "resolve:ssm:/images/newest"}}})
	r.server.PutImage(awstest.Image{ID: "ami-1", Architecture: "arm64"})
	r.server.PutImageAlias("/images/newest", "ami-1")
	r.add(awstest.Group{Name: "g", Max: 5, MixedInstances: &awstest.MixedInstances{
		LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"},
		Overrides: []awstest.Override{{Requirements: &awstest.Requirements{
			AllowedInstanceTypes: []string{"m6g.*", "m5.*"}, ExcludedInstanceTypes: []string{"*.metal"}, VCPUs: awstest.Range{Min: 2, Max: 4}, MemoryMiB: awstest.Range{Min: 4096},
			Accelerators: awstest.Range{}, BareMetal: "excluded",
		}}},
	}})
	r.refresh()
	if diff := cmp.Diff([]string{"eu-west-1a/m6g.large", "eu-west-1a/m6g.xlarge"}, r.keys("g")); diff != "" {
		t.Errorf("variants (-want +got):\n%s", diff)
	}
	for _, call := range r.server.Calls() {
		if call.Action != "GetInstanceTypesFromInstanceRequirements" {
			continue
		}
		const prefix = "InstanceRequirements."
		for key, want := range map[string]string{
			"ArchitectureType.1": "arm64", prefix + "AllowedInstanceType.2": "m5.*", prefix + "ExcludedInstanceType.1": "*.metal", prefix + "VCpuCount.Max": "4",
			prefix + "MemoryMiB.Min": "4096", prefix + "BareMetal": "excluded",
		} {
			if got := call.Params.Get(key); got != want {
				t.Errorf("%s is %q, want %q", key, got, want)
			}
		}
	}
	if got := r.count("GetInstanceTypesFromInstanceRequirements"); got != 1 {
		t.Errorf("%d questions", got)
	}
	r.after(59 * time.Minute)
	if got := r.count("GetInstanceTypesFromInstanceRequirements"); got != 1 {
		t.Errorf("%d questions within an hour", got)
	}
	r.server.PutInstanceType(instancetypes.Type{Name: "m6g.new", VCPUs: 2, MemoryMiB: 8192, Architecture: "arm64", ENIs: 3, IPv4PerENI: 10})
	r.after(2 * time.Minute)
	if got := r.keys("g"); !slices.Contains(got, "eu-west-1a/m6g.new") {
		t.Errorf("an hour after a type came: %v", got)
	}
}

func TestWhereTheFittingTypesCannotBeAskedForTheErrorSaysWhatToDo(t *testing.T) {
	group := awstest.Group{Name: "g", Max: 5, MixedInstances: &awstest.MixedInstances{
		LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, Overrides: []awstest.Override{{Requirements: &awstest.Requirements{VCPUs: awstest.Range{Min: 2}}}},
	}}
	r := newRig(t, aws.Options{Nodes: []string{"0:5:g", "0:5:sized"}}, group)
	group.Name, group.Tags = "sized", tags("k8s.io/cluster-autoscaler/node-template/resources/cpu=2", "k8s.io/cluster-autoscaler/node-template/resources/memory=4Gi")
	r.add(group)
	r.server.Deny("ec2:GetInstanceTypesFromInstanceRequirements")
	r.refresh()
	_, err := r.variants("g")
	if kind(err) != "configuration" {
		t.Fatalf("%s: %v", kind(err), err)
	}
	for _, part := range []string{"by requirements", "GetInstanceTypesFromInstanceRequirements: UnauthorizedOperation", "node-template/resources/cpu"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	if got, err := r.variants("sized"); err != nil || !slices.Equal(got, []string{"eu-west-1a possible  2 4Gi 110 20Gi"}) {
		t.Errorf("with the size in tags: %v, %v", got, err)
	}
}

func TestOfVeryManyTypesThoseThatBoundTheOthersAreTaken(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:g"}}, awstest.Group{Name: "g", Max: 5, MixedInstances: &awstest.MixedInstances{
		LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, Overrides: []awstest.Override{{Requirements: &awstest.Requirements{
			VCPUs: awstest.Range{Min: 2}, MemoryMiB: awstest.Range{Min: 4096}, CPUManufacturers: []string{"intel"}, Generations: []string{"current"},
		}}},
	}})
	r.server.PutImage(awstest.Image{ID: "ami-1"})
	r.refresh()
	list, err := r.group("g").Templates(r.ctx())
	if err != nil || len(list) < 16 || len(list) > 30 {
		t.Fatalf("%d variants, %v", len(list), err)
	}
	least := list[0].Node.Status.Allocatable
	for _, v := range list {
		for name, amount := range v.Node.Status.Allocatable {
			if have, ok := least[name]; ok && amount.Cmp(have) < 0 {
				least[name] = amount
			}
		}
	}
	if cpu := least.Cpu().Value(); cpu != 2 {
		t.Errorf("the least cpu is %d", cpu)
	}
}

// userData is what EC2 has of a text.
func userData(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// Cases C21, C25 and C31: what an empty group's machines offer beyond cpu and memory.
func TestWhatTheLaunchTemplateSaysAboutAMachine(t *testing.T) {
	const nodeadm = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"B\"\n\n--B\nContent-Type: application/node.eks.aws\n\n" +
		"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet: {config: {maxPods: 17}}\n  instance: {localStorage: {strategy: RAID0}}\n--B--\n"
	bottlerocket := []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 2}, {DeviceName: "/dev/xvdb", SizeGiB: 20}}
	tests := map[string]struct {
		version awstest.LaunchTemplateVersion
		image   awstest.Image
		want    map[string]string // capacity; "-": absent
	}{
		"a root volume": {
			version: awstest.LaunchTemplateVersion{InstanceType: "m5.large", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 100}}},
			want:    map[string]string{"ephemeral-storage": "100Gi"},
		},
		"few addresses": {version: awstest.LaunchTemplateVersion{InstanceType: "t3.small"}, want: map[string]string{"pods": "11"}},
		"a GPU":         {version: awstest.LaunchTemplateVersion{InstanceType: "g4dn.xlarge"}, want: map[string]string{"nvidia.com/gpu": "1", "amd.com/gpu": "-"}},
		"no GPU":        {version: awstest.LaunchTemplateVersion{InstanceType: "m5.large"}, want: map[string]string{"nvidia.com/gpu": "-", "aws.amazon.com/neuron": "-"}},
		"AMD":           {version: awstest.LaunchTemplateVersion{InstanceType: "g4ad.xlarge"}, want: map[string]string{"amd.com/gpu": "1", "nvidia.com/gpu": "-"}},
		"Habana":        {version: awstest.LaunchTemplateVersion{InstanceType: "dl1.24xlarge"}, want: map[string]string{"habana.ai/gaudi": "8", "nvidia.com/gpu": "-"}},
		"Neuron": {
			version: awstest.LaunchTemplateVersion{InstanceType: "inf2.24xlarge"},
			want:    map[string]string{"aws.amazon.com/neuron": "6", "aws.amazon.com/neurondevice": "6", "aws.amazon.com/neuroncore": "12"},
		},
		"EFA, at most what the type has": {
			version: awstest.LaunchTemplateVersion{InstanceType: "g5.12xlarge", EFAInterfaces: 2}, want: map[string]string{"vpc.amazonaws.com/efa": "1"},
		},
		"cores switched off": {version: awstest.LaunchTemplateVersion{InstanceType: "m5.4xlarge", CPUCores: 4, CPUThreadsPerCore: 1}, want: map[string]string{"cpu": "4"}},
		"nodeadm": {
			version: awstest.LaunchTemplateVersion{InstanceType: "m5d.large", UserData: userData(nodeadm)},
			want:    map[string]string{"pods": "17", "ephemeral-storage": "75000000000"},
		},
		"bootstrap.sh": {
			version: awstest.LaunchTemplateVersion{InstanceType: "m5.large", UserData: userData("#!/bin/bash\n/etc/eks/bootstrap.sh c --use-max-pods false --kubelet-extra-args '--max-pods=110'\n")},
			want:    map[string]string{"pods": "110"},
		},
		"Bottlerocket by its image": {
			version: awstest.LaunchTemplateVersion{InstanceType: "m5.large", ImageID: "ami-1", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvdb", SizeGiB: 90}}},
			image:   awstest.Image{ID: "ami-1", Name: "bottlerocket-aws-k8s-1.36-x86_64-v1", BlockDevices: bottlerocket}, want: map[string]string{"ephemeral-storage": "90Gi", "pods": "29"},
		},
		"Bottlerocket by its settings": {
			version: awstest.LaunchTemplateVersion{InstanceType: "m5.large", UserData: userData("[settings.kubernetes]\nmax-pods = 33\n"), BlockDevices: []awstest.BlockDevice{
				{DeviceName: "/dev/xvda", SizeGiB: 4}, {DeviceName: "/dev/xvdb", SizeGiB: 70},
			}},
			want: map[string]string{"ephemeral-storage": "70Gi", "pods": "33"},
		},
		"Windows by its image": {
			version: awstest.LaunchTemplateVersion{InstanceType: "m5.large", ImageID: "ami-1"},
			image:   awstest.Image{ID: "ami-1", Windows: true, Name: "Windows_Server-2019-English-Core-EKS_Optimized-1.36", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/sda1", SizeGiB: 50}}},
			want:    map[string]string{"ephemeral-storage": "50Gi", "pods": "9", "vpc.amazonaws.com/PrivateIPv4Address": "9"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:5:g"}})
			r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{test.version}})
			if test.image.ID != "" {
				r.server.PutImage(test.image)
			}
			r.add(awstest.Group{Name: "g", Max: 5})
			r.refresh()
			capacity := r.fresh("g").Status.Capacity
			got := map[string]string{}
			for resource := range test.want {
				got[resource] = "-"
				for name, amount := range capacity {
					if string(name) == resource {
						got[resource] = amount.String()
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("capacity (-want +got):\n%s", diff)
			}
		})
	}
}

// Case C17: a taint tag that cannot be read keeps pods off all the same.
func TestATaintTagWithoutEffectTaintsTheGroup(t *testing.T) {
	const prefix = "k8s.io/cluster-autoscaler/node-template/taint/"
	for value, want := range map[string]string{"mon:NoSchedule": "mon NoSchedule", "mon": "mon NoSchedule", "a:b:NoExecute": " NoExecute", "NoSchedule": " NoSchedule", "v:Sometimes": "v NoSchedule"} {
		r := newRig(t, aws.Options{Nodes: []string{"0:5:mon"}}, awstest.Group{Name: "mon", Max: 5, Tags: tags(prefix + "restrict=" + value)})
		r.refresh()
		taints := r.fresh("mon").Spec.Taints
		if len(taints) != 1 || taints[0].Key != "restrict" || taints[0].Value+" "+string(taints[0].Effect) != want {
			t.Errorf("%s: taints %v", value, taints)
		}
	}
}

func TestAnUnknownTypeIsFineIfTagsGiveItsSizeAndIsAskedForAgain(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:5:g"}})
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "q9.huge"}}})
	r.add(awstest.Group{Name: "g", Max: 5})
	r.refresh()
	if _, err := r.variants("g"); kind(err) != "configuration" || !strings.Contains(err.Error(), "q9.huge") {
		t.Errorf("%v", err)
	}
	if err := r.server.SetTags("g", tags("k8s.io/cluster-autoscaler/node-template/resources/cpu=2", "k8s.io/cluster-autoscaler/node-template/resources/memory=4Gi")...); err != nil {
		t.Fatal(err)
	}
	for range 9 { // minutes
		r.after(time.Minute)
	}
	if got, err := r.variants("g"); err != nil || !slices.Equal(got, []string{"eu-west-1a certain q9.huge 2 4Gi 110 20Gi"}) {
		t.Errorf("with the size in tags: %v, %v", got, err)
	}
	if got := r.count("DescribeInstanceTypes"); got != 1 {
		t.Errorf("%d questions in nine minutes", got)
	}
	if err := r.server.SetTags("g"); err != nil {
		t.Fatal(err)
	}
	r.server.PutInstanceType(instancetypes.Type{Name: "q9.huge", VCPUs: 512, MemoryMiB: 1 << 20, Architecture: "amd64", ENIs: 3, IPv4PerENI: 10})
	r.after(time.Minute)
	if got, err := r.variants("g"); err != nil || !strings.Contains(got[0], "q9.huge 512") {
		t.Errorf("when EC2 knows it: %v, %v", got, err)
	}
	if got := r.count("DescribeInstanceTypes"); got != 2 {
		t.Errorf("%d questions in all", got)
	}
}

func TestTheAliasesOfManyLaunchTemplatesTakeOneCall(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}})
	r.server.PutImage(awstest.Image{ID: "ami-9", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 9}}})
	r.server.PutImageAlias("/newest", "ami-9")
	for i := range 8 {
		name, ref := fmt.Sprintf("lt-%d", i), &awstest.LaunchTemplateRef{Name: fmt.Sprintf("lt-%d", i), Version: "$Latest"}
		versions := []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "m5.xlarge"}}
		if i == 3 {
			ref.Version = "$Default"
		}
		if i == 4 {
			versions[1].ImageID = "resolve:ssm:/newest"
		}
		r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: name, Versions: versions})
		r.add(awstest.Group{Name: name, Max: 9, Tags: tags("x"), LaunchTemplate: ref})
	}
	r.refresh()
	for i := range 8 {
		want := "m5.xlarge 4 15155Mi 58 20Gi"
		switch i {
		case 3:
			want = "m5.large 2 7577Mi 29 20Gi"
		case 4:
			want = "m5.xlarge 4 15155Mi 58 9Gi"
		}
		if got, err := r.variants(fmt.Sprintf("lt-%d", i)); err != nil || got[0] != "eu-west-1a certain "+want {
			t.Errorf("lt-%d: %v, %v, want %s", i, got, err, want)
		}
	}
	if got := r.count("DescribeLaunchTemplateVersions"); got != 3 { // all of them, and the one with an image behind an alias, plain and resolved
		t.Errorf("%d questions", got)
	}
}
