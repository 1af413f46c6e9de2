package template_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/template"
)

var noon = time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)

const tag = "k8s.io/cluster-autoscaler/node-template/"

func machine(t instancetypes.Type) launch.Choice {
	if t.Architecture == "" {
		t.Architecture = "amd64"
	}
	return launch.Choice{Type: t.Name, Known: true, Machine: launch.Machine{Type: t}}
}

func m5Large() launch.Choice {
	return machine(instancetypes.Type{Name: "m5.large", VCPUs: 2, MemoryMiB: 8192, ENIs: 3, IPv4PerENI: 10})
}

func places(names ...string) []launch.Zone {
	var list []launch.Zone
	for _, name := range names {
		list = append(list, launch.Zone{Name: name})
	}
	return list
}

func source(zones []string, tags map[string]string, choices ...launch.Choice) template.Source {
	return template.Source{
		Group: "web", Region: "eu-west-1", Zones: places(zones...), Tags: nodetags.Parse(tags), Now: noon,
		Facts: launch.Facts{Choices: choices, Source: "launch template web (lt-1) version 3"},
	}
}

func TestOneTypeInOneZoneIsOneCertainVariant(t *testing.T) {
	got, err := template.Variants(source([]string{"eu-west-1a"}, map[string]string{
		tag + "label/team": "a", tag + "taint/dedicated": "db:NoSchedule", tag + "resources/example.com/slot": "3",
	}, m5Large()))
	if err != nil {
		t.Fatal(err)
	}
	since := metav1.NewTime(noon.Add(-time.Minute))
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, LastHeartbeatTime: since, LastTransitionTime: since}
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "template-web-eu-west-1a",
			Labels: map[string]string{
				"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "beta.kubernetes.io/arch": "amd64",
				"topology.kubernetes.io/region": "eu-west-1", "topology.kubernetes.io/zone": "eu-west-1a", "topology.ebs.csi.aws.com/zone": "eu-west-1a",
				"node.kubernetes.io/instance-type": "m5.large", "kubernetes.io/hostname": "template-web-eu-west-1a", "team": "a",
			},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: corev1.ResourceList{
				"cpu": resource.MustParse("2"), "memory": resource.MustParse("7577Mi"), "pods": resource.MustParse("29"),
				"ephemeral-storage": resource.MustParse("20Gi"), "hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
				"example.com/slot": resource.MustParse("3"),
			},
			Allocatable: corev1.ResourceList{
				"cpu": resource.MustParse("2"), "memory": resource.MustParse("7477Mi"), "pods": resource.MustParse("29"),
				"ephemeral-storage": resource.MustParse("18Gi"), "hugepages-1Gi": resource.MustParse("0"), "hugepages-2Mi": resource.MustParse("0"),
				"example.com/slot": resource.MustParse("3"),
			},
			Conditions: []corev1.NodeCondition{
				condition("Ready", "True"), condition("NetworkUnavailable", "False"), condition("DiskPressure", "False"), condition("MemoryPressure", "False"),
			},
		},
	}
	if diff := cmp.Diff(want, got[0].Node); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if len(got) != 1 || got[0].Key != "eu-west-1a" || got[0].Promise != cloudprovider.PromiseCertain || got[0].Weight != 1 {
		t.Errorf("variants %+v", got)
	}
	if len(got[0].Pods) != 1 || got[0].Pods[0].Spec.NodeName != want.Name || *got[0].Pods[0].Spec.Priority != 2000001000 ||
		got[0].Pods[0].Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 100 {
		t.Errorf("pods %+v", got[0].Pods)
	}
}

func TestVariantsPerZoneAndType(t *testing.T) {
	heavy := machine(instancetypes.Type{Name: "m6g.xlarge", VCPUs: 4, MemoryMiB: 16384, Architecture: "arm64", ENIs: 4, IPv4PerENI: 15})
	heavy.Weight = 2
	tests := map[string]struct {
		source template.Source
		want   []string // key, promise, weight
	}{
		"one type in two zones: each zone comes in turn": {
			source: source([]string{"za", "zb"}, nil, m5Large()), want: []string{"za certain 1", "zb certain 1"},
		},
		"two types: either may come, and counts one machine whatever it weighs": {
			source: source([]string{"za", "zb"}, nil, heavy, m5Large()),
			want:   []string{"za/m6g.xlarge possible 1", "za/m5.large possible 1", "zb/m6g.xlarge possible 1", "zb/m5.large possible 1"},
		},
		"of a managed node group labels and taints are not all known": {
			source: source([]string{"za"}, map[string]string{"eks:nodegroup-name": "ng"}, m5Large()), want: []string{"za possible 1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			variants, err := template.Variants(test.source)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			names := map[string]bool{}
			for _, v := range variants {
				got = append(got, v.Key+" "+v.Promise.String()+" "+string(rune('0'+v.Weight)))
				names[v.Node.Name] = true
				if zone, _, _ := strings.Cut(v.Key, "/"); v.Node.Labels["topology.kubernetes.io/zone"] != zone || v.Node.Labels["topology.ebs.csi.aws.com/zone"] != zone {
					t.Errorf("variant %s has the zone labels of another zone: %v", v.Key, v.Node.Labels)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
			if len(names) != len(variants) {
				t.Errorf("names are not unique: %v", names)
			}
		})
	}
}

func TestCallersOwnWhatTheyGet(t *testing.T) {
	s := source([]string{"za"}, map[string]string{tag + "taint/a": "b:NoSchedule", tag + "resources/cpu": "3", tag + "label/l": "v"}, m5Large())
	first, err := template.Variants(s)
	if err != nil {
		t.Fatal(err)
	}
	want := first[0].Node.DeepCopy()
	first[0].Node.Spec.Taints[0].Key = "changed"
	first[0].Node.Labels["l"] = "changed"
	cpu := first[0].Node.Status.Capacity["cpu"]
	cpu.Add(resource.MustParse("1"))
	first[0].Node.Status.Capacity["cpu"] = cpu
	second, err := template.Variants(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, second[0].Node); diff != "" {
		t.Errorf("a caller's change shows in the next template (-want +got):\n%s", diff)
	}
}

func TestResources(t *testing.T) {
	eks := map[string]string{"eks:nodegroup-name": "ng", "eks:cluster-name": "c"}
	with := func(c launch.Choice, change func(*launch.Choice)) launch.Choice { change(&c); return c }
	gpu := func(maker string, count int) launch.Choice {
		return machine(instancetypes.Type{Name: "g.x", VCPUs: 4, MemoryMiB: 16384, GPUs: count, GPUManufacturer: maker, GPUModel: "M"})
	}
	tests := map[string]struct {
		choice                launch.Choice
		tags                  map[string]string
		capacity, allocatable map[string]string // in as far as the case is about them; "-": absent
	}{
		"EKS reserves by cores and by pods": {
			choice: m5Large(), tags: eks,
			capacity: map[string]string{"cpu": "2", "memory": "7577Mi", "pods": "29", "ephemeral-storage": "20Gi"},
			// 100 eviction + 255 + 11 × 29 MiB; 60 + 10 milli-CPU; 1 GiB and a tenth
			allocatable: map[string]string{"cpu": "1930m", "memory": "6903Mi", "pods": "29", "ephemeral-storage": "17Gi"},
		},
		"EKS reserves less of each further core": {
			choice: machine(instancetypes.Type{Name: "x", VCPUs: 16, MemoryMiB: 65536, ENIs: 8, IPv4PerENI: 30}), tags: eks,
			capacity:    map[string]string{"pods": "234"},
			allocatable: map[string]string{"cpu": "15890m"}, // 60 + 10 + 2 × 5 + 12 × 2.5
		},
		"elsewhere the addresses limit the pods only below kubelet's own limit": {
			choice:   machine(instancetypes.Type{Name: "x", VCPUs: 16, MemoryMiB: 65536, ENIs: 8, IPv4PerENI: 30}),
			capacity: map[string]string{"pods": "110"},
		},
		"a tiny machine has room for few pods": {
			choice: machine(instancetypes.Type{Name: "t", VCPUs: 2, MemoryMiB: 2048, ENIs: 3, IPv4PerENI: 4}), capacity: map[string]string{"pods": "11"},
		},
		"without knowing the addresses it is kubelet's limit": {
			choice:   machine(instancetypes.Type{Name: "x", VCPUs: 2, MemoryMiB: 2048, ENIs: instancetypes.Unknown, IPv4PerENI: instancetypes.Unknown}),
			capacity: map[string]string{"pods": "110"},
		},
		"a tag sets the number of pods and with it what EKS reserves": {
			choice: m5Large(), tags: map[string]string{"eks:nodegroup-name": "ng", tag + "resources/pods": "10"},
			capacity: map[string]string{"pods": "10"}, allocatable: map[string]string{"pods": "10", "memory": "7112Mi"},
		},
		"tags win over what the type has, for capacity and allocatable alike": {
			choice: m5Large(), tags: map[string]string{tag + "resources/cpu": "250m", tag + "resources/memory": "512M", tag + "resources/ephemeral-storage": "40G"},
			capacity:    map[string]string{"cpu": "250m", "memory": "512M", "ephemeral-storage": "40G"},
			allocatable: map[string]string{"cpu": "250m", "memory": "512M", "ephemeral-storage": "40G"},
		},
		"a tag of zero hides a resource": {
			choice: gpu("NVIDIA", 4), tags: map[string]string{tag + "resources/nvidia.com/gpu": "0"},
			capacity: map[string]string{"nvidia.com/gpu": "-"}, allocatable: map[string]string{"nvidia.com/gpu": "-"},
		},
		"arm64 keeps a little more for itself": {
			choice:   machine(instancetypes.Type{Name: "a", VCPUs: 2, MemoryMiB: 8192, Architecture: "arm64"}),
			capacity: map[string]string{"memory": "7513Mi"},
		},
		"the template may switch cores off": {
			choice: with(m5Large(), func(c *launch.Choice) { c.Template.VCPUs = 1 }), capacity: map[string]string{"cpu": "1"},
		},
		"NVIDIA":           {choice: gpu("NVIDIA", 4), capacity: map[string]string{"nvidia.com/gpu": "4", "amd.com/gpu": "-"}, allocatable: map[string]string{"nvidia.com/gpu": "4"}},
		"AMD":              {choice: gpu("AMD", 2), capacity: map[string]string{"amd.com/gpu": "2", "nvidia.com/gpu": "-"}},
		"Habana":           {choice: gpu("Habana", 8), capacity: map[string]string{"habana.ai/gaudi": "8", "nvidia.com/gpu": "-"}},
		"another maker":    {choice: gpu("Qualcomm", 8), capacity: map[string]string{"nvidia.com/gpu": "-"}},
		"no GPU, no count": {choice: m5Large(), capacity: map[string]string{"nvidia.com/gpu": "-", "aws.amazon.com/neuron": "-", "vpc.amazonaws.com/efa": "-"}},
		"Neuron": {
			choice: with(m5Large(), func(c *launch.Choice) { c.Machine.NeuronDevices, c.Machine.NeuronCores = 2, 4 }),
			capacity: map[string]string{
				"aws.amazon.com/neuron": "2", "aws.amazon.com/neurondevice": "2", "aws.amazon.com/neuroncore": "4",
			},
		},
		"Neuron cores that are not known are not announced": {
			choice:   with(m5Large(), func(c *launch.Choice) { c.Machine.NeuronDevices = 2 }),
			capacity: map[string]string{"aws.amazon.com/neuron": "2", "aws.amazon.com/neuroncore": "-"},
		},
		"EFA interfaces are those that the template asks for and the type has": {
			choice:   with(m5Large(), func(c *launch.Choice) { c.Template.EFAInterfaces, c.Machine.EFAInterfaces = 4, 2 }),
			capacity: map[string]string{"vpc.amazonaws.com/efa": "2"},
		},
		"the only volume of the template is the disk": {
			choice:   with(m5Large(), func(c *launch.Choice) { c.Template.Volumes = []launch.Volume{{Device: "/dev/xvda", GiB: 100}} }),
			capacity: map[string]string{"ephemeral-storage": "100Gi"}, allocatable: map[string]string{"ephemeral-storage": "90Gi"},
		},
		"of several volumes it is the one with the name of a root": {
			choice: with(m5Large(), func(c *launch.Choice) {
				c.Template.Volumes = []launch.Volume{{Device: "/dev/sdf", GiB: 500}, {Device: "/dev/sda1", GiB: 30}}
			}), capacity: map[string]string{"ephemeral-storage": "30Gi"},
		},
		"the image tells the root and its size": {
			choice: with(m5Large(), func(c *launch.Choice) {
				c.Image = launch.Image{RootDevice: "/dev/sda1", Volumes: []launch.Volume{{Device: "/dev/sdb", GiB: 1}, {Device: "/dev/sda1", GiB: 8}}}
			}), capacity: map[string]string{"ephemeral-storage": "8Gi"},
		},
		"the template's size wins over the image's": {
			choice: with(m5Large(), func(c *launch.Choice) {
				c.Image = launch.Image{RootDevice: "/dev/xvda", Volumes: []launch.Volume{{Device: "/dev/xvda", GiB: 8}}}
				c.Template.Volumes = []launch.Volume{{Device: "/dev/sdb", GiB: 7}, {Device: "/dev/xvda", GiB: 50}}
			}), capacity: map[string]string{"ephemeral-storage": "50Gi"},
		},
		"Bottlerocket keeps its data on the second volume": {
			choice: with(m5Large(), func(c *launch.Choice) {
				c.Image = launch.Image{RootDevice: "/dev/xvda", Volumes: []launch.Volume{{Device: "/dev/xvda", GiB: 2}, {Device: "/dev/xvdb", GiB: 20}}}
				c.Template.Volumes = []launch.Volume{{Device: "/dev/xvdb", GiB: 80}}
			}), capacity: map[string]string{"ephemeral-storage": "80Gi"},
		},
		"Windows": {
			choice:   with(m5Large(), func(c *launch.Choice) { c.Image.Windows = true }),
			capacity: map[string]string{"ephemeral-storage": "50Gi", "pods": "9", "vpc.amazonaws.com/PrivateIPv4Address": "9"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			variants, err := template.Variants(source([]string{"za"}, test.tags, test.choice))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "capacity", test.capacity, variants[0].Node.Status.Capacity)
			compare(t, "allocatable", test.allocatable, variants[0].Node.Status.Allocatable)
		})
	}
}

func compare(t *testing.T, what string, want map[string]string, got corev1.ResourceList) {
	t.Helper()
	for name, text := range want {
		amount, ok := got[corev1.ResourceName(name)]
		switch {
		case text == "-" && ok:
			t.Errorf("%s of %s is %s, want none", what, name, amount.String())
		case text != "-" && (!ok || amount.Cmp(resource.MustParse(text)) != 0):
			t.Errorf("%s of %s is %s, want %s", what, name, amount.String(), text)
		}
	}
}

func TestWindowsNodesSayTheyAre(t *testing.T) {
	choice := m5Large()
	choice.Image.Windows = true
	got, err := template.Variants(source([]string{"za"}, nil, choice))
	if err != nil {
		t.Fatal(err)
	}
	if labels := got[0].Node.Labels; labels["kubernetes.io/os"] != "windows" || labels["beta.kubernetes.io/os"] != "windows" {
		t.Errorf("labels %v", labels)
	}
	if len(got[0].Pods) != 0 {
		t.Errorf("a Windows node runs %d pods from the start", len(got[0].Pods))
	}
}

func TestAManagedNodeGroupNamesItself(t *testing.T) {
	got, err := template.Variants(source([]string{"za"}, map[string]string{"eks:nodegroup-name": "ng", "eks:cluster-name": "c"}, m5Large()))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"eks.amazonaws.com/nodegroup": "ng"}
	ignored := cmpopts.IgnoreMapEntries(func(key, _ string) bool {
		return strings.Contains(key, "kubernetes.io/") || strings.HasPrefix(key, "topology.")
	})
	if diff := cmp.Diff(want, got[0].Node.Labels, ignored); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestWhatIsMissingIsToldWithWhatToDo(t *testing.T) {
	sized := map[string]string{tag + "resources/cpu": "4", tag + "resources/memory": "16Gi"}
	half := map[string]string{tag + "resources/cpu": "4"}
	requirements := source([]string{"za"}, nil, launch.Choice{})
	requirements.Facts.ByRequirements, requirements.Facts.Unlisted = true, errors.New("denied")
	sizedRequirements := source([]string{"za"}, sized, launch.Choice{})
	sizedRequirements.Facts.ByRequirements = true
	tests := map[string]struct {
		source template.Source
		want   []string // parts of the error; none: no error
	}{
		"no zone":                 {source: source(nil, nil, m5Large()), want: []string{"no Availability Zone"}},
		"no type in the template": {source: source([]string{"za"}, nil, launch.Choice{}), want: []string{"launch template web (lt-1) version 3 names no instance type", "name one there"}},
		"tags don't replace a type that AWS needs": {
			source: source([]string{"za"}, sized, launch.Choice{}), want: []string{"names no instance type"},
		},
		"an unknown type": {
			source: source([]string{"za"}, half, launch.Choice{Type: "q9.huge"}),
			want:   []string{"instance type q9.huge of launch template web", "EC2 in region eu-west-1", tag + "resources/cpu and " + tag + "resources/memory"},
		},
		"an unknown type and tags with its size":     {source: source([]string{"za"}, sized, launch.Choice{Type: "q9.huge"})},
		"types by requirements":                      {source: requirements, want: []string{"lets AWS choose the instance type by requirements", tag + "resources/cpu"}},
		"types by requirements and tags with a size": {source: sizedRequirements},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := template.Variants(test.source)
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				compare(t, "capacity", map[string]string{"cpu": "4", "memory": "16Gi", "pods": "110"}, got[0].Node.Status.Capacity)
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error lacks %q: %v", part, err)
				}
			}
		})
	}
}

func TestNamesOfGroupsBecomeNamesOfNodes(t *testing.T) {
	s := source([]string{"eu-west-1a"}, nil, m5Large())
	for _, group := range []string{"My_Group.A/b%", strings.Repeat("x", 255), "-"} {
		s.Group = group
		got, err := template.Variants(s)
		if err != nil {
			t.Fatal(err)
		}
		name := got[0].Node.Name
		if len(name) > 63 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || !strings.HasSuffix(name, "eu-west-1a") {
			t.Errorf("group %q gives the node name %q", group, name)
		}
		if got[0].Node.Labels["kubernetes.io/hostname"] != name {
			t.Errorf("hostname is %q, name %q", got[0].Node.Labels["kubernetes.io/hostname"], name)
		}
	}
}
