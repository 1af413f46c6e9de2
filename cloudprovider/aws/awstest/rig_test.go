package awstest_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"go.uber.org/goleak"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a started server with a fake clock, and the real SDK clients that talk to it.
type rig struct {
	*awstest.Server
	clock *clocktesting.FakeClock
	asg   *autoscaling.Client
	ec2   *ec2.Client
	sts   *sts.Client
	cfg   aws.Config
}

var eightOClock = time.Date(2026, 8, 3, 8, 0, 0, 0, time.UTC)

const (
	zoneA = "us-east-1a"
	zoneB = "us-east-1b"
)

// newRig starts a server that knows the launch template "workers" (m5.large). SDK clients make one attempt per call.
func newRig(t *testing.T, options ...func(*awstest.Config)) *rig {
	t.Helper()
	fake := clocktesting.NewFakeClock(eightOClock)
	config := awstest.Config{Clock: fake}
	for _, o := range options {
		o(&config)
	}
	server, err := awstest.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &rig{Server: server, clock: fake}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	r.cfg = aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL()), HTTPClient: &http.Client{Transport: plainBody{transport}},
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		Retryer:     func() aws.Retryer { return aws.NopRetryer{} },
	}
	r.asg, r.ec2, r.sts = autoscaling.NewFromConfig(r.cfg), ec2.NewFromConfig(r.cfg), sts.NewFromConfig(r.cfg)
	r.PutLaunchTemplate(awstest.LaunchTemplate{
		ID: "lt-0a", Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large", ImageID: "ami-1"}},
	})
	return r
}

// plainBody hides the WriteTo method of request bodies. The SDK closes a body as soon as the answer begins, and its WriteTo then reports
// io.EOF as an error to the transport, which may still be looking for the body's end; the transport cuts the connection in the middle of
// the answer. A server on the same machine answers fast enough for that. Read has no such fault.
type plainBody struct{ http.RoundTripper }

func (p plainBody) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		copied := *r
		copied.Body = struct{ io.ReadCloser }{r.Body}
		r = &copied
	}
	return p.RoundTripper.RoundTrip(r)
}

// threeAttempts is a retryer like the SDK's own, without its pauses.
func threeAttempts() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 3
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// workers is a group of the template "workers" in one zone, 0 to 10, in which launches take 10 s to appear and 60 s to boot.
func workers(desired int) awstest.Group {
	return awstest.Group{
		Name: "workers", Max: 10, Desired: desired, Zones: []string{zoneA},
		LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"},
		Timing:         awstest.Timing{Request: 10 * time.Second, Launch: time.Minute, Terminate: 30 * time.Second},
	}
}

func (r *rig) mustAdd(t *testing.T, groups ...awstest.Group) {
	t.Helper()
	for _, g := range groups {
		if err := r.AddGroup(g); err != nil {
			t.Fatal(err)
		}
	}
}

// states are the lifecycle states of the instances of "workers", in the order of their launch.
func (r *rig) states() []string {
	var states []string
	for _, i := range r.Instances() {
		if i.Group == "workers" {
			states = append(states, string(i.Lifecycle))
		}
	}
	return states
}

// ids are the ids of a group's instances, in the order of their launch.
func (r *rig) ids(group string) []string {
	var ids []string
	for _, i := range r.Instances() {
		if i.Group == group {
			ids = append(ids, i.ID)
		}
	}
	return ids
}

// desired is the desired capacity of "workers".
func (r *rig) desired(t *testing.T) int {
	t.Helper()
	for _, g := range r.Groups() {
		if g.Name == "workers" {
			return g.Desired
		}
	}
	t.Fatal("there is no group workers")
	return 0
}

// setDesired raises or lowers a group over the wire.
func (r *rig) setDesired(t *testing.T, group string, n int32) error {
	t.Helper()
	_, err := r.asg.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: &group, DesiredCapacity: &n, HonorCooldown: aws.Bool(false),
	})
	return err
}

// mustSetDesired raises or lowers "workers" over the wire.
func (r *rig) mustSetDesired(t *testing.T, n int32) {
	t.Helper()
	if err := r.setDesired(t, "workers", n); err != nil {
		t.Fatal(err)
	}
}

// must turns a client's answer and error into the answer.
func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
