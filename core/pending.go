package core

import (
	"context"
	"slices"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaleup"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/processors/pendingpods"
	"example.com/cluster-autoscaler/processors/podinjection"
)

// waitingPods sorts out which pods may cause growth. With --enable-proactive-scaleup, copies of pods that controllers have yet to create are among
// them; the round knows which.
func (a *Autoscaler) waitingPods(
	ctx context.Context, seen observation.Observation, state clusterstate.State, templates map[cloudprovider.GroupID]nodeinfos.Template,
) (pendingpods.Out, podinjection.Round, error) {
	start := a.clock.Now()
	in := pendingpods.In{
		At: seen.At, Snapshot: seen.Snapshot, Scheduler: a.scheduler,
		Unschedulable: seen.Unschedulable, Unprocessed: seen.Unprocessed, Nominated: seen.Nominated,
		Deletions: seen.Deletions, Upcoming: scaleup.Upcoming(state), Templates: templates, Purchases: state.Purchases,
		Memory: a.registry.Remembered(), Options: a.options.Pods,
	}
	if a.options.Pods.GracefulDegradation {
		in.Budget = newBudget(a.clock, a.options.Pods.GracefulDegradationTimeout)
	}
	var round podinjection.Round
	if a.options.ProactiveScaleUp.Enabled {
		round = a.inject(seen)
		in.Injected, in.InjectionLimit = round.Pods, a.options.ProactiveScaleUp.PodInjectionLimit
		in.Purchases = round.Inherit(state.Purchases, slices.Concat(seen.Unschedulable, seen.Unprocessed))
	}
	sorted, err := pendingpods.Run(ctx, in)
	a.metrics.Took(metrics.FunctionFilter, a.clock.Now().Sub(start))
	if err != nil {
		return pendingpods.Out{}, round, err
	}
	a.registry.Remember(sorted.Memory)
	return sorted, round, nil
}

// inject makes copies of the pods that controllers have yet to create.
func (a *Autoscaler) inject(seen observation.Observation) podinjection.Round {
	return podinjection.Inject(podinjection.In{
		At: seen.At, Controllers: seen.Controllers, Snapshot: seen.Snapshot,
		Waiting:    slices.Concat(seen.Unschedulable, seen.Unprocessed, seen.Nominated, seen.Gated),
		Schedulers: a.options.Pods.AllowedSchedulers, Limit: a.options.ProactiveScaleUp.PodInjectionLimit, BackOff: a.registry.InjectionBackOff(),
	})
}

// settlePods completes what is told of waiting pods: copies are told of controller by controller only, since those pods do not exist.
func (a *Autoscaler) settlePods(told report.ScaleUp, sorted pendingpods.Out, round podinjection.Round) report.ScaleUp {
	told.Pods, told.Injected = round.Settle(told.Pods)
	a.registry.Injected(told.Injected)
	if told.Recovered = sorted.Recovered; sorted.Degraded > 0 {
		told.Degraded = &report.Degradation{Loops: sorted.Degraded, Unreached: sorted.Unreached}
	}
	return told
}
