package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"example.com/cluster-autoscaler/hack/playground/process"
)

// Options says where a control plane starts.
type Options struct {
	Binary string // the playground program, which plays the roles
	Parent string // the folder that gets the control plane's folder; "" is the system's one for temporary files
	Keep   bool   // leave the folder with the logs behind, also after a failed start; see KeepFolder
}

// startTimeout is for a very busy machine: a free one needs some five seconds.
const startTimeout = 2 * time.Minute

// ControlPlane is a running control plane. Its methods may be called from several goroutines.
type ControlPlane struct {
	folder *folder
	server string

	mutex     sync.Mutex // guards what follows
	keep      bool
	processes []*process.Process
	stopping  bool
	failure   error

	failed chan struct{} // closed when failure is set
	stop   func() error
}

// Start starts everything and returns once the API server answers, scheduler, controllers and KWOK have filled their caches, and
// pods can be created. All children start at once and wait for the API server themselves. When one of them fails, or when ctx
// ends first, whatever was started is stopped and removed; the error names the part and shows the end of its log.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	parent := o.Parent
	if parent == "" {
		parent = os.TempDir()
	}
	home, err := newFolder(parent)
	if err != nil {
		return nil, err
	}
	c := &ControlPlane{folder: home, keep: o.Keep, failed: make(chan struct{})}
	c.stop = sync.OnceValue(c.stopAll)
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %v", startTimeout))
	defer cancel()
	if err := c.start(ctx, o.Binary); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *ControlPlane) start(ctx context.Context, binary string) error {
	// The parent opens the port: it is known before the API server runs, and nobody else can take it in between.
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return fmt.Errorf("opening a port for the API server: %w", err)
	}
	defer listener.Close()
	socket, err := listener.File()
	if err != nil {
		return fmt.Errorf("passing the API server its port: %w", err)
	}
	defer socket.Close()

	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return fmt.Errorf("reading the port of the API server: %w", err)
	}
	c.server = "https://" + listener.Addr().String()
	if err := writeCredentials(c.folder.path, c.server, time.Now()); err != nil {
		return err
	}
	folder := c.folder.path
	roles := []process.Command{
		{Name: EtcdRole, Args: etcdFlags(folder)},
		{Name: APIServerRole, Args: apiServerFlags(folder, port), Inherit: []*os.File{socket}},
		{Name: SchedulerRole, Args: schedulerFlags(folder)},
		{Name: ControllersRole, Args: controllersFlags(folder)},
		{Name: KubeletsRole, Args: kubeletsFlags(folder)},
	}
	for _, role := range roles {
		if err := c.launch(binary, role); err != nil {
			return err
		}
	}
	return c.waitReady(ctx)
}

// launch starts a role and watches over it.
func (c *ControlPlane) launch(binary string, role process.Command) error {
	role.Path = binary
	role.Args = append([]string{"role", role.Name}, role.Args...)
	role.LogFile = filepath.Join(c.folder.path, role.Name+".log")
	role.Announces = true
	role.Env = []string{"HOME=" + c.folder.path, "TMPDIR=" + c.folder.path}
	p, err := process.Start(role)
	if err != nil {
		return err
	}
	c.mutex.Lock()
	c.processes = append(c.processes, p)
	c.mutex.Unlock()
	go func() {
		<-p.Done()
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if !c.stopping && c.failure == nil { // one is enough; the others are its consequences
			c.failure = p.Err()
			close(c.failed)
		}
	}()
	return nil
}

func (c *ControlPlane) waitReady(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for _, p := range c.Processes() {
		group.Go(func() error {
			_, err := p.WaitReady(groupCtx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return c.waitServiceAccounts(ctx)
}

// waitServiceAccounts waits until pods can be created: admission demands their namespace's default service account.
func (c *ControlPlane) waitServiceAccounts(ctx context.Context) error {
	config, err := c.ConfigFor("admin")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, namespace := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		for {
			_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			if err == nil {
				break
			}
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("waiting for the service account of namespace %s: %w", namespace, err)
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return fmt.Errorf("waiting for the service account of namespace %s: %w", namespace, context.Cause(ctx))
			}
		}
	}
	return nil
}

// Folder holds credentials, data and logs (*.log, one per process). It goes with Stop, unless KeepFolder was called.
func (c *ControlPlane) Folder() string { return c.folder.path }

// Server is the URL of the API server.
func (c *ControlPlane) Server() string { return c.server }

// Authority is the file with the certificate that signed the API server's.
func (c *ControlPlane) Authority() string { return filepath.Join(c.folder.path, authorityFile) }

// Kubeconfig is the file for a user with all rights.
func (c *ControlPlane) Kubeconfig() string {
	return filepath.Join(c.folder.path, kubeconfigName("admin"))
}

// AuditLog is the file with the API server's record of writes, one JSON event per line.
func (c *ControlPlane) AuditLog() string { return filepath.Join(c.folder.path, auditLogFile) }

// ConfigFor is a client configuration without rate limit for one of the users "admin" (a person or a test) and "cloud" (what makes and
// removes Node objects); both have all rights and differ in the audit log.
func (c *ControlPlane) ConfigFor(user string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(c.folder.path, kubeconfigName(user)))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", user, err)
	}
	config.QPS = -1
	return config, nil
}

// Processes are the children in the order in which they were started.
func (c *ControlPlane) Processes() []*process.Process {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return append([]*process.Process{}, c.processes...)
}

// Failed is closed when a child ends without Stop; Failure then says which one and why.
func (c *ControlPlane) Failed() <-chan struct{} { return c.failed }

// Failure describes the first child that ended without Stop, with the end of its log; nil if there is none.
func (c *ControlPlane) Failure() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.failure
}

// Process is the child that plays a role, to measure it or to freeze it; nil for a name that isn't a role.
func (c *ControlPlane) Process(role string) *process.Process {
	for _, p := range c.Processes() {
		if p.Name() == role {
			return p
		}
	}
	return nil
}

// KeepFolder lets Stop leave the folder behind, for somebody who wants to read the logs.
func (c *ControlPlane) KeepFolder() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.keep = true
}

// Stop kills all children, waits until they are gone and removes the folder. Nothing in it is worth a graceful end. It may be
// called more than once.
func (c *ControlPlane) Stop() error { return c.stop() }

func (c *ControlPlane) stopAll() error {
	c.mutex.Lock()
	c.stopping = true
	keep := c.keep
	c.mutex.Unlock()
	var faults []error
	for _, p := range c.Processes() {
		faults = append(faults, p.Kill())
	}
	if keep {
		return errors.Join(append(faults, c.folder.release())...)
	}
	return errors.Join(append(faults, c.folder.remove())...)
}
