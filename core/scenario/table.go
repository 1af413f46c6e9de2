package scenario

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// keyOf is namespace/name, or the name of what has no namespace.
func keyOf(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// table holds the objects of one kind in the order of their keys, and in the store from which the listers of that kind answer. Objects are never
// changed, only replaced.
type table[T metav1.Object] struct {
	store cache.Store
	by    map[string]T
	// keys are those of by, in order, as of the last time that somebody asked; come are those that may have joined since, in any order, and left
	// is set if some have gone. Sorting each in at once would take a cluster of many pods more time than all else.
	keys, come []string
	left       bool
	// sorted are the objects in the order of keys; nil: to be made.
	sorted []T
}

func newTable[T metav1.Object](store cache.Store) *table[T] {
	return &table[T]{store: store, by: map[string]T{}}
}

// put creates or replaces an object.
func (t *table[T]) put(object T) error {
	key := keyOf(object)
	if _, known := t.by[key]; !known {
		t.come = append(t.come, key)
	}
	t.by[key], t.sorted = object, nil
	return t.store.Add(object)
}

// drop deletes an object, if it is there.
func (t *table[T]) drop(key string) error {
	object, known := t.by[key]
	if !known {
		return nil
	}
	delete(t.by, key)
	t.left, t.sorted = true, nil
	return t.store.Delete(object)
}

// all are the objects in the order of their keys. The slice is shared, and good until the table changes.
func (t *table[T]) all() []T {
	if t.sorted == nil {
		t.sortKeys()
		t.sorted = make([]T, 0, len(t.keys))
		for _, key := range t.keys {
			t.sorted = append(t.sorted, t.by[key])
		}
	}
	return t.sorted
}

// sortKeys brings keys up to date.
func (t *table[T]) sortKeys() {
	if t.left {
		t.keys = slices.DeleteFunc(t.keys, func(key string) bool { _, there := t.by[key]; return !there })
		t.come = slices.DeleteFunc(t.come, func(key string) bool { _, there := t.by[key]; return !there })
		t.left = false
	}
	if len(t.come) == 0 {
		return
	}
	slices.Sort(t.come)
	merged := make([]string, 0, len(t.keys)+len(t.come))
	old := t.keys
	for _, key := range t.come {
		at, _ := slices.BinarySearch(old, key)
		merged, old = append(append(merged, old[:at]...), key), old[at:]
	}
	// One that went and came again is in both.
	t.keys, t.come = slices.Compact(append(merged, old...)), nil
}

// pods is the table of pods with what is asked of it often.
type pods struct {
	*table[*corev1.Pod]
	onNode  map[string]map[string]*corev1.Pod
	ofOwner map[types.UID]map[string]*corev1.Pod
	waiting map[string]*corev1.Pod
}

func newPods(store cache.Store) *pods {
	return &pods{
		table: newTable[*corev1.Pod](store), onNode: map[string]map[string]*corev1.Pod{},
		ofOwner: map[types.UID]map[string]*corev1.Pod{}, waiting: map[string]*corev1.Pod{},
	}
}

func (p *pods) put(pod *corev1.Pod) error {
	key := keyOf(pod)
	if old := p.by[key]; old != nil {
		p.forget(key, old)
	}
	if pod.Spec.NodeName != "" {
		enter(p.onNode, pod.Spec.NodeName, key, pod)
	} else if !ended(pod) {
		p.waiting[key] = pod
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		enter(p.ofOwner, owner.UID, key, pod)
	}
	return p.table.put(pod)
}

func (p *pods) drop(key string) error {
	if old := p.by[key]; old != nil {
		p.forget(key, old)
	}
	return p.table.drop(key)
}

func (p *pods) forget(key string, pod *corev1.Pod) {
	delete(p.waiting, key)
	leave(p.onNode, pod.Spec.NodeName, key)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		leave(p.ofOwner, owner.UID, key)
	}
}

func enter[K comparable](index map[K]map[string]*corev1.Pod, at K, key string, pod *corev1.Pod) {
	if index[at] == nil {
		index[at] = map[string]*corev1.Pod{}
	}
	index[at][key] = pod
}

func leave[K comparable](index map[K]map[string]*corev1.Pod, at K, key string) {
	delete(index[at], key)
	if len(index[at]) == 0 {
		delete(index, at)
	}
}

// byKey are pods in the order of their keys.
func byKey(some map[string]*corev1.Pod) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(some))
	for _, key := range sortedKeys(some) {
		out = append(out, some[key])
	}
	return out
}

// ended tells a pod that has run to its end.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// isReady tells a pod that is at work.
func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// setCondition sets a condition of a pod that the caller owns.
func setCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == condition.Type {
			pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
			pod.Status.Conditions[i] = condition
			return
		}
	}
	pod.Status.Conditions = append(slices.Clone(pod.Status.Conditions), condition)
}
