package observation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/taints"
)

// remindEvery is how often the log repeats which resource keeps the process from starting.
const remindEvery = time.Minute

// Options steer what the Source makes of what it reads.
type Options struct {
	// AllowedSchedulers: only pods of these cause anything; empty: of all. Pods that have a node take room whoever put them there. BypassedSchedulers: pods
	// of these count before a scheduler has looked at them. "default-scheduler" covers the empty name in both.
	AllowedSchedulers, BypassedSchedulers []string
	// ExpendableCutoff: pods of a lower priority take no room.
	ExpendableCutoff int
	// Taints tells startup taints from others.
	Taints taints.Rules
	// GroupDefaults are the options of a group that overrides nothing.
	GroupDefaults GroupOptions
	// Limits are the cluster-wide limits of the flags.
	Limits cloudprovider.ResourceLimits
	// Controllers: somebody asks for controllers and gated pods. Otherwise they are not looked at.
	Controllers bool
	// AwaitDrivers: a node is ready only when the storage drivers in its group's template have registered on it.
	AwaitDrivers bool
	// Rebuilt is called when the snapshot was found to differ from what was read and was made anew; nil: nobody wants to know.
	Rebuilt func()
}

// Source reads clusters through client-go's informers and clouds through their provider. Its methods may be called from different
// goroutines; Run once, Observe by one at a time.
type Source struct {
	client   kubernetes.Interface
	cloud    cloudprovider.CloudProvider
	clock    clock.WithTicker
	options  Options
	factory  informers.SharedInformerFactory
	follower *follower
	wake     chan struct{}
	watches  []*watch // by name
	byName   map[string]*watch
	// needs holds, for the scheduler's plug-ins that refuse wrongly without some resources, these.
	needs map[string][]*watch

	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed when a resource went on or off, and replaced
}

// NewSource returns a Source that has not read anything. The informer factory is made here, with the transform that trims objects, and is
// to be shared with the simulator.
func NewSource(client kubernetes.Interface, cloud cloudprovider.CloudProvider, c clock.WithTicker, options Options) (*Source, error) {
	s := &Source{
		client: client, cloud: cloud, clock: c, options: options,
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(newTrimmer().transform)),
		wake:    make(chan struct{}, 1),
		byName:  map[string]*watch{},
		needs:   map[string][]*watch{},
		changed: make(chan struct{}),
	}
	for _, r := range resources() {
		w, err := newWatch(r, s.factory, c.Now())
		if err != nil {
			return nil, err
		}
		s.watches, s.byName[w.name] = append(s.watches, w), w
		for _, plugin := range simulator.PluginsNeeding(w.name) {
			s.needs[plugin] = append(s.needs[plugin], w)
		}
	}
	slices.SortFunc(s.watches, func(a, b *watch) int { return cmp.Compare(a.name, b.name) })
	pods := s.factory.Core().V1().Pods().Informer()
	if err := pods.AddIndexers(cache.Indexers{podsByNode: indexByNode}); err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	s.follower = newFollower(s.factory, options, s.reads)
	return s, s.follower.listen(s.factory, s.look)
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

// AssumeSynced makes every resource count as read. It is for those who write into the stores of the factory's informers themselves instead of
// calling Run: each Observe then looks for what has changed there.
func (s *Source) AssumeSynced() {
	s.follower.silence()
	for _, w := range s.watches {
		s.set(w, phaseOn, nil)
	}
}

// WaitForSync blocks until the required resources have been read and each optional one has been read or found missing. While one of
// them cannot be read, its name and the reason are logged once a minute. It returns an error only when ctx ends.
func (s *Source) WaitForSync(ctx context.Context) error {
	remind := s.clock.NewTicker(remindEvery)
	defer remind.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		waiting := s.waiting()
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s (%w): %w", waiting[0].name, waiting[0].problem(), ctx.Err())
		case <-remind.C():
			for _, w := range waiting {
				klog.FromContext(ctx).Error(w.problem(), "Waiting for a resource that has to be listed before anything can be done", "resource", w.name)
			}
		case <-changed:
		}
	}
}

// waiting are the resources that keep the first iteration from starting, required ones first.
func (s *Source) waiting() []*watch {
	waiting := slices.DeleteFunc(slices.Clone(s.watches), func(w *watch) bool { return !w.awaited() })
	slices.SortStableFunc(waiting, func(a, b *watch) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		default:
			return 1
		}
	})
	return waiting
}

// announce wakes those who wait for a resource.
func (s *Source) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Features says for every optional resource whether it can be read, by ascending name. It may be called at any time.
func (s *Source) Features() []Feature {
	features := make([]Feature, 0, len(s.watches))
	for _, w := range s.watches {
		if !w.required {
			features = append(features, w.feature())
		}
	}
	return features
}

// PluginDisabled says whether the plug-in of the scheduler has to be left out for now, because it would refuse pods for want of a resource
// that cannot be read: volumes then take no part in the simulation. It is made for simulator.Options and does not block.
func (s *Source) PluginDisabled(plugin string) bool {
	for _, w := range s.needs[plugin] {
		if !w.on.Load() {
			return true
		}
	}
	return false
}

// off says why the resource cannot be read; nil: it can.
func (s *Source) off(name string) error {
	w := s.byName[name]
	if w == nil {
		return fmt.Errorf("resource %s is not read at all", name)
	}
	return w.problem()
}

// reads tells whether the resource can be read.
func (s *Source) reads(name string) bool { return s.off(name) == nil }
