package roles

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
)

// This file makes the controllers that let things come and go: objects with their owners, and pods with their nodes.

// nodeLifecycle keeps the not-ready and unreachable taints that admission and real clusters know.
func (s *controllerSet) nodeLifecycle(ctx context.Context) (func(context.Context), error) {
	core := s.informers.Core().V1()
	c, err := nodelifecycle.NewNodeLifecycleController(ctx, s.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(),
		s.informers.Apps().V1().DaemonSets(), s.client,
		5*time.Second,  // node-monitor-period
		60*time.Second, // node-startup-grace-period
		50*time.Second, // node-monitor-grace-period
		0.1, 0.01, 50, 0.55)
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

func (s *controllerSet) taintEviction(ctx context.Context) (func(context.Context), error) {
	c, err := tainteviction.New(ctx, s.client, s.informers.Core().V1().Pods(), s.informers.Core().V1().Nodes(), "taint-eviction")
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

func (s *controllerSet) garbageCollector(ctx context.Context) (func(context.Context), error) {
	graph := garbagecollector.NewDependencyGraphBuilder(ctx, s.metadata, s.mapper, garbagecollector.DefaultIgnoredResources(),
		s.allInformers(), s.started)
	c, err := garbagecollector.NewComposedGarbageCollector(ctx, s.client, s.metadata, s.mapper, graph)
	if err != nil {
		return nil, err
	}
	const syncPeriod = 30 * time.Second
	return func(ctx context.Context) {
		go c.Sync(ctx, s.client.Discovery(), syncPeriod)
		c.Run(ctx, workers, syncPeriod)
	}, nil
}

func (s *controllerSet) serviceAccount(ctx context.Context) (func(context.Context), error) {
	c, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), s.informers.Core().V1().ServiceAccounts(),
		s.informers.Core().V1().Namespaces(), s.client, serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, 1) }, nil
}

func (s *controllerSet) namespace(ctx context.Context) (func(context.Context), error) {
	c := namespace.NewNamespaceController(ctx, s.client, s.metadata, s.client.Discovery().ServerPreferredNamespacedResources,
		s.informers.Core().V1().Namespaces(), 5*time.Minute, corev1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}
