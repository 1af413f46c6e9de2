package scaleup_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/simulator/simtest"
)

func machine(cpu string) []simtest.NodeBuilder {
	return []simtest.NodeBuilder{simtest.Node("cloud").CPU(cpu).Memory("8Gi")}
}

func backedOff(s *clusterstate.GroupState) {
	s.Backoff = &report.Backoff{Until: now.Add(5 * time.Minute), Code: "quota"}
}

func TestGrow(t *testing.T) {
	full := func(id cloudprovider.GroupID, name, cpu string) world {
		return world{}.on(id, simtest.Node(name).CPU(cpu), cpu)
	}
	t4 := func(n string) []simtest.NodeBuilder {
		return []simtest.NodeBuilder{simtest.Node("cloud").Label(gpuLabel, "t4").Resource("nvidia.com/gpu", n)}
	}
	for name, tc := range map[string]struct {
		world
		result report.ScaleUpResult
		sizes  []string
		pods   map[string]string
	}{
		"one group, three pods, two nodes": {
			world:  world{groups: []group{{id: "g", max: 10, variants: machine("2")}}, pods: many(3, "p", "1")},
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->2"},
			pods: map[string]string{"p-00": "Triggered by g", "p-01": "Triggered by g", "p-02": "Triggered by g"},
		},
		"E12: pods that do not tolerate the taint are told so": {
			world: world{
				groups: []group{{id: "g", max: 10, variants: []simtest.NodeBuilder{
					simtest.Node("cloud").CPU("2").Taint("x", "", corev1.TaintEffectNoSchedule),
				}}},
				pods: append(many(1, "a", "100m"), pod("b", "400m").Tolerates("x")),
			},
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->1"},
			pods: map[string]string{"a-00": "Unschedulable; g: node(s) had untolerated taint(s)", "b": "Triggered by g"},
		},
		"E14: no more nodes than the group has room for": {
			world:  world{groups: []group{{id: "g", target: 3, max: 5, variants: machine("2")}}, pods: many(10, "p", "2")[:3]},
			result: report.ScaleUpSuccessful, sizes: []string{"g 3->5"},
			pods: map[string]string{
				"p-00": "Triggered by g", "p-01": "Triggered by g", "p-02": "Awaiting; g: estimate ended at 2 nodes",
			},
		},
		"E16: no more nodes than the cluster may have": {
			world: func() world {
				w := world{groups: []group{{id: "g", max: 10, variants: machine("2")}}, pods: many(5, "p", "2"), maxNodes: 6}
				for i := range 4 {
					w = w.on("", simtest.Node(fmt.Sprintf("n%d", i)).CPU("1"), "")
				}
				return w
			}(),
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->2"},
		},
		"L16: the unready node counts for the estimate": {
			world: func() world {
				w := world{groups: []group{{id: "g", max: 10, variants: machine("2")}}, pods: many(1, "p", "2"), maxNodes: 1}
				return w.on("", simtest.Node("n").CPU("1").NotReady(now), "")
			}(),
			result: report.ScaleUpNoOptionsAvailable,
			pods:   map[string]string{"p-00": `Unschedulable; g: exceeded quota: "max-nodes-total", resources: nodes`},
		},
		"V01: a group at its maximum is skipped": {
			world:  world{groups: []group{{id: "g", target: 2, max: 2, variants: machine("2")}}, pods: many(1, "p", "1")},
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": "Unschedulable; g: max node group size reached"},
		},
		"V02: as many nodes as the limit of cores admits": {
			world: world{
				groups: []group{{id: "g", max: 10, variants: machine("4")}}, pods: many(3, "p", "4"), limits: map[string]int64{"cpu": 20},
			}.on("", simtest.Node("n").CPU("14"), "14"),
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->1"}, // R08: all pods of the option are told that nodes are bought
			pods: map[string]string{"p-00": "Triggered by g", "p-01": "Triggered by g", "p-02": "Triggered by g"},
		},
		"V03: none, if not even one fits": {
			world: world{
				groups: []group{{id: "g", max: 10, variants: machine("4")}}, pods: many(1, "p", "4"), limits: map[string]int64{"cpu": 20},
			}.on("", simtest.Node("n").CPU("17"), "17"),
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": `Unschedulable; g: exceeded quota: "cluster-wide", resources: cpu`},
		},
		"V04: a part of a core counts as a core": {
			world: world{
				groups: []group{{id: "g", max: 10, variants: machine("3500m")}}, pods: many(1, "p", "3"), limits: map[string]int64{"cpu": 20},
			}.on("", simtest.Node("n").CPU("17"), "17"),
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": `Unschedulable; g: exceeded quota: "cluster-wide", resources: cpu`},
		},
		"V05: the limit of a type of accelerators": {
			world: world{
				groups: []group{{id: "g", max: 10, variants: t4("2")}}, pods: []simtest.PodBuilder{pod("p", "1").Request("nvidia.com/gpu", "1")},
				limits: map[string]int64{"t4": 4},
			}.on("", simtest.Node("n").Label(gpuLabel, "t4").Resource("nvidia.com/gpu", "3").CPU("1"), "1"),
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p": `Unschedulable; g: exceeded quota: "cluster-wide", resources: t4`},
		},
		"V21: a node whose accelerators are not there yet counts as the template says": {
			world: world{
				groups: []group{{id: "g", target: 1, max: 10, variants: t4("2")}}, limits: map[string]int64{"t4": 4},
				pods: []simtest.PodBuilder{pod("a", "1").Request("nvidia.com/gpu", "2"), pod("b", "1").Request("nvidia.com/gpu", "2")},
			}.on("g", simtest.Node("n").Label(gpuLabel, "t4").CPU("1").NotReady(now), "1"),
			result: report.ScaleUpSuccessful, sizes: []string{"g 1->2"},
		},
		"V08: a virtual node costs nothing": {
			world: world{
				groups: []group{{id: "g", max: 10, variants: machine("4")}}, pods: many(1, "p", "4"), limits: map[string]int64{"cpu": 20},
			}.on("", simtest.Node("n").CPU("1000").Label("type", "virtual-kubelet").Taint("v", "", corev1.TaintEffectNoSchedule), ""),
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->1"},
		},
		"V10: a group that grows as a whole": {
			world:  world{groups: []group{{id: "g", max: 6, atomic: true, variants: machine("2")}}, pods: many(1, "p", "100m")},
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->6"},
		},
		"V11: not if the whole is more than the cluster may have": {
			world: func() world {
				w := world{groups: []group{{id: "g", max: 6, atomic: true, variants: machine("2")}}, pods: many(1, "p", "1"), maxNodes: 8}
				for i := range 4 {
					w = w.on("", simtest.Node(fmt.Sprintf("n%d", i)).CPU("100m"), "")
				}
				return w
			}(),
			result: report.ScaleUpNoOptionsAvailable,
			pods:   map[string]string{"p-00": "Unschedulable; g: atomic scale-up exceeds cluster node count limit"},
		},
		"V12: nor if it is more than a limit admits": {
			world: world{
				groups: []group{{id: "g", max: 6, atomic: true, variants: machine("1")}}, pods: many(1, "p", "100m"), limits: map[string]int64{"cpu": 5},
			},
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": `Unschedulable; g: exceeded quota: "cluster-wide", resources: cpu`},
		},
		"V13: one that has begun to grow is completed": {
			world:  world{groups: []group{{id: "g", target: 2, max: 6, atomic: true, variants: machine("2")}}, pods: many(1, "p", "100m")},
			result: report.ScaleUpSuccessful, sizes: []string{"g 2->6"},
		},
		"V13: and what it has already does not count against the cluster's limit": {
			world:  world{groups: []group{{id: "g", target: 2, max: 6, atomic: true, variants: machine("2")}}, pods: many(1, "p", "100m"), maxNodes: 5},
			result: report.ScaleUpSuccessful, sizes: []string{"g 2->6"},
		},
		"accelerators that are on their way count as the cloud says": {
			world: world{
				groups: []group{{id: "g", target: 2, max: 10, variants: t4("2"), state: func(s *clusterstate.GroupState) { s.Upcoming = 1 }}},
				limits: map[string]int64{"t4": 4}, pods: many(1, "p", "4"),
			}.on("g", simtest.Node("n").Label(gpuLabel, "t4").Resource("nvidia.com/gpu", "0").CPU("1"), "1"),
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": `Unschedulable; g: exceeded quota: "cluster-wide", resources: t4`},
		},
		"V16: a group of which nobody knows what its nodes look like": {
			world:  world{groups: []group{{id: "g", max: 6, templateErr: errors.New("denied")}}, pods: many(1, "p", "100m")},
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": "Unschedulable; g: no template for new nodes: denied"},
		},
		"V17: when the time is over, the options so far are used": {
			world: world{
				groups: []group{{id: "a", max: 6, variants: machine("8")}, {id: "b", max: 6, variants: machine("2")}, {id: "c", max: 6, variants: machine("2")}},
				pods:   many(1, "p", "1"), budget: spent(true),
			},
			result: report.ScaleUpSuccessful, sizes: []string{"a 0->1"},
			pods: map[string]string{"p-00": "Triggered by a; b: not looked at: --max-binpacking-time; c: not looked at: --max-binpacking-time"},
		},
		"V18: skipped groups are not asked": {
			world: world{
				groups: []group{{id: "a", target: 1, max: 1, variants: machine("2")}, {id: "b", target: 1, max: 1, variants: machine("2")}},
				pods:   []simtest.PodBuilder{pod("big", "5"), pod("small", "1500m")},
			},
			result: report.ScaleUpNoOptionsAvailable,
			pods: map[string]string{
				"big":   "Unschedulable; a: max node group size reached; b: max node group size reached",
				"small": "Unschedulable; a: max node group size reached; b: max node group size reached",
			},
		},
		"V18: unless the options say so": {
			world: world{
				groups:  []group{{id: "a", target: 1, max: 1, variants: machine("2")}, {id: "b", target: 1, max: 1, variants: machine("2")}},
				pods:    []simtest.PodBuilder{pod("big", "5"), pod("small", "1500m")},
				options: config.ScaleUp{SimulateSkippedNodeGroups: true},
			},
			result: report.ScaleUpNoOptionsAvailable,
			pods: map[string]string{
				"big":   "Unschedulable; a: Insufficient cpu; b: Insufficient cpu",
				"small": "Unschedulable; a: max node group size reached; b: max node group size reached",
			},
		},
		"R06: every group says why": {
			world: world{
				groups: []group{{id: "a", max: 5, variants: machine("2")}, {id: "b", max: 5, variants: machine("2"), state: backedOff}, {id: "c", max: 5, variants: machine("1")}},
				pods:   many(1, "p", "4"),
			},
			result: report.ScaleUpNoOptionsAvailable,
			pods:   map[string]string{"p-00": "Unschedulable; a: Insufficient cpu; b: in backoff after failed scale-up; c: Insufficient cpu"},
		},
		"R09: a pod that fits another group only awaits its turn": {
			world: world{
				groups: []group{
					{id: "a", max: 5, variants: []simtest.NodeBuilder{simtest.Node("cloud").Label("only", "a")}}, {id: "b", max: 5, variants: machine("1")},
				},
				pods: append(many(2, "p", "1"), pod("q", "1").NodeSelector("only", "a")), expanders: []config.Expander{config.ExpanderLeastWaste},
			},
			result: report.ScaleUpSuccessful, sizes: []string{"b 0->2"},
			pods: map[string]string{
				"p-00": "Triggered by b", "p-01": "Triggered by b", "q": "Awaiting; b: node(s) didn't match Pod's node affinity/selector",
			},
		},
		"R12: the only group that fits refuses": {
			world: world{
				groups: []group{{id: "g", max: 5, variants: machine("2")}}, pods: many(1, "p", "1"),
				refuse: map[cloudprovider.GroupID]error{"g": errors.New("boom")},
			},
			result: report.ScaleUpError, pods: map[string]string{"p-00": "Unschedulable; g: scale-up execution failed: boom"},
		},
		"R14: a group with upcoming nodes and no template hinders no other": {
			world: world{
				groups: []group{
					{id: "g", target: 1, max: 5, templateErr: errors.New("denied"), state: func(s *clusterstate.GroupState) { s.Upcoming = 1 }},
					{id: "h", max: 5, variants: machine("2")},
				},
				pods: many(1, "p", "1"),
			},
			result: report.ScaleUpSuccessful, sizes: []string{"h 0->1"},
			pods: map[string]string{"p-00": "Triggered by h; g: no template for new nodes: denied"},
		},
		"C05: an upcoming machine is enough": {
			world: world{
				groups: []group{{id: "spot", target: 5, max: 20, variants: machine("4"), state: func(s *clusterstate.GroupState) { s.Upcoming = 1 }}},
				pods:   many(2, "p", "2"),
			},
			result: report.ScaleUpNotNeeded, pods: map[string]string{"p-00": "Fits; Upcoming", "p-01": "Fits; Upcoming"},
		},
		"C16: three refusals, and another pod that does grow": {
			world: world{
				groups: []group{
					{id: "g1", target: 3, max: 3, variants: machine("8")}, {id: "g2", target: 1, max: 5, variants: machine("4")},
					{id: "g3", max: 5, variants: []simtest.NodeBuilder{simtest.Node("cloud").CPU("8").Taint("dedicated", "ml", corev1.TaintEffectNoSchedule)}},
				},
				pods: []simtest.PodBuilder{pod("p", "6"), pod("q", "2")},
			},
			result: report.ScaleUpSuccessful, sizes: []string{"g2 1->2"},
			pods: map[string]string{
				"p": "Unschedulable; g1: max node group size reached; g2: Insufficient cpu; g3: node(s) had untolerated taint(s)",
				"q": "Triggered by g2; g1: max node group size reached; g3: node(s) had untolerated taint(s)",
			},
		},
		"C17: a tainted group at zero grows for those who tolerate it": {
			world: world{
				groups: []group{
					{id: "open", target: 1, max: 1, variants: machine("4")},
					{id: "mon", max: 2, variants: []simtest.NodeBuilder{
						simtest.Node("cloud").Label("restrict", "mon").Taint("restrict", "mon", corev1.TaintEffectNoSchedule),
					}},
				},
				pods: []simtest.PodBuilder{pod("plain", "1"), pod("tol", "1").Tolerates("restrict").NodeSelector("restrict", "mon")},
			},
			result: report.ScaleUpSuccessful, sizes: []string{"mon 0->1"},
			pods: map[string]string{
				"plain": "Unschedulable; open: max node group size reached; mon: node(s) had untolerated taint(s)",
				"tol":   "Triggered by mon; open: max node group size reached",
			},
		},
		"C27: a group is grown by the units of its smallest machine": {
			world: world{
				groups: []group{{id: "w", target: 4, max: 10, weight: 2, variants: machine("8")}}, pods: many(2, "p", "6"),
			},
			result: report.ScaleUpSuccessful, sizes: []string{"w 4->8"},
		},
		"C28: what one group refuses another one takes over at once": {
			world: world{
				groups:    []group{{id: "spot", max: 9, variants: machine("4")}, {id: "od", max: 9, variants: machine("8")}},
				pods:      many(1, "p", "3"),
				refuse:    map[cloudprovider.GroupID]error{"spot": &cloudprovider.OutOfResourcesError{Group: "spot", Err: errors.New("none left")}},
				expanders: []config.Expander{config.ExpanderLeastWaste},
			},
			result: report.ScaleUpSuccessful, sizes: []string{"od 0->1"},
			pods: map[string]string{
				"p-00": `Triggered by od; spot: scale-up execution failed: the cloud is out of its machines for node group "spot": none left`,
			},
		},
		"C29: a cloud that is busy is asked again later, and no other group is grown instead": {
			world: world{
				groups: []group{{id: "p", target: 1, max: 9, variants: machine("4")}, {id: "q", target: 1, max: 9, variants: machine("8")}},
				pods:   many(1, "p", "3"), refuse: map[cloudprovider.GroupID]error{"p": &cloudprovider.TransientError{Err: errors.New("throttled")}},
			},
			result: report.ScaleUpError,
			pods: map[string]string{
				"p-00": "Awaiting; p: scale-up execution failed: the cloud could not answer for now: throttled",
			},
		},
		"C33: a spread over host names": {
			world: world{
				groups: []group{{id: "h", target: 2, max: 50, variants: []simtest.NodeBuilder{simtest.Node("cloud").MaxPods("50")}}},
				pods: func() []simtest.PodBuilder {
					var out []simtest.PodBuilder
					for _, p := range many(20, "p", "1") {
						out = append(out, p.Label("app", "a").Spread(corev1.LabelHostname, 1, "app", "a"))
					}
					return out
				}(),
			}.on("h", simtest.Node("h1").MaxPods("50"), "").on("h", simtest.Node("h2").MaxPods("50"), ""),
			result: report.ScaleUpSuccessful, sizes: []string{"h 2->5"},
		},
		"a group that was not described newly is not written to": {
			world:  world{groups: []group{{id: "g", max: 5, variants: machine("2"), stale: errors.New("throttled")}}, pods: many(1, "p", "1")},
			result: report.ScaleUpNoOptionsAvailable,
			pods:   map[string]string{"p-00": "Unschedulable; g: set aside until the next refresh says otherwise: throttled"},
		},
		"a suspended group neither": {
			world:  world{groups: []group{{id: "g", max: 5, variants: machine("2"), suspended: "Launch is suspended"}}, pods: many(1, "p", "1")},
			result: report.ScaleUpNoOptionsAvailable,
			pods:   map[string]string{"p-00": "Unschedulable; g: set aside until the next refresh says otherwise: Launch is suspended"},
		},
		"a group of which nothing is known at all is told of": {
			world: world{
				groups: []group{{id: "g", max: 5, variants: machine("2")}}, groupErrors: []cloudprovider.GroupError{{Group: "lost", Err: errors.New("denied")}},
				pods: many(1, "p", "1"),
			},
			result: report.ScaleUpSuccessful, sizes: []string{"g 0->1"},
			pods: map[string]string{"p-00": "Triggered by g; lost: set aside until the next refresh says otherwise: denied"},
		},
		"an unhealthy group waits": {
			world: world{
				groups: []group{{id: "g", max: 5, variants: machine("2"), state: func(s *clusterstate.GroupState) { s.Healthy = false }}}, pods: many(1, "p", "1"),
			},
			result: report.ScaleUpNoOptionsAvailable, pods: map[string]string{"p-00": "Unschedulable; g: not ready for scale-up"},
		},
		"what is taken is not bought": {
			world: func() world {
				w := full("g", "n", "4")
				w.groups, w.pods = []group{{id: "g", target: 1, max: 5, variants: machine("4")}}, many(1, "p", "1")
				return w.on("g", simtest.Node("free").CPU("4"), "")
			}(),
			result: report.ScaleUpNotNeeded, pods: map[string]string{"p-00": "Fits; Upcoming"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			grown := tc.grow(t)
			if grown.Result != tc.result || grown.Err != nil {
				t.Errorf("the result is %s (%v), want %s", grown.Result, grown.Err, tc.result)
			}
			if diff := cmp.Diff(tc.sizes, sizes(grown)); diff != "" {
				t.Errorf("sizes: %s", diff)
			}
			if len(grown.Pods) != len(tc.world.pods) {
				t.Errorf("%d pods have a verdict, want %d", len(grown.Pods), len(tc.world.pods))
			}
			if grown.MaxNodesTotal != 0 {
				t.Errorf("a cut at %d nodes is told", grown.MaxNodesTotal)
			}
			if tc.pods == nil {
				return
			}
			if diff := cmp.Diff(tc.pods, verdicts(grown)); diff != "" {
				t.Errorf("pods: %s", diff)
			}
		})
	}
}

func TestReasonsCarryTheirNumbers(t *testing.T) {
	// C16 again, as data.
	grown := world{
		groups: []group{{id: "g1", target: 3, max: 3, variants: machine("8")}, {id: "g2", target: 1, max: 5, variants: machine("4")}},
		pods:   []simtest.PodBuilder{pod("p", "6")},
	}.grow(t)
	groups := grown.Pods[0].Groups
	if diff := cmp.Diff(report.Reason(report.GroupAtMaxSize{Target: 3, Max: 3}), groups[0].Reason); diff != "" {
		t.Error(diff)
	}
	short := groups[1].Reason.(report.Rejected).Rejection.Short
	if len(short) != 1 || short[0].Resource != corev1.ResourceCPU || short[0].Asked != 6000 || short[0].Offered != 4000 {
		t.Errorf("got %+v, want that 6000 milli-CPU are asked and 4000 offered", short)
	}
	if diff := cmp.Diff([]report.GroupVerdict{{Group: "g1", Reason: report.GroupAtMaxSize{Target: 3, Max: 3}}}, grown.Skipped); diff != "" {
		t.Error(diff)
	}
	if grown.Considered != 2 {
		t.Errorf("%d groups were considered, want 2", grown.Considered)
	}
}

func TestOptionsAreTold(t *testing.T) {
	grown := world{
		groups: []group{{id: "a", max: 5, variants: machine("8")}, {id: "b", max: 5, variants: machine("4")}, {id: "c", max: 5, variants: machine("4")}},
		pods:   []simtest.PodBuilder{simtest.Pod("p").Requests("3", "4Gi")},
		refuse: map[cloudprovider.GroupID]error{"b": errors.New("boom")}, expanders: []config.Expander{config.ExpanderLeastNodes, config.ExpanderLeastWaste},
	}.grow(t)
	want := []report.Option{
		{Group: "a", Nodes: 1, Pods: 1, Waste: 0.5625, Reason: report.DroppedByExpander{Expander: "least-waste"}},
		{Group: "b", Nodes: 1, Pods: 1, Waste: 0.375, Reason: report.ExecutionFailed{Error: "boom"}},
		{Group: "c", Nodes: 1, Pods: 1, Waste: 0.375, Chosen: true},
	}
	got := slices.Clone(grown.Options)
	if got[1].Chosen { // the draw took c first, which did not refuse
		want[1], want[2] = want[2], want[1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsLeftWhenTheExpanderDropsAll(t *testing.T) {
	w := world{groups: []group{{id: "g", max: 5, variants: machine("8")}}, pods: many(1, "p", "1")}
	none := func(_ context.Context, asked expander.Question) expander.Choice {
		return expander.Choice{Taken: -1, Dropped: []report.GroupVerdict{{Group: asked.Options[0].Group, Reason: report.DroppedByExpander{Expander: "grpc"}}}}
	}
	grown := scaleup.Grow(t.Context(), w.in(t), none, w.act)
	want := map[string]string{"p-00": "Unschedulable; g: expansion options filtered out and no longer considered"}
	if diff := cmp.Diff(want, verdicts(grown)); diff != "" || grown.Result != report.ScaleUpNoOptionsAvailable {
		t.Errorf("%s: %s", grown.Result, diff)
	}
}

func TestAnAnswerThatWasLostIsNotBoughtAgainElsewhere(t *testing.T) {
	grown := world{
		groups: []group{{id: "g", max: 5, variants: machine("4")}, {id: "h", max: 5, variants: machine("8")}}, pods: many(1, "p", "1"),
		refuse: map[cloudprovider.GroupID]error{"g": fmt.Errorf("resizing: %w", &cloudprovider.TransientError{OutcomeUnknown: true, Err: errors.New("cut off")})},
	}.grow(t)
	if len(grown.Outcomes) != 1 || grown.Result != report.ScaleUpError {
		t.Errorf("%d writes with result %s, want one and an error", len(grown.Outcomes), grown.Result)
	}
}

func TestAPurchaseThatWasCutByTheCloudIsAPurchase(t *testing.T) {
	w := world{groups: []group{{id: "g", max: 5, variants: machine("4")}, {id: "h", max: 5, variants: machine("8")}}, pods: many(3, "p", "4")}
	cut := func(_ context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error) {
		return []report.ResizeOutcome{{Resize: resizes[0], Granted: 1, Err: &cloudprovider.StaleBoundsError{Err: errors.New("no more than one")}}}, nil
	}
	grown := scaleup.Grow(t.Context(), w.in(t), w.choose(t), cut)
	if len(grown.Outcomes) != 1 || grown.Result != report.ScaleUpSuccessful || grown.Pods[0].Fate != report.PodTriggered {
		t.Errorf("%d writes, %s, first pod %s; want one that succeeded", len(grown.Outcomes), grown.Result, grown.Pods[0].Fate)
	}
}

func TestTheEndOfTheContextEndsTheRound(t *testing.T) {
	w := world{groups: []group{{id: "g", max: 5, variants: machine("4")}}, pods: many(1, "p", "1")}
	in := w.in(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	grown := scaleup.Grow(ctx, in, w.choose(t), func(context.Context, []report.Resize) ([]report.ResizeOutcome, error) {
		t.Error("the cloud was asked")
		return nil, nil
	})
	if grown.Result != report.ScaleUpError || !errors.Is(grown.Err, context.Canceled) || in.Snapshot.Depth() != 0 {
		t.Errorf("got %s, %v, %d open forks", grown.Result, grown.Err, in.Snapshot.Depth())
	}
}

// mixed is a group of three machine types (C26).
func mixed(max int) group {
	variant := func(name string) simtest.NodeBuilder {
		return simtest.Node("cloud-"+name).CPU("2").Label(corev1.LabelInstanceTypeStable, name)
	}
	return group{id: "mix", max: max, variants: []simtest.NodeBuilder{variant("k1"), variant("k2"), variant("k3")}}
}

func TestAPodThatOnlySomeVariantsFitGetsOneAttempt(t *testing.T) {
	wish := pod("p", "1").NodeSelector(corev1.LabelInstanceTypeStable, "k2")
	w := world{groups: []group{mixed(5)}, pods: []simtest.PodBuilder{wish, pod("any", "2"), pod("none", "1").NodeSelector(corev1.LabelInstanceTypeStable, "k9")}}
	first := w.grow(t)
	if diff := cmp.Diff([]string{"mix 0->2"}, sizes(first)); diff != "" {
		t.Error(diff)
	}
	want := map[string]string{
		"p": "Triggered by mix; NotGuaranteed", "any": "Triggered by mix", "none": "Unschedulable; mix: node(s) didn't match Pod's node affinity/selector",
	}
	if diff := cmp.Diff(want, verdicts(first)); diff != "" {
		t.Error(diff)
	}
	until := first.Pods[0].Own.(report.NotGuaranteed).Until
	if !until.Equal(now.Add(30 * time.Minute)) {
		t.Errorf("the next attempt is allowed at %s, want half an hour later", until)
	}
	w.pods = []simtest.PodBuilder{wish}
	w.attempts = map[scaleup.Attempt]time.Time{{Pod: "pod-default-p", Group: "mix"}: until}
	second := w.grow(t)
	if len(second.Outcomes) > 0 {
		t.Errorf("a second attempt was made: %v", sizes(second))
	}
	if diff := cmp.Diff([]report.GroupVerdict{{Group: "mix", Reason: report.NotGuaranteed{Until: until}}}, second.Pods[0].Groups); diff != "" {
		t.Error(diff)
	}
	w.attempts = map[scaleup.Attempt]time.Time{{Pod: "pod-default-p", Group: "mix"}: now}
	if third := w.grow(t); len(third.Outcomes) != 1 {
		t.Error("no attempt was made after the half hour")
	}
	w.attempts = map[scaleup.Attempt]time.Time{{Pod: "pod-default-any", Group: "mix"}: until}
	w.pods = []simtest.PodBuilder{pod("any", "1")}
	if fourth := w.grow(t); len(fourth.Outcomes) != 1 {
		t.Error("a pod that fits all variants was refused because of an attempt")
	}
}

func TestOfDifferentVariantsTheSmallestIsReckonedWith(t *testing.T) {
	w := world{
		groups: []group{{id: "g", max: 9, variants: []simtest.NodeBuilder{simtest.Node("a").Zone("a").CPU("8"), simtest.Node("b").Zone("b").CPU("2")}}},
		pods:   many(4, "p", "1"),
	}
	if diff := cmp.Diff([]string{"g 0->2"}, sizes(w.grow(t))); diff != "" {
		t.Error(diff)
	}
	w.pods = []simtest.PodBuilder{pod("big", "6")}
	if diff := cmp.Diff(map[string]string{"big": "Triggered by g; NotGuaranteed"}, verdicts(w.grow(t))); diff != "" {
		t.Error(diff)
	}
}

func TestNodesWithAcceleratorsThatNobodyCanCountAreTold(t *testing.T) {
	// V09
	w := world{groups: []group{{id: "g", max: 9, variants: machine("4")}}, pods: many(1, "p", "4"), limits: map[string]int64{"t4": 1}}
	w = w.on("", simtest.Node("odd").Label(gpuLabel, "t4").CPU("1"), "1")
	grown := w.grow(t)
	if diff := cmp.Diff([]string{"odd"}, grown.UncountedGPUs); diff != "" || grown.Result != report.ScaleUpSuccessful {
		t.Errorf("%s: %s", grown.Result, diff)
	}
}

func TestTheOrderOfTheInputsDoesNotMatter(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := randomWorld(r)
		first := w.grow(t)
		r.Shuffle(len(w.nodes), func(i, j int) { w.nodes[i], w.nodes[j] = w.nodes[j], w.nodes[i] })
		r.Shuffle(len(w.running), func(i, j int) { w.running[i], w.running[j] = w.running[j], w.running[i] })
		if diff := cmp.Diff(first, w.grow(t)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func randomWorld(r *rand.Rand) world {
	w := world{limits: map[string]int64{"cpu": int64(20 + r.IntN(60))}, maxNodes: 15 * r.IntN(2), expanders: []config.Expander{config.ExpanderRandom}}
	for i := range 1 + r.IntN(4) {
		g := group{id: cloudprovider.GroupID(fmt.Sprintf("g%d", i)), max: 1 + r.IntN(8), variants: machine(fmt.Sprint(1 + r.IntN(8))), atomic: r.IntN(5) == 0}
		g.target = r.IntN(g.max + 1)
		if g.atomic {
			g.target = 0
		}
		g.min = r.IntN(g.max + 1)
		w.groups = append(w.groups, g)
		for n := range g.target {
			w = w.on(g.id, simtest.Node(fmt.Sprintf("%s-%d", g.id, n)).CPU("2"), "1500m")
		}
	}
	for i := range 1 + r.IntN(5) {
		w.pods = append(w.pods, many(1+r.IntN(9), fmt.Sprintf("p%d", i), fmt.Sprintf("%dm", 200+r.IntN(4000)))...)
	}
	return w
}

// TestNoLimitIsEverPassed is invariant 3 for growth.
func TestNoLimitIsEverPassed(t *testing.T) {
	bought := 0
	for seed := range uint64(150) {
		w := randomWorld(rand.New(rand.NewPCG(seed, 9)))
		in := w.in(t)
		grown := scaleup.Grow(t.Context(), in, w.choose(t), w.act)
		raised, _ := w.act(t.Context(), scaleup.MinSizes(after(in, grown), grown))
		grown.Outcomes = append(grown.Outcomes, raised...)
		nodes, cores := len(w.nodes), int64(0)
		for _, n := range w.nodes {
			cores += n.Status.Capacity.Cpu().Value()
		}
		for _, o := range grown.Outcomes {
			bought += o.Granted
			nodes += o.Granted
			cores += int64(o.Granted) * in.Templates[o.Group].Variants[0].Node.Status.Capacity.Cpu().Value()
			if o.To > o.Max || o.To <= o.From {
				t.Fatalf("seed %d: %s is resized from %d to %d, its maximum is %d", seed, o.Group, o.From, o.To, o.Max)
			}
		}
		if len(grown.Outcomes) > 0 && ((w.maxNodes > 0 && nodes > w.maxNodes) || cores > w.limits["cpu"]) {
			t.Fatalf("seed %d: %d nodes of %d and %d cores of %d after %v", seed, nodes, w.maxNodes, cores, w.limits["cpu"], sizes(grown))
		}
	}
	if bought < 150 {
		t.Errorf("only %d nodes were bought in all: the worlds prove little", bought)
	}
}

// after is the input as it is once the outcomes have reached the state.
func after(in scaleup.In, grown report.ScaleUp) scaleup.In {
	in.State.Groups = slices.Clone(in.State.Groups)
	for _, o := range grown.Outcomes {
		for i := range in.State.Groups {
			if in.State.Groups[i].Group == o.Group {
				in.State.Groups[i].Target += o.Granted
			}
		}
	}
	return in
}
