package simtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/simulator"
)

// Scheduler is one with the default profile. objects are what plug-ins look up besides nodes and pods: namespaces, volumes, claims,
// storage classes, services, controllers.
func Scheduler(tb testing.TB, objects ...runtime.Object) *simulator.Scheduler { return nil }

// Snapshot holds these nodes, and these pods where their spec.nodeName or nomination puts them; a stray fails the test.
func Snapshot(tb testing.TB, nodes []*corev1.Node, pods []*corev1.Pod) *simulator.Snapshot {
	return nil
}
