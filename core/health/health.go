package health

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Limits are the ages that are still healthy.
type Limits struct {
	Inactivity time.Duration // of the last start of an iteration
	Failing    time.Duration // of the last success
	Startup    time.Duration // replaces both until the first success
}

// Check remembers when the loop last started and last succeeded. It is safe for concurrent use; no method blocks.
type Check struct {
	clock  clock.PassiveClock
	limits Limits

	mu           sync.Mutex // guards what follows
	monitoring   bool
	succeeded    bool
	lastActivity time.Time
	lastSuccess  time.Time
}

// New returns a Check that is healthy until Monitor is called.
func New(c clock.PassiveClock, limits Limits) *Check {
	now := c.Now()
	return &Check{clock: c, limits: limits, lastActivity: now, lastSuccess: now}
}

// Monitor starts to judge, from now on. A standby is not monitored; a leader is from the moment it starts to build the loop, so that a
// start that never ends is noticed.
func (c *Check) Monitor() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.monitoring = true
	c.forward(&c.lastActivity)
	c.forward(&c.lastSuccess)
}

// Active tells that an iteration starts.
func (c *Check) Active() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forward(&c.lastActivity)
}

// Succeeded tells that an iteration ended without an error, or with one that passes by itself.
func (c *Check) Succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.succeeded = true
	c.forward(&c.lastActivity)
	c.forward(&c.lastSuccess)
}

func (c *Check) forward(stamp *time.Time) {
	if now := c.clock.Now(); now.After(*stamp) {
		*stamp = now
	}
}

// Err says what is wrong; nil: healthy.
func (c *Check) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.monitoring {
		return nil
	}
	inactive, failing := c.limits.Inactivity, c.limits.Failing
	if !c.succeeded {
		inactive, failing = c.limits.Startup, c.limits.Startup
	}
	now := c.clock.Now()
	activity, success := now.Sub(c.lastActivity), now.Sub(c.lastSuccess)
	if activity <= inactive && success <= failing {
		return nil
	}
	return fmt.Errorf("last activity %s ago (allowed %s), last success %s ago (allowed %s)",
		activity.Round(time.Second), inactive, success.Round(time.Second), failing)
}

// ServeHTTP answers 200 "OK", or 500 with the ages.
func (c *Check) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if err := c.Err(); err != nil {
		http.Error(w, "Error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte("OK")) // nothing can be done about a probe that went away
}
