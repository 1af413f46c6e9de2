package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// slowest is the part of the normal rate that is left however much AWS complains.
	slowest = 1. / 16
	// recovery is how long the rate takes from nothing back to normal.
	recovery = 2 * time.Minute
	// cutEvery keeps the complaints about requests that were sent together from counting each.
	cutEvery = time.Second
)

// Error says that a request was not sent because its turn did not come in time.
type Error struct {
	API string // for example Auto Scaling
	Err error  // of the context
}

// Error names the API.
func (e *Error) Error() string {
	return fmt.Sprintf("not sent: too many requests to %s are waiting here (%v)", e.API, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Bucket paces the requests to one API. Safe for concurrent use.
type Bucket struct {
	api    string
	clock  clock.Clock
	normal float64       // tokens per second
	size   float64       // tokens that are kept for a burst
	turn   chan struct{} // held by the one read that is next

	mu     sync.Mutex // guards what follows
	tokens float64
	rate   float64
	filled time.Time // up to which tokens and rate are reckoned
	cut    time.Time // when the rate was last lowered
}

// NewBucket makes a full bucket of two seconds' worth of requests, at least four. rate is in requests per second and above 0.
func NewBucket(api string, rate float64, ticking clock.Clock) *Bucket {
	size := max(2*rate, 4)
	return &Bucket{api: api, clock: ticking, normal: rate, size: size, turn: make(chan struct{}, 1), tokens: size, rate: rate, filled: ticking.Now()}
}

// Read waits until a read may be sent, in the order of the callers. An *Error means that ctx ended before.
func (b *Bucket) Read(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return &Error{API: b.api, Err: context.Cause(ctx)}
	}
	defer func() { <-b.turn }()
	return b.wait(ctx, 0)
}

// Write waits until a write may be sent. It takes tokens that reads have to wait for, so that it goes before them; it waits only where many
// writes come at once.
func (b *Bucket) Write(ctx context.Context) error { return b.wait(ctx, -b.size) }

// wait takes a token as soon as that leaves at least so many.
func (b *Bucket) wait(ctx context.Context, floor float64) error {
	for {
		left := b.take(floor)
		if left <= 0 {
			return nil
		}
		timer := b.clock.NewTimer(left)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return &Error{API: b.api, Err: context.Cause(ctx)}
		}
	}
}

// take takes a token, or says how long it will be until there is one.
func (b *Bucket) take(floor float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	if short := floor + 1 - b.tokens; short > 0 {
		return max(time.Duration(short/b.rate*float64(time.Second)), time.Millisecond)
	}
	b.tokens--
	return 0
}

// Throttled says that AWS refused a request because there were too many: the rate is halved, and what was saved is gone.
func (b *Bucket) Throttled() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	if !b.cut.IsZero() && b.filled.Sub(b.cut) < cutEvery {
		return
	}
	b.cut = b.filled
	b.rate = max(b.rate/2, b.normal*slowest)
	b.tokens = min(b.tokens, 0)
}

// Rate is the present pace in requests per second.
func (b *Bucket) Rate() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refill()
	return b.rate
}

// refill brings tokens and rate up to now. A clock that was set back gives nothing and takes nothing.
func (b *Bucket) refill() {
	now := b.clock.Now()
	passed := max(now.Sub(b.filled), 0).Seconds()
	b.filled = now
	b.tokens = min(b.tokens+passed*b.rate, b.size)
	b.rate = min(b.rate+passed*b.normal/recovery.Seconds(), b.normal)
}
