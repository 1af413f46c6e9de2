package pendingpods

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/processors/nodeinfos"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// scheduler is what this package asks of *simulator.Scheduler.
type scheduler interface {
	Classes(snap *simulator.Snapshot, pods []*corev1.Pod) []int
	Place(ctx context.Context, snap *simulator.Snapshot, pod *corev1.Pod, nodeName string) (*simulator.Rejection, error)
	PlaceAnywhere(
		ctx context.Context, snap *simulator.Snapshot, pod *corev1.Pod, search simulator.Search,
	) (simulator.Placement, []simulator.NodeRejection, error)
}

// budget is how long a search may take. It is made by whoever has a clock.
type budget interface{ Spent() bool }

// In is what the steps read. All of it is read only, except for the snapshot.
type In struct {
	At time.Time
	// Snapshot is changed: not-started nodes go, upcoming nodes come, pods that fit are placed.
	Snapshot  *simulator.Snapshot
	Scheduler scheduler
	// Unschedulable, Unprocessed and Nominated as observed.
	Unschedulable, Unprocessed, Nominated []*corev1.Pod
	// Injected are copies of pods that do not exist yet; of them so many are dropped in the end that no more than InjectionLimit pods are left.
	Injected       []*corev1.Pod
	InjectionLimit int
	// Deletions are the removals in progress.
	Deletions []observation.Deletion
	// Upcoming are the groups with nodes on their way, in the order of the cloud.
	Upcoming  []Upcoming
	Templates map[cloudprovider.GroupID]nodeinfos.Template
	// Purchases are the pods for which a node was bought that is not at work yet; a zero Until means that its end is not known.
	Purchases map[types.UID]report.PurchaseOnTheWay
	// Memory is what the previous call returned; the zero value knows nothing.
	Memory  Memory
	Options config.Pods
	// Budget ends the search for room (--pending-pods-batching-timeout); nil: it goes to the end.
	Budget budget
}

// Upcoming are the nodes of one group that are on their way.
type Upcoming struct {
	Group cloudprovider.GroupID
	Count int
	// NotStarted are the registered nodes among them that are not ready for the first time yet, ascending.
	NotStarted []string
	// Machines are the places of those without a node, as far as the cloud tells.
	Machines []nodeinfos.Place
}

// Out is what the steps make of it.
type Out struct {
	// Left are the pods that may cause growth, in order.
	Left []*corev1.Pod
	// Waited are all pods that were looked at, in order: unschedulable ones, unprocessed ones, nominated ones, injected ones, those that have to leave
	// nodes being drained.
	Waited []*corev1.Pod
	// Settled has one verdict for each of Waited that is not in Left, in order.
	Settled []report.PodVerdict
	// Placeholders maps the names of injected nodes to their groups.
	Placeholders map[string]cloudprovider.GroupID
	// NotStarted are the nodes that placeholders stand for in the snapshot, in the order of the groups. They must not be removed.
	NotStarted []string
	// Memory is to be kept for the next call.
	Memory Memory
	// Unreached is how many pods were not looked at because the budget was spent. They come first in the next call.
	Unreached int
	// Degraded counts the calls in a row, this one included, in which there were such pods; Recovered is true if there are none any more.
	Degraded  int
	Recovered bool
	// Newborn is how many pods are no older than the iteration, as happens with clocks that differ.
	Newborn int
	// Errs are what went wrong with single pods or groups. If there are any, this iteration must not remove nodes: the pods concerned may need them.
	Errs []error
}

// Memory is what one call leaves to the next.
type Memory struct {
	// now and before hold the nodes on which pods fitted last, by podfacts.Key, so that a pod that waits longer is found room for in the same place. A hint
	// lasts for two calls.
	now, before map[string]string
	// unreached are the pods that were not looked at, by podfacts.Key; degraded counts the calls in a row in which there were any.
	unreached map[string]bool
	degraded  int
	// nominated says since when pods are nominated, by podfacts.Key.
	nominated map[string]nomination
}

// nomination is a node on which the scheduler makes room for a pod, and when that was first seen.
type nomination struct {
	node  string
	since time.Time
}

// reachFirst notes that the pod was not looked at.
func (m *Memory) reachFirst(pod *corev1.Pod) {
	if m.unreached == nil {
		m.unreached = map[string]bool{}
	}
	m.unreached[podfacts.Key(pod)] = true
}

func (m Memory) hint(pod *corev1.Pod) (node string, ok bool) {
	if node, ok = m.now[podfacts.Key(pod)]; !ok {
		node, ok = m.before[podfacts.Key(pod)]
	}
	return node, ok
}

// step is one link of the chain. It takes the pods out that it settles and returns the rest.
type step struct {
	name string
	run  func(context.Context, In, batch) (batch, error)
}

// steps is the chain. The order matters: what is refused cheaply goes first, and room is looked for before a pod is told to wait.
func steps() []step {
	return []step{
		{"trust nominations", trustNominations},     // room is being made for these pods; those it takes too long for join the others
		{"clean up TPU requests", cleanUpTPU},       // no node ever offers them
		{"drop expendable pods", dropExpendable},    // below --expendable-pods-priority-cutoff
		{"add pods of drained nodes", addDrained},   // they will need room before they wait for it
		{"inject upcoming nodes", injectUpcoming},   // what was bought already counts as room
		{"drop pods that fit", dropFitting},         // the expensive one, so that few pods come here
		{"drop DaemonSet pods", dropDaemonSetPods},  // after the search: those that fit do take room
		{"hold pods with a purchase", holdPurchase}, // a node bought for it is given time to get to work
		{"limit injected pods", limitInjected},      // those that would buy nodes, hence so late
		{"drop young pods", dropYoung},              // last, so that a young pod can occupy room that it fits in
	}
}

// Run takes the pods through the steps. It returns an error only if ctx ended before they did; the snapshot then holds part of the work.
func Run(ctx context.Context, in In) (Out, error) {
	b := batch{settled: map[string]report.PodVerdict{}, placeholders: map[string]cloudprovider.GroupID{}}
	b.pods = slices.Concat(in.Unschedulable, in.Unprocessed, in.Nominated, in.Injected)
	b.waited = b.pods
	for _, s := range steps() {
		var err error
		if b, err = s.run(ctx, in, b); err != nil {
			return Out{}, fmt.Errorf("going through the waiting pods, step %q: %w", s.name, err)
		}
	}
	if b.unreached > 0 {
		b.memory.degraded = in.Memory.degraded + 1
	}
	out := Out{
		Left: b.pods, Waited: b.waited, Placeholders: b.placeholders, NotStarted: b.notStarted, Memory: b.memory,
		Unreached: b.unreached, Degraded: b.memory.degraded, Recovered: b.unreached == 0 && in.Memory.degraded > 0, Newborn: b.newborn, Errs: b.errs,
	}
	for _, pod := range b.waited {
		if verdict, ok := b.settled[podfacts.Key(pod)]; ok {
			out.Settled = append(out.Settled, verdict)
		}
	}
	return out, nil
}

// batch is what one step hands to the next.
type batch struct {
	pods         []*corev1.Pod // not settled yet
	waited       []*corev1.Pod
	settled      map[string]report.PodVerdict // by podfacts.Key
	placeholders map[string]cloudprovider.GroupID
	draining     map[string]bool
	notStarted   []string
	memory       Memory
	unreached    int
	newborn      int
	errs         []error
}

func (b *batch) settle(pod *corev1.Pod, fate report.PodFate, own report.Reason) {
	b.settled[podfacts.Key(pod)] = report.PodVerdict{Pod: ref(pod), Fate: fate, Own: own}
}

// keep drops the pods for which it gets a reason.
func (b batch) keep(reason func(*corev1.Pod) report.Reason) batch {
	var left []*corev1.Pod
	dropped := false
	for i, pod := range b.pods {
		why := reason(pod)
		switch {
		case why != nil:
			b.settle(pod, report.PodLeftAlone, why)
			if !dropped {
				left, dropped = append(make([]*corev1.Pod, 0, len(b.pods)), b.pods[:i]...), true
			}
		case dropped:
			left = append(left, pod)
		}
	}
	if dropped {
		b.pods = left
	}
	return b
}

func ref(pod *corev1.Pod) report.PodRef {
	return report.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}
