package core

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/metrics"
)

// Run makes iterations until ctx ends. The first one begins at once, the others after the scan interval; with frequent loops a pause is cut
// short by a pod that turned unschedulable, by a change in the cloud, and by work that the iterations before have begun.
func (a *Autoscaler) Run(ctx context.Context) {
	previous := a.clock.Now()
	last := previous
	for ctx.Err() == nil {
		a.iterate(ctx)
		waited := a.clock.Now()
		if !a.wait(ctx, previous) {
			return
		}
		now := a.clock.Now()
		a.metrics.Took(metrics.FunctionLoopWait, now.Sub(waited))
		previous, last = last, now
	}
}

// iterate runs one iteration and records how it went.
func (a *Autoscaler) iterate(ctx context.Context) {
	start := a.clock.Now()
	a.health.Active()
	a.metrics.Activity(metrics.ActivityMain, start)
	_, err := a.RunOnce(ctx)
	end := a.clock.Now()
	a.metrics.Took(metrics.FunctionMain, end.Sub(start))
	if err != nil && ctx.Err() == nil {
		kind := errorType(err)
		klog.FromContext(ctx).Error(err, "Iteration failed", "type", string(kind))
		if kind != metrics.ErrorTransient {
			a.metrics.Error(kind)
			return
		}
	}
	a.health.Succeeded()
	a.metrics.Activity(metrics.ActivityMainSuccessful, end)
}

// quiet is how long no other pod may turn unschedulable for a burst of pods to be over. A controller creates pods much faster
// than one in this time; more delays the scale-up for each burst by as much.
const quiet = 300 * time.Millisecond

// wait pauses until the next iteration is due; false: ctx ended. since is when the iteration before the last one began: work that was begun
// since then makes the next iteration due at once (loop-and-scale-up 1.1).
func (a *Autoscaler) wait(ctx context.Context, since time.Time) bool {
	hurried := a.settled
	a.settled = false
	pause := a.options.Loop.ScanInterval
	woken, changed := a.source.Woken(), a.cloud.Changed()
	switch {
	case !a.options.Loop.FrequentLoops:
		woken, changed = nil, nil
	case a.young != nil && !hurried && !a.young.Until.Equal(a.fixed):
		return a.settle(ctx, *a.young)
	case a.young != nil:
		a.fixed = a.young.Until
		pause = min(pause, a.left(*a.young))
	case !a.lastProgress.Before(since):
		select {
		case <-woken: // the iteration that starts now sees that pod too
		default:
		}
		return ctx.Err() == nil
	}
	timer := a.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	case <-woken:
	case <-changed:
	}
	return true
}

// left is how long the window for new pods is still open.
func (a *Autoscaler) left(young report.CoolDown) time.Duration {
	return max(0, young.Until.Sub(a.clock.Now()))
}

// settle pauses until a burst of new pods is over: no other one has joined for a while, or its window is closed.
func (a *Autoscaler) settle(ctx context.Context, young report.CoolDown) bool {
	window := a.clock.NewTimer(min(a.left(young), a.options.Loop.ScanInterval))
	defer window.Stop()
	pause := a.clock.NewTimer(quiet)
	defer func() { pause.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-window.C():
			return true
		case <-pause.C():
			a.settled = true
			return true
		case <-a.source.Woken():
			pause.Stop()
			pause = a.clock.NewTimer(quiet)
		}
	}
}

// progress remembers that an iteration began work whose result the next one should look at soon.
func (a *Autoscaler) progress(r report.Report) {
	grown := false
	for _, outcome := range r.ScaleUp.Outcomes {
		grown = grown || outcome.Granted > 0
	}
	if grown || len(r.ScaleDown.Started) > 0 {
		a.lastProgress = r.At
	}
}

// errorType is the word for an iteration's error that dashboards know.
func errorType(err error) metrics.ErrorType {
	if _, ok := errors.AsType[*refreshError](err); ok {
		return metrics.ErrorCloudProvider
	}
	if _, ok := errors.AsType[*cloudprovider.TransientError](err); ok {
		return metrics.ErrorTransient
	}
	if _, ok := errors.AsType[*cloudprovider.ConfigurationError](err); ok {
		return metrics.ErrorConfiguration
	}
	return metrics.ErrorInternal
}
