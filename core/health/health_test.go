package health_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/core/health"
)

func TestCheck(t *testing.T) {
	limits := health.Limits{Inactivity: 10 * time.Minute, Failing: 15 * time.Minute, Startup: 20 * time.Minute}
	type step struct {
		after time.Duration
		do    string
	}
	tests := map[string]struct {
		steps []step
		want  int
	}{
		"a standby is healthy for ever": {
			steps: []step{{after: 100 * time.Hour}}, want: http.StatusOK,
		},
		"a leader that starts up has the whole startup time": {
			steps: []step{{do: "monitor"}, {after: 20 * time.Minute}}, want: http.StatusOK,
		},
		"a leader whose start never ends is unhealthy after the startup time": {
			steps: []step{{do: "monitor"}, {after: 20*time.Minute + time.Second}}, want: http.StatusInternalServerError,
		},
		"time as a standby does not count against a new leader": {
			steps: []step{{after: time.Hour, do: "monitor"}, {after: time.Minute}}, want: http.StatusOK,
		},
		"before the first success even many iterations do not outlast the startup time": {
			steps: []step{{do: "monitor"}, {after: 19 * time.Minute, do: "active"}, {after: 90 * time.Second}},
			want:  http.StatusInternalServerError,
		},
		"a loop that stands still is unhealthy after the inactivity limit": {
			steps: []step{{do: "monitor"}, {do: "succeed"}, {after: 10*time.Minute + time.Second}}, want: http.StatusInternalServerError,
		},
		"a success counts as activity": {
			steps: []step{{do: "monitor"}, {do: "succeed"}, {after: 9 * time.Minute, do: "succeed"}, {after: 9 * time.Minute}}, want: http.StatusOK,
		},
		"a loop that runs and fails is unhealthy after the failing limit": {
			steps: []step{
				{do: "monitor"}, {do: "succeed"}, {after: 8 * time.Minute, do: "active"}, {after: 7*time.Minute + time.Second, do: "active"},
			},
			want: http.StatusInternalServerError,
		},
		"a loop that fails is healthy up to the failing limit": {
			steps: []step{{do: "monitor"}, {do: "succeed"}, {after: 8 * time.Minute, do: "active"}, {after: 7 * time.Minute, do: "active"}},
			want:  http.StatusOK,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC))
			check := health.New(clock, limits)
			for _, step := range test.steps {
				clock.SetTime(clock.Now().Add(step.after))
				switch step.do {
				case "monitor":
					check.Monitor()
				case "active":
					check.Active()
				case "succeed":
					check.Succeeded()
				}
			}
			answer := httptest.NewRecorder()
			check.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/health-check", nil))
			if answer.Code != test.want {
				t.Errorf("status %d, want %d (%s)", answer.Code, test.want, answer.Body)
			}
			if test.want == http.StatusInternalServerError && !strings.Contains(answer.Body.String(), "last success") {
				t.Errorf("the body %q does not name the age of the last success", answer.Body)
			}
		})
	}
}
