package scenario

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"

	"example.com/cluster-autoscaler/core"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/health"
	"example.com/cluster-autoscaler/metrics"
)

// process is one life of the autoscaler. The zero value is none.
type process struct {
	autoscaler *core.Autoscaler
	actuator   *act.Actuator
	teller     *core.Teller
	// acts is when the actuator has something to do; zero: not before something is started.
	acts time.Time
}

// silent takes the events of the autoscaler: what they tell is in the lines.
type silent struct{}

var _ record.EventRecorder = silent{}

func (silent) Event(runtime.Object, string, string, string)                                      {}
func (silent) Eventf(runtime.Object, string, string, string, ...any)                             {}
func (silent) AnnotatedEventf(runtime.Object, map[string]string, string, string, string, ...any) {}

// observer passes on what happens between iterations and notes what the lines tell of it.
type observer struct {
	teller *core.Teller
	w      *world
}

// Observe is called by the steps of the actuator, which are part of the play.
func (o observer) Observe(event act.Event) {
	o.teller.Observe(event)
	if ended, ok := event.(act.RemovalEnded); ok && ended.Outcome.Err != nil {
		o.w.tell(scaleDownFailed{
			about("ScaleDownFailed", o.w.since()), ended.Outcome.Node, string(ended.Outcome.Group), ended.Outcome.Err.Error(),
		})
	}
}

// boot starts a process that remembers nothing.
func (w *world) boot(ctx context.Context) error {
	m, err := metrics.New(prometheus.NewRegistry(), metrics.Options{})
	if err != nil {
		return err
	}
	chain, err := w.chain()
	if err != nil {
		return err
	}
	teller := core.StartTelling(ctx, w.board, silent{}, m, w.now())
	options := act.NewOptions(w.options)
	options.Parallelism = 1
	actuator := act.New(act.Collaborators{
		Cloud: w.cloud, Kube: apiServer{w}, Lister: w.source, Workloads: w.source.Workloads(), Observer: observer{teller, w}, Clock: w.clock,
	}, options)
	check := health.New(w.clock, health.Limits{
		Inactivity: w.options.Loop.MaxInactivity, Failing: w.options.Loop.MaxFailingTime, Startup: w.options.Loop.MaxStartupTime,
	})
	autoscaler := core.New(core.Collaborators{
		Source: w.source, Cloud: w.cloud, Scheduler: w.scheduler, Expander: chain, Actuator: actuator, Teller: teller,
		Health: check, Metrics: m, Clock: w.clock, Explain: true,
	}, w.options)
	w.process, w.wakes = process{autoscaler: autoscaler, actuator: actuator, teller: teller}, time.Time{}
	return nil
}

// next is when the process has something to do; zero: there is no process.
func (p process) next(now time.Time) time.Time {
	if p.autoscaler == nil {
		return time.Time{}
	}
	loop := p.autoscaler.NextStep()
	if loop.IsZero() {
		loop = now
	}
	return earliest(loop, p.acts)
}

// kill ends the process; it starts anew after the downtime. Told to end gracefully, it puts nodes back into service first.
func (w *world) kill(ctx context.Context, downtime time.Duration, graceful bool) error {
	if p := w.process; graceful && p.actuator != nil {
		if err := p.actuator.Shutdown(ctx); err != nil {
			return err
		}
		if err := p.teller.Stop(ctx, w.now(), p.autoscaler.Memory()); err != nil {
			return err
		}
	}
	w.process, w.wakes, w.graceful = process{}, w.now().Add(downtime), graceful
	return nil
}

// autoscale lets the autoscaler act and, when it is due, make an iteration.
func (w *world) autoscale(ctx context.Context) error {
	if w.process.autoscaler == nil {
		if w.wakes.IsZero() || w.now().Before(w.wakes) {
			return nil
		}
		if err := w.boot(ctx); err != nil {
			return err
		}
		w.tell(restarted{about("Restarted", w.since()), w.graceful})
	}
	p := &w.process
	p.acts = p.actuator.Step(ctx, w.now())
	told, made, err := p.autoscaler.Step(ctx)
	if !made {
		return nil
	}
	w.counts.iterations++
	w.chronicle.tell(told, err)
	p.acts = w.now() // what the iteration has started is looked after in the next step
	return nil
}
