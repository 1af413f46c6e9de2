//go:build aws || !(digitalocean || externalgrpc)

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/metrics"
)

func TestWhatAWSTellsBecomesMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry, metrics.Options{AWS: true})
	if err != nil {
		t.Fatal(err)
	}
	meter := awsMeter{m}
	showAWSGroups(refusing{}, m) // a cloud that isn't AWS tells nothing of its groups
	for _, call := range []cloudprovider.Call{
		{Provider: "aws", Service: "autoscaling", Operation: "SetDesiredCapacity", Code: "Throttling", Throttled: true, Duration: time.Second},
		{Provider: "aws", Service: "ec2", Operation: "DescribeInstanceTypes", Code: "success"},
	} {
		meter.ObserveCall(call)
	}
	for _, event := range []cloudprovider.Event{
		{Provider: "aws", Kind: cloudprovider.EventRefreshed, Code: "success", At: time.Unix(60, 0), Duration: time.Second},
		{Provider: "aws", Kind: cloudprovider.EventRefreshed, Code: "Throttling", At: time.Unix(120, 0)},
		{Provider: "aws", Kind: cloudprovider.EventLaunchFailed, Group: "g", Code: "VcpuLimitExceeded"},
		{Provider: "aws", Kind: cloudprovider.EventSizeCorrected, Group: "g"},
	} {
		meter.ObserveEvent(event)
	}
	want := `
# HELP cluster_autoscaler_aws_api_calls_total [ALPHA] Number of requests to AWS APIs, retries included, by result.
# TYPE cluster_autoscaler_aws_api_calls_total counter
cluster_autoscaler_aws_api_calls_total{action="DescribeInstanceTypes",code="success",service="ec2"} 1
cluster_autoscaler_aws_api_calls_total{action="SetDesiredCapacity",code="Throttling",service="autoscaling"} 1
# HELP cluster_autoscaler_aws_last_successful_refresh_timestamp_seconds [ALPHA] Unix time in seconds at which all Auto Scaling groups were last read completely.
# TYPE cluster_autoscaler_aws_last_successful_refresh_timestamp_seconds gauge
cluster_autoscaler_aws_last_successful_refresh_timestamp_seconds 60
# HELP cluster_autoscaler_aws_launch_failures_total [ALPHA] Number of machines that failed to launch, by the reason that AWS gives.
# TYPE cluster_autoscaler_aws_launch_failures_total counter
cluster_autoscaler_aws_launch_failures_total{code="VcpuLimitExceeded",node_group="g"} 1
# HELP cluster_autoscaler_aws_desired_corrections_total [ALPHA] Number of desired capacities that were raised again because there were more machines than were known when they were written.
# TYPE cluster_autoscaler_aws_desired_corrections_total counter
cluster_autoscaler_aws_desired_corrections_total{node_group="g"} 1
# HELP cluster_autoscaler_aws_throttled_total [ALPHA] Number of requests that AWS refused because there were too many.
# TYPE cluster_autoscaler_aws_throttled_total counter
cluster_autoscaler_aws_throttled_total{action="SetDesiredCapacity"} 1
`
	const prefix = "cluster_autoscaler_aws_"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), prefix+"api_calls_total", prefix+"last_successful_refresh_timestamp_seconds",
		prefix+"launch_failures_total", prefix+"desired_corrections_total", prefix+"throttled_total"); err != nil {
		t.Error(err)
	}
	if got := testutil.CollectAndCount(registry, prefix+"request_duration_seconds"); got != 1 {
		t.Errorf("%d series of durations", got)
	}
}
