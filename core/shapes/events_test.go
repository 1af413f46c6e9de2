package shapes_test

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"example.com/cluster-autoscaler/processors/status"
)

// emitter takes events as values and sends them when it is told to: what client-go's broadcaster does in goroutines of its own is not mixed
// up with the iteration that is measured, and has a figure of its own. Unlike that broadcaster it drops none. It is a record.EventRecorder.
type emitter struct {
	mu    sync.Mutex // guards queue
	queue []queued

	correlator *record.EventCorrelator
	sent       map[string]*corev1.Event // by name
}

// queued is an event that waits to be sent.
type queued struct {
	object                corev1.ObjectReference
	kind, reason, message string
}

func newEmitter() *emitter {
	return &emitter{
		correlator: record.NewEventCorrelatorWithOptions(status.CorrelatorOptions(namespace, statusName, false)),
		sent:       map[string]*corev1.Event{},
	}
}

func (e *emitter) Event(object runtime.Object, kind, reason, message string) {
	next := queued{kind: kind, reason: reason, message: message}
	if reference, ok := object.(*corev1.ObjectReference); ok {
		next.object = *reference
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, next)
}

func (e *emitter) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	e.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (e *emitter) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	e.Eventf(object, kind, reason, format, args...)
}

// flush sends what waits, through client-go's correlator with the product's options, into memory. It returns how many events waited by
// reason, and how long sending took.
func (e *emitter) flush(at time.Time) (byReason map[string]int, took time.Duration, err error) {
	e.mu.Lock()
	queue := e.queue
	e.queue = nil
	e.mu.Unlock()
	byReason = map[string]int{}
	start := time.Now()
	for i, next := range queue {
		byReason[next.reason]++
		event := &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: next.object.Namespace, Name: fmt.Sprintf("%s.%x", next.object.Name, at.UnixNano()+int64(i))},
			InvolvedObject: next.object, Type: next.kind, Reason: next.reason, Message: next.message, Count: 1,
			FirstTimestamp: metav1.NewTime(at), LastTimestamp: metav1.NewTime(at), Source: corev1.EventSource{Component: status.Component},
		}
		correlated, err := e.correlator.EventCorrelate(event)
		if err != nil {
			return nil, 0, fmt.Errorf("correlating an event about %s: %w", next.object.Name, err)
		}
		if correlated.Skip {
			continue
		}
		e.sent[correlated.Event.Name] = correlated.Event
		e.correlator.UpdateState(correlated.Event)
	}
	return byReason, time.Since(start), nil
}
