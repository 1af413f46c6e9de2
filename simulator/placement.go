package simulator

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// node is one node of a snapshot with what lies on it.
type node struct {
	info       *framework.NodeInfo
	csi        *storagev1.CSINode
	injected   uint64 // 0: a node of the cluster; else its turn among the injected ones
	placements []*placement
	sorted     []*corev1.Pod // by namespace and name; nil: to be made
	epoch      uint64
}

func newNode(object *corev1.Node, csi *storagev1.CSINode, injected uint64) *node {
	info := framework.NewNodeInfo()
	info.SetNode(object)
	return &node{info: info, csi: csi, injected: injected}
}

func (n *node) sortedPods() []*corev1.Pod {
	if n.sorted == nil && len(n.placements) > 0 {
		n.sorted = make([]*corev1.Pod, 0, len(n.placements))
		for _, p := range n.placements {
			n.sorted = append(n.sorted, p.pod)
		}
		sortPods(n.sorted)
	}
	return n.sorted
}

// placement is one pod on one node.
type placement struct {
	pod   *corev1.Pod
	key   string
	info  *framework.PodInfo
	node  *node
	slot  int        // in node.placements
	turn  uint64     // tells which of several placements of a pod came last
	next  *placement // of the same pod on another node
	epoch uint64
}

func (s *Snapshot) newPlacement(pod *corev1.Pod, key string, n *node) *placement {
	s.turn++
	return &placement{pod: pod, key: key, info: newPodInfo(pod, key), node: n, turn: s.turn}
}

// tryPlacement is newPlacement for a pod that may be tried in many places before the next Sync.
func (s *Snapshot) tryPlacement(pod *corev1.Pod, key string, n *node) *placement {
	s.turn++
	info, known := s.tried[pod]
	if !known {
		info = newPodInfo(pod, key)
		s.tried[pod] = info
	}
	return &placement{pod: pod, key: key, info: info, node: n, turn: s.turn}
}

// newPodInfo works out what the framework wants to know of a pod: parsed selectors, and requests once they are asked for.
func newPodInfo(pod *corev1.Pod, key string) *framework.PodInfo {
	if pod.UID == "" { // the framework finds pods on a node by UID only
		shadow := *pod
		shadow.UID = types.UID(key)
		pod = &shadow
	}
	// Affinity terms that can't be parsed are left out, as the scheduler does: the API server lets them pass.
	info, _ := framework.NewPodInfo(pod)
	return info
}

func (s *Snapshot) placementOn(n *node, key string) *placement {
	for p := s.places[key]; p != nil; p = p.next {
		if p.node == n {
			return p
		}
	}
	return nil
}

// place puts p on its node, without recording it.
func (s *Snapshot) place(p *placement) {
	n := p.node
	p.slot = len(n.placements)
	n.placements = append(n.placements, p)
	n.sorted = nil
	before := affinityOf(n)
	n.info.AddPodInfo(p.info)
	s.index.touch(before, affinityOf(n))
	s.remember(p)
}

// remove takes p off its node, without recording it.
func (s *Snapshot) remove(p *placement) {
	n := p.node
	last := len(n.placements) - 1
	n.placements[p.slot] = n.placements[last]
	n.placements[p.slot].slot = p.slot
	n.placements[last] = nil
	n.placements = n.placements[:last]
	n.sorted = nil
	before := affinityOf(n)
	// It is an error only for pods that are not there or have no UID.
	_ = n.info.RemovePod(klog.Logger{}, p.info.Pod)
	s.index.touch(before, affinityOf(n))
	restorePorts(n.info, p.info)
	s.forget(p)
}

// restorePorts takes the ports anew that a pod still holds beside the one removed: the framework keeps a set, not counts.
func restorePorts(info *framework.NodeInfo, removed *framework.PodInfo) {
	if !hasHostPorts(removed.Pod) {
		return
	}
	rebuilt := framework.NewNodeInfo()
	for _, left := range info.Pods {
		if hasHostPorts(left.GetPod()) {
			rebuilt.AddPodInfo(left)
		}
	}
	info.UsedPorts = rebuilt.UsedPorts
}

func hasHostPorts(pod *corev1.Pod) bool {
	return anyHostPort(pod.Spec.Containers) || anyHostPort(pod.Spec.InitContainers)
}

func anyHostPort(containers []corev1.Container) bool {
	for i := range containers {
		for _, port := range containers[i].Ports {
			if port.HostPort > 0 {
				return true
			}
		}
	}
	return false
}

// remember enters p into what is kept for the whole cluster.
func (s *Snapshot) remember(p *placement) {
	p.next = s.places[p.key]
	s.places[p.key] = p
	for key := range framework.PodPVCKeys(p.pod) {
		s.claims[key]++
	}
}

// forget is the inverse of remember.
func (s *Snapshot) forget(p *placement) {
	if first := s.places[p.key]; first == p {
		if p.next == nil {
			delete(s.places, p.key)
		} else {
			s.places[p.key] = p.next
		}
	} else {
		for other := first; other != nil; other = other.next {
			if other.next == p {
				other.next = p.next
				break
			}
		}
	}
	p.next = nil
	for key := range framework.PodPVCKeys(p.pod) {
		if s.claims[key]--; s.claims[key] == 0 {
			delete(s.claims, key)
		}
	}
}

// resourcesOf reads the framework's amounts.
func resourcesOf(from fwk.Resource) Resources {
	resources := Resources{
		corev1.ResourceCPU: from.GetMilliCPU(), corev1.ResourceMemory: from.GetMemory(),
		corev1.ResourceEphemeralStorage: from.GetEphemeralStorage(), corev1.ResourcePods: int64(from.GetAllowedPodNumber()),
	}
	maps.Copy(resources, from.GetScalarResources())
	return resources
}
