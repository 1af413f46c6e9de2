package scaledown_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

// full lets the group's nodes be candidates however much they are used.
func full(id cloudprovider.GroupID) map[cloudprovider.GroupID]func(*observation.GroupOptions) {
	return map[cloudprovider.GroupID]func(*observation.GroupOptions){id: anything}
}

func TestWhichNodesAreUnneeded(t *testing.T) {
	none := func(names ...string) map[string]cloudprovider.GroupID {
		out := map[string]cloudprovider.GroupID{}
		for _, name := range names {
			out[name] = ""
		}
		return out
	}
	spread := func(name, on string, change func(*corev1.TopologySpreadConstraint)) simtest.PodBuilder {
		return pod(name, "100m", on).Label("app", "s").Spread(corev1.LabelHostname, 1, "app", "s").With(func(p *corev1.Pod) {
			change(&p.Spec.TopologySpreadConstraints[0])
		})
	}
	spreadWorld := func(change func(*corev1.TopologySpreadConstraint)) world {
		return world{
			nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "1000m")},
			pods:  []simtest.PodBuilder{spread("a", "n1", change), spread("b", "n2", change), spread("c", "n3", change)},
		}
	}
	honor := corev1.NodeInclusionPolicyHonor
	for name, test := range map[string]struct {
		world world
		want  string
		codes map[string]report.Code // of some nodes
	}{
		"SD074: three empty nodes": {
			world: world{nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "1000m")}},
			want:  "n1 n2 n3",
		},
		"SD075: a node alone with a pod": {
			world: world{nodes: []simtest.NodeBuilder{node("n1", "1000m")}, pods: []simtest.PodBuilder{pod("p", "500m", "n1")}},
			codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods},
		},
		"SD076: the only other node is being removed": {
			world: world{
				nodes:     []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m").Taint(taints.ToBeDeleted, unix(start), corev1.TaintEffectNoSchedule)},
				pods:      []simtest.PodBuilder{pod("p", "500m", "n1"), pod("q", "500m", "n1")},
				options:   full("g"),
				deletions: []observation.Deletion{{Node: "n2", Group: "g", Since: start}},
			},
			codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods, "n2": report.CodeDeletionInProgress},
		},
		"SD077: what a node received has to be moved on": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m")},
				pods:    []simtest.PodBuilder{pod("a", "400m", "n1"), pod("b", "400m", "n1"), pod("c", "100m", "n2")},
				options: full("g"),
			},
			want: "n1", codes: map[string]report.Code{"n2": report.CodeNoPlaceToMovePods},
		},
		"SD078: an empty node is set aside before another could move its pods there": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m")},
				pods:    []simtest.PodBuilder{pod("p", "500m", "n1"), pod("q", "500m", "n1")},
				options: full("g"),
			},
			want: "n2", codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods},
		},
		"SD079: pods too large for the room elsewhere": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "2000m"), node("n2", "1000m"), node("n3", "500m")},
				pods:    []simtest.PodBuilder{pod("a", "1000m", "n1"), pod("b", "1000m", "n1"), pod("c", "1000m", "n2")},
				options: full("g"), groupOf: none("n3"),
			},
		},
		"SD080: room for the pods of two nodes": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "2000m")},
				pods: []simtest.PodBuilder{
					pod("a", "500m", "n1"), pod("b", "500m", "n1"), pod("c", "500m", "n2"), pod("d", "500m", "n2"),
				},
				options: full("g"), groupOf: none("n3"),
			},
			want: "n1 n2",
		},
		"SD081: room for the pods of the second node only": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "2000m"), node("n2", "1000m"), node("n3", "1000m")},
				pods: []simtest.PodBuilder{
					pod("a", "1000m", "n1"), pod("b", "1000m", "n1"), pod("c", "500m", "n2"), pod("d", "500m", "n2"),
				},
				options: full("g"), groupOf: none("n3"),
			},
			want: "n2",
		},
		"SD082: too little room for any node's pods": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "500m")},
				pods: []simtest.PodBuilder{
					pod("a", "500m", "n1"), pod("b", "500m", "n1"), pod("c", "500m", "n2"), pod("d", "500m", "n2"),
				},
				options: full("g"), groupOf: none("n3"),
			},
		},
		"two idle nodes and room for one move": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "4000m"), node("n2", "4000m"), node("n3", "4000m")},
				pods: []simtest.PodBuilder{
					pod("a", "1500m", "n1"), pod("b", "1500m", "n1"), pod("c", "900m", "n2"), pod("d", "900m", "n3"),
				},
			},
			want: "n2", codes: map[string]report.Code{"n1": report.CodeNotUnderutilized, "n3": report.CodeNoPlaceToMovePods},
		},
		"the same with both idle nodes cordoned": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "4000m"), node("n2", "4000m").Cordoned(), node("n3", "4000m").Cordoned()},
				pods: []simtest.PodBuilder{
					pod("a", "1500m", "n1"), pod("b", "1500m", "n1"), pod("c", "900m", "n2"), pod("d", "900m", "n3"),
				},
			},
			want: "n2",
		},
		"SD083: the search stops when its time is used up": {
			world: world{nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "1000m")}, budget: &budget{left: 1}},
			want:  "n1", codes: map[string]report.Code{"n2": report.CodeNotReached, "n3": report.CodeNotReached},
		},
		"SD087: two nodes whose pods share a budget of one": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("n3", "4000m")},
				pods:    []simtest.PodBuilder{pod("a", "100m", "n1").Label("app", "x"), pod("b", "100m", "n2").Label("app", "x")},
				groupOf: none("n3"), pdbs: []*policyv1.PodDisruptionBudget{pdb("x", "x", 1)},
			},
			want: "n1", codes: map[string]report.Code{"n2": report.CodeBlockedByPod},
		},
		"SD203: what a node received is judged again, with the budget used up": {
			world: world{
				nodes: []simtest.NodeBuilder{node("a", "1000m"), node("b", "1000m"), node("c", "1000m")},
				pods: []simtest.PodBuilder{
					pod("p", "100m", "a").Label("app", "x"), pod("q", "100m", "b"), pod("r", "100m", "c"),
				},
				pdbs: []*policyv1.PodDisruptionBudget{pdb("x", "x", 1)},
			},
			want: "a c", codes: map[string]report.Code{"b": report.CodeBlockedByPod},
		},
		"SD090: a hard spread over hosts counts the ghost": {
			world: spreadWorld(func(*corev1.TopologySpreadConstraint) {}),
			codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods},
		},
		"SD091: a hard spread that honours taints does not": {
			world: spreadWorld(func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = &honor }),
			want:  "n1 n2",
		},
		"SD205: a cordoned node takes nothing, even from pods that tolerate it": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m").Cordoned()},
				pods: []simtest.PodBuilder{pod("p", "100m", "n1").With(func(p *corev1.Pod) {
					p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				})},
				groupOf: none("n2"),
			},
			codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods},
		},
		"SD092: an upcoming node takes nothing": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "1000m")}, pods: []simtest.PodBuilder{pod("p", "100m", "n1")},
				upcoming: []simtest.NodeBuilder{node("up-0", "4000m")},
			},
			codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods},
		},
		"SD093: a node of no group takes pods in": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m")}, pods: []simtest.PodBuilder{pod("p", "100m", "n1")},
				groupOf: none("n2"),
			},
			want: "n1", codes: map[string]report.Code{"n2": report.CodeNotAutoscaled},
		},
		"SD204: an unready node with the taint takes nothing": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m").NotReady(start)},
				pods:    []simtest.PodBuilder{pod("p", "100m", "n1")},
				groupOf: none("n2"),
			},
			codes: map[string]report.Code{"n1": report.CodeNoPlaceToMovePods},
		},
		"SD204: an unready node without the taint takes pods in": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m").Condition(corev1.NodeReady, corev1.ConditionFalse, start)},
				pods:    []simtest.PodBuilder{pod("p", "100m", "n1")},
				groupOf: none("n2"),
			},
			want: "n1",
		},
		"SD094: a node with nothing but a pod that has to end by itself is unneeded": {
			world: world{
				nodes: []simtest.NodeBuilder{node("n1", "1000m")},
				pods:  []simtest.PodBuilder{bare("p", "100m", "n1").Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion")},
			},
			want: "n1",
		},
		"budgets that cannot be read keep nodes with pods, not empty ones": {
			world: world{
				nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("z", "1000m")},
				pods:    []simtest.PodBuilder{pod("p", "100m", "n1")},
				groupOf: none("z"),
				seen: func(o *observation.Observation) {
					o.Features = []observation.Feature{{Name: "poddisruptionbudgets.policy", Err: cmpErr("forbidden")}}
				},
			},
			want: "n2", codes: map[string]report.Code{"n1": report.CodeUnexpectedError},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, newPlanner(t, defaults()), test.world, start)
			if got := unneeded(p); got != test.want {
				t.Errorf("unneeded: got %q, want %q\n%v", got, test.want, verdicts(p))
			}
			all := codes(p)
			for name, want := range test.codes {
				if all[name] != want {
					t.Errorf("verdict of %s: got %s, want %s", name, all[name], want)
				}
			}
		})
	}
}

type cmpErr string

func (e cmpErr) Error() string { return string(e) }

func TestAVerdictNamesTheNearestNode(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("n1", "4000m"), node("far", "1000m"), node("near", "1000m"), node("other", "8000m").Taint("k", "v", corev1.TaintEffectNoSchedule)},
		pods: []simtest.PodBuilder{
			pod("p", "1900m", "n1"), pod("x", "900m", "far"), pod("y", "100m", "near"),
		},
		groupOf: map[string]cloudprovider.GroupID{"far": "", "near": "", "other": ""},
	}
	got := verdicts(plan(t, newPlanner(t, defaults()), w, start))["n1"]
	want := report.NoPlaceToMovePods{
		Pod: report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}, Nearest: "near",
		Lacks: &simulator.Rejection{
			Filter: simulator.InsufficientResource, Plugin: "NodeResourcesFit", Reasons: []string{"Insufficient cpu"}, Unresolvable: true,
			Short: []simulator.Shortage{{Resource: corev1.ResourceCPU, Asked: 1900, Offered: 900}},
		},
	}
	if diff := cmp.Diff(report.Reason(want), got); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestABlockedNodeNamesPodAndBudget(t *testing.T) {
	w := world{
		nodes:   []simtest.NodeBuilder{node("n1", "1000m"), node("z", "1000m")},
		pods:    []simtest.PodBuilder{pod("p", "100m", "n1").Label("app", "x")},
		groupOf: map[string]cloudprovider.GroupID{"z": ""}, pdbs: []*policyv1.PodDisruptionBudget{pdb("guard", "x", 0)},
	}
	want := report.BlockedByPod{Pod: report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}, Why: "NotEnoughPdb", PDB: "default/guard"}
	if diff := cmp.Diff(report.Reason(want), verdicts(plan(t, newPlanner(t, defaults()), w, start))["n1"]); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

// SD088, SD089, SD117.
func TestDrainedNodesWhoseBudgetsAllowAllPodsAtOnceGoFirst(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("a", "1000m"), node("b", "1000m"), node("c", "1000m"), node("z", "8000m")},
		pods: []simtest.PodBuilder{
			pod("a1", "500m", "a").Label("app", "a"), pod("a2", "500m", "a").Label("app", "a"), pod("b1", "1000m", "b"),
			pod("c1", "500m", "c").Label("app", "c"), pod("c2", "500m", "c").Label("app", "c"),
		},
		groupOf: map[string]cloudprovider.GroupID{"z": ""},
		pdbs:    []*policyv1.PodDisruptionBudget{pdb("a", "a", 1), pdb("c", "c", 1)},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": both},
	}
	options := defaults()
	options.ScaleDown.MaxDrainParallelism = 5
	if got := going(plan(t, newPlanner(t, options), w, start)); got != "/b a c" {
		t.Errorf("got %q, want the nodes that are not risky first", got)
	}
	w.pdbs = []*policyv1.PodDisruptionBudget{pdb("a", "a", 2), pdb("c", "c", 1)}
	if got := going(plan(t, newPlanner(t, options), w, start)); got != "/a b c" {
		t.Errorf("got %q, want a node whose budget suffices to count as not risky", got)
	}
}

func TestAPodReturnsToWhereItFittedBefore(t *testing.T) {
	w := world{
		nodes:   []simtest.NodeBuilder{node("a", "1000m"), node("x", "1000m"), node("y", "1000m"), node("z", "1000m")},
		pods:    []simtest.PodBuilder{pod("p", "100m", "a"), pod("full-x", "1000m", "x"), pod("full-y", "1000m", "y")},
		groupOf: map[string]cloudprovider.GroupID{"x": "", "y": "", "z": ""},
	}
	planner := newPlanner(t, defaults())
	var got []string
	goes := func(planner *scaledown.Planner, at time.Time) {
		plan(t, planner, w, at)
		for _, to := range planner.Save().Hints {
			got = append(got, to)
		}
	}
	goes(planner, start)
	w.pods = w.pods[:1] // now it would fit on x, which comes first
	goes(planner, start.Add(10*time.Second))
	goes(newPlanner(t, defaults()), start) // another planner remembers nothing of it
	if diff := cmp.Diff([]string{"z", "z", "x"}, got); diff != "" {
		t.Errorf("where the pod goes (-want +got):\n%s", diff)
	}
}
