package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/config"
)

// refusing is a cloud whose refresh fails.
type refusing struct {
	cloudprovider.CloudProvider
	err error
}

func (r refusing) Name() string                  { return "nimbus" }
func (r refusing) Refresh(context.Context) error { return r.err }

func TestOnlyAMistakeInTheConfigurationOfTheCloudEndsTheStart(t *testing.T) {
	expired := errors.New("the token has expired")
	tests := map[string]struct {
		err  error
		want string // of the error; empty: none
	}{
		"all is well":              {},
		"wrong credentials":        {err: &cloudprovider.ConfigurationError{Err: expired}, want: "asking the cloud provider nimbus for its node groups: "},
		"what passes by itself":    {err: &cloudprovider.TransientError{Err: errors.New("throttled")}},
		"something not foreseen":   {err: errors.New("a strange answer")},
		"a group that isn't there": {err: &cloudprovider.GoneError{Group: "g", Err: errors.New("unknown")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := proveCloud(t.Context(), refusing{err: test.err})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want) || !errors.Is(err, expired)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestLimitsAndDefaultsOfTheFlagsReachTheObservation(t *testing.T) {
	parsed, err := config.Parse([]string{
		"--cores-total=1:20", "--memory-total=2:40", "--gpu-total=nvidia-tesla-t4:0:3", "--scale-down-unneeded-time=7m",
		"--scale-down-utilization-threshold=0.4", "--expendable-pods-priority-cutoff=-5", "--bypassed-scheduler-names=other",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := core.ObservationOptions(parsed.Options)
	limits := cloudprovider.ResourceLimits{
		Min: map[string]int64{"cpu": 1, "memory": parsed.Options.Limits.Memory.Min, "nvidia-tesla-t4": 0},
		Max: map[string]int64{"cpu": 20, "memory": parsed.Options.Limits.Memory.Max, "nvidia-tesla-t4": 3},
	}
	if diff := cmp.Diff(limits, got.Limits); diff != "" {
		t.Errorf("limits: %s", diff)
	}
	if limits.Max["memory"] <= limits.Min["memory"] {
		t.Errorf("memory from %d to %d", limits.Min["memory"], limits.Max["memory"])
	}
	d := got.GroupDefaults
	if d.ScaleDownUnneededTime != 7*time.Minute || d.ScaleDownUtilizationThreshold != 0.4 || got.ExpendableCutoff != -5 ||
		!cmp.Equal(got.BypassedSchedulers, []string{"other"}) {
		t.Errorf("options %+v", got)
	}
}

func TestRequestsToTheAPIServerAreCountedByCodeMethodAndHost(t *testing.T) {
	vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests"}, []string{"code", "method", "host"})
	results{vector}.Increment(t.Context(), "200", "GET", "one")
	results{vector}.Increment(t.Context(), "403", "GET", "one")
	results{vector}.Increment(t.Context(), "200", "GET", "one")
	if got := testutil.ToFloat64(vector.WithLabelValues("200", "GET", "one")); got != 2 {
		t.Errorf("%v successes counted, want 2", got)
	}
}

func TestLoggingFlagsThatContradictAreRefused(t *testing.T) {
	parsed, err := config.Parse([]string{"--v=3", "--logging-format=json"})
	if err != nil {
		t.Fatal(err)
	}
	options := parsed.Options.Logging
	options.Format = "scroll"
	if err := setUpLogging(options); err == nil || !strings.HasPrefix(err.Error(), "applying the logging flags: ") {
		t.Errorf("error %v, want one about the format", err)
	}
}
