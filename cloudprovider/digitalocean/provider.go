package digitalocean

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/cloudconfig"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/doapi"
	"example.com/cluster-autoscaler/cloudprovider/digitalocean/internal/selection"
	"example.com/cluster-autoscaler/cloudprovider/internal/calls"
)

// reader and writer are what the provider asks of the API.
type reader interface {
	Pools(ctx context.Context) ([]doapi.Pool, error)
	Pool(ctx context.Context, id string) (doapi.Pool, error)
	Template(ctx context.Context, poolName string) (doapi.Template, error)
	Cluster(ctx context.Context) (doapi.Cluster, error)
	Sizes(ctx context.Context) ([]doapi.Size, error)
}

type writer interface {
	Resize(ctx context.Context, pool string, count int) (doapi.Pool, error)
	DeleteNode(ctx context.Context, pool, node string, skipDrain bool) error
}

type service interface {
	reader
	writer
	Low() bool
	BlockedUntil() time.Time
	TokenTrouble() error
	Close()
}

// Provider is the cloud of DOKS node pools. Safe for concurrent use. It owns no goroutines beyond those that a call waits for.
type Provider struct {
	api     service
	clock   clock.PassiveClock
	config  cloudconfig.Config
	rules   selection.Rules
	changed chan struct{}
	calls   calls.Group
	notes   notes

	view     atomic.Pointer[view]
	sequence atomic.Uint64 // of questions and writes

	refreshing sync.Mutex // held by the one Refresh that may be under way; guards schedule
	schedule   schedule

	mu     sync.Mutex // guards what follows, and the books; never held over a network call
	books  map[string]*book
	others map[string]string // Droplets of pools that are no groups, and the ids of those pools
	facts  facts
	listed time.Time // when the last listing began that succeeded
}

var (
	_ cloudprovider.CloudProvider      = (*Provider)(nil)
	_ cloudprovider.InstanceChecker    = (*Provider)(nil)
	_ cloudprovider.GPULabeler         = (*Provider)(nil)
	_ cloudprovider.BookkeepingLabeler = (*Provider)(nil)
	_ cloudprovider.Pricer             = (*Provider)(nil)
	_ cloudprovider.Notifier           = (*Provider)(nil)
	_ cloudprovider.GroupReader        = (*Provider)(nil)
	_ cloudprovider.NodeGroup          = (*NodeGroup)(nil)
	_ cloudprovider.ForceDeleter       = (*NodeGroup)(nil)
	_ cloudprovider.StateReader        = (*NodeGroup)(nil)
	_ cloudprovider.ShrinkChecker      = (*NodeGroup)(nil)
)

// Name is "digitalocean".
func (p *Provider) Name() string { return Name }

// NodeGroups lists the groups of the view by the names of their pools.
func (p *Provider) NodeGroups() []cloudprovider.NodeGroup { return slices.Clone(p.view.Load().groups) }

// GroupErrors lists what is wrong with single groups, by id.
func (p *Provider) GroupErrors() []cloudprovider.GroupError {
	return slices.Clone(p.view.Load().errors)
}

// Changed fires when the fresh look before a write shows something that the view doesn't.
func (p *Provider) Changed() <-chan struct{} { return p.changed }

// Notices hands over what came up since the call before.
func (p *Provider) Notices() []cloudprovider.Notice { return p.notes.take() }

// Cleanup cancels the calls under way and waits for them, at most as long as ctx lasts. Calls that begin later fail at once. It may be called again.
func (p *Provider) Cleanup(ctx context.Context) error {
	defer p.api.Close()
	return p.calls.Stop(ctx)
}

// GPULabel is the key of the label whose value is the type of the accelerator.
func (p *Provider) GPULabel() string { return p.config.GPULabel }

// GPUTypes lists the types of accelerators that templates and sizes have shown so far.
func (p *Provider) GPUTypes() []string { return slices.Clone(p.view.Load().gpuTypes) }

// BookkeepingLabels are BookkeepingLabels of the package.
func (p *Provider) BookkeepingLabels() []string { return BookkeepingLabels() }

// NodePricePerHour is the price of the node's size in US dollars.
func (p *Provider) NodePricePerHour(node *corev1.Node) (float64, error) {
	v := p.view.Load()
	return v.prices.Node(v.sizeOf(node))
}

// PodPricePerHour is the lowest price, in US dollars, of the share of a Droplet that the pod would fill, over the sizes that the region has for sale.
func (p *Provider) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	return p.view.Load().prices.Pod(pod)
}

// moment is a point in the order of our own questions and writes, and the time of it.
type moment struct {
	sequence uint64
	at       time.Time
}

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
