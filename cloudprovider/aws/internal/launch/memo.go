package launch

import (
	"reflect"
	"slices"
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
	changes uint64 // of what get returns
}

type remembered[V any] struct {
	value    V
	known    bool  // value was once read; it is given out also after a later failure
	err      error // of the last attempt
	asked    time.Time
	until    time.Time
	forever  bool
	failures int // in a row
}

// fresh tells what is remembered and whether that is good enough not to ask again.
func (m *memo[K, V]) fresh(key K, now time.Time) (remembered[V], bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.entries[key]
	return r, ok && (r.forever || now.Before(r.until) && !now.Before(r.asked)) // before it was asked: the clock was set back
}

// keep remembers an answer: for good when life is 0.
func (m *memo[K, V]) keep(key K, value V, now time.Time, life time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before := m.entries[key]; !before.known || !reflect.DeepEqual(before.value, value) {
		m.changes++
	}
	m.set(key, remembered[V]{value: value, known: true, asked: now, until: now.Add(life), forever: life == 0})
}

// missing lists those of the keys that have to be asked for.
func (m *memo[K, V]) missing(keys []K, now time.Time) []K {
	return slices.DeleteFunc(slices.Clone(keys), func(key K) bool { _, fresh := m.fresh(key, now); return fresh })
}

// fail remembers a failure, beside the last good value if there is one: longer each time it repeats, unless it passes by itself.
func (m *memo[K, V]) fail(key K, err error, now time.Time) {
	if passing(err) {
		m.failFor(key, err, now, soonRetry)
		return
	}
	before, _ := m.fresh(key, now)
	m.failFor(key, err, now, min(firstRetry<<min(before.failures, 4), lastRetry))
}

// failFor is fail with a given time until the next try.
func (m *memo[K, V]) failFor(key K, err error, now time.Time, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.entries[key]
	if !r.known && (r.err == nil || r.err.Error() != err.Error()) {
		m.changes++
	}
	r.err = err
	r.failures++
	r.asked, r.until = now, now.Add(wait)
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

// version is another one after each change of what get returns, but for what is forgotten.
func (m *memo[K, V]) version() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changes
}
