package dotest

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

// Server is the stand-in. All its methods may be called from several goroutines at once, and from the functions of a Fault.
type Server struct {
	cfg     Config
	closing chan struct{} // closed when Close begins
	wake    chan struct{} // tells the follower that something changed
	running sync.WaitGroup
	once    sync.Once
	closed  error // what Close returns

	mu      sync.Mutex // guards all below
	world   *world
	tokens  map[string]*access
	faults  []*Fault
	calls   []*Call
	serial  int // of calls
	changed chan struct{}
	shut    bool
	url     string
	http    *http.Server
	unwatch func() bool
	served  error // why serving ended, if not by Close
}

// New makes a Server without pools. It doesn't listen yet: use Start, or Handler with a listener of your own.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("making the DigitalOcean stand-in: %w", err)
	}
	s := &Server{
		cfg: cfg, closing: make(chan struct{}), wake: make(chan struct{}, 1), changed: make(chan struct{}),
		world: newWorld(cfg, cfg.Clock.Now()), tokens: map[string]*access{cfg.Token: {}},
	}
	s.world.touch()
	return s, nil
}

// Start listens and serves until Close, or until ctx is done. It returns as soon as the Server can be reached. With a real clock it also starts a
// goroutine that lets things happen when they are due.
func (s *Server) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("listening for DigitalOcean requests on %s: %w", s.cfg.Addr, err)
	}
	server := &http.Server{
		Handler:           s.Handler(),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 10 * time.Second,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut || s.http != nil {
		return errors.Join(errors.New("starting the DigitalOcean stand-in: it was started or closed before"), listener.Close())
	}
	s.http, s.url = server, "http://"+listener.Addr().String()
	s.running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.served = fmt.Errorf("serving DigitalOcean requests: %w", err)
		}
	})
	if isReal(s.cfg.Clock) {
		s.running.Go(s.follow)
	}
	s.unwatch = context.AfterFunc(ctx, func() { _ = s.Close() }) // the error is kept for those who call Close
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

// URL is where a started Server listens, for the key url of the cloud config. Empty before Start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close stops listening, cuts all connections, lets held requests go unanswered and waits for all goroutines. The state and the log can still be
// read. It may be called more than once.
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
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = errors.Join(err, s.served)
	})
	return s.closed
}

// CloudConfig is the content of a --cloud-config file that makes the provider talk to a started Server.
func (s *Server) CloudConfig() string {
	return fmt.Sprintf(`{"cluster_id": %q, "token": %q, "url": %q}`, s.cfg.ClusterID, s.cfg.Token, s.URL())
}

// ClusterID is the id of the one cluster.
func (s *Server) ClusterID() string { return s.cfg.ClusterID }

// Region is the slug of the cluster's region.
func (s *Server) Region() string { return s.cfg.Region }

// Version is the version of DOKS that the cluster runs.
func (s *Server) Version() string {
	var version string
	s.look(func(w *world) { version = w.version })
	return version
}

// follow lets things happen when they are due.
func (s *Server) follow() {
	for {
		s.mu.Lock()
		s.settle()
		wait := time.Duration(-1)
		if len(s.world.due) > 0 {
			wait = s.world.due[0].at.Sub(s.world.now)
		}
		s.mu.Unlock()
		if !s.sleep(wait) {
			return
		}
	}
}

// sleep waits for a while (below 0: for ever) or until something changes; false: the Server is being closed.
func (s *Server) sleep(d time.Duration) bool {
	var due <-chan time.Time
	if d >= 0 {
		timer := s.cfg.Clock.NewTimer(d)
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
	if s.world.changed {
		s.world.changed = false
		close(s.changed)
		s.changed = make(chan struct{})
		select {
		case s.wake <- struct{}{}:
		default: // the follower looks anyway
		}
	}
}

// look settles and reads the world.
func (s *Server) look(read func(w *world)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	read(s.world)
}

// change settles and changes the world.
func (s *Server) change(do func(w *world) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	err := do(s.world)
	s.world.touch()
	s.settle()
	return err
}
