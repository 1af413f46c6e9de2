package aws

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asg"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/asgapi"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/discovery"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/managed"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/offerings"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/session"
	"example.com/cluster-autoscaler/cloudprovider/internal/calls"
)

// reader and writer are what the provider asks of the Auto Scaling service.
type reader interface {
	GroupsByName(ctx context.Context, names []string) (asgapi.Listing, error)
	GroupsByRule(ctx context.Context, rule discovery.Rule) (asgapi.Listing, error)
	Activities(ctx context.Context, group string, since time.Time) ([]asg.Activity, time.Time, error)
	Renewal(ctx context.Context, group string) (status string, err error)
}

type writer interface {
	SetDesired(ctx context.Context, group string, desired int) (time.Time, error)
	Terminate(ctx context.Context, instance string, decrement bool) error
	TerminateBatch(ctx context.Context, group string, instances []string, decrement bool) error
	Protect(ctx context.Context, group string, instances []string, protected bool) error
}

type service interface {
	reader
	writer
}

// Provider is the cloud of AWS Auto Scaling groups. Safe for concurrent use. From the first Refresh until Cleanup it owns a goroutine that looks at groups
// which are about to change.
type Provider struct {
	api      service
	launches *launch.Cache
	managed  *managed.Cache
	prices   *pricing
	// identify asks AWS who we are; nil: nobody wants to know.
	identify   func(context.Context) (session.Identity, error)
	introduced sync.Once
	clock      clock.Clock
	wanted     wanted
	history    time.Time // what failed before is not our concern
	// provisionTime is how long a machine may take to become a node.
	provisionTime time.Duration
	changed       chan struct{}
	calls         calls.Group
	notices       *notices
	events        cloudprovider.EventObserver // nil: there is none
	traffic       *traffic
	short         offerings.Table
	interval      time.Duration // between two full refreshes

	watching sync.Once
	nudged   chan struct{} // the time of the next look has changed
	nodeSeen atomic.Int64  // when we were last asked about a node; Unix time in nanoseconds

	view     atomic.Pointer[view]
	stranger atomic.Bool   // a fresh node was seen whose instance is not in the view
	single   atomic.Bool   // AWS doesn't end several instances in one call here
	sequence atomic.Uint64 // of questions and writes

	pauseByTag bool
	gathering  gathering

	refreshing sync.Mutex // held by the one Refresh or look that may be under way; guards schedule and random
	schedule   schedule
	random     *rand.Rand // nil: refreshes have no jitter

	mu      sync.Mutex // guards what follows, and the books; never held over a network call
	books   map[string]*book
	gone    map[string]goneInstance
	asked   time.Time            // when the last full refresh began that succeeded
	blocked map[string]time.Time // operations that AWS denies us, and when to try again
	aside   map[string]bool      // names of the groups that were set aside when that was last told
	// foreseen are the groups that ReadGroups was last asked for, at foreseenAt.
	foreseen   map[string]bool
	foreseenAt time.Time
}

var (
	_ cloudprovider.CloudProvider   = (*Provider)(nil)
	_ cloudprovider.InstanceChecker = (*Provider)(nil)
	_ cloudprovider.GPULabeler      = (*Provider)(nil)
	_ cloudprovider.Notifier        = (*Provider)(nil)
	_ cloudprovider.NodeGroup       = (*NodeGroup)(nil)
	_ cloudprovider.ForceDeleter    = (*NodeGroup)(nil)
	_ cloudprovider.GroupReader     = (*Provider)(nil)
	_ cloudprovider.StateReader     = (*NodeGroup)(nil)
	_ cloudprovider.ShrinkChecker   = (*NodeGroup)(nil)
)

// Name is "aws".
func (p *Provider) Name() string { return Name }

// NodeGroups lists the groups of the view by name.
func (p *Provider) NodeGroups() []cloudprovider.NodeGroup { return slices.Clone(p.view.Load().groups) }

// GroupErrors lists what is wrong with single groups, by name.
func (p *Provider) GroupErrors() []cloudprovider.GroupError {
	return slices.Clone(p.view.Load().errors)
}

// Changed fires when a look between two calls of Refresh, or the one before a write, shows something that the view didn't.
func (p *Provider) Changed() <-chan struct{} { return p.changed }

// Cleanup cancels the calls under way and waits for them, at most as long as ctx lasts, and takes back the protection of machines that a cut
// may have left. Calls that begin later fail at once. It may be called again.
func (p *Provider) Cleanup(ctx context.Context) error {
	if err := p.calls.Stop(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	owed := map[*book][]string{}
	for _, b := range p.books {
		if len(b.watch.protected) > 0 {
			owed[b], b.watch.protected = b.watch.protected, nil
		}
	}
	p.mu.Unlock()
	for b, ids := range owed {
		p.unprotect(ctx, b, ids)
	}
	return nil
}

// GPULabel is the key of the label that marks nodes with accelerators; operators set it through kubelet.
const GPULabel = "k8s.amazonaws.com/accelerator"

// GPULabel is the key of the label whose value is the type of the accelerator.
func (p *Provider) GPULabel() string { return GPULabel }

// GPUTypes lists the values of the label that are known.
func (p *Provider) GPUTypes() []string {
	return []string{
		"nvidia-a10", "nvidia-a10g", "nvidia-b200", "nvidia-h100", "nvidia-h200", "nvidia-l4", "nvidia-l40", "nvidia-l40s", "nvidia-t4g",
		"nvidia-tesla-a100", "nvidia-tesla-k80", "nvidia-tesla-p100", "nvidia-tesla-t4", "nvidia-tesla-v100",
	}
}

// moment is the next point in the order of questions and writes.
func (p *Provider) moment() moment {
	return moment{sequence: p.sequence.Add(1), at: p.clock.Now()}
}

// wake tells the loop, without waiting for it.
func (p *Provider) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // it knows already
	}
}

// deniedFor is how long an operation is left alone that AWS denies us.
const deniedFor = 5 * time.Minute

// denied tells whether an operation was denied a short while ago. Call with mu held.
func (p *Provider) denied(operation string) bool {
	left := p.blocked[operation].Sub(p.clock.Now())
	return left > 0 && left <= deniedFor // more is left when the clock was set back
}

// deny remembers that an operation was denied and tells whether that is news. Call with mu held.
func (p *Provider) deny(operation string) bool {
	_, again := p.blocked[operation]
	if p.blocked == nil {
		p.blocked = map[string]time.Time{}
	}
	p.blocked[operation] = p.clock.Now().Add(deniedFor)
	return !again
}
