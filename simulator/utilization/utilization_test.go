package utilization_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/utilization"
)

var now = simtest.Epoch.Add(24 * time.Hour)

const gpu = corev1.ResourceName("nvidia.com/gpu")

func node() simtest.NodeBuilder { return simtest.Node("n").CPU("2").Memory("2000000") }

// standard is a pod that takes a twentieth of the CPU and a tenth of the memory of the node.
func standard() simtest.PodBuilder { return simtest.Pod("p").On("n").Requests("100m", "200000") }

func container(cpu, memory string) corev1.Container {
	return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}
}

func sidecarAndInit(p *corev1.Pod) {
	always := corev1.ContainerRestartPolicyAlways
	sidecar := container("50m", "100000")
	sidecar.RestartPolicy = &always
	p.Spec.InitContainers = []corev1.Container{sidecar, container("5m", "100")}
}

func greedyInit(p *corev1.Pod) {
	p.Spec.InitContainers = []corev1.Container{container("50000m", "100000000")}
}

// The numbers are those of the worked cases in scale-down 7.1, 7.2 and 7.10.
func TestUtilization(t *testing.T) {
	t.Parallel()
	standard, empty := standard(), simtest.Pod("e").On("n")
	daemon := func(cpu, memory string) simtest.PodBuilder {
		return simtest.Pod("d").DaemonSet("ds").Requests(cpu, memory)
	}
	ignoreDaemonSets := utilization.Options{At: now, SkipDaemonSets: true}
	ignoreMirror := utilization.Options{At: now, SkipMirrorPods: true}
	ignoreBoth := utilization.Options{At: now, SkipDaemonSets: true, SkipMirrorPods: true}
	byGPU := utilization.Options{At: now, Accelerator: gpu}
	both := func(cpu, memory float64) utilization.Utilization {
		u := utilization.Utilization{CPU: cpu, Memory: memory, Resource: corev1.ResourceMemory, Value: memory}
		if cpu > memory {
			u.Resource, u.Value = corev1.ResourceCPU, cpu
		}
		return u
	}
	cases := map[string]struct {
		node    simtest.NodeBuilder
		pods    []simtest.PodBuilder
		options utilization.Options
		want    utilization.Utilization
	}{
		"SD001: an empty node is not used": {node: node(), want: both(0, 0)},
		"SD008: half of the CPU": {
			node: simtest.Node("n").CPU("1"), pods: []simtest.PodBuilder{simtest.Pod("p").Requests("500m", "")}, want: both(0.5, 0),
		},
		"SD018: DaemonSet pods count": {
			node: simtest.Node("n").CPU("1"), pods: []simtest.PodBuilder{daemon("500m", ""), simtest.Pod("p").Requests("100m", "")}, want: both(0.6, 0),
		},
		"SD019: unless they are ignored; then they take room away": {
			node: simtest.Node("n").CPU("1"), pods: []simtest.PodBuilder{daemon("500m", ""), simtest.Pod("p").Requests("100m", "")},
			options: ignoreDaemonSets, want: both(0.2, 0),
		},
		"SD020: nothing but an ignored DaemonSet pod": {
			node: simtest.Node("n").CPU("1"), pods: []simtest.PodBuilder{daemon("500m", "")}, options: ignoreDaemonSets, want: both(0, 0),
		},
		"SD023: memory decides": {node: node(), pods: []simtest.PodBuilder{standard, standard, empty}, want: both(0.1, 0.2)},
		"SD024: two kinds of DaemonSet pods are ignored": {
			node: node(), options: ignoreDaemonSets, want: both(200./1800, 400./1600),
			pods: []simtest.PodBuilder{
				standard, standard, empty, standard.DaemonSet("ds"), standard.OwnedBy("Custom", "c").Annotation(podfacts.DaemonSetPodAnnotation, "true"),
			},
		},
		"SD025: nothing is ignored": {node: node(), pods: []simtest.PodBuilder{standard, empty, standard.DaemonSet("ds")}, want: both(0.1, 0.2)},
		"SD026: mirror pods are ignored": {
			node: node(), pods: []simtest.PodBuilder{standard, standard, standard.Mirror()}, options: ignoreMirror, want: both(200./1900, 400./1800),
		},
		"SD027: both kinds are ignored": {
			node: node(), pods: []simtest.PodBuilder{standard, standard.Mirror(), standard.DaemonSet("ds")}, options: ignoreBoth,
			want: both(100./1800, 200./1600),
		},
		"SD028: a pod that should have ended doesn't count, and takes no room away": {
			node: node(), pods: []simtest.PodBuilder{standard, standard, standard.DeletedAt(now.Add(-10 * time.Minute))}, want: both(0.1, 0.2),
		},
		"SD029: sidecars and initialisation count as the scheduler counts them": {
			node: node(), pods: []simtest.PodBuilder{standard, standard.With(sidecarAndInit), standard.With(greedyInit)}, want: both(25.125, 50.25),
		},
		"SD030: on a node with a GPU nothing else counts": {
			node: node().Resource(gpu, "1"), pods: []simtest.PodBuilder{standard.Request(gpu, "1")}, options: byGPU,
			want: utilization.Utilization{Accelerator: 1, Resource: gpu, Value: 1},
		},
		"SD031: a GPU that isn't there is not used": {
			node: node(), pods: []simtest.PodBuilder{standard, standard}, options: byGPU, want: utilization.Utilization{Resource: gpu},
		},
		"SD031: nor is one of which there are none": {
			node: node().Resource(gpu, "0"), pods: []simtest.PodBuilder{standard}, options: byGPU, want: utilization.Utilization{Resource: gpu},
		},
		"SD015: neither CPU nor memory is needed then": {
			node: node().CPU("").Memory("").Resource(gpu, "2"), pods: []simtest.PodBuilder{standard.Request(gpu, "1")}, options: byGPU,
			want: utilization.Utilization{Accelerator: 0.5, Resource: gpu, Value: 0.5},
		},
		"SD196: all CPU is taken by ignored pods, and no other asks for any": {
			node: node(), pods: []simtest.PodBuilder{daemon("2", ""), simtest.Pod("p").Requests("", "1800000")}, options: ignoreDaemonSets,
			want: both(math.NaN(), 0.9),
		},
		"SD197: all memory is taken by ignored pods, and no other asks for any": {
			node: node(), pods: []simtest.PodBuilder{daemon("", "2000000"), simtest.Pod("p").Requests("1800m", "")}, options: ignoreDaemonSets,
			want: both(0.9, math.NaN()),
		},
		"SD198: all is taken by ignored pods, a pod asks for CPU": {
			node: node(), pods: []simtest.PodBuilder{daemon("2", "2000000"), simtest.Pod("p").Requests("100m", "")}, options: ignoreDaemonSets,
			want: both(math.Inf(1), math.NaN()),
		},
		"SD198: all is taken by ignored pods, a pod asks for memory": {
			node: node(), pods: []simtest.PodBuilder{daemon("2", "2000000"), simtest.Pod("p").Requests("", "100")}, options: ignoreDaemonSets,
			want: both(math.NaN(), math.Inf(1)),
		},
		"more than all memory is taken by ignored pods": {
			node: node(), pods: []simtest.PodBuilder{daemon("", "4000000"), simtest.Pod("p").Requests("200m", "1000000")}, options: ignoreDaemonSets,
			want: both(0.1, -0.5),
		},
		"more than all of both is taken: the larger one": {
			node: node(), pods: []simtest.PodBuilder{daemon("4", "4000000"), simtest.Pod("p").Requests("200m", "1000000")}, options: ignoreDaemonSets,
			want: both(-0.1, -0.5),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pods []*corev1.Pod
			for _, pod := range c.pods {
				pods = append(pods, pod.Build())
			}
			if c.options.At.IsZero() {
				c.options.At = now
			}
			got, err := utilization.Of(c.node.Build(), pods, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("utilization (-want +got):\n%s", diff)
			}
		})
	}
}

// An odd value passes the comparison that makes a node eligible as the worked cases SD196 to SD198 say.
func TestOnlyInfinityIsAboveTheThreshold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pod   simtest.PodBuilder
		above bool
	}{
		"NaN isn't": {pod: simtest.Pod("p").Requests("100m", "")},
		"+Inf is":   {pod: simtest.Pod("p").Requests("", "100"), above: true},
	} {
		daemon := simtest.Pod("d").DaemonSet("ds").Requests("2", "2000000").Build()
		got, err := utilization.Of(node().Build(), []*corev1.Pod{daemon, c.pod.Build()}, utilization.Options{SkipDaemonSets: true})
		if err != nil {
			t.Fatal(err)
		}
		if above := got.Value > 0.5; above != c.above {
			t.Errorf("%s: %v > 0.5 is %t", name, got.Value, above)
		}
	}
}

// Worked cases SD010 and SD011.
func TestANodeWithoutAllocatableIsAnErrorThatNamesBoth(t *testing.T) {
	t.Parallel()
	for want, node := range map[string]simtest.NodeBuilder{
		"node n: it has no allocatable cpu":    node().CPU("0").Memory("0"),
		"node n: it has no allocatable memory": node().Memory(""),
	} {
		if _, err := utilization.Of(node.Build(), nil, utilization.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error = %v, want one with %q", err, want)
		}
	}
}

func TestTheSumOfAllPodsGivesTheSameUtilizationAsThePods(t *testing.T) {
	t.Parallel()
	node := simtest.Node("n").CPU("3").Memory("7Gi").Resource("example.com/gpu", "3").Build()
	pods := []*corev1.Pod{
		simtest.Pod("a").Requests("333m", "1234567").Build(), simtest.Pod("b").Requests("1", "3Gi").Request("example.com/gpu", "1").Build(),
	}
	for name, accelerator := range map[string]corev1.ResourceName{"cpu and memory": "", "an accelerator": "example.com/gpu", "none of it": "example.com/none"} {
		want, err := utilization.Of(node, pods, utilization.Options{Accelerator: accelerator})
		if err != nil {
			t.Fatal(err)
		}
		snapshot := simtest.Snapshot(t, []*corev1.Node{node}, nil)
		for _, pod := range pods {
			if err := snapshot.AddPod(pod, "n"); err != nil {
				t.Fatal(err)
			}
		}
		got, err := utilization.OfSum(node, accelerator, func(name corev1.ResourceName) int64 { return snapshot.Taken("n", name) })
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, utilization (-pods +sum):\n%s", name, err, diff)
		}
	}
	if _, err := utilization.OfSum(simtest.Node("n").CPU("0").Build(), "", func(corev1.ResourceName) int64 { return 0 }); err == nil {
		t.Error("a node without allocatable cpu is no error")
	}
}
