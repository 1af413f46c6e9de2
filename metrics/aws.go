package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// amazon are the instruments of the AWS provider besides the durations of its requests (aws 12.1).
type amazon struct {
	calls       *prometheus.CounterVec
	throttled   *prometheus.CounterVec
	refresh     prometheus.Histogram
	refreshed   prometheus.Gauge
	failures    *prometheus.CounterVec
	corrections *prometheus.CounterVec
	groups      *awsGroups
}

func newAmazon() amazon {
	return amazon{
		calls:     counterVec("aws_api_calls_total", "Number of requests to AWS APIs, retries included, by result.", "service", "action", "code"),
		throttled: counterVec("aws_throttled_total", "Number of requests that AWS refused because there were too many.", "action"),
		refresh: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "aws_refresh_duration_seconds", Help: alpha + "Time taken to read all Auto Scaling groups.",
			Buckets: []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120},
		}),
		refreshed:   gauge("aws_last_successful_refresh_timestamp_seconds", "Unix time in seconds at which all Auto Scaling groups were last read completely."),
		failures:    counterVec("aws_launch_failures_total", "Number of machines that failed to launch, by the reason that AWS gives.", "node_group", "code"),
		corrections: counterVec("aws_desired_corrections_total", "Number of desired capacities that were raised again because there were more machines than were known when they were written.", "node_group"),
		groups:      newAWSGroups(),
	}
}

func (a amazon) collectors() []prometheus.Collector {
	return []prometheus.Collector{a.calls, a.throttled, a.refresh, a.refreshed, a.failures, a.corrections, a.groups}
}

// AWSCall counts one request. code is "success", an error code of AWS, or "error".
func (m *Metrics) AWSCall(service, action, code string, throttled bool) {
	m.amazon.calls.WithLabelValues(service, action, code).Inc()
	if throttled {
		m.amazon.throttled.WithLabelValues(action).Inc()
	}
}

// AWSRefreshed records one reading of all groups that began at the given time.
func (m *Metrics) AWSRefreshed(began time.Time, took time.Duration, complete bool) {
	m.amazon.refresh.Observe(took.Seconds())
	if complete {
		m.amazon.refreshed.Set(float64(began.Unix()))
	}
}

// AWSLaunchFailed counts a machine of a group that failed to launch.
func (m *Metrics) AWSLaunchFailed(group, code string) {
	m.amazon.failures.WithLabelValues(group, code).Inc()
}

// AWSDesiredCorrected counts a desired capacity that was raised again.
func (m *Metrics) AWSDesiredCorrected(group string) {
	m.amazon.corrections.WithLabelValues(group).Inc()
}

// AWSGroup is what is to be told of an Auto Scaling group at a moment. What is zero is not told, so that quiet groups make no series.
type AWSGroup struct {
	Name    string
	Missing int           // machines that AWS means to start
	Stale   time.Duration // how old the description of the group is, if it is older than it should be
	// SetAside is one word for why the group is left alone; empty: it isn't. There must be few such words.
	SetAside string
}

// AWSGroups makes the groups show. read is called at each scrape, from any goroutine; it must not block.
func (m *Metrics) AWSGroups(read func() []AWSGroup) { m.amazon.groups.read.Store(&read) }

// awsGroups tells of the groups that there are at the time of the scrape, so that groups which are gone leave nothing behind.
type awsGroups struct {
	read                     atomic.Pointer[func() []AWSGroup]
	missing, stale, setAside *prometheus.Desc
}

func newAWSGroups() *awsGroups {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), alpha+help, labels, nil)
	}
	return &awsGroups{
		missing:  desc("aws_missing_instances", "Number of machines that AWS means to start in the node group.", "node_group"),
		stale:    desc("aws_node_group_stale_seconds", "Age of the description of a node group that could not be read in time.", "node_group"),
		setAside: desc("aws_node_group_set_aside", "1 for each node group that is left alone.", "node_group", "reason"),
	}
}

// Describe tells which metrics there can be.
func (g *awsGroups) Describe(to chan<- *prometheus.Desc) {
	to <- g.missing
	to <- g.stale
	to <- g.setAside
}

// Collect tells of the groups.
func (g *awsGroups) Collect(to chan<- prometheus.Metric) {
	read := g.read.Load()
	if read == nil {
		return
	}
	tell := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, group := range (*read)() {
		if group.Missing > 0 {
			tell(g.missing, float64(group.Missing), group.Name)
		}
		if group.Stale > 0 {
			tell(g.stale, group.Stale.Seconds(), group.Name)
		}
		if group.SetAside != "" {
			tell(g.setAside, 1, group.Name, group.SetAside)
		}
	}
}
