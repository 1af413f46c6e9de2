package pendingpods

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// dropFitting places the pods that fit on a node that exists or is on its way, the most important first, after those that the search before did
// not come to. They stay placed.
func dropFitting(ctx context.Context, in In, b batch) (batch, error) {
	s := search{in: in, batch: &b, hints: map[string]string{}, placeless: map[int]bool{}}
	byPriority := make([]waiting, 0, len(b.pods))
	for i, class := range in.Scheduler.Classes(in.Snapshot, b.pods) {
		pod := b.pods[i]
		byPriority = append(byPriority, waiting{
			pod: pod, class: class, priority: podfacts.Priority(pod), due: in.Memory.unreached[podfacts.Key(pod)],
		})
	}
	slices.SortStableFunc(byPriority, waiting.compare)
	for len(byPriority) > 0 {
		n := 1
		for n < len(byPriority) && byPriority[n].compare(byPriority[0]) == 0 {
			n++
		}
		if err := s.equal(ctx, byPriority[:n]); err != nil {
			return b, err
		}
		byPriority = byPriority[n:]
	}
	b.memory.now, b.memory.before = s.hints, in.Memory.now
	if len(b.settled) == 0 {
		return b, nil
	}
	left := make([]*corev1.Pod, 0, len(b.pods))
	for _, pod := range b.pods {
		if _, settled := b.settled[podfacts.Key(pod)]; !settled {
			left = append(left, pod)
		}
	}
	b.pods = left
	return b, nil
}

// search is one pass over the pods. Its pointer dies with it.
type search struct {
	in        In
	batch     *batch
	hints     map[string]string
	last      int // index of the node that was found last
	placeless map[int]bool
}

// waiting is a pod with its class: where one of a class fits nowhere, the others need not be tried.
type waiting struct {
	pod      *corev1.Pod
	class    int
	priority int32
	// due: the search before this one did not come to the pod. It then comes first, whatever its priority, so that none waits for ever.
	due bool
}

// compare orders pods by when their turn is.
func (w waiting) compare(other waiting) int {
	if w.due != other.due {
		if w.due {
			return -1
		}
		return 1
	}
	return cmp.Compare(other.priority, w.priority)
}

// equal looks for room for the pods of one priority: first where they fitted before, then anywhere.
func (s *search) equal(ctx context.Context, pods []waiting) error {
	rest := make([]waiting, 0, len(pods))
	for _, w := range pods {
		placed, err := s.hinted(ctx, w.pod)
		switch {
		case err != nil:
			return err
		case !placed:
			rest = append(rest, w)
		}
	}
	for _, w := range rest {
		if err := s.anywhere(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// hinted tries the node on which the pod fitted before. A node being drained is not tried: its room goes.
func (s *search) hinted(ctx context.Context, pod *corev1.Pod) (placed bool, err error) {
	name, ok := s.in.Memory.hint(pod)
	if !ok || s.batch.draining[name] || s.spent() {
		return false, ctx.Err()
	}
	if _, ok := s.in.Snapshot.Node(name); !ok {
		return false, nil
	}
	rejection, err := s.in.Scheduler.Place(ctx, s.in.Snapshot, pod, name)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil || rejection != nil: // an error will show again in the wider search
		return false, nil
	}
	s.fits(pod, name)
	return true, nil
}

func (s *search) anywhere(ctx context.Context, w waiting) error {
	pod := w.pod
	if s.spent() {
		s.batch.unreached++
		s.batch.memory.reachFirst(pod)
		s.batch.settle(pod, report.PodLeftAlone, report.NotReached{Limit: "--pending-pods-batching-timeout"})
		return nil
	}
	if s.placeless[w.class] {
		return nil
	}
	found, _, err := s.in.Scheduler.PlaceAnywhere(ctx, s.in.Snapshot, pod, simulator.Search{
		StartAfter: s.last, Quiet: true, Accept: func(node *corev1.Node) bool { return !s.batch.draining[node.Name] },
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.batch.errs = append(s.batch.errs, fmt.Errorf("looking for room for pod %s: %w", ref(pod), err))
		s.batch.settle(pod, report.PodLeftAlone, report.UnexpectedError{Error: err.Error()})
	case found.Node != "":
		s.last = found.Index
		s.fits(pod, found.Node)
	default:
		s.placeless[w.class] = true
	}
	return nil
}

func (s *search) spent() bool { return s.in.Budget != nil && s.in.Budget.Spent() }

func (s *search) fits(pod *corev1.Pod, node string) {
	s.hints[podfacts.Key(pod)] = node
	s.batch.settle(pod, report.PodFits, report.Upcoming{Node: node, Group: s.batch.placeholders[node]})
}
