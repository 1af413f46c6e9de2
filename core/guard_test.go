package core_test

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
)

// L04, L37: with --scale-up-from-zero=false nothing is decided on while there is nothing to work with.
func TestWithoutScaleUpFromZeroAnEmptyClusterIsLeftAlone(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		at    time.Duration
		want  string // the event; empty: there must be none
	}{
		"L37: no nodes at all":                       {at: 0, want: "Cluster has no nodes."},
		"L04: no ready nodes, four minutes up":       {nodes: 2, at: 4 * time.Minute},
		"L04: no ready nodes, eleven minutes up":     {nodes: 2, at: 11 * time.Minute, want: "Cluster has no ready nodes."},
		"L04: no ready nodes, ten minutes and a bit": {nodes: 2, at: 10*time.Minute + 10*time.Second, want: "Cluster has no ready nodes."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []string{"--scale-up-from-zero=false"}, group("g", 0, 9, test.nodes))
			for _, node := range w.cloud.Nodes("g") {
				w.change(node.Name, func(node *corev1.Node) { node.Status.Conditions[0].Status = corev1.ConditionFalse })
			}
			w.arrive(pod("p", "3"))
			w.to(test.at)
			if w.err != nil || len(w.writes()) > 0 || w.last.ScaleUp.Result != "" {
				t.Errorf("error %v, writes %v, scale-up %q; want none of them", w.err, w.writes(), w.last.ScaleUp.Result)
			}
			if got := w.event("ClusterUnhealthy", test.want); got != (test.want != "") {
				t.Errorf("events %v, want ClusterUnhealthy %q", w.events, test.want)
			}
			if w.event("Pod/p") {
				t.Errorf("events %v; want none about the pod", w.events)
			}
		})
	}
}

// L21: who is told to stop buys nothing and removes nothing any more.
func TestAnIterationThatIsCancelledDecidesNothing(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=0s", "--scale-down-delay-after-add=0s"}, group("g", 0, 9, 0), group("idle", 0, 9, 1))
	w.arrive(pod("p", "3").NodeSelector("group", "g"))
	ctx, cancel := context.WithCancel(w.ctx)
	w.ctx, w.source.observed = ctx, cancel
	w.to(0)
	if w.err != nil || len(w.writes()) > 0 || len(w.last.ScaleDown.Started) > 0 {
		t.Errorf("error %v, writes %v, removals %v; want none", w.err, w.writes(), w.last.ScaleDown.Started)
	}
	if got := w.last.ScaleUp.Result; got != report.ScaleUpNotTried && got != report.ScaleUpError {
		t.Errorf("scale-up %s; want it not tried, or broken off", got)
	}
}

// L35, as amended: keeping the minimum hides no verdict of a pod.
func TestThePodsOfAFullClusterAreToldSoWhateverElseIsDone(t *testing.T) {
	for name, flags := range map[string][]string{
		"minimum not kept": nil,
		"minimum kept":     {"--enforce-node-group-min-size"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(flags, "--max-nodes-total=1"), group("g", 0, 9, 1))
			w.arrive(pod("p", "8"))
			w.to(10 * time.Second)
			if w.last.ScaleUp.Result != report.ScaleUpLimitedByMaxNodesTotal || !w.event("MaxNodesTotalReached") {
				t.Errorf("scale-up %s, events %v", w.last.ScaleUp.Result, w.events)
			}
			if !w.event("Pod/p", "max total nodes in cluster reached") {
				t.Errorf("nothing is said about the pod: %s", strings.Join(w.events, "\n"))
			}
		})
	}
}
