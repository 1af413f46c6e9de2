package scenario

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// schedule is the scheduler: it binds pods to nodes, those of the highest priority first, and says of the others that they fit nowhere.
func (w *world) schedule(ctx context.Context) error {
	if !w.stirred {
		return nil
	}
	w.stirred = false // what binding stirs up is for the next step
	queue := w.queue()
	if len(queue) == 0 {
		return nil
	}
	if err := w.lookAround(); err != nil {
		return err
	}
	turn := &turn{w: w, rooms: w.roomsOf(w.nodes.all()), hopeless: map[int]bool{}}
	classes := w.scheduler.Classes(w.view, queue)
	for i, pod := range queue {
		if err := turn.place(ctx, pod, classes[i]); err != nil {
			return err
		}
	}
	return nil
}

// queue are the pods that wait for a node, by priority, age and name. Gated ones and those that are being deleted do not.
func (w *world) queue() []*corev1.Pod {
	queue := slices.DeleteFunc(byKey(w.pods.waiting), func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || len(pod.Spec.SchedulingGates) > 0
	})
	slices.SortStableFunc(queue, func(a, b *corev1.Pod) int {
		return cmp.Or(
			cmp.Compare(podfacts.Priority(b), podfacts.Priority(a)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(keyOf(a), keyOf(b)),
		)
	})
	return queue
}

// lookAround brings the scheduler's view up to date. Pods that wait for the room of their victims hold it.
func (w *world) lookAround() error {
	var placed []*corev1.Pod
	for _, pod := range w.pods.all() {
		if !ended(pod) && (pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "") {
			placed = append(placed, pod)
		}
	}
	var csiNodes []*storagev1.CSINode
	for _, object := range w.others[kindCSINode].all() {
		if csiNode, ok := object.(*storagev1.CSINode); ok {
			csiNodes = append(csiNodes, csiNode)
		}
	}
	_, err := w.view.Sync(simulator.Cluster{Nodes: w.nodes.all(), Pods: placed, CSINodes: csiNodes})
	return err
}

// turn is one turn of the scheduler over all waiting pods.
type turn struct {
	w     *world
	rooms []*room
	// hopeless are the classes of pods that were found to fit nowhere, not even by preemption. Within a turn, room only becomes less.
	hopeless map[int]bool
}

// standsAlone tells a pod for which another one may make room by coming, or that has room of its own already: that its like fits nowhere says
// nothing about it.
func standsAlone(pod *corev1.Pod) bool {
	affinity := pod.Spec.Affinity
	return pod.Status.NominatedNodeName != "" || len(pod.Spec.TopologySpreadConstraints) > 0 ||
		affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil)
}

// place finds a node for the pod and binds it, or says that there is none.
func (t *turn) place(ctx context.Context, pod *corev1.Pod, class int) error {
	w := t.w
	if t.hopeless[class] && !standsAlone(pod) {
		return w.refuse(pod)
	}
	if nominated := pod.Status.NominatedNodeName; nominated != "" {
		if _, ok := w.view.Node(nominated); ok { // its own claim must not be in its way
			if err := w.view.RemovePod(pod, nominated); err != nil {
				return err
			}
			t.measure(nominated)
		}
	}
	node, err := t.find(ctx, pod)
	if err != nil {
		return err
	}
	if node != "" {
		return t.bind(pod, node)
	}
	nominated, err := t.preempt(ctx, pod)
	if err != nil || nominated {
		return err
	}
	t.hopeless[class] = true
	return w.refuse(pod)
}

// misses is how many of the best nodes are tried one by one before asking whether the pod fits anywhere at all.
const misses = 3

// find is the best node on which the pod fits; empty: it fits nowhere. An error is about the pod's own definition, which then fits nowhere.
func (t *turn) find(ctx context.Context, pod *corev1.Pod) (string, error) {
	w := t.w
	if name := pinnedTo(pod); name != "" { // a DaemonSet's pod goes to cordoned nodes too
		if _, ok := w.view.Node(name); !ok {
			return "", nil
		}
		rejection, err := w.scheduler.Check(ctx, w.view, pod, name)
		if err != nil || rejection != nil {
			return "", ctx.Err()
		}
		return name, nil
	}
	candidates := t.candidates(pod)
	for i, candidate := range candidates {
		if i == misses {
			if fits, err := t.fitsOnAny(ctx, pod, candidates[i:]); err != nil || !fits {
				return "", err
			}
		}
		if rejection, err := w.scheduler.Check(ctx, w.view, pod, candidate.node.Name); err == nil && rejection == nil {
			return candidate.node.Name, nil
		}
	}
	return "", ctx.Err()
}

// fitsOnAny tells whether the pod fits on one of the nodes, at the cost of one question.
func (t *turn) fitsOnAny(ctx context.Context, pod *corev1.Pod, candidates []*room) (bool, error) {
	among := make(map[string]bool, len(candidates))
	for _, candidate := range candidates {
		among[candidate.node.Name] = true
	}
	t.w.view.Fork()
	found, _, err := t.w.scheduler.PlaceAnywhere(ctx, t.w.view, pod, simulator.Search{
		StartAfter: -1, Accept: func(node *corev1.Node) bool { return among[node.Name] },
	})
	if undo := t.w.view.Revert(); undo != nil {
		return false, undo
	}
	if err != nil {
		return false, ctx.Err() // a pod about which nothing can be said fits nowhere
	}
	return found.Node != "", nil
}

// bind puts the pod on the node.
func (t *turn) bind(pod *corev1.Pod, node string) error {
	w := t.w
	at := metav1.NewTime(w.now())
	bound := *pod
	bound.Spec.NodeName = node
	bound.Status.NominatedNodeName = ""
	setCondition(&bound, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at})
	if err := w.view.AddPod(&bound, node); err != nil {
		return err
	}
	t.measure(node)
	return w.comePod(&bound)
}

// refuse marks a pod that fits nowhere, and wakes the autoscaler the first time.
func (w *world) refuse(pod *corev1.Pod) error {
	if isUnschedulable(pod) && pod.Status.NominatedNodeName == "" {
		return nil
	}
	was := w.stirred
	err := w.changePod(pod, func(pod *corev1.Pod) {
		pod.Status.NominatedNodeName = ""
		w.markUnschedulable(pod)
	})
	w.stirred = was // nobody has to look at it again for that
	return err
}

func isUnschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// markUnschedulable sets the condition by which the autoscaler knows pods that need room, unless it is set.
func (w *world) markUnschedulable(pod *corev1.Pod) {
	if isUnschedulable(pod) {
		return
	}
	w.source.wake()
	setCondition(pod, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(w.now()),
	})
}
