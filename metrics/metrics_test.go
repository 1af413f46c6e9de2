package metrics_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"example.com/cluster-autoscaler/metrics"
)

const prefix = "cluster_autoscaler_"

var everything = metrics.Options{PerNodeGroup: true, AWS: true, DigitalOcean: true, NodeSkips: true, RemovalLatency: true, CapacityBuffers: true}

func newMetrics(t *testing.T, options metrics.Options) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := metrics.New(registry, options)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// series are the values on the endpoint, by "name{label=value,...}" without the prefix. A histogram or summary counts its observations.
func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetName()+"="+pair.GetValue())
			}
			name := strings.TrimPrefix(family.GetName(), prefix)
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			out[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue() +
				float64(m.GetHistogram().GetSampleCount()) + float64(m.GetSummary().GetSampleCount())
		}
	}
	return out
}

// only are the series whose name starts so.
func only(all map[string]float64, start string) map[string]float64 {
	out := map[string]float64{}
	for name, value := range all {
		if strings.HasPrefix(name, start) {
			out[name] = value
		}
	}
	return out
}

// recordAll records something into every instrument.
func recordAll(m *metrics.Metrics) {
	gpu := metrics.GPU{Resource: "nvidia.com/gpu", Name: "k80"}
	code := "timeout"
	m.Safe(true)
	m.Nodes(metrics.NodeCounts{})
	m.NodeGroups(1, 0, 10)
	m.PendingPods(1, 0)
	m.Capacity(1, 1)
	m.Limits(0, 1, 0, 1)
	m.NodeGroup(metrics.Group{Name: "g", Backoff: &code})
	m.SetAside([]string{"g"})
	m.Feature("namespaces", true)
	m.SkippedPods(1)
	m.Activity(metrics.ActivityMain, time.Unix(1, 0))
	m.Took(metrics.FunctionMain, time.Second)
	m.PendingDeletions(1)
	m.Packing("m5.large", 1, 1, 1)
	m.OverflowingControllers(1)
	m.Error(metrics.ErrorInternal)
	m.ScaledUp(1, gpu)
	m.FailedScaleUp("timeout", 1, gpu)
	m.ScaledDown("empty", gpu)
	m.Evicted(true)
	m.Unneeded(1, true)
	m.Unremovable(map[string]int{"BlockedByPod": 1})
	m.UnregisteredRemoved(1)
	m.SkippedScaleUp(metrics.SkippedCPU)
	m.CreatedNodeGroups("standard", 1)
	m.DeletedNodeGroups("standard", 1)
	m.Taints(map[string]int{"other": 1})
	m.Refused("KeepBounds")
	m.CloudCall("DescribeImages", "success", time.Second)
	m.AWSCall("ec2", "DescribeImages", "Throttling", true)
	m.DigitalOceanCall("ListNodePools", "too_many_requests", time.Second, true)
	m.AWSRefreshed(time.Unix(1, 0), time.Second, true)
	m.AWSLaunchFailed("g", "VcpuLimitExceeded")
	m.AWSDesiredCorrected("g")
	m.AWSGroups(func() []metrics.AWSGroup {
		return []metrics.AWSGroup{{Name: "g", Missing: 1, Stale: time.Second, SetAside: "configuration"}}
	})
	m.NodeSkipped(time.Second)
	m.RemovalLatency(true, "", time.Second)
	m.BufferReconciled(true, time.Unix(1, 0))
	m.Mispredicted("gpu.nvidia.com", metrics.MismatchMissing, 1)
}

func TestTheMetricsAreThoseThatOperatorsKnow(t *testing.T) {
	data, err := os.ReadFile("testdata/metrics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			want = append(want, strings.TrimSuffix(line, "\n"))
		}
	}
	m, registry := newMetrics(t, everything)
	recordAll(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		var labels []string
		for _, pair := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, pair.GetName())
		}
		slices.Sort(labels)
		if len(labels) == 0 {
			labels = []string{"-"}
		}
		name, prefixed := strings.CutPrefix(family.GetName(), prefix)
		help, alpha := strings.CutPrefix(family.GetHelp(), "[ALPHA] ")
		if !prefixed || !alpha {
			t.Errorf("%s lacks the prefix, or its help the mark: %q", family.GetName(), family.GetHelp())
		}
		got = append(got, strings.Join([]string{name, strings.ToLower(family.GetType().String()), strings.Join(labels, ","), help}, "\t"))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The names are upstream's; where Prometheus' linter frowns on them, that is pinned here, and nothing else may be odd.
func TestTheLinterFrownsOnOldNamesOnly(t *testing.T) {
	want := []string{
		"inconsistent_instances_migs_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"max_nodes_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"node_group_max_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"node_group_min_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"node_group_target_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"node_groups_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"node_taints_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"nodes_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"old_unregistered_nodes_removed_count: counter metrics should have \"_total\" suffix",
		"old_unregistered_nodes_removed_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"overflowing_controllers_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"skipped_pods_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"skipped_scale_events_count: counter metrics should have \"_total\" suffix",
		"skipped_scale_events_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"unneeded_nodes_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"unremovable_nodes_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
		"unschedulable_pods_count: non-histogram and non-summary metrics should not have \"_count\" suffix",
	}
	m, registry := newMetrics(t, everything)
	recordAll(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, problem := range problems {
		got = append(got, strings.TrimPrefix(problem.Metric, prefix)+": "+problem.Text)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSomeSeriesAreThereFromTheStart(t *testing.T) {
	want := map[string]float64{}
	zero := func(format string, values ...string) {
		for _, value := range values {
			want[fmt.Sprintf(format, value)] = 0
		}
	}
	zero("errors_total{type=%s}", "cloudProviderError", "apiCallError", "internalError", "transientError", "configurationError",
		"nodeGroupDoesNotExistError", "unexpectedScaleDownStateError")
	reasons := []string{"cloudProviderError", "apiCallError", "timeout"}
	zero("failed_scale_ups_total{dra_drivers=,gpu_name=,gpu_resource_name=,reason=%s}", reasons...)
	zero("failed_node_creations_total{dra_drivers=,gpu_name=,gpu_resource_name=,reason=%s}", reasons...)
	zero("scaled_down_nodes_total{dra_drivers=,gpu_name=,gpu_resource_name=,reason=%s}", "underutilized", "empty", "unready")
	zero("evicted_pods_total{eviction_result=%s}", "succeeded", "failed")
	zero("skipped_scale_events_count{direction=%s}", "up,reason=CpuResourceLimit", "up,reason=MemoryResourceLimit",
		"down,reason=CpuResourceLimit", "down,reason=MemoryResourceLimit")
	zero("%s", "cluster_cpu_current_cores", "cluster_memory_current_bytes", "cluster_safe_to_autoscale", "inconsistent_instances_migs_count", "max_nodes_count",
		"old_unregistered_nodes_removed_count", "overflowing_controllers_count", "pending_node_deletions", "scale_down_in_cooldown", "snapshot_rebuilds_total",
		"unneeded_nodes_count")
	_, registry := newMetrics(t, metrics.Options{})
	if diff := cmp.Diff(want, series(t, registry)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestOptionalMetricsAreOff(t *testing.T) {
	m, registry := newMetrics(t, metrics.Options{})
	recordAll(m)
	for name := range series(t, registry) {
		for _, optional := range []string{
			"aws_", "max_node_skip_", "node_removal_latency_", "capacity_buffer_", "node_group_min", "node_group_max", "node_group_target", "node_group_health", "node_group_backoff",
		} {
			if strings.HasPrefix(name, optional) {
				t.Errorf("%s is there without its option", name)
			}
		}
	}
}

func TestASecondSetInOneRegistryIsAnError(t *testing.T) {
	_, registry := newMetrics(t, metrics.Options{})
	if _, err := metrics.New(registry, metrics.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestBucketsAndQuantiles(t *testing.T) {
	m, registry := newMetrics(t, everything)
	recordAll(m)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string][]float64{}
	for _, family := range families {
		for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
			name := strings.TrimPrefix(family.GetName(), prefix)
			bounds[name] = append(bounds[name], bucket.GetUpperBound())
		}
		if family.GetName() != prefix+"function_duration_quantile_seconds" {
			continue
		}
		var quantiles []float64
		for _, quantile := range family.GetMetric()[0].GetSummary().GetQuantile() {
			quantiles = append(quantiles, quantile.GetQuantile())
		}
		if diff := cmp.Diff([]float64{0.5, 0.9, 0.99}, quantiles); diff != "" {
			t.Errorf("quantiles (-want +got):\n%s", diff)
		}
	}
	for name, want := range map[string][]float64{
		"binpacking_heterogeneity":     {1, 2, 4, 8, 16, 32},
		"aws_request_duration_seconds": {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 5, 10, 20, 30, 60},
	} {
		if diff := cmp.Diff(want, bounds[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	durations, latencies := bounds["function_duration_seconds"], bounds["node_removal_latency_seconds"]
	if len(durations) != 150 || math.Abs(durations[0]-0.1) > 1e-9 || math.Abs(durations[149]-1800) > 1e-6 || math.Abs(durations[1]/durations[0]-1.06797) > 1e-5 {
		t.Errorf("function_duration_seconds has %d bounds from %g to %g", len(durations), durations[0], durations[len(durations)-1])
	}
	if len(latencies) != 19 || latencies[0] != 1 || math.Abs(latencies[18]-1477.89) > 0.01 {
		t.Errorf("node_removal_latency_seconds has bounds %v", latencies)
	}
}

// Each call changes the series that are named, by as much, and no other.
func TestWhatIsRecordedWhere(t *testing.T) {
	gpu := metrics.GPU{Resource: "nvidia.com/gpu", Name: "k80", Drivers: "gpu.nvidia.com"}
	tests := map[string]struct {
		record func(*metrics.Metrics)
		want   map[string]float64
	}{
		"health": {func(m *metrics.Metrics) { m.Safe(true) }, map[string]float64{"cluster_safe_to_autoscale": 1}},
		"nodes": {func(m *metrics.Metrics) {
			m.Nodes(metrics.NodeCounts{Ready: 1, Unready: 2, NotStarted: 3, Suspended: 4, Unregistered: 5, LongUnregistered: 6})
		},
			map[string]float64{
				"nodes_count{state=ready}": 1, "nodes_count{state=unready}": 2, "nodes_count{state=notStarted}": 3, "nodes_count{state=suspended}": 4,
				"nodes_count{state=unregistered}": 5, "nodes_count{state=longUnregistered}": 6,
			}},
		"groups": {func(m *metrics.Metrics) { m.NodeGroups(3, 1, 20) }, map[string]float64{
			"node_groups_count{node_group_type=autoscaled}": 3, "node_groups_count{node_group_type=autoprovisioned}": 1, "max_nodes_count": 20,
		}},
		"pods": {func(m *metrics.Metrics) { m.PendingPods(3, 1) }, map[string]float64{
			"unschedulable_pods_count{type=unschedulable}": 3, "unschedulable_pods_count{type=scheduler_unprocessed}": 1,
		}},
		"injected pods": {func(m *metrics.Metrics) { m.InjectedPods(5, 2) }, map[string]float64{
			"unschedulable_pods_count{type=injected}": 5, "unschedulable_pods_count{type=skipped_injection}": 2,
		}},
		"skipped pods": {func(m *metrics.Metrics) { m.SkippedPods(7) }, map[string]float64{"skipped_pods_count{requestor=filter-out-pod-list-processor}": 7}},
		"capacity":     {func(m *metrics.Metrics) { m.Capacity(1.5, 7) }, map[string]float64{"cluster_cpu_current_cores": 1.5, "cluster_memory_current_bytes": 7}},
		"limits": {func(m *metrics.Metrics) { m.Limits(1, 2, 3, 4) }, map[string]float64{
			"cpu_limits_cores{direction=minimum}": 1, "cpu_limits_cores{direction=maximum}": 2,
			"memory_limits_bytes{direction=minimum}": 3, "memory_limits_bytes{direction=maximum}": 4,
		}},
		"a feature that is on": {func(m *metrics.Metrics) { m.Feature("x", true) }, map[string]float64{"feature_available{feature=x}": 1}},
		"an activity": {func(m *metrics.Metrics) { m.Activity(metrics.ActivityScaleUp, time.Unix(42, 999)) },
			map[string]float64{"last_activity{activity=scaleUp}": 42}},
		"a duration": {func(m *metrics.Metrics) { m.Took(metrics.FunctionEstimate, time.Second) }, map[string]float64{
			"function_duration_seconds{function=scaleUp:estimate}": 1, "function_duration_quantile_seconds{function=scaleUp:estimate}": 1,
		}},
		"removals in progress": {func(m *metrics.Metrics) { m.PendingDeletions(4) }, map[string]float64{"pending_node_deletions": 4}},
		"packing of little":    {func(m *metrics.Metrics) { m.Packing("t", 5, 0, 3) }, map[string]float64{"binpacking_heterogeneity{cpu_count=5,instance_type=t,namespace_count=0}": 1}},
		"packing of more":      {func(m *metrics.Metrics) { m.Packing("t", 6, 10, 3) }, map[string]float64{"binpacking_heterogeneity{cpu_count=6-10,instance_type=t,namespace_count=6-10}": 1}},
		"packing of much":      {func(m *metrics.Metrics) { m.Packing("t", 11, 500, 3) }, map[string]float64{"binpacking_heterogeneity{cpu_count=11+,instance_type=t,namespace_count=11+}": 1}},
		"overflow":             {func(m *metrics.Metrics) { m.OverflowingControllers(2) }, map[string]float64{"overflowing_controllers_count": 2}},
		"an error":             {func(m *metrics.Metrics) { m.Error(metrics.ErrorAPICall) }, map[string]float64{"errors_total{type=apiCallError}": 1}},
		"plain nodes asked for": {func(m *metrics.Metrics) { m.ScaledUp(3, metrics.GPU{}) }, map[string]float64{
			"scaled_up_nodes_total{dra_drivers=,gpu_name=,gpu_resource_name=}": 3,
		}},
		"GPU nodes asked for": {func(m *metrics.Metrics) { m.ScaledUp(3, gpu) }, map[string]float64{
			"scaled_up_nodes_total{dra_drivers=gpu.nvidia.com,gpu_name=k80,gpu_resource_name=nvidia.com/gpu}": 3,
			"scaled_up_gpu_nodes_total{gpu_name=k80,gpu_resource_name=nvidia.com/gpu}":                        3,
		}},
		"a failure of plain nodes": {func(m *metrics.Metrics) { m.FailedScaleUp("timeout", 4, metrics.GPU{}) }, map[string]float64{
			"failed_scale_ups_total{dra_drivers=,gpu_name=,gpu_resource_name=,reason=timeout}":      1,
			"failed_node_creations_total{dra_drivers=,gpu_name=,gpu_resource_name=,reason=timeout}": 4,
		}},
		"a failure of GPU nodes": {func(m *metrics.Metrics) { m.FailedScaleUp("ICE", 4, gpu) }, map[string]float64{
			"failed_scale_ups_total{dra_drivers=gpu.nvidia.com,gpu_name=k80,gpu_resource_name=nvidia.com/gpu,reason=ICE}":      1,
			"failed_node_creations_total{dra_drivers=gpu.nvidia.com,gpu_name=k80,gpu_resource_name=nvidia.com/gpu,reason=ICE}": 4,
			"failed_gpu_scale_ups_total{gpu_name=k80,gpu_resource_name=nvidia.com/gpu,reason=ICE}":                             1,
		}},
		"a plain node removed": {func(m *metrics.Metrics) { m.ScaledDown("empty", metrics.GPU{}) }, map[string]float64{
			"scaled_down_nodes_total{dra_drivers=,gpu_name=,gpu_resource_name=,reason=empty}": 1,
		}},
		"a GPU node removed": {func(m *metrics.Metrics) { m.ScaledDown("unready", gpu) }, map[string]float64{
			"scaled_down_nodes_total{dra_drivers=gpu.nvidia.com,gpu_name=k80,gpu_resource_name=nvidia.com/gpu,reason=unready}": 1,
			"scaled_down_gpu_nodes_total{gpu_name=k80,gpu_resource_name=nvidia.com/gpu,reason=unready}":                        1,
		}},
		"a pod evicted":        {func(m *metrics.Metrics) { m.Evicted(true) }, map[string]float64{"evicted_pods_total{eviction_result=succeeded}": 1}},
		"an eviction given up": {func(m *metrics.Metrics) { m.Evicted(false) }, map[string]float64{"evicted_pods_total{eviction_result=failed}": 1}},
		"candidates":           {func(m *metrics.Metrics) { m.Unneeded(5, true) }, map[string]float64{"unneeded_nodes_count": 5, "scale_down_in_cooldown": 1}},
		"late machines":        {func(m *metrics.Metrics) { m.UnregisteredRemoved(2) }, map[string]float64{"old_unregistered_nodes_removed_count": 2}},
		"a limit in the way":   {func(m *metrics.Metrics) { m.SkippedScaleUp(metrics.SkippedMemory) }, map[string]float64{"skipped_scale_events_count{direction=up,reason=MemoryResourceLimit}": 1}},
		"a refused write":      {func(m *metrics.Metrics) { m.Refused("KeepBounds") }, map[string]float64{"refused_writes_total{invariant=KeepBounds}": 1}},
		"a wrong snapshot":     {func(m *metrics.Metrics) { m.SnapshotRebuilt() }, map[string]float64{"snapshot_rebuilds_total": 1}},
		"a call to AWS":        {func(m *metrics.Metrics) { m.CloudCall("DescribeImages", "Throttling", time.Second) }, map[string]float64{"aws_request_duration_seconds{endpoint=DescribeImages,status=Throttling}": 1}},
		"a node passed over":   {func(m *metrics.Metrics) { m.NodeSkipped(90 * time.Second) }, map[string]float64{"max_node_skip_eval_duration_seconds": 90}},
		"a removal":            {func(m *metrics.Metrics) { m.RemovalLatency(true, "", time.Second) }, map[string]float64{"node_removal_latency_seconds{delay_reason=none,deleted=true}": 1}},
		"a node needed again":  {func(m *metrics.Metrics) { m.RemovalLatency(false, "BlockedByPod", time.Second) }, map[string]float64{"node_removal_latency_seconds{delay_reason=BlockedByPod,deleted=false}": 1}},
		"a removal in no time": {func(m *metrics.Metrics) { m.RemovalLatency(true, "", 0) }, map[string]float64{}},
		"a buffer":             {func(m *metrics.Metrics) { m.BufferReconciled(false, time.Unix(9, 0)) }, map[string]float64{"capacity_buffer_oldest_reconciliation_timestamp_seconds{new_buffer=false}": 9}},
		"a wrong prediction":   {func(m *metrics.Metrics) { m.Mispredicted("d", metrics.MismatchExtra, 2) }, map[string]float64{"dra_node_template_resources_mismatch{driver=d,mismatch_type=extra}": 2}},
		"a node group": {func(m *metrics.Metrics) {
			m.NodeGroup(metrics.Group{Name: "g", Min: 1, Max: 9, Target: 3, Healthy: true})
		}, map[string]float64{
			"node_group_min_count{node_group=g}": 1, "node_group_max_count{node_group=g}": 9, "node_group_target_count{node_group=g}": 3,
			"node_group_healthiness{node_group=g}": 1, "node_group_backoff_status{node_group=g,reason=}": 0,
		}},
	}
	_, untouched := newMetrics(t, everything)
	before := series(t, untouched)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m, registry := newMetrics(t, everything)
			test.record(m)
			got := series(t, registry)
			for name, value := range got {
				if was, there := before[name]; there && was == value {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWhatIsOverDoesNotStayOnDashboards(t *testing.T) {
	m, registry := newMetrics(t, everything)
	check := func(start string, want map[string]float64) {
		t.Helper()
		if diff := cmp.Diff(want, only(series(t, registry), start)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	m.Unremovable(map[string]int{"BlockedByPod": 3, "NotAutoscaled": 1})
	m.Unremovable(map[string]int{"BlockedByPod": 2})
	check("unremovable_nodes_count", map[string]float64{"unremovable_nodes_count{reason=BlockedByPod}": 2, "unremovable_nodes_count{reason=NotAutoscaled}": 0})

	m.Taints(map[string]int{"ToBeDeletedByClusterAutoscaler": 2})
	m.Taints(map[string]int{"other": 1})
	check("node_taints_count", map[string]float64{"node_taints_count{type=ToBeDeletedByClusterAutoscaler}": 0, "node_taints_count{type=other}": 1})

	m.SetAside([]string{"a", "b"})
	m.SetAside([]string{"b"})
	check("node_group_set_aside", map[string]float64{"node_group_set_aside{node_group=a}": 0, "node_group_set_aside{node_group=b}": 1})

	m.Feature("pvc", true)
	m.Feature("pvc", false)
	check("feature_available", map[string]float64{"feature_available{feature=pvc}": 0})

	group := func(backoff string) {
		g := metrics.Group{Name: "g"}
		if backoff != "" {
			g.Backoff = &backoff
		}
		m.NodeGroup(g)
	}
	group("timeout")
	check("node_group_backoff", map[string]float64{"node_group_backoff_status{node_group=g,reason=timeout}": 1})
	group("ICE")
	check("node_group_backoff", map[string]float64{"node_group_backoff_status{node_group=g,reason=timeout}": 0, "node_group_backoff_status{node_group=g,reason=ICE}": 1})
	group("")
	check("node_group_backoff", map[string]float64{"node_group_backoff_status{node_group=g,reason=timeout}": 0, "node_group_backoff_status{node_group=g,reason=ICE}": 0})
}

// Operator-surface 2.4.
func TestTheValuesOfFunction(t *testing.T) {
	got := []metrics.Function{
		metrics.FunctionMain, metrics.FunctionLoopWait, metrics.FunctionRefresh, metrics.FunctionUpdateState, metrics.FunctionFilter, metrics.FunctionScaleUp,
		metrics.FunctionGroupPods, metrics.FunctionEstimate, metrics.FunctionSkippedGroups, metrics.FunctionFindUnneeded, metrics.FunctionScaleDown,
		metrics.FunctionNodeDeletion, metrics.FunctionSoftTaint,
	}
	want := []metrics.Function{
		"main", "loopWait", "cloudProviderRefresh", "updateClusterState", "filterOutSchedulable", "scaleUp", "scaleUp:buildPodEquivalenceGroups",
		"scaleUp:estimate", "scaleUp:skippedNodeGroupsSimulation", "findUnneeded", "scaleDown", "scaleDown:nodeDeletion", "scaleDown:softTaintUnneeded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
