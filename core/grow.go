package core

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/simulator/readiness"
)

// pending is what growing learns about the waiting pods and what shrinking needs to know of it.
type pending struct {
	in scaleup.In
	// notStarted are nodes for which placeholders stand in the snapshot.
	notStarted []string
	// young is set while pods are too new to be helped: nothing is removed then, they may want the room.
	young *report.CoolDown
	// growOnly is set while the search for room takes too long: nothing is even considered for removal then.
	growOnly bool
	// errs are what went wrong with single pods; nothing is removed then either.
	errs []error
}

// without is what shrinking sees: nodes that are only starting are none of its business.
func (p pending) without(seen observation.Observation) observation.Observation {
	if len(p.notStarted) == 0 {
		return seen
	}
	starting := make(map[string]bool, len(p.notStarted))
	for _, name := range p.notStarted {
		starting[name] = true
	}
	nodes := make([]*corev1.Node, 0, len(seen.Nodes))
	for _, node := range seen.Nodes {
		if !starting[node.Name] {
			nodes = append(nodes, node)
		}
	}
	seen.Nodes = nodes
	return seen
}

// grow is the second round: it finds room for the waiting pods on what is there or on its way, and buys nodes for the rest.
func (a *Autoscaler) grow(
	ctx context.Context, seen observation.Observation, state clusterstate.State,
) (report.ScaleUp, pending, clusterstate.State) {
	built := nodeinfos.Build(nodeinfos.In{
		At: seen.At, Groups: seen.Groups, GroupErrors: seen.GroupErrors, Nodes: seen.Nodes, Members: seen.Members, Snapshot: seen.Snapshot,
		DaemonSets: seen.DaemonSets, Learnt: a.registry.Learnt(), Options: a.options.Templates,
	})
	a.registry.Learn(built.Learnt)

	sorted, round, err := a.waitingPods(ctx, seen, state, built.Templates)
	if err != nil {
		return report.ScaleUp{Result: report.ScaleUpError, Err: err}, pending{errs: []error{err}}, state
	}

	waiting := pending{in: a.growIn(seen, state, sorted, built.Templates), notStarted: sorted.NotStarted, errs: sorted.Errs}
	passage := scaleup.Gate(scaleup.GateIn{
		At: seen.At, Pending: sorted, Nodes: seen.Nodes, MaxNodes: a.options.Limits.MaxNodes,
		Bypassed: len(a.options.Pods.BypassedSchedulers) > 0, Settled: a.settled, Degraded: sorted.Degraded,
	})
	waiting.young, a.young, waiting.growOnly = passage.Young, passage.Young, passage.GrowOnly
	if !passage.Open {
		return a.settlePods(passage.ScaleUp, sorted, round), waiting, state
	}

	a.metrics.Activity(metrics.ActivityScaleUp, seen.At)
	start := a.clock.Now()
	grown := scaleup.Grow(ctx, waiting.in, a.expander.Choose, a.buyer())
	a.metrics.Took(metrics.FunctionScaleUp, a.clock.Now().Sub(start))
	if grown.Err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(grown.Err, "Cannot plan growth")
	}
	a.registry.Attempted(grown.Pods)
	state = a.registry.AfterScaleUp(grown.Outcomes, grown.Pods)
	a.bought(ctx, grown.Outcomes)
	return a.settlePods(grown, sorted, round), waiting, state
}

// growIn puts together what growth is planned from.
func (a *Autoscaler) growIn(
	seen observation.Observation, state clusterstate.State, sorted pendingpods.Out, templates map[cloudprovider.GroupID]nodeinfos.Template,
) scaleup.In {
	options := a.options.ScaleUp
	attempts := map[scaleup.Attempt]time.Time{}
	for attempt, until := range a.registry.Attempts(seen.At) {
		attempts[scaleup.Attempt(attempt)] = until
	}
	in := scaleup.In{
		At: seen.At, Snapshot: seen.Snapshot, Pending: sorted, Scheduler: a.scheduler,
		Groups: seen.Groups, GroupErrors: seen.GroupErrors, Members: seen.Members, GPULabel: seen.GPULabel, Limits: seen.Limits,
		State: state, Templates: templates, Attempts: attempts, MaxNodes: a.options.Limits.MaxNodes, Options: options,
		Balancing: a.options.Balancing, BookkeepingLabels: seen.BookkeepingLabels,
		Budget: newBudget(a.clock, options.MaxBinpackingTime),
	}
	if options.Salvo {
		in.Salvo = newBudget(a.clock, options.SalvoBudget)
	}
	switch limit := options.MaxGroupBinpackingTime; {
	case limit > 0:
		in.GroupBudget = func() scaleup.Budget { return newBudget(a.clock, limit) }
	case limit < 0:
		in.GroupBudget = func() scaleup.Budget { return spent{} }
	}
	return in
}

// keepMinimum raises groups that are below their minimum, if the operator wants that (loop-and-scale-up 5.13).
func (a *Autoscaler) keepMinimum(
	ctx context.Context, state clusterstate.State, grown report.ScaleUp, waiting pending,
) (report.ScaleUp, clusterstate.State) {
	if !a.options.Loop.EnforceGroupMinSize || ctx.Err() != nil || len(waiting.in.Groups) == 0 {
		return grown, state
	}
	waiting.in.State = state
	outcomes, err := a.buyer()(ctx, scaleup.MinSizes(waiting.in, grown))
	grown.Err = errors.Join(grown.Err, err)
	if len(outcomes) == 0 {
		return grown, state
	}
	grown.Outcomes = append(grown.Outcomes, outcomes...)
	return grown, a.registry.AfterScaleUp(outcomes, nil)
}

func anyReady(nodes []*corev1.Node) bool {
	for _, node := range nodes {
		if !node.Spec.Unschedulable && readiness.Of(node).Ready {
			return true
		}
	}
	return false
}

// spent is a budget of nothing.
type spent struct{}

// Spent is true.
func (spent) Spent() bool { return true }
