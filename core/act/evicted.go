package act

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/scaledown"
)

// Evicted are the pods whose eviction the API server took within Options.EvictedPodTTL, in the order of their evictions and then of their names; none with
// a TTL of 0. Pods that go with every node are among them.
func (a *Actuator) Evicted() []scaledown.Evicted {
	if a.options.EvictedPodTTL <= 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetEvicted(a.clock.Now())
	return slices.Clone(a.evicted)
}

// rememberEvicted notes that the pod was evicted, if anybody wants to know.
func (a *Actuator) rememberEvicted(pod *corev1.Pod, now time.Time) {
	if a.options.EvictedPodTTL <= 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forgetEvicted(now)
	a.evicted = append(a.evicted, scaledown.Evicted{Pod: pod, At: now})
	slices.SortStableFunc(a.evicted, func(x, y scaledown.Evicted) int {
		return cmp.Or(x.At.Compare(y.At), comparePods(x.Pod, y.Pod))
	})
}

func (a *Actuator) forgetEvicted(now time.Time) {
	a.evicted = slices.DeleteFunc(a.evicted, func(e scaledown.Evicted) bool { return now.Sub(e.At) >= a.options.EvictedPodTTL })
}
