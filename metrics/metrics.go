package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	namespace = "cluster_autoscaler"
	alpha     = "[ALPHA] "
)

// Options choose the instruments that not everybody wants.
type Options struct {
	// PerNodeGroup adds the five gauges per node group.
	PerNodeGroup bool
	// AWS adds the durations of requests to AWS.
	AWS bool
}

// Metrics records facts. All methods are safe for concurrent use and do not block.
type Metrics struct {
	state      state
	execution  execution
	operations operations
	aws        *prometheus.HistogramVec // nil: not wanted
}

// New makes the instruments and registers them. An error means that the registry holds some of them already.
func New(registry prometheus.Registerer, options Options) (*Metrics, error) {
	m := &Metrics{state: newState(), execution: newExecution(), operations: newOperations()}
	all := append(m.state.collectors(options.PerNodeGroup), append(m.execution.collectors(), m.operations.collectors()...)...)
	if options.AWS {
		m.aws = histogramVec("aws_request_duration_seconds", "Time taken by AWS API calls, by operation and result.",
			[]float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 5, 10, 20, 30, 60}, "endpoint", "status")
		all = append(all, m.aws)
	}
	for _, collector := range all {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	m.operations.preset()
	return m, nil
}

// CloudCall records one request to the cloud's API. status is "success", an error code of the cloud, or "error". Without Options.AWS
// it does nothing.
func (m *Metrics) CloudCall(operation, status string, took time.Duration) {
	if m.aws != nil {
		m.aws.WithLabelValues(operation, status).Observe(took.Seconds())
	}
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: alpha + help})
}

func gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: alpha + help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: alpha + help})
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: alpha + help}, labels)
}

func histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: alpha + help, Buckets: buckets,
	}, labels)
}

// setAll sets the gauges of the given label values and those that were set before and are not given now to zero, so that a state that
// is over does not stay on dashboards.
func setAll[N int | float64](vec *prometheus.GaugeVec, known map[string]bool, values map[string]N) {
	for value := range values {
		known[value] = true
	}
	for value := range known {
		vec.WithLabelValues(value).Set(float64(values[value]))
	}
}
