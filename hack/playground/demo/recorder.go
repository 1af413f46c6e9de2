package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/cluster-autoscaler/hack/playground/checker"
)

// recorder writes down what happens in a cluster while it happens. Its methods may be called from several goroutines.
type recorder struct {
	mutex   sync.Mutex // guards what follows
	log     checker.Log
	board   board
	last    map[string]string // what was recorded last of each object
	changed chan struct{}     // closed at the next record
}

// newRecorder makes a recorder of a story that began at a time.
func newRecorder(began time.Time, story checker.Story) *recorder {
	r := &recorder{board: newBoard(story), last: map[string]string{}, changed: make(chan struct{})}
	r.add(checker.Record{Time: began, Story: &story})
	return r
}

// add appends a record.
func (r *recorder) add(record checker.Record) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.log = append(r.log, record)
	r.board.apply(record)
	close(r.changed)
	r.changed = make(chan struct{})
}

// addState appends the state of an object, unless it is the one that was recorded last.
func (r *recorder) addState(key string, record checker.Record) {
	text, err := json.Marshal(record) // without a time so far
	if err != nil {
		panic(fmt.Sprintf("a record that can't be written: %v", err)) // plain fields only
	}
	r.mutex.Lock()
	known := r.last[key] == string(text)
	r.last[key] = string(text)
	r.mutex.Unlock()
	if known {
		return
	}
	record.Time = time.Now()
	r.add(record)
}

// since returns the records from a number on.
func (r *recorder) since(number int) checker.Log {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append(checker.Log{}, r.log[number:]...)
}

// look calls a function with the present state, and returns a channel that is closed when that has changed.
func (r *recorder) look(see func(*board)) <-chan struct{} {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	see(&r.board)
	return r.changed
}

// watchCluster records pods, nodes, budgets and the autoscaler's events until ctx ends. It returns when everything that is there was recorded.
func (r *recorder) watchCluster(ctx context.Context, client kubernetes.Interface) error {
	factory := informers.NewSharedInformerFactory(client, 0)
	watches := []struct {
		informer cache.SharedIndexInformer
		record   func(object any, gone bool)
	}{
		{factory.Core().V1().Pods().Informer(), r.recordPod},
		{factory.Core().V1().Nodes().Informer(), r.recordNode},
		{factory.Policy().V1().PodDisruptionBudgets().Informer(), r.recordPDB},
		{factory.Core().V1().Events().Informer(), r.recordEvent},
	}
	for _, w := range watches {
		_, err := w.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { w.record(object, false) },
			UpdateFunc: func(_, object any) { w.record(object, false) },
			DeleteFunc: func(object any) {
				if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = unknown.Obj
				}
				w.record(object, true)
			},
		})
		if err != nil {
			return fmt.Errorf("watching the cluster: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watching the cluster's objects of type %v: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

func (r *recorder) recordPod(object any, gone bool) {
	if pod, ok := object.(*corev1.Pod); ok {
		state := podState(pod)
		state.Gone = gone
		r.addState("pod/"+state.UID, checker.Record{Pod: &state})
	}
}

func (r *recorder) recordNode(object any, gone bool) {
	if node, ok := object.(*corev1.Node); ok {
		state := nodeState(node)
		state.Gone = gone
		r.addState("node/"+state.Name, checker.Record{Node: &state})
	}
}

func (r *recorder) recordPDB(object any, gone bool) {
	if pdb, ok := object.(*policyv1.PodDisruptionBudget); ok && pdb.Status.ObservedGeneration == pdb.Generation {
		state := checker.PDB{Name: pdb.Name, App: pdb.Spec.Selector.MatchLabels[appLabel], Least: int(pdb.Status.DesiredHealthy), Gone: gone}
		r.addState("pdb/"+pdb.Name, checker.Record{PDB: &state})
	}
}

// component is the source of the autoscaler's events (operator-surface 3.1).
const component = "cluster-autoscaler"

func (r *recorder) recordEvent(object any, gone bool) {
	event, ok := object.(*corev1.Event)
	if !ok || gone || event.Source.Component != component {
		return
	}
	about := event.InvolvedObject
	r.addState("event/"+event.Namespace+"/"+event.Name, checker.Record{Event: &checker.Event{
		Warning: event.Type == corev1.EventTypeWarning, Reason: event.Reason,
		Kind: about.Kind, Namespace: about.Namespace, Name: about.Name, Message: event.Message,
	}})
}

func podState(pod *corev1.Pod) checker.Pod {
	state := checker.Pod{
		UID: string(pod.UID), Namespace: pod.Namespace, Name: pod.Name, App: pod.Labels[appLabel],
		Mirror: pod.Annotations[corev1.MirrorPodAnnotationKey] != "",
		Node:   pod.Spec.NodeName, Phase: string(pod.Status.Phase), Ending: pod.DeletionTimestamp != nil,
	}
	if pod.Spec.Priority != nil {
		state.Priority = *pod.Spec.Priority
	}
	for _, owner := range pod.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			state.Owner = owner.Kind
		}
	}
	for _, condition := range pod.Status.Conditions {
		switch condition.Type {
		case corev1.PodScheduled:
			state.Unschedulable = condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable
		case corev1.PodReady:
			state.Healthy = condition.Status == corev1.ConditionTrue
		default: // tells nothing that is asked for
		}
	}
	return state
}

func nodeState(node *corev1.Node) checker.Node {
	state := checker.Node{Name: node.Name, Provider: node.Spec.ProviderID, Cordoned: node.Spec.Unschedulable}
	for _, taint := range node.Spec.Taints {
		state.Taints = append(state.Taints, taint.Key)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			state.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return state
}

// cloudInterval is how often the cloud is looked at: what it tells has exact times, so this only delays the telling.
const cloudInterval = 100 * time.Millisecond

// watchCloud records what happens in the cloud until ctx ends, beginning with its first event.
func (r *recorder) watchCloud(ctx context.Context, cloud standIn) {
	ticker := time.NewTicker(cloudInterval)
	defer ticker.Stop()
	seen := 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		events := cloud.events()
		for _, record := range events[seen:] {
			r.add(record)
		}
		seen = len(events)
	}
}
