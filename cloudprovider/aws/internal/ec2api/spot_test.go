package ec2api_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/ec2api"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/endpoint"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
)

var noon = time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)

// connect makes a client for a stand-in with the zones a and b.
func connect(t *testing.T) (*awstest.Server, *clocktesting.FakeClock, *ec2api.Client) {
	t.Helper()
	clock := clocktesting.NewFakeClock(noon)
	server, err := awstest.New(awstest.Config{Clock: clock, Region: "eu-west-1", Zones: []string{"eu-west-1a", "eu-west-1b"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, clock, ec2api.New(aws.Config{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL()), RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("K", "s", ""),
	}, endpoint.Override{})
}

func TestOnlyThePresentPriceOfEachPoolIsRead(t *testing.T) {
	server, clock, client := connect(t)
	server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", PerHour: 0.01})
	clock.Step(time.Minute)
	server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", PerHour: 0.02})
	server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1b", PerHour: 0.03})
	server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "eu-west-1a", Product: awstest.SpotWindows, PerHour: 0.09})
	clock.Step(time.Minute)
	got, err := client.SpotPrices(t.Context(), []string{"m5.large", "nobody.knows"}, []prices.System{prices.Linux, prices.Windows}, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]float64{}
	for _, p := range got {
		table[p.Type+" "+p.Zone+" "+string(p.System)] = p.PerHour
	}
	delete(table, "m5.large eu-west-1b windows") // nobody set it
	want := map[string]float64{"m5.large eu-west-1a linux": 0.02, "m5.large eu-west-1b linux": 0.03, "m5.large eu-west-1a windows": 0.09}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
	if len(got) != 4 {
		t.Errorf("%d prices for 4 pools", len(got))
	}
}

func TestManyTypesAreAskedForInTurn(t *testing.T) {
	server, clock, client := connect(t)
	var names []string
	for i := range 250 {
		names = append(names, fmt.Sprintf("m%d.large", i))
	}
	if _, err := client.SpotPrices(t.Context(), names, []prices.System{prices.Linux}, clock.Now()); err != nil {
		t.Fatal(err)
	}
	if got := server.Count("DescribeSpotPriceHistory"); got != 3 {
		t.Errorf("%d calls, want 3", got)
	}
	if got, err := client.SpotPrices(t.Context(), nil, []prices.System{prices.Linux}, clock.Now()); err != nil || len(got) != 0 || server.Count("DescribeSpotPriceHistory") != 3 {
		t.Errorf("no types give %v, %v", got, err)
	}
	server.Deny("ec2:DescribeSpotPriceHistory")
	if _, err := client.SpotPrices(t.Context(), names, []prices.System{prices.Linux}, clock.Now()); faults.ClassOf(err) != faults.Denied {
		t.Errorf("denied: %v", err)
	}
}
