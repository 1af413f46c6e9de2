package aws_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// listening returns a context whose log lines at verbosity 0 arrive in the channel.
func listening(t *testing.T) (context.Context, <-chan string) {
	t.Helper()
	lines := make(chan string, 1000)
	logger := funcr.New(func(_, line string) { lines <- line }, funcr.Options{})
	return klog.NewContext(context.WithoutCancel(t.Context()), logger), lines
}

// wait returns the first line that holds the text.
func wait(t *testing.T, lines <-chan string, text string) string {
	t.Helper()
	for {
		select {
		case line := <-lines:
			if strings.Contains(line, text) {
				return line
			}
		case <-time.After(time.Minute): // far longer than it takes on a loaded machine
			t.Fatalf("nobody said %q", text)
		}
	}
}

func TestTheIdentityIsToldOnceInTheBackground(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:10:plain"}, ReportIdentity: true}, awstest.Group{Name: "plain", Max: 10})
	ctx, lines := listening(t)
	if err := r.provider.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	line := wait(t, lines, "Calling AWS")
	for _, want := range []string{`"account"="111122223333"`, `"identity"="arn:aws:sts::111122223333:assumed-role/cluster-autoscaler/session"`, `"credentials"=`} {
		if !strings.Contains(line, want) {
			t.Errorf("line %s lacks %s", line, want)
		}
	}
	r.after(time.Minute)
	if got := r.count("GetCallerIdentity"); got != 1 {
		t.Errorf("%d questions", got)
	}
}

func TestAnIdentityThatNobodyTellsChangesNothing(t *testing.T) {
	r := newRig(t, aws.Options{Nodes: []string{"0:10:plain"}, ReportIdentity: true}, awstest.Group{Name: "plain", Max: 10})
	r.server.Inject(awstest.Fault{Action: "GetCallerIdentity", Count: awstest.Always, Effect: awstest.ErrorAnswer{Status: 500, Code: "InternalFailure"}})
	ctx, lines := listening(t)
	if err := r.provider.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if line := wait(t, lines, "AWS does not tell as whom it is called"); !strings.Contains(line, "InternalFailure") {
		t.Errorf("line %s", line)
	}
	if got := r.names(); len(got) != 1 {
		t.Errorf("groups %v", got)
	}
}

// What goes wrong with prices is told once, and once more when it is over.
func TestTroubleWithPricesIsToldOnce(t *testing.T) {
	r := priced(t, aws.Options{}, awstest.Group{Name: "plain", Max: 10})
	ctx, lines := listening(t)
	refresh := func() {
		t.Helper()
		if err := r.provider.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		r.provider.WaitForPrices()
		r.clock.Step(31 * time.Minute)
		r.server.Advance()
	}
	r.server.Deny("pricing:GetProducts")
	refresh()
	refresh()
	refresh()
	r.server.Allow("pricing:GetProducts")
	refresh()
	refresh()
	var told []string
	for len(lines) > 0 {
		if line := <-lines; strings.Contains(line, "prices from AWS") {
			told = append(told, line)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "Cannot read prices from AWS") || !strings.Contains(told[0], "AccessDeniedException") ||
		!strings.Contains(told[0], `"formulaAsOf"="2025"`) || !strings.Contains(told[1], "Read prices from AWS") {
		t.Errorf("told %q", told)
	}
}

func TestARegionWithoutAPriceListIsToldOnce(t *testing.T) {
	clock := clocktesting.NewFakeClock(eight)
	server, err := awstest.New(awstest.Config{Clock: clock, Region: "us-gov-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", Spot: true}}})
	if err := server.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	r.add(awstest.Group{Name: "plain", Max: 10, Zones: []string{"us-gov-west-1a"}})
	r.provider = r.connect(aws.Options{Nodes: []string{"0:10:plain"}, ReadPrices: true, SDK: []func(*config.LoadOptions) error{config.WithRegion("us-gov-west-1")}})
	server.SetSpotPrice(awstest.SpotPrice{Type: "m5.large", Zone: "us-gov-west-1a", PerHour: 0.04})
	ctx, lines := listening(t)
	told := 0
	for range 3 {
		if err := r.provider.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
		r.provider.WaitForPrices()
		clock.Step(time.Hour)
	}
	for len(lines) > 0 {
		if strings.Contains(<-lines, "No Pricing API tells prices of the region") {
			told++
		}
	}
	if told != 1 || r.count("GetProducts") != 0 {
		t.Errorf("told %d times, %d questions", told, r.count("GetProducts"))
	}
	r.wantPrice("plain", "us-gov-west-1a", 0.04)
}

// All services have to be reached by the address of the cloud config, with its path, and under the name by which operators find calls.
func TestServiceOverridesHoldForEveryService(t *testing.T) {
	server, clock := newStandIn(t)
	r := &rig{t: t, clock: clock, server: server, observed: &observed{}}
	nodegroup := awstest.Nodegroup{Cluster: "c", Name: "ng"}
	if err := server.PutNodegroup(nodegroup); err != nil {
		t.Fatal(err)
	}
	r.add(awstest.Group{Name: "eks", Max: 10, Tags: nodegroup.GroupTags()})
	var file strings.Builder
	for _, service := range []string{"autoscaling", "ec2", "eks", "sts", "pricing"} {
		fmt.Fprintf(&file, "[ServiceOverride %q]\nService=%s\nRegion=eu-west-1\nURL=%s/behind/%s\nSigningRegion=eu-west-1\n", service, service, server.URL(), service)
	}
	r.provider = r.connect(aws.Options{
		Nodes: []string{"0:10:eks"}, CloudConfig: []byte(file.String()), ReadPrices: true, ReportIdentity: true, Version: "9.8.7",
		SDK: []func(*config.LoadOptions) error{config.WithBaseEndpoint("http://127.0.0.1:1")},
	})
	ctx, lines := listening(t)
	if err := r.provider.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	wait(t, lines, "Calling AWS")
	r.provider.WaitForPrices()
	seen := map[awstest.Service]bool{}
	for _, call := range server.Calls() {
		seen[call.Service] = true
		if !strings.Contains(call.UserAgent, "cluster-autoscaler/9.8.7") || call.Code != "" {
			t.Errorf("%s by %q: %s", call.Action, call.UserAgent, call.Code)
		}
	}
	for _, service := range []awstest.Service{awstest.AutoScaling, awstest.EC2, awstest.EKS, awstest.STS, awstest.Pricing} {
		if !seen[service] {
			t.Errorf("%s was not reached", service)
		}
	}
}
