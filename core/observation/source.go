package observation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/taints"
)

const (
	// remindEvery is how often the log repeats which required resource keeps the process from starting.
	remindEvery = time.Minute
	// retryRequired and retryOptional are how long to wait before a resource that could not be listed is tried again.
	retryRequired = 2 * time.Second
	retryOptional = 5 * time.Minute
	// probeTimeout bounds one probe, syncTimeout the first list of an optional resource.
	probeTimeout = 10 * time.Second
)

// Options steer what the Source makes of what it reads.
type Options struct {
	// AllowedSchedulers: only pods of these count at all; empty: of all. BypassedSchedulers: pods of these count before a
	// scheduler has looked at them. "default-scheduler" covers the empty name in both.
	AllowedSchedulers, BypassedSchedulers []string
	// ExpendableCutoff: pods of a lower priority take no room.
	ExpendableCutoff int
	// Taints tells startup taints from others.
	Taints taints.Rules
	// GroupDefaults are the options of a group that overrides nothing.
	GroupDefaults GroupOptions
	// Limits are the cluster-wide limits of the flags.
	Limits cloudprovider.ResourceLimits
}

// Source reads clusters through client-go's informers and clouds through their provider. Run, Observe and the channel may be used from
// different goroutines; Observe by one at a time.
type Source struct {
	client   kubernetes.Interface
	cloud    cloudprovider.CloudProvider
	clock    clock.WithTicker
	options  Options
	factory  informers.SharedInformerFactory
	snapshot *simulator.Snapshot
	wake     chan struct{}
	watches  []*watch
}

// watch is one resource with its informer and whether it can be read.
type watch struct {
	resource
	shared cache.SharedIndexInformer

	mu    sync.Mutex // guards err and since
	err   error
	since time.Time
}

// errStarting is the state of a resource that was not listed yet.
var errStarting = errors.New("not listed yet")

// NewSource returns a Source that has not read anything. Informers takes part in nothing but this: the factory is made here, with the
// transform that trims objects, and is to be shared with the simulator.
func NewSource(client kubernetes.Interface, cloud cloudprovider.CloudProvider, c clock.WithTicker, options Options) (*Source, error) {
	s := &Source{
		client: client, cloud: cloud, clock: c, options: options,
		factory:  informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(newTrimmer().transform)),
		snapshot: simulator.NewSnapshot(),
		wake:     make(chan struct{}, 1),
	}
	for _, r := range resources() {
		s.watches = append(s.watches, &watch{resource: r, shared: r.informer(s.factory), err: errStarting, since: c.Now()})
	}
	pods := s.factory.Core().V1().Pods().Informer()
	if err := pods.AddIndexers(cache.Indexers{podsByNode: indexByNode}); err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	if _, err := pods.AddEventHandler(s.wakeUp()); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return s, nil
}

// Factory is the informer factory, for the simulator. Its informers are started by Run and by nobody else.
func (s *Source) Factory() informers.SharedInformerFactory { return s.factory }

// Woken delivers a value when a pod turned unschedulable a moment ago. Any number of such pods makes one value.
func (s *Source) Woken() <-chan struct{} { return s.wake }

// Run reads until ctx ends; it returns once all its goroutines have. Call WaitForSync to learn when there is something to observe.
func (s *Source) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, w := range s.watches {
		running.Go(func() { s.run(ctx, w) })
	}
	running.Wait()
}

// WaitForSync blocks until the required resources have been read and each optional one has been read or found missing. While a required
// one cannot be read, its name and the reason are logged once a minute. It returns an error only when ctx ends.
func (s *Source) WaitForSync(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	tick := s.clock.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	reminded := s.clock.Now()
	for {
		waiting := s.waiting()
		if len(waiting) == 0 {
			return nil
		}
		if now := s.clock.Now(); now.Sub(reminded) >= remindEvery {
			reminded = now
			for _, w := range waiting {
				logger.Error(w.problem(), "Waiting for a resource that has to be listed before anything can be done", "resource", w.name)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", waiting[0].name, ctx.Err())
		case <-tick.C():
		}
	}
}

// waiting are the resources that keep the first iteration from starting.
func (s *Source) waiting() []*watch {
	var waiting []*watch
	for _, w := range s.watches {
		err := w.problem()
		if err == nil || (!w.required && !errors.Is(err, errStarting)) {
			continue
		}
		waiting = append(waiting, w)
	}
	return waiting
}

// run lists and watches one resource: it probes until the resource can be listed, then leaves it to the informer.
func (s *Source) run(ctx context.Context, w *watch) {
	retry := retryOptional
	if w.required {
		retry = retryRequired
	}
	for {
		err := s.probe(ctx, w)
		if err == nil {
			break
		}
		if w.set(err, s.clock.Now()) {
			klog.FromContext(ctx).Error(err, "Cannot list a resource", "resource", w.name, "required", w.required, "retryAfter", retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.clock.After(retry):
		}
	}
	var running sync.WaitGroup
	running.Go(func() { w.shared.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), w.shared.HasSynced) {
		if w.set(nil, s.clock.Now()) {
			klog.FromContext(ctx).V(1).Info("Reading resource", "resource", w.name)
		}
	}
	running.Wait()
}

func (s *Source) probe(ctx context.Context, w *watch) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return w.probe(ctx, s.client, metav1.ListOptions{Limit: 1})
}

// set records whether the resource can be read and reports whether that is news.
func (w *watch) set(err error, at time.Time) (news bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.err
	w.err = err
	if (was == nil) != (err == nil) || errors.Is(was, errStarting) || (err != nil && was.Error() != err.Error()) {
		w.since = at
		return true
	}
	return false
}

func (w *watch) problem() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Features says for every optional resource whether it can be read, by ascending name. It may be called at any time.
func (s *Source) Features() []Feature {
	features := make([]Feature, 0, len(s.watches))
	for _, w := range s.watches {
		w.mu.Lock()
		features = append(features, Feature{Name: w.name, Err: w.err, Since: w.since})
		w.mu.Unlock()
	}
	slices.SortFunc(features, func(a, b Feature) int { return cmp.Compare(a.Name, b.Name) })
	return features
}

// off says why the resource cannot be read; nil: it can.
func (s *Source) off(name string) error {
	for _, w := range s.watches {
		if w.name == name {
			return w.problem()
		}
	}
	return fmt.Errorf("resource %s is not read at all", name)
}
