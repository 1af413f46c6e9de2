package simtest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"

	"example.com/cluster-autoscaler/simulator"
)

// Factory is an informer factory whose stores hold these objects as soon as a plug-in asks for them, without any goroutine. Kinds that
// the scheduler's plug-ins don't read fail the test. The default namespace is there without being named.
func Factory(tb testing.TB, objects ...runtime.Object) informers.SharedInformerFactory {
	tb.Helper()
	factory := informers.NewSharedInformerFactory(nil, 0) // never started, hence no client
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: metav1.NamespaceDefault, Labels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceDefault},
	}})
	for _, object := range objects {
		store(tb, factory, object)
	}
	return factory
}

// Scheduler is one with the default profile. objects are what plug-ins look up besides nodes and pods: namespaces, volumes, claims,
// storage classes, services, controllers.
func Scheduler(tb testing.TB, objects ...runtime.Object) *simulator.Scheduler {
	tb.Helper()
	scheduler, err := simulator.NewScheduler(tb.Context(), Factory(tb, objects...), simulator.Options{Parallelism: 1})
	if err != nil {
		tb.Fatal(err)
	}
	return scheduler
}

// Snapshot holds these nodes, and these pods where their spec.nodeName or nomination puts them; a stray fails the test.
func Snapshot(tb testing.TB, nodes []*corev1.Node, pods []*corev1.Pod) *simulator.Snapshot {
	tb.Helper()
	snapshot := simulator.NewSnapshot()
	strays, err := snapshot.Sync(simulator.Cluster{Nodes: nodes, Pods: pods})
	if err != nil {
		tb.Fatal(err)
	}
	for _, pod := range strays {
		tb.Fatalf("pod %s/%s has no node in the snapshot", pod.Namespace, pod.Name)
	}
	return snapshot
}
