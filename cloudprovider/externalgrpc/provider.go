package externalgrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// Name selects this provider in --cloud-provider.
const Name = "externalgrpc"

// Options is what a Provider is made with.
type Options struct {
	// CloudConfig is the content of the file behind --cloud-config.
	CloudConfig []byte
	// Defaults are what the flags say of all node groups. The server is told and answers with its changes in them. Nil fields are told as zero.
	Defaults cloudprovider.OptionOverrides
	Clock    clock.PassiveClock // required
	// Observer is told about every call; nil: nobody is.
	Observer cloudprovider.CallObserver
}

// Provider is the cloud behind a server of the operator's own. Safe for concurrent use. It owns no goroutines beyond those that a call waits for and
// those of the connection.
type Provider struct {
	conn     *grpc.ClientConn
	client   protocol.CloudProviderClient
	config   Config
	defaults *protocol.NodeGroupAutoscalingOptions
	clock    clock.PassiveClock
	changed  chan struct{}
	prices   prices

	view atomic.Pointer[view]

	refreshing sync.Mutex // held by the one Refresh that may be under way; guards reached
	reached    bool       // an answer came once

	mu         sync.Mutex // guards what follows; never held over a call
	hasOptions answered   // whether the server has options of groups
	books      map[cloudprovider.GroupID]*book
	strangers  map[nodeKey]*stranger
}

var (
	_ cloudprovider.CloudProvider = (*Provider)(nil)
	_ cloudprovider.GPULabeler    = (*Provider)(nil)
	_ cloudprovider.Pricer        = (*Provider)(nil)
	_ cloudprovider.PriceReader   = (*Provider)(nil)
	_ cloudprovider.NodeGroup     = (*NodeGroup)(nil)
	_ cloudprovider.StateReader   = (*NodeGroup)(nil)
)

// New checks the configuration and makes a Provider with an empty view. It tries to ask the server how nodes with accelerators are labelled, which blocks for
// grpc_timeout at most and may fail; everything else is first asked by Refresh. The error joins all that is wrong.
func New(ctx context.Context, o Options) (*Provider, error) {
	if o.Clock == nil {
		return nil, errors.New("making the external gRPC provider: Options.Clock is nil")
	}
	config, err := ParseConfig(o.CloudConfig)
	if err != nil {
		return nil, fmt.Errorf("configuring the external gRPC provider: %w", err)
	}
	conn, err := dial(config, observe(o.Observer, o.Clock))
	if err != nil {
		return nil, fmt.Errorf("configuring the external gRPC provider: %w", err)
	}
	logger := klog.FromContext(ctx)
	for _, warning := range config.Warnings {
		logger.Info("The configuration of the external gRPC provider is odd", "reason", warning)
	}
	logger.Info("Using an external gRPC provider", "address", config.Address, "encrypted", config.CACert != "", "timeout", config.Timeout, "writeTimeout", config.WriteTimeout)
	p := &Provider{
		conn: conn, client: protocol.NewCloudProviderClient(conn), config: config, defaults: optionsMessage(o.Defaults), clock: o.Clock,
		changed: make(chan struct{}, 1), books: map[cloudprovider.GroupID]*book{}, strangers: map[nodeKey]*stranger{},
	}
	p.view.Store(&view{})
	p.readGPU(ctx) // some want to know before the first Refresh
	return p, nil
}

// observe tells the observer about every call.
func observe(observer cloudprovider.CallObserver, ticking clock.PassiveClock) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		began := ticking.Now()
		err := invoke(ctx, method, request, reply, conn, options...)
		if observer != nil {
			code := "success"
			if err != nil {
				code = status.Code(err).String()
			}
			observer.ObserveCall(cloudprovider.Call{Provider: Name, Operation: path.Base(method), Duration: ticking.Since(began), Code: code})
		}
		return err
	}
}

// Name is "externalgrpc".
func (p *Provider) Name() string { return Name }

// NodeGroups lists the groups in the order in which the server lists them.
func (p *Provider) NodeGroups() []cloudprovider.NodeGroup { return slices.Clone(p.view.Load().groups) }

// GroupErrors lists the groups that the server could not tell everything about, by id.
func (p *Provider) GroupErrors() []cloudprovider.GroupError {
	return slices.Clone(p.view.Load().errors)
}

// GroupOf knows the machines that the server listed. About a node that is none of them the server is asked by the next Refresh, for which it wakes
// the loop; until then the node is not managed. The error is always nil.
func (p *Provider) GroupOf(node *corev1.Node) (cloudprovider.GroupID, error) {
	v := p.view.Load()
	if group, ok := v.members[node.Spec.ProviderID]; ok && node.Spec.ProviderID != "" {
		return group, nil
	}
	if group, ok := v.members[node.Name]; ok && node.Spec.ProviderID == "" {
		return group, nil // made from an instance that never registered
	}
	key := nodeKey{name: node.Name, providerID: node.Spec.ProviderID}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.strangers[key]
	if s == nil {
		s = &stranger{node: nodeMessage(cloudprovider.RefOf(node))}
		p.strangers[key] = s
		p.wake()
	}
	s.wanted = true
	if _, listed := v.byID[s.group]; s.group != "" && listed {
		return s.group, nil
	}
	return "", nil
}

// Changed fires when a node was seen that the server has to be asked about.
func (p *Provider) Changed() <-chan struct{} { return p.changed }

func (p *Provider) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // it knows already
	}
}

// GPULabel is what the server answered once; empty before.
func (p *Provider) GPULabel() string { return p.view.Load().gpuLabel }

// GPUTypes lists what the server answered once.
func (p *Provider) GPUTypes() []string { return slices.Clone(p.view.Load().gpuTypes) }

// Cleanup tells the server that the autoscaler ends, and closes the connection.
func (p *Provider) Cleanup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.config.Timeout)
	defer cancel()
	_, err := p.client.Cleanup(ctx, &protocol.CleanupRequest{})
	if err != nil {
		err = fmt.Errorf("telling the external gRPC provider that the autoscaler ends: %w", err)
	}
	return errors.Join(err, p.conn.Close())
}

// view is what the getters answer from. Nobody changes it after it is published.
type view struct {
	groups   []cloudprovider.NodeGroup
	errors   []cloudprovider.GroupError
	byID     map[cloudprovider.GroupID]*NodeGroup
	members  map[string]cloudprovider.GroupID // by provider id
	gpuLabel string
	gpuTypes []string
	hasGPU   bool // label and types were answered
}

// book is what is known of one group.
type book struct {
	id       cloudprovider.GroupID
	place    int // in the server's list
	state    cloudprovider.GroupState
	known    bool // state was read once
	err      error
	since    time.Time
	template template
	writing  sync.Mutex // held by the one write that may be under way
	group    *NodeGroup // of the view, as long as nothing changes
}

// publish puts a view of all books in place. Call with mu held.
func (p *Provider) publish() {
	before := p.view.Load()
	next := &view{
		byID: make(map[cloudprovider.GroupID]*NodeGroup, len(p.books)), members: make(map[string]cloudprovider.GroupID, len(before.members)),
		gpuLabel: before.gpuLabel, gpuTypes: before.gpuTypes, hasGPU: before.hasGPU,
	}
	books := slices.SortedFunc(maps.Values(p.books), func(a, b *book) int { return cmp.Compare(a.place, b.place) })
	for _, b := range books {
		if b.err != nil {
			next.errors = append(next.errors, cloudprovider.GroupError{Group: b.id, Err: b.err, Since: b.since})
		}
		if !b.known {
			continue
		}
		if b.group == nil {
			b.group = &NodeGroup{provider: p, book: b, state: b.state}
		}
		next.groups = append(next.groups, b.group)
		next.byID[b.id] = b.group
		for i := range b.state.Instances {
			next.members[b.state.Instances[i].ID] = b.id
		}
	}
	slices.SortFunc(next.errors, func(a, b cloudprovider.GroupError) int { return cmp.Compare(a.Group, b.Group) })
	p.view.Store(next)
}
