package simulator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
)

// Search says where PlaceAnywhere looks.
type Search struct {
	// StartAfter is the index of the last match: the search starts at the node behind it and wraps around. A new
	// search starts with 0, hence at index 1; -1 starts at index 0.
	StartAfter int
	// From is the index of the first node that may be taken; those before it are neither looked at nor reported. 0: all nodes.
	From int
	// Accept says whether a node may be taken at all; nil: every node. Nodes that it refuses are not reported. It is never called for
	// two nodes at once, and may be called for some nodes only.
	Accept func(*corev1.Node) bool
	// Quiet: nobody wants to know why the pod does not fit, so that no rejections are returned.
	Quiet bool
}

// Placement is where a pod was placed.
type Placement struct {
	Node  string // empty: nowhere
	Index int    // of the node in canonical order; what the next search takes as StartAfter
}

// PlaceAnywhere places the pod on the first node in search order on which it fits: nodes in canonical order, from the one behind
// StartAfter and around; cordoned nodes are never taken, even by pods that tolerate that. Where it fits nowhere the Placement has no Node, and the
// rejections say why, one per acceptable node in search order, or a single one without node name if no node had to be looked at. A plug-in
// that breaks on a node before a fitting one is found is an error, as is the end of ctx.
func (s *Scheduler) PlaceAnywhere(ctx context.Context, snap *Snapshot, pod *corev1.Pod, search Search) (Placement, []NodeRejection, error) {
	s.ask(snap)
	defer s.answered()
	known := snap.know(pod)
	q, err := s.query(ctx, snap, known)
	if err != nil {
		return Placement{}, nil, fmt.Errorf("searching a node for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	var found int
	var rejections []NodeRejection
	if q != nil {
		found, rejections, err = q.search(ctx, known, search)
	} else {
		found, rejections, err = s.search(ctx, known, search)
	}
	if err != nil || found < 0 {
		return Placement{}, rejections, err
	}
	placement := Placement{Node: snap.index.order[found].object.Name, Index: found}
	if err := snap.AddPod(pod, placement.Node); err != nil {
		return Placement{}, nil, err
	}
	return placement, nil, nil
}

// search asks the framework. It returns the index of the node, -1 if there is none.
func (s *Scheduler) search(ctx context.Context, known *knownPod, search Search) (int, []NodeRejection, error) {
	a, rejection, err := s.begin(ctx, known)
	if err != nil {
		return -1, nil, err
	}
	if rejection != nil {
		return -1, []NodeRejection{{Rejection: *rejection}}, nil
	}
	sc := newScan(a, s.question.snapshot.index.order, search)
	found, err := sc.run(ctx, s.parallelism)
	if err != nil || found >= 0 || search.Quiet {
		return found, nil, err
	}
	return -1, sc.rejections(), nil
}

// search looks for the first node that fits by what is known of classes. It returns the index of the node, -1 if there is none.
func (q *query) search(ctx context.Context, known *knownPod, search Search) (int, []NodeRejection, error) {
	if err := ctx.Err(); err != nil {
		return -1, nil, fmt.Errorf("searching a node for pod %s/%s: %w", known.pod.Namespace, known.pod.Name, err)
	}
	order := q.snapshot.index.order
	r := newRing(len(order), search)
	for i := range r.length {
		n := order[r.at(i)]
		fits, err := q.fits(ctx, n)
		if err != nil {
			if search.Accept != nil && !search.Accept(n.object) {
				continue
			}
			return -1, nil, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", known.pod.Namespace, known.pod.Name, n.object.Name, err)
		}
		if fits && !n.object.Spec.Unschedulable && (search.Accept == nil || search.Accept(n.object)) {
			return r.at(i), nil, nil
		}
	}
	if search.Quiet {
		return -1, nil, nil
	}
	rejections, err := q.rejections(ctx, known, search, r)
	return -1, rejections, err
}

// rejections are those of all acceptable nodes in search order, when none fits.
func (q *query) rejections(ctx context.Context, known *knownPod, search Search, r ring) ([]NodeRejection, error) {
	var rejections []NodeRejection
	for i := range r.length {
		n := q.snapshot.index.order[r.at(i)]
		if search.Accept != nil && !search.Accept(n.object) {
			continue
		}
		status, err := q.refusal(ctx, n)
		if err != nil {
			return nil, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", known.pod.Namespace, known.pod.Name, n.object.Name, err)
		}
		if n.object.Spec.Unschedulable {
			status = cordoned()
		}
		rejections = append(rejections, NodeRejection{Node: n.object.Name, Rejection: *rejectionBy(known, n, status, nil)})
	}
	return rejections, nil
}

// cordoned is why a cordoned node is not taken.
func cordoned() *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, nodeunschedulable.ErrReasonUnschedulable).WithPlugin(names.NodeUnschedulable)
}

// ring is the order in which a search goes over the nodes.
type ring struct{ from, start, length int }

func newRing(nodes int, search Search) ring {
	from := min(max(search.From, 0), nodes)
	r := ring{from: from, length: nodes - from}
	if r.length == 0 {
		return r
	}
	start := ((search.StartAfter+1)%nodes + nodes) % nodes
	r.start = max(start, from) - from
	return r
}

// at is the index of the node at a position of the search.
func (r ring) at(position int) int { return r.from + (r.start+position)%r.length }
