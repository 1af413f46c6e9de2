package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// timeline writes lines with the time since the story began. Its methods may be called from several goroutines.
type timeline struct {
	out   io.Writer
	clock clock.WithTicker
	began time.Time

	mutex   sync.Mutex // guards what follows
	last    time.Time  // of the last line
	waiting string     // what the story waits for
	status  string     // that was shown last
	shown   time.Time  // when
}

func newTimeline(out io.Writer, c clock.WithTicker) *timeline {
	now := c.Now()
	return &timeline{out: out, clock: c, began: now, last: now}
}

// indent is below the beginning of a line's text.
const indent = "          "

// write writes the lines of a text, the first one with a time.
func (t *timeline) write(text string) {
	t.last = t.clock.Now()
	since := t.last.Sub(t.began)
	stamp := fmt.Sprintf("%4d:%04.1f", int(since.Minutes()), (since % time.Minute).Seconds())
	fmt.Fprintf(t.out, "%s %s\n", stamp, strings.ReplaceAll(text, "\n", "\n"+indent))
}

// act begins a new part of the story.
func (t *timeline) act(title, text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	fmt.Fprintln(t.out)
	t.write("== " + title + " ==\n" + text)
}

// note tells what the story's author wants to say.
func (t *timeline) note(text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.write(text)
}

// decision tells what the autoscaler decided.
func (t *timeline) decision(text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.write("    autoscaler: " + text)
}

// await says what the story waits for from now on.
func (t *timeline) await(what string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.waiting = what
}

// statusEvery is the least time between two status lines: a burst of changes would make too many.
const statusEvery = time.Second

// show shows a status that is news, unless the last one was shown a moment ago. Then it is shown only if it mustn't be missed.
func (t *timeline) show(status string, must bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	now := t.clock.Now()
	if status == t.status || !must && now.Sub(t.shown) < statusEvery {
		return
	}
	t.status, t.shown = status, now
	t.write(status)
}

// silence is after how long without a line the timeline says what it waits for.
const silence = 8 * time.Second

// beat breaks too long a silence.
func (t *timeline) beat() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.clock.Now().Sub(t.last) < silence {
		return
	}
	text := "... until " + t.waiting
	if t.status != "" {
		text = t.status + " ... until " + t.waiting
	}
	t.write(text)
}

// beats breaks every silence until ctx ends.
func (t *timeline) beats(ctx context.Context) {
	ticker := t.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			t.beat()
		case <-ctx.Done():
			return
		}
	}
}
