package scaledown_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func TestANodeGoesWhenItsTimeIsOver(t *testing.T) {
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}}
	unready := world{nodes: []simtest.NodeBuilder{node("n", "1000m").NotReady(start)}}
	for name, test := range map[string]struct {
		world  world
		change func(*observation.GroupOptions)
		since  time.Duration
		want   report.Reason // nil: it goes
	}{
		"SD099: its time is over": {idle, func(o *observation.GroupOptions) { o.ScaleDownUnneededTime = 5 * time.Minute }, 10 * time.Minute, nil},
		"SD100: exactly at the end it is not over": {
			idle, nil, 10 * time.Minute, report.NotUnneededLongEnough{Since: start.Add(-10 * time.Minute), Needed: 10 * time.Minute},
		},
		"one second later it is": {idle, nil, 10*time.Minute + time.Second, nil},
		"SD101: an unready node has a time of its own": {
			unready, func(o *observation.GroupOptions) { o.ScaleDownUnreadyTime = 15 * time.Minute }, 10 * time.Minute,
			report.NotUnreadyLongEnough{Since: start.Add(-10 * time.Minute), Needed: 15 * time.Minute},
		},
		"SD102: a node that became unready keeps its timer": {
			unready, nil, 11 * time.Minute, report.NotUnreadyLongEnough{Since: start.Add(-11 * time.Minute), Needed: 20 * time.Minute},
		},
		"SD104: without a time it goes at once": {idle, noWait, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world
			w.options = map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": test.change}
			planner := newPlanner(t, defaults())
			plan(t, planner, idle, start.Add(-test.since))
			p := plan(t, planner, w, start)
			if diff := cmp.Diff(test.want, verdicts(p)["n"]); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if want := map[bool]string{true: "n/", false: "/"}[test.want == nil]; going(p) != want {
				t.Errorf("going: got %q, want %q", going(p), want)
			}
		})
	}
}

// SD103, as amended: the timer of a node whose turn did not come goes on. SD210, SD222.
func TestTimersAreKept(t *testing.T) {
	since := report.NotUnneededLongEnough{Since: start, Needed: 10 * time.Minute}
	later := func(d time.Duration) report.Reason {
		return report.NotUnneededLongEnough{Since: start.Add(d), Needed: 10 * time.Minute}
	}
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m"), node("o", "1000m")}}
	for name, test := range map[string]struct {
		between []func(*world)
		want    report.Reason
	}{
		"over a pause in planning, as while the cluster is unhealthy": {nil, since},
		"over a plan in which the node's turn did not come":           {[]func(*world){func(w *world) { w.budget = &budget{} }}, since},
		"over two such plans": {[]func(*world){
			func(w *world) { w.budget = &budget{} }, func(w *world) { w.budget = &budget{} },
		}, since},
		"over a cool-down": {[]func(*world){func(w *world) { w.young = true }}, since},
		"not over a plan in which the node is used": {[]func(*world){func(w *world) {
			w.pods = []simtest.PodBuilder{pod("p", "900m", "n")}
		}}, later(2 * time.Minute)},
		"not over a plan in which the group is at its minimum": {[]func(*world){func(w *world) {
			w.min = map[cloudprovider.GroupID]int{"g": 2}
		}}, later(2 * time.Minute)},
		"not over a plan in which the node is being removed": {[]func(*world){func(w *world) {
			w.deletions = []observation.Deletion{{Node: "n", Group: "g"}}
		}}, later(2 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			planner := newPlanner(t, defaults())
			plan(t, planner, idle, start)
			for i, change := range test.between {
				w := idle
				change(&w)
				plan(t, planner, w, start.Add(time.Duration(i+1)*10*time.Second))
			}
			if diff := cmp.Diff(test.want, verdicts(plan(t, planner, idle, start.Add(2*time.Minute)))["n"]); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeThatWasNotReachedDoesNotGo(t *testing.T) {
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}}
	planner := newPlanner(t, defaults())
	plan(t, planner, idle, start)
	idle.budget = &budget{}
	p := plan(t, planner, idle, start.Add(time.Hour))
	if got := going(p); got != "/" || codes(p)["n"] != report.CodeNotReached {
		t.Errorf("going %q, verdict %v; want the node kept as not reached", got, verdicts(p)["n"])
	}
}

func TestAnotherNodeOfTheSameNameStartsItsOwnTimer(t *testing.T) {
	planner := newPlanner(t, defaults())
	plan(t, planner, world{nodes: []simtest.NodeBuilder{node("n", "1000m")}}, start.Add(-time.Hour))
	p := plan(t, planner, world{nodes: []simtest.NodeBuilder{node("n", "1000m").With(renew)}}, start)
	if diff := cmp.Diff(report.Reason(report.NotUnneededLongEnough{Since: start, Needed: 10 * time.Minute}), verdicts(p)["n"]); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}

func TestTimersSurviveARestart(t *testing.T) {
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m"), node("o", "1000m")}}
	first := newPlanner(t, defaults())
	plan(t, first, idle, start)
	idle.budget = &budget{left: 1} // the turn of one does not come
	plan(t, first, idle, start.Add(time.Minute))
	want := []scaledown.Timer{{Node: "n", UID: "node-n", Since: start}, {Node: "o", UID: "node-o", Since: start}}
	if diff := cmp.Diff(want, first.Timers()); diff != "" {
		t.Errorf("timers (-want +got):\n%s", diff)
	}
	second := newPlanner(t, defaults())
	second.Restore(first.Timers())
	idle.budget = nil
	if got := going(plan(t, second, idle, start.Add(10*time.Minute+time.Second))); got != "n o/" {
		t.Errorf("going: got %q, want both nodes", got)
	}
}

// SD227, as amended: they are restored.
func TestTimersAreTakenOverFromSoftTaints(t *testing.T) {
	marked := func(name, value string) simtest.NodeBuilder {
		return node(name, "1000m").Taint(taints.DeletionCandidate, value, "PreferNoSchedule")
	}
	nodes := []simtest.NodeBuilder{
		marked("young", unix(start.Add(-11*time.Minute))), marked("old", unix(start.Add(-31*time.Minute))), marked("odd", "x"), node("plain", "1000m"),
	}
	for name, test := range map[string]struct {
		ttl  time.Duration
		want string
	}{
		"those no older than the limit": {30 * time.Minute, "young/"},
		"none without a limit":          {0, "/"},
	} {
		t.Run(name, func(t *testing.T) {
			planner := newPlanner(t, defaults())
			w := world{nodes: nodes}
			planner.RestoreFrom(w.in(t, start).Seen.Nodes, test.ttl, start)
			if got := going(plan(t, planner, w, start)); got != test.want {
				t.Errorf("going: got %q, want %q", got, test.want)
			}
		})
	}
}

// fleet has so many empty nodes e0..., and so many nodes d0... with a pod each that fits on a node of no group.
func fleet(empty, drained int) world {
	w := world{
		groupOf: map[string]cloudprovider.GroupID{"z": ""}, min: map[cloudprovider.GroupID]int{}, target: map[cloudprovider.GroupID]int{},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": both},
	}
	for i := range empty {
		w.nodes = append(w.nodes, node(fmt.Sprintf("e%d", i), "1000m").Memory("10"))
	}
	for i := range drained {
		name := fmt.Sprintf("d%d", i)
		w.nodes = append(w.nodes, node(name, "1000m").Memory("10"))
		w.pods = append(w.pods, pod("p"+name, "1000m", name))
	}
	w.nodes = append(w.nodes, node("z", "100").Memory("10"))
	return w
}

func deletionsIn(group cloudprovider.GroupID, n int) (out []observation.Deletion) {
	for i := range n {
		out = append(out, observation.Deletion{Node: fmt.Sprintf("going-%d", i), Group: group, Since: start})
	}
	return out
}

func TestTheGroupKeepsItsMinimum(t *testing.T) {
	for name, test := range map[string]struct {
		empty, drained, min, target int
		deletions                   []observation.Deletion
		want                        string
		short                       int // verdicts NodeGroupMinSizeReached
	}{
		"SD105: room for all": {3, 2, 1, 10, deletionsIn("g", 2), "e0 e1 e2/d0 d1", 0},
		"SD106: one too many": {3, 5, 1, 10, deletionsIn("g", 2), "e0 e1 e2/d0 d1 d2 d3", 1},
		"SD107: six too many": {3, 5, 1, 5, deletionsIn("g", 2), "e0 e1/", 6},
		"SD209: the cloud has lowered the target already": {
			3, 0, 0, 3, deletionsIn("g", 2), "e0/", 2,
		},
		"removals that the cloud has accepted are not subtracted twice": {
			3, 0, 0, 3, []observation.Deletion{{Node: "x", Group: "g", Accepted: true}, {Node: "y", Group: "g", Accepted: true}}, "e0 e1 e2/", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := fleet(test.empty, test.drained)
			w.min["g"], w.target["g"], w.deletions = test.min, test.target, test.deletions
			options := defaults()
			options.ScaleDown.MaxParallelism, options.ScaleDown.MaxDrainParallelism = 100, 100
			p := plan(t, newPlanner(t, options), w, start)
			if got := going(p); got != test.want {
				t.Errorf("going: got %q, want %q", got, test.want)
			}
			short := 0
			for _, code := range codes(p) {
				if code == report.CodeNodeGroupMinSizeReached {
					short++
				}
			}
			if short != test.short {
				t.Errorf("%d nodes are kept by the minimum, want %d: %v", short, test.short, verdicts(p))
			}
		})
	}
}

// SD143: ten at once, one of them with pods to move, empty ones first.
func TestTheOrdinaryBudgets(t *testing.T) {
	w := fleet(12, 3)
	if got := going(plan(t, newPlanner(t, defaults()), w, start)); got != "e0 e1 e2 e3 e4 e5 e6 e7 e8 e9/" {
		t.Errorf("going %q, want ten empty nodes", got)
	}
	w = fleet(2, 3)
	if got := going(plan(t, newPlanner(t, defaults()), w, start)); got != "e0 e1/d0" {
		t.Errorf("going %q, want the other two and one to drain", got)
	}
}

func TestTheClusterKeepsItsMinimum(t *testing.T) {
	for name, test := range map[string]struct {
		world  world
		limits map[string]int64
		want   string
		kept   report.Reason // of the last node of the group
	}{
		"SD109: the second of three nodes is too many": {
			fleet(1, 1), map[string]int64{"cpu": 101, "memory": 20, "nodes": 2}, "e0/",
			report.MinimalResourceLimitExceeded{Resources: []report.Minimum{
				{Resource: "cpu", Usage: 101, Takes: 1, Min: 101}, {Resource: "memory", Usage: 20, Takes: 10, Min: 20}, {Resource: "nodes", Usage: 2, Takes: 1, Min: 2},
			}},
		},
		"SD110: both of two": {fleet(2, 0), map[string]int64{"cpu": 100, "memory": 10, "nodes": 1}, "e0 e1/", nil},
		"SD111: either of two is too large": {
			world{
				nodes: []simtest.NodeBuilder{node("a", "2"), node("b", "2"), node("z", "1")}, groupOf: map[string]cloudprovider.GroupID{"z": ""},
				options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait},
			},
			map[string]int64{"cpu": 4}, "/", report.MinimalResourceLimitExceeded{Resources: []report.Minimum{{Resource: "cpu", Usage: 5, Takes: 2, Min: 4}}},
		},
		"SD112: the last node":         {fleet(1, 0), map[string]int64{"nodes": 2}, "/", lacks(report.Minimum{Resource: "nodes", Usage: 2, Takes: 1, Min: 2})},
		"a cluster below the minimum":  {fleet(1, 0), map[string]int64{"nodes": 5}, "/", lacks(report.Minimum{Resource: "nodes", Usage: 2, Takes: 1, Min: 5})},
		"a type of GPU":                {gpus(), map[string]int64{"t4": 2}, "e0/", lacks(report.Minimum{Resource: "t4", Usage: 2, Takes: 2, Min: 2})},
		"nothing is limited with zero": {fleet(1, 0), map[string]int64{"cpu": 0}, "e0/", nil},
		"a node that stands for no machine does not count": {
			virtual(), map[string]int64{"nodes": 2}, "/", lacks(report.Minimum{Resource: "nodes", Usage: 2, Takes: 1, Min: 2}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := test.world
			w.limits = test.limits
			p := plan(t, newPlanner(t, defaults()), w, start)
			if got := going(p); got != test.want {
				t.Errorf("going: got %q, want %q\n%v", got, test.want, verdicts(p))
			}
			last := w.nodes[len(w.nodes)-2].Build().Name
			if diff := cmp.Diff(test.kept, verdicts(p)[last]); diff != "" {
				t.Errorf("verdict of %s (-want +got):\n%s", last, diff)
			}
		})
	}
}

func lacks(resource report.Minimum) report.Reason {
	return report.MinimalResourceLimitExceeded{Resources: []report.Minimum{resource}}
}

func gpus() world {
	w := fleet(2, 0)
	for i := range 2 {
		w.nodes[i] = w.nodes[i].Label("gpu", "t4").Resource("nvidia.com/gpu", "2")
	}
	w.seen = func(o *observation.Observation) { o.GPULabel = "gpu" }
	return w
}

func virtual() world {
	w := fleet(1, 0)
	w.nodes = append([]simtest.NodeBuilder{node("a", "1").Label("type", "virtual-kubelet")}, w.nodes...)
	w.groupOf["a"] = ""
	return w
}

func TestSizesOfNodesFollowTheFirstOfTheGroup(t *testing.T) {
	w := world{
		nodes:   []simtest.NodeBuilder{node("a", "2"), node("b", "8")},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait}, limits: map[string]int64{"cpu": 3},
		pods: []simtest.PodBuilder{bare("p", "100m", "b")},
	}
	if got := codes(plan(t, newPlanner(t, defaults()), w, start))["a"]; got != report.CodeMinimalResourceLimitExceeded {
		t.Errorf("SD230: got %q, want the small node in front to stand for both", got)
	}
	w.nodes = []simtest.NodeBuilder{node("a", "8"), node("b", "2")}
	w.pods = []simtest.PodBuilder{bare("p", "100m", "a")}
	if got := going(plan(t, newPlanner(t, defaults()), w, start)); got != "b/" {
		t.Errorf("SD230: got %q, want the big node in front to stand for both", got)
	}
}

func TestAPodThatHasToEndKeepsItsNode(t *testing.T) {
	ending := func(name, on string) simtest.PodBuilder {
		return bare(name, "100m", on).Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion")
	}
	w := world{
		nodes: []simtest.NodeBuilder{node("n", "1000m"), node("m", "1000m"), node("z", "1000m")},
		pods:  []simtest.PodBuilder{ending("p", "n"), ending("q", "m"), pod("r", "100m", "m")}, groupOf: map[string]cloudprovider.GroupID{"z": ""},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait},
	}
	p := plan(t, newPlanner(t, defaults()), w, start)
	if unneeded(p) != "n m" || going(p) != "/" {
		t.Errorf("SD113: unneeded %q, going %q, want both unneeded and none going", unneeded(p), going(p))
	}
	want := report.BlockedByOnCompletionPod{Pod: report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}}
	if diff := cmp.Diff(report.Reason(want), verdicts(p)["n"]); diff != "" {
		t.Errorf("SD113: verdict (-want +got):\n%s", diff)
	}
	w = world{
		nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m")}, pods: []simtest.PodBuilder{ending("p", "n1")},
		min: map[cloudprovider.GroupID]int{"g": 1}, options: w.options,
	}
	p = plan(t, newPlanner(t, defaults()), w, start)
	if going(p) != "n2/" || codes(p)["n1"] != report.CodeBlockedByOnCompletionPod {
		t.Errorf("SD208, as amended: going %q, verdicts %v; want that the node that waits takes nothing from the other one", going(p), verdicts(p))
	}
	w = world{
		nodes: []simtest.NodeBuilder{node("n1", "1000m"), node("n2", "1000m"), node("z", "1000m")}, groupOf: map[string]cloudprovider.GroupID{"z": ""},
		pods: []simtest.PodBuilder{ending("p", "n1"), ending("q", "n1"), pod("r", "100m", "n1"), pod("s", "100m", "n2")},
		min:  map[cloudprovider.GroupID]int{"g": 1}, options: w.options,
	}
	p = plan(t, newPlanner(t, defaults()), w, start)
	want.More = 1
	if diff := cmp.Diff(report.Reason(want), verdicts(p)["n1"]); diff != "" || going(p) != "/n2" {
		t.Errorf("SD208, nodes to drain: going %q, verdict (-want +got):\n%s", going(p), diff)
	}
}

func TestAGroupThatGoesAsAWhole(t *testing.T) {
	atomicFleet := func(empty, drained, target int) world {
		w := fleet(empty, drained)
		w.target["g"], w.options["g"] = target, atomic
		return w
	}
	busy := func(w world) world {
		w.nodes = append([]simtest.NodeBuilder{node("busy", "1000m")}, w.nodes...)
		w.pods = append(w.pods, bare("b", "100m", "busy"))
		return w
	}
	for name, test := range map[string]struct {
		world world
		want  string
	}{
		"SD114: not while some of it must stay":      {busy(busy2(atomicFleet(1, 0, 3))), "/"},
		"SD115: all of it, empty or not":             {atomicFleet(2, 1, 3), "e0 e1/d0"},
		"SD116: all that is registered":              {atomicFleet(1, 1, 3), "e0/d0"},
		"SD098: however many they are":               {atomicFleet(100, 0, 100), names("e", 100) + "/"},
		"not in part, if one waits for a pod to end": {waiting(atomicFleet(2, 0, 2)), "/"},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.ScaleDown.MaxDrainParallelism = 5
			p := plan(t, newPlanner(t, options), test.world, start)
			if got := going(p); len(strings.Fields(got)) != len(strings.Fields(test.want)) || len(got) < 50 && got != test.want {
				t.Errorf("going: got %q, want %q\n%v", got, test.want, verdicts(p))
			}
			for _, c := range p.Empty {
				if !c.Atomic {
					t.Errorf("%s is not marked as going as a whole", c.Removal.Node)
				}
			}
		})
	}
}

func busy2(w world) world {
	w.nodes = append([]simtest.NodeBuilder{node("busy2", "1000m")}, w.nodes...)
	w.pods = append(w.pods, bare("b2", "100m", "busy2"))
	return w
}

func waiting(w world) world {
	w.pods = append(w.pods, bare("w", "100m", "e0").Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion"))
	return w
}

func names(prefix string, n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return strings.Join(out, " ")
}

func TestCoolDowns(t *testing.T) {
	idle := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}, options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait}}
	for name, test := range map[string]struct {
		state func(*clusterstate.State)
		young bool
		want  *report.CoolDown
	}{
		"none": {},
		"SD173: after a scale-up": {
			state: func(s *clusterstate.State) { s.LastScaleUp = start.Add(-10*time.Minute + time.Second) },
			want:  &report.CoolDown{StartedBy: "scale-up", Until: start.Add(time.Second)},
		},
		"SD173: exactly at its end there is none": {state: func(s *clusterstate.State) { s.LastScaleUp = start.Add(-10 * time.Minute) }},
		"after a failure": {
			state: func(s *clusterstate.State) { s.LastFailure = start.Add(-time.Minute) },
			want:  &report.CoolDown{StartedBy: "failure", Until: start.Add(2 * time.Minute)},
		},
		"SD175: after a deletion": {
			state: func(s *clusterstate.State) { s.LastDeletion = start.Add(-time.Minute) },
			want:  &report.CoolDown{StartedBy: "deletion", Until: start.Add(4 * time.Minute)},
		},
		"the nodes that began it are told": {
			state: func(s *clusterstate.State) { s.LastDeletion, s.DeletionOf = start, "n1 and 2 more" },
			want:  &report.CoolDown{StartedBy: "deletion of n1 and 2 more", Until: start.Add(5 * time.Minute)},
		},
		"so is the error": {
			state: func(s *clusterstate.State) { s.LastFailure, s.FailureBy = start, "tainting node n1: denied" },
			want:  &report.CoolDown{StartedBy: "failure: tainting node n1: denied", Until: start.Add(3 * time.Minute)},
		},
		"the longest of several is told": {
			state: func(s *clusterstate.State) {
				s.LastScaleUp, s.LastFailure, s.LastDeletion = start.Add(-time.Minute), start, start
			},
			want: &report.CoolDown{StartedBy: "scale-up", Until: start.Add(9 * time.Minute)},
		},
		"SD177: while pods are too young": {young: true, want: &report.CoolDown{StartedBy: "young pods", Until: start}},
	} {
		t.Run(name, func(t *testing.T) {
			w := idle
			w.state, w.young = test.state, test.young
			options := defaults()
			options.ScaleDown.DelayAfterDelete = 5 * time.Minute
			p := plan(t, newPlanner(t, options), w, start)
			if diff := cmp.Diff(test.want, p.CoolDown); diff != "" {
				t.Errorf("cool-down (-want +got):\n%s", diff)
			}
			if test.want == nil {
				if got := going(p); got != "n/" {
					t.Errorf("going: got %q, want n/", got)
				}
				return
			}
			if diff := cmp.Diff(report.Reason(*test.want), verdicts(p)["n"]); diff != "" || going(p) != "/" || unneeded(p) != "n" {
				t.Errorf("going %q, unneeded %q, verdict (-want +got):\n%s", going(p), unneeded(p), diff)
			}
		})
	}
}

func TestACoolDownConcernsOnlyItsGroupIfTheOperatorSaysSo(t *testing.T) {
	w := world{
		nodes:   []simtest.NodeBuilder{node("c1", "1000m"), node("d1", "1000m"), node("d2", "1000m")},
		groupOf: map[string]cloudprovider.GroupID{"c1": "cheap", "d1": "dear", "d2": "dear"},
		state: func(s *clusterstate.State) {
			s.LastScaleUp, s.Groups[0].LastScaleUp = start, start
		},
	}
	idleSince := []scaledown.Timer{{Node: "d1", Since: start.Add(-20 * time.Minute)}, {Node: "d2", Since: start.Add(-20 * time.Minute)}}
	local := defaults()
	local.ScaleDown.DelayTypeLocal = true
	planner := newPlanner(t, local)
	planner.Restore(idleSince)
	p := plan(t, planner, w, start)
	pause := report.CoolDown{StartedBy: "scale-up of cheap", Until: start.Add(10 * time.Minute)}
	if diff := cmp.Diff(report.Reason(pause), verdicts(p)["c1"]); diff != "" || going(p) != "d1 d2/" || p.CoolDown != nil {
		t.Errorf("local: going %q, cool-down %v, verdict of c1 (-want +got):\n%s", going(p), p.CoolDown, diff)
	}
	planner = newPlanner(t, defaults())
	planner.Restore(idleSince)
	p = plan(t, planner, w, start)
	if diff := cmp.Diff(report.Reason(pause), verdicts(p)["d1"]); diff != "" || going(p) != "/" {
		t.Errorf("global: going %q, verdict of d1 (-want +got):\n%s", going(p), diff)
	}
	if p = plan(t, planner, w, start.Add(10*time.Minute)); going(p) != "d1 d2/" {
		t.Errorf("global, later: going %q, want both", going(p))
	}
}

// SD221, too.
func TestEachLocalPauseHoldsItsGroup(t *testing.T) {
	for name, test := range map[string]struct {
		stamp func(*clusterstate.GroupState, time.Time)
		delay time.Duration
	}{
		"deletion in g":       {func(g *clusterstate.GroupState, at time.Time) { g.LastDeletion = at }, 7 * time.Minute},
		"failure of g":        {func(g *clusterstate.GroupState, at time.Time) { g.LastFailure = at }, 3 * time.Minute},
		"deletion of n1 in g": {func(g *clusterstate.GroupState, at time.Time) { g.LastDeletion, g.DeletionOf = at, "n1" }, 7 * time.Minute},
		"failure of g: n1: denied": {
			func(g *clusterstate.GroupState, at time.Time) { g.LastFailure, g.FailureBy = at, "n1: denied" }, 3 * time.Minute,
		},
		"scale-up of g": {func(g *clusterstate.GroupState, at time.Time) { g.LastScaleUp = at }, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			options.ScaleDown.DelayTypeLocal, options.ScaleDown.DelayAfterDelete = true, 7*time.Minute
			w := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}, state: func(s *clusterstate.State) { test.stamp(&s.Groups[0], start) }}
			planner := newPlanner(t, options)
			want := report.Reason(report.CoolDown{StartedBy: name, Until: start.Add(test.delay)})
			if diff := cmp.Diff(want, verdicts(plan(t, planner, w, start.Add(test.delay-time.Second)))["n"]); diff != "" {
				t.Errorf("before the end (-want +got):\n%s", diff)
			}
			p := plan(t, planner, w, start.Add(test.delay))
			if unneeded(p) != "n" || p.Unneeded[0].Since != start.Add(test.delay) {
				t.Errorf("SD178: at the end unneeded is %v, want a timer that starts then", p.Unneeded)
			}
		})
	}
}

func TestAGroupInTroubleIsNotShrunk(t *testing.T) {
	for name, change := range map[string]func(*world){
		"stale":     func(w *world) { w.seen = func(o *observation.Observation) { o.Groups[0].Stale = cmpErr("throttled") } },
		"suspended": func(w *world) { w.seen = func(o *observation.Observation) { o.Groups[0].Suspended = "Terminate" } },
		"held":      func(w *world) { w.seen = func(o *observation.Observation) { o.Groups[0].Held = "it is being updated" } },
		"set aside": func(w *world) {
			w.state = func(s *clusterstate.State) { s.Groups[0].SetAside = &report.GroupSetAside{Error: "denied"} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}, options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait}}
			change(&w)
			p := plan(t, newPlanner(t, defaults()), w, start)
			if unneeded(p) != "n" || going(p) != "/" || codes(p)["n"] != report.CodeUnexpectedError {
				t.Errorf("unneeded %q, going %q, verdict %v", unneeded(p), going(p), verdicts(p)["n"])
			}
		})
	}
}

func TestAMachineThatIsHeldStaysAndMayTakePodsIn(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("held", "1000m"), node("n", "1000m")}, pods: []simtest.PodBuilder{pod("p", "400m", "n")},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait},
		seen:    func(o *observation.Observation) { o.Groups[0].Instances[0].Held = "it is in standby" },
	}
	p := plan(t, newPlanner(t, defaults()), w, start)
	if going(p) != "/n" || codes(p)["held"] != report.CodeUnexpectedError {
		t.Errorf("going %q, verdict %v", going(p), verdicts(p)["held"])
	}
}

func TestNothingIsMovedToAMachineThatTheCloudIsAboutToEnd(t *testing.T) {
	w := world{
		nodes:   []simtest.NodeBuilder{node("doomed", "1000m"), node("n", "1000m")},
		pods:    []simtest.PodBuilder{pod("p", "400m", "n"), pod("q", "400m", "doomed")},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait},
		seen:    func(o *observation.Observation) { o.Groups[0].Instances[0].Doomed = "it is unhealthy" },
	}
	p := plan(t, newPlanner(t, defaults()), w, start)
	if going(p) != "/doomed" || codes(p)["n"] != report.CodeNoPlaceToMovePods {
		t.Errorf("going %q, verdict %v", going(p), verdicts(p)["n"])
	}
}

func TestWhatARemovalTells(t *testing.T) {
	w := world{
		nodes:   []simtest.NodeBuilder{node("a", "1000m"), node("b", "1000m"), node("u", "1000m").NotReady(start), node("z", "8000m")},
		pods:    []simtest.PodBuilder{pod("p", "400m", "b"), pod("d", "100m", "b").DaemonSet("ds")},
		groupOf: map[string]cloudprovider.GroupID{"z": ""}, options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"g": noWait},
	}
	p := plan(t, newPlanner(t, defaults()), w, start)
	var got []report.Removal
	for _, c := range append(p.Empty, p.Drain...) {
		got = append(got, c.Removal)
	}
	cpu := func(share float64) report.Utilization {
		return report.Utilization{CPU: share, Resource: map[bool]string{true: "cpu", false: "memory"}[share > 0], Highest: share}
	}
	want := []report.Removal{
		{Node: "a", ProviderID: "test:///a", Group: "g", Reason: report.Empty, Utilization: cpu(0)},
		{Node: "u", ProviderID: "test:///u", Group: "g", Reason: report.Unready, Utilization: cpu(0)},
		{
			Node: "b", ProviderID: "test:///b", Group: "g", Reason: report.Underutilized, Drain: true,
			Pods: []report.PodRef{{Namespace: "default", Name: "p", UID: "pod-default-p"}}, Utilization: cpu(0.5),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
}

func TestSoftTaints(t *testing.T) {
	marked := func(name string) simtest.NodeBuilder {
		return node(name, "1000m").Taint(taints.DeletionCandidate, unix(start), "PreferNoSchedule")
	}
	hard := node("hard", "1000m").Taint(taints.ToBeDeleted, unix(start.Add(-time.Hour)), "NoSchedule")
	w := world{
		nodes: []simtest.NodeBuilder{
			node("going", "1000m"), hard, marked("kept"), marked("needed"), node("new", "1000m"), marked("outside"), node("used", "1000m"),
		},
		pods:    []simtest.PodBuilder{bare("p", "900m", "needed"), bare("q", "900m", "used")},
		groupOf: map[string]cloudprovider.GroupID{"outside": "", "going": "fast"},
		options: map[cloudprovider.GroupID]func(*observation.GroupOptions){"fast": noWait},
	}
	p := plan(t, newPlanner(t, defaults()), w, start)
	if diff := cmp.Diff(scaledown.SoftTaint{Add: []string{"new"}, Remove: []string{"needed"}}, p.SoftTaint); diff != "" {
		t.Errorf("soft taints (-want +got):\n%s", diff)
	}
	options := defaults()
	options.SoftTaints.MaxBulkCount = 0
	if diff := cmp.Diff(scaledown.SoftTaint{}, plan(t, newPlanner(t, options), w, start).SoftTaint); diff != "" {
		t.Errorf("soft taints although they are off (-want +got):\n%s", diff)
	}
}

func TestAMarkedNodeWhoseTurnDoesNotComeKeepsItsMark(t *testing.T) {
	w := world{nodes: []simtest.NodeBuilder{node("n", "1000m").Taint(taints.DeletionCandidate, unix(start), "PreferNoSchedule")}}
	planner := newPlanner(t, defaults())
	plan(t, planner, w, start)
	w.budget = &budget{}
	if diff := cmp.Diff(scaledown.SoftTaint{}, plan(t, planner, w, start.Add(time.Minute)).SoftTaint); diff != "" {
		t.Errorf("soft taints (-want +got):\n%s", diff)
	}
}

func TestTheListOfUnneededNodesGrowsByTwiceTheParallelism(t *testing.T) {
	w := fleet(700, 0)
	delete(w.options, "g")
	planner := newPlanner(t, defaults())
	for i := range 33 {
		p := plan(t, planner, w, start.Add(time.Duration(i)*10*time.Second))
		if got, want := len(p.Unneeded), min(20*(i+1), 610); got != want {
			t.Errorf("SD207: plan %d finds %d nodes, want %d", i+1, got, want)
		}
	}
}
