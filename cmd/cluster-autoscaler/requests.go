package main

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
)

// requests measures the requests to the API server (operator-surface 2.7).
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	limiter  *prometheus.HistogramVec
}

// measureRequests makes client-go count its requests. client-go keeps the first registration of a process.
func measureRequests(registry prometheus.Registerer) {
	buckets := []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}
	r := requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total", Help: "[ALPHA] Number of requests to the API server, by status code, method and host.",
		}, []string{"code", "method", "host"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rest_client_request_duration_seconds", Help: "[ALPHA] Time taken by requests to the API server.", Buckets: buckets,
		}, []string{"verb", "host"}),
		limiter: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rest_client_rate_limiter_duration_seconds", Help: "[ALPHA] Time that requests waited for the client's own limit.", Buckets: buckets,
		}, []string{"verb", "host"}),
	}
	registry.MustRegister(r.total, r.duration, r.limiter)
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestResult: results{r.total}, RequestLatency: latencies{r.duration}, RateLimiterLatency: latencies{r.limiter},
	})
}

type results struct{ total *prometheus.CounterVec }

func (r results) Increment(_ context.Context, code, method, host string) {
	r.total.WithLabelValues(code, method, host).Inc()
}

type latencies struct{ seconds *prometheus.HistogramVec }

func (l latencies) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	l.seconds.WithLabelValues(verb, u.Host).Observe(took.Seconds())
}
