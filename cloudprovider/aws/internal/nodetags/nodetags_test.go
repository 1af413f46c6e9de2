package nodetags_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/nodetags"
)

const base = "k8s.io/cluster-autoscaler/node-template/"

func TestLabelsTaintsAndResources(t *testing.T) {
	tests := map[string]struct {
		tags map[string]string
		want nodetags.Tags
	}{
		"tags that say nothing about nodes": {tags: map[string]string{
			"k8s.io/cluster-autoscaler/enabled": "true", "Name": "x", "my/" + base + "label/team": "not anchored", "x-eks:y": "z",
		}},
		"a label with a domain": {
			tags: map[string]string{base + "label/example.com/team": "a"},
			want: nodetags.Tags{Labels: map[string]string{"example.com/team": "a"}},
		},
		"labels that no node can have": {
			tags: map[string]string{base + "label/": "x", base + "label/a": "not a label value"},
			want: nodetags.Tags{Rejected: []nodetags.Rejection{
				{Key: base + "label/", Value: "x", Reason: "the label key is not valid: name part must be non-empty"},
				{Key: base + "label/a", Value: "not a label value", Reason: "the label value is not valid: " + validation.IsValidLabelValue("not a label value")[0]},
			}},
		},
		"taints": {
			tags: map[string]string{
				base + "taint/dedicated": "gpu:NoSchedule", base + "taint/grp": ":PreferNoSchedule", base + "taint/bare": "NoExecute",
			},
			want: nodetags.Tags{Taints: []corev1.Taint{
				{Key: "bare", Effect: corev1.TaintEffectNoExecute},
				{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
				{Key: "grp", Effect: corev1.TaintEffectPreferNoSchedule},
			}},
		},
		"a taint that cannot be read still keeps pods away": {
			tags: map[string]string{
				base + "taint/": "a:NoSchedule", base + "taint/empty": "", base + "taint/many": "a:b:NoSchedule",
				base + "taint/x": "plain", base + "taint/y": "v:Sometimes",
			},
			want: nodetags.Tags{
				Taints: []corev1.Taint{
					{Key: "cluster-autoscaler.kubernetes.io/unreadable-taint-tag", Effect: corev1.TaintEffectNoSchedule},
					{Key: "empty", Effect: corev1.TaintEffectNoSchedule},
					{Key: "many", Effect: corev1.TaintEffectNoSchedule},
					{Key: "x", Value: "plain", Effect: corev1.TaintEffectNoSchedule},
					{Key: "y", Value: "v", Effect: corev1.TaintEffectNoSchedule},
				},
				Rejected: []nodetags.Rejection{
					{Key: base + "taint/", Value: "a:NoSchedule", Reason: "the taint key is not valid: name part must be non-empty"},
					{Key: base + "taint/empty", Value: "", Reason: "want VALUE:EFFECT with one of the effects NoSchedule, PreferNoSchedule and NoExecute"},
					{Key: base + "taint/many", Value: "a:b:NoSchedule", Reason: "the taint value is not valid: " + validation.IsValidLabelValue("a:b")[0]},
					{Key: base + "taint/x", Value: "plain", Reason: "want VALUE:EFFECT with one of the effects NoSchedule, PreferNoSchedule and NoExecute"},
					{Key: base + "taint/y", Value: "v:Sometimes", Reason: "want VALUE:EFFECT with one of the effects NoSchedule, PreferNoSchedule and NoExecute"},
				},
			},
		},
		"resources": {
			tags: map[string]string{
				base + "resources/cpu": "250m", base + "resources/memory": "512M", base + "resources/ephemeral-storage": "40G",
				base + "resources/example.com/slot": "3", base + "resources/hidden": "0", base + "resources/bad": "lots", base + "resources/minus": "-1",
				base + "resources/": "1",
			},
			want: nodetags.Tags{
				Resources: corev1.ResourceList{
					"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512M"), "ephemeral-storage": resource.MustParse("40G"),
					"example.com/slot": resource.MustParse("3"), "hidden": resource.MustParse("0"),
				},
				Rejected: []nodetags.Rejection{
					{Key: base + "resources/", Value: "1", Reason: "the resource name is not valid: name part must be non-empty"},
					{Key: base + "resources/bad", Value: "lots", Reason: "the amount is not a quantity such as 250m, 4 or 16Gi"},
					{Key: base + "resources/minus", Value: "-1", Reason: "the amount is negative"},
				},
			},
		},
		"the tags of EKS are facts, others below eks: are labels": {
			tags: map[string]string{"eks:nodegroup-name": "ng", "eks:cluster-name": "c", "eks:team": "a"},
			want: nodetags.Tags{Labels: map[string]string{"team": "a"}, EKSNodeGroup: "ng", EKSCluster: "c"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, nodetags.Parse(test.tags), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	tags := map[string]string{
		base + "autoscaling-options/scaledownutilizationthreshold":    "0.42",
		base + "autoscaling-options/scaledowngpuutilizationthreshold": " 1 ",
		base + "autoscaling-options/scaledownunneededtime":            "1h",
		base + "autoscaling-options/scaledownunreadytime":             "0s",
		base + "autoscaling-options/maxnodeprovisiontime":             "20m",
		base + "autoscaling-options/maxnodestartuptime":               "25m",
		base + "autoscaling-options/ignoredaemonsetsutilization":      "TRUE",
		base + "autoscaling-options/zeroormaxnodescaling":             "false",
		base + "autoscaling-options/allownonatomicscaleuptomax":       "True",
	}
	want := cloudprovider.OptionOverrides{
		ScaleDownUtilizationThreshold: new(0.42), ScaleDownGPUUtilizationThreshold: new(1.0),
		ScaleDownUnneededTime: new(time.Hour), ScaleDownUnreadyTime: new(time.Duration(0)),
		MaxNodeProvisionTime: new(20 * time.Minute), MaxNodeStartupTime: new(25 * time.Minute),
		IgnoreDaemonSetsUtilization: new(true), ZeroOrMaxNodeScaling: new(false), AllowNonAtomicScaleUpToMax: new(true),
	}
	got := nodetags.Parse(tags)
	if diff := cmp.Diff(want, got.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if len(got.Rejected) != 0 {
		t.Errorf("rejected %v", got.Rejected)
	}
}

func TestAnOptionThatCannotBeUsedIsToldAndTheDefaultStays(t *testing.T) {
	tests := map[string]struct{ key, value, want string }{
		"a share above one":       {"scaledownutilizationthreshold", "1.5", "want a number from 0 to 1"},
		"a share that is none":    {"scaledownutilizationthreshold", "NaN", "want a number from 0 to 1"},
		"a time without unit":     {"scaledownunneededtime", "10", "want a duration such as 10m or 1h30m, not negative"},
		"a time below zero":       {"scaledownunreadytime", "-1m", "want a duration such as 10m or 1h30m, not negative"},
		"neither true nor false":  {"ignoredaemonsetsutilization", "maybe", "want true or false"},
		"an option unknown to us": {"foo", "1", "there is no such option"},
		"no name":                 {"", "1", "there is no such option"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			key := base + "autoscaling-options/" + test.key
			got := nodetags.Parse(map[string]string{key: test.value})
			want := []nodetags.Rejection{{Key: key, Value: test.value, Reason: test.want}}
			if diff := cmp.Diff(want, got.Rejected); diff != "" {
				t.Errorf("rejected (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(cloudprovider.OptionOverrides{}, got.Options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(base+"taint/a", "b:NoSchedule")
	f.Add(base+"label/a/b", "c")
	f.Add(base+"resources/cpu", "1e3Ki")
	f.Add(base+"autoscaling-options/scaledownunneededtime", "1h")
	f.Fuzz(func(t *testing.T, key, value string) {
		got := nodetags.Parse(map[string]string{key: value})
		for _, taint := range got.Taints {
			if len(validation.IsQualifiedName(taint.Key)) > 0 || len(validation.IsValidLabelValue(taint.Value)) > 0 {
				t.Errorf("%q=%q gives the taint %+v, which no node can have", key, value, taint)
			}
		}
		for k, v := range got.Labels {
			if len(validation.IsQualifiedName(k)) > 0 || len(validation.IsValidLabelValue(v)) > 0 {
				t.Errorf("%q=%q gives the label %q=%q, which no node can have", key, value, k, v)
			}
		}
	})
}

func TestWhatEKSKnowsIsLaidOverTheTags(t *testing.T) {
	const prefix = "k8s.io/cluster-autoscaler/node-template/"
	group := nodetags.Parse(map[string]string{
		prefix + "label/a": "asg", prefix + "label/b": "asg", prefix + "label/c": "asg", prefix + "taint/t": "asg:NoSchedule", prefix + "taint/u": "asg:NoSchedule",
		prefix + "resources/x": "1", prefix + "resources/y": "1", prefix + "autoscaling-options/scaledownunneededtime": "1h",
	})
	nodeGroup := nodetags.Parse(map[string]string{
		prefix + "label/b": "tag", prefix + "label/c": "tag", prefix + "taint/t": "tag:NoSchedule", prefix + "resources/y": "2",
		prefix + "autoscaling-options/scaledownunneededtime": "2h", prefix + "autoscaling-options/zeroormaxnodescaling": "true",
	})
	got := group.With(nodeGroup, map[string]string{"c": "eks"}, []corev1.Taint{{Key: "t", Value: "eks", Effect: "NoExecute"}, {Key: "u", Value: "eks", Effect: "NoSchedule"}})
	want := nodetags.Tags{
		Labels:    map[string]string{"a": "asg", "b": "tag", "c": "eks"},
		Taints:    []corev1.Taint{{Key: "t", Value: "eks", Effect: "NoExecute"}, {Key: "t", Value: "tag", Effect: "NoSchedule"}, {Key: "u", Value: "eks", Effect: "NoSchedule"}},
		Resources: corev1.ResourceList{"x": resource.MustParse("1"), "y": resource.MustParse("2")},
		Options:   cloudprovider.OptionOverrides{ScaleDownUnneededTime: new(time.Hour), ZeroOrMaxNodeScaling: new(true)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	if group.Labels["b"] != "asg" || len(group.Taints) != 2 {
		t.Errorf("the tags of the group have changed: %+v", group)
	}
}
