package awstest

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// Always is the Fault.Count of a fault that stays until it is removed.
const Always = -1

// Fault is something that goes wrong with requests. Empty fields match any. Each attempt of the SDK is a request of its own, and only
// requests that are properly signed and permitted can be hit. Several faults may hit one request: waits add up, the first error wins.
type Fault struct {
	Service Service
	Action  string
	Group   string // requests that name this group, one of its instances or its EKS node group
	Skip    int    // let this many matching requests pass first
	Count   int    // how many it then hits; 0: one; Always: all
	Effect  Effect
}

// Effect is what a fault does: one of ErrorAnswer, Throttle, Delay, Drop, Truncate, RawAnswer, Omit, Hide, ShortPage, Stale, Hook and *Gate.
type Effect interface {
	prepare(plan *interception, s *Server, service Service)
}

// interception is all that will happen to one request besides the normal.
type interception struct {
	before    []func(context.Context) bool // waits; false: the client is gone
	after     []func(context.Context) bool
	refuse    *apiError // answered instead of the effect
	mask      *apiError // answered although there was an effect
	dropFirst bool
	dropLast  bool
	truncate  bool
	raw       *RawAnswer
	omit      []string
	hide      []string // groups
	pageSize  *int
	stale     time.Duration
}

// Side says on which side of a request's effect something happens.
type Side string

// The sides. Empty means BeforeEffect.
const (
	BeforeEffect Side = "BeforeEffect" // the action isn't carried out, or not yet
	AfterEffect  Side = "AfterEffect"  // the action was carried out, and only its answer is concerned
)

// ErrorAnswer answers with an error. With an empty Code the service's usual one for a 5xx status is taken.
type ErrorAnswer struct {
	Status  int // HTTP status; 0: 500
	Code    string
	Message string
	Header  map[string]string // further headers of the answer; nil: none
	Side    Side              // AfterEffect: the action is carried out, and the error is a lie
}

func (e ErrorAnswer) prepare(plan *interception, _ *Server, service Service) {
	status := e.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	answer := &apiError{status: status, code: e.Code, message: e.Message}
	if e.Code == "" {
		answer = broken(service, status)
	}
	answer.header = e.Header
	if e.Side == AfterEffect {
		plan.mask = answer
	} else if plan.refuse == nil {
		plan.refuse = answer
	}
}

// Throttle refuses the request as asked too often: Throttling, EC2's RequestLimitExceeded, or ThrottlingException of the JSON services.
type Throttle struct{}

func (Throttle) prepare(plan *interception, _ *Server, service Service) {
	if plan.refuse == nil {
		plan.refuse = throttled(service)
	}
}

// Delay waits for a time of the Server's clock. With a fake clock the request waits until the test steps it.
type Delay struct {
	For  time.Duration
	Side Side
}

func (d Delay) prepare(plan *interception, s *Server, _ Service) {
	wait := func(ctx context.Context) bool {
		timer := s.cfg.Clock.NewTimer(d.For)
		defer timer.Stop()
		select {
		case <-timer.C():
			return true
		case <-ctx.Done():
		case <-s.closing:
		}
		return false
	}
	plan.wait(d.Side, wait)
}

// Drop cuts the connection. Go's transport repeats a GET (EKS, metadata) by itself when the connection was used before, so a client
// may see nothing of a single cut.
type Drop struct{ Side Side }

func (d Drop) prepare(plan *interception, _ *Server, _ Service) {
	if d.Side == AfterEffect {
		plan.dropLast = true
	} else {
		plan.dropFirst = true
	}
}

// Truncate carries the action out, sends half of the answer and cuts the connection.
type Truncate struct{}

func (Truncate) prepare(plan *interception, _ *Server, _ Service) { plan.truncate = true }

// RawAnswer carries the action out and answers with something else: an empty body, HTML of a proxy, a wrong content type.
type RawAnswer struct {
	Status      int    // 0: 200
	ContentType string // empty: the service's own
	Body        string
	Header      map[string]string // further headers, for example X-Amz-Retry-After
}

func (r RawAnswer) prepare(plan *interception, _ *Server, _ Service) { plan.raw = &r }

// Omit leaves out all elements of these names, at any depth, for example AvailabilityZones or LaunchTemplateName.
type Omit struct{ Elements []string }

func (o Omit) prepare(plan *interception, _ *Server, _ Service) {
	plan.omit = append(plan.omit, o.Elements...)
}

// Hide leaves groups out of a listing of groups, as the service may do with groups that were made or tagged a moment ago.
type Hide struct{ Groups []string }

func (h Hide) prepare(plan *interception, _ *Server, _ Service) {
	plan.hide = append(plan.hide, h.Groups...)
}

// ShortPage makes a page of a listing hold this many items at most, also none, with a token when more exist.
type ShortPage struct{ Size int }

func (p ShortPage) prepare(plan *interception, _ *Server, _ Service) {
	size := max(p.Size, 0)
	plan.pageSize = &size
}

// Stale answers a read of groups, instances or activities with what was true a while ago, at most Config.StaleHistory.
type Stale struct{ Age time.Duration }

func (f Stale) prepare(plan *interception, _ *Server, _ Service) { plan.stale = max(plan.stale, f.Age) }

// Hook calls functions while the request is held: Before ahead of the effect, After behind it. They may use the Server. Nil: none.
type Hook struct{ Before, After func() }

func (h Hook) prepare(plan *interception, _ *Server, _ Service) {
	if h.Before != nil {
		plan.before = append(plan.before, func(context.Context) bool { h.Before(); return true })
	}
	if h.After != nil {
		plan.after = append(plan.after, func(context.Context) bool { h.After(); return true })
	}
}

// wait adds a wait on one side of the effect.
func (p *interception) wait(side Side, f func(context.Context) bool) {
	if side == AfterEffect {
		p.after = append(p.after, f)
	} else {
		p.before = append(p.before, f)
	}
}

// Inject adds a fault. The result takes it away again; it may be called more than once.
func (s *Server) Inject(f Fault) (remove func()) {
	if f.Count == 0 {
		f.Count = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	added := &f
	s.faults = append(s.faults, added)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.faults = slices.DeleteFunc(s.faults, func(other *Fault) bool { return other == added })
	}
}

// intercept finds the faults that hit a request and counts them down.
func (s *Server) intercept(r request) interception {
	s.mu.Lock()
	defer s.mu.Unlock()
	groups := r.groups()
	for _, id := range r.instances() {
		if g, _ := s.world.find(id); g != nil {
			groups = append(groups, g.Name)
		}
	}
	if r.service == EKS {
		groups = append(groups, s.world.groupsOf(nodegroupKey{r.params.value("name"), r.params.value("nodegroupName")})...)
	}
	var plan interception
	for _, f := range s.faults {
		if f.Service != "" && f.Service != r.service || f.Action != "" && f.Action != r.action ||
			f.Group != "" && !slices.Contains(groups, f.Group) || f.Count == 0 {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		f.Effect.prepare(&plan, s, r.service)
	}
	s.faults = slices.DeleteFunc(s.faults, func(f *Fault) bool { return f.Count == 0 })
	return plan
}
