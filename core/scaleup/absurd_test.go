package scaleup_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// asks is a pod whose requests nobody has checked.
func asks(name corev1.ResourceName, quantity string) simtest.PodBuilder {
	return pod("odd", "1").With(func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity)
	})
}

func TestPodsWithAbsurdRequestsBuyNothingAndHinderNoOther(t *testing.T) {
	for name, odd := range map[string]simtest.PodBuilder{
		"more processors than there are numbers": asks(corev1.ResourceCPU, "1e30"),
		"more memory than there are numbers":     asks(corev1.ResourceMemory, "1e30"),
		"the largest number of processors":       asks(corev1.ResourceCPU, "9223372036854775807"),
		"what nobody has":                        asks("example.com/wand", "1e30"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, balancing := range []bool{false, true} {
				w := world{groups: []group{zone("a", 0, 5), zone("b", 0, 5)}, pods: append(big(2), odd), first: true}
				if balancing {
					w.balancing = balanced()
				}
				grown := w.grow(t)
				nodes := 0
				for _, o := range grown.Outcomes {
					nodes += o.Granted
				}
				for _, v := range grown.Pods {
					if want := v.Pod.Name != "odd"; (v.Fate == report.PodTriggered) != want {
						t.Errorf("balancing %t: %s is told %s", balancing, v.Pod.Name, verdict(v))
					}
				}
				if nodes != 2 || grown.Err != nil {
					t.Errorf("balancing %t: %d nodes were bought (%v), want 2", balancing, nodes, grown.Err)
				}
			}
		})
	}
}

func TestPodsThatAskForNextToNothingOrLessShareANode(t *testing.T) {
	for _, quantity := range []string{"1n", "-1", "-1e30", "0"} {
		w := world{groups: []group{zone("a", 0, 5)}, pods: []simtest.PodBuilder{asks(corev1.ResourceCPU, quantity), pod("plain", "1")}, first: true}
		if diff := cmp.Diff([]string{"a 0->1"}, sizes(w.grow(t))); diff != "" {
			t.Errorf("a pod that asks for %s (-want +got):\n%s", quantity, diff)
		}
	}
}

func TestMachinesOfAbsurdSizeDoNotOutwitTheLimits(t *testing.T) {
	for name, node := range map[string]simtest.NodeBuilder{
		"more processors than there are numbers": simtest.Node("cloud").CPU("1e30"),
		"more memory than there are numbers":     simtest.Node("cloud").CPU("4").Memory("1e30"),
	} {
		w := world{
			groups: []group{{id: "a", max: math.MaxInt32, variants: []simtest.NodeBuilder{node}}}, pods: big(3), first: true,
			limits: map[string]int64{"cpu": 1000, "memory": 1 << 40},
		}
		if got := sizes(w.grow(t)); len(got) > 0 {
			t.Errorf("%s: %v were bought", name, got)
		}
	}
	less := world{
		groups: []group{zone("a", 0, 5)}, pods: big(3), first: true, limits: map[string]int64{"cpu": 4},
	}.on("", simtest.Node("odd").CPU("-100"), "")
	if diff := cmp.Diff([]string{"a 0->2"}, sizes(less.grow(t))); diff != "" {
		t.Errorf("a node of less than nothing changes the limits (-want +got):\n%s", diff)
	}
}
