package autoscaler

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// Program says how the autoscaler is started. It can be started several times, one after the other or beside each other.
type Program struct {
	Binary     string   // the built cluster-autoscaler
	Kubeconfig string   // its credentials, see WriteKubeconfig
	Folder     string   // where its logs go; also its home
	Flags      []string // besides --kubeconfig and --address
	Env        []string // KEY=value; nothing else is inherited
}

// ProductionFlags are those of the usual AWS deployment (operator-surface §9.4), for groups that carry the discovery tags of a cluster.
func ProductionFlags(cluster string) []string {
	return []string{
		"--v=4",
		"--stderrthreshold=info",
		"--cloud-provider=aws",
		"--skip-nodes-with-local-storage=false",
		"--expander=least-waste",
		"--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/" + cluster,
	}
}

// ProductionFlagsDOKS are those of the usual deployment on DigitalOcean Kubernetes (digitalocean §18) with a file of credentials. Pools whose auto-scale is on
// are discovered by themselves.
func ProductionFlagsDOKS(cloudConfig string) []string {
	return []string{
		"--v=4",
		"--stderrthreshold=info",
		"--cloud-provider=digitalocean",
		"--cloud-config=" + cloudConfig,
		"--skip-nodes-with-local-storage=false",
		"--expander=least-waste",
	}
}

// Autoscaler is one started autoscaler: a process, and the endpoints that it serves.
type Autoscaler struct {
	*process.Process
	address string
}

// Start starts the program and returns at once; see WaitHealthy. All starts into the same folder share one log file per name. The
// caller must stop the process.
func (p Program) Start(name string) (*Autoscaler, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	child, err := process.Start(process.Command{
		Name:    name,
		Path:    p.Binary,
		Args:    append([]string{"--kubeconfig=" + p.Kubeconfig, "--address=" + address}, p.Flags...),
		Env:     append([]string{"HOME=" + p.Folder, "TMPDIR=" + p.Folder}, p.Env...),
		LogFile: filepath.Join(p.Folder, name+".log"),
	})
	if err != nil {
		return nil, err
	}
	return &Autoscaler{Process: child, address: address}, nil
}

// freeAddress finds a port of the loopback interface that nobody uses now. The autoscaler opens it a moment later: its flag takes
// no open socket, so this is as good as it gets.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // doesn't block
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// MetricsURL is where Prometheus would scrape.
func (a *Autoscaler) MetricsURL() string { return "http://" + a.address + "/metrics" }

// HealthURL is where the kubelet would probe.
func (a *Autoscaler) HealthURL() string { return "http://" + a.address + "/health-check" }

// Metrics returns the metrics page.
func (a *Autoscaler) Metrics(ctx context.Context) (string, error) {
	status, body, err := a.get(ctx, a.MetricsURL())
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("reading %s: status %d: %s", a.MetricsURL(), status, body)
	}
	return body, err
}

// Health returns the status code and the text of the health check.
func (a *Autoscaler) Health(ctx context.Context) (int, string, error) {
	return a.get(ctx, a.HealthURL())
}

func (a *Autoscaler) get(ctx context.Context, url string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", fmt.Errorf("asking %s: %w", url, err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", fmt.Errorf("asking %s: %w", a.Name(), err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, "", fmt.Errorf("asking %s: %w", a.Name(), err)
	}
	return answer.StatusCode, strings.TrimSpace(string(body)), nil
}

// WaitHealthy blocks until the health check says yes. It fails when the process ends first, with the end of its log, or when ctx ends,
// with what the check said last.
func (a *Autoscaler) WaitHealthy(ctx context.Context) error {
	const interval = 50 * time.Millisecond
	last := "no answer"
	for {
		status, body, err := a.Health(ctx)
		switch {
		case err == nil && status == http.StatusOK:
			return nil
		case err == nil:
			last = fmt.Sprintf("status %d: %s", status, body)
		}
		select {
		case <-time.After(interval):
		case <-a.Done():
			return a.Err()
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be healthy: %w (%s); its log is %s", a.Name(), context.Cause(ctx), last, a.LogFile())
		}
	}
}
