package roles

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/cluster-autoscaler/hack/playground/controlplane"
	"example.com/cluster-autoscaler/hack/playground/process"
)

// roles maps a name to what runs under it. Each announces its readiness itself and returns only when it can't go on.
func roles() map[string]func(ctx context.Context, flags []string) error {
	return map[string]func(context.Context, []string) error{
		controlplane.EtcdRole:        runEtcd,
		controlplane.APIServerRole:   runAPIServer,
		controlplane.SchedulerRole:   runScheduler,
		controlplane.ControllersRole: runControllers,
		controlplane.KubeletsRole:    runKubelets,
	}
}

// Run plays a role until ctx ends, the parent process ends (then this process exits at once: there is nobody left to care) or
// the role fails. args are the role's name and its flags.
func Run(ctx context.Context, args []string) error {
	known := roles()
	if len(args) == 0 || known[args[0]] == nil {
		return fmt.Errorf("role: expected one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	go func() {
		process.WaitForParent()
		os.Exit(0)
	}()
	if err := known[args[0]](ctx, args[1:]); err != nil {
		return fmt.Errorf("running %s: %w", args[0], err)
	}
	return nil
}

// pollInterval is how often a starting role looks whether what it waits for has come.
const pollInterval = 25 * time.Millisecond

// clientConfig reads a kubeconfig and waits until the API server that it names is ready. The result has no rate limit.
func clientConfig(ctx context.Context, kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	config.QPS = -1
	if err := waitReadyz(ctx, config.Host); err != nil {
		return nil, err
	}
	return config, nil
}

// waitReadyz polls /readyz of a server until it says yes. Before that the server's own controllers are at work, and early
// requests only meet errors and back-off.
func waitReadyz(ctx context.Context, server string) error {
	client := &http.Client{
		Timeout: 2 * time.Second,
		//nolint:gosec // the answer is a hint when to begin; what follows verifies the certificate
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	defer client.CloseIdleConnections()
	for {
		if ready(ctx, client, server+"/readyz") {
			return nil
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", server, ctx.Err())
		}
	}
}

func ready(ctx context.Context, client *http.Client, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode == http.StatusOK
}
