package shapes_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"

	"example.com/cluster-autoscaler/core/observation"
)

// This file is the API server. client-go's own stand-in copies every object on every call, which would be most of what is measured; this one
// hands the objects over as they are, streamed as a server with watch-lists does, and keeps a new version beside the old one. What was handed
// over belongs to the informer, whose transform changes it: pods are kept in the informer's store and nowhere else.

// slack is how many changes wait for a slow informer before their writer does.
const slack = 1024

// api is the API server in memory. All methods may be called concurrently.
type api struct {
	nodeEvents, podEvents *stream
	// small are the objects of the other kinds by their resource.
	small map[string][]runtime.Object

	mu    sync.Mutex // guards what follows
	nodes map[string]*corev1.Node
	// evicted are the pods for which an eviction was asked.
	evicted map[types.UID]bool
	version int

	tally  *tally              // of writes
	source *observation.Source // has the pods; set once before anything is read
}

// tally notes writes to nodes and to the cloud.
type tally struct {
	mu           sync.Mutex // guards what follows
	nodes, cloud int
	// last is the wall-clock time of the last write of either kind.
	last time.Time
}

// note counts a write that ends now.
func (t *tally) note(nodes, cloud int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes, t.cloud, t.last = t.nodes+nodes, t.cloud+cloud, time.Now()
}

// sum is how many writes there were, and when the last one was.
func (t *tally) sum() (nodes, cloud int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes, t.cloud, t.last
}

func newAPI(c cluster) (*api, error) {
	a := &api{
		tally: c.tally,
		nodes: make(map[string]*corev1.Node, len(c.nodes)), evicted: map[types.UID]bool{}, version: 1, small: map[string][]runtime.Object{},
		nodeEvents: newStream(len(c.nodes), &corev1.Node{}), podEvents: newStream(len(c.pods), &corev1.Pod{}),
	}
	for _, node := range c.nodes {
		a.nodes[node.Name] = node
		a.nodeEvents.events <- watch.Event{Type: watch.Added, Object: shallow(node)}
	}
	a.nodeEvents.complete()
	for _, pod := range c.pods {
		a.podEvents.events <- watch.Event{Type: watch.Added, Object: pod}
	}
	a.podEvents.complete()
	for _, object := range c.objects {
		resource, err := resourceOf(object)
		if err != nil {
			return nil, err
		}
		a.small[resource] = append(a.small[resource], object)
	}
	return a, nil
}

// shallow is a copy for the informer, whose transform clears fields of it; the parts that the fields point to are shared.
func shallow(node *corev1.Node) *corev1.Node {
	c := *node
	return &c
}

// stream is a watch that begins with all there is.
type stream struct {
	events   chan watch.Event
	bookmark runtime.Object
	stopped  chan struct{}
	once     sync.Once
}

// newStream has room for so many objects without anybody reading. empty is an object of their kind.
func newStream(objects int, empty runtime.Object) *stream {
	return &stream{events: make(chan watch.Event, objects+1+slack), bookmark: empty, stopped: make(chan struct{})}
}

// complete says that all there is was sent.
func (s *stream) complete() {
	if object, ok := s.bookmark.(metav1.Object); ok {
		object.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		object.SetResourceVersion("1")
	}
	s.events <- watch.Event{Type: watch.Bookmark, Object: s.bookmark}
}

// change sends a new version of an object. It blocks only while slack changes wait already.
func (s *stream) change(object runtime.Object) {
	select {
	case s.events <- watch.Event{Type: watch.Modified, Object: object}:
	case <-s.stopped:
	}
}

func (s *stream) ResultChan() <-chan watch.Event { return s.events }

func (s *stream) Stop() { s.once.Do(func() { close(s.stopped) }) }

// update hands over new versions of nodes and pods, which then belong to the API server.
func (a *api) update(nodes []*corev1.Node, pods []*corev1.Pod) {
	for _, node := range nodes {
		a.mu.Lock()
		node.ResourceVersion = a.newVersion()
		a.nodes[node.Name] = node
		a.mu.Unlock()
		a.nodeEvents.change(shallow(node))
	}
	for _, pod := range pods {
		a.mu.Lock()
		pod.ResourceVersion = a.newVersion()
		a.mu.Unlock()
		a.podEvents.change(pod)
	}
}

// newVersion is greater than all before. The lock must be held.
func (a *api) newVersion() string {
	a.version++
	return strconv.Itoa(a.version)
}

// Node and the following methods are the API server as the actuator sees it. Answers are shared and not to be changed.
func (a *api) Node(_ context.Context, name string) (*corev1.Node, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if node := a.nodes[name]; node != nil {
		return node, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
}

func (a *api) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	a.mu.Lock()
	now := a.nodes[node.Name]
	if now == nil || now.ResourceVersion != node.ResourceVersion {
		a.mu.Unlock()
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node.Name, fmt.Errorf("version %s is not the newest", node.ResourceVersion))
	}
	node = shallow(node)
	node.ResourceVersion = a.newVersion()
	a.nodes[node.Name] = node
	a.mu.Unlock()
	a.nodeEvents.change(shallow(node))
	a.tally.note(1, 0)
	return node, nil
}

func (a *api) Nodes(context.Context) ([]*corev1.Node, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	nodes := make([]*corev1.Node, 0, len(a.nodes))
	for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
		nodes = append(nodes, a.nodes[name])
	}
	return nodes, nil
}

// Evict lets the pod end at once; the informers are not told, as nothing is observed afterwards.
func (a *api) Evict(_ context.Context, pod *corev1.Pod, _ int64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evicted[pod.UID] = true
	return nil
}

func (a *api) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	pod, err := a.source.Factory().Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.evicted[pod.UID] {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	}
	return pod, nil
}

func (a *api) PodsOn(_ context.Context, node string) ([]*corev1.Pod, error) {
	pods, err := a.source.Pods(node)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return a.evicted[pod.UID] }), nil
}

func (a *api) evictions() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.evicted)
}

// clientset is the API server as the informers see it. It embeds the interface alone, so that the reflectors don't take it for client-go's
// stand-in, which cannot stream what there is: they read as they do in production.
type clientset struct {
	kubernetes.Interface
	api *api
}

// newClientset answers for nodes and pods itself. The other kinds, of which there are few and which don't change, are those of client-go's
// stand-in with a watch of our own.
func newClientset(a *api) clientset {
	small := fake.NewClientset()
	small.PrependWatchReactor("*", a.watchSmall)
	return clientset{small, a}
}

func (c clientset) CoreV1() typedcorev1.CoreV1Interface {
	return coreClient{c.Interface.CoreV1(), c.api}
}

type coreClient struct {
	typedcorev1.CoreV1Interface
	api *api
}

func (c coreClient) Nodes() typedcorev1.NodeInterface {
	return nodeClient{c.CoreV1Interface.Nodes(), c.api}
}

func (c coreClient) Pods(namespace string) typedcorev1.PodInterface {
	return podClient{c.CoreV1Interface.Pods(namespace), c.api}
}

// nodeClient lists nothing, since the only list is the probe for the right to list.
type nodeClient struct {
	typedcorev1.NodeInterface
	api *api
}

func (c nodeClient) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return c.api.nodeEvents, nil
}

type podClient struct {
	typedcorev1.PodInterface
	api *api
}

func (c podClient) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return c.api.podEvents, nil
}

// watchSmall is the watch of the kinds of which there are few.
func (a *api) watchSmall(action clienttesting.Action) (bool, watch.Interface, error) {
	resource := action.GetResource().Resource
	empty := emptyOf(resource)
	if empty == nil {
		return true, nil, fmt.Errorf("there is no watch for %s", resource)
	}
	s := newStream(len(a.small[resource]), empty)
	for _, object := range a.small[resource] {
		s.events <- watch.Event{Type: watch.Added, Object: object}
	}
	s.complete()
	return true, s, nil
}

// resourceOf is the resource of a small kind.
func resourceOf(object runtime.Object) (string, error) {
	for resource, empty := range smallKinds() {
		if fmt.Sprintf("%T", empty) == fmt.Sprintf("%T", object) {
			return resource, nil
		}
	}
	return "", fmt.Errorf("there is no watch for a %T", object)
}

// emptyOf is a new object of the resource; nil: there is none.
func emptyOf(resource string) runtime.Object { return smallKinds()[resource] }

// smallKinds has an empty object of each kind that is read besides nodes and pods.
func smallKinds() map[string]runtime.Object {
	return map[string]runtime.Object{
		"namespaces": &corev1.Namespace{}, "services": &corev1.Service{}, "replicationcontrollers": &corev1.ReplicationController{},
		"persistentvolumeclaims": &corev1.PersistentVolumeClaim{}, "persistentvolumes": &corev1.PersistentVolume{},
		"priorityclasses": &schedulingv1.PriorityClass{}, "poddisruptionbudgets": &policyv1.PodDisruptionBudget{},
		"daemonsets": &appsv1.DaemonSet{}, "replicasets": &appsv1.ReplicaSet{}, "statefulsets": &appsv1.StatefulSet{}, "jobs": &batchv1.Job{},
		"storageclasses": &storagev1.StorageClass{}, "csinodes": &storagev1.CSINode{}, "csidrivers": &storagev1.CSIDriver{},
		"csistoragecapacities": &storagev1.CSIStorageCapacity{}, "volumeattachments": &storagev1.VolumeAttachment{},
	}
}
