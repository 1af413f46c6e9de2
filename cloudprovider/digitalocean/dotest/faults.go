package dotest

import (
	"context"
	"slices"
	"time"
)

// Always is the Fault.Count of a fault that stays until it is removed.
const Always = -1

// Fault is something that goes wrong with requests. Its first fields say with which; empty ones match any. Only requests with a token that is
// accepted, within the limits, can be hit. Several faults may hit one request: waits add up, the first one with an answer wins.
type Fault struct {
	Operation string
	Pool      string // id of the pool that the request concerns; of all requests about no single pool only an empty one matches
	Skip      int    // let this many matching requests pass first
	Count     int    // how many it then hits; 0: one; Always: all

	// Before and After are called while the request is held, ahead of its effect and behind it. They may use the Server.
	Before, After func()
	// Hold keeps the request until the channel is closed or the client is gone, ahead of the effect, or behind it if Carried is set.
	Hold <-chan struct{}
	// Delay waits for a time of the Server's clock, on the same side as Hold.
	Delay time.Duration

	// Carried lets the request be carried out although its answer is one of those below; false: it is not, except for the last three.
	Carried bool
	// Status answers with an error: the id that belongs to the status unless ErrorID says otherwise.
	Status  int
	ErrorID string
	Message string
	// HTML sends the error as a page of a proxy.
	HTML bool
	// RetryAfter is the header of that name, in seconds; 0: none.
	RetryAfter int
	// Cut ends the connection instead of an answer.
	Cut bool
	// Body replaces the body of the good answer, also by nothing; nil: it doesn't. The request is carried out.
	Body *string
	// Half sends half of the good answer and ends the connection. The request is carried out.
	Half bool
	// Items leaves only so many items of a listing; nil: all. Stale answers a read of pools with what was true so long ago.
	Items *int
	Stale time.Duration
}

// answers tells whether the fault takes the place of the good answer.
func (f *Fault) answers() bool { return f.Status != 0 || f.Cut }

// wait holds a request; false: the client or the Server is gone.
func (f *Fault) wait(ctx context.Context, s *Server) bool {
	if f.Delay > 0 {
		timer := s.cfg.Clock.NewTimer(f.Delay)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
			return false
		case <-s.closing:
			return false
		}
	}
	if f.Hold == nil {
		return true
	}
	select {
	case <-f.Hold:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

// Inject adds a fault. The result takes it away again; it may be called more than once.
func (s *Server) Inject(f Fault) (remove func()) {
	if f.Count == 0 {
		f.Count = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &f
	s.faults = append(s.faults, added)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *Fault) bool { return other == added })
	}
}

// intercept finds the faults that hit a request and counts them down.
func (s *Server) intercept(call *Call) []*Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hits []*Fault
	for _, f := range s.faults {
		if f.Operation != "" && f.Operation != call.Operation || f.Pool != "" && f.Pool != s.world.concerned(call) || f.Count == 0 {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		copied := *f
		hits = append(hits, &copied)
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool { return f.Count == 0 })
	return hits
}

// concerned is the id of the pool that a request is about; templates are asked for by the pool's name.
func (w *world) concerned(call *Call) string {
	if call.Operation == GetTemplate {
		if p := w.named(call.Pool); p != nil {
			return p.ID
		}
	}
	return call.Pool
}

func (w *world) named(name string) *pool {
	for _, p := range w.pools {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// access is what a token may do.
type access struct {
	denied map[string]bool
	meter  meter
}

// The scopes of tokens.
const (
	ScopeKubernetesRead   = "kubernetes:read"
	ScopeKubernetesUpdate = "kubernetes:update"
	ScopeSizesRead        = "sizes:read"
)

// AcceptToken accepts one more token, except for these scopes.
func (s *Server) AcceptToken(token string, withoutScopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.tokens[token]
	if a == nil {
		a = &access{}
		s.tokens[token] = a
	}
	a.denied = map[string]bool{}
	for _, scope := range withoutScopes {
		a.denied[scope] = true
	}
}

// RevokeToken accepts a token no more.
func (s *Server) RevokeToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, token)
}

// SpendRequests counts so many requests of a token as made now, as if somebody else used it.
func (s *Server) SpendRequests(token string, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.tokens[token]; a != nil {
		for range requests {
			a.meter.hour = append(a.meter.hour, s.cfg.Clock.Now())
		}
	}
}
