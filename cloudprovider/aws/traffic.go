package aws

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
)

// readsPerMinute is how many requests to Auto Scaling may be spent on reading in any minute, writes and what is read right before them apart.
const readsPerMinute = 30

// traffic knows how many requests were sent lately. It hands what it is told on. Safe for concurrent use.
type traffic struct {
	to    cloudprovider.CallObserver
	clock clock.PassiveClock

	mu    sync.Mutex
	reads []time.Time // of Auto Scaling, in the last minute
	count int         // of reads, since the start
}

// ObserveCall counts reads.
func (t *traffic) ObserveCall(call cloudprovider.Call) {
	if call.Service == "autoscaling" && strings.HasPrefix(call.Operation, "Describe") {
		t.mu.Lock()
		t.reads = append(t.recent(), t.clock.Now())
		t.count++
		t.mu.Unlock()
	}
	t.to.ObserveCall(call)
}

// left is how many reads may still be sent in this minute.
func (t *traffic) left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads = t.recent()
	return max(0, readsPerMinute-len(t.reads))
}

// recent are the reads of the last minute. Call with mu held.
func (t *traffic) recent() []time.Time {
	now := t.clock.Now()
	oldest := now.Add(-time.Minute)
	return slices.DeleteFunc(t.reads, func(at time.Time) bool { return !at.After(oldest) || at.After(now) }) // after now: the clock was set back
}

// total is how many reads there were since the start.
func (t *traffic) total() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}
