package scenario

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// startAfter is how long after it was bound a pod runs and is ready.
	startAfter = time.Second
	// defaultGrace is the grace period of a pod that names none.
	defaultGrace = corev1.DefaultTerminationGracePeriodSeconds * time.Second
)

// runPods lets pods start and end.
func (w *world) runPods(context.Context) error {
	now := w.now()
	for _, key := range sortedKeys(w.ends) {
		if now.Before(w.ends[key]) {
			continue
		}
		if err := w.endPod(key); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(w.starts) {
		if now.Before(w.starts[key]) {
			continue
		}
		delete(w.starts, key)
		pod := w.pods.by[key]
		if pod == nil || pod.Status.Phase != corev1.PodPending {
			continue
		}
		err := w.changePod(pod, func(pod *corev1.Pod) {
			started := metav1.NewTime(now)
			pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &started
			setReadyCondition(pod, true, now)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// comePod takes over a pod as it is: one that is bound and pending starts, one that is being deleted ends.
func (w *world) comePod(pod *corev1.Pod) error {
	key := keyOf(pod)
	delete(w.starts, key)
	delete(w.ends, key)
	switch {
	case pod.DeletionTimestamp != nil:
		w.ends[key] = pod.DeletionTimestamp.Time
	case pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending:
		w.starts[key] = w.now().Add(startAfter)
	}
	return w.putPod(pod)
}

// endPod takes a pod away at once.
func (w *world) endPod(key string) error {
	w.stirred = true
	delete(w.starts, key)
	delete(w.ends, key)
	return w.pods.drop(key)
}

// deletePod begins to end a pod: one that is bound has its grace period, any other one goes at once.
func (w *world) deletePod(pod *corev1.Pod, grace time.Duration) error {
	key := keyOf(pod)
	if pod.Spec.NodeName == "" || grace <= 0 || ended(pod) {
		return w.endPod(key)
	}
	if pod.DeletionTimestamp != nil {
		return nil
	}
	until := w.now().Add(grace)
	w.ends[key] = until
	return w.changePod(pod, func(pod *corev1.Pod) {
		at, seconds := metav1.NewTime(until), int64(grace/time.Second)
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, &seconds
	})
}

// graceOf is the pod's own grace period.
func graceOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return defaultGrace
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}
