package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/core/health"
)

// answer is what matters of an HTTP answer.
type answer struct {
	status   int
	location string
	body     string // only where a case wants one
}

func TestOnlyTheDocumentedPathsAreServed(t *testing.T) {
	tests := map[string]struct {
		method, path string
		profiling    bool
		want         answer
	}{
		"metrics":                          {path: "/metrics", want: answer{status: 200}},
		"metrics take no writes":           {method: http.MethodPost, path: "/metrics", want: answer{status: 405}},
		"health":                           {path: "/health-check", want: answer{status: 200, body: "OK"}},
		"health by any method":             {method: http.MethodPost, path: "/health-check", want: answer{status: 200, body: "OK"}},
		"paths match exactly":              {path: "/health-check/", want: answer{status: 404}},
		"no root":                          {path: "/", want: answer{status: 404}},
		"no healthz":                       {path: "/healthz", want: answer{status: 404}},
		"no readyz":                        {path: "/readyz", want: answer{status: 404}},
		"no snapshots":                     {path: "/snapshotz", want: answer{status: 404}},
		"no profiles without the flag":     {path: "/debug/pprof/heap", want: answer{status: 404}},
		"no profile index without it":      {path: "/debug/pprof", want: answer{status: 404}},
		"profile index moves":              {path: "/debug/pprof", profiling: true, want: answer{status: 302, location: "/debug/pprof/"}},
		"profile index":                    {path: "/debug/pprof/", profiling: true, want: answer{status: 200}},
		"heap profile":                     {path: "/debug/pprof/heap", profiling: true, want: answer{status: 200}},
		"goroutine profile":                {path: "/debug/pprof/goroutine", profiling: true, want: answer{status: 200}},
		"symbols":                          {path: "/debug/pprof/symbol", profiling: true, want: answer{status: 200}},
		"the command line is kept private": {path: "/debug/pprof/cmdline", profiling: true, want: answer{status: 404}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			check := health.New(clocktesting.NewFakeClock(time.Unix(0, 0)), health.Limits{})
			method := test.method
			if method == "" {
				method = http.MethodGet
			}
			recorder := httptest.NewRecorder()
			handler(prometheus.NewRegistry(), check, test.profiling).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, test.path, nil))
			got := answer{status: recorder.Code, location: recorder.Header().Get("Location")}
			if test.want.body != "" {
				got.body = recorder.Body.String()
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(answer{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnUnhealthyLoopAnswers500WithTheAges(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	check := health.New(clock, health.Limits{Inactivity: time.Minute, Failing: time.Minute, Startup: time.Minute})
	check.Monitor()
	clock.Step(2 * time.Minute)
	recorder := httptest.NewRecorder()
	handler(prometheus.NewRegistry(), check, false).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health-check", nil))
	if recorder.Code != 500 || !strings.Contains(recorder.Body.String(), "last activity 2m0s ago") {
		t.Errorf("answer %d %q, want 500 and the age", recorder.Code, recorder.Body.String())
	}
}

func TestAnAddressInUseIsNamed(t *testing.T) {
	first, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	address := first.Addr().String()
	_, err = listen(t.Context(), address)
	if err == nil || !strings.HasPrefix(err.Error(), `--address="`+address+`": want a free address to listen on: `) {
		t.Errorf("error %v, want it to name flag and address", err)
	}
}

func TestServingEndsWithItsContext(t *testing.T) {
	listener, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- serve(ctx, listener, http.NotFoundHandler()) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, reply.Body)
	reply.Body.Close()
	if reply.StatusCode != 404 {
		t.Errorf("status %d, want 404", reply.StatusCode)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("error %v, want none: it was told to end", err)
	}
}
