package simulator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Sync makes the snapshot equal the cluster: whatever was injected or placed goes away, objects whose pointers are unchanged stay
// as they are, so that an unchanged cluster costs little. A pod goes to spec.nodeName, else to status.nominatedNodeName; strays are
// those whose node does not exist, or that have none, or that are listed twice, in the order given. It is refused inside a fork and for two nodes
// of one name; the snapshot is then as before.
func (s *Snapshot) Sync(cluster Cluster) (strays []*corev1.Pod, err error) {
	if len(s.forks) > 0 {
		return nil, fmt.Errorf("syncing the snapshot: %d forks are open", len(s.forks))
	}
	wanted := make(map[string]*corev1.Node, len(cluster.Nodes))
	for _, object := range cluster.Nodes {
		if _, twice := wanted[object.Name]; twice {
			return nil, fmt.Errorf("syncing the snapshot: two nodes are named %s", object.Name)
		}
		wanted[object.Name] = object
	}
	s.epoch++
	if len(s.tried) > 0 {
		s.tried = map[*corev1.Pod]*framework.PodInfo{} // a new one, for a cleared one keeps its size
	}
	s.syncNodes(wanted)
	s.syncCSINodes(cluster.CSINodes)
	return s.syncPods(cluster.Pods), nil
}

func (s *Snapshot) syncNodes(wanted map[string]*corev1.Node) {
	moved := false
	for name, n := range s.nodes {
		if _, stays := wanted[name]; stays && n.injected == 0 {
			continue
		}
		for _, p := range n.placements {
			s.forget(p)
		}
		delete(s.nodes, name)
		moved = true
	}
	for name, object := range wanted {
		n, known := s.nodes[name]
		switch {
		case !known:
			s.nodes[name] = newNode(object, nil, 0)
			moved = true
		case n.info.Node() != object:
			n.info.SetNode(object)
		}
	}
	if moved { // in one go: inserting one by one would be quadratic for a new cluster
		s.index.rebuild(s.nodes)
	}
}

func (s *Snapshot) syncCSINodes(csiNodes []*storagev1.CSINode) {
	for _, csi := range csiNodes {
		if n, ok := s.nodes[csi.Name]; ok {
			n.csi, n.epoch = csi, s.epoch
		}
	}
	for _, n := range s.index.order {
		if n.epoch != s.epoch {
			n.csi = nil
		}
	}
}

func (s *Snapshot) syncPods(pods []*corev1.Pod) (strays []*corev1.Pod) {
	for _, pod := range pods {
		if !s.syncPod(pod) {
			strays = append(strays, pod)
		}
	}
	for _, n := range s.index.order {
		for i := len(n.placements) - 1; i >= 0; i-- { // backwards, since removing moves the last one forward
			if p := n.placements[i]; p.epoch != s.epoch {
				s.remove(p)
			}
		}
	}
	return strays
}

// syncPod sees to it that the pod lies where it belongs; false: it belongs nowhere.
func (s *Snapshot) syncPod(pod *corev1.Pod) bool {
	name := pod.Spec.NodeName
	if name == "" {
		name = pod.Status.NominatedNodeName
	}
	n, ok := s.nodes[name]
	if !ok {
		return false
	}
	key := podfacts.Key(pod)
	var present *placement
	for p := s.places[key]; p != nil; p = p.next {
		if p.epoch == s.epoch {
			return false
		}
		if p.node == n {
			present = p
		}
	}
	if present != nil && present.pod == pod {
		present.epoch = s.epoch
		return true
	}
	if present != nil {
		s.remove(present)
	}
	p := s.newPlacement(pod, key, n)
	p.epoch = s.epoch
	s.place(p)
	return true
}
