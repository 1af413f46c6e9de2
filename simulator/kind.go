package simulator

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// kind is what pods have in common that fit on the same nodes and get in each other's way in the same manner: their shape, and those of their labels that
// somebody reads.
type kind struct {
	shape  *shape
	labels *labelSet

	evenness evenness
	// evenAt is the round in which evenness was worked out.
	evenAt   int
	nearness nearness
}

type kindKey struct {
	shape  *shape
	labels *labelSet
}

// kindOf is the pod's kind as of now; it changes when more labels come to be read.
func (s *Snapshot) kindOf(known *knownPod) *kind {
	if known.kind != nil && known.kindVersion == s.podKeys.version {
		return known.kind
	}
	key := kindKey{shape: known.shape, labels: s.readLabelsOf(known.pod)}
	k, ok := s.kinds[key]
	if !ok {
		k = &kind{shape: key.shape, labels: key.labels, evenAt: -1}
		s.kinds[key] = k
	}
	known.kind, known.kindVersion = k, s.podKeys.version
	return k
}

// nameOf is a name for a shape that no other one has.
func (s *Snapshot) nameOf(sh *shape) string {
	number, ok := s.shapeNumbers[sh]
	if !ok {
		number = len(s.shapeNumbers)
		s.shapeNumbers[sh] = number
	}
	return strconv.Itoa(number)
}

// memo is what one Scheduler has found out about one snapshot's classes.
type memo struct {
	verdicts map[verdictKey]*verdict
	states   map[*shape]*fixedState
	// keysVersion is that of the classes of nodes which the verdicts are about.
	keysVersion int
}

type verdictKey struct {
	shape *shape
	class *nodeClass
}

// verdict is what the plug-ins say that look at nothing but a class of nodes. refusals are by position among the scheduler's rules; nil: all agree.
type verdict struct{ refusals []*fwk.Status }

// fixedState is what those plug-ins worked out about a shape.
type fixedState struct {
	state fwk.CycleState
	// skip are the rules that have no say; trouble is set where the framework has to be asked.
	skip    []bool
	trouble bool
}

// memoOf is what the scheduler knows about the snapshot.
func (s *Snapshot) memoOf(scheduler *Scheduler) *memo {
	m, ok := s.memos[scheduler]
	if !ok {
		m = &memo{verdicts: map[verdictKey]*verdict{}, states: map[*shape]*fixedState{}}
		s.memos[scheduler] = m
		for _, key := range scheduler.addedKeys {
			s.nodeKeys.add(key)
		}
	}
	if m.keysVersion != s.nodeKeys.version { // classes of before are never seen again
		m.verdicts, m.keysVersion = map[verdictKey]*verdict{}, s.nodeKeys.version
	}
	return m
}

// stateOf asks the plug-ins that look at nodes only for what they want to know of the pod first.
func (m *memo) stateOf(ctx context.Context, s *Scheduler, sh *shape) *fixedState {
	if known, ok := m.states[sh]; ok {
		return known
	}
	out := &fixedState{state: framework.NewCycleState(), skip: make([]bool, len(s.rules))}
	pod := unplaced(sh.pod)
	for i, r := range s.rules {
		if r.fixed == nil {
			continue
		}
		preFilter, ok := r.fixed.(fwk.PreFilterPlugin)
		if !ok {
			continue
		}
		result, status := preFilter.PreFilter(ctx, out.state, pod, nil)
		switch {
		case status.IsSkip():
			out.skip[i] = true
		case !status.IsSuccess() || !result.AllNodes():
			out.trouble = true
		}
	}
	m.states[sh] = out
	return out
}

// unplaced is the pod as it is before it has a node.
func unplaced(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	out := *pod
	out.Spec.NodeName = ""
	return &out
}

func (m *memo) verdictOf(ctx context.Context, s *Scheduler, sh *shape, class *nodeClass) (*verdict, error) {
	key := verdictKey{shape: sh, class: class}
	if known, ok := m.verdicts[key]; ok {
		return known, nil
	}
	fixed := m.stateOf(ctx, s, sh)
	out := &verdict{}
	pod := unplaced(sh.pod)
	for i, r := range s.rules {
		if r.fixed == nil || fixed.skip[i] {
			continue
		}
		filter, ok := r.fixed.(fwk.FilterPlugin)
		if !ok {
			continue
		}
		status := filter.Filter(ctx, fixed.state, pod, class.bare)
		if status.IsSuccess() {
			continue
		}
		if !status.IsRejected() {
			return nil, fmt.Errorf("running %q filter plugin: %w", r.name, status.AsError())
		}
		if out.refusals == nil {
			out.refusals = make([]*fwk.Status, len(s.rules))
		}
		out.refusals[i] = status.WithPlugin(r.name)
	}
	m.verdicts[key] = out
	return out, nil
}
