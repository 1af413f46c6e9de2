package pendingpods

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/podinjection"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// ScaleUpDelayAnnotation on a pod lengthens --new-pod-scale-up-delay for it: a Go duration.
const ScaleUpDelayAnnotation = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"

// trust is how long a pod may wait for the room that its scheduler is making for it. It then waits for any other room as well: a victim with a long grace
// period, or one that cannot end, must not keep the pod waiting for ever.
const trust = 5 * time.Minute

// trustNominations leaves pods alone for which room is being made on a node. If that takes too long, or if the node is not there any more, they wait for room
// like the others, and the room that was kept for them is free.
func trustNominations(_ context.Context, in In, b batch) (batch, error) {
	if len(in.Nominated) == 0 {
		return b, nil
	}
	b.memory.nominated = make(map[string]nomination, len(in.Nominated))
	trusted := map[*corev1.Pod]bool{}
	for _, pod := range in.Nominated {
		key := podfacts.Key(pod)
		now, before := nomination{node: pod.Status.NominatedNodeName, since: in.At}, in.Memory.nominated[key]
		if before.node == now.node {
			now.since = before.since
		}
		b.memory.nominated[key] = now
		node, placed := in.Snapshot.NodeOfPod(pod)
		if placed && in.At.Before(now.since.Add(trust)) {
			trusted[pod] = true
			continue
		}
		if placed {
			if err := in.Snapshot.RemovePod(pod, node); err != nil {
				b.errs = append(b.errs, fmt.Errorf("looking for other room than on node %s: %w", node, err))
				trusted[pod] = true
			}
		}
	}
	return b.keep(func(pod *corev1.Pod) report.Reason {
		if !trusted[pod] {
			return nil
		}
		return report.WaitingForPreemption{Node: pod.Status.NominatedNodeName}
	}), nil
}

// cleanUpTPU takes requests away that exist only while a pod runs.
func cleanUpTPU(_ context.Context, _ In, b batch) (batch, error) {
	cleaned := make([]*corev1.Pod, 0, len(b.pods))
	for _, pod := range b.pods {
		cleaned = append(cleaned, podfacts.WithoutTPURequests(pod))
	}
	b.pods = cleaned
	return b, nil
}

func dropExpendable(_ context.Context, in In, b batch) (batch, error) {
	return b.keep(func(pod *corev1.Pod) report.Reason {
		if !podfacts.IsExpendable(pod, in.Options.ExpendablePriorityCutoff) {
			return nil
		}
		return report.Expendable{Priority: podfacts.Priority(pod), Cutoff: int32(in.Options.ExpendablePriorityCutoff)}
	}), nil
}

// addDrained adds copies of the pods that have to leave nodes being drained. The originals stay where they are.
func addDrained(_ context.Context, in In, b batch) (batch, error) {
	b.draining = map[string]bool{}
	for _, deletion := range in.Deletions {
		if !deletion.Drain {
			continue
		}
		b.draining[deletion.Node] = true
		for _, pod := range in.Snapshot.Pods(deletion.Node) {
			if pod.DeletionTimestamp != nil || podfacts.IsStatic(pod) || podfacts.IsMirror(pod) || podfacts.IsDaemonSet(pod) {
				continue
			}
			if pod.Spec.NodeName == "" { // the scheduler holds room there for a pod that waits; it is not there
				continue
			}
			moved := *pod
			moved.Spec.NodeName = ""
			b.pods = append(b.pods, &moved)
			b.waited = append(b.waited, &moved)
		}
	}
	return b, nil
}

func dropDaemonSetPods(_ context.Context, _ In, b batch) (batch, error) {
	return b.keep(func(pod *corev1.Pod) report.Reason {
		if !podfacts.IsDaemonSet(pod) {
			return nil
		}
		return report.DaemonSetPod{}
	}), nil
}

// holdPurchase lets a pod wait for the node that was bought for it.
func holdPurchase(_ context.Context, in In, b batch) (batch, error) {
	return b.keep(func(pod *corev1.Pod) report.Reason {
		bought, ok := in.Purchases[pod.UID]
		if !ok || (!bought.Until.IsZero() && !in.At.Before(bought.Until)) {
			return nil
		}
		return bought
	}), nil
}

// limitInjected drops copies of pods that do not exist yet while there are too many pods. Nobody is told of them one by one.
func limitInjected(_ context.Context, in In, b batch) (batch, error) {
	if len(in.Injected) == 0 {
		return b, nil
	}
	var dropped []*corev1.Pod
	b.pods, dropped = podinjection.Enforce(b.pods, in.InjectionLimit)
	for _, pod := range dropped {
		b.settle(pod, report.PodLeftAlone, report.NotReached{Limit: podinjection.LimitFlag})
	}
	return b, nil
}

// dropYoung drops pods that are not older than the delay, so that short-lived peaks buy nothing.
func dropYoung(_ context.Context, in In, b batch) (batch, error) {
	newborn := 0
	b = b.keep(func(pod *corev1.Pod) report.Reason {
		age, needed := in.At.Sub(pod.CreationTimestamp.Time), delay(pod, in.Options.NewPodScaleUpDelay)
		if age > needed {
			return nil
		}
		if age <= 0 {
			newborn++
		}
		return report.TooYoung{Age: age, Needed: needed}
	})
	b.newborn = newborn
	return b, nil
}

// delay is what the pod asks for, but never less than the flag says. A malformed wish counts as none.
func delay(pod *corev1.Pod, flag time.Duration) time.Duration {
	wish, err := time.ParseDuration(pod.Annotations[ScaleUpDelayAnnotation])
	if err != nil {
		return flag
	}
	return max(wish, flag)
}
