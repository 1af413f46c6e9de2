package metrics

import (
	"fmt"
	"slices"

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
	// AWS adds what is told of AWS: requests, refreshes, launches that fail.
	AWS bool
	// DigitalOcean adds the requests to that API.
	DigitalOcean bool
	// NodeSkips adds the longest time that a node was not looked at (--max-node-skip-eval-time-tracker-enabled).
	NodeSkips bool
	// RemovalLatency adds the time between a node becoming removable and its removal (--node-removal-latency-tracking-enabled).
	RemovalLatency bool
	// CapacityBuffers adds the age of the oldest reconciliation of a capacity buffer (--capacity-buffer-controller-enabled).
	CapacityBuffers bool
}

// Metrics records facts. All methods are safe for concurrent use and do not block.
type Metrics struct {
	state      state
	execution  execution
	operations operations
	optional   optional
	amazon     amazon
	ocean      ocean
}

// New makes the instruments and registers them. An error means that the registry holds some of them already.
func New(registry prometheus.Registerer, options Options) (*Metrics, error) {
	m := &Metrics{state: newState(), execution: newExecution(), operations: newOperations(), optional: newOptional(), amazon: newAmazon(), ocean: newOcean()}
	all := slices.Concat(
		m.state.collectors(options.PerNodeGroup), m.execution.collectors(), m.operations.collectors(), m.optional.collectors(options),
	)
	if options.AWS {
		all = append(all, m.amazon.collectors()...)
	}
	if options.DigitalOcean {
		all = append(all, m.ocean.collectors()...)
	}
	for _, collector := range all {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	m.operations.preset()
	return m, nil
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
