package randomcluster

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"example.com/cluster-autoscaler/simulator"
)

// Generator makes what one case is about. Not safe for concurrent use.
type Generator struct {
	*Choices

	count int // tells names apart
}

// New returns a generator that makes its choices by these.
func New(choices *Choices) *Generator { return &Generator{Choices: choices} }

// World is a cluster and all that a scheduler needs to know to place pods on it.
type World struct {
	Cluster   simulator.Cluster
	Pending   []*corev1.Pod
	Templates []simulator.NodeTemplate
	Objects   []runtime.Object // what plug-ins look up, as simtest.Factory takes it
	Profile   string           // a KubeSchedulerConfiguration in YAML; empty: the default one
}

// World makes a cluster of up to 9 nodes, sometimes 30, with pods on them and pods to be placed.
func (g *Generator) World() World {
	w := World{Profile: g.profile(), Objects: g.objects()}
	count := 1 + g.Of(maxNodes)
	if g.Chance(5) {
		count = 30
	}
	for i := range count {
		name := fmt.Sprintf("n%d", i)
		if len(w.Cluster.Nodes) > 0 && g.Chance(40) {
			w.Cluster.Nodes = append(w.Cluster.Nodes, g.NodeLike(Pick(g.Choices, w.Cluster.Nodes...), name))
		} else {
			w.Cluster.Nodes = append(w.Cluster.Nodes, g.Node(name))
		}
		if g.Chance(80) {
			w.Cluster.CSINodes = append(w.Cluster.CSINodes, g.CSINode(name))
		}
	}
	for range 2 + g.Of(6) {
		w.Pending = append(w.Pending, g.Pod())
	}
	for range g.Of(min(3*count, 256)) {
		node := Pick(g.Choices, w.Cluster.Nodes...).Name
		if g.Chance(40) { // something like it is running already
			pod := g.Sibling(Pick(g.Choices, w.Pending...))
			pod.Spec.NodeName, pod.Status.NominatedNodeName = node, ""
			w.Cluster.Pods = append(w.Cluster.Pods, pod)
			continue
		}
		w.Cluster.Pods = append(w.Cluster.Pods, g.Running(node))
	}
	for range g.Of(3) {
		w.Pending = append(w.Pending, g.Sibling(Pick(g.Choices, w.Pending...)))
	}
	w.Templates = []simulator.NodeTemplate{g.Template("g1"), g.Template("g2")}
	return w
}

// objects are the namespaces, volumes, services and controllers.
func (g *Generator) objects() []runtime.Object {
	objects := slices.Concat(volumes(metav1.NamespaceDefault), volumes("ns-a"))
	for _, name := range []string{"ns-a", "ns-b"} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"team": Pick(g.Choices, "red", "blue")},
		}})
	}
	for _, namespace := range []string{metav1.NamespaceDefault, "ns-a"} {
		meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
		app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": Pick(g.Choices, "a0", "a1")}}
		objects = append(objects,
			&corev1.Service{ObjectMeta: meta("svc"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": Pick(g.Choices, "a0", "a1", "a2")}}},
			&appsv1.ReplicaSet{ObjectMeta: meta("rs"), Spec: appsv1.ReplicaSetSpec{Selector: app}},
			&appsv1.StatefulSet{ObjectMeta: meta("ss"), Spec: appsv1.StatefulSetSpec{Selector: app}},
			&corev1.ReplicationController{ObjectMeta: meta("rc"), Spec: corev1.ReplicationControllerSpec{Selector: app.MatchLabels}},
		)
	}
	return objects
}
