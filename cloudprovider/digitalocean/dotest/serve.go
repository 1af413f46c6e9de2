package dotest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxBody is more than any request of the API has.
const maxBody = 1 << 20

// answer is what a request gets.
type answer struct {
	status int
	body   any    // nil: empty
	id     string // of an error
}

// failure is an error as the API tells it.
type failure struct {
	status  int
	id      string
	message string
}

// errorIDs are the ids of errors by status.
func errorID(status int) string {
	ids := map[int]string{
		http.StatusBadRequest: "bad_request", http.StatusUnauthorized: "unauthorized", http.StatusForbidden: "forbidden",
		http.StatusNotFound: "not_found", http.StatusConflict: "conflict", http.StatusUnprocessableEntity: "unprocessable_entity",
		http.StatusTooManyRequests: "too_many_requests", http.StatusInternalServerError: "server_error",
		http.StatusServiceUnavailable: "service_unavailable",
	}
	if id := ids[status]; id != "" {
		return id
	}
	return "error"
}

func fail(status int, format string, args ...any) *failure {
	return &failure{status: status, id: errorID(status), message: fmt.Sprintf(format, args...)}
}

// handler carries an operation out. Called with Server.mu held and the world up to date.
type handler func(w *world, call *Call) (answer, *failure)

// route is what a request asks for.
type route struct {
	operation  string
	pool, node string
	scope      string
	write      bool
	handle     handler
}

// Handler serves the API. For those who have a listener of their own; others use Start.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	to := s.routeOf(r.Method, r.URL.Path)
	call := s.record(r, to, string(body))
	defer s.done(call)
	header := w.Header()
	header.Set("x-request-id", call.RequestID)
	if refused := s.admit(call, to, header); refused != nil {
		s.send(w, call, refused.answer(call))
		return
	}
	hits := s.intercept(call)
	f := first(hits)
	early := f != nil && f.answers() && !f.Carried
	for _, hit := range hits {
		if hit.Before != nil {
			hit.Before()
		}
		if !hit.Carried && !hit.wait(r.Context(), s) {
			panic(http.ErrAbortHandler)
		}
	}
	var good answer
	if !early {
		good = s.carryOut(call, to, hits)
	}
	for _, hit := range hits {
		if hit.After != nil {
			hit.After()
		}
		if hit.Carried && !hit.wait(r.Context(), s) {
			panic(http.ErrAbortHandler)
		}
	}
	if f != nil && f.answers() {
		s.spoil(w, call, f)
		return
	}
	s.sendSpoiled(w, call, good, hits)
}

// first is the first fault with an answer.
func first(hits []*Fault) *Fault {
	for _, f := range hits {
		if f.answers() {
			return f
		}
	}
	return nil
}

func (s *Server) record(r *http.Request, to route, body string) *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	call := &Call{
		Number: s.serial, Time: s.cfg.Clock.Now(), Operation: to.operation, Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Body: body,
		UserAgent: r.UserAgent(), Token: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), Pool: to.pool, Node: to.node, Write: to.write,
		RequestID: fmt.Sprintf("req-%06d", s.serial),
	}
	s.calls = append(s.calls, call)
	return call
}

func (s *Server) done(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call.Done = true
}

// admit checks the token, the limits, and the scopes.
func (s *Server) admit(call *Call, to route, header http.Header) *failure {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		panic(http.ErrAbortHandler)
	}
	a := s.tokens[call.Token]
	if a == nil {
		return fail(http.StatusUnauthorized, "Unable to authenticate you")
	}
	now := s.cfg.Clock.Now()
	v := a.meter.admit(now, s.cfg.Limits)
	a.meter.show(header, v, now, s.cfg.Limits)
	switch {
	case v.refused:
		return fail(http.StatusTooManyRequests, "API Rate limit exceeded.")
	case a.denied[to.scope]:
		return fail(http.StatusForbidden, "You are missing the required permission %s", to.scope)
	case to.handle == nil:
		return fail(http.StatusNotFound, "The resource you requested could not be found.")
	}
	return nil
}

func (s *Server) carryOut(call *Call, to route, hits []*Fault) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	w := s.world
	w.stale, w.items = 0, nil
	for _, f := range hits {
		w.stale = max(w.stale, f.Stale)
		if f.Items != nil {
			w.items = f.Items
		}
	}
	from, live := w.countOf(call.Pool), w.liveOf(call.Pool)
	w.call = call.Number
	good, bad := to.handle(w, call)
	w.call = 0
	if bad != nil {
		return bad.answer(call)
	}
	if to.write {
		call.From, call.To = from, w.countOf(call.Pool)
		call.LiveFrom, call.LiveTo, call.At = live, w.liveOf(call.Pool), w.now
		w.touch()
		s.settle()
	}
	return good
}

func (w *world) countOf(poolID string) int {
	if p := w.pool(poolID); p != nil {
		return p.Count
	}
	return 0
}

func (w *world) liveOf(poolID string) int {
	if p := w.pool(poolID); p != nil {
		return len(p.live())
	}
	return 0
}

func (f *failure) answer(call *Call) answer {
	return answer{status: f.status, id: f.id, body: map[string]string{"id": f.id, "message": f.message, "request_id": call.RequestID}}
}

func encode(body any) []byte {
	if body == nil {
		return nil
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(body); err != nil {
		panic(fmt.Sprintf("encoding an answer of the DigitalOcean stand-in: %v", err)) // our own types can be encoded
	}
	return text.Bytes()
}

func (s *Server) send(w http.ResponseWriter, call *Call, a answer) {
	s.write(w, call, a, encode(a.body))
}

// write sends an answer with these bytes for its body.
func (s *Server) write(w http.ResponseWriter, call *Call, a answer, body []byte) {
	if w.Header().Get("content-type") == "" && len(body) > 0 {
		w.Header().Set("content-type", "application/json; charset=utf-8")
	}
	s.mu.Lock()
	call.Status, call.ErrorID = a.status, a.id
	s.mu.Unlock()
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // the client may be gone
}

// spoil answers as a fault says.
func (s *Server) spoil(w http.ResponseWriter, call *Call, f *Fault) {
	if f.Cut {
		panic(http.ErrAbortHandler)
	}
	if f.RetryAfter > 0 {
		w.Header().Set("retry-after", fmt.Sprint(f.RetryAfter))
	}
	if f.Status == http.StatusTooManyRequests {
		w.Header().Set("ratelimit-remaining", "0")
	}
	if f.HTML {
		w.Header().Set("content-type", "text/html")
		s.write(w, call, answer{status: f.Status}, []byte("<html><body><h1>"+http.StatusText(f.Status)+"</h1></body></html>\n"))
		return
	}
	bad := fail(f.Status, "%s", f.Message)
	if f.Message == "" {
		bad.message = http.StatusText(f.Status)
	}
	if f.ErrorID != "" {
		bad.id = f.ErrorID
	}
	s.send(w, call, bad.answer(call))
}

// sendSpoiled sends the good answer, unless a fault changes its bytes.
func (s *Server) sendSpoiled(w http.ResponseWriter, call *Call, good answer, hits []*Fault) {
	body := encode(good.body)
	for _, f := range hits {
		if f.Body != nil {
			body = []byte(*f.Body)
		}
	}
	for _, f := range hits {
		if !f.Half {
			continue
		}
		w.Header().Set("content-length", fmt.Sprint(len(body)))
		w.Header().Set("content-type", "application/json; charset=utf-8")
		s.write(w, call, good, body[:len(body)/2])
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		panic(http.ErrAbortHandler)
	}
	s.write(w, call, good, body)
}

// timeOf is a time as the API writes it.
func timeOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }
