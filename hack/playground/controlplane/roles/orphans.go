package roles

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
)

// How long pods stay when their Node object is gone. The real pod garbage collector waits for 40 s and looks every 20 s; here
// machines live for seconds, too.
const (
	orphanQuarantine = 3 * time.Second
	orphanPeriod     = time.Second
)

// orphanCollector deletes the pods of nodes that are gone. It stands in for the real pod garbage collector, whose package
// pulls in the whole kubelet.
type orphanCollector struct {
	client  kubernetes.Interface
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister
	missing map[string]time.Time // name of a node that pods name and nobody has → since when
}

func (s *controllerSet) orphans(context.Context) (func(context.Context), error) {
	c := &orphanCollector{
		client:  s.client,
		pods:    s.informers.Core().V1().Pods().Lister(),
		nodes:   s.informers.Core().V1().Nodes().Lister(),
		missing: map[string]time.Time{},
	}
	return func(ctx context.Context) {
		s.informers.WaitForCacheSync(ctx.Done())
		c.run(ctx)
	}, nil
}

func (c *orphanCollector) run(ctx context.Context) {
	ticker := time.NewTicker(orphanPeriod)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if err := c.collect(ctx, now); err != nil && ctx.Err() == nil {
				klog.FromContext(ctx).Error(err, "Orphaned pods could not be collected")
			}
		case <-ctx.Done():
			return
		}
	}
}

// collect deletes the pods whose node has been missing for the whole quarantine.
func (c *orphanCollector) collect(ctx context.Context, now time.Time) error {
	pods, err := c.pods.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	orphans := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		if name := pod.Spec.NodeName; name != "" {
			if _, err := c.nodes.Get(name); apierrors.IsNotFound(err) {
				orphans[name] = append(orphans[name], pod)
			}
		}
	}
	for name := range c.missing {
		if len(orphans[name]) == 0 {
			delete(c.missing, name)
		}
	}
	for name, pods := range orphans {
		since, known := c.missing[name]
		if !known {
			c.missing[name] = now
			continue
		}
		if now.Sub(since) < orphanQuarantine {
			continue
		}
		if err := c.remove(ctx, name, pods); err != nil {
			return err
		}
	}
	return nil
}

// remove asks the API server itself for the node, as the cache may lag, and then deletes the pods without grace: no kubelet
// is there to confirm their end.
func (c *orphanCollector) remove(ctx context.Context, node string, pods []*corev1.Pod) error {
	_, err := c.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err // nil: it is back
	}
	for _, pod := range pods {
		err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("deleting orphaned pod %s: %w", klog.KObj(pod), err)
		}
		klog.FromContext(ctx).Info("Deleted orphaned pod", "pod", klog.KObj(pod), "node", node)
	}
	return nil
}
