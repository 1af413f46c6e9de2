package aws

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/aws/internal/permissions"
)

// The reasons of notices, which become events.
const (
	reasonSetAside   = "AWSGroupSetAside"
	reasonDenied     = "AWSPermissionMissing"
	reasonFailed     = "AWSLaunchFailed"
	reasonTag        = "AWSTagRejected"
	reasonCorrected  = "AWSDesiredCorrected"
	reasonThrottled  = "AWSThrottled"
	throttledEvery   = 10 * time.Minute
	failedEvery      = 5 * time.Minute // for the same code of the same group
	noticesKept      = 200
	noticesLostLine  = "more came up than could be kept until it was asked for"
	rememberedThings = 10000
)

// notices are what the operator is to be told, until core asks for it. Safe for concurrent use.
type notices struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	waiting []cloudprovider.Notice
	lost    bool
	told    map[string]string    // what was said last about each thing
	at      map[string]time.Time // when each thing was last told
}

func newNotices(ticking clock.PassiveClock) *notices {
	return &notices{clock: ticking, told: map[string]string{}, at: map[string]time.Time{}}
}

// Notices hands over what came up since the call before.
func (p *Provider) Notices() []cloudprovider.Notice { return p.notices.take() }

func (n *notices) take() []cloudprovider.Notice {
	n.mu.Lock()
	defer n.mu.Unlock()
	waiting := n.waiting
	if n.lost {
		waiting = append(waiting, cloudprovider.Notice{Message: noticesLostLine})
	}
	n.waiting, n.lost = nil, false
	return waiting
}

// tell adds a notice.
func (n *notices) tell(notice cloudprovider.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.add(notice)
}

// add keeps a notice. Call with mu held.
func (n *notices) add(notice cloudprovider.Notice) {
	if len(n.waiting) >= noticesKept {
		n.waiting, n.lost = slices.Delete(n.waiting, 0, 1), true
	}
	n.waiting = append(n.waiting, notice)
}

// change adds a notice unless the last one about the same thing said the same. One without a message says that the thing is over, and is not told.
func (n *notices) change(thing string, notice cloudprovider.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if notice.Message == "" {
		delete(n.told, thing)
		return
	}
	if n.told[thing] == notice.Message {
		return
	}
	if len(n.told) >= rememberedThings {
		clear(n.told) // what lasts is told once more
	}
	n.told[thing] = notice.Message
	n.add(notice)
}

// seldom adds a notice unless there was one about the same thing a short while ago.
func (n *notices) seldom(thing string, pause time.Duration, notice cloudprovider.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.clock.Now()
	if last, told := n.at[thing]; told && now.Sub(last) < pause && !now.Before(last) {
		return
	}
	if len(n.at) >= rememberedThings {
		clear(n.at)
	}
	n.at[thing] = now
	n.add(notice)
}

// throttled notes that AWS refused a request because there were too many.
func (n *notices) throttled(service, operation string) {
	n.seldom(reasonThrottled, throttledEvery, cloudprovider.Notice{
		Reason: reasonThrottled,
		Message: fmt.Sprintf("AWS throttles %s of %s; requests are sent more slowly for a while. All clients of the account in the region share what AWS allows",
			operation, service),
	})
}

// permissionMissing notes that AWS denies an operation.
func (n *notices) permissionMissing(operation, text string) {
	n.change("denied/"+operation, cloudprovider.Notice{Reason: reasonDenied, Message: fmt.Sprintf("%s is denied: %s (%s)", operation, costs(operation), text)})
}

// costs says what does not work without an operation.
func costs(operation string) string {
	if action, known := permissions.Of(operation); known {
		return "without it " + action.Without
	}
	return "what it is for does not work"
}

// corrected tells of a desired capacity that a write of ours had made too low.
func (p *Provider) corrected(b *book, from, to int) {
	p.notices.tell(cloudprovider.Notice{
		Reason: reasonCorrected, Group: cloudprovider.GroupID(b.name),
		Message: fmt.Sprintf("there are more machines than were known when the desired capacity was written; it was raised again from %d to %d", from, to),
	})
	p.event(cloudprovider.Event{Kind: cloudprovider.EventSizeCorrected, Group: cloudprovider.GroupID(b.name)})
}

// event tells the observer.
func (p *Provider) event(event cloudprovider.Event) {
	if p.events != nil {
		event.Provider = Name
		p.events.ObserveEvent(event)
	}
}
