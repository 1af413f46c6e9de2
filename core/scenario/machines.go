package scenario

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/scenario/document"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

func sortedIDs[V any](m map[cloudprovider.GroupID]V) []cloudprovider.GroupID {
	return slices.Sorted(maps.Keys(m))
}

// settling is a new node that is not yet as it will be.
type settling struct {
	since  time.Time
	taints []document.LateTaint
	gains  []document.LateResource
}

// next is when something about the node changes; zero: nothing does any more.
func (s *settling) next() time.Time {
	var next time.Time
	for _, taint := range s.taints {
		next = earliest(next, s.since.Add(taint.For.Duration))
	}
	for _, gain := range s.gains {
		next = earliest(next, s.since.Add(gain.After.Duration))
	}
	return next
}

// moveMachines lets nodes come and go with their machines.
func (w *world) moveMachines(context.Context) error {
	now := w.now()
	for _, name := range sortedKeys(w.lost) {
		if !now.Before(w.lost[name]) {
			delete(w.lost, name)
			if err := w.removeNode(name); err != nil {
				return err
			}
		}
	}
	if !w.moved && (w.cloudNext.IsZero() || now.Before(w.cloudNext)) {
		return nil
	}
	w.moved = false
	there := map[string]bool{}
	for _, machine := range w.cloud.Machines() {
		if machine.RegisteredAt.IsZero() {
			continue
		}
		there[machine.NodeName] = true
		if _, known := w.machines[machine.NodeName]; !known {
			if err := w.register(machine); err != nil {
				return err
			}
		}
	}
	for _, name := range sortedKeys(w.machines) {
		if there[name] {
			continue
		}
		delete(w.machines, name)
		if _, lost := w.lost[name]; lost {
			continue // its node stays for a while
		}
		if err := w.removeNode(name); err != nil {
			return err
		}
	}
	w.cloudNext, _ = w.cloud.NextChange()
	return nil
}

// register lets the node of a machine join the cluster.
func (w *world) register(machine simulated.Machine) error {
	w.machines[machine.NodeName] = machine
	now := metav1.NewTime(w.now())
	node := machine.Node()
	node.CreationTimestamp = now
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastTransitionTime, node.Status.Conditions[i].LastHeartbeatTime = now, now
	}
	if group := w.groups[machine.Group]; group != nil {
		w.unsettle(node, group.Spec)
	}
	if csiNode := machine.CSINode(); csiNode != nil {
		if err := w.others[kindCSINode].put(csiNode); err != nil {
			return storing(kindCSINode, csiNode, err)
		}
	}
	if err := w.putNode(node); err != nil {
		return err
	}
	for _, pod := range machine.Pods() {
		if err := w.comePod(pod); err != nil {
			return err
		}
	}
	w.tell(nodeReady{about("NodeReady", w.since()), node.Name, string(machine.Group)})
	return nil
}

// joinNode takes over a node of the input. One that belongs to a group which does not know it is attached to that.
func (w *world) joinNode(node *corev1.Node) error {
	id := cloudprovider.GroupID(node.Annotations[simulated.GroupAnnotation])
	if _, known := w.machines[node.Name]; known {
		return w.putNode(node)
	}
	if group, exists := w.cloud.Group(id); exists {
		w.interfered()
		if err := w.cloud.Join(id, existing(node, document.VariantOf(node, group.Templates))); err != nil {
			return err
		}
		for _, machine := range w.cloud.Machines(id) {
			if machine.NodeName == node.Name {
				w.machines[node.Name] = machine
			}
		}
	}
	return w.putNode(node)
}

// unsettle gives a new node the taints that it will lose and takes what it will gain.
func (w *world) unsettle(node *corev1.Node, spec document.NodeGroupSpec) {
	if len(spec.LateTaints)+len(spec.LateResources) == 0 {
		return
	}
	for _, late := range spec.LateTaints {
		at := metav1.NewTime(w.now())
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: late.Key, Value: late.Value, Effect: late.Effect, TimeAdded: &at})
	}
	for _, late := range spec.LateResources {
		delete(node.Status.Capacity, late.Name)
		delete(node.Status.Allocatable, late.Name)
	}
	w.settling[node.Name] = &settling{since: w.now(), taints: spec.LateTaints, gains: spec.LateResources}
}

// settleNodes takes late taints away and brings late resources.
func (w *world) settleNodes() error {
	now := w.now()
	for _, name := range sortedKeys(w.settling) {
		s := w.settling[name]
		if next := s.next(); next.IsZero() || now.Before(next) {
			continue
		}
		err := w.changeNode(name, func(node *corev1.Node) {
			s.taints = slices.DeleteFunc(slices.Clone(s.taints), func(late document.LateTaint) bool {
				if now.Before(s.since.Add(late.For.Duration)) {
					return false
				}
				node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == late.Key && t.Effect == late.Effect })
				return true
			})
			s.gains = slices.DeleteFunc(slices.Clone(s.gains), func(late document.LateResource) bool {
				if now.Before(s.since.Add(late.After.Duration)) {
					return false
				}
				provide(&node.Status.Capacity, late)
				provide(&node.Status.Allocatable, late)
				return true
			})
		})
		if err != nil {
			return err
		}
		if len(s.taints)+len(s.gains) == 0 || w.nodes.by[name] == nil {
			delete(w.settling, name)
		}
	}
	return nil
}

func provide(list *corev1.ResourceList, late document.LateResource) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[late.Name] = late.Quantity
}

// removeNode takes a node out of the cluster. Its pods are collected by the controllers.
func (w *world) removeNode(name string) error {
	node := w.nodes.by[name]
	if node == nil {
		return nil
	}
	w.stirred = true
	w.gone[name] = true
	delete(w.settling, name)
	delete(w.lost, name)
	w.tell(nodeRemoved{about("NodeRemoved", w.since()), name, w.groupOf(node)})
	if err := w.others[kindCSINode].drop(name); err != nil {
		return err
	}
	return w.nodes.drop(name)
}

// groupOf is the name of the node's group; empty: it has none.
func (w *world) groupOf(node *corev1.Node) string {
	if machine, known := w.machines[node.Name]; known {
		return string(machine.Group)
	}
	return node.Annotations[simulated.GroupAnnotation]
}

// groupOfNode is the name of the group of the node of that name; empty: it has none.
func (w *world) groupOfNode(name string) string {
	if node := w.nodes.by[name]; node != nil {
		return w.groupOf(node)
	}
	return ""
}

// lose lets the machine of a node vanish. The group replaces it; the node is noticed to be gone after the group's time for deletions.
func (w *world) lose(name string) error {
	machine, known := w.machines[name]
	if !known {
		return w.removeNode(name)
	}
	until := w.now()
	if group := w.groups[machine.Group]; group != nil {
		until = until.Add(durationOf(group.Spec.DeletionTime))
	}
	w.lost[name] = until
	w.interfered()
	if err := w.cloud.Lose(machine.ProviderID); err != nil {
		return err
	}
	return w.setReady(name, corev1.ConditionUnknown, "NodeStatusUnknown")
}

// interfered notes that something was done to the cloud.
func (w *world) interfered() {
	w.moved = true
	clear(w.targets)
}

// written looks at each write of the autoscaler to the cloud.
func (w *world) written(write simulated.Write) {
	w.interfered()
	w.counts.wrote(write)
	for _, machine := range write.Ended {
		if machine.RegisteredAt.IsZero() {
			continue
		}
		for _, pod := range w.pods.onNode[machine.NodeName] {
			if w.occupies(pod) {
				w.counts.undrained++
				break
			}
		}
	}
}

// occupies tells a pod that has to be moved before its machine is ended.
func (w *world) occupies(pod *corev1.Pod) bool {
	return !ended(pod) && !podfacts.IsMirror(pod) && !podfacts.IsDaemonSet(pod) && !podfacts.IsLongTerminating(pod, w.now()) &&
		!podfacts.IsExpendable(pod, w.options.Pods.ExpendablePriorityCutoff)
}
