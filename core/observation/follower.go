package observation

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/gpu"
	"example.com/cluster-autoscaler/simulator/podfacts"
	"example.com/cluster-autoscaler/simulator/readiness"
)

// follower keeps the snapshot, and the lists of an Observation, up to date with the informers. What that costs depends on what has changed, not
// on the size of the cluster. Apart from events, it is for one goroutine.
type follower struct {
	sorter
	snapshot *simulator.Snapshot
	startup  func(*corev1.Node) bool // carries a startup taint
	rebuilt  func()                  // counts a rebuild; nil: nobody does
	checks   checks

	nodes    *kind[*corev1.Node]
	pods     *kind[*corev1.Pod]
	csiNodes *kind[*storagev1.CSINode]
	sets     *kind[*appsv1.DaemonSet]
	budgets  *kind[*policyv1.PodDisruptionBudget]

	// gpuLabel is the one that shown was made with.
	gpuLabel string
	// shown are the nodes as the Observation has them.
	shown            ordered[*corev1.Node]
	refused, unseen  queue
	nominated, gated queue
	setList          ordered[*appsv1.DaemonSet]
	budgetList       ordered[*policyv1.PodDisruptionBudget]
	makers           *controllers // nil: nobody asks for them
	makerLists       Controllers
	// torn: the snapshot has taken over a part of what has changed and not the rest.
	torn bool
}

// newFollower follows the informers of the factory. reads tells whether an optional resource can be read.
func newFollower(factory informers.SharedInformerFactory, options Options, reads func(resource string) bool) *follower {
	f := &follower{
		sorter: newSorter(options), snapshot: simulator.NewSnapshot(), rebuilt: options.Rebuilt,
		startup: func(node *corev1.Node) bool {
			_, starting := options.Taints.Startup(node)
			return starting
		},
		nodes:    newKind[*corev1.Node](factory.Core().V1().Nodes().Informer().GetIndexer()),
		pods:     newKind[*corev1.Pod](factory.Core().V1().Pods().Informer().GetIndexer()),
		csiNodes: newKind[*storagev1.CSINode](factory.Storage().V1().CSINodes().Informer().GetIndexer()),
		sets:     newKind[*appsv1.DaemonSet](factory.Apps().V1().DaemonSets().Informer().GetIndexer()),
		budgets:  newKind[*policyv1.PodDisruptionBudget](factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer()),
		shown:    ordered[*corev1.Node]{compare: byName[*corev1.Node]},
		setList:  ordered[*appsv1.DaemonSet]{compare: byName[*appsv1.DaemonSet]}, refused: newQueue(), unseen: newQueue(),
		nominated: newQueue(), gated: newQueue(),
		budgetList: ordered[*policyv1.PodDisruptionBudget]{compare: byName[*policyv1.PodDisruptionBudget]},
	}
	f.csiNodes.readable = func() bool { return reads(resourceCSINodes) }
	f.sets.readable = func() bool { return reads(resourceDaemonSet) }
	f.budgets.readable = func() bool { return reads(resourcePDBs) }
	if options.Controllers {
		f.makers = newControllers(factory, reads)
	}
	return f
}

// listen has the informers tell of what changes. woken is told of pods besides.
func (f *follower) listen(factory informers.SharedInformerFactory, woken func(any)) error {
	for _, k := range []struct {
		name     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{resourceNodes, factory.Core().V1().Nodes().Informer(), f.nodes.handler(nil)},
		{resourcePods, factory.Core().V1().Pods().Informer(), f.pods.handler(woken)},
		{resourceCSINodes, factory.Storage().V1().CSINodes().Informer(), f.csiNodes.handler(nil)},
		{resourceDaemonSet, factory.Apps().V1().DaemonSets().Informer(), f.sets.handler(nil)},
		{resourcePDBs, factory.Policy().V1().PodDisruptionBudgets().Informer(), f.budgets.handler(nil)},
	} {
		if _, err := k.informer.AddEventHandler(k.handler); err != nil {
			return fmt.Errorf("watching %s: %w", k.name, err)
		}
	}
	return f.makers.listen()
}

// silence says that the informers will tell of nothing: their stores are to be compared each time.
func (f *follower) silence() {
	f.nodes.silence()
	f.pods.silence()
	f.csiNodes.silence()
	f.sets.silence()
	f.budgets.silence()
	f.makers.silence()
}

// catchUp takes over what has changed since the last call. gpuLabel marks nodes with accelerators. It is an error, and nothing is taken over, while a
// fork of the snapshot is open.
func (f *follower) catchUp(gpuLabel string) error {
	if open := f.snapshot.Depth(); open > 0 {
		return fmt.Errorf("bringing the snapshot up to date: %d forks are open", open)
	}
	if f.torn {
		if err := f.startAnew(); err != nil {
			return err
		}
	}
	f.torn = true
	f.snapshot.Advance()
	if err := f.catchUpNodes(gpuLabel); err != nil {
		return err
	}
	if err := f.catchUpCSINodes(); err != nil {
		return err
	}
	if err := f.catchUpPods(); err != nil {
		return err
	}
	follow(&f.setList, f.sets.changes())
	follow(&f.budgetList, f.budgets.changes())
	f.makerLists = f.makers.catchUp()
	f.torn = false
	return nil
}

// startAnew forgets everything, so that everything is taken over again.
func (f *follower) startAnew() error {
	if _, err := f.snapshot.Sync(simulator.Cluster{}); err != nil {
		return fmt.Errorf("emptying the snapshot: %w", err)
	}
	f.nodes.forget()
	f.pods.forget()
	f.csiNodes.forget()
	f.shown.all = nil
	for _, pod := range slices.Concat(f.refused.pods, f.unseen.pods, f.nominated.pods, f.gated.pods) {
		f.snapshot.Dismiss(pod)
	}
	f.refused, f.unseen, f.nominated, f.gated = newQueue(), newQueue(), newQueue(), newQueue()
	return nil
}

// catchUpNodes overrides the readiness of nodes that are not ready for work yet (loop-and-scale-up 1.4.2).
func (f *follower) catchUpNodes(gpuLabel string) error {
	var changes []change[*corev1.Node]
	if f.gpuLabel != gpuLabel { // which may change the looks of any node
		f.gpuLabel, changes = gpuLabel, f.nodes.forget()
	}
	changes = append(changes, f.nodes.changes()...)
	shown := make([]change[*corev1.Node], 0, len(changes))
	for _, c := range changes {
		if c.is == nil {
			if err := f.snapshot.DeleteNode(c.was.Name); err != nil {
				return err
			}
		} else {
			c.is = f.show(c.is)
			if err := f.snapshot.SetNode(c.is); err != nil {
				return err
			}
		}
		shown = append(shown, c)
	}
	follow(&f.shown, shown)
	return nil
}

// show is the node as the Observation has it.
func (f *follower) show(node *corev1.Node) *corev1.Node {
	switch {
	case node.Spec.Unschedulable || !readiness.Of(node).Ready:
		return node
	case gpu.Missing(node, f.gpuLabel):
		return readiness.Override(node, readiness.ReasonResourceNotReady)
	case f.startup(node):
		return readiness.Override(node, readiness.ReasonStartupTaint)
	default:
		return node
	}
}

func (f *follower) catchUpCSINodes() error {
	for _, c := range f.csiNodes.changes() {
		var err error
		if c.is == nil {
			err = f.snapshot.DeleteCSINode(c.was.Name)
		} else {
			err = f.snapshot.SetCSINode(c.is)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// catchUpPods sorts the pods by what they mean. Those that go from the snapshot go first, since others may come under the same key.
func (f *follower) catchUpPods() error {
	var place, expect []*corev1.Pod
	for _, c := range f.pods.changes() {
		was, is := f.sort(c.was), f.sort(c.is)
		if was.takesRoom() && (!is.takesRoom() || podfacts.Key(c.was) != podfacts.Key(c.is)) {
			if err := f.snapshot.DeletePod(podfacts.Key(c.was)); err != nil {
				return err
			}
		}
		if is.takesRoom() {
			place = append(place, c.is)
		}
		if q := f.queueOf(was); q != nil {
			q.out = append(q.out, ageOf(c.was))
			f.snapshot.Dismiss(c.was)
		}
		if q := f.queueOf(is); q != nil {
			q.in = append(q.in, ageOf(c.is))
			expect = append(expect, c.is)
		}
	}
	for _, pod := range place {
		if err := f.snapshot.SetPod(pod); err != nil {
			return err
		}
	}
	for _, pod := range expect {
		f.snapshot.Expect(pod)
	}
	f.refused.settle()
	f.unseen.settle()
	f.nominated.settle()
	f.gated.settle()
	return nil
}

// queueOf is where pods of this meaning wait; nil: they don't.
func (f *follower) queueOf(m meaning) *queue {
	switch m {
	case refused:
		return &f.refused
	case unseen:
		return &f.unseen
	case nominated:
		return &f.nominated
	case gated:
		return &f.gated
	case ignored, placed:
		return nil
	default:
		return nil
	}
}
