package simulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
)

// Name selects this provider.
const Name = "simulated"

// DefaultGPULabel marks nodes with accelerators unless Options say otherwise.
const DefaultGPULabel = "simulated.cluster-autoscaler/accelerator"

// Options are the properties of the cloud as a whole. The zero value is a cloud whose every Refresh is due, that wakes nobody.
type Options struct {
	// Observer is told about each request; nil: nobody is.
	Observer cloudprovider.CallObserver
	// OnWrite is called with each write after it was carried out and before its caller goes on, so that it can still look at
	// the nodes that were ended. It may call the Cloud. nil: nobody is called.
	OnWrite func(Write)
	// RefreshInterval is the age at which a view is replaced; younger ones stay in force. Zero: at every Refresh.
	RefreshInterval time.Duration
	// NotifyChanges makes Changed wake the loop when a machine appears, runs, registers, fails or goes, or when somebody else
	// interferes. As nothing here runs by itself, it happens at the next call after that. false: Changed returns nil.
	NotifyChanges bool
	// GPULabel is the key that marks nodes with accelerators; empty: DefaultGPULabel.
	GPULabel string
	// Limits replaces the cluster-wide limits of the flags, name by name; nil: replaces nothing.
	Limits *cloudprovider.ResourceLimits
	// BookkeepingLabels are the labels that say nothing about what a node is good for; nil: there are none.
	BookkeepingLabels []string
	// PlainGroups takes the optional abilities, AtomicIncreaser, ForceDeleter and GroupCreator, from the groups.
	PlainGroups bool
}

// Cloud is an in-memory cloud. It implements CloudProvider, InstanceChecker, GPULabeler, BookkeepingLabeler, Pricer, Limiter and Notifier;
// its groups implement NodeGroup and, unless Options.PlainGroups is set, AtomicIncreaser, ForceDeleter and GroupCreator. Nothing in it blocks, runs by
// itself or reads another clock than the given one. All methods may be called concurrently.
type Cloud struct {
	clock   clock.PassiveClock
	options Options
	changed chan struct{} // nil: changes are not told

	view atomic.Pointer[view] // replaced by Refresh, never changed

	mu      sync.Mutex // guards all below
	pools   []*pool    // in the order in which they were added
	index   *index
	faults  []*Fault
	writes  []Write
	failing map[cloudprovider.GroupID]time.Time // since when groups could not be described
	notices []cloudprovider.Notice              // that nobody has asked for yet
}

var (
	_ cloudprovider.CloudProvider      = (*Cloud)(nil)
	_ cloudprovider.InstanceChecker    = (*Cloud)(nil)
	_ cloudprovider.GPULabeler         = (*Cloud)(nil)
	_ cloudprovider.BookkeepingLabeler = (*Cloud)(nil)
	_ cloudprovider.Pricer             = (*Cloud)(nil)
	_ cloudprovider.Limiter            = (*Cloud)(nil)
	_ cloudprovider.Notifier           = (*Cloud)(nil)
)

// New makes a cloud with the given groups whose targets are met from the start. The error joins all that is wrong with them.
func New(clk clock.PassiveClock, groups ...Group) (*Cloud, error) {
	return NewWithOptions(clk, Options{}, groups...)
}

// NewWithOptions is New for a cloud with properties of its own.
func NewWithOptions(clk clock.PassiveClock, options Options, groups ...Group) (*Cloud, error) {
	if clk == nil {
		return nil, errors.New("the simulated cloud needs a clock")
	}
	if options.RefreshInterval < 0 {
		return nil, fmt.Errorf("the refresh interval is %s, want at least 0", options.RefreshInterval)
	}
	if options.GPULabel == "" {
		options.GPULabel = DefaultGPULabel
	}
	c := &Cloud{
		clock: clk, options: options, index: newIndex(), failing: map[cloudprovider.GroupID]time.Time{},
	}
	if options.NotifyChanges {
		c.changed = make(chan struct{}, 1)
	}
	c.view.Store(&view{})
	var errs []error
	for _, g := range groups {
		errs = append(errs, c.addGroup(g))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

// Name returns the name of the provider.
func (c *Cloud) Name() string { return Name }

// NodeGroups lists the groups of the view in the order in which they were added.
func (c *Cloud) NodeGroups() []cloudprovider.NodeGroup { return slices.Clone(c.view.Load().groups) }

// GroupErrors lists the groups of the view that could not be described.
func (c *Cloud) GroupErrors() []cloudprovider.GroupError { return slices.Clone(c.view.Load().errors) }

// GroupOf finds a node by its provider id, without one by its name, and then by GroupAnnotation. Nodes whose machine is gone
// still belong to their group. The error is always nil.
func (c *Cloud) GroupOf(node *corev1.Node) (cloudprovider.GroupID, error) {
	if g := c.groupOf(node); g != nil {
		return g.id, nil
	}
	return "", nil
}

// groupOf is the group of a node in the view; nil: none.
func (c *Cloud) groupOf(node *corev1.Node) *groupView {
	v := c.view.Load()
	if _, g := c.lookUp(v, node); g != nil {
		return g
	}
	return v.byID[cloudprovider.GroupID(node.Annotations[GroupAnnotation])]
}

// InstanceExists tells what the view knows; of a machine that was asked for after it, nothing.
func (c *Cloud) InstanceExists(node *corev1.Node) (exists, known bool) {
	m, g := c.lookUp(c.view.Load(), node)
	if g == nil {
		return false, false
	}
	return g.exists(m.id), true
}

// lookUp finds the machine of a node and its group as far as the view has them; nil, nil: it has not.
func (c *Cloud) lookUp(v *view, node *corev1.Node) (*machine, *groupView) {
	c.mu.Lock()
	e := c.index.find(node.Spec.ProviderID, node.Name)
	c.mu.Unlock()
	if e == nil {
		return nil, nil
	}
	g := v.byID[e.machine.group]
	if g == nil || e.position > g.position {
		return nil, nil
	}
	return e.machine, g
}

// Changed wakes the loop if Options.NotifyChanges is set; else it returns nil.
func (c *Cloud) Changed() <-chan struct{} { return c.changed }

// Cleanup releases nothing, since nothing is held; the observer of calls sees it.
func (c *Cloud) Cleanup(ctx context.Context) error {
	if err := cancelled(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	err := c.readFault(Cleanup, "")
	c.mu.Unlock()
	c.observe(Cleanup, err)
	return err
}

// GPULabel is the key of the label that names the type of a node's accelerator.
func (c *Cloud) GPULabel() string { return c.options.GPULabel }

// GPUTypes lists the types that the templates of the view name.
func (c *Cloud) GPUTypes() []string {
	types := map[string]struct{}{}
	for _, g := range c.view.Load().byID {
		for _, v := range g.variants {
			if t := v.Node.Labels[c.options.GPULabel]; t != "" {
				types[t] = struct{}{}
			}
		}
	}
	return sortedKeys(types)
}

// BookkeepingLabels are those of the options.
func (c *Cloud) BookkeepingLabels() []string { return slices.Clone(c.options.BookkeepingLabels) }

// ResourceLimits returns the limits with those of Options.Limits in place of the given ones.
func (c *Cloud) ResourceLimits(defaults cloudprovider.ResourceLimits) cloudprovider.ResourceLimits {
	if c.options.Limits == nil {
		return defaults
	}
	return cloudprovider.ResourceLimits{
		Min: merged(defaults.Min, c.options.Limits.Min),
		Max: merged(defaults.Max, c.options.Limits.Max),
	}
}

// merged is a new map with the entries of both; the later ones win.
func merged(limits ...map[string]int64) map[string]int64 {
	all := map[string]int64{}
	for _, l := range limits {
		maps.Copy(all, l)
	}
	return all
}

// settle brings all pools up to date, wakes the loop if there is news, and returns the time. The lock must be held.
func (c *Cloud) settle() time.Time {
	now := c.clock.Now()
	news := false
	for _, p := range c.pools {
		if p.settle(now) {
			news = true
		}
	}
	if news {
		c.wake()
	}
	return now
}

// wake wakes the loop where that is wanted. It never blocks.
func (c *Cloud) wake() {
	if c.changed == nil {
		return
	}
	select {
	case c.changed <- struct{}{}:
	default: // the loop has not yet taken the previous one, which serves as well
	}
}

// pool finds a group of now; nil: there is none. The lock must be held.
func (c *Cloud) pool(id cloudprovider.GroupID) *pool {
	for _, p := range c.pools {
		if p.spec.ID == id {
			return p
		}
	}
	return nil
}

// observe tells the observer of calls about a request. The lock must not be held.
func (c *Cloud) observe(on Operation, err error) {
	if c.options.Observer != nil {
		c.options.Observer.ObserveCall(cloudprovider.Call{Provider: Name, Operation: string(on), Code: codeOf(err)})
	}
}

// cancelled is the error of a request whose context has ended before it was sent.
func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return &cloudprovider.TransientError{Err: fmt.Errorf("the request was not sent: %w", err)}
	}
	return nil
}
