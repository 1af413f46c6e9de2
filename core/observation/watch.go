package observation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// retrySoon is how long to wait before a resource that is needed, or that the API server could not serve for now, is tried again;
	// retryLater that for an optional one that is absent or forbidden.
	retrySoon  = 2 * time.Second
	retryLater = 5 * time.Minute
	// probeTimeout bounds one probe.
	probeTimeout = 10 * time.Second
)

// phase says what is known about a resource.
type phase int

const (
	phaseUnset    phase = iota
	phaseStarting       // not read yet, and nobody has said that it cannot be
	phaseOn             // read
	phaseOff            // absent or forbidden
)

// watch is one resource with its informer and whether it can be read.
type watch struct {
	resource
	shared cache.SharedIndexInformer
	// denied gets what the informer is told once it runs, if that means that the resource is absent or forbidden.
	denied chan error
	// on is true in phaseOn; it is asked often.
	on atomic.Bool

	mu    sync.Mutex // guards what follows
	phase phase
	err   error // why it is not read; nil: it is, or nothing is known
	since time.Time
}

// errStarting is the state of a resource that was not listed yet.
var errStarting = errors.New("not listed yet")

func newWatch(r resource, factory informers.SharedInformerFactory, at time.Time) (*watch, error) {
	w := &watch{resource: r, shared: r.informer(factory), denied: make(chan error, 1), phase: phaseStarting, since: at}
	err := w.shared.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *cache.Reflector, err error) {
		if !isDenied(err) {
			cache.DefaultWatchErrorHandler(ctx, reflector, err)
			return
		}
		select {
		case w.denied <- err:
		default: // that it is denied is known already
		}
	})
	if err != nil {
		return nil, fmt.Errorf("watching %s: %w", r.name, err)
	}
	return w, nil
}

// isDenied tells an answer of the API server that asking again will not change: the resource is absent, or may not be read.
func isDenied(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// run lists and watches one resource: it probes until the resource can be listed, then leaves it to the informer. When the informer is
// refused, it probes again, to learn when that is over; the informer goes on trying by itself.
func (s *Source) run(ctx context.Context, w *watch) {
	var running sync.WaitGroup
	defer running.Wait()
	started := false
	for {
		err := s.probe(ctx, w)
		if err == nil {
			if !started {
				started = true
				running.Go(func() { w.shared.RunWithContext(ctx) })
			}
			err = s.follow(ctx, w)
		}
		if ctx.Err() != nil || !s.failed(ctx, w, err) {
			return
		}
	}
}

func (s *Source) probe(ctx context.Context, w *watch) error {
	select {
	case <-w.denied: // of before this probe
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return w.probe(ctx, s.client, metav1.ListOptions{Limit: 1})
}

// follow waits until the informer is refused, or ctx ends, and returns why.
func (s *Source) follow(ctx context.Context, w *watch) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-w.denied:
		return err
	case <-w.shared.HasSyncedChecker().Done():
	}
	if s.set(w, phaseOn, nil) {
		klog.FromContext(ctx).V(1).Info("Reading resource", "resource", w.name)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-w.denied:
		return err
	}
}

// failed notes that a resource cannot be read and waits before the next attempt; false: ctx ended.
func (s *Source) failed(ctx context.Context, w *watch, err error) bool {
	denied, pause := isDenied(err), retrySoon
	if denied && !w.required {
		pause = retryLater
	}
	news := phaseUnset // as it is
	if denied {
		news = phaseOff
	}
	if s.set(w, news, err) {
		klog.FromContext(ctx).Error(err, "Cannot list a resource", "resource", w.name, "required", w.required, "retryAfter", pause)
	}
	timer := s.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// set records whether the resource can be read and reports whether that is news. phaseUnset leaves the phase as it is.
func (s *Source) set(w *watch, to phase, err error) (news bool) {
	w.mu.Lock()
	if to == phaseUnset {
		to = w.phase
	}
	if to == phaseOn {
		err = nil
	}
	news = w.phase != to || (err != nil && (w.err == nil || w.err.Error() != err.Error()))
	if w.phase != to {
		w.phase, w.since = to, s.clock.Now()
	}
	w.err = err
	w.on.Store(to == phaseOn)
	w.mu.Unlock()
	if news {
		s.announce()
	}
	return news
}

// problem says why the resource is not read; nil: it is.
func (w *watch) problem() error {
	if w.on.Load() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if w.phase == phaseOn {
		return nil
	}
	return errStarting
}

// awaited says whether the first iteration has to wait for the resource.
func (w *watch) awaited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.phase == phaseStarting || w.required && w.phase != phaseOn
}

func (w *watch) feature() Feature {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := Feature{Name: w.name, Err: w.err, Since: w.since}
	if f.Err == nil && w.phase != phaseOn {
		f.Err = errStarting
	}
	return f
}
