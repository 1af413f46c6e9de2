package awstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Server is the stand-in. All its methods may be called from several goroutines at once, and from a Hook.
type Server struct {
	cfg     Config
	actions map[actionName]action

	closing chan struct{} // closed when Close begins
	wake    chan struct{} // tells the follower that something changed
	running sync.WaitGroup
	once    sync.Once
	closed  error // what Close returns

	mu          sync.Mutex // guards all below
	world       *world
	credentials Credentials
	faults      []*Fault
	calls       []*Call
	callSerial  int
	changed     chan struct{} // closed at the next change of an instance
	shut        bool          // no further request is let in
	url         string
	http        *http.Server
	unwatch     func() bool // forgets the context of Start
	served      error       // why serving ended, if not by Close
}

// New makes a Server without groups. It doesn't listen yet: use Start, or Handler with a listener of your own.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w, err := newWorld(cfg, cfg.Clock.Now())
	if err != nil {
		return nil, fmt.Errorf("making the AWS stand-in: %w", err)
	}
	return &Server{
		cfg: cfg, actions: actions(), closing: make(chan struct{}), wake: make(chan struct{}, 1),
		world: w, changed: make(chan struct{}),
	}, nil
}

// Start listens and serves until Close, or until ctx is done. It returns as soon as the Server can be reached. With a real clock it also
// starts a goroutine that lets things happen when they are due.
func (s *Server) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("listening for AWS requests on %s: %w", s.cfg.Addr, err)
	}
	server := &http.Server{
		Handler:           s.Handler(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	s.mu.Lock()
	if s.shut || s.http != nil {
		s.mu.Unlock()
		return errors.Join(errors.New("starting the AWS stand-in: it was started or closed before"), listener.Close())
	}
	s.http, s.url = server, "http://"+listener.Addr().String()
	s.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.mu.Lock()
			s.served = fmt.Errorf("serving AWS requests: %w", err)
			s.mu.Unlock()
		}
	})
	if isReal(s.cfg.Clock) {
		s.running.Go(s.follow)
	}
	s.unwatch = context.AfterFunc(ctx, func() { _ = s.Close() }) // the error is kept for those who call Close
	s.mu.Unlock()
	return nil
}

// isReal tells whether a clock goes by itself.
func isReal(c clock.PassiveClock) bool {
	switch c.(type) {
	case clock.RealClock, *clock.RealClock:
		return true
	}
	return false
}

// URL is where a started Server listens, for AWS_ENDPOINT_URL. Empty before Start. Any path behind it is served alike.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close stops listening, cuts all connections, lets held requests go unanswered and waits for all goroutines. The state and the log can
// still be read. It may be called more than once.
func (s *Server) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		s.shut = true
		server, unwatch := s.http, s.unwatch
		s.mu.Unlock()
		close(s.closing)
		var err error
		if server != nil {
			unwatch()
			err = server.Close()
		}
		s.running.Wait()
		s.closed = errors.Join(err, s.served)
	})
	return s.closed
}

// Environ is the environment, as KEY=VALUE, that makes an AWS SDK of another process talk to a started Server and to nothing else.
func (s *Server) Environ() []string {
	key := s.cfg.AccessKeyID
	if key == "" {
		key = "AKIDEXAMPLE"
	}
	return []string{
		"AWS_ENDPOINT_URL=" + s.URL(),
		"AWS_REGION=" + s.cfg.Region,
		"AWS_ACCESS_KEY_ID=" + key,
		"AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// follow lets things happen when they are due.
func (s *Server) follow() {
	for {
		s.mu.Lock()
		s.settle()
		_, at := s.world.earliest()
		now := s.world.now
		s.mu.Unlock()
		if !s.sleep(at, now) {
			return
		}
	}
}

// sleep waits until a moment (zero: for ever) or until something changes; false: the Server is being closed.
func (s *Server) sleep(at, now time.Time) bool {
	var due <-chan time.Time
	if !at.IsZero() {
		timer := s.cfg.Clock.NewTimer(at.Sub(now))
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-due:
	case <-s.wake:
	case <-s.closing:
		return false
	}
	return true
}

// settle brings the world up to the clock's time, and tells who waits for changes. s.mu must be held.
func (s *Server) settle() {
	s.world.settle(s.cfg.Clock.Now())
	s.broadcast()
}

// broadcast tells everybody who waits for a change of instances. s.mu must be held.
func (s *Server) broadcast() {
	if s.world.changed {
		s.world.changed = false
		close(s.changed)
		s.changed = make(chan struct{})
	}
}

// nudge tells the follower to look again.
func (s *Server) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}
