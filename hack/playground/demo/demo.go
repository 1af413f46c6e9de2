package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/hack/playground/autoscaler"
	"example.com/cluster-autoscaler/hack/playground/checker"
	"example.com/cluster-autoscaler/hack/playground/cloud"
	"example.com/cluster-autoscaler/hack/playground/cluster"
	"example.com/cluster-autoscaler/hack/playground/controlplane"
)

// Options says what the demo runs with.
type Options struct {
	Cloud      string               // CloudAWS or CloudDigitalOcean
	Playground string               // the playground program, which plays the parts of the control plane
	Autoscaler string               // the built cluster-autoscaler
	Manifests  string               // file with the autoscaler's ServiceAccount and RBAC objects
	Account    types.NamespacedName // the ServiceAccount among them
	Flags      []string             // further flags for the autoscaler; they win over those of the demo
	Record     string               // file that gets the recorded log; "": none
	Keep       bool                 // leave the folder with logs and data behind
}

// ErrJudgement means that the story was played to its end and something in it was wrong.
var ErrJudgement = errors.New("the checker found faults")

// ShortTimes are flags that let the autoscaler take machines away after seconds. Their defaults are made for production: 10m, 10m, 5m.
func ShortTimes() []string {
	return []string{
		"--scale-down-unneeded-time=10s",
		"--scale-down-delay-after-add=5s",
		"--unremovable-node-recheck-timeout=5s",
	}
}

// Run starts a cluster, plays the story in it, tells it on out as it goes, and judges it. Everything that it started is stopped and removed
// when it returns, also when ctx ends before. The error says what kept the story from being played, or is ErrJudgement.
func Run(ctx context.Context, out io.Writer, o Options) (err error) {
	line := newTimeline(out, clock.RealClock{})
	telling, stopTelling := context.WithCancel(ctx)
	var tellers sync.WaitGroup
	defer func() { stopTelling(); tellers.Wait() }()
	tellers.Go(func() { line.beats(telling) })

	line.note("Starting a cluster on this machine: etcd, kube-apiserver, kube-scheduler, controllers, pretended kubelets, stand-ins for clouds …")
	line.await("the cluster runs")
	c, err := cluster.Start(ctx, cluster.Options{
		Binary: o.Playground, Keep: o.Keep,
		Delays: cloud.Delays{Register: time.Second, Ready: time.Second, Remove: time.Second},
	})
	if err != nil {
		return err
	}
	defer func() {
		if o.Keep {
			fmt.Fprintf(out, "Logs: %s/*.log\n", c.Folder())
		}
		err = errors.Join(err, c.Stop())
	}()
	cloud, err := standInOf(o.Cloud, c)
	if err != nil {
		return err
	}
	p := &player{cluster: c, cloud: cloud, timeline: line}
	stop, err := p.begin(ctx, o)
	defer stop()
	if err != nil {
		return err
	}
	played := p.play(ctx)
	stopTelling()
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(out, "Stopping …")
		return played
	case c.Failure() != nil:
		return played // nobody is left to tell what there is
	}
	log, err := p.conclude(ctx, played == nil)
	if err != nil {
		return errors.Join(played, err)
	}
	return errors.Join(played, judge(out, log, o.Record))
}

// player plays the story.
type player struct {
	cluster    *cluster.Cluster
	cloud      standIn
	autoscaler *autoscaler.Autoscaler
	timeline   *timeline
	recorder   *recorder
}

// begin makes the node groups, starts the autoscaler, and begins to record and to tell. stop ends the last two; it is never nil and may be
// called more than once.
func (p *player) begin(ctx context.Context, o Options) (stop func(), err error) {
	working, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	stop = func() { cancel(); workers.Wait() }
	began := time.Now()
	groups, err := p.cloud.furnish()
	if err != nil {
		return stop, err
	}
	for _, group := range groups {
		p.timeline.note(group.String())
	}
	p.recorder = newRecorder(began, p.story(o, groups))
	if err := p.recorder.watchCluster(working, p.cluster.Client); err != nil {
		return stop, err
	}
	workers.Go(func() { p.recorder.watchCloud(working, p.cloud) })
	flags := append(append(p.cloud.flags(), ShortTimes()...), o.Flags...)
	p.timeline.note("Starting the autoscaler, with the flags of the usual deployment and with short times:\n" +
		"  " + o.Autoscaler + " \\\n    " + strings.Join(flags, " \\\n    "))
	p.autoscaler, err = p.cluster.InstallAutoscaler(ctx, o.Manifests, cluster.Autoscaler{Binary: o.Autoscaler, Account: o.Account, Flags: flags})
	if err != nil {
		return stop, err
	}
	err = p.wait(ctx, "the first machine is a Ready node", func(b *board) bool { return b.readyNodes() == b.total() })
	if err != nil {
		return stop, err
	}
	narrator := newNarrator(p.recorder, p.timeline)
	workers.Go(func() { narrator.run(working) })
	return stop, nil
}

// story is the first record.
func (p *player) story(o Options, groups []nodeGroup) checker.Story {
	s := checker.Story{
		Autoscaler: "system:serviceaccount:" + o.Account.Namespace + ":" + o.Account.Name,
		Kubelets:   controlplane.KubeletsUser,
		Machines:   controlplane.CloudUser,
	}
	s.Groups, s.Apps = predict(groups, p.cloud.first())
	return s
}

// play plays all acts.
func (p *player) play(ctx context.Context) error {
	for _, a := range acts() {
		p.timeline.act(a.title, a.text)
		p.recorder.add(checker.Record{Time: time.Now(), Act: &checker.Act{Name: a.title}})
		if err := p.playAct(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", a.title, err)
		}
	}
	return nil
}

func (p *player) playAct(ctx context.Context, a act) error {
	if err := a.do(ctx, p); err != nil {
		return err
	}
	if err := p.wait(ctx, a.until, a.ended); err != nil {
		return err
	}
	var status string
	p.recorder.look(func(b *board) { status = b.status() })
	p.timeline.show(status, true)
	if err := p.hold(ctx, a); err != nil || a.after == nil {
		return err
	}
	return a.after(ctx, p)
}

// hold makes sure that the state at the end of an act lasts.
func (p *player) hold(ctx context.Context, a act) error {
	p.timeline.await(fmt.Sprintf("this has lasted %v", a.lasts))
	over := time.NewTimer(a.lasts)
	defer over.Stop()
	for {
		var lasts bool
		var status string
		changed := p.recorder.look(func(b *board) { lasts, status = a.ended(b), b.status() })
		if !lasts {
			return fmt.Errorf("it didn't last that %s; now: %s", a.until, status)
		}
		select {
		case <-changed:
		case <-over.C:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
	}
}

// wait blocks until the board has a state. It fails when that takes too long, and when a part of the cluster or the autoscaler ends.
func (p *player) wait(ctx context.Context, what string, reached func(*board) bool) error {
	p.timeline.await(what)
	timeout := time.NewTimer(actTimeout)
	defer timeout.Stop()
	for {
		var yes bool
		var status string
		changed := p.recorder.look(func(b *board) { yes, status = reached(b), b.status() })
		if yes {
			return nil
		}
		select {
		case <-changed:
		case <-timeout.C:
			return fmt.Errorf("waited %v in vain until %s; now: %s", actTimeout, what, status)
		case <-p.cluster.Failed():
			return p.cluster.Failure()
		case <-p.ended():
			return p.autoscaler.Err()
		case <-ctx.Done():
			return fmt.Errorf("stopped while waiting until %s: %w", what, context.Cause(ctx))
		}
	}
}

// ended is closed when the autoscaler has ended; nil before it is started.
func (p *player) ended() <-chan struct{} {
	if p.autoscaler == nil {
		return nil
	}
	return p.autoscaler.Done()
}

// conclude completes the log.
func (p *player) conclude(ctx context.Context, complete bool) (checker.Log, error) {
	end, err := finalState(ctx, p.cluster, p.cloud)
	if err != nil {
		return nil, err
	}
	end.Complete = complete
	if peak, err := p.autoscaler.PeakMemory(); err == nil {
		end.PeakRSS = peak // else there is no /proc on this system
	}
	log := p.recorder.since(0)
	writes, err := readWrites(p.cluster.AuditLog())
	if err != nil {
		return nil, err
	}
	log = append(log, writes...)
	log = append(log, p.cloud.calls()...)
	log.Sort()
	return append(log, checker.Record{Time: time.Now(), End: &end}), nil
}

// judge saves the log, and shows the table and the verdicts.
func judge(out io.Writer, log checker.Log, path string) error {
	if path != "" {
		if err := save(log, path); err != nil {
			return err
		}
	}
	verdicts := checker.Check(log)
	fmt.Fprint(out, "\n", Summary(checker.Measure(log)), "\n")
	for _, verdict := range verdicts {
		fmt.Fprintln(out, verdict)
	}
	if !checker.Passed(verdicts) {
		return ErrJudgement
	}
	return nil
}

func save(log checker.Log, path string) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("saving the record: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return log.Write(file)
}
