package simulator

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Classes sorts pods into classes: pods of one class fit on the same nodes, are in each other's way in the same manner, and may stand for each other
// in every question about this snapshot, whoever owns them. It returns the number of each pod's class; they are numbered from 0 in the order of
// their first pods. Pods that depend on something of their own, such as volumes named after them, are alone in theirs.
func (s *Scheduler) Classes(snap *Snapshot, pods []*corev1.Pod) []int {
	s.ask(snap)
	defer s.answered()
	all := snap.knowAll(pods) // all of them first, so that it is known which labels are read
	numbers, next := make([]int, len(pods)), 0
	of := map[kindKey]int{}
	for i, known := range all {
		if !s.standsForOthers(known) {
			numbers[i] = next
			next++
			continue
		}
		key := kindKey{shape: known.shape}
		if s.framework {
			key.labels = snap.labelsOf(known.pod)
		} else {
			key.labels = snap.kindOf(known).labels
		}
		number, ok := of[key]
		if !ok {
			number = next
			of[key] = number
			next++
		}
		numbers[i] = number
	}
	return numbers
}

// standsForOthers tells a pod of which the kind says everything.
func (s *Scheduler) standsForOthers(known *knownPod) bool {
	switch {
	case known.claims, known.bound, s.spreadsByDefault && !known.spreads:
		return false
	case known.shape.byFramework:
		return !slices.ContainsFunc(known.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil })
	default:
		return true
	}
}

// PlaceAll places pods of one class, one after the other, each as PlaceAnywhere would with its search starting behind the last match, up to the first
// that fits nowhere. It returns where they were placed, in order.
func (s *Scheduler) PlaceAll(ctx context.Context, snap *Snapshot, pods []*corev1.Pod, search Search) ([]Placement, error) {
	if len(pods) == 0 {
		return nil, nil
	}
	search.Quiet = true
	if done, placements, err := s.placeAllByKind(ctx, snap, pods, search); done {
		return placements, err
	}
	var placements []Placement
	for _, pod := range pods {
		placement, _, err := s.PlaceAnywhere(ctx, snap, pod, search)
		if err != nil || placement.Node == "" {
			return placements, err
		}
		placements = append(placements, placement)
		search.StartAfter = placement.Index
	}
	return placements, nil
}

// placeAllByKind is PlaceAll for pods that need not be asked about one by one; done is false if they do.
func (s *Scheduler) placeAllByKind(ctx context.Context, snap *Snapshot, pods []*corev1.Pod, search Search) (done bool, placed []Placement, err error) {
	s.ask(snap)
	defer s.answered()
	q, err := s.query(ctx, snap, snap.know(pods[0]))
	if err != nil || q == nil {
		return err != nil, nil, err
	}
	order := snap.index.order
	r := newRing(len(order), search)
	if r.length == 0 {
		return true, nil, nil
	}
	alive := newAlive(r.length, q.narrowing())
	placed = make([]Placement, 0, len(pods))
	from := r.start
	for _, pod := range pods {
		if err := ctx.Err(); err != nil {
			return true, placed, fmt.Errorf("searching a node for pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		position := -1
		alive.restart(from)
		for at, ok := alive.next(); ok; at, ok = alive.next() {
			n := order[r.from+at]
			fits, err := q.fits(ctx, n)
			if err != nil {
				return true, placed, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", pod.Namespace, pod.Name, n.object.Name, err)
			}
			if fits && !n.object.Spec.Unschedulable && (search.Accept == nil || search.Accept(n.object)) {
				position = at
				break
			}
			alive.drop(at)
		}
		if position < 0 {
			return true, placed, nil
		}
		n := order[r.from+position]
		if err := snap.addTo(n, snap.know(pod)); err != nil {
			return true, placed, err
		}
		placed = append(placed, Placement{Node: n.object.Name, Index: r.from + position})
		from = (position + 1) % r.length
	}
	return true, placed, nil
}

// alive are the positions of a ring that are still worth a look. Where placing only ever takes room away, one that was refused once is never
// looked at again.
type alive struct {
	length int
	// skip leads from a dropped position to one behind it, from any other to itself; nil: none is ever dropped.
	skip []int
	// from is where the present search began, at the next position to look at, wrapped whether it has come to the end of the ring.
	from, at int
	wrapped  bool
}

func newAlive(length int, narrowing bool) *alive {
	a := &alive{length: length}
	if narrowing {
		a.skip = make([]int, length+1)
		for i := range a.skip {
			a.skip[i] = i
		}
	}
	return a
}

func (a *alive) restart(from int) { a.from, a.at, a.wrapped = from, from, false }

// next is the next position of the present search; ok is false if all were looked at.
func (a *alive) next() (position int, ok bool) {
	position = a.find(a.at)
	if position == a.length && !a.wrapped {
		a.wrapped = true
		position = a.find(0)
	}
	if position == a.length || a.wrapped && position >= a.from {
		return 0, false
	}
	a.at = position + 1
	return position, true
}

// find is the first position from at on that was not dropped; the length of the ring if there is none.
func (a *alive) find(at int) int {
	if a.skip == nil {
		return at
	}
	root := at
	for a.skip[root] != root {
		root = a.skip[root]
	}
	for a.skip[at] != root { // shortens the way for the next time
		a.skip[at], at = root, a.skip[at]
	}
	return root
}

// drop says that nothing of this kind will ever fit there.
func (a *alive) drop(at int) {
	if a.skip != nil {
		a.skip[at] = at + 1
	}
}

// Fill places pods of one class on the node, one after the other, up to the first that does not fit. It returns how many were placed and why no
// more; a nil Rejection means that all were. A node that does not exist and a plug-in that breaks are errors.
func (s *Scheduler) Fill(ctx context.Context, snap *Snapshot, pods []*corev1.Pod, nodeName string) (placed int, no *Rejection, err error) {
	n, err := snap.find(nodeName)
	if err != nil {
		return 0, nil, fmt.Errorf("filling a node with pods: %w", err)
	}
	if len(pods) == 0 {
		return 0, nil, nil
	}
	s.ask(snap)
	known := snap.know(pods[0])
	q, err := s.query(ctx, snap, known)
	if err == nil && q != nil {
		defer s.answered()
		for placed < len(pods) {
			fits, err := q.fits(ctx, n)
			if err != nil {
				return placed, nil, fmt.Errorf("asking whether pod %s/%s fits on node %s: %w", known.pod.Namespace, known.pod.Name, nodeName, err)
			}
			if !fits {
				no, err = q.check(ctx, snap.know(pods[placed]), n)
				return placed, no, err
			}
			if err := snap.addTo(n, snap.know(pods[placed])); err != nil {
				return placed, nil, err
			}
			placed++
		}
		return placed, nil, nil
	}
	s.answered()
	for err == nil && no == nil && placed < len(pods) {
		if no, err = s.Place(ctx, snap, pods[placed], nodeName); err == nil && no == nil {
			placed++
		}
	}
	return placed, no, err
}
