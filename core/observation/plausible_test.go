package observation_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func TestAGroupWhoseSizesCannotBeTrueIsSetAside(t *testing.T) {
	for name, tc := range map[string]struct {
		told, want cloudprovider.GroupState
		stale      string // empty: it is not set aside
	}{
		"a target above the maximum": {told: cloudprovider.GroupState{Max: 3, Target: 5}, want: cloudprovider.GroupState{Max: 3, Target: 5}},
		"a target below the minimum": {told: cloudprovider.GroupState{Min: 2, Max: 3, Target: 1}, want: cloudprovider.GroupState{Min: 2, Max: 3, Target: 1}},
		"no maximum at all":          {told: cloudprovider.GroupState{Max: math.MaxInt}, want: cloudprovider.GroupState{Max: 1 << 20}},
		"a negative target": {
			told: cloudprovider.GroupState{Max: 3, Target: -1}, want: cloudprovider.GroupState{Max: 3}, stale: "the cloud provider says that its target size is -1",
		},
		"a target that no cluster has": {
			told:  cloudprovider.GroupState{Max: math.MaxInt, Target: math.MaxInt, Instances: []cloudprovider.Instance{{ID: "i"}}},
			want:  cloudprovider.GroupState{Max: 1 << 20, Target: 1, Instances: []cloudprovider.Instance{{ID: "i"}}},
			stale: "the cloud provider says that its target size is 9223372036854775807",
		},
		"a negative minimum": {
			told: cloudprovider.GroupState{Min: -2, Max: 3}, want: cloudprovider.GroupState{Max: 3}, stale: "the cloud provider says that its minimum size is -2",
		},
		"a minimum above the maximum": {
			told: cloudprovider.GroupState{Min: 4, Max: 3, Target: 3}, want: cloudprovider.GroupState{Min: 3, Max: 3, Target: 3},
			stale: "the cloud provider says that its minimum size is 4 and its maximum 3",
		},
		"a negative maximum": {
			told: cloudprovider.GroupState{Max: -1}, want: cloudprovider.GroupState{}, stale: "the cloud provider says that its minimum size is 0 and its maximum -1",
		},
		"machines that are listed twice": {
			told: cloudprovider.GroupState{Max: 9, Target: 2, Instances: []cloudprovider.Instance{{ID: "i"}, {}, {ID: "j"}, {ID: "i"}, {}}},
			want: cloudprovider.GroupState{Max: 9, Target: 2, Instances: []cloudprovider.Instance{{ID: "i"}, {}, {ID: "j"}, {}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cloud{groups: []cloudprovider.NodeGroup{nodeGroup{id: "bad", state: tc.told}, nodeGroup{id: "good"}}}
			seen := observe(t, filled(t, c, observation.Options{}))
			if diff := cmp.Diff(tc.want, seen.Groups[0].GroupState); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
			errs := map[cloudprovider.GroupID]string{}
			for _, trouble := range seen.GroupErrors {
				errs[trouble.Group] = trouble.Err.Error()
			}
			want := map[cloudprovider.GroupID]string{}
			if tc.stale != "" {
				want["bad"] = tc.stale
			}
			if diff := cmp.Diff(want, errs); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if got := seen.Groups[0].Stale; (got != nil) != (tc.stale != "") || seen.Groups[1].Stale != nil {
				t.Errorf("stale: %v and %v", got, seen.Groups[1].Stale)
			}
		})
	}
}

func TestGroupsThatAreNilOrThereTwiceHurtNoOther(t *testing.T) {
	c := &cloud{groups: []cloudprovider.NodeGroup{
		nil, nodeGroup{id: "twice", state: cloudprovider.GroupState{Max: 1}}, nodeGroup{id: "g"}, nil, nodeGroup{id: "twice", state: cloudprovider.GroupState{Max: 2}},
	}}
	seen := observe(t, filled(t, c, observation.Options{}))
	if len(seen.Groups) != 2 || seen.Groups[0].ID != "twice" || seen.Groups[0].Stale == nil || seen.Groups[1].ID != "g" || seen.Groups[1].Stale != nil {
		t.Errorf("got %+v, want the first one of each, and that set aside that is there twice", seen.Groups)
	}
	if len(seen.GroupErrors) != 1 || seen.GroupErrors[0].Group != "twice" || c.groupErrors != nil {
		t.Errorf("errors %v", seen.GroupErrors)
	}
}

func TestADescriptionWithoutNodeIsNone(t *testing.T) {
	node := cloudprovider.TemplateVariant{Key: "b", Node: simtest.Node("t").Build()}
	c := &cloud{groups: []cloudprovider.NodeGroup{
		nodeGroup{id: "half", variants: []cloudprovider.TemplateVariant{{Key: "a"}, node}},
		nodeGroup{id: "nothing", variants: []cloudprovider.TemplateVariant{{Key: "a"}}},
		nodeGroup{id: "unknown"},
	}}
	groups := observe(t, filled(t, c, observation.Options{})).Groups
	if half := groups[0]; len(half.Variants) != 1 || half.Variants[0].Key != "b" || half.TemplateErr != nil {
		t.Errorf("of two variants without one node %v is left, error %v", half.Variants, half.TemplateErr)
	}
	if nothing := groups[1]; len(nothing.Variants) != 0 || nothing.TemplateErr == nil {
		t.Errorf("without any node there are variants %v and the error %v", nothing.Variants, nothing.TemplateErr)
	}
	if groups[2].TemplateErr != nil {
		t.Errorf("who describes nothing has the error %v", groups[2].TemplateErr)
	}
}
