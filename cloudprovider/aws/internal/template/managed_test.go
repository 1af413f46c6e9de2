package template_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/template"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/userdata"
)

var eksTags = map[string]string{"eks:nodegroup-name": "ng", "eks:cluster-name": "c"}

// of makes the only template.
func of(t *testing.T, s template.Source) cloudprovider.TemplateVariant {
	t.Helper()
	got, err := template.Variants(s)
	if err != nil || len(got) != 1 {
		t.Fatalf("variants %v, %v", got, err)
	}
	return got[0]
}

func TestWhatEKSSaysShapesTheNode(t *testing.T) {
	choice := m5Large()
	choice.Template.ImageID = "ami-1"
	s := source([]string{"za"}, eksTags, choice)
	s.Managed = &managed.Description{
		CapacityType: "ON_DEMAND", Labels: map[string]string{"team": "a"}, Template: asg.TemplateRef{ID: "lt-1", Version: "3"}, DiskGiB: 77,
		Taints: []corev1.Taint{{Key: "k", Effect: "NoSchedule"}}, Tags: map[string]string{tag + "resources/example.com/slot": "2"},
	}
	got := of(t, s)
	labels := got.Node.Labels
	for key, want := range map[string]string{
		"team": "a", "eks.amazonaws.com/capacityType": "ON_DEMAND", "eks.amazonaws.com/nodegroup": "ng", "eks.amazonaws.com/nodegroup-image": "ami-1",
		"eks.amazonaws.com/sourceLaunchTemplateId": "lt-1", "eks.amazonaws.com/sourceLaunchTemplateVersion": "3",
	} {
		if labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, labels[key], want)
		}
	}
	if got.Promise != cloudprovider.PromiseCertain || len(got.Node.Spec.Taints) != 1 {
		t.Errorf("promise %s, taints %v", got.Promise, got.Node.Spec.Taints)
	}
	compare(t, "capacity", map[string]string{"ephemeral-storage": "77Gi", "example.com/slot": "2"}, got.Node.Status.Capacity)
	s.Managed.Template = asg.TemplateRef{} // EKS' own one shows on no node
	if _, ok := of(t, s).Node.Labels["eks.amazonaws.com/sourceLaunchTemplateId"]; ok {
		t.Error("a launch template of EKS' own is named")
	}
}

func TestTheSystemComesFromEKSElseTheImageElseTheUserData(t *testing.T) {
	windows := launch.Image{Windows: true, Name: "Windows_Server-2022-English-Core-EKS_Optimized-1.36"}
	tests := map[string]struct {
		image  launch.Image
		data   userdata.Settings
		eks    *managed.Description
		tags   map[string]string
		want   string // os, build, arch
		memory string // allocatable, which tells what is reserved
	}{
		"nothing":                          {want: "linux  amd64", memory: "7477Mi"},
		"the image is Windows":             {image: windows, want: "windows 10.0.20348 amd64", memory: "7123Mi"},
		"EKS says Windows":                 {eks: &managed.Description{AMIType: "WINDOWS_CORE_2019_x86_64"}, want: "windows 10.0.17763 amd64", memory: "7123Mi"},
		"EKS says Linux whatever it looks": {image: windows, eks: &managed.Description{AMIType: "AL2023_x86_64_STANDARD"}, want: "linux  amd64", memory: "6903Mi"},
		"EKS leaves it to the image":       {image: windows, eks: &managed.Description{AMIType: "CUSTOM"}, want: "windows 10.0.20348 amd64", memory: "7123Mi"},
		"a label in the tags":              {tags: map[string]string{tag + "label/kubernetes.io/os": "windows"}, want: "windows  amd64", memory: "7477Mi"},
		"an image of another architecture": {image: launch.Image{Architecture: "arm64"}, want: "linux  arm64", memory: "7477Mi"},
		"EKS' architecture":                {eks: &managed.Description{AMIType: "AL2_ARM_64"}, want: "linux  arm64", memory: "6903Mi"},
		"an image of EKS":                  {image: launch.Image{Name: "amazon-eks-node-al2023-x86_64-standard-1.36"}, want: "linux  amd64", memory: "6903Mi"},
		"a set-up of EKS":                  {data: userdata.Settings{EKS: true}, want: "linux  amd64", memory: "6903Mi"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			choice := m5Large()
			choice.Image, choice.Template.UserData = test.image, test.data
			tags := test.tags
			if test.eks != nil {
				tags = eksTags
			}
			s := source([]string{"za"}, tags, choice)
			s.Managed = test.eks
			node := of(t, s).Node
			l := node.Labels
			if got := fmt.Sprint(l["kubernetes.io/os"], " ", l["node.kubernetes.io/windows-build"], " ", l["kubernetes.io/arch"]); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			compare(t, "allocatable", map[string]string{"memory": test.memory}, node.Status.Allocatable)
		})
	}
}

func TestTheInstanceStoreIsTheDiskWhereKubeletLivesOnIt(t *testing.T) {
	choice := machine(instancetypes.Type{Name: "m5d.large", VCPUs: 2, MemoryMiB: 8192, LocalStorageGB: 75})
	choice.Template.Volumes = []launch.Volume{{Device: "/dev/xvda", GiB: 30}}
	for use, want := range map[userdata.LocalDisks]string{userdata.DisksUnset: "30Gi", userdata.DisksRAID0: "75G", userdata.DisksRAID10: "37500M"} {
		choice.Template.UserData.LocalDisks = use
		compare(t, "capacity", map[string]string{"ephemeral-storage": want}, of(t, source([]string{"za"}, nil, choice)).Node.Status.Capacity)
	}
}

// many are so many types, each a little larger than the one before.
func many(n int) []launch.Choice {
	var list []launch.Choice
	for i := range n {
		list = append(list, machine(instancetypes.Type{Name: fmt.Sprintf("x%03d.large", i), VCPUs: 2 + i, MemoryMiB: int64(8192 + 1024*i), ENIs: 3, IPv4PerENI: 10}))
	}
	return list
}

func TestVeryManyTypesAreReducedToThoseThatBoundTheOthers(t *testing.T) {
	choices := many(60)
	choices = append(choices, machine(instancetypes.Type{Name: "arm.large", VCPUs: 64, MemoryMiB: 1 << 20, Architecture: "arm64", ENIs: 3, IPv4PerENI: 10}),
		machine(instancetypes.Type{Name: "thin.large", VCPUs: 64, MemoryMiB: 4096, ENIs: 3, IPv4PerENI: 10}))
	slices.Reverse(choices)
	named := source([]string{"za"}, nil, choices...)
	fitting := named
	fitting.Facts.ByRequirements = true
	for name, test := range map[string]struct {
		source template.Source
		want   int
	}{"named in a policy": {named, 40}, "that fit requirements": {fitting, 16}} {
		got, err := template.Variants(test.source)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, v := range got {
			keys = append(keys, v.Key)
		}
		if len(keys) != test.want {
			t.Errorf("%s: %d variants, want %d", name, len(keys), test.want)
		}
		for _, key := range []string{"za/x000.large", "za/arm.large", "za/thin.large"} { // nothing else is smaller in every respect
			if !slices.Contains(keys, key) {
				t.Errorf("%s: %s is missing in %v", name, key, keys)
			}
		}
	}
	few := source([]string{"za"}, nil, many(40)...)
	if got, err := template.Variants(few); err != nil || len(got) != 40 || got[39].Key != "za/x039.large" {
		t.Errorf("forty types: %d variants, %v", len(got), err)
	}
}

func TestATypeThatNobodyKnowsIsLeftOutOnlyAmongThoseThatFitRequirements(t *testing.T) {
	unknown := launch.Choice{Type: "q9.huge"}
	s := source([]string{"za"}, nil, m5Large(), unknown)
	if _, err := template.Variants(s); err == nil || !strings.Contains(err.Error(), "q9.huge") {
		t.Errorf("named in a policy: %v", err)
	}
	s.Facts.ByRequirements = true
	if got := of(t, s); got.Key != "za/m5.large" || got.Promise != cloudprovider.PromisePossible {
		t.Errorf("%s %s", got.Key, got.Promise)
	}
}

func TestWhatIsOddAboutTemplatesIsTold(t *testing.T) {
	large := machine(instancetypes.Type{Name: "m5.4xlarge", VCPUs: 16, MemoryMiB: 65536, ENIs: 8, IPv4PerENI: 30})
	similar := machine(instancetypes.Type{Name: "m5a.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10})
	gpu := machine(instancetypes.Type{Name: "g4dn.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, GPUs: 1, GPUManufacturer: "NVIDIA", GPUModel: "T4"})
	arm := machine(instancetypes.Type{Name: "m6g.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10, Architecture: "arm64"})
	const advice = "; pods are planned for the least, and what only some of the types hold gets one attempt: use types that are alike"
	eks := source([]string{"za"}, eksTags, m5Large())
	eks.Managed = &managed.Description{Oddities: []string{"EKS tells something"}, Tags: map[string]string{tag + "resources/cpu": "lots"}}
	tests := map[string]struct {
		source template.Source
		want   []string
	}{
		"alike":        {source: source([]string{"za"}, nil, m5Large(), similar)},
		"no template":  {source: source(nil, nil, m5Large())},
		"sizes differ": {source: source([]string{"za"}, nil, m5Large(), large), want: []string{"its instance types differ: cpu from 2 (m5.large) to 16 (m5.4xlarge), memory from 7577Mi (m5.large) to 60620Mi (m5.4xlarge)" + advice}},
		"a GPU":        {source: source([]string{"za"}, nil, m5Large(), gpu), want: []string{"its instance types differ: nvidia.com/gpu 0 (m5.large) and 1 (g4dn.large)" + advice}},
		"architecture": {source: source([]string{"za"}, nil, m5Large(), arm), want: []string{"its instance types differ: architecture amd64 (m5.large) and arm64 (m6g.large)" + advice}},
		"tags promise too much": {
			source: source([]string{"za"}, map[string]string{tag + "resources/cpu": "4", tag + "resources/memory": "4Gi"}, m5Large()),
			want:   []string{"the tag " + tag + "resources/cpu promises 4, the instance type m5.large has 2"},
		},
		"EKS": {
			source: eks,
			want:   []string{"EKS tells something", `tag ` + tag + `resources/cpu="lots": the amount is not a quantity such as 250m, 4 or 16Gi (of the EKS node group)`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, template.Notes(test.source)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
