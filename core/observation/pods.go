package observation

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// meaning is what a pod means to an iteration (loop-and-scale-up 4.1).
type meaning int

const (
	ignored   meaning = iota // finished, of another scheduler, or not judged yet
	placed                   // takes room on a node to which it is scheduled
	nominated                // waits for room on a node that a scheduler is making there, and takes it already
	refused                  // by a scheduler: it waits for room
	unseen                   // by any scheduler, and needn't be
	gated                    // may not be scheduled yet
)

// takesRoom tells what belongs into the snapshot.
func (m meaning) takesRoom() bool { return m == placed || m == nominated }

// sorter tells what pods mean.
type sorter struct {
	allowed, bypassed map[string]bool
	cutoff            int
	// gates: gated pods mean something.
	gates bool
}

func newSorter(options Options) sorter {
	return sorter{
		allowed: nameSet(options.AllowedSchedulers), bypassed: nameSet(options.BypassedSchedulers), cutoff: options.ExpendableCutoff,
		gates: options.Controllers,
	}
}

// sort tells what the pod means; nil: ignored. A pod takes room whichever scheduler has put it there.
func (s sorter) sort(pod *corev1.Pod) meaning {
	switch {
	case pod == nil, terminal(pod):
		return ignored
	case pod.Spec.NodeName != "":
		return s.unlessExpendable(pod, placed)
	case pod.DeletionTimestamp != nil:
		return ignored
	case pod.Status.NominatedNodeName != "" && s.foreign(pod):
		return s.unlessExpendable(pod, placed) // by somebody whose pods must not cause growth, however long that takes
	case pod.Status.NominatedNodeName != "":
		return s.unlessExpendable(pod, nominated)
	case s.foreign(pod):
		return ignored
	}
	condition := scheduledCondition(pod)
	judged := condition != nil && condition.Status == corev1.ConditionFalse
	switch {
	case judged && condition.Reason == corev1.PodReasonUnschedulable:
		return refused
	case judged && condition.Reason == corev1.PodReasonSchedulingGated && s.gates:
		return gated
	case s.bypassed[pod.Spec.SchedulerName] && (condition == nil || judged && condition.Reason == ""):
		return unseen
	default:
		return ignored
	}
}

// foreign tells a pod of a scheduler that is not among the allowed ones.
func (s sorter) foreign(pod *corev1.Pod) bool {
	return len(s.allowed) > 0 && !s.allowed[pod.Spec.SchedulerName]
}

func (s sorter) unlessExpendable(pod *corev1.Pod, m meaning) meaning {
	if podfacts.IsExpendable(pod, s.cutoff) {
		return ignored
	}
	return m
}

// nameSet holds the names of schedulers; the default one also goes without a name.
func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names)+1)
	for _, name := range names {
		set[name] = true
		if name == corev1.DefaultSchedulerName {
			set[""] = true
		}
	}
	return set
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func scheduledCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// queue holds pods in the order of their creation time, namespace and name.
type queue struct {
	order ordered[aged]
	// pods are those in order. The slice was handed out: it is replaced, never changed.
	pods []*corev1.Pod
	// out and in are what changes with the next settle.
	out, in []aged
}

// aged is a pod with what it is ordered by, so that tens of thousands that come at once are ordered without looking at each of them many times.
type aged struct {
	seconds         int64
	nanoseconds     int
	namespace, name string
	pod             *corev1.Pod
}

func newQueue() queue { return queue{order: ordered[aged]{compare: byAge}} }

func ageOf(pod *corev1.Pod) aged {
	created := pod.CreationTimestamp.Time
	return aged{seconds: created.Unix(), nanoseconds: created.Nanosecond(), namespace: pod.Namespace, name: pod.Name, pod: pod}
}

func byAge(a, b aged) int {
	return cmp.Or(
		cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.nanoseconds, b.nanoseconds), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name),
	)
}

// settle makes the changes.
func (q *queue) settle() {
	if len(q.out) == 0 && len(q.in) == 0 {
		return
	}
	q.order.update(q.out, q.in)
	q.out, q.in = nil, nil
	q.pods = make([]*corev1.Pod, 0, len(q.order.all))
	for i := range q.order.all {
		q.pods = append(q.pods, q.order.all[i].pod)
	}
}

func byName[T interface {
	GetNamespace() string
	GetName() string
}](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
