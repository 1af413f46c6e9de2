package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// optional are the instruments that exist for some options only (operator-surface 2.3 and 2.6). Recording into one that is not registered
// does no harm.
type optional struct {
	aws       *prometheus.HistogramVec
	skipped   prometheus.Gauge
	latency   *prometheus.HistogramVec
	buffers   *prometheus.GaugeVec
	templates *prometheus.GaugeVec
}

// The buckets of the removal latency start at latencyStart seconds, each is latencyFactor times the one before.
const (
	latencyStart   = 1
	latencyFactor  = 1.5
	latencyBuckets = 19
)

func newOptional() optional {
	return optional{
		aws: histogramVec("aws_request_duration_seconds", "Time taken by AWS API calls, by operation and result.",
			[]float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 5, 10, 20, 30, 60}, "endpoint", "status"),
		skipped: gauge("max_node_skip_eval_duration_seconds", "Longest time for which a node was not looked at for removal."),
		latency: histogramVec("node_removal_latency_seconds", "Time from when a node could be removed until it was, or was needed again.",
			prometheus.ExponentialBuckets(latencyStart, latencyFactor, latencyBuckets), "deleted", "delay_reason"),
		buffers: gaugeVec("capacity_buffer_oldest_reconciliation_timestamp_seconds",
			"Unix time in seconds of the oldest latest reconciliation of a capacity buffer.", "new_buffer"),
		templates: gaugeVec("dra_node_template_resources_mismatch",
			"Number of devices that new nodes were wrongly predicted to have or to lack.", "driver", "mismatch_type"),
	}
}

func (o optional) collectors(options Options) []prometheus.Collector {
	all := []prometheus.Collector{o.templates}
	if options.AWS {
		all = append(all, o.aws)
	}
	if options.NodeSkips {
		all = append(all, o.skipped)
	}
	if options.RemovalLatency {
		all = append(all, o.latency)
	}
	if options.CapacityBuffers {
		all = append(all, o.buffers)
	}
	return all
}

// CloudCall records one request to the cloud's API. status is "success", an error code of the cloud, or "error".
func (m *Metrics) CloudCall(operation, status string, took time.Duration) {
	m.optional.aws.WithLabelValues(operation, status).Observe(took.Seconds())
}

// NodeSkipped records the longest time for which a node was not looked at for removal.
func (m *Metrics) NodeSkipped(longest time.Duration) { m.optional.skipped.Set(longest.Seconds()) }

// RemovalLatency records how long it took from when a node could be removed until it was (deleted), or was needed again. reason is what kept it
// last; empty: nothing did. Nothing is recorded for no time at all.
func (m *Metrics) RemovalLatency(deleted bool, reason string, took time.Duration) {
	if took <= 0 {
		return
	}
	if reason == "" {
		reason = "none"
	}
	m.optional.latency.WithLabelValues(strconv.FormatBool(deleted), reason).Observe(took.Seconds())
}

// BufferReconciled records when the capacity buffer whose latest reconciliation is oldest was reconciled, of those that are new or of the others.
func (m *Metrics) BufferReconciled(fresh bool, oldest time.Time) {
	m.optional.buffers.WithLabelValues(strconv.FormatBool(fresh)).Set(float64(oldest.Unix()))
}

// Mismatch is a way in which the devices of a new node differ from those predicted.
type Mismatch string

// The ways.
const (
	MismatchMissing Mismatch = "missing"
	MismatchExtra   Mismatch = "extra"
	MismatchCount   Mismatch = "mismatch"
	MismatchUnknown Mismatch = "unknown"
)

// Mispredicted records how many devices of a driver were predicted wrongly.
func (m *Metrics) Mispredicted(driver string, kind Mismatch, devices int) {
	m.optional.templates.WithLabelValues(driver, string(kind)).Set(float64(devices))
}
