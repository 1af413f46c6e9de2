package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ocean are the instruments of the DigitalOcean provider (digitalocean 14.2).
type ocean struct {
	calls     *prometheus.CounterVec
	throttled *prometheus.CounterVec
	duration  *prometheus.HistogramVec
}

func newOcean() ocean {
	return ocean{
		calls:     counterVec("digitalocean_api_calls_total", "Number of requests to the DigitalOcean API, second tries included, by result.", "operation", "code"),
		throttled: counterVec("digitalocean_throttled_total", "Number of requests that DigitalOcean refused because there were too many.", "operation"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "digitalocean_request_duration_seconds", Help: alpha + "Time taken by requests to the DigitalOcean API.",
			Buckets: []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10},
		}, []string{"operation"}),
	}
}

func (o ocean) collectors() []prometheus.Collector {
	return []prometheus.Collector{o.calls, o.throttled, o.duration}
}

// DigitalOceanCall records one request. code is "success", an error id of the API, or "error".
func (m *Metrics) DigitalOceanCall(operation, code string, took time.Duration, throttled bool) {
	m.ocean.calls.WithLabelValues(operation, code).Inc()
	m.ocean.duration.WithLabelValues(operation).Observe(took.Seconds())
	if throttled {
		m.ocean.throttled.WithLabelValues(operation).Inc()
	}
}
