package e2e

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// history is all states of the story's pods since a moment, in the order in which the API server knew them. Looking again and again would miss
// those that last for a moment only.
type history struct {
	story *story
	start map[types.UID]corev1.Pod

	mutex  sync.Mutex // guards what follows
	events []podEvent
	err    error // of the watch; nothing more comes
}

// podEvent is one new state of a pod.
type podEvent struct {
	pod  corev1.Pod
	gone bool
}

// recordPods begins a history. It ends with the story.
func (s *story) recordPods() *history {
	s.t.Helper()
	list, err := s.cluster.Client.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatalf("listing pods: %v", err)
	}
	h := &history{story: s, start: byUID(list.Items)}
	source := cache.NewListWatchFromClient(s.cluster.Client.CoreV1().RESTClient(), "pods", s.namespace, fields.Everything())
	watcher, err := watchtools.NewRetryWatcherWithContext(s.t.Context(), list.ResourceVersion, source)
	if err != nil {
		s.t.Fatalf("watching pods: %v", err)
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for event := range watcher.ResultChan() {
			h.note(event)
		}
	})
	s.t.Cleanup(func() {
		watcher.Stop()
		writer.Wait()
	})
	return h
}

func (h *history) note(event watch.Event) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if pod, ok := event.Object.(*corev1.Pod); ok {
		h.events = append(h.events, podEvent{pod: *pod, gone: event.Type == watch.Deleted})
	} else if event.Type == watch.Error {
		h.err = fmt.Errorf("watching pods: %v", event.Object)
	}
}

func byUID(pods []corev1.Pod) map[types.UID]corev1.Pod {
	all := map[types.UID]corev1.Pod{}
	for _, pod := range pods {
		all[pod.UID] = pod
	}
	return all
}

// upToNow waits until the history contains all that has happened so far, and returns it.
func (h *history) upToNow() []podEvent {
	h.story.t.Helper()
	var events []podEvent
	h.story.eventually("the history of the pods is up to date", func(ctx context.Context) (bool, string, error) {
		list, err := h.story.cluster.Client.CoreV1().Pods(h.story.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		h.mutex.Lock()
		events, err = h.events[:len(h.events):len(h.events)], h.err
		h.mutex.Unlock()
		known := maps.Clone(h.start)
		for _, e := range events {
			e.apply(known)
		}
		same := maps.EqualFunc(known, byUID(list.Items), func(a, b corev1.Pod) bool { return a.ResourceVersion == b.ResourceVersion })
		return same, fmt.Sprintf("%d pods in the history, %d in the cluster", len(known), len(list.Items)), err
	})
	return events
}

func (e podEvent) apply(pods map[types.UID]corev1.Pod) {
	if e.gone {
		delete(pods, e.pod.UID)
		return
	}
	pods[e.pod.UID] = e.pod
}

// leastHealthy is the smallest number of an app's pods that a PodDisruptionBudget counted at any moment so far: those that are Ready and not
// about to end.
func (h *history) leastHealthy(app string) int {
	h.story.t.Helper()
	pods := maps.Clone(h.start)
	least := healthy(pods, app)
	for _, e := range h.upToNow() {
		e.apply(pods)
		least = min(least, healthy(pods, app))
	}
	return least
}

func healthy(pods map[types.UID]corev1.Pod, app string) int {
	n := 0
	for _, pod := range pods {
		if pod.Labels["app"] != app || pod.DeletionTimestamp != nil {
			continue
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				n++
			}
		}
	}
	return n
}

// waited are the pods for which the scheduler had no node at some moment.
func (h *history) waited() []string {
	h.story.t.Helper()
	var names []string
	for _, e := range h.upToNow() {
		if unschedulable([]corev1.Pod{e.pod}) > 0 {
			names = append(names, e.pod.Name)
		}
	}
	return names
}

// leaving tells in which order the pods that were there at the start were told to end, and went: "evicted <app>" and "gone <app>".
func (h *history) leaving() []string {
	h.story.t.Helper()
	var steps []string
	told := map[types.UID]bool{}
	for _, e := range h.upToNow() {
		app := e.pod.Labels["app"]
		if _, was := h.start[e.pod.UID]; !was {
			continue
		}
		if e.pod.DeletionTimestamp != nil && !told[e.pod.UID] {
			told[e.pod.UID] = true
			steps = append(steps, "evicted "+app)
		}
		if e.gone {
			steps = append(steps, "gone "+app)
		}
	}
	return steps
}
