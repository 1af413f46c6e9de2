package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/cluster-autoscaler/metrics"
)

func TestRequestsToAWSAreCountedByResult(t *testing.T) {
	m, registry := newMetrics(t, metrics.Options{AWS: true})
	m.AWSCall("autoscaling", "DescribeAutoScalingGroups", "success", false)
	m.AWSCall("autoscaling", "DescribeAutoScalingGroups", "Throttling", true)
	m.AWSCall("ec2", "DescribeImages", "error", false)
	m.AWSRefreshed(time.Unix(100, 0), time.Second, true)
	m.AWSRefreshed(time.Unix(160, 0), time.Second, false)
	m.AWSLaunchFailed("a", "InsufficientInstanceCapacity")
	m.AWSDesiredCorrected("a")
	want := map[string]float64{
		"aws_api_calls_total{action=DescribeAutoScalingGroups,code=success,service=autoscaling}":    1,
		"aws_api_calls_total{action=DescribeAutoScalingGroups,code=Throttling,service=autoscaling}": 1,
		"aws_api_calls_total{action=DescribeImages,code=error,service=ec2}":                         1,
		"aws_throttled_total{action=DescribeAutoScalingGroups}":                                     1,
		"aws_refresh_duration_seconds":                                                              2,
		"aws_last_successful_refresh_timestamp_seconds":                                             100,
		"aws_launch_failures_total{code=InsufficientInstanceCapacity,node_group=a}":                 1,
		"aws_desired_corrections_total{node_group=a}":                                               1,
	}
	if diff := cmp.Diff(want, only(series(t, registry), "aws_")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestGroupsShowAsTheyAreAtTheScrapeAndQuietOnesDoNot(t *testing.T) {
	m, registry := newMetrics(t, metrics.Options{AWS: true})
	groups := []metrics.AWSGroup{{Name: "a", Missing: 2}, {Name: "b", Stale: time.Minute, SetAside: "stale"}, {Name: "c"}}
	m.AWSGroups(func() []metrics.AWSGroup { return groups })
	want := map[string]float64{
		"aws_missing_instances{node_group=a}":                 2,
		"aws_node_group_stale_seconds{node_group=b}":          60,
		"aws_node_group_set_aside{node_group=b,reason=stale}": 1,
		"aws_last_successful_refresh_timestamp_seconds":       0,
		"aws_refresh_duration_seconds":                        0,
	}
	if diff := cmp.Diff(want, only(series(t, registry), "aws_")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	groups = nil
	if got := only(series(t, registry), "aws_node_group"); len(got) != 0 {
		t.Errorf("groups that are gone still show: %v", got)
	}
}
