package aws

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/instancetypes"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/launch"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/prices"
)

var (
	_ cloudprovider.Pricer      = (*Provider)(nil)
	_ cloudprovider.GroupPricer = (*Provider)(nil)
)

// labelCapacityType is set by EKS on the nodes of managed node groups: SPOT, ON_DEMAND or CAPACITY_BLOCK.
const labelCapacityType = "eks.amazonaws.com/capacityType"

// NodePricePerHour is the price of a node, real or made from a template: that of the next machine of its group where the group is known, else
// that of its instance type. It answers at once.
func (p *Provider) NodePricePerHour(node *corev1.Node) (float64, error) {
	group, _ := p.GroupOf(node) // never fails
	return p.GroupPricePerHour(group, node)
}

// GroupPricePerHour is the price of the next machine of a group, of which node is an example, by the market and the type that the group buys
// from next. The empty id, and one that the view lacks, leave the instance type of the node to go by. It answers at once.
func (p *Provider) GroupPricePerHour(group cloudprovider.GroupID, node *corev1.Node) (float64, error) {
	plan := prices.Plan{System: prices.Linux, Zone: node.Labels[corev1.LabelTopologyZone], Group: string(group)}
	if g := p.view.Load().byName[group]; g != nil {
		plan = p.planOf(g, plan)
	}
	if len(plan.Types) == 0 {
		plan.Types = []string{node.Labels[corev1.LabelInstanceTypeStable]}
	}
	if node.Labels[corev1.LabelOSStable] == string(prices.Windows) {
		plan.System = prices.Windows
		p.prices.saw(prices.Windows)
	}
	switch node.Labels[labelCapacityType] { // EKS knows
	case "SPOT":
		plan.Only = prices.Spot
	case "ON_DEMAND", "CAPACITY_BLOCK":
		plan.Only = prices.OnDemand
	}
	desk := p.prices.desk()
	desk.Shape = p.shapeBy(node)
	quote, err := desk.Next(plan)
	if err != nil {
		return 0, fmt.Errorf("node %q: %w", node.Name, err)
	}
	return quote.PerHour, nil
}

// planOf completes a plan by what is known of a group.
func (p *Provider) planOf(g *NodeGroup, plan prices.Plan) prices.Plan {
	plan.Group, plan.Zones, plan.Distribution, plan.Units = string(g.ID()), g.zones, g.launch.Distribution, g.base
	facts, err := p.launches.Facts(g.launch)
	if err != nil { // then the node tells what it is
		return plan
	}
	plan.Weights = make(map[string]int, len(facts.Choices))
	for _, choice := range facts.Choices {
		plan.Spot = choice.Template.Spot
		if choice.Image.Windows {
			plan.System = prices.Windows
		}
		if choice.Type != "" {
			plan.Types = append(plan.Types, choice.Type)
			plan.Weights[choice.Type] = choice.Weight
		}
	}
	return plan
}

// shapeBy knows the instance types, and takes what the node offers for those that nobody knows.
func (p *Provider) shapeBy(node *corev1.Node) prices.Shape {
	return func(name string) (instancetypes.Type, bool) {
		if t, known := p.prices.shape(name); known {
			return t, true
		}
		cores, bytes := node.Status.Capacity.Cpu().AsApproximateFloat64(), node.Status.Capacity.Memory().Value()
		t := instancetypes.Type{Name: name, VCPUs: int(cores), MemoryMiB: bytes >> 20, Architecture: node.Labels[corev1.LabelArchStable]}
		t.GPUs = int(acceleratorsIn(node.Status.Capacity))
		return t, t.VCPUs > 0
	}
}

// PodPricePerHour is the lowest price of the share of a machine that the pod would fill, over all instance types that the groups can start.
// Before a group is known, and for pods that fit none of them, it follows the built-in formula. It answers at once and never fails.
func (p *Provider) PodPricePerHour(pod *corev1.Pod) (float64, error) {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	return p.prices.desk().Share(prices.Request{
		Cores: requests.Cpu().AsApproximateFloat64(), GiB: requests.Memory().AsApproximateFloat64() / (1 << 30), Accelerators: acceleratorsIn(requests),
	}, p.startable()), nil
}

// acceleratorsIn counts accelerators, whoever made them.
func acceleratorsIn(resources corev1.ResourceList) float64 {
	sum := 0.0
	for _, name := range []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron"} {
		if quantity, ok := resources[name]; ok {
			sum += quantity.AsApproximateFloat64()
		}
	}
	return sum
}

// machineList is what the groups of a view can start, with the prices of a book.
type machineList struct {
	view     *view
	book     *prices.Book
	machines []prices.Machine
}

// startable lists each instance type that a group can start at the lowest price of one.
func (p *Provider) startable() []prices.Machine {
	v, desk := p.view.Load(), p.prices.desk()
	if list := p.prices.machines.Load(); list != nil && list.view == v && list.book == desk.Book {
		return list.machines
	}
	list := &machineList{view: v, book: desk.Book}
	at := map[string]int{}
	for _, group := range v.byName {
		plan := p.planOf(group, prices.Plan{System: prices.Linux})
		for _, name := range plan.Types {
			t, known := p.prices.shape(name)
			one := plan
			one.Types = []string{name}
			quote, err := desk.Next(one)
			if !known || err != nil || quote.PerHour <= 0 {
				continue
			}
			if i, seen := at[name]; seen {
				list.machines[i].PerHour = min(list.machines[i].PerHour, quote.PerHour)
				continue
			}
			at[name] = len(list.machines)
			list.machines = append(list.machines, prices.Machine{Type: t, PerHour: quote.PerHour})
		}
	}
	p.prices.machines.Store(list)
	return list.machines
}

// refreshPrices begins to read prices if some are due. It does not wait for them.
func (p *Provider) refreshPrices(ctx context.Context) {
	if !p.prices.checkDue() {
		return
	}
	p.prices.tellWithout(ctx)
	want := wantedPrices{spotTypes: map[string]bool{}, systems: map[prices.System]bool{}}
	for _, group := range p.view.Load().byName {
		plan := p.planOf(group, prices.Plan{System: prices.Linux})
		want.systems[plan.System] = true
		for _, name := range plan.Types {
			if plan.BuysSpot() {
				want.spotTypes[name] = true
			}
		}
	}
	task, begun := p.prices.begin(want)
	if !begun {
		return
	}
	ctx, done := p.calls.Begin(context.WithoutCancel(ctx))
	go func() {
		defer done()
		p.prices.load(ctx, task)
	}()
}

// typeShape tells what an instance type offers.
func typeShape(launches *launch.Cache) prices.Shape {
	return func(name string) (instancetypes.Type, bool) {
		m, known := launches.Machine(name)
		return m.Type, known
	}
}
