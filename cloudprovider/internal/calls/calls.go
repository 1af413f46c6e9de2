package calls

import (
	"context"
	"fmt"
	"sync"
)

// Group is the calls of one provider. The zero value is ready, Cloud aside. Safe for concurrent use; not to be copied once used.
type Group struct {
	// Cloud is the name of the cloud in errors.
	Cloud string

	mu      sync.Mutex // guards what follows
	stopped error      // why calls end; nil: they don't
	cancels map[*context.CancelCauseFunc]struct{}
	running sync.WaitGroup
}

// Begin returns a context for one call, and what to do when the call is over, which must be done once. After Stop the context has ended already.
func (g *Group) Begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped != nil {
		cancel(g.stopped)
		return ctx, func() {}
	}
	if g.cancels == nil {
		g.cancels = map[*context.CancelCauseFunc]struct{}{}
	}
	key := &cancel
	g.cancels[key] = struct{}{}
	g.running.Add(1)
	return ctx, func() {
		g.mu.Lock()
		delete(g.cancels, key)
		g.mu.Unlock()
		cancel(nil)
		g.running.Done()
	}
}

// Stop ends all calls and waits for them, at most as long as ctx lasts; the error then is that of ctx. It may be called again.
func (g *Group) Stop(ctx context.Context) error {
	g.mu.Lock()
	g.stopped = fmt.Errorf("the %s provider has been stopped", g.Cloud)
	for cancel := range g.cancels {
		(*cancel)(g.stopped)
	}
	g.mu.Unlock()
	over := make(chan struct{})
	go func() {
		g.running.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the calls to %s to end: %w", g.Cloud, ctx.Err())
	}
}
