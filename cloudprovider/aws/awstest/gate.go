package awstest

import (
	"context"
	"sync"
)

// Gate holds requests until it is released, to look at the world or to kill the client in between. Make it with NewGate.
type Gate struct {
	side     Side
	arrived  chan struct{}
	released chan struct{}
	release  sync.Once
}

// NewGate makes a closed gate. A request held BeforeEffect whose client goes away is never carried out; one held AfterEffect has done
// all but answer. A gate may be used in several faults.
func NewGate(side Side) *Gate {
	return &Gate{side: side, arrived: make(chan struct{}, 1024), released: make(chan struct{})}
}

// Arrived yields one value for each request that has reached the gate.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Release lets all requests through, those that wait and those to come. It may be called more than once.
func (g *Gate) Release() { g.release.Do(func() { close(g.released) }) }

func (g *Gate) prepare(plan *interception, s *Server, _ Service) {
	plan.wait(g.side, func(ctx context.Context) bool {
		select {
		case g.arrived <- struct{}{}:
		default: // nobody counts that far
		}
		select {
		case <-g.released:
			return true
		case <-ctx.Done():
		case <-s.closing:
		}
		return false
	})
}
