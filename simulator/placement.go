package simulator

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// node is one node of a snapshot with what lies on it.
type node struct {
	object   *corev1.Node
	csi      *storagev1.CSINode
	injected uint64 // 0: a node of the cluster; else its turn among the injected ones
	// slot is a small number that no other node of the snapshot has; it is valid while the node is in the snapshot.
	slot int
	// number is that of the node in the roster.
	roster *roster
	number int
	// version is another one after every change, and what it was when the change is undone.
	version uint64

	// offered is what the node has allocatable, allowedPods how many pods it takes, taken what its pods take.
	offered, taken amounts
	allowedPods    int
	placements     []*placement
	// home are the placements of pods of the cluster, by namespace and name; nil: to be sorted. sorted are all the pods in this order; nil: to be made.
	home      []*placement
	sorted    []*corev1.Pod
	ports     fwk.HostPortInfo // nil: to be made
	withPorts int              // pods with ports of the host
	ending    int              // pods that are being deleted
	// withAffinity and withAntiAffinity count pods with terms of any kind, and with required terms of anti-affinity.
	withAffinity, withAntiAffinity int

	class        *nodeClass
	classVersion int
	// topology are those labels that were asked for as topology keys.
	topology []topologyLabel
	view     nodeView
}

// topologyLabel is a label that a node has, or has not.
type topologyLabel struct {
	key, value string
	ok         bool
}

// label is the node's label of this key, which is one of few that are asked for often.
func (n *node) label(key string) (value string, ok bool) {
	for i := range n.topology {
		if n.topology[i].key == key {
			return n.topology[i].value, n.topology[i].ok
		}
	}
	value, ok = n.object.Labels[key]
	n.topology = append(n.topology, topologyLabel{key: key, value: value, ok: ok})
	return value, ok
}

func newNode(object *corev1.Node, csi *storagev1.CSINode, injected uint64) *node {
	n := &node{csi: csi, injected: injected}
	n.view.node = n
	n.set(object)
	return n
}

// set takes over the node object.
func (n *node) set(object *corev1.Node) {
	n.object, n.class, n.topology = object, nil, nil
	allocatable := framework.NewResource(object.Status.Allocatable)
	n.offered, n.allowedPods = amountsOf(allocatable), allocatable.AllowedPodNumber
	if info := n.view.info.Load(); info != nil {
		info.SetNode(object)
	}
}

// usedPorts are the ports of the host that pods have taken.
func (n *node) usedPorts() fwk.HostPortInfo {
	if n.withPorts == 0 {
		return nil
	}
	if n.ports == nil {
		n.ports = fwk.HostPortInfo{}
		for _, p := range n.placements {
			for _, port := range p.shape.ports {
				n.ports.Add(port.HostIP, string(port.Protocol), port.HostPort)
			}
		}
	}
	return n.ports
}

// placement is one pod on one node.
type placement struct {
	pod    *corev1.Pod
	where  *whereabouts
	shape  *shape
	class  *podClass // nil: to be found out
	held   *amounts
	labels *labelSet // nil while nobody counts pods by their labels
	node   *node
	slot   int        // in node.placements
	turn   uint64     // tells which of several placements of a pod came last
	next   *placement // of the same pod on another node
	// base: the pod is there in the cluster, not for a trial.
	base bool
	// ending: the pod is being deleted.
	ending bool
	info   *framework.PodInfo // nil until the framework asks
}

// knownPod is what was worked out about a pod.
type knownPod struct {
	pod   *corev1.Pod
	key   string
	shape *shape
	held  *amounts
	// ending: the pod is being deleted. claims: it has resource claims, of whatever origin. bound: it names its node. spreads: it has topology
	// spread constraints of its own.
	ending, claims, bound, spreads bool

	kind        *kind
	kindVersion int
}

// maxKnown bounds how many pods are remembered that have no place: those that are tried are few, and tried often.
const maxKnown = 200_000

// know is what there is to know about the pod. Only pods that are to be tried, or are expected to be, are remembered.
func (s *Snapshot) know(pod *corev1.Pod) *knownPod {
	if known := s.recall(pod); known != nil {
		return known
	}
	return s.learn(pod, &knownPod{})
}

// recall is what is remembered of the pod; nil: nothing.
func (s *Snapshot) recall(pod *corev1.Pod) *knownPod {
	if known := s.expected[pod]; known != nil {
		return known
	}
	return s.known[pod]
}

// Expect says that the pod waits for a place and will be tried in one iteration after the other, until Dismiss. It changes no answer; what there is to
// know about the pod is found out once, now.
func (s *Snapshot) Expect(pod *corev1.Pod) {
	if s.expected[pod] == nil {
		known := &knownPod{}
		s.look(pod, known)
		s.expected[pod] = known
	}
}

// Dismiss ends what Expect began. A pod that isn't expected is fine.
func (s *Snapshot) Dismiss(pod *corev1.Pod) { delete(s.expected, pod) }

// Expected is how many pods are expected.
func (s *Snapshot) Expected() int { return len(s.expected) }

// knowAll is know for many pods at once.
func (s *Snapshot) knowAll(pods []*corev1.Pod) []*knownPod {
	all := make([]*knownPod, len(pods))
	var fresh []knownPod
	for i, pod := range pods {
		known := s.recall(pod)
		if known == nil {
			if len(fresh) == 0 {
				fresh = make([]knownPod, len(pods)-i)
			}
			if len(s.known) == 0 {
				s.known = make(map[*corev1.Pod]*knownPod, len(fresh))
			}
			known = s.learn(pod, &fresh[0])
			fresh = fresh[1:]
		}
		all[i] = known
	}
	return all
}

// learn fills in what is known of the pod, and remembers it: for good if it is expected, else for this iteration.
func (s *Snapshot) learn(pod *corev1.Pod, known *knownPod) *knownPod {
	s.look(pod, known)
	if _, expected := s.expected[pod]; expected {
		s.expected[pod] = known
		return known
	}
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[pod] = known
	return known
}

// look fills in what there is to know about the pod.
func (s *Snapshot) look(pod *corev1.Pod, known *knownPod) {
	*known = knownPod{
		pod: pod, key: podfacts.Key(pod), shape: s.shapeOf(pod), ending: pod.DeletionTimestamp != nil, claims: podfacts.HasResourceClaims(pod),
		bound: pod.Spec.NodeName != "", spreads: len(pod.Spec.TopologySpreadConstraints) > 0,
	}
	known.held = &known.shape.held
	if held, ok := heldByStatus(pod); ok {
		known.held = &held
	}
}

func (s *Snapshot) newPlacement(pod *corev1.Pod, key string, n *node) *placement {
	s.turn++
	p := &placement{pod: pod, where: s.whereaboutsOf(key), shape: s.shapeOf(pod), node: n, turn: s.turn, ending: pod.DeletionTimestamp != nil}
	p.held = &p.shape.held
	if held, ok := heldByStatus(pod); ok {
		p.held = &held
	}
	return p
}

// podInfo is what the framework wants to know of the pod: parsed selectors, and requests once they are asked for.
func (p *placement) podInfo() *framework.PodInfo {
	if p.info == nil {
		pod := p.pod
		if pod.UID == "" { // the framework finds pods on a node by UID only
			shadow := *pod
			shadow.UID = types.UID(p.where.key)
			pod = &shadow
		}
		// Affinity terms that can't be parsed are left out, as the scheduler does: the API server lets them pass.
		p.info, _ = framework.NewPodInfo(pod)
	}
	return p.info
}

func (s *Snapshot) placementOn(n *node, key string) *placement {
	return s.at(key).on(n)
}

// on is the one of the chain that lies on the node; nil: none does.
func (p *placement) on(n *node) *placement {
	for ; p != nil; p = p.next {
		if p.node == n {
			return p
		}
	}
	return nil
}

// spare is a new placement, to be filled in, for a pod that is placed for a trial. Trials end together, so that one piece of memory holds many.
func (s *Snapshot) spare() *placement {
	const atOnce = 64
	if len(s.spares) == 0 {
		s.spares = make([]placement, atOnce)
	}
	p := &s.spares[0]
	s.spares = s.spares[1:]
	return p
}

// place puts p on its node, without recording it.
func (s *Snapshot) place(p *placement) {
	s.attach(p)
	s.changed(p.node)
	if info := p.node.view.info.Load(); info != nil {
		info.AddPodInfo(p.podInfo())
	}
	s.count(p, 1)
	s.remember(p)
}

// attach puts p on its node, of which nobody else knows yet.
func (s *Snapshot) attach(p *placement) {
	n := p.node
	p.slot = len(n.placements)
	n.placements = append(n.placements, p)
	if p.base {
		n.home = nil
	}
	n.taken.add(p.held, 1)
	s.countParts(p, 1)
}

// remove takes p off its node, without recording it.
func (s *Snapshot) remove(p *placement) {
	n := p.node
	last := len(n.placements) - 1
	n.placements[p.slot] = n.placements[last]
	n.placements[p.slot].slot = p.slot
	n.placements[last] = nil
	n.placements = n.placements[:last]
	if p.base {
		n.home = nil
	}
	s.changed(n)
	if s.roster != nil {
		s.roster.free(n)
	}
	n.taken.add(p.held, -1)
	s.countParts(p, -1)
	if info := n.view.info.Load(); info != nil {
		n.view.remove(info, p)
	}
	s.count(p, -1)
	s.forget(p)
}

// changed says that what lies on the node has changed.
func (s *Snapshot) changed(n *node) {
	n.sorted = nil
	s.versions++
	n.version = s.versions
}

// countParts counts the parts of pods that few have.
func (s *Snapshot) countParts(p *placement, times int) {
	n, sh := p.node, p.shape
	if p.ending {
		n.ending += times
	}
	if len(sh.ports) > 0 {
		n.withPorts += times
		n.ports = nil
	}
	if sh.withAffinity {
		n.withAffinity += times
		s.index.stale = true
	}
	if len(sh.antiAffinity) > 0 {
		n.withAntiAffinity += times // which is affinity, too
	}
}

// count counts the pod wherever pods like it are counted, or uncounts it.
func (s *Snapshot) count(p *placement, times int) {
	for _, t := range s.groupsOf(p.shape) {
		t.add(p.node, times)
	}
	if len(s.tallies) == 0 {
		return
	}
	if p.labels == nil {
		p.labels = s.labelsOf(p.pod)
	}
	for _, t := range p.labels.tallies {
		if !t.living || !p.ending {
			t.add(p.node, times)
		}
	}
}
