package scenario

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/defaults"
)

// world is a cluster and a cloud in memory, as they are at one moment of a play. Its stores are those of the informers from which the autoscaler
// reads. Nothing in it runs by itself: step lets everything happen that is due.
type world struct {
	clock *virtualClock
	start time.Time
	cloud *simulated.Cloud
	// source is what the autoscaler reads from; scheduler judges pods for it and for the cluster, whose own snapshot view is.
	source    *source
	scheduler *simulator.Scheduler
	view      *simulator.Snapshot
	options   config.Options
	// random decides between equal options, all through the play.
	random *rand.Rand
	tell   func(line)

	nodes   *table[*corev1.Node]
	pods    *pods
	budgets *table[*policyv1.PodDisruptionBudget]
	sets    *table[*appsv1.DaemonSet]
	// others are the kinds that nothing here looks into.
	others map[string]*table[metav1.Object]

	priorities defaults.Priorities
	groups     map[cloudprovider.GroupID]*document.NodeGroup
	workloads  map[string]*workload
	// ownerOf finds the workload of the pods whose controller has the UID.
	ownerOf map[types.UID]*workload

	// machines are those whose node has registered, by its name; lost are nodes whose machine has vanished, and until when they stay.
	machines map[string]simulated.Machine
	lost     map[string]time.Time
	// settling are new nodes that still lose taints or gain resources.
	settling map[string]*settling
	// gone are the names of the nodes that were there and are not any more.
	gone map[string]bool

	// starts and ends are when pods begin to run and are gone, by key.
	starts, ends map[string]time.Time

	// stirred is set while something has changed that controllers or the scheduler have not seen; moved while machines may have come or gone.
	stirred, moved bool
	// targets are the sizes of the groups as of their last change; a group that is missing has to be asked for.
	targets map[cloudprovider.GroupID]int
	// cloudNext is when the next machine changes by itself; zero: never.
	cloudNext time.Time

	// board is where processes leave what the next one is to know.
	board   core.Board
	process process
	// wakes is when a process that was ended starts anew; zero: it runs.
	wakes    time.Time
	graceful bool

	counts    totals
	chronicle *chronicle
}

// source is the real source, woken by the play: nobody runs the informers that would wake it.
type source struct {
	*observation.Source
	woken chan struct{}
}

// Woken delivers a value when the scheduler has found no room for a pod.
func (s *source) Woken() <-chan struct{} { return s.woken }

func (s *source) wake() {
	select {
	case s.woken <- struct{}{}:
	default: // one wake-up is pending already and will see this pod too
	}
}

// newWorld sets the cluster up as it is at the start. ctx carries the logger.
func newWorld(ctx context.Context, cluster document.Cluster, options Options, tell func(line)) (*world, error) {
	w := &world{
		clock: newClock(cluster.Start), start: cluster.Start, options: options.Controller, view: simulator.NewSnapshot(), tell: tell,
		priorities: defaults.NewPriorities(cluster.PriorityClasses),
		groups:     map[cloudprovider.GroupID]*document.NodeGroup{}, workloads: map[string]*workload{}, ownerOf: map[types.UID]*workload{},
		machines: map[string]simulated.Machine{}, lost: map[string]time.Time{}, settling: map[string]*settling{}, gone: map[string]bool{}, targets: map[cloudprovider.GroupID]int{},
		starts: map[string]time.Time{}, ends: map[string]time.Time{},
		stirred: true, moved: true, counts: newTotals(),
	}
	w.chronicle = newChronicle(w)
	if restarts(cluster.Scenario.Timeline) && w.options.Status.WriteConfigMap { // else nobody would ever read it
		w.board = core.Board{Object: &pinboard{}, KeepState: w.options.Process.PersistState}
	}
	var err error
	if w.cloud, err = simulated.NewWithOptions(w.clock, simulated.Options{
		OnWrite: w.written, GPULabel: options.GPULabel, BookkeepingLabels: options.BookkeepingLabels,
	}); err != nil {
		return nil, err
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if err := w.adopt(cluster.Finished); err != nil {
		return nil, err
	}
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(cluster.Scenario.Name)) // never fails
	w.random = rand.New(rand.NewPCG(seed.Sum64(), 0))
	return w, nil
}

// chain makes the expanders of one life of the autoscaler. There is no server to ask in a play, so that expander is left out.
func (w *world) chain() (*expander.Chain, error) {
	names := slices.DeleteFunc(slices.Clone(w.options.ScaleUp.Expanders), func(name config.Expander) bool { return name == config.ExpanderGRPC })
	return expander.New(names, expander.Sources{Cloud: w.cloud, Priorities: w.priorityMap}, w.random)
}

// priorityMap is the ConfigMap of the expander "priority"; nil: there is none.
func (w *world) priorityMap() (*corev1.ConfigMap, error) {
	object, _ := w.others[kindConfigMap].by[w.options.Process.Namespace+"/"+config.PriorityConfigMap].(*corev1.ConfigMap)
	return object, nil
}

// connect makes what the autoscaler reads from. The client is never asked: the informers are not run, their stores are filled here.
func (w *world) connect(ctx context.Context) error {
	read, err := observation.NewSource(&kubernetes.Clientset{}, w.cloud, w.clock, core.ObservationOptions(w.options))
	if err != nil {
		return err
	}
	read.AssumeSynced()
	w.source = &source{Source: read, woken: make(chan struct{}, 1)}
	profile := simulator.Profile{}
	if file := w.options.Simulation.SchedulerConfigFile; file != "" {
		if profile, err = simulator.LoadProfile(file); err != nil {
			return err
		}
	}
	w.scheduler, err = simulator.NewScheduler(ctx, read.Factory(), simulator.Options{
		Profile: profile, Parallelism: 1, FrameworkOnly: !w.options.Simulation.FastPath,
	})
	if err != nil {
		return err
	}
	factory := read.Factory()
	w.nodes = newTable[*corev1.Node](factory.Core().V1().Nodes().Informer().GetStore())
	w.pods = newPods(factory.Core().V1().Pods().Informer().GetStore())
	w.budgets = newTable[*policyv1.PodDisruptionBudget](factory.Policy().V1().PodDisruptionBudgets().Informer().GetStore())
	w.sets = newTable[*appsv1.DaemonSet](factory.Apps().V1().DaemonSets().Informer().GetStore())
	w.others = otherTables(factory)
	return nil
}

// now is the time of the step.
func (w *world) now() time.Time { return w.clock.Now() }

// since is the time since the start.
func (w *world) since() time.Duration { return w.clock.Since(w.start) }

// step lets everything happen that is due by now, in the order of the spec. The timeline comes before it.
func (w *world) step(ctx context.Context) error {
	for _, part := range []func(context.Context) error{w.moveMachines, w.runNodes, w.runPods, w.control, w.schedule, w.autoscale} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("%s after the start: %w", w.since(), err)
		}
	}
	return nil
}

// next is when the next step has anything to do; zero: never.
func (w *world) next() time.Time {
	if w.stirred || w.moved {
		return w.now().Add(time.Second)
	}
	next := earliest(w.cloudNext, w.wakes, w.process.next(w.now()))
	for _, due := range []map[string]time.Time{w.starts, w.ends, w.lost} {
		for _, at := range due { // in any order: the earliest is the same
			next = earliest(next, at)
		}
	}
	for _, s := range w.settling {
		next = earliest(next, s.next())
	}
	return earliest(next, w.nextTaintEviction())
}

// earliest is the first of the times that are not zero; zero if all are.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
