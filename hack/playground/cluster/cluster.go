package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/awstest"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/dotest"
	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/cloud"
	"example.com/cluster-autoscaler/hack/playground/controlplane"
)

// Region is where the machines of a cluster are.
const Region = "eu-west-1"

// Name is the cluster's name in the tags of its node groups.
const Name = "playground"

// Options says where a cluster starts and how fast its machines are.
type Options struct {
	Binary string       // the playground program, which plays the parts of the control plane
	Parent string       // the folder that gets the cluster's folder; "" is the system's one for temporary files
	Keep   bool         // leave the folder with the logs behind, also after a failed start
	Delays cloud.Delays // zero: machines are Ready nodes as soon as they run
}

// Cluster is a running cluster. Its methods may be called from several goroutines.
type Cluster struct {
	*controlplane.ControlPlane
	AWS    *awstest.Server      // a cloud: groups, instances, the log of calls, faults to inject
	DOKS   *dotest.Server       // another one: pools, nodes, the log of calls, faults to inject
	Client kubernetes.Interface // all rights, no rate limit
	Config *rest.Config         // what Client was made from

	log          *os.File // of what happens in this process
	stopMachines context.CancelFunc
	machines     sync.WaitGroup
	addDOKS      func(number int) (*dotest.Server, error)

	mutex       sync.Mutex // guards all below it
	autoscalers []*autoscaler.Autoscaler
	types       map[string]string // the instance type of each group that was added
	doks        []*dotest.Server  // all clusters of DigitalOcean

	stop func() error
}

// Start starts a cluster without node groups and without an autoscaler, and returns when pods and groups can be created. What was
// started is stopped again when something fails or ctx ends before; after that, ctx has no influence.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	plane, err := controlplane.Start(ctx, controlplane.Options{Binary: o.Binary, Parent: o.Parent, Keep: o.Keep})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	c := &Cluster{ControlPlane: plane, stopMachines: func() {}, types: map[string]string{}}
	c.stop = sync.OnceValue(c.stopAll)
	if err := c.start(ctx, o.Delays); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, delays cloud.Delays) error {
	var err error
	if c.log, err = os.OpenFile(filepath.Join(c.Folder(), "playground.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	if c.AWS, err = awstest.New(awstest.Config{Clock: clock.RealClock{}, Region: Region}); err != nil {
		return fmt.Errorf("making the AWS stand-in: %w", err)
	}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(c.log)))
	running, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), logger))
	c.stopMachines = cancel
	if err := c.AWS.Start(running); err != nil {
		return fmt.Errorf("starting the AWS stand-in: %w", err)
	}
	if c.Config, err = c.ConfigFor("admin"); err != nil {
		return err
	}
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	config, err := c.ConfigFor("cloud")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the cloud's client: %w", err)
	}
	register := func(machines cloud.Machines) {
		registrar := cloud.NewRegistrar(client, machines, clock.RealClock{}, delays)
		c.machines.Go(func() { registrar.Run(running) })
	}
	register(cloud.NewAWS(c.AWS, Region))
	c.addDOKS = func(number int) (*dotest.Server, error) {
		server, err := startDOKS(running, number)
		if err == nil {
			register(cloud.NewDOKS(server))
		}
		return server, err
	}
	first, err := c.AddDOKS()
	if err != nil {
		return err
	}
	c.DOKS = first.Server
	return nil
}

// DOKSConfig is the path of the file that an autoscaler takes as --cloud-config to drive the pools of the DigitalOcean stand-in.
func (c *Cluster) DOKSConfig() string { return c.doksConfig(0) }

// StartAutoscaler starts a cluster-autoscaler whose API rights are those of a ServiceAccount, which must exist with its RBAC objects, and whose
// AWS is the stand-in. name names the process and its log file. It is stopped with the cluster if nobody stops it before.
func (c *Cluster) StartAutoscaler(ctx context.Context, name string, p Autoscaler) (*autoscaler.Autoscaler, error) {
	server := autoscaler.Server{URL: c.Server(), Authority: c.Authority()}
	kubeconfig, err := autoscaler.WriteKubeconfig(ctx, c.Client, server, p.Account, c.Folder())
	if err != nil {
		return nil, err
	}
	program := autoscaler.Program{Binary: p.Binary, Kubeconfig: kubeconfig, Folder: c.Folder(), Flags: p.Flags, Env: c.AWS.Environ()}
	started, err := program.Start(name)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.autoscalers = append(c.autoscalers, started)
	return started, nil
}

// Autoscaler says which autoscaler to start.
type Autoscaler struct {
	Binary  string
	Account types.NamespacedName // the ServiceAccount that it runs as
	Flags   []string             // all besides credentials and address; see autoscaler.ProductionFlags
}

// terminationGrace is how long an autoscaler may take to end. It only has to release its Lease; when the API server is gone, it can't.
const terminationGrace = 10 * time.Second

// Stop ends the autoscalers with SIGTERM, then everything else, and removes the folder. It may be called more than once.
func (c *Cluster) Stop() error { return c.stop() }

func (c *Cluster) stopAll() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var faults []error
	for _, a := range c.autoscalers {
		_, err := a.Stop(terminationGrace)
		faults = append(faults, err)
	}
	c.stopMachines()
	c.machines.Wait()
	if c.AWS != nil {
		faults = append(faults, c.AWS.Close())
	}
	for _, server := range c.doks {
		faults = append(faults, server.Close())
	}
	faults = append(faults, c.ControlPlane.Stop())
	if c.log != nil {
		faults = append(faults, c.log.Close())
	}
	return errors.Join(faults...)
}
