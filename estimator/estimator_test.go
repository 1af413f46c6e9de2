package estimator_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/estimator"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const (
	hostname = corev1.LabelHostname
	zone     = corev1.LabelTopologyZone
)

// template is 2 CPUs and 8 GiB, as the worked cases have it.
func template() simtest.NodeBuilder { return simtest.Node("t").CPU("2").Memory("8Gi") }

// many builds pods of one ReplicaSet.
func many(n int, name string, pod simtest.PodBuilder) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, n)
	for i := range n {
		out = append(out, pod.OwnedBy("ReplicaSet", name).With(func(p *corev1.Pod) {
			p.Name = fmt.Sprintf("%s-%03d", name, i)
			p.UID = ""
		}).Build())
	}
	return out
}

func requesting(cpu, memory string) simtest.PodBuilder { return simtest.Pod("").Requests(cpu, memory) }

// classes are those of the lists, each list for itself.
func classes(pods ...[]*corev1.Pod) []estimator.Class {
	scheduler, err := simulator.NewScheduler(context.Background(), informers.NewSharedInformerFactory(nil, 0), simulator.Options{Parallelism: 1})
	if err != nil {
		panic(err)
	}
	var out []estimator.Class
	for _, list := range pods {
		first := len(out)
		for i, number := range scheduler.Classes(simulator.NewSnapshot(), list) {
			if first+number == len(out) {
				out = append(out, estimator.Class{})
			}
			out[first+number].Pods = append(out[first+number].Pods, list[i])
		}
	}
	return out
}

func shape(node simtest.NodeBuilder) simulator.NodeTemplate {
	return simulator.NodeTemplate{Node: node.Build()}
}

type spent bool

func (s spent) Spent() bool { return bool(s) }

type outcome struct {
	Nodes, Pods int
	Stopped     *report.EstimateLimit
}

func at(nodes int) *report.EstimateLimit { return &report.EstimateLimit{Nodes: nodes} }

func TestEstimate(t *testing.T) {
	app := func(b simtest.PodBuilder) simtest.PodBuilder { return b.Label("app", "a") }
	softSpread := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
	}
	minDomains := func(p *corev1.Pod) {
		three := int32(3)
		p.Spec.TopologySpreadConstraints[0].MinDomains = &three
	}
	for name, tc := range map[string]struct {
		nodes    []*corev1.Node
		running  []*corev1.Pod
		template simtest.NodeBuilder // empty: 2 CPUs and 8 GiB
		pods     [][]*corev1.Pod
		maxNodes int
		budget   spent
		want     outcome
	}{
		"E01: two pods of 700m fill a node of 2 CPUs": {
			pods: [][]*corev1.Pod{many(9, "a", requesting("700m", ""))}, want: outcome{Nodes: 5, Pods: 9},
		},
		"E02: a node takes no more pods than it says": {
			template: template().MaxPods("8"), pods: [][]*corev1.Pod{many(30, "a", requesting("10m", ""))}, want: outcome{Nodes: 4, Pods: 30},
		},
		"E03: each pod needs the host port for itself": {
			pods: [][]*corev1.Pod{many(6, "a", requesting("", "").HostPort(8080))}, want: outcome{Nodes: 6, Pods: 6},
		},
		"E04: the limit of nodes leaves pods over": {
			template: template().CPU("1"), maxNodes: 4, pods: [][]*corev1.Pod{many(15, "a", requesting("400m", ""))},
			want: outcome{Nodes: 4, Pods: 8, Stopped: at(4)},
		},
		"E05: small pods share the nodes of the big ones": {
			pods: [][]*corev1.Pod{many(4, "small", requesting("400m", "")), many(3, "big", requesting("1500m", "1Gi"))},
			want: outcome{Nodes: 4, Pods: 7},
		},
		"E06: at the limit small pods still fill the nodes that are there": {
			pods:     [][]*corev1.Pod{many(4, "small", requesting("400m", "")), many(3, "big", requesting("1500m", "1Gi"))},
			maxNodes: 3, want: outcome{Nodes: 3, Pods: 6, Stopped: at(3)},
		},
		"E07: a hostname spread needs a node for every two pods": {
			nodes: []*corev1.Node{simtest.Node("n").CPU("100m").Build()},
			pods:  [][]*corev1.Pod{many(10, "a", app(requesting("300m", "")).Spread(hostname, 2, "app", "a"))}, want: outcome{Nodes: 5, Pods: 10},
		},
		"E08: a zone spread is not met by more nodes in the same zone": {
			nodes: []*corev1.Node{simtest.Node("n").Zone("a").Build()}, template: template().Zone("b"),
			pods: [][]*corev1.Pod{many(10, "a", app(requesting("10m", "")).Spread(zone, 3, "app", "a"))}, want: outcome{Nodes: 1, Pods: 3},
		},
		"E09: pods go back to an existing node that the new ones made room on, which is not counted": {
			nodes:   []*corev1.Node{simtest.Node("n").CPU("4").Build()},
			running: []*corev1.Pod{app(requesting("100m", "")).With(func(p *corev1.Pod) { p.Name = "running" }).On("n").Build()},
			pods:    [][]*corev1.Pod{many(8, "a", app(requesting("100m", "")).Spread(hostname, 1, "app", "a").With(minDomains))},
			want:    outcome{Nodes: 2, Pods: 8},
		},
		"E10: pods that repel each other on a host need one node each": {
			pods: [][]*corev1.Pod{many(4, "a", app(requesting("", "")).AntiAffinity(hostname, "app", "a"))}, want: outcome{Nodes: 4, Pods: 4},
		},
		"E11: pods that repel each other in a zone get one node of the only zone": {
			template: template().Zone("a"), pods: [][]*corev1.Pod{many(4, "a", app(requesting("", "")).AntiAffinity(zone, "app", "a"))},
			want: outcome{Nodes: 1, Pods: 1},
		},
		"E22: pods that must be together on a host get one node": {
			pods: [][]*corev1.Pod{many(10, "a", app(requesting("500m", "")).Affinity(hostname, "app", "a"))}, want: outcome{Nodes: 1, Pods: 4},
		},
		"E23: a node added in vain for a big pod takes the small ones": {
			pods: [][]*corev1.Pod{many(2, "big", requesting("3", "")), many(3, "small", requesting("500m", ""))}, want: outcome{Nodes: 1, Pods: 3},
		},
		"E23: and does so at the limit": {
			pods:     [][]*corev1.Pod{many(2, "big", requesting("3", "")), many(3, "small", requesting("500m", ""))},
			maxNodes: 1, want: outcome{Nodes: 1, Pods: 3},
		},
		"E17, replaced: many equal pods are packed exactly, whatever --fastpath-binpacking-enabled says": {
			template: template().CPU("1"), pods: [][]*corev1.Pod{many(10, "a", requesting("300m", ""))}, want: outcome{Nodes: 4, Pods: 10},
		},
		"E18, replaced: at the limit, too": {
			template: template().CPU("1"), maxNodes: 3, pods: [][]*corev1.Pod{many(10, "a", requesting("300m", ""))},
			want: outcome{Nodes: 3, Pods: 9, Stopped: at(3)},
		},
		"E19, replaced: none of several kinds is left for the end": {
			template: template().CPU("100m"), pods: [][]*corev1.Pod{many(8, "x", requesting("20m", "")), many(6, "y", requesting("60m", ""))},
			want: outcome{Nodes: 6, Pods: 14},
		},
		"E20, replaced: nor are those that have to be spread": {
			template: template().CPU("100m"), pods: [][]*corev1.Pod{
				many(8, "x", app(requesting("20m", "")).Spread(hostname, 1, "app", "a")), many(6, "y", requesting("60m", "").Label("app", "b").Spread(hostname, 1, "app", "b")),
			},
			want: outcome{Nodes: 6, Pods: 14},
		},
		"E24: a soft spread keeps nothing from sharing a node": {
			pods: [][]*corev1.Pod{many(10, "a", app(requesting("200m", "")).Spread(hostname, 1, "app", "a").With(softSpread))},
			want: outcome{Nodes: 1, Pods: 10},
		},
		"C33: a spread over host names fills the new nodes as it does the old ones": {
			nodes: []*corev1.Node{simtest.Node("h1").Build(), simtest.Node("h2").Build()},
			running: append(placed("h1", many(4, "x", app(requesting("1", "")))),
				placed("h2", many(4, "y", app(requesting("1", ""))))...),
			template: simtest.Node("t").MaxPods("50"),
			pods:     [][]*corev1.Pod{many(12, "a", app(requesting("1", "")).Spread(hostname, 1, "app", "a"))}, want: outcome{Nodes: 3, Pods: 12},
		},
		"no node is allowed": {
			pods: [][]*corev1.Pod{many(3, "a", requesting("1", ""))}, maxNodes: -1, want: outcome{Stopped: at(0)},
		},
		"no time is left": {
			pods: [][]*corev1.Pod{many(3, "a", requesting("1", ""))}, budget: true, want: outcome{Stopped: at(0)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.template == (simtest.NodeBuilder{}) {
				tc.template = template()
			}
			snapshot := simtest.Snapshot(t, tc.nodes, tc.running)
			before := snapshot.Nodes()
			result, err := estimator.Estimate(t.Context(), estimator.In{
				Snapshot: snapshot, Scheduler: simtest.Scheduler(t), Classes: classes(tc.pods...),
				Shapes: []simulator.NodeTemplate{shape(tc.template)}, MaxNodes: tc.maxNodes, Budget: tc.budget,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := outcome{Nodes: len(result.New), Pods: len(result.Pods), Stopped: result.Stopped}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, snapshot.Nodes()); diff != "" || snapshot.Depth() != 0 {
				t.Errorf("the snapshot is not as before, %d forks are open: %s", snapshot.Depth(), diff)
			}
		})
	}
}

func placed(node string, pods []*corev1.Pod) []*corev1.Pod {
	for _, pod := range pods {
		pod.Spec.NodeName = node
	}
	return pods
}

// E21: a limit below zero wins, zero is none.
func TestLowest(t *testing.T) {
	for _, tc := range []struct {
		limits []int
		want   int
	}{
		{[]int{5, -3, 0}, -1}, {[]int{0, 7}, 7}, {[]int{3, 7}, 3}, {[]int{0, 0}, 0}, {nil, 0},
	} {
		if got := estimator.Lowest(tc.limits...); got != tc.want {
			t.Errorf("the lowest of %v is %d, want %d", tc.limits, got, tc.want)
		}
	}
}

func TestNewNodesComeFromTheZonesInTurn(t *testing.T) {
	shapes := []simulator.NodeTemplate{
		shape(simtest.Node("a").Zone("a").CPU("2")), shape(simtest.Node("b").Zone("b").CPU("2")), shape(simtest.Node("c").Zone("c").CPU("2")),
	}
	for name, tc := range map[string]struct {
		pod  simtest.PodBuilder
		pods int
		own  []simulator.NodeTemplate
		want map[string]int
	}{
		"without a wish": {pod: requesting("2", ""), pods: 4, want: map[string]int{"a": 2, "b": 1, "c": 1}},
		"spread over the zones": {
			pod: requesting("500m", "").Label("app", "a").Spread(zone, 1, "app", "a"), pods: 9, want: map[string]int{"a": 1, "b": 1, "c": 1},
		},
		"repelling each other in a zone": {
			pod: requesting("500m", "").Label("app", "a").AntiAffinity(zone, "app", "a"), pods: 5, want: map[string]int{"a": 1, "b": 1, "c": 1},
		},
		"only the zones that fit": {
			pod: requesting("2", ""), pods: 3, own: shapes[1:], want: map[string]int{"b": 2, "c": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := estimator.Estimate(t.Context(), estimator.In{
				Snapshot: simtest.Snapshot(t, nil, nil), Scheduler: simtest.Scheduler(t),
				Classes: []estimator.Class{{Pods: many(tc.pods, "a", tc.pod), Shapes: tc.own}}, Shapes: shapes,
			})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, n := range result.New {
				got[n.Shape]++
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestANodeOfAnotherShapeIsAddedBesideOneThatStayedEmpty(t *testing.T) {
	a, b := shape(simtest.Node("a").Zone("a")), shape(simtest.Node("b").Zone("b"))
	result, err := estimator.Estimate(t.Context(), estimator.In{
		Snapshot: simtest.Snapshot(t, nil, nil), Scheduler: simtest.Scheduler(t),
		Classes: []estimator.Class{
			{Pods: many(1, "big", requesting("6", ""))},
			{Pods: many(1, "small", requesting("1", "").NodeSelector(zone, "b")), Shapes: []simulator.NodeTemplate{b}},
		},
		Shapes: []simulator.NodeTemplate{a},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.New) != 1 || result.New[0].Shape != "b" || len(result.Pods) != 1 {
		t.Errorf("got %+v, want one node of zone b with one pod", result)
	}
}

func TestAnErrorOfOnePodEndsItsClassOnly(t *testing.T) {
	bad, good := many(2, "bad", requesting("1", "")), many(2, "good", requesting("500m", ""))
	result, err := estimator.Estimate(t.Context(), estimator.In{
		Snapshot: simtest.Snapshot(t, nil, nil), Scheduler: breaking{Scheduler: simtest.Scheduler(t), on: "bad"},
		Classes: classes(good, bad), Shapes: []simulator.NodeTemplate{shape(template())},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.New) != 1 || len(result.Pods) != 2 || len(result.Failed) != 1 || result.Failed[1] == nil {
		t.Errorf("got %+v, want one node with the two good pods and an error for class 1", result)
	}
}
