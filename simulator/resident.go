package simulator

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Resident is a pod on a node of a snapshot, with what the snapshot knows of it. It is good while the fork is open in which it was listed; outside of any
// fork, until the snapshot changes. One that has a Pod only stands for a pod that lies nowhere.
type Resident struct {
	Pod *corev1.Pod // shared

	placement *placement
}

// Class is a number that pods of the snapshot share only if they are equal in everything but name, UID, times and node, and none of which is being
// deleted or resized. 0: the pod has to be looked at for itself.
func (r Resident) Class() int {
	if r.placement == nil {
		return 0
	}
	return r.placement.class.number
}

// Number tells the pod from all others of the snapshot by a small number, the same wherever it lies, until all forks are closed; -1: it lies nowhere.
func (r Resident) Number() int {
	if r.placement == nil {
		return -1
	}
	return int(r.placement.where.number)
}

// Key is podfacts.Key of the pod.
func (r Resident) Key() string {
	if r.placement == nil {
		return podfacts.Key(r.Pod)
	}
	return r.placement.where.key
}

// Priority is podfacts.Priority of the pod.
func (r Resident) Priority() int32 {
	if r.placement == nil {
		return podfacts.Priority(r.Pod)
	}
	return podfacts.Priority(r.placement.shape.pod)
}

// Residents are the pods on the node by ascending namespace and name. The slice is a new one. An unknown node has none.
func (s *Snapshot) Residents(nodeName string) []Resident {
	n, ok := s.nodes[nodeName]
	if !ok || len(n.placements) == 0 {
		return nil
	}
	residents := make([]Resident, 0, len(n.placements))
	for _, p := range n.byName() {
		if p.class == nil {
			p.class = s.podClassOf(p.pod, p.shape)
		}
		residents = append(residents, Resident{Pod: p.pod, placement: p})
	}
	return residents
}

// byName are the node's placements by namespace and name of the pods. The slice is shared.
func (n *node) byName() []*placement {
	guests := 0
	for _, p := range n.placements {
		if !p.base {
			guests++
		}
	}
	if n.home == nil && guests < len(n.placements) {
		n.home = make([]*placement, 0, len(n.placements)-guests)
		for _, p := range n.placements {
			if p.base {
				n.home = append(n.home, p)
			}
		}
		slices.SortFunc(n.home, comparePlacements)
	}
	if guests == 0 {
		return n.home
	}
	others := make([]*placement, 0, guests)
	for _, p := range n.placements {
		if !p.base {
			others = append(others, p)
		}
	}
	slices.SortFunc(others, comparePlacements)
	if len(n.home) == 0 {
		return others
	}
	return merged(n.home, others)
}

// merged are two sorted lists in one.
func merged(a, b []*placement) []*placement {
	out := make([]*placement, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if comparePlacements(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// comparePlacements orders by namespace and name of the pods. Those of one shape are in one namespace.
func comparePlacements(a, b *placement) int {
	if a.shape == b.shape {
		if order := strings.Compare(a.pod.Name, b.pod.Name); order != 0 {
			return order
		}
	}
	return comparePods(a.pod, b.pod)
}

// sortedPods are the pods by namespace and name. The slice is kept until the node changes.
func (n *node) sortedPods() []*corev1.Pod {
	if n.sorted == nil && len(n.placements) > 0 {
		n.sorted = make([]*corev1.Pod, 0, len(n.placements))
		for _, p := range n.byName() {
			n.sorted = append(n.sorted, p.pod)
		}
	}
	return n.sorted
}
