package observation_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// C31: a node is ready before its device is.
func TestANodeWaitsForTheDevicesThatItsGroupPromises(t *testing.T) {
	const card, other = corev1.ResourceName("vendor.com/card"), corev1.ResourceName("vendor.com/network")
	variant := func(devices ...corev1.ResourceName) cloudprovider.TemplateVariant {
		node := simtest.Node("t").Resource("vendor.com/none", "0").Resource("kubernetes.io/batch", "1")
		for _, device := range devices {
			node = node.Resource(device, "1")
		}
		return cloudprovider.TemplateVariant{Node: node.Build()}
	}
	promises := []cloudprovider.TemplateVariant{variant(card)}
	node := simtest.Node("n").CreatedAt(now.Add(-14 * time.Minute))
	older := simtest.Node("o").CreatedAt(now.Add(-time.Hour))
	for name, tc := range map[string]struct {
		node                simtest.NodeBuilder
		variants            []cloudprovider.TemplateVariant
		old                 []runtime.Object // an older node of the group, and its pods
		foreign, overridden bool
	}{
		"it is there":                             {node: node.Resource(card, "1"), variants: promises},
		"it is missing":                           {node: node, variants: promises, overridden: true},
		"there are none of it":                    {node: node.Resource(card, "0"), variants: promises, overridden: true},
		"it goes by another name of its vendor":   {node: node.Resource("vendor.com/slice-of-card", "7"), variants: promises},
		"another vendor's is there":               {node: node.Resource("vendors.com/card", "1"), variants: promises, overridden: true},
		"one of two vendors' is missing":          {node: node.Resource(card, "1"), variants: []cloudprovider.TemplateVariant{variant(card, "b.com/fpga")}, overridden: true},
		"all variants promise it":                 {node: node, variants: []cloudprovider.TemplateVariant{variant(card), variant(card, other)}, overridden: true},
		"one of the variants does not promise it": {node: node, variants: []cloudprovider.TemplateVariant{variant(card), variant()}},
		"nothing is promised":                     {node: node, variants: []cloudprovider.TemplateVariant{variant()}},
		"the group has no template":               {node: node},
		"the node belongs to no group":            {node: node, variants: promises, foreign: true},
		"it is cordoned: nobody expects anything": {node: node.Cordoned(), variants: promises},
		"what has not come by now is not coming":  {node: node.CreatedAt(now.Add(-15 * time.Minute)), variants: promises},
		"an older node lacks it and is empty":     {node: node, variants: promises, old: []runtime.Object{older.Build()}, overridden: true},
		"an older node lacks it and has agents only": {
			node: node, variants: promises, overridden: true,
			old: []runtime.Object{older.Build(), simtest.Pod("agent").OwnedBy("DaemonSet", "agent").On("o").Build()},
		},
		"an older node lacks it and is at work: the promise is wrong": {
			node: node, variants: promises, old: []runtime.Object{older.Build(), simtest.Pod("web").On("o").Build()},
		},
		"an unready node stays unready on its own": {node: node.NotReady(now), variants: promises},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cloud{groups: []cloudprovider.NodeGroup{nodeGroup{id: "g", variants: tc.variants}}}
			c.groupOf = func(*corev1.Node) (cloudprovider.GroupID, error) {
				if tc.foreign {
					return "", nil
				}
				return "g", nil
			}
			built := tc.node.Build()
			source := filled(t, c, observation.Options{GroupDefaults: observation.GroupOptions{MaxNodeStartupTime: 15 * time.Minute}}, append(tc.old, built)...)
			for range 2 { // what one observation does must not show in the next
				r := readiness.Of(observe(t, source).Nodes[0])
				if overridden := r.Reason == readiness.ReasonResourceNotReady; overridden != tc.overridden || overridden && r.Ready {
					t.Errorf("the node is ready: %t, reason %q; want it overridden: %t", r.Ready, r.Reason, tc.overridden)
				}
			}
			if judged := readiness.Of(built); judged.Reason == readiness.ReasonResourceNotReady {
				t.Error("the cluster's own node was changed")
			}
		})
	}
}
