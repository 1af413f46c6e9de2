package scenario

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// virtualClock is a clock that stands still until it is set. It is safe for concurrent use.
type virtualClock struct {
	mu     sync.Mutex // guards what follows
	now    time.Time
	alarms []*alarm
}

var _ clock.WithTicker = (*virtualClock)(nil)

// alarm is a timer or a ticker.
type alarm struct {
	clock *virtualClock
	out   chan time.Time
	at    time.Time
	every time.Duration // zero: a timer
}

func newClock(now time.Time) *virtualClock { return &virtualClock{now: now} }

// set moves the clock and sounds what is due.
func (c *virtualClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	c.alarms = slices.DeleteFunc(c.alarms, func(a *alarm) bool { return a.sound(now) })
}

// sound tells whether the alarm is over.
func (a *alarm) sound(now time.Time) bool {
	if now.Before(a.at) {
		return false
	}
	select {
	case a.out <- now:
	default: // the last one was not even taken
	}
	if a.every <= 0 {
		return true
	}
	for !now.Before(a.at) {
		a.at = a.at.Add(a.every)
	}
	return false
}

func (c *virtualClock) arm(after, every time.Duration) *alarm {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &alarm{clock: c, out: make(chan time.Time, 1), at: c.now.Add(after), every: every}
	if !a.sound(c.now) {
		c.alarms = append(c.alarms, a)
	}
	return a
}

func (c *virtualClock) disarm(a *alarm) (armed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.alarms, a)
	if i < 0 {
		return false
	}
	c.alarms = slices.Delete(c.alarms, i, i+1)
	return true
}

// Now is the virtual time.
func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since is the virtual time that has passed.
func (c *virtualClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After is NewTimer for those who do not stop it.
func (c *virtualClock) After(d time.Duration) <-chan time.Time { return c.arm(d, 0).out }

// NewTimer makes a timer that fires when the clock is set to its time.
func (c *virtualClock) NewTimer(d time.Duration) clock.Timer { return timer{c.arm(d, 0)} }

// Sleep returns at once: the one who moves the clock waits for the sleeper.
func (c *virtualClock) Sleep(time.Duration) {}

// Tick is NewTicker for those who do not stop it.
func (c *virtualClock) Tick(d time.Duration) <-chan time.Time { return c.arm(d, d).out }

// NewTicker makes a ticker.
func (c *virtualClock) NewTicker(d time.Duration) clock.Ticker { return ticker{c.arm(d, d)} }

type timer struct{ *alarm }

func (t timer) C() <-chan time.Time { return t.out }

func (t timer) Stop() bool { return t.clock.disarm(t.alarm) }

func (t timer) Reset(d time.Duration) bool {
	armed := t.Stop()
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = t.clock.now.Add(d)
	t.clock.alarms = append(t.clock.alarms, t.alarm)
	return armed
}

type ticker struct{ *alarm }

func (t ticker) C() <-chan time.Time { return t.out }

func (t ticker) Stop() { t.clock.disarm(t.alarm) }
