package aws_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
)

// variants renders templates: key, promise, instance type, cpu, memory, pods, disk.
func (r *rig) variants(name string) ([]string, error) {
	r.t.Helper()
	list, err := r.group(name).Templates(r.ctx())
	var texts []string
	for _, v := range list {
		c := v.Node.Status.Capacity
		texts = append(texts, strings.Join([]string{
			v.Key, v.Promise.String(), v.Node.Labels["node.kubernetes.io/instance-type"], c.Cpu().String(), c.Memory().String(), c.Pods().String(), c.StorageEphemeral().String(),
		}, " "))
	}
	return texts, err
}

func TestTemplatesOfAllLaunchSources(t *testing.T) {
	tests := map[string]struct {
		group awstest.Group
		want  []string
	}{
		"a launch template": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}}, want: []string{"eu-west-1a certain m5.large 2 7577Mi 29 20Gi"},
		},
		"a launch template in three zones": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}, Zones: []string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}},
			want: []string{
				"eu-west-1a certain m5.large 2 7577Mi 29 20Gi", "eu-west-1b certain m5.large 2 7577Mi 29 20Gi", "eu-west-1c certain m5.large 2 7577Mi 29 20Gi",
			},
		},
		"the version that is named": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "versions", Version: "1"}}, want: []string{"eu-west-1a certain t3.small 2 1894Mi 11 20Gi"},
		},
		"the latest version, with its disk": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "versions", Version: "$Latest"}}, want: []string{"eu-west-1a certain c5.xlarge 4 7577Mi 58 100Gi"},
		},
		"no version means the default one": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "versions"}}, want: []string{"eu-west-1a certain t3.small 2 1894Mi 11 20Gi"},
		},
		"a launch configuration": {
			group: awstest.Group{LaunchConfiguration: "old"}, want: []string{"eu-west-1a certain m4.xlarge 4 15155Mi 58 33Gi"},
		},
		"a policy without overrides": {
			group: awstest.Group{MixedInstances: &awstest.MixedInstances{LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}}},
			want:  []string{"eu-west-1a certain m5.large 2 7577Mi 29 20Gi"},
		},
		"a policy with several types": {
			group: awstest.Group{MixedInstances: &awstest.MixedInstances{
				LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"}, Overrides: []awstest.Override{{InstanceType: "m5.xlarge"}, {InstanceType: "c5.xlarge"}},
			}},
			want: []string{"eu-west-1a/m5.xlarge possible m5.xlarge 4 15155Mi 58 20Gi", "eu-west-1a/c5.xlarge possible c5.xlarge 4 7577Mi 58 20Gi"},
		},
		"an override with a template of its own": {
			group: awstest.Group{MixedInstances: &awstest.MixedInstances{
				LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"},
				Overrides:      []awstest.Override{{InstanceType: "m5.large"}, {InstanceType: "c5.xlarge", LaunchTemplate: &awstest.LaunchTemplateRef{Name: "versions", Version: "2"}}},
			}},
			want: []string{"eu-west-1a/m5.large possible m5.large 2 7577Mi 29 20Gi", "eu-west-1a/c5.xlarge possible c5.xlarge 4 7577Mi 58 100Gi"},
		},
		"an image with a disk": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "imaged"}}, want: []string{"eu-west-1a certain m5.large 2 7577Mi 29 8Gi"},
		},
		"types by requirements of a template, all that fit": {
			group: awstest.Group{LaunchTemplate: &awstest.LaunchTemplateRef{Name: "required"}},
			want: []string{
				"eu-west-1a/m5.large possible m5.large 2 7577Mi 29 20Gi", "eu-west-1a/m5a.large possible m5a.large 2 7577Mi 29 20Gi",
				"eu-west-1a/m5.xlarge possible m5.xlarge 4 15155Mi 58 20Gi",
			},
		},
		"types by requirements, with the size in tags": {
			group: awstest.Group{
				LaunchTemplate: &awstest.LaunchTemplateRef{Name: "required"},
				Tags: tags("k8s.io/cluster-autoscaler/node-template/resources/cpu=4", "k8s.io/cluster-autoscaler/node-template/resources/memory=16Gi",
					"k8s.io/cluster-autoscaler/node-template/resources/pods=40"),
			},
			want: []string{
				"eu-west-1a/m5.large possible m5.large 4 16Gi 40 20Gi", "eu-west-1a/m5.xlarge possible m5.xlarge 4 16Gi 40 20Gi",
				"eu-west-1a/m5a.large possible m5a.large 4 16Gi 40 20Gi",
			},
		},
		"types by requirements of a policy": {
			group: awstest.Group{MixedInstances: &awstest.MixedInstances{
				LaunchTemplate: awstest.LaunchTemplateRef{Name: "workers"},
				Overrides:      []awstest.Override{{Requirements: &awstest.Requirements{AllowedInstanceTypes: []string{"c5.*large"}, VCPUs: awstest.Range{Max: 8}}}},
			}},
			want: []string{
				"eu-west-1a/c5.large possible c5.large 2 3788Mi 29 20Gi", "eu-west-1a/c5.xlarge possible c5.xlarge 4 7577Mi 58 20Gi",
				"eu-west-1a/c5.2xlarge possible c5.2xlarge 8 15155Mi 58 20Gi",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, aws.Options{Nodes: []string{"0:9:g"}})
			r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "versions", Default: 1, Versions: []awstest.LaunchTemplateVersion{
				{InstanceType: "t3.small"}, {InstanceType: "c5.xlarge", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 100}}},
			}})
			r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "imaged", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-1"}}})
			r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "required", Versions: []awstest.LaunchTemplateVersion{{
				Requirements: &awstest.Requirements{AllowedInstanceTypes: []string{"m5.*", "m5a.large"}, MemoryMiB: awstest.Range{Max: 16384}},
			}}})
			r.server.PutImage(awstest.Image{ID: "ami-1", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 8}}})
			r.server.PutLaunchConfiguration(awstest.LaunchConfiguration{Name: "old", InstanceType: "m4.xlarge", BlockDevices: []awstest.BlockDevice{{DeviceName: "/dev/xvda", SizeGiB: 33}}})
			test.group.Name, test.group.Max = "g", 9
			r.add(test.group)
			r.refresh()
			r.server.ForgetCalls()
			got, err := r.variants("g")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
			if calls := r.server.Calls(); len(calls) != 0 {
				t.Errorf("%d calls after the refresh", len(calls))
			}
		})
	}
}

func TestTemplatesFailForOneGroupWithOneClearLine(t *testing.T) {
	r := newRig(t, aws.Options{AutoDiscovery: []string{"asg:tag=x"}})
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{ID: "lt-0a", Name: "typeless", Versions: []awstest.LaunchTemplateVersion{{ImageID: "ami-1"}}})
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "new-type", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "q9.huge"}}})
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "required", Versions: []awstest.LaunchTemplateVersion{{Requirements: &awstest.Requirements{AllowedInstanceTypes: []string{"no.such"}}}}})
	for name, launch := range map[string]awstest.Group{
		"good":     {LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}},
		"typeless": {LaunchTemplate: &awstest.LaunchTemplateRef{Name: "typeless"}},
		"new-type": {LaunchTemplate: &awstest.LaunchTemplateRef{Name: "new-type"}},
		"required": {LaunchTemplate: &awstest.LaunchTemplateRef{Name: "required"}},
		"deleted":  {LaunchTemplate: &awstest.LaunchTemplateRef{ID: "lt-0d", Name: "deleted", Version: "3"}},
		"no-conf":  {LaunchConfiguration: "deleted"},
	} {
		launch.Name, launch.Max, launch.Tags = name, 9, tags("x")
		r.add(launch)
	}
	r.refresh()
	if errs := r.errs(); len(errs) != 0 {
		t.Errorf("errors %v: a group without template can still shrink", errs)
	}
	want := map[string]string{
		"typeless": "launch template typeless (lt-0a) version $Default names no instance type: name one there, or in a mixed instances policy of the group",
		"new-type": "the instance type q9.huge of launch template new-type",
		"required": "lets AWS choose the instance type by requirements",
		"deleted":  "reading launch template deleted (lt-0d) version 3: DescribeLaunchTemplateVersions: InvalidLaunchTemplateId.NotFound",
		"no-conf":  "reading launch configuration deleted: AWS does not know it",
	}
	for name, text := range want {
		_, err := r.variants(name)
		if kind(err) != "configuration" || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %s: %v", name, kind(err), err)
		}
	}
	if got, err := r.variants("good"); err != nil || len(got) != 1 {
		t.Errorf("the good group: %v, %v", got, err)
	}
}

func TestFailuresToReadATemplateAreRememberedForAWhile(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9})
	r.server.Deny("ec2:DescribeLaunchTemplateVersions")
	r.refresh()
	for range 18 { // three minutes of loops
		if _, err := r.variants("a"); kind(err) != "configuration" {
			t.Fatalf("%v", err)
		}
		r.after(10 * time.Second)
	}
	if got := r.count("DescribeLaunchTemplateVersions"); got != 1 {
		t.Errorf("%d questions in three minutes", got)
	}
	r.server.Allow("ec2:DescribeLaunchTemplateVersions")
	r.after(2 * time.Minute)
	if got, err := r.variants("a"); err != nil || len(got) != 1 {
		t.Errorf("when it is allowed: %v, %v", got, err)
	}
}

func TestAThrottledTemplateIsAskedForSoonAgain(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:a"}}, awstest.Group{Name: "a", Max: 9})
	r.server.Inject(awstest.Fault{Action: "DescribeLaunchTemplateVersions", Effect: awstest.Throttle{}})
	r.refresh()
	if _, err := r.variants("a"); kind(err) != "transient" {
		t.Errorf("%v", err)
	}
	r.clock.Step(30 * time.Second)
	if got, err := r.variants("a"); err != nil || len(got) != 1 {
		t.Errorf("30 s later: %v, %v", got, err)
	}
}

func TestANewVersionOfATemplateIsNoticed(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:9:pinned", "0:9:latest"}},
		awstest.Group{Name: "pinned", Max: 9, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers", Version: "1"}},
		awstest.Group{Name: "latest", Max: 9, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers", Version: "$Latest"}})
	r.refresh()
	r.server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "m5.xlarge"}}})
	for range 5 {
		r.after(time.Minute)
	}
	if got, err := r.variants("latest"); err != nil || !strings.Contains(got[0], "m5.xlarge") {
		t.Errorf("latest after five minutes: %v, %v", got, err)
	}
	err := r.server.UpdateGroup("pinned", func(g *awstest.Group) {
		g.LaunchTemplate = &awstest.LaunchTemplateRef{Name: "workers", Version: "2"}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.variants("pinned"); err != nil || !strings.Contains(got[0], "m5.large") {
		t.Errorf("before the refresh: %v, %v", got, err)
	}
	r.after(time.Minute)
	if got, err := r.variants("pinned"); err != nil || !strings.Contains(got[0], "m5.xlarge") {
		t.Errorf("after the refresh: %v, %v", got, err)
	}
}

func TestInstanceTypesComeFromEC2AndElseFromTheBuiltInList(t *testing.T) {
	bigger := instancetypes.Type{Name: "m5.large", VCPUs: 3, MemoryMiB: 8192, Architecture: "amd64", ENIs: 3, IPv4PerENI: 10}
	tests := map[string]struct {
		options aws.Options
		deny    bool
		want    string // vCPUs
		calls   int
	}{
		"EC2 is asked for the types in use": {want: " 3 ", calls: 1},
		"the static list asks nobody":       {options: aws.Options{StaticInstanceTypes: true}, want: " 2 "},
		"without permission":                {deny: true, want: " 2 ", calls: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.options.Nodes = []string{"0:9:a"}
			r := newRig(t, test.options, awstest.Group{Name: "a", Max: 9})
			r.server.PutInstanceType(bigger)
			if test.deny {
				r.server.Deny("ec2:DescribeInstanceTypes")
			}
			r.refresh()
			got, err := r.variants("a")
			if err != nil || !strings.Contains(got[0], test.want) {
				t.Errorf("variants %v, %v", got, err)
			}
			r.after(2 * time.Minute)
			if got := r.count("DescribeInstanceTypes"); got != test.calls {
				t.Errorf("%d questions, want %d", got, test.calls)
			}
		})
	}
}

func TestTagsOfTheGroupShapeNodesAndOptions(t *testing.T) {
	const prefix = "k8s.io/cluster-autoscaler/node-template/"
	r := newRig(t, aws.Options{Nodes: []string{"0:9:mon"}}, awstest.Group{Name: "mon", Max: 9, Tags: tags(
		prefix+"label/restrict=mon", prefix+"taint/restrict=mon:NoSchedule", prefix+"resources/example.com/slot=2",
		prefix+"autoscaling-options/scaledownunneededtime=1h", prefix+"autoscaling-options/ignoredaemonsetsutilization=maybe", "eks:nodegroup-name=ng",
	)})
	r.refresh()
	list, err := r.group("mon").Templates(r.ctx())
	if err != nil {
		t.Fatal(err)
	}
	node := list[0].Node
	slots := node.Status.Allocatable["example.com/slot"]
	if node.Labels["restrict"] != "mon" || len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "restrict" || slots.Value() != 2 {
		t.Errorf("labels %v, taints %v, slots %s", node.Labels, node.Spec.Taints, slots.String())
	}
	if list[0].Promise != cloudprovider.PromisePossible || node.Labels["eks.amazonaws.com/nodegroup"] != "ng" {
		t.Errorf("a managed node group: promise %s, labels %v", list[0].Promise, node.Labels)
	}
	if diff := cmp.Diff(cloudprovider.OptionOverrides{ScaleDownUnneededTime: new(time.Hour)}, r.state("mon").Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if err := r.server.SetTags("mon"); err != nil {
		t.Fatal(err)
	}
	r.after(time.Minute)
	if list, err = r.group("mon").Templates(r.ctx()); err != nil || list[0].Node.Labels["restrict"] != "" || len(list[0].Node.Spec.Taints) != 0 {
		t.Errorf("after the tags went: %+v, %v", list, err)
	}
}
