package simulator

import (
	"context"
	"fmt"
	"sync"

	fwk "k8s.io/kube-scheduler/framework"
)

// alone is how many nodes are looked at before others join in: usually one of the first fits, and starting goroutines costs more
// than looking.
const alone = 8

// scan looks for the first node in search order on which a pod fits.
type scan struct {
	attempt *attempt
	order   []*node
	ring    ring
	search  Search

	mu       sync.Mutex    // guards what follows
	next     int           // position to be looked at next
	decided  int           // lowest position where the pod fits or a plug-in broke; the ring's length if there is none yet
	statuses []*fwk.Status // by position; nil: not acceptable, not looked at, or fits
}

func newScan(a *attempt, order []*node, search Search) *scan {
	r := newRing(len(order), search)
	return &scan{attempt: a, order: order, ring: r, search: search, decided: r.length, statuses: make([]*fwk.Status, r.length)}
}

// at is the index of the node at a position of the search.
func (s *scan) at(position int) int { return s.ring.at(position) }

// run returns the index of the first fitting node, -1 if there is none.
func (s *scan) run(ctx context.Context, parallelism int) (index int, err error) {
	s.work(ctx, alone)
	if parallelism > 1 && s.unfinished(ctx) {
		var workers sync.WaitGroup
		for range parallelism {
			workers.Go(func() { s.work(ctx, s.ring.length) })
		}
		workers.Wait()
	} else {
		s.work(ctx, s.ring.length)
	}
	if err := ctx.Err(); err != nil {
		return -1, fmt.Errorf("searching a node for pod %s/%s: %w", s.attempt.pod.Namespace, s.attempt.pod.Name, err)
	}
	if s.decided == s.ring.length {
		return -1, nil
	}
	index = s.at(s.decided)
	if status := s.statuses[s.decided]; status != nil {
		return -1, s.attempt.broken(s.order[index], status)
	}
	return index, nil
}

func (s *scan) unfinished(ctx context.Context) bool {
	return s.next < s.decided && ctx.Err() == nil
}

// work looks at nodes, in search order, until the answer is known, ctx ends or a number of nodes was looked at.
func (s *scan) work(ctx context.Context, limit int) {
	for range limit {
		position := s.claim()
		if position < 0 || ctx.Err() != nil {
			return
		}
		s.settle(position, s.attempt.judge(ctx, s.order[s.at(position)]))
	}
}

// claim hands out the next acceptable position; -1: all that could matter are handed out. Positions are handed out in ascending order, so
// that all below the decided one get looked at.
func (s *scan) claim() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.next < s.decided {
		position := s.next
		s.next++
		node := s.order[s.at(position)].object
		if s.search.Accept != nil && !s.search.Accept(node) {
			continue
		}
		if node.Spec.Unschedulable {
			s.statuses[position] = cordoned()
			continue
		}
		return position
	}
	return -1
}

func (s *scan) settle(position int, status *fwk.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses[position] = status
	if status.IsSuccess() || status.IsError() {
		s.decided = min(s.decided, position)
	}
}

// rejections are those of all acceptable nodes in search order, when none fits.
func (s *scan) rejections() []NodeRejection {
	var rejections []NodeRejection
	for position, status := range s.statuses {
		if status == nil {
			continue
		}
		n := s.order[s.at(position)]
		rejections = append(rejections, NodeRejection{Node: n.object.Name, Rejection: *s.attempt.rejection(n, status)})
	}
	return rejections
}
