package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/health"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/processors/status"
	"example.com/cluster-autoscaler/simulator"
)

// shutdownTime is how long putting nodes back into service and telling the world may take at the end.
const shutdownTime = 20 * time.Second

// process is what lives as long as the process, leading or not.
type process struct {
	options   config.Options
	providers map[string]provider
	clients   clients
	registry  *prometheus.Registry
	health    *health.Check
	clock     clock.WithTicker
	// expander is the connection to the server of that expander; nil: nobody asks it.
	expander *grpc.ClientConn
}

// serveAndLead opens the port, proves that the API server answers, and leads when it is this process' turn. It returns nil when ctx ends. server is
// what dialExpander has made.
func serveAndLead(ctx context.Context, options config.Options, providers map[string]provider, server *grpc.ClientConn) error {
	p := process{options: options, providers: providers, registry: prometheus.NewRegistry(), clock: clock.RealClock{}, expander: server}
	p.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	measureRequests(p.registry)
	p.health = health.New(p.clock, health.Limits{
		Inactivity: options.Loop.MaxInactivity, Failing: options.Loop.MaxFailingTime, Startup: options.Loop.MaxStartupTime,
	})
	listener, err := listen(ctx, options.Process.Address)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return serve(running, listener, handler(p.registry, p.health, options.Debug.Profiling)) })
	group.Go(func() error {
		defer stop() // nothing is left to serve for
		return p.lead(running)
	})
	return group.Wait()
}

// lead connects to the API server and takes part in the election.
func (p *process) lead(ctx context.Context) error {
	cfg, err := restConfig(p.options.API)
	if err != nil {
		return err
	}
	if p.clients, err = newClients(cfg); err != nil {
		return err
	}
	if err := proveAccess(ctx, p.clients.reading, cfg.Host); err != nil {
		if ctx.Err() != nil {
			return nil // told to end before the API server answered
		}
		return err
	}
	identity, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("reading the host name, which is the identity of this process in the election: %w", err)
	}
	recorder, stopEvents := p.events(ctx)
	defer stopEvents()
	return lead(ctx, election{
		options: p.options.LeaderElection, namespace: p.options.Process.Namespace, identity: identity, client: p.clients.electing, recorder: recorder,
	}, func(ctx context.Context) error { return p.autoscale(ctx, recorder) })
}

// events makes the recorder of Kubernetes events.
func (p *process) events(ctx context.Context) (record.EventRecorder, func()) {
	options := status.CorrelatorOptions(p.options.Process.Namespace, p.options.Status.ConfigMapName, p.options.Status.RecordDuplicateEvents)
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)), record.WithCorrelatorOptions(options))
	broadcaster.StartEventWatcher(status.LogEvents(klog.FromContext(ctx)))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: p.clients.telling.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: status.Component}), broadcaster.Shutdown
}

// autoscale is the work of the leader. It returns nil when ctx ends, after nodes that were about to be removed are back in service.
func (p *process) autoscale(ctx context.Context, recorder record.EventRecorder) error {
	p.health.Monitor()
	linked := p.providers[p.options.Cloud.Provider]
	m, err := metrics.New(p.registry, metrics.Options{
		PerNodeGroup: p.options.Status.PerNodeGroupMetrics, AWS: linked.metrics.AWS, DigitalOcean: linked.metrics.DigitalOcean,
		RemovalLatency: p.options.ScaleDown.LatencyTracking, NodeSkips: p.options.ScaleDown.SkipEvalTracking,
	})
	if err != nil {
		return err
	}
	limits := p.options.Limits
	m.Limits(limits.Cores.Min, limits.Cores.Max, limits.Memory.Min, limits.Memory.Max)
	cloud, err := linked.build(ctx, p.options, linked.observer(m))
	if err != nil {
		return fmt.Errorf("making the cloud provider %s: %w", p.options.Cloud.Provider, err)
	}
	if linked.groups != nil {
		linked.groups(cloud, m)
	}
	if err := proveCloud(ctx, cloud); err != nil {
		return err
	}
	reading := core.ObservationOptions(p.options)
	reading.Rebuilt = m.SnapshotRebuilt
	source, err := observation.NewSource(p.clients.reading, cloud, p.clock, reading)
	if err != nil {
		return err
	}
	parts, err := p.assemble(ctx, cloud, source, recorder, m)
	if err != nil {
		return err
	}
	return p.run(ctx, source, parts)
}

// proveCloud asks the cloud once, so that a mistake in the configuration ends the start with one clear line. What passes by itself does not.
func proveCloud(ctx context.Context, cloud cloudprovider.CloudProvider) error {
	err := cloud.Refresh(ctx)
	if _, mistaken := errors.AsType[*cloudprovider.ConfigurationError](err); mistaken {
		return fmt.Errorf("asking the cloud provider %s for its node groups: %w", cloud.Name(), err)
	}
	return nil
}

// parts are what runs while this process leads.
type parts struct {
	autoscaler *core.Autoscaler
	actuator   *act.Actuator
	teller     *core.Teller
	cloud      cloudprovider.CloudProvider
	expanders  expanders
}

func (p *process) assemble(
	ctx context.Context, cloud cloudprovider.CloudProvider, source *observation.Source, recorder record.EventRecorder, m *metrics.Metrics,
) (parts, error) {
	options := p.options
	profile, err := schedulerProfile(options.Simulation.SchedulerConfigFile)
	if err != nil {
		return parts{}, err
	}
	scheduler, err := simulator.NewScheduler(ctx, source.Factory(), simulator.Options{
		Profile: profile, Parallelism: options.Simulation.Parallelism, FrameworkOnly: !options.Simulation.FastPath, Disabled: source.PluginDisabled,
	})
	if err != nil {
		return parts{}, err
	}
	asked, err := p.expanders(cloud)
	if err != nil {
		return parts{}, err
	}
	chain, err := expander.New(options.ScaleUp.Expanders, asked.sources, rand.New(rand.NewPCG(seed(), uint64(p.clock.Now().UnixNano()))))
	if err != nil {
		return parts{}, err
	}
	teller := core.StartTelling(ctx, p.board(ctx), recorder, m, p.clock.Now())
	actuator := act.New(act.Collaborators{
		Cloud: cloud, Kube: act.NewClient(p.clients.acting), Lister: source, Workloads: source.Workloads(), Observer: teller, Clock: p.clock,
	}, act.NewOptions(options))
	autoscaler := core.New(core.Collaborators{
		Source: source, Cloud: cloud, Scheduler: scheduler, Expander: chain, Actuator: actuator, Teller: teller,
		Health: p.health, Metrics: m, Clock: p.clock,
	}, options)
	return parts{autoscaler: autoscaler, actuator: actuator, teller: teller, cloud: cloud, expanders: asked}, nil
}

// board is where the status is kept, and with it what is to outlive this process.
func (p *process) board(ctx context.Context) core.Board {
	options := p.options
	if !options.Status.WriteConfigMap {
		if options.Process.PersistState {
			klog.FromContext(ctx).Info("Nothing is kept over restarts, because --write-status-configmap is false")
		}
		return core.Board{}
	}
	return core.Board{
		Object:    status.NewConfigMap(p.clients.status.CoreV1(), options.Process.Namespace, options.Status.ConfigMapName),
		KeepState: options.Process.PersistState,
	}
}

// run reads, loops and removes until ctx ends, then puts everything in order.
func (p *process) run(ctx context.Context, source *observation.Source, with parts) error {
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error {
		source.Run(reading)
		return nil
	})
	group.Go(func() error {
		with.expanders.run(reading)
		return nil
	})
	if err := source.WaitForSync(ctx); err == nil { // an error means that ctx ended
		with.expanders.wait(ctx)
		var working errgroup.Group
		working.Go(func() error {
			with.actuator.Run(ctx)
			return nil
		})
		with.autoscaler.Run(ctx)
		_ = working.Wait() // Run reports nothing
	}

	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer stop()
	err := errors.Join(with.actuator.Shutdown(ending), with.teller.Stop(ending, p.clock.Now(), with.autoscaler.Memory()), with.cloud.Cleanup(ending))
	stopReading()
	_ = group.Wait() // Run reports nothing
	if err != nil {
		klog.FromContext(ctx).Error(err, "Ended without everything in order; the next start will tidy up")
	}
	return nil
}

func schedulerProfile(file string) (simulator.Profile, error) {
	if file == "" {
		return simulator.Profile{}, nil
	}
	return simulator.LoadProfile(file)
}

// seed differs from process to process, so that replicas do not draw the same choices.
func seed() uint64 {
	hash := fnv.New64a()
	name, _ := os.Hostname() // an empty name is as good a seed as any
	_, _ = hash.Write([]byte(name))
	return hash.Sum64() ^ uint64(os.Getpid())
}
