package externalgrpc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

var (
	// errUnpriced is the answer about what nobody asked the server for.
	errUnpriced = errors.New("the server behind --cloud-config was not asked for this price")
	errNoPrices = errors.New("the server behind --cloud-config has no prices; take another expander, such as least-waste")
)

// price is an answer of the server.
type price struct {
	perHour float64
	err     error
}

// prices are the answers of the last ReadPrices. The zero value has none.
type prices struct {
	mu      sync.Mutex
	nodes   map[string]price
	pods    map[string]price
	lacking bool // the server doesn't have the calls
}

// ReadPrices asks the server what these nodes and pods cost for an hour, each that looks different once, and several at once. What the server doesn't
// answer has no price until the next time.
func (p *Provider) ReadPrices(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) {
	start := p.clock.Now()
	asked := interval{start: timestamppb.New(start), end: timestamppb.New(start.Add(time.Hour))}
	ofNodes, ofPods := map[string]*corev1.Node{}, map[string]*corev1.Pod{}
	for _, node := range nodes {
		ofNodes[nodeText(node)] = node
	}
	for _, pod := range pods {
		ofPods[podText(pod)] = pod
	}
	next := &prices{nodes: map[string]price{}, pods: map[string]price{}}
	if p.unpriced(ctx, ofNodes, asked) {
		ofNodes, ofPods, next.lacking = nil, nil, true // thousands of calls would be answered in the same way
	}
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	for _, key := range slices.Sorted(maps.Keys(ofNodes)) {
		calls.Go(func() error {
			next.put(next.nodes, key, p.askNodePrice(ctx, ofNodes[key], asked))
			return nil
		})
	}
	for _, key := range slices.Sorted(maps.Keys(ofPods)) {
		calls.Go(func() error {
			next.put(next.pods, key, p.askPodPrice(ctx, ofPods[key], asked))
			return nil
		})
	}
	_ = calls.Wait() // the functions return no errors
	p.prices.mu.Lock()
	defer p.prices.mu.Unlock()
	p.prices.nodes, p.prices.pods, p.prices.lacking = next.nodes, next.pods, next.lacking
}

// unpriced tells whether the server has no prices at all.
func (p *Provider) unpriced(ctx context.Context, nodes map[string]*corev1.Node, asked interval) bool {
	keys := slices.Sorted(maps.Keys(nodes))
	return len(keys) > 0 && unimplemented(p.askNodePrice(ctx, nodes[keys[0]], asked).err)
}

func (p *prices) put(into map[string]price, key string, answer price) {
	p.mu.Lock()
	defer p.mu.Unlock()
	into[key] = answer
}

// interval is the hour that prices are asked for.
type interval struct{ start, end *timestamppb.Timestamp }

// oldForm is a moment as servers before 1.35 read it.
func oldForm(t *timestamppb.Timestamp) *protocol.OldTime {
	return &protocol.OldTime{Seconds: t.GetSeconds(), Nanos: t.GetNanos()}
}

func (p *Provider) askNodePrice(ctx context.Context, node *corev1.Node, asked interval) price {
	var answer *protocol.PricingNodePriceResponse
	err := p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		answer, err = p.client.PricingNodePrice(ctx, &protocol.PricingNodePriceRequest{
			Node:           &protocol.ExternalGrpcNode{ProviderID: node.Spec.ProviderID, Name: node.Name, Labels: node.Labels, Annotations: node.Annotations},
			StartTimestamp: asked.start, EndTimestamp: asked.end, StartTime: oldForm(asked.start), EndTime: oldForm(asked.end),
		})
		return err
	})
	if err != nil {
		return price{err: fmt.Errorf("asking what a node like %s costs: %w", node.Name, translate(err, question{}))}
	}
	return price{perHour: answer.GetPrice()}
}

func (p *Provider) askPodPrice(ctx context.Context, pod *corev1.Pod, asked interval) price {
	bytes, err := pod.Marshal()
	if err != nil {
		return price{err: fmt.Errorf("encoding pod %s/%s: %w", pod.Namespace, pod.Name, err)}
	}
	var answer *protocol.PricingPodPriceResponse
	err = p.call(ctx, p.config.Timeout, func(ctx context.Context) (err error) {
		answer, err = p.client.PricingPodPrice(ctx, &protocol.PricingPodPriceRequest{
			PodBytes: bytes, Pod: bytes,
			StartTimestamp: asked.start, EndTimestamp: asked.end, StartTime: oldForm(asked.start), EndTime: oldForm(asked.end),
		})
		return err
	})
	if err != nil {
		return price{err: fmt.Errorf("asking what a pod like %s/%s costs: %w", pod.Namespace, pod.Name, translate(err, question{}))}
	}
	return price{perHour: answer.GetPrice()}
}

// NodePricePerHour is what the server answered to the last ReadPrices about a node that looks the same to it.
func (p *Provider) NodePricePerHour(node *corev1.Node) (float64, error) {
	return p.prices.of(func(known *prices) map[string]price { return known.nodes }, nodeText(node))
}

// PodPricePerHour is what the server answered to the last ReadPrices about a pod of the same spec.
func (p *Provider) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	return p.prices.of(func(known *prices) map[string]price { return known.pods }, podText(pod))
}

func (p *prices) of(kind func(*prices) map[string]price, key string) (float64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer, ok := kind(p)[key]
	switch {
	case p.lacking:
		return 0, errNoPrices
	case !ok:
		return 0, errUnpriced
	}
	return answer.perHour, answer.err
}

// nodeText tells nodes apart that look different to the server.
func nodeText(node *corev1.Node) string {
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(&protocol.ExternalGrpcNode{
		ProviderID: node.Spec.ProviderID, Name: node.Name, Labels: node.Labels, Annotations: node.Annotations,
	})
	if err != nil {
		return node.Name // a label that is no UTF-8
	}
	return string(text)
}

// podText tells pods apart that may cost differently.
func podText(pod *corev1.Pod) string {
	text, err := pod.Spec.Marshal()
	if err != nil {
		return pod.Namespace + "/" + pod.Name
	}
	return pod.Namespace + "/" + string(text)
}
