package awstest

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Call is one request as the service saw it. Each attempt of the SDK is one.
type Call struct {
	Number       int       // from 1, in the order of arrival
	Time         time.Time // of arrival
	Service      Service
	Action       string
	Params       url.Values // decoded, without Action and Version; read-only
	Status       int        // HTTP status of the answer; 0: not answered (yet)
	Code         string     // error code; empty: success, or not answered
	Message      string     // error message
	Done         bool       // the answer was sent or given up
	Dropped      bool       // the connection was cut instead of an answer, or the client went away
	Write        bool       // the action changes something
	Change       *Change    // what the write did; nil: it had no effect (yet), or is no write
	RequestID    string
	InvocationID string // the same for all attempts of one SDK call
	Attempt      int    // from 1; 0: not an SDK
	Region       string // that the request was signed for
	UserAgent    string
	Header       http.Header // all headers; read-only
}

// Tally is how often an action was asked for.
type Tally struct {
	Attempts    int // requests
	Invocations int // SDK calls, however often each was tried; a request that isn't an SDK's counts as one
	Failures    int // requests answered with an error, or not at all
}

// Change is the effect of a write at the moment when it was carried out.
type Change struct {
	Time        time.Time
	Group       string
	DesiredFrom int
	DesiredTo   int
	LiveFrom    int      // instances that count toward desired, before
	LiveTo      int      // and after
	Min, Max    int      // the group's bounds
	Ended       []string // instances that began to end within the request, sorted: named ones and the service's choice
	Launched    []string // instances that appeared within the request, sorted
}

// Calls returns all requests in the order of their arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, 0, len(s.calls))
	for _, c := range s.calls {
		calls = append(calls, c.clone())
	}
	return calls
}

// Writes returns the requests whose action changes something, in the order of their arrival, also those that failed.
func (s *Server) Writes() []Call {
	return slices.DeleteFunc(s.Calls(), func(c Call) bool { return !c.Write })
}

// Count returns how many requests named the action, of whatever service and outcome.
func (s *Server) Count(action string) int {
	n := 0
	for _, c := range s.Calls() {
		if c.Action == action {
			n++
		}
	}
	return n
}

// Tallies returns how often each action was asked for, by the name that its permission has: autoscaling:SetDesiredCapacity.
func (s *Server) Tallies() map[string]Tally {
	tallies, seen := map[string]Tally{}, map[string]bool{}
	for _, c := range s.Calls() {
		name := string(c.Service) + ":" + c.Action
		t := tallies[name]
		t.Attempts++
		if c.InvocationID == "" || !seen[c.InvocationID] {
			t.Invocations++
		}
		seen[c.InvocationID] = true
		if c.Done && c.Status != http.StatusOK {
			t.Failures++
		}
		tallies[name] = t
	}
	return tallies
}

// ForgetCalls empties the log. Numbers go on.
func (s *Server) ForgetCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

func (c *Call) clone() Call {
	copied := *c
	if c.Change != nil {
		change := *c.Change
		copied.Change = &change
	}
	return copied
}

// open puts a request into the log as it arrives.
func (s *Server) open(req *request) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callSerial++
	req.number, req.id = s.callSerial, s.world.uuid("request")
	shown := maps.Clone(url.Values(req.params))
	delete(shown, "Action")
	delete(shown, "Version")
	c := &Call{
		Number: req.number, Time: s.cfg.Clock.Now(), Service: req.service, Action: req.action, Params: shown,
		Write: s.actions[actionName{req.service, req.action}].write, RequestID: req.id,
		InvocationID: req.header.Get("Amz-Sdk-Invocation-Id"), Attempt: req.attempt(), Region: req.credential.region,
		UserAgent: req.header.Get("User-Agent"), Header: req.header,
	}
	s.calls = append(s.calls, c)
	return c
}

// close puts the outcome into the log.
func (s *Server) close(c *Call, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Done = true
	if a.dropped {
		c.Dropped = true
		return
	}
	c.Status = a.status
	if a.status != http.StatusOK {
		c.Code, c.Message = a.code, a.message
	}
}

// changeOf sums up what a write did, out of the events since it began.
func changeOf(before *group, desired, live int, events []Event) *Change {
	c := &Change{Group: before.Name, DesiredFrom: desired, DesiredTo: before.Desired, LiveFrom: live, LiveTo: before.live(), Min: before.Min, Max: before.Max}
	for _, e := range events {
		c.Time = e.Time
		if e.Group != before.Name {
			continue
		}
		switch e.Kind {
		case EventEnding:
			c.Ended = append(c.Ended, e.Instance)
		case EventLaunched:
			c.Launched = append(c.Launched, e.Instance)
		default: // what comes later isn't the effect of the request
		}
	}
	slices.Sort(c.Ended)
	slices.Sort(c.Launched)
	return c
}

// live is how many instances count toward desired.
func (g *group) live() int {
	n := 0
	for _, m := range g.machines {
		if m.counts() {
			n++
		}
	}
	return n
}
