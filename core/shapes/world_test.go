package shapes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/health"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/processors/status"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/simtest"
)

const (
	namespace  = "kube-system"
	statusName = "cluster-autoscaler-status"
	// scanInterval is the time from one iteration to the next.
	scanInterval = 10 * time.Second
	// patience is how long informers may take before a benchmark is given up as stuck.
	patience = 5 * time.Minute
)

// epoch is when the measured iteration takes place. No search runs out of time, since the clock of the loop stands still during it.
var epoch = simtest.Epoch.Add(24 * time.Hour)

// cluster is what a shape is made of. The objects belong to the world that is made of it.
type cluster struct {
	cloud *simulated.Cloud
	clock *clocktesting.FakeClock
	tally *tally
	flags []string
	nodes []*corev1.Node
	pods  []*corev1.Pod
	// objects are of the other kinds: controllers, budgets.
	objects []runtime.Object
}

// newCluster has the nodes of the groups' machines.
func newCluster(flags []string, groups ...simulated.Group) (cluster, error) {
	c := cluster{clock: clocktesting.NewFakeClock(epoch), flags: flags, tally: &tally{}}
	c.objects = append(c.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}})
	var err error
	c.cloud, err = simulated.NewWithOptions(c.clock, simulated.Options{OnWrite: func(simulated.Write) { c.tally.note(0, 1) }}, groups...)
	if err != nil {
		return cluster{}, err
	}
	c.nodes = c.cloud.Nodes()
	for _, node := range c.nodes {
		node.ResourceVersion = "1"
	}
	return c, nil
}

// world is a cluster with the autoscaler in front of it, put together as the binary does, but for the API server, the cloud, the clock and
// the sink of events.
type world struct {
	testing.TB
	clock      *clocktesting.FakeClock
	cloud      *simulated.Cloud
	api        *api
	source     *observation.Source
	autoscaler *core.Autoscaler
	actuator   *act.Actuator
	emitter    *emitter
	ctx        context.Context //nolint:containedctx // that of the benchmark

	nodes           int
	pending, placed int           // pods without and with a node
	ingest          time.Duration // what load took
	changes         changes
	registrations   []cache.ResourceEventHandlerRegistration

	stop    context.CancelFunc
	running sync.WaitGroup
}

// newWorld puts the autoscaler in front of the cluster. Nothing was read yet.
func newWorld(tb testing.TB, c cluster, frameworkOnly bool) *world {
	tb.Helper()
	w := &world{TB: tb, clock: c.clock, cloud: c.cloud, emitter: newEmitter(), nodes: len(c.nodes)}
	for _, pod := range c.pods {
		if pod.Spec.NodeName == "" {
			w.pending++
		} else {
			w.placed++
		}
	}
	parsed, err := config.Parse(append([]string{"--cloud-provider=simulated", "--max-nodes-per-scaleup=100000"}, c.flags...))
	w.must(err)
	options := parsed.Options
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(io.Discard)))
	w.ctx, w.stop = context.WithCancel(klog.NewContext(tb.Context(), logger))

	w.api, err = newAPI(c)
	w.must(err)
	client := newClientset(w.api)
	w.source, err = observation.NewSource(client, w.cloud, w.clock, core.ObservationOptions(options))
	w.must(err)
	w.api.source = w.source
	w.changes.seen = sync.NewCond(&w.changes.mu)
	for _, informer := range []cache.SharedIndexInformer{
		w.source.Factory().Core().V1().Nodes().Informer(), w.source.Factory().Core().V1().Pods().Informer(),
	} {
		registration, err := informer.AddEventHandler(w.changes.handler())
		w.must(err)
		w.registrations = append(w.registrations, registration)
	}
	w.assemble(client, options, frameworkOnly)
	return w
}

func (w *world) assemble(client clientset, options config.Options, frameworkOnly bool) {
	scheduler, err := simulator.NewScheduler(w.ctx, w.source.Factory(), simulator.Options{
		Parallelism: options.Simulation.Parallelism, Disabled: w.source.PluginDisabled, FrameworkOnly: frameworkOnly,
	})
	w.must(err)
	chain, err := expander.New(options.ScaleUp.Expanders, expander.Sources{}, rand.New(rand.NewPCG(1, 2)))
	w.must(err)
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	w.must(err)
	teller := core.StartTelling(w.ctx, core.Board{Object: status.NewConfigMap(client.CoreV1(), namespace, statusName), KeepState: true}, w.emitter, m, w.clock.Now())
	w.actuator = act.New(act.Collaborators{
		Cloud: w.cloud, Kube: w.api, Lister: w.source, Workloads: w.source.Workloads(), Observer: teller, Clock: w.clock,
	}, act.NewOptions(options))
	checked := health.New(w.clock, health.Limits{
		Inactivity: options.Loop.MaxInactivity, Failing: options.Loop.MaxFailingTime, Startup: options.Loop.MaxStartupTime,
	})
	checked.Monitor()
	w.autoscaler = core.New(core.Collaborators{
		Source: w.source, Cloud: w.cloud, Scheduler: scheduler, Expander: chain, Actuator: w.actuator, Teller: teller,
		Health: checked, Metrics: m, Clock: w.clock,
	}, options)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// changes counts the changes that the informers have told their handlers.
type changes struct {
	mu    sync.Mutex // guards count
	seen  *sync.Cond // count has grown
	count int
}

func (c *changes) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count++
		c.seen.Broadcast()
	}}
}

// await blocks until so many changes were told in all.
func (c *changes) await(count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.count < count {
		c.seen.Wait()
	}
}

func (c *changes) told() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// load lets the informers read everything and returns how long it took until the snapshot had it.
func (w *world) load() time.Duration {
	w.Helper()
	start := time.Now()
	w.running.Go(func() { w.source.Run(w.ctx) })
	patient, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	w.must(w.source.WaitForSync(patient))
	for _, registration := range w.registrations {
		select {
		case <-registration.HasSyncedChecker().Done():
		case <-patient.Done():
			w.Fatal("the informers do not come to an end")
		}
	}
	return w.observe(start, w.complete)
}

// fill is load without informers: the nodes and pods of the cluster go through the transform straight into the stores.
func (w *world) fill(c cluster) time.Duration {
	w.Helper()
	transform := observation.NewTransform()
	w.source.AssumeSynced()
	nodes, pods := w.source.Factory().Core().V1().Nodes().Informer().GetStore(), w.source.Factory().Core().V1().Pods().Informer().GetStore()
	start := time.Now()
	add := func(store cache.Store, object any) {
		object, err := transform(object)
		w.must(errors.Join(err, store.Add(object)))
	}
	for _, node := range c.nodes {
		add(nodes, node)
	}
	for _, pod := range c.pods {
		add(pods, pod)
	}
	return w.observe(start, w.complete)
}

// complete tells whether the snapshot has all the nodes and all the pods on them, and all other pods wait.
func (w *world) complete(seen observation.Observation) error {
	placed := 0
	for _, node := range seen.Nodes {
		placed += len(seen.Snapshot.Pods(node.Name))
	}
	if len(seen.Nodes) != w.nodes || seen.Snapshot.Len() != w.nodes || placed != w.placed || len(seen.Unschedulable) != w.pending {
		return fmt.Errorf("%d of %d nodes, %d of them in the snapshot, with %d of %d pods; %d of %d pods wait",
			len(seen.Nodes), w.nodes, seen.Snapshot.Len(), placed, w.placed, len(seen.Unschedulable), w.pending)
	}
	return nil
}

// update hands new versions of objects over and returns how long it took until the snapshot had them.
func (w *world) update(nodes []*corev1.Node, pods []*corev1.Pod) time.Duration {
	w.Helper()
	due := w.changes.told() + len(nodes) + len(pods)
	start := time.Now()
	w.api.update(nodes, pods)
	w.changes.await(due)
	return w.observe(start, func(seen observation.Observation) error {
		for _, want := range nodes {
			if got, ok := seen.Snapshot.Node(want.Name); !ok || got.ResourceVersion != want.ResourceVersion {
				return fmt.Errorf("the snapshot has not got version %s of node %s", want.ResourceVersion, want.Name)
			}
		}
		versions := map[string]bool{}
		for _, node := range seen.Nodes {
			for _, pod := range seen.Snapshot.Pods(node.Name) {
				versions[pod.Name+" "+pod.ResourceVersion] = true
			}
		}
		for _, want := range pods {
			if !versions[want.Name+" "+want.ResourceVersion] {
				return fmt.Errorf("the snapshot has not got version %s of pod %s", want.ResourceVersion, want.Name)
			}
		}
		return nil
	})
}

// observe brings the snapshot up to date, as an iteration does first, and returns how long that took since start. The informers' handlers run
// in goroutines of their own; should one of them be late, the snapshot is brought up to date again.
func (w *world) observe(start time.Time, complete func(observation.Observation) error) time.Duration {
	w.Helper()
	var late error
	for range 100 {
		seen, err := w.source.Observe(w.ctx, w.clock.Now(), nil)
		w.must(err)
		took := time.Since(start)
		if late = complete(seen); late == nil {
			return took
		}
	}
	w.Fatalf("what was handed over is not there: %v", late)
	return 0
}

// iterate makes one iteration.
func (w *world) iterate() report.Report {
	w.Helper()
	told, err := w.autoscaler.RunOnce(w.ctx)
	w.must(errors.Join(err, told.ScaleUp.Err, errors.Join(told.Errors...)))
	return told
}

// drain carries out the evictions that the iteration has begun, and returns how many there were.
func (w *world) drain() int {
	w.clock.Step(time.Minute)
	w.actuator.Step(w.ctx, w.clock.Now())
	return w.api.evictions()
}

// close ends the informers.
func (w *world) close() {
	w.stop()
	w.running.Wait()
}
