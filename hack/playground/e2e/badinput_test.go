package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cluster"
)

// A mistake that only the start can show ends it with one line that names the thing and what to do.
func TestAMistakeEndsTheStartWithOneClearLine(t *testing.T) {
	s := parallelStory(t)
	account := s.install()
	server := autoscaler.Server{URL: s.cluster.Server(), Authority: s.cluster.Authority()}
	kubeconfig, err := autoscaler.WriteKubeconfig(t.Context(), s.cluster.Client, server, account, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // doesn't block
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tests := map[string]struct {
		flags    []string
		env      []string // added
		without  string   // left out of the environment
		account  string   // of another ServiceAccount; empty: the installed one
		apiAt    string   // where no API server is
		expired  bool
		wantCode int
		want     []string
	}{
		"an unknown provider": {
			flags: []string{"--cloud-provider=nimbus"}, wantCode: 255, want: []string{`--cloud-provider="nimbus": want one of: aws`},
		},
		"no provider": {flags: []string{"--cloud-provider="}, wantCode: 255, want: []string{`--cloud-provider="": want one of: aws`}},
		"a malformed group": {
			flags: []string{"--cloud-provider=aws", "--nodes=one:two"}, wantCode: 255, want: []string{`--nodes="one:two": want MIN:MAX:NAME`},
		},
		"a minimum above the maximum": {
			flags: []string{"--cloud-provider=aws", "--nodes=5:2:workers"}, wantCode: 255, want: []string{`--nodes="5:2:workers": the maximum 2 is below the minimum 5`},
		},
		"an unknown flag": {flags: []string{"--wings"}, wantCode: 2, want: []string{"--wings"}},
		"an address in use": {
			flags: []string{"--cloud-provider=aws", "--address=" + taken.Addr().String()}, wantCode: 255,
			want: []string{"--address=\"" + taken.Addr().String() + `"`, "address already in use"},
		},
		"an unreachable API server": {
			flags: []string{"--cloud-provider=aws"}, apiAt: "https://127.0.0.1:1", wantCode: 255,
			want: []string{"https://127.0.0.1:1", "connection refused", "check that it can be reached"},
		},
		"no right to list nodes": {
			flags: []string{"--cloud-provider=aws"}, account: "default", wantCode: 255,
			want: []string{"nodes is forbidden", "may list nodes"},
		},
		"expired credentials": {
			flags: []string{"--cloud-provider=aws", "--nodes=0:3:workers"}, expired: true, wantCode: 255,
			want: []string{"ExpiredToken", "check the credentials"},
		},
		"a wrong region": {
			flags: []string{"--cloud-provider=aws", "--nodes=0:3:workers"}, env: []string{"AWS_REGION=us-west-2"}, wantCode: 255,
			want: []string{"us-west-2", "region"},
		},
		"no region": {
			flags: []string{"--cloud-provider=aws", "--nodes=0:3:workers"}, without: "AWS_REGION", wantCode: 255, want: []string{"AWS_REGION"},
		},
		"no configuration file": {
			flags: []string{"--cloud-provider=aws", "--cloud-config=/nowhere/cloud.conf"}, wantCode: 255, want: []string{"--cloud-config", "/nowhere/cloud.conf"},
		},
		"an unknown expander": {
			flags: []string{"--cloud-provider=aws", "--expander=luck"}, wantCode: 255, want: []string{"--expander", "luck", "least-waste"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cloud := otherAWS(t)
			if test.expired {
				cloud.SetCredentials(awstest.CredentialsExpired)
			}
			config := kubeconfig
			switch {
			case test.apiAt != "":
				config = kubeconfigOf(t, test.apiAt)
			case test.account != "":
				other := account
				other.Name = test.account
				if config, err = autoscaler.WriteKubeconfig(t.Context(), s.cluster.Client, server, other, t.TempDir()); err != nil {
					t.Fatal(err)
				}
			}
			env := slices.DeleteFunc(cloud.Environ(), func(e string) bool { return test.without != "" && strings.HasPrefix(e, test.without+"=") })
			program := autoscaler.Program{
				Binary: autoscalerBinary(t), Kubeconfig: config, Folder: t.TempDir(), Env: append(env, test.env...),
				Flags: append([]string{"--leader-elect=false", "--namespace=" + s.namespace}, test.flags...),
			}
			a, err := program.Start("mistaken")
			if err != nil {
				t.Fatal(err)
			}
			defer a.Kill() //nolint:errcheck // it has ended unless the test failed
			select {
			case <-a.Done():
			case <-time.After(patience):
				t.Fatalf("it still runs: %s", tail(logOf(t, a)))
			}
			if code := a.ExitCode(); code != test.wantCode {
				t.Errorf("exit code %d, want %d", code, test.wantCode)
			}
			checkOneLine(t, logOf(t, a), test.want)
		})
	}
}

// checkOneLine demands that just one line of a log tells of an error, and that it contains what is wanted.
func checkOneLine(t *testing.T, log string, want []string) {
	t.Helper()
	var told []string
	for line := range strings.Lines(log) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\"`, `"`)
		isInfo := strings.HasPrefix(line, "I1") || strings.HasPrefix(line, "I0")
		if line != "" && !isInfo && !strings.HasPrefix(line, "All flags: ") {
			told = append(told, line)
		}
	}
	if len(told) != 1 {
		t.Fatalf("%d lines tell of an error, want one:\n%s", len(told), strings.Join(told, "\n"))
	}
	for _, text := range want {
		if !strings.Contains(told[0], text) {
			t.Errorf("the line doesn't contain %q: %s", text, told[0])
		}
	}
	t.Log(told[0])
}

// otherAWS is a cloud apart from the stories', so that everything in it may be wrong. It has a group named workers.
func otherAWS(t *testing.T) *awstest.Server {
	t.Helper()
	server, err := awstest.New(awstest.Config{Clock: clock.RealClock{}, Region: cluster.Region})
	if err != nil {
		t.Fatal(err)
	}
	server.PutLaunchTemplate(awstest.LaunchTemplate{Name: "workers", Versions: []awstest.LaunchTemplateVersion{{InstanceType: "m5.large"}}})
	err = server.AddGroup(awstest.Group{Name: "workers", Max: 3, Zones: []string{cluster.Region + "a"}, LaunchTemplate: &awstest.LaunchTemplateRef{Name: "workers"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// kubeconfigOf writes a kubeconfig for an address.
func kubeconfigOf(t *testing.T, url string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: url}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	path := t.TempDir() + "/kubeconfig"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is wrong with one group sets that one aside; the others grow.
func TestAGroupWithAMistakeIsSetAsideAndTheOthersGrow(t *testing.T) {
	s := parallelStory(t)
	good := s.group(workers(0, 5, 0))
	broken := s.group(cluster.NodeGroup{Name: "broken", Type: "", Max: 5})
	missing := s.namespace + "-missing"
	a := s.autoscaler("ca", s.install(), append(s.hasty(), "--scale-down-unneeded-time=10m", "--nodes=0:3:"+missing)...)
	s.deployment("web", 1, "1200m", "1Gi")
	s.waitRunning("web", 1)
	if s.desired(good) != 1 {
		t.Errorf("desired of %s is %d, want 1", good, s.desired(good))
	}

	status := ""
	s.eventually("the status sets both groups aside", func(ctx context.Context) (bool, string, error) {
		var err error
		status, err = s.status(ctx)
		_, aside, _ := strings.Cut(status, "setAside:")
		return strings.Contains(aside, broken) && strings.Contains(aside, missing), status, err
	})
	for _, want := range []string{"names no instance type: name one there", "check --nodes, the region"} {
		if !strings.Contains(strings.Join(strings.Fields(status), " "), want) { // YAML folds long lines
			t.Errorf("the status doesn't say %q:\n%s", want, status)
		}
	}
	log := logOf(t, a)
	for _, want := range []string{broken, missing} {
		if !strings.Contains(log, `nodeGroup="`+want+`" reason="`) {
			t.Errorf("the log doesn't say what is wrong with %s", want)
		}
	}
	if status, text, err := a.Health(t.Context()); err != nil || status != 200 {
		t.Errorf("health is %d %q, error %v", status, text, err)
	}
}

// Credentials that expire later stop nothing but the calls: the loop goes on, and another group is tried.
func TestTheLoopGoesOnWhenACallToTheCloudFails(t *testing.T) {
	s := parallelStory(t)
	group := s.group(workers(0, 5, 0))
	other := s.group(cluster.NodeGroup{Name: "other", Type: "m5.4xlarge", Max: 5}) // wastes more, so it is second choice
	a := s.installed("ca", "--scale-down-unneeded-time=10m")
	s.waitLoops()
	stop := s.cluster.AWS.Inject(awstest.Fault{
		Action: "SetDesiredCapacity", Group: group, Count: awstest.Always,
		Effect: awstest.ErrorAnswer{Status: 403, Code: "ExpiredToken", Message: "The security token included in the request is expired"},
	})
	defer stop()
	s.deployment("web", 1, "1200m", "1Gi")
	s.eventually("the status says that the purchase failed", func(ctx context.Context) (bool, string, error) {
		status, err := s.status(ctx)
		events, eventsErr := s.events(ctx, "ConfigMap", "cluster-autoscaler-status")
		failed := slices.ContainsFunc(events, func(e corev1.Event) bool {
			return e.Namespace == s.namespace && e.Reason == "FailedToScaleUpGroup" && strings.Contains(e.Message, "ExpiredToken")
		})
		if eventsErr != nil {
			return false, "", eventsErr
		}
		_, aside, _ := strings.Cut(status, "setAside:")
		return failed && strings.Contains(aside, group), fmt.Sprint(summaries(events), status), err
	})
	s.waitRunning("web", 1)
	if s.desired(group) != 0 || s.desired(other) != 1 {
		t.Errorf("desired are %d and %d, want 0 and 1", s.desired(group), s.desired(other))
	}
	if status, text, err := a.Health(t.Context()); err != nil || status != 200 {
		t.Errorf("health is %d %q, error %v", status, text, err)
	}
}
