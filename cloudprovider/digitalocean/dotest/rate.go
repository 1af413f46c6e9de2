package dotest

import (
	"net/http"
	"strconv"
	"time"
)

// meter counts the requests of one token.
type meter struct {
	hour []time.Time // of the requests that count, the oldest first
}

// verdict is what the limits say about a request.
type verdict struct {
	refused    bool
	retryAfter time.Duration // of a refusal for the sake of the minute; 0: none
}

// admit counts a request made now, unless it is one too many.
func (m *meter) admit(now time.Time, limits Limits) verdict {
	for len(m.hour) > 0 && !m.hour[0].Add(time.Hour).After(now) {
		m.hour = m.hour[1:]
	}
	if len(m.hour) >= limits.PerHour {
		return verdict{refused: true}
	}
	recent := 0
	for i := len(m.hour) - 1; i >= 0 && m.hour[i].Add(time.Minute).After(now); i-- {
		recent++
	}
	if recent >= limits.PerMinute {
		return verdict{refused: true, retryAfter: m.hour[len(m.hour)-recent].Add(time.Minute).Sub(now)}
	}
	m.hour = append(m.hour, now)
	return verdict{}
}

// show writes the headers that tell how much is left.
func (m *meter) show(header http.Header, v verdict, now time.Time, limits Limits) {
	remaining := limits.PerHour - len(m.hour)
	if v.refused {
		remaining = 0
	}
	reset := now.Add(time.Hour)
	if len(m.hour) > 0 {
		reset = m.hour[0].Add(time.Hour)
	}
	header.Set("ratelimit-limit", strconv.Itoa(limits.PerHour))
	header.Set("ratelimit-remaining", strconv.Itoa(remaining))
	header.Set("ratelimit-reset", strconv.FormatInt(reset.Unix(), 10))
	if v.retryAfter > 0 {
		header.Set("retry-after", strconv.Itoa(int((v.retryAfter+time.Second-1)/time.Second)))
	}
}
