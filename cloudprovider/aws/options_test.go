package aws_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws"
	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

// isolated keeps the environment of this machine out.
func isolated(t *testing.T, region string) {
	t.Helper()
	for _, name := range []string{
		"AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_AUTO_SCALING", "AWS_ENDPOINT_URL_EC2", "AWS_MAX_ATTEMPTS", "AWS_CA_BUNDLE",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_REGION", region)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
}

func TestAllThatIsWrongWithTheOptionsIsToldAtOnce(t *testing.T) {
	isolated(t, "")
	_, err := aws.New(testContext(t), aws.Options{
		Clock: clocktesting.NewFakeClock(eight), Nodes: []string{"1:2"}, AutoDiscovery: []string{"mig:tag=x"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`--nodes="1:2"`, `--node-group-auto-discovery="mig:tag=x"`, "the AWS region is not known: set AWS_REGION", "instance metadata service"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
	if _, err := aws.New(testContext(t), aws.Options{}); err == nil {
		t.Error("a provider without a clock")
	}
	_, err = aws.New(testContext(t), aws.Options{Clock: clocktesting.NewFakeClock(eight), CloudConfig: []byte("[ServiceOverride \"1\"]\n")})
	if err == nil || !strings.Contains(err.Error(), "lacks the key Service") {
		t.Errorf("a broken cloud config: %v", err)
	}
	isolated(t, "eu-west-1")
	t.Setenv("AWS_MAX_ATTEMPTS", "many")
	if _, err := aws.New(testContext(t), aws.Options{Clock: clocktesting.NewFakeClock(eight)}); err == nil || !strings.Contains(err.Error(), "AWS_MAX_ATTEMPTS") {
		t.Errorf("AWS_MAX_ATTEMPTS=many: %v", err)
	}
}

func TestTheRegionIsFoundInOrder(t *testing.T) {
	override := "[ServiceOverride \"1\"]\nService=autoscaling\nRegion=%R\nURL=%U\nSigningRegion=%R\n"
	tests := map[string]struct {
		region, fallback string
		config           string
		want             string
	}{
		"AWS_REGION":                             {region: " eu-west-1 ", fallback: "us-east-1", config: "[Global]\nRegion=us-west-1\n", want: "eu-west-1"},
		"AWS_DEFAULT_REGION":                     {fallback: "eu-west-1", config: "[Global]\nRegion=us-west-1\n", want: "eu-west-1"},
		"the region of the cloud config":         {config: "[Global]\nRegion=eu-west-1\nZone=us-west-1a\n", want: "eu-west-1"},
		"the zone of the cloud config":           {config: "[Global]\nZone=eu-west-1a\n", want: "eu-west-1"},
		"a Local Zone":                           {config: "[Global]\nZone=eu-west-1-lax-1a\n", want: "eu-west-1"},
		"a zone of a partition with a long name": {config: "[Global]\nZone=us-gov-west-1b\n", want: "us-gov-west-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			isolated(t, test.region)
			t.Setenv("AWS_DEFAULT_REGION", test.fallback)
			t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			server, clock := newStandIn(t)
			text := test.config + strings.NewReplacer("%R", test.want, "%U", server.URL()).Replace(override)
			provider, err := aws.New(testContext(t), aws.Options{Clock: clock, Nodes: []string{"0:1:a"}, CloudConfig: []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			_ = provider.Refresh(testContext(t)) // the stand-in has one region only; what counts is what was asked
			calls := server.Calls()
			if len(calls) == 0 || calls[0].Region != test.want {
				t.Errorf("calls %+v, want one signed for %s", calls, test.want)
			}
		})
	}
}

func TestEndpointsAndSignatures(t *testing.T) {
	isolated(t, "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	generic, clock := newStandIn(t)
	special, _ := newStandIn(t)
	for _, server := range []*awstest.Server{generic, special} {
		if err := server.AddGroup(awstest.Group{Name: "a", Max: 2, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}}); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", generic.URL()+"/some/path")
	refresh := func(cloudConfig string) {
		t.Helper()
		generic.ForgetCalls()
		special.ForgetCalls()
		provider, err := aws.New(testContext(t), aws.Options{Clock: clock, Nodes: []string{"0:1:a"}, CloudConfig: []byte(cloudConfig), Version: "1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		if err := provider.Refresh(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	actions := func(server *awstest.Server) []string {
		var names []string
		for _, call := range server.Calls() {
			names = append(names, call.Action)
			if !strings.Contains(call.UserAgent, "cluster-autoscaler/1.2.3") {
				t.Errorf("user agent %q", call.UserAgent)
			}
		}
		return names
	}
	refresh("")
	all := []string{"DescribeAutoScalingGroups", "DescribeLaunchTemplateVersions", "DescribeInstanceTypes", "DescribeAvailabilityZones"}
	if diff := cmp.Diff(all, actions(generic)); diff != "" {
		t.Errorf("AWS_ENDPOINT_URL (-want +got):\n%s", diff)
	}
	t.Setenv("AWS_ENDPOINT_URL_AUTO_SCALING", special.URL())
	refresh("")
	if diff := cmp.Diff([]string{"DescribeAutoScalingGroups"}, actions(special)); diff != "" {
		t.Errorf("AWS_ENDPOINT_URL_AUTO_SCALING (-want +got):\n%s", diff)
	}
	t.Setenv("AWS_ENDPOINT_URL_AUTO_SCALING", "")
	refresh("[ServiceOverride \"1\"]\nService=ec2\nRegion=eu-west-1\nURL=" + special.URL() + "\nSigningRegion=eu-west-1\n" +
		"[ServiceOverride \"2\"]\nService=autoscaling\nRegion=us-east-1\nURL=" + special.URL() + "\nSigningRegion=us-east-1\n")
	if diff := cmp.Diff([]string{"DescribeLaunchTemplateVersions", "DescribeInstanceTypes", "DescribeAvailabilityZones"}, actions(special)); diff != "" {
		t.Errorf("the override of another region doesn't count, instance types obey the one for ec2 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DescribeAutoScalingGroups"}, actions(generic)); diff != "" {
		t.Errorf("the rest goes where the environment says (-want +got):\n%s", diff)
	}
	_, err := aws.New(testContext(t), aws.Options{Clock: clock, CloudConfig: []byte("[ServiceOverride \"1\"]\nService=ec2\nRegion=eu-west-1\nURL=ec2.example\nSigningRegion=eu-west-1\n")})
	if err == nil || !strings.Contains(err.Error(), `the URL "ec2.example" is not of the form https://HOST`) {
		t.Errorf("a bad URL: %v", err)
	}
}

func TestTheSDKRetriesAsOftenAsTheEnvironmentSays(t *testing.T) {
	isolated(t, "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_MAX_ATTEMPTS", "2")
	server, clock := newStandIn(t)
	t.Setenv("AWS_ENDPOINT_URL", server.URL())
	server.Inject(awstest.Fault{Action: "DescribeAutoScalingGroups", Count: 2, Effect: awstest.ErrorAnswer{Status: 500}})
	provider, err := aws.New(testContext(t), aws.Options{Clock: clock, Nodes: []string{"0:1:a"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Refresh(testContext(t)); kind(err) != "transient" {
		t.Errorf("%v", err)
	}
	if got := server.Count("DescribeAutoScalingGroups"); got != 2 {
		t.Errorf("%d attempts", got)
	}
	clock.Step(10 * time.Second)
	if err := provider.Refresh(testContext(t)); err != nil {
		t.Error(err)
	}
}

func TestNoCredentialsAndNoSuchRegionAreOneClearLine(t *testing.T) {
	t.Run("no credentials", func(t *testing.T) {
		isolated(t, "eu-west-1")
		server, clock := newStandIn(t)
		t.Setenv("AWS_ENDPOINT_URL", server.URL())
		provider, err := aws.New(testContext(t), aws.Options{Clock: clock, Nodes: []string{"0:1:a"}})
		if err != nil {
			t.Fatal(err)
		}
		err = provider.Refresh(testContext(t))
		if kind(err) != "configuration" || !strings.Contains(err.Error(), "fetching credentials: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", kind(err), err)
		}
	})
	t.Run("no such region", func(t *testing.T) {
		isolated(t, "eu-wst-1")
		t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		provider, err := aws.New(testContext(t), aws.Options{
			Clock: clocktesting.NewFakeClock(eight), Nodes: []string{"0:1:a"},
			SDK: []func(*config.LoadOptions) error{config.WithRetryMaxAttempts(1), config.WithHTTPClient(noSuchHost{})},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = provider.Refresh(testContext(t))
		if kind(err) != "configuration" || !strings.Contains(err.Error(), `is "eu-wst-1" a region? it comes from AWS_REGION`) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", kind(err), err)
		}
	})
}

func TestOperationsHaveTheLabelsThatOperatorsKnow(t *testing.T) {
	for operation, want := range map[string]string{
		"DescribeAutoScalingGroups": "DescribeAutoScalingGroupsPages", "SetDesiredCapacity": "SetDesiredCapacity", "DescribeInstanceTypes": "", "GetCallerIdentity": "",
		"TerminateInstanceInAutoScalingGroup": "TerminateInstanceInAutoScalingGroup",
	} {
		if got, measured := aws.RequestEndpoint(operation); got != want || measured != (want != "") {
			t.Errorf("%s: %q, %v", operation, got, measured)
		}
	}
}
