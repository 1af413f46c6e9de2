package gpu_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/gpu"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const label = "example.com/accelerator"

func TestAcceleratorsOfNodes(t *testing.T) {
	t.Parallel()
	type facts struct {
		Resource corev1.ResourceName
		Has      bool
		Missing  bool
	}
	cases := map[string]struct {
		node  simtest.NodeBuilder
		label string
		want  facts
	}{
		"a plain node":                          {node: simtest.Node("n"), label: label},
		"labelled and there":                    {node: simtest.Node("n").Label(label, "t4").Resource("nvidia.com/gpu", "1"), label: label, want: facts{Resource: "nvidia.com/gpu", Has: true}},
		"labelled and not there yet":            {node: simtest.Node("n").Label(label, "t4"), label: label, want: facts{Resource: "nvidia.com/gpu", Has: true, Missing: true}},
		"labelled and none of it":               {node: simtest.Node("n").Label(label, "t4").Resource("nvidia.com/gpu", "0"), label: label, want: facts{Resource: "nvidia.com/gpu", Has: true, Missing: true}},
		"of another vendor":                     {node: simtest.Node("n").Label(label, "").Resource("nvidia.com/gpu", "0").Resource("amd.com/gpu", "2"), label: label, want: facts{Resource: "amd.com/gpu", Has: true}},
		"there without the label":               {node: simtest.Node("n").Resource("habana.ai/gaudi", "8"), label: label, want: facts{Resource: "habana.ai/gaudi", Has: true}},
		"a cloud without a label marks no node": {node: simtest.Node("n").Label("", "t4")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got facts
			got.Resource, got.Has = gpu.ResourceOf(c.node.Build(), c.label)
			got.Missing = gpu.Missing(c.node.Build(), c.label)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("accelerator (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatAskForAnAccelerator(t *testing.T) {
	t.Parallel()
	inInit := func(p *corev1.Pod) {
		p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, []corev1.Container{{Name: "other"}}
	}
	for name, c := range map[string]struct {
		pod  simtest.PodBuilder
		want bool
	}{
		"one that does":      {pod: simtest.Pod("p").Request("gpu.intel.com/xe", "1"), want: true},
		"while it starts":    {pod: simtest.Pod("p").Request("nvidia.com/gpu", "1").With(inInit), want: true},
		"for none of it":     {pod: simtest.Pod("p").Request("nvidia.com/gpu", "0")},
		"for something else": {pod: simtest.Pod("p").Request("example.com/fpga", "1")},
	} {
		if got := gpu.Requested(c.pod.Build()); got != c.want {
			t.Errorf("%s: asks = %t, want %t", name, got, c.want)
		}
	}
}

func TestEveryListedResourceCountsAsAnAccelerator(t *testing.T) {
	t.Parallel()
	for _, name := range gpu.Resources() {
		if !gpu.Requested(simtest.Pod("p").Request(name, "1").Build()) {
			t.Errorf("a pod that asks for %s is said to ask for no accelerator", name)
		}
		if got, ok := gpu.ResourceOf(simtest.Node("n").Resource(name, "1").Build(), ""); got != name || !ok {
			t.Errorf("a node with %s is said to have %q", name, got)
		}
	}
}
