package scaledown_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/simtest"
	"example.com/cluster-autoscaler/simulator/taints"
)

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func TestWhetherANodeIsLookedAt(t *testing.T) {
	spare := node("z", "1000m")
	unready := node("n", "1000m").NotReady(start.Add(-time.Hour))
	taint := func(value string) simtest.NodeBuilder {
		return node("n", "1000m").Taint(taints.ToBeDeleted, value, corev1.TaintEffectNoSchedule)
	}
	deletion := observation.Deletion{Node: "n", Group: "g", Since: start.Add(-time.Minute)}
	for name, test := range map[string]struct {
		node    simtest.NodeBuilder
		pods    []simtest.PodBuilder
		change  func(*world)
		options func(*scaledown.Options)
		want    report.Reason // nil: it is unneeded
	}{
		"SD001: an empty node is": {node: node("n", "1000m")},
		"SD002: a node with a deletion taint of 30 s ago is not": {
			node: taint(unix(start.Add(-30 * time.Second))), want: report.CurrentlyBeingDeleted{Since: start.Add(-30 * time.Second)},
		},
		"SD199: a node with a deletion taint from the future is not": {
			node: taint(unix(start.Add(time.Hour))), want: report.CurrentlyBeingDeleted{Since: start.Add(time.Hour)},
		},
		"SD003: a node with a deletion taint of exactly 5 min ago is": {node: taint(unix(start.Add(-5 * time.Minute)))},
		"SD004: a node with a deletion taint without a time is":       {node: taint("abc")},
		"SD199: a node with an empty deletion taint is":               {node: taint("")},
		"SD005: the annotation forbids it before utilisation does": {
			node: node("n", "1000m").Annotation(scaledown.DisabledAnnotation, "true"), pods: []simtest.PodBuilder{pod("p", "900m", "n")},
			want: report.ScaleDownDisabledAnnotation{},
		},
		"SD006: the annotation must be spelt exactly": {node: node("n", "1000m").Annotation(scaledown.DisabledAnnotation, "True")},
		"SD007: a node used above the threshold is not": {
			node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("p", "600m", "n")},
			want: report.NotUnderutilized{Resource: corev1.ResourceCPU, Got: 0.6, Threshold: 0.5},
		},
		"SD009: a node used little is":                   {node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("p", "100m", "n")}},
		"SD008: a node used exactly at the threshold is": {node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("p", "500m", "n")}},
		"SD010: a node without allocatable is not": {
			node: node("n", "0").Memory("0"), want: report.UnexpectedError{},
		},
		"SD012: an unready empty node is": {node: unready},
		"SD013: an unready node is not if that is off": {
			node: unready, options: func(o *scaledown.Options) { o.ScaleDown.UnreadyEnabled = false }, want: report.ScaleDownUnreadyDisabled{},
		},
		"SD014: an unready node is under the same threshold": {
			node: unready, pods: []simtest.PodBuilder{pod("p", "800m", "n")},
			want: report.NotUnderutilized{Resource: corev1.ResourceCPU, Got: 0.8, Threshold: 0.5},
		},
		"SD015: utilisation is judged before readiness": {
			node: unready.CPU("0").Memory("0"), options: func(o *scaledown.Options) { o.ScaleDown.UnreadyEnabled = false }, want: report.UnexpectedError{},
		},
		"SD016: a group has a threshold of its own": {
			node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("p", "650m", "n")},
			change: func(w *world) {
				w.options = map[cloudprovider.GroupID]func(*observation.GroupOptions){
					"g": func(o *observation.GroupOptions) { o.ScaleDownUtilizationThreshold = 0.7 },
				}
			},
		},
		"SD018: pods of DaemonSets count": {
			node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("d", "500m", "n").DaemonSet("ds"), pod("p", "100m", "n")},
			want: report.NotUnderutilized{Resource: corev1.ResourceCPU, Got: 0.6, Threshold: 0.5},
		},
		"SD019: pods of DaemonSets don't count if the group says so": {
			node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("d", "500m", "n").DaemonSet("ds"), pod("p", "100m", "n")},
			change: func(w *world) {
				w.options = map[cloudprovider.GroupID]func(*observation.GroupOptions){
					"g": func(o *observation.GroupOptions) { o.IgnoreDaemonSetsUtilization = true },
				}
			},
		},
		"a GPU node is judged by its GPU and its threshold": {
			node: node("n", "1000m").Label("gpu", "t4").Resource("nvidia.com/gpu", "1"),
			pods: []simtest.PodBuilder{pod("p", "900m", "n").Request("nvidia.com/gpu", "1")},
			change: func(w *world) {
				w.seen = func(o *observation.Observation) { o.GPULabel = "gpu" }
				w.options = map[cloudprovider.GroupID]func(*observation.GroupOptions){
					"g": func(o *observation.GroupOptions) { o.ScaleDownGPUUtilizationThreshold = 0.7 },
				}
			},
			want: report.NotUnderutilized{Resource: "nvidia.com/gpu", Got: 1, Threshold: 0.7},
		},
		"a node of no group is not": {
			node: node("n", "1000m"), change: func(w *world) { w.groupOf["n"] = "" }, want: report.NotAutoscaled{},
		},
		"a node whose group cannot be told is not": {
			node: node("n", "1000m"),
			change: func(w *world) {
				w.seen = func(o *observation.Observation) {
					delete(o.Members, "n")
					o.Unknown = []observation.UnknownNode{{Node: "n", Err: errors.New("no answer")}}
				}
			},
			want: report.UnexpectedError{},
		},
		"SD017: a node of a group that could not be described is not": {
			node: node("n", "1000m"),
			change: func(w *world) {
				w.seen = func(o *observation.Observation) { o.Members["n"] = "elsewhere" }
			},
			want: report.UnexpectedError{},
		},
		"SD108: a node of a group at its minimum is not": {
			node: node("n", "1000m"), change: func(w *world) { w.min = map[cloudprovider.GroupID]int{"g": 1} },
			want: report.AtMinSizeBefore{Target: 1, Min: 1},
		},
		"a node that is being removed is not": {
			node: taint(unix(start.Add(-time.Minute))), change: func(w *world) { w.deletions = []observation.Deletion{deletion} },
			want: report.DeletionInProgress{Since: start.Add(-time.Minute)},
		},
		"a node without a machine is not": {
			node: node("n", "1000m"), change: func(w *world) { w.seen = func(o *observation.Observation) { o.Gone["n"] = true } },
			want: report.UnexpectedError{},
		},
		"SD194, SD195 as amended: a node that is still starting is not, whoever asked for it": {
			node: unready,
			change: func(w *world) {
				w.missing = []string{"n"}
				w.state = func(s *clusterstate.State) { s.Groups[0].NotStarted = []string{"n"} }
			},
			want: report.NotReached{Limit: "it is still starting"},
		},
		"SD022: a node that the snapshot lacks is not": {
			node: node("n", "1000m"), change: func(w *world) { w.missing = []string{"n"} }, want: report.UnexpectedError{},
		},
		"a pod with resource claims keeps its node": {
			node: node("n", "1000m"),
			pods: []simtest.PodBuilder{pod("p", "100m", "n").With(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}} })},
			want: report.ResourceClaimsNotSimulated{Pod: report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}},
		},
		"SD223: room promised to a pending pod counts": {
			node: node("n", "1000m"), pods: []simtest.PodBuilder{pod("p", "800m", "")},
			change: func(w *world) { w.pending = map[string]string{"p": "n"} },
			want:   report.NotUnderutilized{Resource: corev1.ResourceCPU, Got: 0.8, Threshold: 0.5},
		},
		"SD226: a pending pod without a controller keeps the node that it would go to": {
			node: node("n", "1000m"), pods: []simtest.PodBuilder{bare("p", "300m", "")},
			change: func(w *world) { w.pending = map[string]string{"p": "n"} },
			want:   report.BlockedByPod{Pod: report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}, Why: "NotReplicated"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{nodes: []simtest.NodeBuilder{test.node, spare}, pods: test.pods, groupOf: map[string]cloudprovider.GroupID{"z": ""}}
			if test.change != nil {
				test.change(&w)
			}
			options := defaults()
			if test.options != nil {
				test.options(&options)
			}
			p := plan(t, newPlanner(t, options), w, start)
			got := verdicts(p)["n"]
			if test.want == nil {
				if got == nil || got.Code() != report.CodeNotUnneededLongEnough && got.Code() != report.CodeNotUnreadyLongEnough {
					t.Errorf("got %#v, want an unneeded node", got)
				}
				return
			}
			if unexpected, ok := test.want.(report.UnexpectedError); ok && unexpected.Error == "" && got != nil {
				if got.Code() != report.CodeUnexpectedError || got.String() == "" {
					t.Errorf("got %#v, want an unexpected error with a text", got)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmptyNodesComeFirstThenThoseUnneededBefore(t *testing.T) {
	w := world{
		nodes: []simtest.NodeBuilder{node("a", "1000m"), node("b", "1000m"), node("c", "1000m"), node("d", "1000m")},
		pods: []simtest.PodBuilder{
			pod("x", "100m", "a"),
			pod("y", "100m", "b").Annotation("cluster-autoscaler.kubernetes.io/safe-to-evict", "on-completion"),
		},
	}
	planner := newPlanner(t, defaults())
	if got := unneeded(plan(t, planner, w, start)); got != "c d b" { // a has no place to put its pod then
		t.Errorf("got %q, want empty nodes, then one that waits for a pod", got)
	}
	planner = newPlanner(t, defaults())
	planner.Restore([]scaledown.Timer{{Node: "d", Since: start}})
	if got := unneeded(plan(t, planner, w, start)); got != "d c b" {
		t.Errorf("got %q, want the node that was unneeded before in front of its equals", got)
	}
}

// SD021, as amended: the first reason stays.
func TestTheRecheckCacheKeepsTheFirstReason(t *testing.T) {
	w := world{nodes: []simtest.NodeBuilder{node("n", "1000m")}, pods: []simtest.PodBuilder{bare("p", "100m", "n")}}
	planner := newPlanner(t, defaults())
	blocked := report.BlockedByPod{Pod: report.PodRef{Namespace: "default", Name: "p", UID: "pod-default-p"}, Why: "NotReplicated"}
	if diff := cmp.Diff(blocked, verdicts(plan(t, planner, w, start))["n"]); diff != "" {
		t.Errorf("first plan (-want +got):\n%s", diff)
	}
	w.pods = nil
	resting := report.RecentlyUnremovable{First: blocked, Until: start.Add(5 * time.Minute)}
	if diff := cmp.Diff(resting, verdicts(plan(t, planner, w, start.Add(5*time.Minute-time.Second)))["n"]); diff != "" {
		t.Errorf("a second before 5 min (-want +got):\n%s", diff)
	}
	if got := unneeded(plan(t, planner, w, start.Add(5*time.Minute))); got != "n" {
		t.Errorf("got %q unneeded at 5 min, want the node to be looked at again", got)
	}
}
