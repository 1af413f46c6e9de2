package core_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// lines are the messages in the log so far, with the node or the group that they are about.
func (w *world) lines() []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimSpace(w.logs.String()), "\n") {
		if match := message.FindStringSubmatch(line); match != nil {
			out = append(out, match[1]+about(line))
		}
	}
	return out
}

var (
	message = regexp.MustCompile(`^(?:INFO|ERROR) (.*?) \w+=`)
	subject = regexp.MustCompile(` (node|nodeGroup)="([^"]*)"`)
)

func about(line string) string {
	if match := subject.FindStringSubmatch(line); match != nil {
		return " " + match[2]
	}
	return ""
}

func TestAnIdleIterationLogsNothing(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 3))
	w.fill("g")
	w.arrive(pod("p", "30")) // fits nowhere, which is no effect
	w.to(time.Minute)
	if log := w.logs.String(); log != "" {
		t.Errorf("the log says:\n%s", log)
	}
}

func TestEachEffectIsOneLineOfTheLog(t *testing.T) {
	w := newWorld(t, []string{"--scale-down-unneeded-time=1m", "--scale-down-delay-after-add=0s"}, group("g", 0, 9, 0), group("h", 0, 9, 0), group("stuck", 0, 9, 0))
	w.must(w.cloud.Next("stuck", simulated.Fate{Stuck: true}))
	_, err := w.cloud.SetTarget("stuck", 1)
	w.must(err)
	w.cloud.Inject(simulated.Fault{On: simulated.IncreaseSize, Group: "h", Err: errors.New("out of order")})
	w.arrive(pod("p", "3").NodeSelector("group", "g"), pod("q", "3").NodeSelector("group", "h"))
	w.at(2*time.Minute, func() { w.leave("p", "q") })
	w.to(17 * time.Minute)
	want := []string{
		"Resized node group g", "Cannot resize node group h", "Removing node g-0001", "Removed node g-0001", "Ended machine stuck",
	}
	var got []string
	for _, line := range w.lines() {
		if !strings.HasPrefix(line, "Cannot resize") || len(got) == 0 || got[len(got)-1] != line {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestTheReportOfAnIterationIsRenderedIntoMetrics(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 2), group("h", 0, 5, 0))
	w.put(pod("full", "4").On("g-0001").Build())
	w.change("g-0002", func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "own", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.put(simtest.Node("foreign").NotReady(w.start.Add(-time.Hour)).Build())
	w.arrive(pod("p", "3").NodeSelector("group", "g"), pod("q", "30"))
	w.to(0)
	want := `
# HELP cluster_autoscaler_binpacking_heterogeneity [ALPHA] Number of distinct kinds of pods in one estimation.
# TYPE cluster_autoscaler_binpacking_heterogeneity histogram
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="1"} 1
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="2"} 1
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="4"} 1
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="8"} 1
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="16"} 1
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="32"} 1
cluster_autoscaler_binpacking_heterogeneity_bucket{cpu_count="1",instance_type="",namespace_count="1",le="+Inf"} 1
cluster_autoscaler_binpacking_heterogeneity_sum{cpu_count="1",instance_type="",namespace_count="1"} 1
cluster_autoscaler_binpacking_heterogeneity_count{cpu_count="1",instance_type="",namespace_count="1"} 1
# HELP cluster_autoscaler_cluster_safe_to_autoscale [ALPHA] Whether the cluster is healthy enough for autoscaling: 1 if it is, 0 if not.
# TYPE cluster_autoscaler_cluster_safe_to_autoscale gauge
cluster_autoscaler_cluster_safe_to_autoscale 1
# HELP cluster_autoscaler_max_nodes_count [ALPHA] Largest number of nodes that all node groups may have together.
# TYPE cluster_autoscaler_max_nodes_count gauge
cluster_autoscaler_max_nodes_count 14
# HELP cluster_autoscaler_node_group_target_count [ALPHA] Number of nodes that the node group is to have.
# TYPE cluster_autoscaler_node_group_target_count gauge
cluster_autoscaler_node_group_target_count{node_group="g"} 3
cluster_autoscaler_node_group_target_count{node_group="h"} 0
# HELP cluster_autoscaler_node_groups_count [ALPHA] Number of node groups, by kind.
# TYPE cluster_autoscaler_node_groups_count gauge
cluster_autoscaler_node_groups_count{node_group_type="autoprovisioned"} 0
cluster_autoscaler_node_groups_count{node_group_type="autoscaled"} 2
# HELP cluster_autoscaler_nodes_count [ALPHA] Number of nodes in the cluster, by state.
# TYPE cluster_autoscaler_nodes_count gauge
cluster_autoscaler_nodes_count{state="longUnregistered"} 0
cluster_autoscaler_nodes_count{state="notStarted"} 0
cluster_autoscaler_nodes_count{state="ready"} 2
cluster_autoscaler_nodes_count{state="suspended"} 0
cluster_autoscaler_nodes_count{state="unready"} 1
cluster_autoscaler_nodes_count{state="unregistered"} 0
# HELP cluster_autoscaler_scaled_up_nodes_total [ALPHA] Number of nodes asked for.
# TYPE cluster_autoscaler_scaled_up_nodes_total counter
cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""} 1
# HELP cluster_autoscaler_unneeded_nodes_count [ALPHA] Number of nodes that could be removed.
# TYPE cluster_autoscaler_unneeded_nodes_count gauge
cluster_autoscaler_unneeded_nodes_count 1
# HELP cluster_autoscaler_unremovable_nodes_count [ALPHA] Number of nodes that cannot be removed, by reason.
# TYPE cluster_autoscaler_unremovable_nodes_count gauge
cluster_autoscaler_unremovable_nodes_count{reason="NotUnderutilized"} 1
cluster_autoscaler_unremovable_nodes_count{reason="NotUnneededLongEnough"} 1
# HELP cluster_autoscaler_unschedulable_pods_count [ALPHA] Number of pods that wait for room, by kind.
# TYPE cluster_autoscaler_unschedulable_pods_count gauge
cluster_autoscaler_unschedulable_pods_count{type="scheduler_unprocessed"} 0
cluster_autoscaler_unschedulable_pods_count{type="unschedulable"} 2
`
	if err := testutil.GatherAndCompare(w.metrics, strings.NewReader(want), goldenSeries()...); err != nil {
		t.Error(err)
	}
}

func goldenSeries() []string {
	var out []string
	for _, name := range []string{
		"cluster_safe_to_autoscale", "nodes_count", "unschedulable_pods_count", "unneeded_nodes_count", "scaled_up_nodes_total", "node_groups_count",
		"unremovable_nodes_count", "max_nodes_count", "node_group_target_count", "binpacking_heterogeneity",
	} {
		out = append(out, "cluster_autoscaler_"+name)
	}
	return out
}

func TestTheStatusFollowsTheIterations(t *testing.T) {
	w := newWorld(t, []string{"--persist-state=false"}, group("g", 0, 9, 1))
	if got := w.status().AutoscalerStatus; got != "Initializing" {
		t.Errorf("before the first iteration the status is %q", got)
	}
	w.fill("g")
	w.arrive(pod("p", "3"))
	w.to(10 * time.Second)
	doc := w.status()
	if doc.AutoscalerStatus != "Running" || doc.ClusterWide.ScaleUp.Status != "InProgress" || len(doc.NodeGroups) != 1 || doc.NodeGroups[0].Health.CloudProviderTarget != 2 {
		t.Errorf("while the group grows the status is %+v", doc)
	}
	w.must(w.teller.Stop(w.ctx, w.clock.Now(), w.autoscaler.Memory()))
	if _, err := w.client.CoreV1().ConfigMaps("kube-system").Get(w.ctx, "cluster-autoscaler-status", metav1.GetOptions{}); err == nil {
		t.Error("the status is still there after the end")
	}
}

func TestTheStatusSaysWhyNothingIsDone(t *testing.T) {
	w := newWorld(t, []string{"--scale-up-from-zero=false"}, group("g", 0, 9, 0))
	w.to(0)
	if doc := w.status(); doc.AutoscalerStatus != "Initializing" || doc.Message != "Cluster has no nodes." {
		t.Errorf("the status is %+v", doc)
	}
	if w.metric("cluster_autoscaler_cluster_safe_to_autoscale") != 0 {
		t.Error("the metric says that it is safe to autoscale")
	}
}

func TestARefusedWriteIsCountedByItsInvariant(t *testing.T) {
	w := newWorld(t, nil, group("g", 0, 9, 0))
	w.teller.Observe(act.WriteRefused{Invariant: act.KeepUndrained, Subject: "n", Why: "a pod"})
	if got := w.metric("cluster_autoscaler_refused_writes_total", string(act.KeepUndrained)); got != 1 {
		t.Errorf("the metric says %v, want 1", got)
	}
	if got := w.metric("cluster_autoscaler_refused_writes_total", string(act.KeepBounds)); got != 0 {
		t.Errorf("the metric says %v for another invariant, want 0", got)
	}
}
