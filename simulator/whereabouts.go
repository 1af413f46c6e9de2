package simulator

import "k8s.io/kubernetes/pkg/scheduler/framework"

// whereabouts is where one pod lies, whichever objects stand for it.
type whereabouts struct {
	key string // by podfacts.Key
	// first is one of the places; nil: there is none.
	first *placement
	// number is a small one that no other pod of the snapshot has, as long as this is listed.
	number int32
	listed bool
	// idle: to be forgotten when all forks are closed, unless the pod has come to lie somewhere by then.
	idle bool
}

// at is the pod's first place; nil: it lies nowhere.
func (s *Snapshot) at(key string) *placement {
	if w := s.places[key]; w != nil {
		return w.first
	}
	return nil
}

// whereaboutsOf are those of the pod with the key; listed only if it lies somewhere, or did while a fork was open.
func (s *Snapshot) whereaboutsOf(key string) *whereabouts {
	if w := s.places[key]; w != nil {
		return w
	}
	return &whereabouts{key: key}
}

// list is the whereabouts under which places of the pod are found.
func (s *Snapshot) list(w *whereabouts) *whereabouts {
	if known := s.places[w.key]; known != nil {
		return known
	}
	if last := len(s.freeNumbers) - 1; last >= 0 {
		w.number, s.freeNumbers = s.freeNumbers[last], s.freeNumbers[:last]
	} else {
		w.number = s.numbers
		s.numbers++
	}
	w.listed = true
	s.places[w.key] = w
	return w
}

func (s *Snapshot) unlist(w *whereabouts) {
	w.listed = false
	delete(s.places, w.key)
	s.freeNumbers = append(s.freeNumbers, w.number)
}

// tidy forgets the pods that lie nowhere any more. No fork is open.
func (s *Snapshot) tidy() {
	for _, w := range s.idle {
		w.idle = false
		if w.first == nil {
			s.unlist(w)
		}
	}
	clear(s.idle)
	s.idle = s.idle[:0]
}

// remember enters p into what is kept for the whole cluster.
func (s *Snapshot) remember(p *placement) {
	if !p.where.listed {
		p.where = s.list(p.where)
	}
	p.next = p.where.first
	p.where.first = p
	if !p.shape.claims {
		return
	}
	for key := range framework.PodPVCKeys(p.pod) {
		s.claims[key]++
	}
}

// forget is the inverse of remember.
func (s *Snapshot) forget(p *placement) {
	w := p.where
	if w.first == p {
		w.first = p.next
	} else {
		for other := w.first; other != nil; other = other.next {
			if other.next == p {
				other.next = p.next
				break
			}
		}
	}
	p.next = nil
	switch {
	case w.first != nil || w.idle:
	case len(s.forks) == 0:
		s.unlist(w)
	default: // it often lies somewhere else soon
		w.idle = true
		s.idle = append(s.idle, w)
	}
	if !p.shape.claims {
		return
	}
	for key := range framework.PodPVCKeys(p.pod) {
		if s.claims[key]--; s.claims[key] == 0 {
			delete(s.claims, key)
		}
	}
}
