package managed

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider/aws/internal/faults"
)

const (
	life         = 10 * time.Minute // of an answer, give or take the jitter
	jitter       = time.Minute      // spreads the questions about many node groups
	changingLife = 2 * time.Minute  // while EKS is at work on the node group
	firstPause   = 30 * time.Second // for all questions, after a failure that passes by itself; doubled each time
	lastRetry    = 5 * time.Minute
	atOnce       = 4  // questions under way at a time
	perFill      = 40 // questions in one Fill: EKS allows few a second, and the loop waits for them
)

// source reads what EKS knows. Errors are of type *faults.Error.
type source interface {
	NodeGroup(ctx context.Context, key Key) (Description, error)
}

// Wanted is a node group in use.
type Wanted struct {
	Key Key
	// Mark changes when the node group may have changed: EKS is asked again at once then.
	Mark string
	// First is true where the answer is needed most, because no node shows what EKS would tell.
	First bool
}

// Cache remembers what EKS told. Safe for concurrent use; only Fill blocks.
type Cache struct {
	source source
	clock  clock.PassiveClock

	mu      sync.Mutex
	entries map[Key]entry
	changes uint64 // of what Of returns
	// paused is until when nobody is asked, because EKS throttles or doesn't answer, and pauses how often in a row that happened.
	paused time.Time
	pauses int
}

// entry is the last good answer, and what became of the last question.
type entry struct {
	description Description
	known       bool
	err         error // of the last question; nil: it was answered
	mark        string
	due         time.Time
	failures    int    // in a row
	asked       uint64 // how often
}

// NewCache makes an empty cache.
func NewCache(s source, ticking clock.PassiveClock) *Cache {
	return &Cache{source: s, clock: ticking, entries: map[Key]entry{}}
}

// Of is what EKS last told about a node group, however old that is; known is false if it never told anything. err says why the last question failed; nil: it
// didn't, or there was none.
func (c *Cache) Of(key Key) (d Description, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	return e.description, e.known, e.err
}

// Fill asks EKS about the node groups that are due, those without any answer first, and not about too many at once. What fails is remembered and
// shows in Of. A question that is throttled or not answered ends the round, and there is a pause before the next one: where nothing leads to EKS,
// each question would take its time. keep is true where these are all the node groups in use: others are forgotten then.
func (c *Cache) Fill(ctx context.Context, wanted []Wanted, keep bool) {
	due := c.due(wanted, keep)
	var group errgroup.Group
	group.SetLimit(atOnce)
	var unwell sync.Once
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, w := range due {
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // what is not asked for now is asked for the next time
			}
			d, err := c.source.NodeGroup(ctx, w.Key)
			if ctx.Err() != nil && err != nil {
				return nil //nolint:nilerr // it was given up, which says nothing about the node group
			}
			c.enter(w, d, err)
			if faults.Passing(err) {
				unwell.Do(func() { c.pause(); cancel() })
			}
			return nil
		})
	}
	_ = group.Wait() // the functions keep their errors in the cache
}

// pause keeps the next rounds from asking.
func (c *Cache) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = c.clock.Now().Add(min(firstPause<<min(c.pauses, 4), lastRetry))
	c.pauses++
}

// due lists whom to ask about now, each once.
func (c *Cache) due(wanted []Wanted, keep bool) []Wanted {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[Key]bool{}
	var due []Wanted
	for _, w := range wanted {
		if seen[w.Key] {
			continue
		}
		seen[w.Key] = true
		e, ok := c.entries[w.Key]
		if !ok || !now.Before(e.due) || e.due.Sub(now) > life+jitter || e.known && e.err == nil && e.mark != w.Mark {
			due = append(due, w)
		}
	}
	if keep {
		for key := range c.entries {
			if !seen[key] {
				delete(c.entries, key)
			}
		}
	}
	rank := func(w Wanted) int {
		switch e := c.entries[w.Key]; {
		case !e.known && w.First:
			return 0
		case !e.known:
			return 1
		default:
			return 2
		}
	}
	if now.Before(c.paused) {
		return nil
	}
	slices.SortStableFunc(due, func(a, b Wanted) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), c.entries[a.Key].due.Compare(c.entries[b.Key].due))
	})
	return due[:min(len(due), perFill)]
}

// Version is another number after each change of what Of returns.
func (c *Cache) Version() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

func (c *Cache) enter(w Wanted, d Description, err error) {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[w.Key]
	if !same(e.err, err) || err == nil && (!e.known || !reflect.DeepEqual(e.description, d)) {
		c.changes++
	}
	e.asked++
	e.err = err
	switch {
	case err == nil:
		c.pauses = 0
		e = entry{description: d, known: true, mark: w.Mark, due: now.Add(life + spread(w.Key, e.asked)), asked: e.asked}
		if d.Status.Changing() {
			e.due = now.Add(changingLife)
		}
	case faults.Passing(err):
		e.due = now // after the pause
	default:
		e.failures++
		e.due = now.Add(min(time.Minute<<min(e.failures-1, 3), lastRetry))
	}
	c.entries[w.Key] = e
}

func same(a, b error) bool {
	if a == nil || b == nil {
		return errors.Is(a, b)
	}
	return a.Error() == b.Error()
}

// spread is the jitter: never the same for long, and the same in every run.
func spread(key Key, round uint64) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key.Cluster + "/" + key.NodeGroup)) // a hash cannot fail
	mixed := (h.Sum64() + round) * 0x9e3779b97f4a7c15
	return time.Duration(mixed%uint64(2*jitter)) - jitter
}
