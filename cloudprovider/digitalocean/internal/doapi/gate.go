package doapi

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// documentedLimit is the API's limit for one hour until its headers say otherwise.
	documentedLimit = 5000
	// burst is how many requests our own share lets through at once; the API lets through 250 a minute.
	burst = 30
	// templateReserve is how many of them are kept for more important calls than the reading of templates.
	templateReserve = 5
	// lowWater is the share of the limit below which only what is needed is asked.
	lowWater = 0.1
	// longestPause is how long to wait after a refusal that doesn't say.
	longestPause = time.Minute
)

// importance orders calls by what is left out first.
type importance int

const (
	detail importance = iota // templates, sizes: can wait
	list                     // what a refresh reads
	write                    // writes, and the looks that go with them
)

// gate knows how many requests may still be made. Safe for concurrent use.
type gate struct {
	clock clock.PassiveClock
	share float64 // of the hourly limit
	skew  float64 // 0 to 0.2: keeps clusters that share a token from coming back at the same moment

	mu        sync.Mutex
	tokens    float64
	filled    time.Time
	limit     int
	remaining int // -1: unknown
	reset     time.Time
	blocked   time.Time // no call before
	refusals  int       // in a row
}

func newGate(c clock.PassiveClock, percent int, salt string) *gate {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(salt)) // it cannot fail
	return &gate{
		clock: c, share: float64(percent) / 100, skew: float64(hash.Sum32()%1000) / 5000,
		tokens: burst, filled: c.Now(), limit: documentedLimit, remaining: -1,
	}
}

var errOwnShare = errors.New("our own share of the API's hourly limit is used up for now")

// admit counts a request, or says why it should not be made now.
func (g *gate) admit(i importance) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	if now.Before(g.blocked) {
		return fmt.Errorf("the API has refused requests and is left alone until %s", g.blocked.UTC().Format(time.RFC3339))
	}
	g.fill(now)
	need := map[importance]float64{detail: templateReserve + 1, list: 1}[i]
	switch {
	case i == write: // always, at the expense of later reads
	case i == detail && g.low():
		return fmt.Errorf("only %d of %d requests are left", g.remaining, g.limit)
	case g.tokens < need:
		return errOwnShare
	}
	g.tokens = max(g.tokens-1, -burst)
	return nil
}

// fill adds what the time since the last call has brought.
func (g *gate) fill(now time.Time) {
	perSecond := g.share * float64(g.limit) / 3600
	g.tokens = min(burst, g.tokens+now.Sub(g.filled).Seconds()*perSecond)
	g.filled = now
}

// low tells whether few requests are left. Call with mu held.
func (g *gate) low() bool {
	return g.remaining >= 0 && float64(g.remaining) < lowWater*float64(g.limit) && g.clock.Now().Before(g.reset.Add(time.Hour))
}

// isLow is low for others.
func (g *gate) isLow() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.low()
}

// blockedUntil is when the next request may be made; a time that is past: now.
func (g *gate) blockedUntil() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.blocked
}

// note reads the headers of an answer.
func (g *gate) note(answer *http.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Now()
	retryAfter, burstOnly := seconds(answer.Header.Get("retry-after"), now)
	if limit, err := strconv.Atoi(answer.Header.Get("ratelimit-limit")); err == nil && limit > 0 {
		g.limit = limit
	}
	if reset, err := strconv.ParseInt(answer.Header.Get("ratelimit-reset"), 10, 64); err == nil && reset > 0 {
		g.reset = time.Unix(reset, 0)
	}
	if remaining, err := strconv.Atoi(answer.Header.Get("ratelimit-remaining")); err == nil && !burstOnly {
		g.remaining = remaining // a refusal for the sake of the minute shows 0 although the hour has some left
	}
	if answer.StatusCode != http.StatusTooManyRequests {
		g.refusals = 0
		return
	}
	g.refusals++
	pause := retryAfter
	if !burstOnly {
		pause = min(longestPause, max(g.reset.Sub(now), time.Second)) // the oldest request's place becomes free then
		pause = max(pause, min(longestPause, time.Second<<min(g.refusals, 6)))
		pause += time.Duration(float64(pause) * g.skew)
	}
	if until := now.Add(pause); until.After(g.blocked) {
		g.blocked = until
	}
}

// longestRetryAfter bounds what a proxy may ask for.
const longestRetryAfter = 10 * time.Minute

// seconds reads a retry-after header.
func seconds(text string, now time.Time) (d time.Duration, ok bool) {
	if text == "" {
		return 0, false
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 {
		return min(time.Duration(n)*time.Second, longestRetryAfter), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), longestRetryAfter), true
	}
	return 0, false
}
