package awstest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
)

func TestWithARealClockThingsHappenByThemselves(t *testing.T) {
	server, err := awstest.New(awstest.Config{Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
	g := workers(0)
	g.Timing = awstest.Timing{Request: 20 * time.Millisecond, Launch: 20 * time.Millisecond}
	if err := server.AddGroup(g); err != nil {
		t.Fatal(err)
	}
	if err := server.SetDesired("workers", 1); err != nil {
		t.Fatal(err)
	}
	for { // nothing but Changed brings the loop on
		changed := server.Changed()
		if now := server.Instances(); len(now) == 1 && now[0].Lifecycle == awstest.InService {
			return
		}
		<-changed
	}
}

func TestChangedFiresOnlyWhenAnInstanceChanges(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(1))
	fired := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	changed := r.Changed()
	r.mustSetDesired(t, 2)
	if fired(changed) {
		t.Error("a change of desired alone fired")
	}
	r.clock.Step(10 * time.Second)
	if r.Advance(); !fired(changed) {
		t.Error("a new instance didn't fire")
	}
	changed = r.Changed()
	if err := r.SetHealth(r.ids("workers")[0], awstest.Unhealthy); err != nil || !fired(changed) {
		t.Errorf("a change of health didn't fire, error %v", err)
	}
}

func TestTheEndOfTheContextClosesTheServer(t *testing.T) {
	server, err := awstest.New(awstest.Config{Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(ctx); err == nil {
		t.Error("a second Start was accepted")
	}
	cancel()
	if err := server.Close(); err != nil {
		t.Errorf("closing what is closed already: %v", err)
	}
	if err := server.Start(t.Context()); err == nil {
		t.Error("Start after Close was accepted")
	}
}

func TestTheHandlerServesBehindAnyListener(t *testing.T) {
	r := newRig(t)
	r.mustAdd(t, workers(1))
	front := httptest.NewServer(r.Handler())
	defer front.Close()
	r.cfg.BaseEndpoint = &front.URL
	r.cfg.HTTPClient = &http.Client{Transport: plainBody{front.Client().Transport}}
	if _, err := autoscaling.NewFromConfig(r.cfg).DescribeAutoScalingGroups(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	res := httptest.NewRecorder()
	r.Handler().ServeHTTP(res, httptest.NewRequest(http.MethodPost, "/", nil))
	if res.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d after Close", res.Code)
	}
}

func TestIdsAreTheSameInEveryRunAndDifferWithTheSeed(t *testing.T) {
	ids := func(seed int64) []string {
		r := newRig(t, func(c *awstest.Config) { c.Seed = seed })
		r.mustAdd(t, workers(3))
		return r.ids("workers")
	}
	if diff := cmp.Diff(ids(1), ids(1)); diff != "" {
		t.Errorf("ids of two runs:\n%s", diff)
	}
	if cmp.Equal(ids(1), ids(2)) {
		t.Error("another seed gave the same ids")
	}
}

func TestTheEnvironmentLeadsTheDefaultClientToTheServer(t *testing.T) {
	if os.Getenv("AWSTEST_CHILD") == "1" {
		cfg, err := config.LoadDefaultConfig(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		cfg.HTTPClient = &http.Client{Transport: plainBody{transport}}
		if _, err := autoscaling.NewFromConfig(cfg).DescribeAutoScalingGroups(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		return
	}
	r := newRig(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(r.Environ(), "AWSTEST_CHILD=1", "HOME="+t.TempDir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := r.Count("DescribeAutoScalingGroups"); n != 1 {
		t.Errorf("%d requests from the child, want 1", n)
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	if _, err := awstest.New(awstest.Config{}); err == nil {
		t.Error("a server without a clock was made")
	}
	r := newRig(t)
	r.mustAdd(t, workers(0))
	for want, change := range map[string]func(*awstest.Group){
		"no colon":                  func(g *awstest.Group) { g.Name = "a:b" },
		"0 <= min <= desired":       func(g *awstest.Group) { g.Min = 2 },
		"exactly one of":            func(g *awstest.Group) { g.LaunchConfiguration = "x" },
		"there is one of that name": func(*awstest.Group) {},
		"does not exist":            func(g *awstest.Group) { g.Name, g.Desired, g.LaunchTemplate.Name = "g", 1, "none" },
	} {
		g := workers(0)
		change(&g)
		if err := r.AddGroup(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	for name, err := range map[string]error{
		"bounds":          r.SetBounds("workers", 3, 2),
		"unknown group":   r.SetDesired("nobody", 1),
		"unknown machine": r.KillInstance("i-1"),
		"no launch":       r.LaunchNow("workers"),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
