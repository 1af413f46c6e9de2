package simulator

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// forked says that the cluster cannot change under what is being tried; nil: nothing is.
func (s *Snapshot) forked() error {
	if len(s.forks) == 0 {
		return nil
	}
	return fmt.Errorf("%d forks are open", len(s.forks))
}

// SetNode adds a node of the cluster, or puts a newer object in the place of the one with the same name, whose pods stay. Pods and the CSINode that
// have waited for it appear on it. A node that was injected under this name goes. It is refused while a fork is open.
func (s *Snapshot) SetNode(object *corev1.Node) error {
	if err := s.forked(); err != nil {
		return fmt.Errorf("updating node %s of the snapshot: %w", object.Name, err)
	}
	n, known := s.nodes[object.Name]
	if known && n.injected > 0 {
		s.swap(object.Name, nil)
		known = false
	}
	if known {
		s.updateNode(n, object)
		return nil
	}
	n = newNode(object, s.csiWaiting[object.Name], 0)
	delete(s.csiWaiting, object.Name)
	s.changed(n)
	s.swap(object.Name, n)
	for _, key := range slices.Sorted(maps.Keys(s.waiting[object.Name])) {
		s.settle(s.waiting[object.Name][key], key, n)
		delete(s.waitsFor, key)
	}
	delete(s.waiting, object.Name)
	return nil
}

// updateNode takes over a newer object. Where it differs in nothing that others see, nothing is counted anew.
func (s *Snapshot) updateNode(n *node, object *corev1.Node) {
	if n.object == object {
		return
	}
	old := n.object
	s.changed(n)
	s.roster = nil
	if maps.Equal(old.Labels, object.Labels) && apiequality.Semantic.DeepEqual(old.Spec.Taints, object.Spec.Taints) {
		class, version := n.class, n.classVersion
		n.set(object)
		if old.Spec.Unschedulable == object.Spec.Unschedulable && slices.Equal(old.Status.DeclaredFeatures, object.Status.DeclaredFeatures) {
			n.class, n.classVersion = class, version
		}
		return
	}
	s.leave(n)
	n.set(object)
	s.enter(n)
}

// DeleteNode removes a node of the cluster; its pods wait for it to come back. One that isn't there, or was injected, is left as it is. It is
// refused while a fork is open.
func (s *Snapshot) DeleteNode(name string) error {
	if err := s.forked(); err != nil {
		return fmt.Errorf("deleting node %s of the snapshot: %w", name, err)
	}
	n, known := s.nodes[name]
	if !known || n.injected > 0 {
		return nil
	}
	s.swap(name, nil)
	for _, p := range n.placements {
		if p.base {
			s.wait(p.pod, p.where.key, name)
		}
	}
	if n.csi != nil {
		s.csiWaiting[name] = n.csi
	}
	return nil
}

// SetPod adds a pod of the cluster, or puts a newer object in the place of the one with the same podfacts.Key. It lies on spec.nodeName, else on
// status.nominatedNodeName; while that node is not there, or while it has none, the pod is not to be seen. It is refused while a fork is open.
func (s *Snapshot) SetPod(pod *corev1.Pod) error {
	if err := s.forked(); err != nil {
		return fmt.Errorf("updating pod %s/%s of the snapshot: %w", pod.Namespace, pod.Name, err)
	}
	key := podfacts.Key(pod)
	name := NodeNameOf(pod)
	if p := s.basePlacement(key); p != nil {
		if p.pod == pod && p.node.object.Name == name {
			return nil
		}
		s.remove(p)
	} else {
		s.unwait(key)
	}
	n, ok := s.nodes[name]
	if !ok || n.injected > 0 {
		s.wait(pod, key, name)
		return nil
	}
	s.settle(pod, key, n)
	return nil
}

// DeletePod removes a pod of the cluster by its podfacts.Key. One that isn't there is fine. It is refused while a fork is open.
func (s *Snapshot) DeletePod(key string) error {
	if err := s.forked(); err != nil {
		return fmt.Errorf("deleting pod %s of the snapshot: %w", key, err)
	}
	if p := s.basePlacement(key); p != nil {
		s.remove(p)
	}
	s.unwait(key)
	return nil
}

// SetCSINode takes over the volume limits of the node of the same name. It is refused while a fork is open.
func (s *Snapshot) SetCSINode(csi *storagev1.CSINode) error {
	if err := s.forked(); err != nil {
		return fmt.Errorf("updating CSINode %s of the snapshot: %w", csi.Name, err)
	}
	s.setCSINode(csi.Name, csi)
	return nil
}

// DeleteCSINode forgets the volume limits of the node. It is refused while a fork is open.
func (s *Snapshot) DeleteCSINode(name string) error {
	if err := s.forked(); err != nil {
		return fmt.Errorf("deleting CSINode %s of the snapshot: %w", name, err)
	}
	s.setCSINode(name, nil)
	return nil
}

func (s *Snapshot) setCSINode(name string, csi *storagev1.CSINode) {
	n, ok := s.nodes[name]
	switch {
	case ok && n.injected == 0:
		if n.csi != csi {
			n.csi = csi
			s.changed(n)
		}
	case csi == nil:
		delete(s.csiWaiting, name)
	default:
		s.csiWaiting[name] = csi
	}
}

// NodeNameOf is the name of the node on which the pod takes room: where it runs, else for which it is nominated; empty: none.
func NodeNameOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return pod.Status.NominatedNodeName
}

func (s *Snapshot) basePlacement(key string) *placement {
	for p := s.at(key); p != nil; p = p.next {
		if p.base {
			return p
		}
	}
	return nil
}

// settle puts a pod of the cluster on its node.
func (s *Snapshot) settle(pod *corev1.Pod, key string, n *node) {
	if p := s.placementOn(n, key); p != nil { // a trial outside of any fork
		s.remove(p)
	}
	p := s.newPlacement(pod, key, n)
	p.base, p.class = true, s.podClassOf(pod, p.shape)
	s.place(p)
}

func (s *Snapshot) wait(pod *corev1.Pod, key, node string) {
	if s.waiting[node] == nil {
		s.waiting[node] = map[string]*corev1.Pod{}
	}
	s.waiting[node][key] = pod
	s.waitsFor[key] = node
}

func (s *Snapshot) unwait(key string) {
	node, waits := s.waitsFor[key]
	if !waits {
		return
	}
	delete(s.waitsFor, key)
	delete(s.waiting[node], key)
	if len(s.waiting[node]) == 0 {
		delete(s.waiting, node)
	}
}

// Advance begins a new iteration: what was worth keeping for one only is let go. Forks must be closed, else it does nothing.
func (s *Snapshot) Advance() {
	if len(s.forks) > 0 {
		return
	}
	s.round++
	s.roster = nil
	if len(s.known) > 0 {
		s.known = map[*corev1.Pod]*knownPod{} // a new one, for a cleared one keeps its size
	}
	if cap(s.log) > maxKeys {
		s.log = nil
	}
	if !s.looked {
		for _, n := range s.index.order {
			n.view.info.Store(nil)
		}
	}
	s.looked = false
	s.dropTallies()
	if len(s.nodeClasses) > 3*len(s.nodes)+s.slack/10 {
		s.nodeKeys.version++ // makes all classes anew, without those of nodes that have gone
	}
	if s.bloated() {
		s.refound()
	}
}

// bloated says that most of what is remembered is about pods that have gone.
func (s *Snapshot) bloated() bool {
	return len(s.shapes)+len(s.labelSets)+len(s.groups)+len(s.kinds) > 3*(len(s.places)+len(s.expected))+s.slack
}

// refound builds the snapshot anew from its own cluster.
func (s *Snapshot) refound() {
	cluster := s.cluster()
	csiWaiting := s.csiWaiting
	s.clear()
	s.refill(cluster)
	maps.Copy(s.csiWaiting, csiWaiting)
}

// cluster is what the snapshot's base was made of, pods that wait included.
func (s *Snapshot) cluster() Cluster {
	var c Cluster
	for _, n := range s.index.order {
		if n.injected > 0 {
			continue
		}
		c.Nodes = append(c.Nodes, n.object)
		if n.csi != nil {
			c.CSINodes = append(c.CSINodes, n.csi)
		}
		for _, p := range n.placements {
			if p.base {
				c.Pods = append(c.Pods, p.pod)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.waitsFor)) {
		c.Pods = append(c.Pods, s.waiting[s.waitsFor[key]][key])
	}
	return c
}

// Sync makes the snapshot equal the cluster, from scratch: whatever was injected or placed goes away. A pod goes to spec.nodeName, else to
// status.nominatedNodeName; strays are those whose node does not exist, or that have none, or that are listed twice, in the order given; they are not
// kept. It is refused inside a fork and for two nodes of one name; the snapshot is then as before.
func (s *Snapshot) Sync(cluster Cluster) (strays []*corev1.Pod, err error) {
	if err := s.forked(); err != nil {
		return nil, fmt.Errorf("syncing the snapshot: %w", err)
	}
	names := make(map[string]bool, len(cluster.Nodes))
	for _, object := range cluster.Nodes {
		if names[object.Name] {
			return nil, fmt.Errorf("syncing the snapshot: two nodes are named %s", object.Name)
		}
		names[object.Name] = true
	}
	s.clear()
	s.round++
	strays = s.refill(cluster)
	s.waiting, s.waitsFor, s.csiWaiting = map[string]map[string]*corev1.Pod{}, map[string]string{}, map[string]*storagev1.CSINode{}
	return strays, nil
}

// refill fills an empty snapshot and returns the pods that wait, and those listed twice.
func (s *Snapshot) refill(cluster Cluster) (strays []*corev1.Pod) {
	for _, object := range cluster.Nodes {
		_ = s.SetNode(object) // no fork is open
	}
	for _, csi := range cluster.CSINodes {
		s.setCSINode(csi.Name, csi)
	}
	for _, pod := range cluster.Pods {
		key := podfacts.Key(pod)
		if _, twice := s.waitsFor[key]; twice || s.basePlacement(key) != nil {
			strays = append(strays, pod)
			continue
		}
		_ = s.SetPod(pod) // no fork is open
		if s.basePlacement(key) == nil {
			strays = append(strays, pod)
		}
	}
	return strays
}
