package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/config"
)

// errLeaseLost ends the process: another one may be leading already.
var errLeaseLost = errors.New("the leader Lease was lost")

// election is what leading needs to know.
type election struct {
	options   config.LeaderElection
	namespace string
	identity  string
	client    kubernetes.Interface
	recorder  record.EventRecorder
}

// lead runs work while this process holds the Lease. When ctx ends, work is stopped first and then the Lease released, so that the
// next leader finds nothing half done and need not wait for the Lease to expire. It returns the error of work, or errLeaseLost.
func lead(ctx context.Context, e election, work func(context.Context) error) error {
	if !e.options.Enabled {
		return work(ctx)
	}
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.namespace, e.options.LeaseName,
		e.client.CoreV1(), e.client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: e.identity, EventRecorder: e.recorder})
	if err != nil {
		return fmt.Errorf("preparing the Lease %s/%s: %w", e.namespace, e.options.LeaseName, err)
	}

	var (
		started = make(chan struct{})
		done    = make(chan error, 1)
	)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.options.LeaseName, ReleaseOnCancel: true,
		LeaseDuration: e.options.LeaseDuration, RenewDeadline: e.options.RenewDeadline, RetryPeriod: e.options.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				close(started)
				working, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				done <- work(working)
				if leading.Err() == nil { // otherwise the Lease was lost: there is nothing to release, and the loss has to be seen below
					release()
				}
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				klog.FromContext(ctx).V(1).Info("New leader", "identity", identity)
			},
		},
	})
	if err != nil {
		return fmt.Errorf("preparing leader election: %w", err)
	}
	// A standby that is told to end has nothing to finish. A leader releases the Lease itself, after its work.
	defer context.AfterFunc(ctx, func() {
		select {
		case <-started:
		default:
			release()
		}
	})()
	elector.Run(electing)

	select {
	case <-started:
	default:
		return nil // never led
	}
	if electing.Err() == nil {
		return errLeaseLost
	}
	return <-done
}
