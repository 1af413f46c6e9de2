package launch

import (
	"sync"
	"time"
)

// How long to remember a failure: first, doubled each time it repeats, at most.
const (
	firstRetry = 5 * time.Minute
	lastRetry  = 30 * time.Minute
	soonRetry  = 30 * time.Second // for failures that pass by themselves
)

// memo remembers what a source answered, and that it failed. Safe for concurrent use.
type memo[K comparable, V any] struct {
	mu      sync.Mutex
	entries map[K]remembered[V]
}

type remembered[V any] struct {
	value    V
	known    bool  // value was once read; it is given out also after a later failure
	err      error // of the last attempt
	until    time.Time
	forever  bool
	failures int // in a row
}

// fresh tells what is remembered and whether that is good enough not to ask again.
func (m *memo[K, V]) fresh(key K, now time.Time) (remembered[V], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.entries[key]
	return r, ok && (r.forever || now.Before(r.until))
}

// keep remembers an answer: for good when life is 0.
func (m *memo[K, V]) keep(key K, value V, now time.Time, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(key, remembered[V]{value: value, known: true, until: now.Add(life), forever: life == 0})
}

// fail remembers a failure, beside the last good value if there is one.
func (m *memo[K, V]) fail(key K, err error, now time.Time, passing bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.entries[key]
	r.err = err
	r.failures++
	wait := min(firstRetry<<min(r.failures-1, 4), lastRetry)
	if passing {
		wait = soonRetry
	}
	r.until = now.Add(wait)
	m.set(key, r)
}

func (m *memo[K, V]) set(key K, r remembered[V]) {
	if m.entries == nil {
		m.entries = map[K]remembered[V]{}
	}
	m.entries[key] = r
}

// get is the remembered value, or the error of the last attempt; asked is false for a key that was never asked for.
func (m *memo[K, V]) get(key K) (value V, asked bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.entries[key]
	if r.known {
		return r.value, true, nil
	}
	return r.value, ok, r.err
}

// retain forgets all keys that are no longer wanted.
func (m *memo[K, V]) retain(wanted map[K]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.entries {
		if !wanted[key] {
			delete(m.entries, key)
		}
	}
}
