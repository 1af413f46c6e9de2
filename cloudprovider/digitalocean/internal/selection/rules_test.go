package selection_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/selection"
)

func TestFlagsOfAnotherFormAreIgnoredWithAWarningEach(t *testing.T) {
	for _, text := range []string{"", "1:2", "1:2:", "a:2:p", "1:b:p", "-1:2:p", "3:2:p"} {
		if rules, warnings := selection.Parse([]string{text}, nil); len(warnings) != 1 || rules.Choose(doapi.Pool{ID: "p"}).Selected {
			t.Errorf("--nodes=%q: warnings %q", text, warnings)
		}
	}
	for _, text := range []string{"", "asg:tag=k", "doks:tag=", "doks:tag=,min=1", "doks:tag=a,min=x", "doks:tag=a,min=5,max=4", "doks:tag=min=1"} {
		if rules, warnings := selection.Parse(nil, []string{text}); len(warnings) != 1 || rules.Choose(doapi.Pool{ID: "p", Tags: []string{"a", "k", ""}}).Selected {
			t.Errorf("--node-group-auto-discovery=%q: warnings %q", text, warnings)
		}
	}
}

func TestSelectorsCountInTheirOrder(t *testing.T) {
	rules, warnings := selection.Parse([]string{"2:3:web", "4:5:7"}, []string{"doks:tag=a:b,c,min=6,max=8", "doks:tag=d"})
	if len(warnings) != 0 {
		t.Errorf("warnings %q", warnings)
	}
	enabled := "k8s-cluster-autoscaler-enabled:true"
	for name, test := range map[string]struct {
		pool doapi.Pool
		want selection.Choice
	}{
		"by name":                 {doapi.Pool{ID: "1", Name: "web", Tags: []string{enabled}}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 2, Max: 3}}},
		"by id":                   {doapi.Pool{ID: "7", Name: "x"}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 4, Max: 5}}},
		"by its tags":             {doapi.Pool{ID: "1", Tags: []string{enabled, "k8s-cluster-autoscaler-min:9", "d"}}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 9, Max: 200}}},
		"by tags with bad bounds": {doapi.Pool{ID: "1", Tags: []string{enabled, "k8s-cluster-autoscaler-min:x"}}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 1, Max: 200}}},
		"by a rule":               {doapi.Pool{ID: "1", Tags: []string{"c", "a:b"}}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 6, Max: 8}}},
		"by another rule":         {doapi.Pool{ID: "1", Tags: []string{"d"}}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 1, Max: 200}}},
		"by managed autoscaling":  {doapi.Pool{ID: "1", AutoScale: true, Min: 1, Max: 4}, selection.Choice{Selected: true, Bounds: selection.Bounds{Min: 1, Max: 4}}},
		"by nothing":              {doapi.Pool{ID: "1", Tags: []string{"c"}}, selection.Choice{}},
	} {
		if diff := cmp.Diff(test.want, rules.Choose(test.pool)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzNoTagBreaksTheOptionsOfAPool(f *testing.F) {
	for _, tag := range []string{"", "k8s-cluster-autoscaler-opt:", "k8s-cluster-autoscaler-opt:maxnodeprovisiontime:1h", "k8s-cluster-autoscaler-max:-1", "k8s-cluster-autoscaler-opt:scaledownutilizationthreshold:101"} {
		f.Add(tag)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		o, rejected := selection.Options(doapi.Pool{Tags: []string{tag}}, nil)
		if share := o.ScaleDownUtilizationThreshold; len(rejected) > 1 || share != nil && (*share < 0 || *share > 1) {
			t.Errorf("%q gives %+v, rejected %q", tag, o, rejected)
		}
		var rules selection.Rules
		if c := rules.Choose(doapi.Pool{Tags: []string{tag, "k8s-cluster-autoscaler-enabled:true"}}); !c.Selected || c.Bounds.Min < 0 {
			t.Errorf("%q gives %+v", tag, c)
		}
	})
}
