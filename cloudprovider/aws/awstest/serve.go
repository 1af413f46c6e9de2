package awstest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// answer is what goes back to the client.
type answer struct {
	status      int
	code        string // of an error
	message     string
	contentType string
	errorType   string // header X-Amzn-Errortype of the JSON services
	header      map[string]string
	requestID   string
	body        []byte
	dropped     bool // nothing goes back
	truncated   bool // half of the body goes back
}

// content is what an action has to say, in one of the three forms.
type content struct {
	xml   []element
	json  any
	plain RawAnswer
}

// call is a request that is being carried out.
type call struct {
	request
	w        *world
	at       time.Time             // the moment that the answer describes; in the past for a stale read
	groups   map[string]*groupView // as they were at that moment
	pageSize *int                  // forced by a fault

	target   *group // of a write, set by begin
	desired  int    // of the target, before
	live     int
	eventsAt int
}

// invalid is the service's error for a parameter that makes no sense.
func (c *call) invalid(format string, args ...any) error {
	switch c.service {
	case EC2:
		return failure(http.StatusBadRequest, "InvalidParameterValue", format, args...)
	case Pricing, EKS:
		return failure(http.StatusBadRequest, "InvalidParameterException", format, args...)
	default:
		return validation(format, args...)
	}
}

// begin notes the state of a group before a write changes it.
func (c *call) begin(g *group) {
	c.target, c.desired, c.live = g, g.Desired, g.live()
}

// Handler serves requests, for those who bring their own listener. It speaks HTTP/1 only: faults that cut the connection need it.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, "the AWS stand-in is closed", http.StatusServiceUnavailable)
		return
	}
	defer s.running.Done()
	req, err := readRequest(r)
	logged := s.open(&req)
	a := s.answer(r.Context(), req, err, logged)
	s.close(logged, a)
	a.send(w, s.cfg.Clock.Now())
}

// enter lets a request in, unless the Server is being closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.running.Add(1)
	return true
}

// answer carries a request out, with all that is to go wrong with it. An error is what reading it has met.
func (s *Server) answer(ctx context.Context, req request, err error, logged *Call) answer {
	if err == nil {
		s.mu.Lock()
		err = s.authorize(req)
		s.mu.Unlock()
	}
	act, known := s.actions[actionName{req.service, req.action}]
	if err == nil && !known {
		err = unknownAction(req)
	}
	if err != nil {
		return failed(req, asAPIError(err))
	}
	plan := s.intercept(req)
	if !passed(ctx, plan.before) || plan.dropFirst {
		return answer{dropped: true}
	}
	if plan.refuse != nil {
		return failed(req, plan.refuse)
	}
	said, err := s.perform(act, req, plan, logged)
	if !passed(ctx, plan.after) || plan.dropLast {
		return answer{dropped: true}
	}
	switch {
	case err != nil:
		return failed(req, asAPIError(err))
	case plan.mask != nil:
		return failed(req, plan.mask)
	case plan.raw != nil:
		return plan.raw.answer(req)
	}
	a := said.answer(req, act, plan.omit)
	a.truncated = plan.truncate
	return a
}

// answer renders what an action had to say, without the elements of the given names.
func (c content) answer(req request, act action, omit []string) answer {
	switch {
	case act.json != nil:
		return answer{status: http.StatusOK, contentType: req.service.contentType(), requestID: req.id, body: jsonDocument(without(c.json, omit))}
	case act.plain != nil:
		return c.plain.answer(req)
	}
	body := frame(req, act, c.xml).without(omit).document()
	return answer{status: http.StatusOK, contentType: req.service.contentType(), requestID: req.id, body: body}
}

// passed waits for all waits; false: the client is gone.
func passed(ctx context.Context, waits []func(context.Context) bool) bool {
	for _, wait := range waits {
		if !wait(ctx) {
			return false
		}
	}
	return true
}

// perform runs the action on the world of this moment and logs its effect.
func (s *Server) perform(act action, req request, plan interception, logged *Call) (content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.nudge()
	now := s.cfg.Clock.Now()
	s.world.settle(now)
	at := s.world.now.Add(-plan.stale)
	c := &call{
		request: req, w: s.world, at: at, groups: s.world.viewAt(at), pageSize: plan.pageSize, eventsAt: len(s.world.events),
	}
	if len(plan.hide) > 0 {
		c.groups = maps.Clone(c.groups)
		maps.DeleteFunc(c.groups, func(name string, _ *groupView) bool { return slices.Contains(plan.hide, name) })
	}
	s.world.call = req.number
	said, err := act.do(c)
	s.world.settle(now)
	s.world.call = 0
	if c.target != nil && err == nil {
		logged.Change = changeOf(c.target, c.desired, c.live, s.world.events[c.eventsAt:])
		logged.Change.Time = s.world.now
	}
	s.broadcast()
	return said, err
}

// frame puts the content of an answer into the service's envelope.
func frame(req request, act action, content []element) element {
	root := node(req.action + "Response")
	root.attr = req.service.namespace()
	if req.service == EC2 {
		root.children = append([]element{text("requestId", req.id)}, content...)
		return root
	}
	if !act.silent {
		root.children = append(root.children, node(req.action+"Result", content...))
	}
	root.children = append(root.children, node("ResponseMetadata", text("RequestId", req.id)))
	return root
}

// failed is an error answer.
func failed(req request, e *apiError) answer {
	a := answer{
		status: e.status, code: e.code, message: e.message, contentType: req.service.contentType(), requestID: req.id, header: e.header,
	}
	switch req.service {
	case EKS:
		a.errorType, a.body = e.code, jsonDocument(map[string]any{"message": e.message})
	case Pricing:
		a.body = jsonDocument(map[string]any{"__type": e.code, "message": e.message})
	case ContainerCredentials:
		a.body = jsonDocument(map[string]any{"code": e.code, "message": e.message})
	case Metadata:
		a.body = []byte(e.message)
	default:
		a.body = e.xml(req.service, req.id).document()
	}
	return a
}

// answer is the raw answer to a request.
func (r RawAnswer) answer(req request) answer {
	a := answer{status: r.Status, contentType: r.ContentType, requestID: req.id, body: []byte(r.Body), header: r.Header}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.contentType == "" {
		a.contentType = req.service.contentType()
	}
	return a
}

// send writes the answer, with the Server's time as Date.
func (a answer) send(w http.ResponseWriter, now time.Time) {
	if a.dropped {
		cut(w)
		return
	}
	header := w.Header()
	header.Set("Content-Type", a.contentType)
	header.Set("X-Amzn-Requestid", a.requestID)
	header.Set("Date", now.UTC().Format(http.TimeFormat))
	if a.errorType != "" {
		header.Set("X-Amzn-Errortype", a.errorType)
	}
	for key, value := range a.header {
		header.Set(key, value)
	}
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	body := a.body
	if a.truncated {
		body = body[:len(body)/2]
	}
	if _, err := w.Write(body); err != nil {
		return // the client is gone, and that is its own business
	}
	if a.truncated && http.NewResponseController(w).Flush() == nil {
		cut(w)
	}
}

// cut closes the connection behind what was flushed so far. It doesn't flush: that would send headers where nothing was to be sent.
func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, fmt.Sprintf("this connection can't be cut: %v", err), http.StatusBadGateway)
		return
	}
	_ = conn.Close() // it is meant to break
}
