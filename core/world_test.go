package core_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"example.com/cluster-autoscaler/cloudprovider"
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

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// epoch is when every story begins.
var epoch = simtest.Epoch.Add(24 * time.Hour)

// scanInterval is the time from one iteration to the next in a story.
const scanInterval = 10 * time.Second

// world is a cluster and a cloud in memory with the real autoscaler in front of them. The cluster's own parts are played: nodes register and go
// with their machines, a ReplicaSet replaces its pods, the scheduler binds pods to nodes, evicted pods end. Whatever the autoscaler writes to the cloud is
// checked against the invariants.
type world struct {
	testing.TB
	clock   clock.WithTicker
	start   time.Time
	cloud   *simulated.Cloud
	source  *source
	client  *fake.Clientset // holds the status
	options config.Options
	ctx     context.Context //nolint:containedctx // that of the test

	scheduler *simulator.Scheduler
	snapshot  *simulator.Snapshot // the scheduler's view

	autoscaler *core.Autoscaler
	actuator   *act.Actuator
	teller     *core.Teller
	health     *health.Check
	metrics    *prometheus.Registry
	events     []string
	logs       fmt.Stringer
	priorities *corev1.ConfigMap // of the expander; nil: there is none

	// last is the report of the latest iteration, err its error.
	last     report.Report
	err      error
	nextPass time.Time

	plans    []planned
	machines map[string]bool                                                  // names of the nodes of machines
	born     map[cloudprovider.GroupID]func(*corev1.Node)                     // changes nodes when they register
	refuse   func(operation, name string) error                               // what the API server answers to a write; nil: it accepts
	replaced int                                                              // how many pods the ReplicaSet has replaced
	dirty    bool                                                             // the scheduler has something to do
	doom     *doom                                                            // what befalls the autoscaler's writes; nil: nothing
	endsAt   map[string]time.Time                                             // when ending pods are gone, by name
	grace    func(pod *corev1.Pod, asked time.Duration) (stops time.Duration) // how long a pod takes to end
}

// source is the real source, woken by the story.
type source struct {
	*observation.Source
	woken chan struct{}
	// observed is called when an iteration has observed; nil: nobody is.
	observed func()

	mu  sync.Mutex  // guards what follows: in live stories the loop has a goroutine of its own
	err error       // what observing meets; nil: nothing
	at  []time.Time // when iterations began
}

// fail sets what observing meets; nil: nothing.
func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// began are the times at which iterations began.
func (s *source) began() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.at)
}

// begins notes that an iteration begins and says what it meets.
func (s *source) begins(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, at)
	return s.err
}

func (s *source) Woken() <-chan struct{} { return s.woken }

func (s *source) Observe(ctx context.Context, at time.Time, deletions []observation.Deletion) (observation.Observation, error) {
	if s.observed != nil {
		defer s.observed()
	}
	if err := s.begins(at); err != nil {
		return observation.Observation{}, err
	}
	return s.Source.Observe(ctx, at, deletions)
}

// planned is something that happens later.
type planned struct {
	at time.Time
	do func()
}

// setting is how a story differs from the defaults.
type setting struct {
	groups []simulated.Group
	cloud  simulated.Options
	flags  []string
	clock  clock.WithTicker // nil: a FakeClock at epoch
}

// newWorld starts a story with these groups and flags.
func newWorld(tb testing.TB, flags []string, groups ...simulated.Group) *world {
	tb.Helper()
	return newWorldOf(tb, setting{groups: groups, flags: flags})
}

func newWorldOf(tb testing.TB, s setting) *world {
	tb.Helper()
	if s.clock == nil {
		s.clock = clocktesting.NewFakeClock(epoch)
	}
	w := &world{
		TB: tb, clock: s.clock, start: s.clock.Now(), client: fake.NewClientset(), snapshot: simulator.NewSnapshot(),
		machines: map[string]bool{}, born: map[cloudprovider.GroupID]func(*corev1.Node){}, endsAt: map[string]time.Time{},
		grace: func(_ *corev1.Pod, asked time.Duration) time.Duration { return min(asked, 2*time.Second) },
	}
	w.nextPass = w.start
	parsed, err := config.Parse(append([]string{"--cloud-provider=simulated"}, s.flags...))
	w.must(err)
	w.options = parsed.Options
	s.cloud.OnWrite = w.checkWrite
	w.cloud, err = simulated.NewWithOptions(w.clock, s.cloud, s.groups...)
	w.must(err)
	w.ctx, w.logs = logging(tb, 0)
	w.build()
	w.boot()
	w.settle()
	return w
}

// logging is a context whose log is kept.
func logging(tb testing.TB, verbosity int) (context.Context, fmt.Stringer) {
	logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(verbosity)))
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		tb.Fatal("the logger has no buffer")
	}
	return klog.NewContext(tb.Context(), logger), underlier.GetBuffer()
}

// build makes what outlives the autoscaler's process: the cluster.
func (w *world) build() {
	real, err := observation.NewSource(w.client, w.cloud, w.clock, core.ObservationOptions(w.options))
	w.must(err)
	real.AssumeSynced()
	w.source = &source{Source: real, woken: make(chan struct{}, 1)}
	w.scheduler, err = simulator.NewScheduler(w.ctx, real.Factory(), simulator.Options{Parallelism: 1})
	w.must(err)
	f := real.Factory()
	w.must(f.Core().V1().Namespaces().Informer().GetStore().Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}))
	w.must(f.Apps().V1().ReplicaSets().Informer().GetStore().Add(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "rs", UID: "ReplicaSet-rs"},
	}))
}

// boot starts a process of the autoscaler that remembers nothing.
func (w *world) boot() {
	asked := expander.Sources{Cloud: w.cloud, Priorities: func() (*corev1.ConfigMap, error) { return w.priorities, nil }}
	chain, err := expander.New(w.options.ScaleUp.Expanders, asked, rand.New(rand.NewPCG(1, 2)))
	w.must(err)
	w.metrics = prometheus.NewRegistry()
	m, err := metrics.New(w.metrics, metrics.Options{
		PerNodeGroup: true, RemovalLatency: w.options.ScaleDown.LatencyTracking, NodeSkips: w.options.ScaleDown.SkipEvalTracking,
	})
	w.must(err)
	object := status.NewConfigMap(w.client.CoreV1(), "kube-system", "cluster-autoscaler-status")
	w.teller = core.StartTelling(w.ctx, core.Board{Object: object, KeepState: w.options.Process.PersistState}, recorder{w}, m, w.clock.Now())
	options := act.NewOptions(w.options)
	options.Parallelism = 1
	w.actuator = act.New(act.Collaborators{
		Cloud: w.cloud, Kube: w, Lister: w.source, Workloads: w.source.Workloads(), Observer: w.teller, Clock: w.clock,
	}, options)
	w.health = health.New(w.clock, health.Limits{
		Inactivity: w.options.Loop.MaxInactivity, Failing: w.options.Loop.MaxFailingTime, Startup: w.options.Loop.MaxStartupTime,
	})
	w.health.Monitor()
	w.autoscaler = core.New(core.Collaborators{
		Source: w.source, Cloud: w.cloud, Scheduler: w.scheduler, Expander: chain, Actuator: w.actuator, Teller: w.teller,
		Health: w.health, Metrics: m, Clock: w.clock,
	}, w.options)
}

// recorder keeps events as "kind/name reason message".
type recorder struct{ w *world }

func (r recorder) Event(object runtime.Object, _, reason, message string) {
	name := "?"
	if reference, ok := object.(*corev1.ObjectReference); ok {
		name = reference.Kind + "/" + reference.Name
	}
	r.w.events = append(r.w.events, name+" "+reason+" "+message)
}

func (r recorder) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	r.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	r.Eventf(object, kind, reason, format, args...)
}

// at makes something happen so long after the start.
func (w *world) at(after time.Duration, do func()) {
	w.plans = append(w.plans, planned{w.start.Add(after), do})
}

// to plays the story until so long after the start, that moment included: the autoscaler makes an iteration every ten seconds.
func (w *world) to(after time.Duration) {
	w.Helper()
	fake, ok := w.clock.(*clocktesting.FakeClock)
	if !ok {
		w.Fatal("only a FakeClock can be moved")
	}
	end := w.start.Add(after)
	for {
		now := w.clock.Now()
		w.settle()
		if w.doom != nil {
			w.doom.revive()
		}
		if w.alive() {
			w.actuator.Step(w.ctx, now)
			w.settle()
		}
		if w.alive() && !now.Before(w.nextPass) {
			w.pass()
			w.nextPass = now.Add(scanInterval)
			w.settle()
		}
		if !now.Before(end) {
			return
		}
		fake.Step(time.Second)
	}
}

// alive tells whether there is a process of the autoscaler.
func (w *world) alive() bool { return w.doom == nil || !w.doom.dead }

// carry makes a write of the autoscaler, unless something befalls it.
func (w *world) carry(kind string, effect func() error) error {
	if w.doom == nil {
		return effect()
	}
	return w.doom.carry(kind, effect)
}

// pass makes one iteration.
func (w *world) pass() {
	w.last, w.err = w.autoscaler.RunOnce(w.ctx)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// writes are the writes to the cloud as "seconds operation group from->to".
func (w *world) writes(groups ...cloudprovider.GroupID) []string {
	var out []string
	for _, write := range w.cloud.Writes() {
		if len(groups) > 0 && !slices.Contains(groups, write.Group) {
			continue
		}
		line := fmt.Sprintf("%v %s %s %d->%d", write.At.Sub(w.start).Seconds(), write.Operation, write.Group, write.From, write.To)
		if write.Err != nil {
			line += " refused"
		}
		out = append(out, line)
	}
	return out
}

// bought is by how much the autoscaler raised the group in all.
func (w *world) bought(id cloudprovider.GroupID) int {
	sum := 0
	for _, write := range w.cloud.Writes() {
		if write.Group == id && write.To > write.From {
			sum += write.To - write.From
		}
	}
	return sum
}

// metric is the sum of all series of a metric.
func (w *world) metric(name string, labels ...string) float64 {
	w.Helper()
	families, err := w.metrics.Gather()
	w.must(err)
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, series := range family.GetMetric() {
			text := series.String()
			if !slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(text, label) }) {
				sum += series.GetCounter().GetValue() + series.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func (w *world) target(id cloudprovider.GroupID) int {
	g, ok := w.cloud.Group(id)
	if !ok {
		w.Fatalf("there is no group %s", id)
	}
	return g.Target
}

func (w *world) wantTarget(id cloudprovider.GroupID, want int) {
	w.Helper()
	if got := w.target(id); got != want {
		w.Errorf("after %v: the target of %s is %d, want %d; writes: %v", w.clock.Since(w.start), id, got, want, w.writes())
	}
}

// event tells whether there was an event that contains all the texts.
func (w *world) event(texts ...string) bool {
	return slices.ContainsFunc(w.events, func(event string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(event, text) })
	})
}

// reasons are those of the pod in the last report, "group code" each.
func (w *world) reasons(pod string) []string {
	var out []string
	for _, verdict := range w.last.ScaleUp.Pods {
		if verdict.Pod.Name != pod {
			continue
		}
		if verdict.Own != nil {
			out = append(out, string(verdict.Own.Code()))
		}
		for _, group := range verdict.Groups {
			out = append(out, fmt.Sprintf("%s %s", group.Group, group.Reason.Code()))
		}
	}
	return out
}

// kept is the code of the reason why the node stays according to the last report; empty: there is none.
func (w *world) kept(node string) report.Code {
	for _, verdict := range w.last.ScaleDown.Kept {
		if verdict.Node == node {
			return verdict.Reason.Code()
		}
	}
	return ""
}

// checkWrite checks a write of the autoscaler against the invariants.
func (w *world) checkWrite(write simulated.Write) {
	if w.doom != nil {
		w.doom.wrote(write)
	}
	g, ok := w.cloud.Group(write.Group)
	if !ok || write.From == write.To && len(write.Ended) == 0 {
		return
	}
	if write.To > write.From && write.To > g.Max {
		w.Errorf("%s was raised to %d, above its maximum %d", write.Group, write.To, g.Max)
	}
	if write.To < write.From && write.To < g.Min {
		w.Errorf("%s was lowered to %d, below its minimum %d", write.Group, write.To, g.Min)
	}
	if limit := w.options.Limits.MaxNodes; write.To > write.From && limit > 0 {
		if nodes := len(w.source.nodes().List()); nodes+write.To-write.From > limit {
			w.Errorf("%s was raised by %d with %d nodes in the cluster, above the limit %d", write.Group, write.To-write.From, nodes, limit)
		}
	}
	for _, machine := range write.Ended {
		for _, pod := range w.podsOn(machine.NodeName) {
			if !machine.RegisteredAt.IsZero() && occupies(pod) {
				w.Errorf("machine %s of %s was ended with pod %s on it", machine.NodeName, write.Group, pod.Name)
			}
		}
	}
	if write.To >= write.From {
		return
	}
	alive := 0
	for _, machine := range w.cloud.Machines(write.Group) {
		i := machine.Instance
		if i.State != cloudprovider.InstanceDeleting && (!i.Placeholder || i.Error == nil) {
			alive++
		}
	}
	if write.To < alive {
		w.Errorf("%s was lowered to %d with %d machines that exist or may still arrive", write.Group, write.To, alive)
	}
}

// occupies tells a pod that has to be moved before its machine is ended.
func occupies(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOf(pod)
	return !mirror && (owner == nil || owner.Kind != "DaemonSet") && (pod.Spec.Priority == nil || *pod.Spec.Priority >= -10)
}

var errNotFound = errors.New("group not found")

// status is the document in the status ConfigMap.
func (w *world) status() status.Document {
	w.Helper()
	object, err := w.client.CoreV1().ConfigMaps("kube-system").Get(w.ctx, "cluster-autoscaler-status", metav1.GetOptions{})
	w.must(err)
	doc, err := status.Parse(object.Data["status"])
	w.must(err)
	return doc
}

func stamp(at time.Time) metav1.Time { return metav1.NewTime(at.UTC()) }
