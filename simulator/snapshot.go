package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Snapshot is an in-memory cluster on which placements are tried: a base that equals the real cluster as last synced, and
// on it what was injected, placed and removed since.
//
// Objects are shared with whoever handed them in and are never changed. Not safe for concurrent use.
type Snapshot struct {
	nodes map[string]*node
	index nodeIndex
	// places holds for each pod, by podfacts.Key, where it lies: a chain, since a pod may lie on several nodes.
	places map[string]*whereabouts
	// numbers is how many pods were numbered, freeNumbers those that no pod has any more; idle are pods that may lie nowhere any more.
	numbers     int32
	freeNumbers []int32
	idle        []*whereabouts
	// spares are placements to be used.
	spares []placement
	// claims counts the pods that mount each PersistentVolumeClaim, by "namespace/name".
	claims map[string]int
	// waiting holds the pods of the cluster whose node is not there, by the name of the node and by their key; waitsFor is the node of each.
	waiting  map[string]map[string]*corev1.Pod
	waitsFor map[string]string
	// csiWaiting holds the CSINodes whose node is not there.
	csiWaiting map[string]*storagev1.CSINode
	// injected numbers the nodes that were injected; turn numbers the placements, versions the changes of nodes, round the iterations.
	injected, turn, versions uint64
	round                    int
	// log holds what was changed since the first open fork, forks the length of the log at each.
	log   []change
	forks []int

	// What follows is kept so that equal things are looked at once. All of it follows from the above.

	// slots is how many there are, free those that no node has.
	slots int
	free  []int

	shapes          map[string]*shape
	byAddress       map[specKey]remembered
	shapeNumbers    map[*shape]int
	podClasses      map[podClassKey]*podClass
	podClassCount   int
	alone           podClass // with number 0
	labelSets       map[string]*labelSet
	labelsByAddress map[labelsKey]rememberedLabels
	podKeys         keySet // labels of pods that some selector reads
	known           map[*corev1.Pod]*knownPod
	// expected are the pods of the cluster that wait for a place, with what is known of each; nil: to be found out again.
	expected map[*corev1.Pod]*knownPod
	kinds    map[kindKey]*kind
	memos    map[*Scheduler]*memo

	nodeKeys        keySet // labels of nodes that some selector reads
	nodeKeysSorted  []string
	nodeKeysVersion int
	nodeClasses     map[string]*nodeClass

	tallies       []*tally
	talliesByName map[string]*tally
	groups        []heldTerm
	groupsByName  map[string]*tally
	// byNamespace: some of the groups select namespaces by their labels.
	byNamespace bool
	// looked: the framework has looked at nodes in this round.
	looked bool
	// slack is how much may be remembered beyond what there is.
	slack int
	// roster numbers the nodes for whoever asked for it; nil: nobody did.
	roster *roster
}

// Cluster is what a snapshot's base is made to equal.
type Cluster struct {
	Nodes    []*corev1.Node       // in any order; names are unique
	Pods     []*corev1.Pod        // in any order; those without a node are strays
	CSINodes []*storagev1.CSINode // in any order; those without a node are ignored
}

// NodeTemplate is a node as it is before pods are placed on it.
type NodeTemplate struct {
	Node *corev1.Node
	// CSINode holds the node's volume limits; nil: none are known.
	CSINode *storagev1.CSINode
	// Pods are there from the start.
	Pods []*corev1.Pod
}

// NewSnapshot returns a snapshot of an empty cluster.
func NewSnapshot() *Snapshot {
	const slack = 10_000
	s := &Snapshot{slack: slack}
	s.clear()
	return s
}

// clear makes the snapshot that of an empty cluster. Versions go on, so that no two states of a node share one, and pods go on being expected.
func (s *Snapshot) clear() {
	expected := make(map[*corev1.Pod]*knownPod, len(s.expected))
	for pod := range s.expected {
		expected[pod] = nil
	}
	*s = Snapshot{
		expected: expected,
		versions: s.versions, turn: s.turn, round: s.round, slack: s.slack,
		nodes: map[string]*node{}, places: map[string]*whereabouts{}, claims: map[string]int{},
		waiting: map[string]map[string]*corev1.Pod{}, waitsFor: map[string]string{}, csiWaiting: map[string]*storagev1.CSINode{},
		shapes: map[string]*shape{}, byAddress: map[specKey]remembered{}, shapeNumbers: map[*shape]int{},
		podClasses: map[podClassKey]*podClass{},
		labelSets:  map[string]*labelSet{}, labelsByAddress: map[labelsKey]rememberedLabels{},
		known: map[*corev1.Pod]*knownPod{}, kinds: map[kindKey]*kind{}, memos: map[*Scheduler]*memo{},
		nodeClasses: map[string]*nodeClass{}, talliesByName: map[string]*tally{}, groupsByName: map[string]*tally{},
	}
}

// change is one entry of the undo log: exactly one of its three parts is used.
type change struct {
	placed  *placement // was placed
	removed *placement // was removed
	// before is what stood under name; nil: nothing did.
	name   string
	before *node
	// version is that of the placement's node before.
	version uint64
}

// AddNode injects a node behind all others, with its pods. It is an error, and nothing is added, if the name is taken or a pod
// is listed twice.
func (s *Snapshot) AddNode(template NodeTemplate) error {
	name := template.Node.Name
	if _, taken := s.nodes[name]; taken {
		return fmt.Errorf("adding node %s to the snapshot: there is one of this name", name)
	}
	s.injected++
	n := newNode(template.Node, template.CSINode, s.injected)
	for _, pod := range template.Pods { // before the node counts, so that undoing it undoes them at once
		key := podfacts.Key(pod)
		if slices.ContainsFunc(n.placements, func(p *placement) bool { return p.where.key == key }) {
			return fmt.Errorf("adding node %s with its pods: pod %s/%s is listed twice", name, pod.Namespace, pod.Name)
		}
		s.attach(s.newPlacement(pod, key, n))
	}
	s.changed(n)
	s.setNode(name, n)
	return nil
}

// RemoveNode takes the node away, with its pods. It is an error if there is none.
func (s *Snapshot) RemoveNode(name string) error {
	if _, err := s.find(name); err != nil {
		return fmt.Errorf("removing a node: %w", err)
	}
	s.setNode(name, nil)
	return nil
}

// ReplaceNode puts node in the place of the one with the same name. Position and CSINode stay, all pods go.
func (s *Snapshot) ReplaceNode(replacement *corev1.Node) error {
	old, err := s.find(replacement.Name)
	if err != nil {
		return fmt.Errorf("replacing a node: %w", err)
	}
	n := newNode(replacement, old.csi, old.injected)
	s.changed(n)
	s.setNode(replacement.Name, n)
	return nil
}

// AddPod places the pod on the node, whatever spec.nodeName says and whether it fits or not. It is an error if the node does not
// exist or holds the pod already (by UID, or by namespace and name if it has none). The same pod may lie on several nodes, as
// when a copy of a pod on a node being drained is placed elsewhere.
func (s *Snapshot) AddPod(pod *corev1.Pod, nodeName string) error {
	n, err := s.find(nodeName)
	if err != nil {
		return fmt.Errorf("placing pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return s.addTo(n, s.know(pod))
}

// addTo is AddPod.
func (s *Snapshot) addTo(n *node, known *knownPod) error {
	p := s.spare()
	*p = placement{pod: known.pod, where: s.whereaboutsOf(known.key), shape: known.shape, held: known.held, node: n, ending: known.ending}
	return s.try(p)
}

// try places p for a trial, unless the pod lies on that node already.
func (s *Snapshot) try(p *placement) error {
	n := p.node
	if p.where.first.on(n) != nil {
		return fmt.Errorf("placing pod %s/%s: node %s holds it already", p.pod.Namespace, p.pod.Name, n.object.Name)
	}
	s.turn++
	p.turn = s.turn
	s.record(change{placed: p, version: n.version})
	s.place(p)
	return nil
}

// RemovePod takes the pod off the node. It is an error if it isn't there.
func (s *Snapshot) RemovePod(pod *corev1.Pod, nodeName string) error {
	n, err := s.find(nodeName)
	if err != nil {
		return fmt.Errorf("removing pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	p := s.placementOn(n, podfacts.Key(pod))
	if p == nil {
		return fmt.Errorf("removing pod %s/%s: it is not on node %s", pod.Namespace, pod.Name, nodeName)
	}
	s.record(change{removed: p, version: n.version})
	s.remove(p)
	return nil
}

// Fork marks the present state, so that Revert can return to it. Forks nest. Its cost does not depend on the cluster's size.
func (s *Snapshot) Fork() { s.forks = append(s.forks, len(s.log)) }

// Revert returns to the state of the last Fork that is still open and closes it; it costs as much as what was changed since.
// It is an error if none is open.
func (s *Snapshot) Revert() error {
	start, err := s.closeFork()
	if err != nil {
		return fmt.Errorf("reverting the snapshot: %w", err)
	}
	for i := len(s.log) - 1; i >= start; i-- {
		switch c := s.log[i]; {
		case c.placed != nil:
			s.remove(c.placed)
			c.placed.node.version = c.version
		case c.removed != nil:
			s.place(c.removed)
			c.removed.node.version = c.version
		default:
			s.swap(c.name, c.before)
		}
	}
	clear(s.log[start:]) // lets go of what it holds
	s.log = s.log[:start]
	if len(s.forks) == 0 {
		s.tidy()
	}
	return nil
}

// Commit closes the last Fork that is still open and keeps what was changed since; an outer fork can still revert it. It is an
// error if none is open.
func (s *Snapshot) Commit() error {
	if _, err := s.closeFork(); err != nil {
		return fmt.Errorf("committing the snapshot: %w", err)
	}
	if len(s.forks) == 0 {
		clear(s.log)
		s.log = s.log[:0]
		s.tidy()
	}
	return nil
}

// Depth is the number of open forks.
func (s *Snapshot) Depth() int { return len(s.forks) }

// Nodes lists all nodes in canonical order: those of the cluster by ascending name, then injected ones as they came. The
// index in this list is the one that Search and Placement speak of. The slice is a new one.
func (s *Snapshot) Nodes() []*corev1.Node {
	nodes := make([]*corev1.Node, 0, s.index.len())
	for _, n := range s.index.order {
		nodes = append(nodes, n.object)
	}
	return nodes
}

// Len is the number of nodes.
func (s *Snapshot) Len() int { return s.index.len() }

// Node returns the node of this name.
func (s *Snapshot) Node(name string) (found *corev1.Node, ok bool) {
	n, ok := s.nodes[name]
	if !ok {
		return nil, false
	}
	return n.object, true
}

// Version is a number that changes with the node: as long as it is the same, so are the node object, its CSINode and the pods on it. What is undone
// has the version it had before. 0: no such node.
func (s *Snapshot) Version(nodeName string) uint64 {
	if n, ok := s.nodes[nodeName]; ok {
		return n.version
	}
	return 0
}

// Taken is how much of one resource the pods on the node take, in the units of Requested; 0: nothing, or there is no such node.
func (s *Snapshot) Taken(nodeName string, resource corev1.ResourceName) int64 {
	n, ok := s.nodes[nodeName]
	if !ok {
		return 0
	}
	switch resource {
	case corev1.ResourceCPU:
		return n.taken.cpu
	case corev1.ResourceMemory:
		return n.taken.memory
	case corev1.ResourceEphemeralStorage:
		return n.taken.storage
	case corev1.ResourcePods:
		return int64(len(n.placements))
	default:
		return n.taken.of(resource)
	}
}

// CSINode returns the node's volume limits; nil: none are known or there is no such node.
func (s *Snapshot) CSINode(name string) *storagev1.CSINode {
	if n, ok := s.nodes[name]; ok {
		return n.csi
	}
	return nil
}

// Pods lists the pods on the node by ascending namespace and name. The slice is shared and must not be changed; it is valid until
// the snapshot changes. An unknown node has none.
func (s *Snapshot) Pods(nodeName string) []*corev1.Pod {
	if n, ok := s.nodes[nodeName]; ok {
		return n.sortedPods()
	}
	return nil
}

// HasEndingPods tells a node with pods that are being deleted.
func (s *Snapshot) HasEndingPods(nodeName string) bool {
	n, ok := s.nodes[nodeName]
	return ok && n.ending > 0
}

// AnyPod tells whether a test is true of one of the pods on the node. They are tried in any order, until one is found.
func (s *Snapshot) AnyPod(nodeName string, test func(*corev1.Pod) bool) bool {
	n, ok := s.nodes[nodeName]
	return ok && slices.ContainsFunc(n.placements, func(p *placement) bool { return test(p.pod) })
}

// NodeOfPod says where the pod lies; where it lies on several nodes, the one it was put on last. ok is false if it is nowhere.
func (s *Snapshot) NodeOfPod(pod *corev1.Pod) (nodeName string, ok bool) {
	var last *placement
	for p := s.at(podfacts.Key(pod)); p != nil; p = p.next {
		if last == nil || p.turn > last.turn {
			last = p
		}
	}
	if last == nil {
		return "", false
	}
	return last.node.object.Name, true
}

// Requested is what the pods on the node ask for, as the scheduler counts it: cpu in milli, all others in units, "pods" is
// their number. Resources that nobody asks for are missing. nil: no such node.
func (s *Snapshot) Requested(nodeName string) Resources {
	n, ok := s.nodes[nodeName]
	if !ok {
		return nil
	}
	requested := n.taken.resources()
	if count := len(n.placements); count > 0 {
		requested[corev1.ResourcePods] = int64(count)
	}
	for name, amount := range requested {
		if amount == 0 {
			delete(requested, name)
		}
	}
	return requested
}

// Free is what the node has allocatable less what is requested, in the units of Requested, for each resource that the node has
// allocatable. It may be negative. nil: no such node.
func (s *Snapshot) Free(nodeName string) Resources {
	n, ok := s.nodes[nodeName]
	if !ok {
		return nil
	}
	free, allocatable, requested := Resources{}, n.offered.resources(), s.Requested(nodeName)
	allocatable[corev1.ResourcePods] = int64(n.allowedPods)
	for name := range n.object.Status.Allocatable {
		if amount, counted := allocatable[name]; counted {
			free[name] = amount - requested[name]
		}
	}
	return free
}

// errNoFork says that Revert or Commit was called more often than Fork.
var errNoFork = errors.New("no fork is open")

func (s *Snapshot) closeFork() (start int, err error) {
	if len(s.forks) == 0 {
		return 0, errNoFork
	}
	last := len(s.forks) - 1
	start = s.forks[last]
	s.forks = s.forks[:last]
	return start, nil
}

func (s *Snapshot) record(c change) {
	if len(s.forks) > 0 {
		s.log = append(s.log, c)
	}
}

func (s *Snapshot) find(name string) (*node, error) {
	n, ok := s.nodes[name]
	if !ok {
		return nil, fmt.Errorf("the snapshot has no node %q", name)
	}
	return n, nil
}

// setNode puts n under the name, nil to remove what is there, and records it.
func (s *Snapshot) setNode(name string, n *node) {
	s.record(change{name: name, before: s.nodes[name]})
	s.swap(name, n)
}

// swap puts n, with the pods on it, under the name in place of what is there.
func (s *Snapshot) swap(name string, n *node) {
	old := s.nodes[name]
	if old != nil {
		s.leave(old)
	}
	s.index.swap(old, n)
	if s.roster != nil && (old != nil || n != nil) {
		s.roster.swap(old, n)
	}
	if n == nil {
		delete(s.nodes, name)
		return
	}
	s.nodes[name] = n
	s.enter(n)
}

// enter makes the node and the pods on it count.
func (s *Snapshot) enter(n *node) {
	if last := len(s.free) - 1; last >= 0 {
		n.slot, s.free = s.free[last], s.free[:last]
	} else {
		n.slot = s.slots
		s.slots++
	}
	for _, t := range s.tallies {
		t.enter(n)
	}
	for i := range s.groups {
		s.groups[i].tally.enter(n)
	}
	for _, p := range n.placements {
		s.count(p, 1)
		s.remember(p)
	}
}

// leave is the inverse of enter.
func (s *Snapshot) leave(n *node) {
	for _, p := range n.placements {
		s.count(p, -1)
		s.forget(p)
	}
	for _, t := range s.tallies {
		t.leave(n)
	}
	for i := range s.groups {
		s.groups[i].tally.leave(n)
	}
	s.free = append(s.free, n.slot)
}

// Resources are amounts by resource name: cpu in milli-CPU, memory and ephemeral-storage in bytes, everything else in units.
type Resources map[corev1.ResourceName]int64

func comparePods(a, b *corev1.Pod) int {
	if order := strings.Compare(a.Namespace, b.Namespace); order != 0 {
		return order
	}
	if order := strings.Compare(a.Name, b.Name); order != 0 {
		return order
	}
	return strings.Compare(string(a.UID), string(b.UID))
}
