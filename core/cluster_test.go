package core_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// This file plays the cluster: the API server as the actuator sees it, and the controllers and the scheduler behind it. The stores of the
// source's informers are the only place where objects are.

func (s *source) nodes() cache.Store { return s.Factory().Core().V1().Nodes().Informer().GetStore() }
func (s *source) pods() cache.Store  { return s.Factory().Core().V1().Pods().Informer().GetStore() }
func (s *source) budgets() cache.Store {
	return s.Factory().Policy().V1().PodDisruptionBudgets().Informer().GetStore()
}

// all are the objects of a store by name.
func all[T metav1.Object](store cache.Store) []T {
	var out []T
	for _, object := range store.List() {
		if typed, ok := object.(T); ok {
			out = append(out, typed)
		}
	}
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// node is the node as it is now; nil: there is none.
func (w *world) node(name string) *corev1.Node {
	node, _ := w.source.Node(name)
	return node
}

// pod is the pod as it is now; nil: there is none.
func (w *world) pod(name string) *corev1.Pod {
	object, exists, err := w.source.pods().GetByKey(metav1.NamespaceDefault + "/" + name)
	w.must(err)
	if pod, ok := object.(*corev1.Pod); ok && exists {
		return pod
	}
	return nil
}

func (w *world) podsOn(node string) []*corev1.Pod {
	pods, err := w.source.Pods(node)
	w.must(err)
	return pods
}

// waiting are the names of the pods without a node.
func (w *world) waiting() []string {
	var out []string
	for _, pod := range all[*corev1.Pod](w.source.pods()) {
		if pod.Spec.NodeName == "" {
			out = append(out, pod.Name)
		}
	}
	return out
}

// put stores nodes, pods and budgets.
func (w *world) put(objects ...metav1.Object) {
	for _, object := range objects {
		switch object.(type) {
		case *corev1.Node:
			w.must(w.source.nodes().Add(object))
		case *corev1.Pod:
			w.must(w.source.pods().Add(object))
		case *policyv1.PodDisruptionBudget:
			w.must(w.source.budgets().Add(object))
		default:
			w.Fatalf("there is no store for a %T", object)
		}
	}
	w.dirty = true
}

// arrive lets pods come that were made some seconds ago, so that no burst is waited for.
func (w *world) arrive(builders ...simtest.PodBuilder) {
	for _, builder := range builders {
		w.put(builder.CreatedAt(w.clock.Now().Add(-5 * time.Second)).Build())
	}
	w.settle()
}

// leave ends pods at once and for good.
func (w *world) leave(names ...string) {
	for _, name := range names {
		if pod := w.pod(name); pod != nil {
			w.must(w.source.pods().Delete(pod))
		}
	}
	w.dirty = true
	w.settle()
}

// fill puts a pod with all the CPUs of its node on each node of the groups.
func (w *world) fill(groups ...cloudprovider.GroupID) {
	for _, node := range w.cloud.Nodes(groups...) {
		w.put(pod("full-"+node.Name, node.Status.Allocatable.Cpu().String()).On(node.Name).Build())
	}
}

// change edits a node.
func (w *world) change(name string, edit func(*corev1.Node)) {
	if node := w.node(name); node != nil {
		node = node.DeepCopy()
		edit(node)
		w.put(node)
	}
}

// pod is one of the ReplicaSet that asks for so much CPU.
func pod(name, cpu string) simtest.PodBuilder {
	return simtest.Pod(name).Requests(cpu, "").OwnedBy("ReplicaSet", "rs").Label("app", "a")
}

// pods are n pods named prefix-0 and so on.
func pods(n int, prefix, cpu string) []simtest.PodBuilder {
	var out []simtest.PodBuilder
	for i := range n {
		out = append(out, pod(fmt.Sprintf("%s-%02d", prefix, i), cpu))
	}
	return out
}

// group has machines of four CPUs that register a minute after they were asked for.
func group(id cloudprovider.GroupID, minimum, maximum, target int) simulated.Group {
	return simulated.Group{
		ID: id, Min: minimum, Max: maximum, Target: target, Templates: []cloudprovider.TemplateVariant{template(simtest.Node("t"), id)},
		AppearDelay: 10 * time.Second, LaunchDelay: 30 * time.Second, RegisterDelay: 30 * time.Second, FailDelay: 8 * time.Second,
		DeleteDelay: 20 * time.Second,
	}
}

func template(builder simtest.NodeBuilder, id cloudprovider.GroupID) cloudprovider.TemplateVariant {
	return cloudprovider.TemplateVariant{Key: "only", Node: builder.Label("group", string(id)).Build()}
}

// of replaces the machines of a group.
func of(g simulated.Group, builder simtest.NodeBuilder) simulated.Group {
	g.Templates = []cloudprovider.TemplateVariant{template(builder, g.ID)}
	return g
}

// settle lets everything happen that is due: what was planned, machines that come and go, pods that end, the scheduler.
func (w *world) settle() {
	now := w.clock.Now()
	var due []planned
	w.plans = slices.DeleteFunc(w.plans, func(p planned) bool {
		if now.Before(p.at) {
			return false
		}
		due = append(due, p)
		return true
	})
	for _, p := range due {
		p.do()
	}
	w.register()
	for _, pod := range all[*corev1.Pod](w.source.pods()) {
		if ends, ending := w.endsAt[pod.Name]; ending && !now.Before(ends) {
			w.remove(pod)
		}
	}
	if w.dirty {
		w.dirty = false
		w.schedule()
		w.countBudgets()
	}
}

// register lets nodes come and go with their machines.
func (w *world) register() {
	there := map[string]bool{}
	for _, machine := range w.cloud.Machines() {
		if machine.RegisteredAt.IsZero() {
			continue
		}
		there[machine.NodeName] = true
		if w.machines[machine.NodeName] {
			continue
		}
		node := machine.Node()
		node.CreationTimestamp = metav1.NewTime(node.CreationTimestamp.Truncate(time.Second)) // as the API server stamps
		node.ResourceVersion = "1"
		if change := w.born[machine.Group]; change != nil {
			change(node)
		}
		w.machines[node.Name] = true
		w.put(node)
		for _, pod := range machine.Pods() {
			w.put(pod)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.machines)) {
		if there[name] {
			continue
		}
		delete(w.machines, name)
		w.must(w.source.nodes().Delete(w.node(name)))
		for _, pod := range w.podsOn(name) {
			w.remove(pod)
		}
	}
}

// remove takes a pod away; the ReplicaSet makes another one.
func (w *world) remove(pod *corev1.Pod) {
	w.must(w.source.pods().Delete(pod))
	delete(w.endsAt, pod.Name)
	w.dirty = true
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return
	}
	w.replaced++
	next := pod.DeepCopy()
	next.Name = fmt.Sprintf("again-%03d", w.replaced)
	next.UID = types.UID(next.Name)
	next.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second))
	next.DeletionTimestamp = nil
	next.Spec.NodeName = ""
	next.Status = corev1.PodStatus{Phase: corev1.PodPending}
	w.put(next)
}

// schedule binds the pods that fit somewhere and marks the others, the oldest first.
func (w *world) schedule() {
	var placed, waiting []*corev1.Pod
	for _, pod := range all[*corev1.Pod](w.source.pods()) {
		if pod.Spec.NodeName != "" {
			placed = append(placed, pod)
		} else {
			waiting = append(waiting, pod)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	_, err := w.snapshot.Sync(simulator.Cluster{Nodes: all[*corev1.Node](w.source.nodes()), Pods: placed})
	w.must(err)
	for _, pod := range waiting {
		found, _, err := w.scheduler.PlaceAnywhere(w.ctx, w.snapshot, pod, simulator.Search{
			StartAfter: -1, Accept: func(node *corev1.Node) bool { return readiness.Of(node).Ready },
		})
		pod = pod.DeepCopy()
		if err == nil && found.Node != "" { // an error is about the pod, which then fits nowhere
			pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions = found.Node, corev1.PodRunning, nil
		} else if len(pod.Status.Conditions) == 0 {
			pod.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				LastTransitionTime: metav1.NewTime(w.clock.Now().Truncate(time.Second)),
			}}
			w.wake()
		}
		w.must(w.source.pods().Update(pod))
	}
}

// wake tells the loop of a pod that fits nowhere.
func (w *world) wake() {
	select {
	case w.source.woken <- struct{}{}:
	default:
	}
}

// countBudgets is the disruption controller.
func (w *world) countBudgets() {
	for _, budget := range all[*policyv1.PodDisruptionBudget](w.source.budgets()) {
		budget = budget.DeepCopy()
		budget.Status.DisruptionsAllowed = int32(w.allowed(budget)) //nolint:gosec // a handful
		w.must(w.source.budgets().Update(budget))
	}
}

// allowed is how many pods of the budget may be evicted now. Its selector is on the label "app".
func (w *world) allowed(budget *policyv1.PodDisruptionBudget) int {
	running := 0
	for _, pod := range all[*corev1.Pod](w.source.pods()) {
		if covers(budget, pod) && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			running++
		}
	}
	return max(0, running-budget.Spec.MinAvailable.IntValue())
}

func covers(budget *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// Node and the following methods are the API server as the actuator sees it.
func (w *world) Node(_ context.Context, name string) (*corev1.Node, error) {
	if node := w.node(name); node != nil {
		return node.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, name)
}

func (w *world) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	now := w.node(node.Name)
	if now == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, node.Name)
	}
	if now.ResourceVersion != node.ResourceVersion {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "nodes"}, node.Name, errors.New("it changed"))
	}
	if err := w.refused("update", node.Name); err != nil {
		return nil, err
	}
	return node, w.carry("update node", func() error {
		node = node.DeepCopy()
		node.ResourceVersion += "1"
		w.put(node)
		return nil
	})
}

func (w *world) refused(operation, name string) error {
	if w.refuse == nil {
		return nil
	}
	return w.refuse(operation, name)
}

func (w *world) Evict(_ context.Context, pod *corev1.Pod, graceSeconds int64) error {
	now := w.pod(pod.Name)
	if now == nil || now.UID != pod.UID {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod.Name)
	}
	if err := w.refused("evict", pod.Name); err != nil {
		return err
	}
	for _, budget := range all[*policyv1.PodDisruptionBudget](w.source.budgets()) {
		if covers(budget, now) && w.allowed(budget) == 0 {
			return apierrors.NewTooManyRequests("the budget allows no disruption", 10)
		}
	}
	if now.DeletionTimestamp != nil {
		return nil
	}
	return w.carry("evict pod", func() error {
		asked := time.Duration(graceSeconds) * time.Second
		end := metav1.NewTime(w.clock.Now().Add(asked))
		now = now.DeepCopy()
		now.DeletionTimestamp = &end
		w.put(now)
		w.endsAt[now.Name] = w.clock.Now().Add(w.grace(now, asked))
		return nil
	})
}

func (w *world) Pod(_ context.Context, _, name string) (*corev1.Pod, error) {
	w.settle()
	if pod := w.pod(name); pod != nil {
		return pod, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
}

func (w *world) PodsOn(_ context.Context, node string) ([]*corev1.Pod, error) {
	return w.podsOn(node), nil
}

func (w *world) Nodes(context.Context) ([]*corev1.Node, error) {
	return all[*corev1.Node](w.source.nodes()), nil
}
