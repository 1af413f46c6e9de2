package roles

import (
	"context"
	"fmt"
	"time"

	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/features"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"
)

// This file makes the controllers that own pods, and the two that act on those owners.

func (s *controllerSet) deployment(ctx context.Context) (func(context.Context), error) {
	apps, core := s.informers.Apps().V1(), s.informers.Core().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), s.client)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (s *controllerSet) replicaSet(ctx context.Context) (func(context.Context), error) {
	c := replicaset.NewReplicaSetController(ctx, s.informers.Apps().V1().ReplicaSets(), s.informers.Core().V1().Pods(), s.client,
		replicaset.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (s *controllerSet) job(ctx context.Context) (func(context.Context), error) {
	var workloads schedulinginformers.WorkloadInformer
	var groups schedulinginformers.PodGroupInformer
	if utilfeature.DefaultFeatureGate.Enabled(features.WorkloadWithJob) {
		workloads, groups = s.informers.Scheduling().V1beta1().Workloads(), s.informers.Scheduling().V1beta1().PodGroups()
	}
	c, err := job.NewController(ctx, s.client, s.informers.Core().V1().Pods(), s.informers.Batch().V1().Jobs(), workloads, groups)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (s *controllerSet) daemonSet(ctx context.Context) (func(context.Context), error) {
	apps, core := s.informers.Apps().V1(), s.informers.Core().V1()
	c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), s.client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (s *controllerSet) statefulSet(ctx context.Context) (func(context.Context), error) {
	apps, core := s.informers.Apps().V1(), s.informers.Core().V1()
	c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(),
		apps.ControllerRevisions(), s.client)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (s *controllerSet) disruption(ctx context.Context) (func(context.Context), error) {
	scales, err := s.scaleClient()
	if err != nil {
		return nil, err
	}
	apps, core := s.informers.Apps().V1(), s.informers.Core().V1()
	c := disruption.NewDisruptionController(ctx, core.Pods(), s.informers.Policy().V1().PodDisruptionBudgets(),
		core.ReplicationControllers(), apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(),
		s.client, s.mapper, scales, s.client.Discovery())
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func (s *controllerSet) horizontalPodAutoscaler(ctx context.Context) (func(context.Context), error) {
	scales, err := s.scaleClient()
	if err != nil {
		return nil, err
	}
	resources, err := resourceclient.NewForConfig(s.config)
	if err != nil {
		return nil, fmt.Errorf("making a client for resource metrics: %w", err)
	}
	external, err := external_metrics.NewForConfig(s.config)
	if err != nil {
		return nil, fmt.Errorf("making a client for external metrics: %w", err)
	}
	versions := custom_metrics.NewAvailableAPIsGetter(s.client.Discovery())
	custom := custom_metrics.NewForConfig(s.config, s.mapper, versions)

	const syncPeriod = 15 * time.Second
	c := podautoscaler.NewHorizontalController(ctx, s.client.CoreV1(), scales, s.client.AutoscalingV2(), s.mapper,
		metrics.NewRESTMetricsClient(resources, custom, external),
		s.informers.Autoscaling().V2().HorizontalPodAutoscalers(), s.informers.Core().V1().Pods(),
		syncPeriod, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)
	return func(ctx context.Context) {
		go custom_metrics.PeriodicallyInvalidate(versions, syncPeriod, ctx.Done())
		c.Run(ctx, workers)
	}, nil
}

func (s *controllerSet) scaleClient() (scale.ScalesGetter, error) {
	client, err := scale.NewForConfig(s.config, s.mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(s.client.Discovery()))
	if err != nil {
		return nil, fmt.Errorf("making a scale client: %w", err)
	}
	return client, nil
}
