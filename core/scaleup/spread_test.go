package scaleup_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// spreading are pods of one core that may differ by at most one between the zones.
func spreading(n int) []simtest.PodBuilder {
	out := many(n, "p", "1")
	for i := range out {
		out[i] = out[i].Label("app", "p").Spread(corev1.LabelTopologyZone, 1, "app", "p")
	}
	return out
}

// running adds so many of these pods to a node of the zone that has no more room.
func (w world) spreadOn(id cloudprovider.GroupID, pods int) world {
	node := simtest.Node("old-" + string(id)).CPU("4").Memory("8Gi").Zone(string(id))
	w = w.on("", node, "") // of no group, so that the cloud alone says what new machines are like
	for i := range pods {
		w.running = append(w.running, pod("old-"+string(id)+string(rune('0'+i)), "1").Label("app", "p").OwnedBy("ReplicaSet", "p").On("old-"+string(id)).Build())
	}
	return w.fill("old-"+string(id), 4-pods)
}

func (w world) fill(node string, cpus int) world {
	for range cpus {
		w.running = append(w.running, pod(node+"-filler-"+string(rune('0'+len(w.running))), "1").OwnedBy("ReplicaSet", "filler").On(node).Build())
	}
	return w
}

// C34: pods that must be spread over zones need several groups at once.
func TestPodsThatMustBeSpreadOverZonesGrowSeveralGroupsAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		world
		sizes   []string
		waiting int // pods that are not helped
	}{
		"C34: balanced": {
			world: world{groups: []group{zone("a", 1, 20), zone("b", 1, 20)}, pods: spreading(8), balancing: balanced()}.spreadOn("a", 0).spreadOn("b", 0),
			sizes: []string{"a 1->3", "b 1->3"},
		},
		"C34: not balanced, and one after the other": {
			world: world{groups: []group{zone("a", 1, 20), zone("b", 1, 20)}, pods: spreading(8)}.spreadOn("a", 0).spreadOn("b", 0),
			sizes: []string{"a 1->3", "b 1->3"},
		},
		"the zone that has fewer of them gets more": {
			world: world{groups: []group{zone("a", 1, 20), zone("b", 1, 20)}, pods: spreading(8)}.spreadOn("a", 4).spreadOn("b", 0),
			sizes: []string{"b 1->4", "a 1->2"},
		},
		"three zones": {
			world: world{groups: []group{zone("a", 0, 20), zone("b", 0, 20), zone("c", 0, 20)}, pods: spreading(12)}.
				on("", simtest.Node("x").CPU("1").Zone("a"), "1").on("", simtest.Node("y").CPU("1").Zone("b"), "1").on("", simtest.Node("z").CPU("1").Zone("c"), "1"),
			sizes: []string{"a 0->2", "b 0->2", "c 0->2"},
		},
		"a group that is full holds the others back": {
			world: world{groups: []group{zone("a", 1, 2), zone("b", 1, 20)}, pods: spreading(8)}.spreadOn("a", 0).spreadOn("b", 0),
			sizes: []string{"a 1->2", "b 1->3"}, waiting: 3,
		},
		"groups that are not alike are left to themselves": {
			world: world{groups: []group{zone("a", 1, 20), {
				id: "b", target: 1, max: 20, variants: []simtest.NodeBuilder{simtest.Node("cloud").CPU("2").Memory("8Gi").Zone("b").Label("team", "other")},
			}}, pods: spreading(2)}.spreadOn("a", 0).spreadOn("b", 0),
			sizes: []string{"a 1->2"}, waiting: 1,
		},
		"a limit of the cluster cuts the plan": {
			world: world{groups: []group{zone("a", 1, 20), zone("b", 1, 20)}, pods: spreading(8), maxNodes: 4}.spreadOn("a", 0).spreadOn("b", 0),
			sizes: []string{"a 1->2", "b 1->2"}, waiting: 4,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.first = true
			grown := tc.grow(t)
			helped := map[cloudprovider.GroupID]int{}
			waiting := 0
			for _, verdict := range grown.Pods {
				if verdict.Fate != report.PodTriggered {
					waiting++
					continue
				}
				helped[verdict.Grown]++
			}
			if diff := cmp.Diff(tc.sizes, sizes(grown)); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
			if waiting != tc.waiting {
				t.Errorf("%d pods wait, want %d", waiting, tc.waiting)
			}
			for _, outcome := range grown.Outcomes {
				if nodes := outcome.Granted; helped[outcome.Group] < 1 || helped[outcome.Group] > 2*nodes {
					t.Errorf("group %s got %d nodes of 2 cores for %d pods of one", outcome.Group, nodes, helped[outcome.Group])
				}
			}
		})
	}
}

func TestAGroupThatRefusedTakesNoShareOfPodsThatMustBeSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse refusing
		want   []string
	}{
		"the first one refuses":            {refusing{"a": none("a")}, []string{"b 1->2", "c 1->2"}},
		"the one that was chosen refuses":  {refusing{"a": none("a"), "b": none("b")}, []string{"c 1->2"}},
		"none refuses, and each has parts": {nil, []string{"a 1->3", "b 1->3", "c 1->3"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{groups: []group{zone("a", 1, 20), zone("b", 1, 20), zone("c", 1, 20)}, pods: spreading(10), first: true, refuse: tc.refuse}
			w.options.MaxNodesPerScaleUp = 9 // the limit is the same, whoever takes part
			asked := map[cloudprovider.GroupID]int{}
			grown := w.spreadOn("a", 0).spreadOn("b", 0).spreadOn("c", 0).grow(t)
			for _, outcome := range grown.Outcomes {
				if asked[outcome.Group]++; outcome.Err != nil && asked[outcome.Group] > 1 {
					t.Errorf("%s is asked again", outcome.Group)
				}
			}
			if diff := cmp.Diff(tc.want, sizes(grown)); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASalvoHelpsOneKindOfPodsAfterTheOther(t *testing.T) {
	two := world{
		groups: []group{zone("a", 0, 20), zone("b", 0, 20), zone("full", 1, 1)}, first: true,
		pods: append(append(many(2, "p", "1"), pod("q", "1").NodeSelector(corev1.LabelTopologyZone, "b")), pod("r", "1").NodeSelector(corev1.LabelTopologyZone, "c")),
	}
	two.pods[0], two.pods[1] = two.pods[0].NodeSelector(corev1.LabelTopologyZone, "a"), two.pods[1].NodeSelector(corev1.LabelTopologyZone, "a")
	for name, tc := range map[string]struct {
		salvo scaleup.Budget
		want  []string
		q     string
	}{
		"no salvo":                             {want: []string{"a 0->1"}, q: "Awaiting"},
		"R10: both groups grow":                {salvo: spent(false), want: []string{"a 0->1", "b 0->1"}, q: "Triggered by b"},
		"R11: no time makes just one purchase": {salvo: spent(true), want: []string{"a 0->1"}, q: "Awaiting"},
	} {
		t.Run(name, func(t *testing.T) {
			two.salvo = tc.salvo
			grown := two.grow(t)
			if diff := cmp.Diff(tc.want, sizes(grown)); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
			got := verdicts(grown)
			if p, q := got["p-00"], got["q"]; !strings.HasPrefix(p, "Triggered by a;") || !strings.HasPrefix(q, tc.q) {
				t.Errorf("p is %q, q %q, want q %q", p, q, tc.q)
			}
			if !strings.HasPrefix(got["r"], "Unschedulable") {
				t.Errorf("r is %q, want it unschedulable: it fits nowhere", got["r"])
			}
		})
	}
}
