package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// leaseName is the default name of the Lease.
const leaseName = "cluster-autoscaler"

func TestAStandbyIsHealthyAndTakesOverAsSoonAsTheLeaseIsFree(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(0, 5, 0))
	s.holdLease("another")
	a := s.installed("ca", "--leader-elect-lease-duration=10m", "--leader-elect-renew-deadline=5m") // a Lease that is not released takes ten minutes
	s.eventually("the standby answers", func(ctx context.Context) (bool, string, error) {
		status, text, err := a.Health(ctx)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // it is starting
		}
		return status == 200 && text == "OK", fmt.Sprint(status, text), nil
	})
	s.always(3*time.Second, "the standby shows no metrics of an autoscaler and writes no status", func(ctx context.Context) (bool, string, error) {
		page, err := a.Metrics(ctx)
		_, missing := s.cluster.Client.CoreV1().ConfigMaps(s.namespace).Get(ctx, "cluster-autoscaler-status", metav1.GetOptions{})
		return !strings.Contains(page, "cluster_autoscaler_") && apierrors.IsNotFound(missing), page, err
	})

	released := time.Now()
	s.freeLease()
	s.waitLoops()
	t.Logf("The standby took over within %.1f s", time.Since(released).Seconds())
}

func TestSIGTERMReleasesTheLeaseAndKeepsTheStatusWhileItCarriesState(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags []string
		kept  bool
	}{
		"with state":    {nil, true},
		"without state": {[]string{"--persist-state=false"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := parallelStory(t)
			s.group(workers(0, 5, 0))
			a := s.installed("ca", test.flags...)
			s.waitLoops()
			if holder := s.leaseHolder(); holder == "" {
				t.Error("nobody holds the Lease while the autoscaler runs")
			}
			s.endGracefully(a)
			if holder := s.leaseHolder(); holder != "" {
				t.Errorf("%q holds the Lease after the end", holder)
			}
			object, err := s.cluster.Client.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "cluster-autoscaler-status", metav1.GetOptions{})
			switch {
			case !test.kept && !apierrors.IsNotFound(err):
				t.Errorf("reading the status after the end: error %v, want NotFound", err)
			case test.kept && (err != nil || !strings.Contains(object.Data["status"], "autoscalerStatus: Initializing") || object.Data["state"] == ""):
				t.Errorf("the status after the end: %v, error %v; want it to initialize and to carry state", object, err)
			}
		})
	}
}

func TestAStandbyThatIsToldToEndEndsWithoutError(t *testing.T) {
	s := parallelStory(t)
	s.holdLease("another")
	a := s.installed("ca")
	s.eventually("the standby answers", func(ctx context.Context) (bool, string, error) {
		status, text, err := a.Health(ctx)
		if err != nil {
			return false, err.Error(), nil //nolint:nilerr // it is starting
		}
		return status == 200 && strings.Contains(logOf(t, a), "another"), text, nil
	})
	s.endGracefully(a)
	if holder := s.leaseHolder(); holder != "another" {
		t.Errorf("%q holds the Lease, want another", holder)
	}
}

func TestAProcessThatLosesItsLeaseEndsWith255(t *testing.T) {
	s := parallelStory(t)
	s.group(workers(0, 5, 0))
	a := s.installed("ca", "--leader-elect-lease-duration=12s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=1s")
	s.waitLoops()
	s.holdLease("another")
	select {
	case <-a.Done():
	case <-time.After(patience):
		t.Fatalf("it still runs %s after it lost the Lease", patience)
	}
	if code := a.ExitCode(); code != 255 {
		t.Errorf("exit code %d, want 255", code)
	}
	if log := logOf(t, a); !strings.Contains(log, "the leader Lease was lost") {
		t.Errorf("the log doesn't say why it ended: %s", tail(log))
	}
}

// freeLease releases the Lease as a leader does that ends.
func (s *story) freeLease() {
	s.t.Helper()
	s.changeLease(func(lease *coordinationv1.Lease) {
		lease.Spec.HolderIdentity = new("")
		lease.Spec.LeaseDurationSeconds = new(int32(1))
		lease.Spec.RenewTime = new(metav1.NowMicro())
	})
}

// holdLease makes somebody else the holder of the Lease, for longer than any story lasts.
func (s *story) holdLease(holder string) {
	s.t.Helper()
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: new(int32(1200)), AcquireTime: new(metav1.NowMicro()), RenewTime: new(metav1.NowMicro()),
	}
	leases := s.cluster.Client.CoordinationV1().Leases(s.namespace)
	_, err := leases.Create(s.t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: leaseName}, Spec: spec}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		s.changeLease(func(lease *coordinationv1.Lease) { lease.Spec = spec })
	} else if err != nil {
		s.t.Fatalf("making the Lease: %v", err)
	}
}

func (s *story) changeLease(change func(*coordinationv1.Lease)) {
	s.t.Helper()
	leases := s.cluster.Client.CoordinationV1().Leases(s.namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		lease, err := leases.Get(s.t.Context(), leaseName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(lease)
		_, err = leases.Update(s.t.Context(), lease, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		s.t.Fatalf("changing the Lease: %v", err)
	}
}

func (s *story) leaseHolder() string {
	s.t.Helper()
	lease, err := s.cluster.Client.CoordinationV1().Leases(s.namespace).Get(s.t.Context(), leaseName, metav1.GetOptions{})
	if err != nil {
		s.t.Fatalf("reading the Lease: %v", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func TestMetricsAreWellFormedAndTheStatusIsYAML(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 2))
	s.deployment("web", 4, "1200m", "1Gi")
	a := s.installed("ca", "--emit-per-nodegroup-metrics=true")
	s.waitRunning("web", 4)
	s.scale("web", 2)
	s.waitNodes(2)

	page, err := a.Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(strings.NewReader(page + "\n")).Lint()
	if err != nil {
		t.Fatalf("linting the metrics: %v", err)
	}
	for _, problem := range problems {
		if !nameOnly(problem) {
			t.Errorf("metric %s: %s", problem.Metric, problem.Text)
		}
	}
	for _, want := range []string{
		"cluster_autoscaler_scaled_up_nodes_total{", "cluster_autoscaler_cluster_safe_to_autoscale 1",
		`cluster_autoscaler_nodes_count{state="ready"}`, "cluster_autoscaler_aws_request_duration_seconds_count{", "rest_client_requests_total{",
	} {
		if !strings.Contains(page, "\n"+want) {
			t.Errorf("the metrics don't contain %s", want)
		}
	}
	document, err := s.status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var status struct {
		AutoscalerStatus string
		ClusterWide      struct{ Health struct{ Status string } }
		NodeGroups       []struct{ Name string }
	}
	if err := yaml.Unmarshal([]byte(document), &status); err != nil {
		t.Fatalf("the status is no YAML: %v\n%s", err, document)
	}
	if status.AutoscalerStatus != "Running" || status.ClusterWide.Health.Status != "Healthy" || len(status.NodeGroups) != 1 || status.NodeGroups[0].Name != group {
		t.Errorf("the status says %+v", status)
	}
}

// pinned are the metrics whose names the linter dislikes and which cannot be renamed, as dashboards and alerts read them
// (operator-surface §2).
var pinned = map[string]bool{
	"cluster_autoscaler_inconsistent_instances_migs_count":    true,
	"cluster_autoscaler_max_nodes_count":                      true,
	"cluster_autoscaler_node_group_max_count":                 true,
	"cluster_autoscaler_node_group_min_count":                 true,
	"cluster_autoscaler_node_group_target_count":              true,
	"cluster_autoscaler_node_groups_count":                    true,
	"cluster_autoscaler_node_taints_count":                    true,
	"cluster_autoscaler_nodes_count":                          true,
	"cluster_autoscaler_old_unregistered_nodes_removed_count": true,
	"cluster_autoscaler_overflowing_controllers_count":        true,
	"cluster_autoscaler_skipped_pods_count":                   true,
	"cluster_autoscaler_skipped_scale_events_count":           true,
	"cluster_autoscaler_unneeded_nodes_count":                 true,
	"cluster_autoscaler_unremovable_nodes_count":              true,
	"cluster_autoscaler_unschedulable_pods_count":             true,
}

// nameOnly tells a problem of a pinned name; there are two ways to complain about a suffix.
func nameOnly(problem promlint.Problem) bool {
	return pinned[problem.Metric] && strings.Contains(problem.Text, "suffix")
}
