package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// execution are the instruments of the loop itself (operator-surface 2.2).
type execution struct {
	lastActivity  *prometheus.GaugeVec
	durations     *prometheus.HistogramVec
	quantiles     *prometheus.SummaryVec
	pending       prometheus.Gauge
	heterogeneity *prometheus.HistogramVec
	overflowing   prometheus.Gauge
}

// Activity is a part of the loop whose last run is recorded.
type Activity string

// The activities.
const (
	ActivityMain           Activity = "main"
	ActivityMainSuccessful Activity = "mainSuccessful"
	ActivityAutoscaling    Activity = "autoscaling"
	ActivityScaleUp        Activity = "scaleUp"
	ActivityScaleDown      Activity = "scaleDown"
)

// Function is a part of the loop whose duration is recorded (operator-surface 2.4).
type Function string

// The functions.
const (
	FunctionMain          Function = "main"
	FunctionLoopWait      Function = "loopWait"
	FunctionRefresh       Function = "cloudProviderRefresh"
	FunctionUpdateState   Function = "updateClusterState"
	FunctionFilter        Function = "filterOutSchedulable"
	FunctionScaleUp       Function = "scaleUp"
	FunctionGroupPods     Function = "scaleUp:buildPodEquivalenceGroups"
	FunctionEstimate      Function = "scaleUp:estimate"
	FunctionSkippedGroups Function = "scaleUp:skippedNodeGroupsSimulation"
	FunctionFindUnneeded  Function = "findUnneeded"
	FunctionScaleDown     Function = "scaleDown"
	FunctionNodeDeletion  Function = "scaleDown:nodeDeletion"
	FunctionSoftTaint     Function = "scaleDown:softTaintUnneeded"
	quantileWindow                 = time.Hour
	smallestDuration               = 0.1
	largestDuration                = 1800
	numberOfDurationBonds          = 150
)

func newExecution() execution {
	return execution{
		lastActivity: gaugeVec("last_activity", "Unix time in seconds at which a part of the loop last ran.", "activity"),
		durations: histogramVec("function_duration_seconds", "Time taken by parts of the loop.",
			prometheus.ExponentialBucketsRange(smallestDuration, largestDuration, numberOfDurationBonds), "function"),
		quantiles: prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Namespace: namespace, Name: "function_duration_quantile_seconds",
			Help:   alpha + "Quantiles of the time taken by parts of the loop over the last hour.",
			MaxAge: quantileWindow, Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001},
		}, []string{"function"}),
		pending: gauge("pending_node_deletions", "Number of node deletions that have started and not finished."),
		heterogeneity: histogramVec("binpacking_heterogeneity", "Number of distinct kinds of pods in one estimation.",
			[]float64{1, 2, 4, 8, 16, 32}, "instance_type", "cpu_count", "namespace_count"),
		overflowing: gauge("overflowing_controllers_count", "Number of controllers with too many distinct kinds of pods to group."),
	}
}

func (e execution) collectors() []prometheus.Collector {
	return []prometheus.Collector{e.lastActivity, e.durations, e.quantiles, e.pending, e.heterogeneity, e.overflowing}
}

// Activity records that a part of the loop ran at the given time.
func (m *Metrics) Activity(a Activity, at time.Time) {
	m.execution.lastActivity.WithLabelValues(string(a)).Set(float64(at.Unix()))
}

// Took records how long a part of the loop took.
func (m *Metrics) Took(f Function, d time.Duration) {
	m.execution.durations.WithLabelValues(string(f)).Observe(d.Seconds())
	m.execution.quantiles.WithLabelValues(string(f)).Observe(d.Seconds())
}

// PendingDeletions records how many removals are in progress.
func (m *Metrics) PendingDeletions(count int) { m.execution.pending.Set(float64(count)) }

// Packing records one estimation: how many kinds of pods it packed on nodes of the instance type, and how many different CPU requests and
// namespaces they have.
func (m *Metrics) Packing(instanceType string, cpuRequests, namespaces, kinds int) {
	m.execution.heterogeneity.WithLabelValues(instanceType, countRange(cpuRequests), countRange(namespaces)).Observe(float64(kinds))
}

// Numbers up to exactCounts are label values of their own, those up to someCounts share one, and so do all above.
const exactCounts, someCounts = 5, 10

func countRange(count int) string {
	switch {
	case count <= exactCounts:
		return strconv.Itoa(count)
	case count <= someCounts:
		return "6-10"
	default:
		return "11+"
	}
}

// OverflowingControllers records how many controllers have too many distinct kinds of pods to group.
func (m *Metrics) OverflowingControllers(count int) { m.execution.overflowing.Set(float64(count)) }
