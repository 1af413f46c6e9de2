package prices

import "time"

// How often AWS is asked.
const (
	ListEvery = 12 * time.Hour
	SpotEvery = 30 * time.Minute

	firstRetry = time.Minute
	lastRetry  = 30 * time.Minute
)

// Schedule says when a kind of prices is to be read. The zero value is due at once.
type Schedule struct {
	next     time.Time
	failures int  // in a row
	read     bool // it has succeeded before
}

// Due tells whether it is time. A time further away than any pause comes from a clock that was set back since.
func (s *Schedule) Due(now time.Time) bool {
	return !now.Before(s.next) || s.next.Sub(now) > ListEvery
}

// Hasten makes it due at a time, if it wasn't earlier.
func (s *Schedule) Hasten(at time.Time) {
	if at.Before(s.next) && s.failures == 0 {
		s.next = at
	}
}

// Succeeded plans the next reading, and tells whether that is news: the first success of all, or after a failure.
func (s *Schedule) Succeeded(now time.Time, every time.Duration) (news bool) {
	news = !s.read || s.failures > 0
	*s = Schedule{next: now.Add(every), read: true}
	return news
}

// Failed plans the next attempt, after 1, 2, 4 … at most 30 minutes, and tells whether the one before had not failed.
func (s *Schedule) Failed(now time.Time) (news bool) {
	s.next = now.Add(min(firstRetry<<min(s.failures, 5), lastRetry))
	s.failures++
	return s.failures == 1
}
