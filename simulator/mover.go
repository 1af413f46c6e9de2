package simulator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/simulator/podfacts"
)

// Mover finds other places for the pods of nodes that leave one after the other. It answers as Place and PlaceAnywhere do, but remembers which nodes
// have no room for which pods until something is taken away from them, so that nodes once filled are not asked again and again. It goes on through forks,
// reverts and commits of its snapshot, and is as unfit for concurrent use. Whether a plug-in is out of action is asked once for all equal pods.
type Mover struct {
	scheduler *Scheduler
	snapshot  *Snapshot
	accept    func(*corev1.Node) bool

	roster   *roster
	accepted bitset // by number of the node
	// rooms are by the parts that pods share, roomsByClass the same by the class of pods; keysVersion is that of the labels that made them.
	rooms        map[partsKey]*room
	roomsByClass map[*podClass]*room
	keysVersion  int
	lastClass    *podClass
	lastRoom     *room
	// leaving is the name of the node that was left out last, except its number.
	leaving string
	except  int
}

// partsKey tells most pods of one kind by the addresses of their parts, which pods from one informer share.
type partsKey struct {
	spec   specKey
	labels uintptr
}

// room is what is known of the room for pods of one kind.
type room struct {
	// pod keeps the addresses by which the room is found from being used again.
	pod *corev1.Pod
	// stripped: what is placed is a copy of the pod.
	stripped bool
	shape    *shape
	query    *query // nil: only the framework can answer
	// groups is how many groups of pods that shun others the query knows.
	groups int
	// open are the acceptable nodes that have not refused for good; what came free up to seen in epoch is among them.
	open        bitset
	epoch, seen int
	// lacks are, by number of the node, what it was found to lack, as far as that depends on nothing but the node.
	lacks []lackAt
}

// lackAt is what a node lacks in one version.
type lackAt struct {
	version uint64
	lack    float64
}

// Mover returns a Mover that puts pods on those nodes only which accept allows, now and as long as they are there; nil: on every node. One Mover
// works on a snapshot at a time. Close it at the end.
func (s *Scheduler) Mover(snap *Snapshot, accept func(*corev1.Node) bool) *Mover {
	return &Mover{scheduler: s, snapshot: snap, accept: accept}
}

// Close lets the snapshot forget the Mover, which must not be used any more.
func (m *Mover) Close() {
	if m.snapshot.roster == m.roster {
		m.snapshot.roster = nil
	}
}

// PlaceOn places the pod on a node, as it is once it has left the node where it runs. It says whether it did: not if that node is the one that leaves, is
// not there or not acceptable, or if the pod does not fit. A plug-in that breaks is an error.
func (m *Mover) PlaceOn(ctx context.Context, who Resident, nodeName, leaving string) (placed bool, err error) {
	m.refresh()
	pod := who.Pod
	n, there := m.snapshot.nodes[nodeName]
	if !there || nodeName == leaving || !m.accepted.has(n.number) {
		return false, nil
	}
	r, err := m.roomFor(ctx, who)
	if err != nil {
		return false, err
	}
	if r.query == nil || claims(who) {
		rejection, err := m.scheduler.Place(ctx, m.snapshot, guest(pod), nodeName)
		return err == nil && rejection == nil, err
	}
	m.scheduler.ask(m.snapshot)
	defer m.scheduler.answered()
	fits, _, err := r.query.answer(ctx, n)
	if err != nil {
		return false, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", pod.Namespace, pod.Name, nodeName, err)
	}
	if !fits {
		return false, nil
	}
	return true, m.put(r, who, n)
}

// Place places the pod, as it is once it has left the node where it runs, on the first acceptable node in search order on which it fits, except the one that
// leaves; startAfter is as in Search. Where it fits nowhere the Placement has no Node, and nearest is the rejection by the acceptable node that lacks
// least, the first of them in search order; nil: no node had to be looked at. A plug-in that breaks is an error, as is the end of ctx.
func (m *Mover) Place(ctx context.Context, who Resident, leaving string, startAfter int) (p Placement, nearest *NodeRejection, err error) {
	m.refresh()
	pod := who.Pod
	r, err := m.roomFor(ctx, who)
	if err != nil {
		return Placement{}, nil, err
	}
	if r.query == nil || claims(who) {
		placement, rejections, err := m.scheduler.PlaceAnywhere(ctx, m.snapshot, guest(pod), Search{
			StartAfter: startAfter,
			Accept: func(to *corev1.Node) bool {
				return to.Name != leaving && m.accepted.has(m.snapshot.nodes[to.Name].number)
			},
		})
		return placement, nearestOf(rejections), err
	}
	m.scheduler.ask(m.snapshot)
	defer m.scheduler.answered()
	if err := ctx.Err(); err != nil {
		return Placement{}, nil, fmt.Errorf("searching a node for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	w := m.walk(leaving, startAfter)
	found, err := m.search(ctx, r, pod, w)
	if err != nil {
		return Placement{}, nil, err
	}
	if found < 0 {
		nearest, err = m.nearest(ctx, r, pod, w)
		return Placement{}, nearest, err
	}
	n := m.roster.nodes[found]
	if err := m.put(r, who, n); err != nil {
		return Placement{}, nil, err
	}
	return Placement{Node: n.object.Name, Index: m.roster.below(found)}, nil, nil
}

// claims tells a pod with resource claims. Those of one class have the same in their specification only, so that their room says it.
func claims(who Resident) bool { return who.Class() == 0 && podfacts.HasResourceClaims(who.Pod) }

// guest is the pod as it comes to another node.
func guest(pod *corev1.Pod) *corev1.Pod {
	moved := *podfacts.WithoutTPURequests(pod)
	moved.Spec.NodeName = ""
	return &moved
}

// refresh starts afresh where nodes have changed in other ways than by leaving, and coming back.
func (m *Mover) refresh() {
	if m.roster == nil || m.snapshot.roster != m.roster || m.roster.stale {
		m.roster = m.snapshot.enroll()
		m.accepted = newBitset(len(m.roster.nodes))
		for i, n := range m.roster.nodes {
			if m.accept == nil || m.accept(n.object) {
				m.accepted.set(i)
			}
		}
		m.rooms, m.leaving, m.except = nil, "", -1
	}
	if m.rooms == nil || m.keysVersion != m.snapshot.podKeys.version {
		m.rooms, m.roomsByClass, m.lastClass = map[partsKey]*room{}, map[*podClass]*room{}, nil
		m.keysVersion = m.snapshot.podKeys.version
	}
}

// roomFor is the room for the pod, up to date.
func (m *Mover) roomFor(ctx context.Context, who Resident) (*room, error) {
	r, err := m.find(ctx, who)
	if err != nil {
		return nil, err
	}
	if r.query == nil {
		return r, nil
	}
	if s := m.snapshot; r.query.near && r.groups != len(s.groups) {
		if err := r.query.kind.nearness.refresh(s, r.query.kind, m.scheduler.namespaces); err != nil {
			return nil, fmt.Errorf("looking up the namespaces that a selector means: %w", err)
		}
		r.groups = len(s.groups)
	}
	m.reopen(r)
	return r, nil
}

// find is the room for the pod as it was when it was last looked at.
func (m *Mover) find(ctx context.Context, who Resident) (r *room, err error) {
	if who.Class() == 0 {
		return m.lookUp(ctx, who.Pod)
	}
	class := who.placement.class
	if class == m.lastClass {
		return m.lastRoom, nil
	}
	r, known := m.roomsByClass[class]
	if !known {
		if r, err = m.lookUp(ctx, who.Pod); err != nil {
			return nil, err
		}
		m.roomsByClass[class] = r
	}
	m.lastClass, m.lastRoom = class, r
	return r, nil
}

func (m *Mover) lookUp(ctx context.Context, pod *corev1.Pod) (*room, error) {
	key := partsKey{spec: keyOf(pod), labels: address(pod.Labels)}
	if r, known := m.rooms[key]; known {
		return r, nil
	}
	m.scheduler.ask(m.snapshot)
	defer m.scheduler.answered()
	r := &room{pod: pod, epoch: -1}
	moved := podfacts.WithoutTPURequests(pod)
	r.stripped = moved != pod
	r.shape = m.snapshot.shapeOf(moved)
	known := &knownPod{pod: moved, shape: r.shape, spreads: len(pod.Spec.TopologySpreadConstraints) > 0}
	query, err := m.scheduler.query(ctx, m.snapshot, known)
	if err != nil {
		return nil, fmt.Errorf("searching a node for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	r.query, r.groups = query, len(m.snapshot.groups)
	if query != nil {
		r.open = newBitset(len(m.roster.nodes))
	}
	m.rooms[key] = r
	return r, nil
}

// reopen takes note of what came free.
func (m *Mover) reopen(r *room) {
	to := m.roster
	if r.epoch != to.epoch {
		copy(r.open, m.accepted)
	} else {
		for _, number := range to.freed[r.seen:] {
			if m.accepted.has(number) {
				r.open.set(number)
			}
		}
	}
	r.epoch, r.seen, to.heard = to.epoch, len(to.freed), len(to.freed)
}

// put places the pod on the node.
func (m *Mover) put(r *room, who Resident, n *node) error {
	p := m.snapshot.spare()
	if at := who.placement; at != nil && !r.stripped {
		*p = placement{pod: at.pod, where: at.where, shape: at.shape, class: at.class, held: at.held, labels: at.labels, node: n, ending: at.ending}
		return m.snapshot.try(p)
	}
	pod := who.Pod
	if r.stripped {
		pod = guest(pod)
	}
	*p = placement{
		pod: pod, where: m.snapshot.whereaboutsOf(podfacts.Key(pod)), shape: r.shape, held: &r.shape.held, node: n, ending: pod.DeletionTimestamp != nil,
	}
	if held, ok := heldByStatus(pod); ok {
		p.held = &held
	}
	return m.snapshot.try(p)
}

// walk is the way over the nodes' numbers: from start to the end and from the beginning up to it, leaving one out.
type walk struct{ start, except int }

func (m *Mover) walk(leaving string, startAfter int) walk {
	if m.leaving != leaving {
		m.leaving, m.except = leaving, -1
		if n, there := m.snapshot.nodes[leaving]; there {
			m.except = n.number
		}
	}
	w := walk{except: m.except}
	if count := m.snapshot.index.len(); count > 0 {
		w.start = m.roster.at(((startAfter+1)%count + count) % count)
	}
	return w
}

// over calls visit with each node of the set that is there, until it says stop or fails.
func (m *Mover) over(set bitset, w walk, visit func(number int, n *node) (stop bool, err error)) error {
	for _, span := range [...]struct{ from, to int }{{w.start, len(m.roster.nodes)}, {0, w.start}} {
		for i := nextOfBoth(set, m.roster.present, span.from, span.to); i >= 0; i = nextOfBoth(set, m.roster.present, i+1, span.to) {
			if i == w.except {
				continue
			}
			if stop, err := visit(i, m.roster.nodes[i]); stop || err != nil {
				return err
			}
		}
	}
	return nil
}

// search is the number of the first node on which the pod fits; -1: there is none.
func (m *Mover) search(ctx context.Context, r *room, pod *corev1.Pod, w walk) (found int, err error) {
	found = -1
	err = m.over(r.open, w, func(number int, n *node) (stop bool, err error) {
		fits, forGood, err := r.query.answer(ctx, n)
		switch {
		case err != nil:
			return true, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", pod.Namespace, pod.Name, n.object.Name, err)
		case fits && !n.object.Spec.Unschedulable:
			found = number
		case fits || forGood:
			r.open.clear(number)
		}
		return found >= 0, nil
	})
	return found, err
}

// nearest is the rejection by the node that lacks least, when none fits.
func (m *Mover) nearest(ctx context.Context, r *room, pod *corev1.Pod, w walk) (*NodeRejection, error) {
	var nearest *node
	least := 0.0
	failed := func(n *node, err error) error {
		return fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", pod.Namespace, pod.Name, n.object.Name, err)
	}
	if r.lacks == nil {
		r.lacks = make([]lackAt, len(m.roster.nodes))
	}
	err := m.over(m.accepted, w, func(number int, n *node) (stop bool, err error) {
		lack, known := r.lacks[number].lack, r.lacks[number].version == n.version
		if !known {
			own := false
			if lack, own, err = r.query.lack(ctx, n); err != nil {
				return true, failed(n, err)
			}
			if own {
				r.lacks[number] = lackAt{version: n.version, lack: lack}
			}
		}
		if nearest == nil || lack < least {
			nearest, least = n, lack
		}
		return false, nil
	})
	if err != nil || nearest == nil {
		return nil, err
	}
	status := cordoned()
	if !nearest.object.Spec.Unschedulable {
		if status, err = r.query.refusal(ctx, nearest); err != nil {
			return nil, failed(nearest, err)
		}
	}
	rejection := rejectionBy(&knownPod{pod: pod, shape: r.shape}, nearest, status, nil)
	return &NodeRejection{Node: nearest.object.Name, Rejection: *rejection}, nil
}
