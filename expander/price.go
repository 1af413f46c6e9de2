package expander

import (
	"context"
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/gpu"
)

const (
	// gpuFactor is for nodes with accelerators, however many: they are the last choice for pods that other nodes hold too.
	gpuFactor = 1000
	// theoreticalPenalty is by how much a group that has to be created first is worse.
	theoreticalPenalty = 2
	// unfitnessWanes is the number of nodes, beyond the first, over which the size of the single node ceases to matter.
	unfitnessWanes = 15
)

// prices is the strategy "price": it keeps the options that cost least for what their pods are worth, on nodes of a size that suits the cluster.
type prices struct {
	of cloudprovider.Pricer
	// byGroup is nil where prices depend on the node alone.
	byGroup cloudprovider.GroupPricer
	// gpu knows the label of nodes with accelerators, some clouds only after the first Refresh; nil: no label marks them.
	gpu   cloudprovider.GPULabeler
	state condition
}

// newPrices needs a cloud that has prices.
func newPrices(cloud cloudprovider.CloudProvider) (strategy, error) {
	pricer, ok := cloud.(cloudprovider.Pricer)
	if !ok {
		name := ""
		if cloud != nil {
			name = cloud.Name()
		}
		return nil, fmt.Errorf("--expander=price: cloud provider %q has no prices; take another expander, such as least-waste", name)
	}
	p := &prices{of: pricer}
	if labeler, ok := cloud.(cloudprovider.GPULabeler); ok {
		p.gpu = labeler
	}
	if byGroup, ok := cloud.(cloudprovider.GroupPricer); ok {
		p.byGroup = byGroup
	}
	return p.keep, nil
}

// node is the price of one new node of the option.
func (p *prices) node(o Option) (float64, error) {
	if p.byGroup != nil {
		return p.byGroup.GroupPricePerHour(o.Group, o.Node)
	}
	return p.of.NodePricePerHour(o.Node)
}

func (p *prices) keep(ctx context.Context, asked Question) answer {
	p.read(ctx, asked)
	bill := p.bill()
	scores, errs := make([]float64, len(asked.Options)), make([]error, len(asked.Options))
	best, priced := math.Inf(1), false
	for i, option := range asked.Options {
		if scores[i], errs[i] = p.score(option, asked.ClusterNodes, bill); errs[i] == nil {
			best, priced = min(best, scores[i]), true
		}
	}
	if !priced {
		return p.unpriced(asked.Options, errs)
	}
	out := answer{why: map[int]string{}}
	if p.state.becomes("") {
		out.notices = []report.Notice{{Message: "expander price: there are prices again"}}
	}
	for i := range asked.Options {
		switch {
		case errs[i] != nil:
			out.why[i] = "no score: " + errs[i].Error()
		case scores[i] > best:
			out.why[i] = fmt.Sprintf("score %.4g, the lowest is %.4g", scores[i], best)
		default:
			out.kept = append(out.kept, i)
		}
	}
	return out
}

// read has a cloud that has to ask for its prices ask for all that the scores need.
func (p *prices) read(ctx context.Context, asked Question) {
	reader, ok := p.of.(cloudprovider.PriceReader)
	if !ok {
		return
	}
	var nodes []*corev1.Node
	pods, seen := []*corev1.Pod{ballast()}, map[*corev1.Pod]bool{}
	for _, option := range asked.Options {
		if option.Node != nil {
			nodes = append(nodes, option.Node)
		}
		for _, pod := range option.Pods {
			if !seen[pod] {
				seen[pod] = true
				pods = append(pods, pod)
			}
		}
	}
	reader.ReadPrices(ctx, nodes, pods)
}

// unpriced keeps all options, because none has a score.
func (p *prices) unpriced(options []Option, errs []error) answer {
	out := answer{kept: all(options)}
	if len(errs) > 0 && p.state.becomes("no prices") { // the others mostly say the same as the first
		out.notices = []report.Notice{{Message: fmt.Sprintf("expander price: no option has a score, so none is preferred: %v", errs[0])}}
	}
	return out
}

// bill adds up prices of pods. Most pods are in several options and are asked for once.
type bill struct {
	price map[*corev1.Pod]float64
	// ballast is the price of a small pod; it keeps the ratio of costs steady where the pods themselves cost next to nothing.
	ballast float64
}

func (p *prices) bill() bill {
	price, err := p.of.PodPricePerHour(ballast())
	if err != nil || !usable(price) {
		price = 0
	}
	return bill{price: map[*corev1.Pod]float64{}, ballast: price}
}

// ballast is the small pod whose price steadies the ratio.
func ballast() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "ballast"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "ballast", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity(500, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(500<<20, resource.BinarySI),
			},
		}}}},
	}
}

// usable tells a price that can be reckoned with.
func usable(price float64) bool { return price >= 0 && !math.IsInf(price, 1) } // not a number is not at least 0

func (p *prices) score(o Option, clusterNodes int, b bill) (float64, error) {
	factor, err := p.sizeFactor(o, clusterNodes)
	if err != nil {
		return 0, err
	}
	node, err := p.node(o)
	if err != nil {
		return 0, err
	}
	if !usable(node) {
		return 0, fmt.Errorf("the price of a node is %v", node)
	}
	worth := b.ballast
	for _, pod := range o.Pods {
		price, known := b.price[pod]
		if !known {
			if price, err = p.of.PodPricePerHour(pod); err != nil {
				return 0, err
			}
			if !usable(price) {
				return 0, fmt.Errorf("the price of pod %s/%s is %v", pod.Namespace, pod.Name, price)
			}
			b.price[pod] = price
		}
		worth += price
	}
	if worth <= 0 {
		return 0, errors.New("its pods cost nothing, so there is nothing to compare the price of nodes with")
	}
	score := factor * (node*float64(o.Nodes) + b.ballast) / worth
	if o.Theoretical {
		score *= theoreticalPenalty
	}
	return score, nil
}

// sizeFactor is by how much the size of the nodes makes the option worse: 1 if it is right for the cluster. The more nodes, the less it matters.
func (p *prices) sizeFactor(o Option, clusterNodes int) (float64, error) {
	if o.Node == nil {
		return 0, errors.New("nobody knows what a fresh node looks like")
	}
	label := ""
	if p.gpu != nil {
		label = p.gpu.GPULabel()
	}
	if _, accelerated := gpu.ResourceOf(o.Node, label); accelerated {
		return gpuFactor, nil
	}
	has, preferred := float64(o.Node.Status.Capacity.Cpu().MilliValue()), preferredMilliCPU(clusterNodes)
	if has <= 0 {
		return 0, errors.New("a fresh node has no known CPU capacity")
	}
	return suppressed(max(preferred/has, has/preferred), o.Nodes), nil
}

// suppressed is an unfitness of at least 1, damped by the number of nodes.
func suppressed(unfitness float64, nodes int) float64 {
	return (unfitness-1)*(1-math.Tanh(float64(nodes-1)/unfitnessWanes)) + 1
}

// preferredMilliCPU is the size of node that suits a cluster of so many nodes.
func preferredMilliCPU(clusterNodes int) float64 {
	for _, step := range []struct {
		upTo  int
		cores float64
	}{{2, 1}, {6, 2}, {20, 4}, {60, 8}, {200, 16}} {
		if clusterNodes <= step.upTo {
			return 1000 * step.cores
		}
	}
	return 32_000
}
