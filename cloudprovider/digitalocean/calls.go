package digitalocean

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// errStopped is why calls end that Cleanup cancels.
var errStopped = errors.New("the DigitalOcean provider has been stopped")

// calls knows what is under way, so that it can be ended. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	stopped bool
	cancels map[*context.CancelCauseFunc]struct{}
	running sync.WaitGroup
}

// begin returns a context for one call, and what to do when the call is over.
func (c *calls) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		cancel(errStopped)
		return ctx, func() {}
	}
	if c.cancels == nil {
		c.cancels = map[*context.CancelCauseFunc]struct{}{}
	}
	key := &cancel
	c.cancels[key] = struct{}{}
	c.running.Add(1)
	return ctx, func() {
		c.mu.Lock()
		delete(c.cancels, key)
		c.mu.Unlock()
		cancel(nil)
		c.running.Done()
	}
}

// stop ends all calls and waits for them.
func (c *calls) stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopped = true
	for cancel := range c.cancels {
		(*cancel)(errStopped)
	}
	c.mu.Unlock()
	over := make(chan struct{})
	go func() {
		c.running.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the calls to DigitalOcean to end: %w", ctx.Err())
	}
}
