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
		_, _ = a.iterate(ctx) // the report was told, the error logged
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
func (a *Autoscaler) iterate(ctx context.Context) (report.Report, error) {
	start := a.clock.Now()
	a.health.Active()
	a.metrics.Activity(metrics.ActivityMain, start)
	told, err := a.RunOnce(ctx)
	end := a.clock.Now()
	a.metrics.Took(metrics.FunctionMain, end.Sub(start))
	if err != nil && ctx.Err() == nil {
		kind := errorType(err)
		klog.FromContext(ctx).Error(err, "Iteration failed", "type", string(kind))
		if kind != metrics.ErrorTransient {
			a.metrics.Error(kind)
			return told, err
		}
	}
	a.health.Succeeded()
	a.metrics.Activity(metrics.ActivityMainSuccessful, end)
	return told, err
}

// quiet is how long no other pod may turn unschedulable for a burst of pods to be over. A controller creates pods much faster
// than one in this time; more delays the scale-up for each burst by as much.
const quiet = 300 * time.Millisecond

// pauseKind is what may end a pause before its time.
type pauseKind int

const (
	pauseUnset  pauseKind = iota
	pauseNone             // there is no pause: work was begun lately
	pauseOpen             // a pod that turns unschedulable, or a change in the cloud
	pauseClosed           // nothing
	pauseBurst            // that no other pod turns unschedulable for a while
)

// pause says how long the loop pauses after the iteration that has just ended, and what may cut it short. since is when the iteration before
// that one began: work that was begun since then makes the next iteration due at once (loop-and-scale-up 1.1).
func (a *Autoscaler) pause(since time.Time) (pauseKind, time.Duration) {
	hurried := a.settled
	a.settled = false
	interval := a.options.Loop.ScanInterval
	switch {
	case !a.options.Loop.FrequentLoops:
		return pauseClosed, interval
	case a.young != nil && !hurried && !a.young.Until.Equal(a.fixed):
		return pauseBurst, min(a.left(*a.young), interval)
	case a.young != nil:
		a.fixed = a.young.Until
		return pauseOpen, min(interval, a.left(*a.young))
	case !a.lastProgress.Before(since):
		return pauseNone, 0
	default:
		return pauseOpen, interval
	}
}

// wait pauses until the next iteration is due; false: ctx ended. since is as for pause.
func (a *Autoscaler) wait(ctx context.Context, since time.Time) bool {
	kind, length := a.pause(since)
	woken, changed := a.source.Woken(), a.cloud.Changed()
	switch kind {
	case pauseNone:
		a.drain()
		return ctx.Err() == nil
	case pauseBurst:
		return a.settle(ctx, length)
	case pauseClosed:
		woken, changed = nil, nil
	case pauseOpen, pauseUnset:
	}
	timer := a.clock.NewTimer(length)
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

// drain takes a wake-up that is pending: the iteration that starts now sees that pod too. It tells whether there was one.
func (a *Autoscaler) drain() bool {
	select {
	case <-a.source.Woken():
		return true
	default:
		return false
	}
}

// left is how long the window for new pods is still open.
func (a *Autoscaler) left(young report.CoolDown) time.Duration {
	return max(0, young.Until.Sub(a.clock.Now()))
}

// settle pauses until a burst of new pods is over: no other one has joined for a while, or its window, so long from now, is closed.
func (a *Autoscaler) settle(ctx context.Context, left time.Duration) bool {
	window := a.clock.NewTimer(left)
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
