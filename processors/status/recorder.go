package status

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/config"
)

const (
	// Component is the source of all events.
	Component = "cluster-autoscaler"

	spamBurst     = 1
	spamQPS       = 1. / 300
	spamKeys      = 8192
	logEventsFrom = 4
)

// Recorder hands events to client-go's recorder. It is safe for concurrent use and does not block.
type Recorder struct {
	events record.EventRecorder
	status *corev1.ObjectReference
}

// NewRecorder returns a recorder for events of all kinds. Events about the status ConfigMap are recorded on status; nil: there is no such
// object and they are dropped.
func NewRecorder(events record.EventRecorder, status *corev1.ObjectReference) *Recorder {
	return &Recorder{events: events, status: status}
}

// Record sends the events.
func (r *Recorder) Record(events ...Event) {
	for _, event := range events {
		object, ok := r.reference(event.Object)
		if !ok {
			continue
		}
		kind := corev1.EventTypeNormal
		if event.Warning {
			kind = corev1.EventTypeWarning
		}
		r.events.Event(object, kind, event.Reason, event.Message)
	}
}

func (r *Recorder) reference(object Object) (*corev1.ObjectReference, bool) {
	switch object.Kind {
	case KindStatus:
		return r.status, r.status != nil
	case KindNode:
		return &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: object.Name, UID: object.UID}, true
	case KindConfigMap:
		return &corev1.ObjectReference{
			Kind: "ConfigMap", APIVersion: "v1", Namespace: object.Namespace, Name: object.Name, UID: object.UID,
		}, true
	case KindPod:
		return &corev1.ObjectReference{
			Kind: "Pod", APIVersion: "v1", Namespace: object.Namespace, Name: object.Name, UID: object.UID,
		}, true
	default:
		return nil, false
	}
}

// CorrelatorOptions are how repeated events are held back: one event per reason and object in five minutes, except that on the status
// ConfigMap, and on that of the priorities, every different message passes, and on a node every kind of message: that it got the deletion taint
// and that the cloud ends its machine are told under one reason, a few seconds apart. So are winning and losing the election, on the Lease. With duplicates allowed client-go's own rules hold
// (operator-surface 3.5).
func CorrelatorOptions(namespace, name string, duplicates bool) record.CorrelatorOptions {
	if duplicates {
		return record.CorrelatorOptions{}
	}
	return record.CorrelatorOptions{
		BurstSize: spamBurst, QPS: spamQPS, LRUCacheSize: spamKeys,
		SpamKeyFunc: func(event *corev1.Event) string {
			parts := []string{
				event.Source.Component, event.Source.Host, event.InvolvedObject.Kind, event.InvolvedObject.Namespace,
				event.InvolvedObject.Name, string(event.InvolvedObject.UID), event.InvolvedObject.APIVersion, event.Reason,
			}
			about := event.InvolvedObject
			switch {
			case about.Kind == "ConfigMap" && about.Namespace == namespace && (about.Name == name || about.Name == config.PriorityConfigMap):
				parts = append(parts, event.Message)
			case about.Kind == "Node", about.Kind == "Lease":
				parts = append(parts, kindOfMessage(event.Message))
			}
			return strings.Join(parts, "\x00")
		},
	}
}

// kindOfMessage is what comes before the error, of which there are many. Of what is left there are at most four texts for each reason and node.
func kindOfMessage(message string) string {
	kind, _, _ := strings.Cut(message, ": ")
	return kind
}

// LogEvents is a sink for client-go's broadcaster that copies events to the log.
func LogEvents(logger klog.Logger) func(*corev1.Event) {
	return func(event *corev1.Event) {
		logger.V(logEventsFrom).Info("Event", "object", klog.KRef(event.InvolvedObject.Namespace, event.InvolvedObject.Name),
			"kind", event.InvolvedObject.Kind, "type", event.Type, "reason", event.Reason, "message", event.Message)
	}
}
