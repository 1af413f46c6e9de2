package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/health"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/repair"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/expander"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/simulator"
	"example.com/cluster-autoscaler/simulator/taints"
)

// source is where observations come from.
type source interface {
	Observe(ctx context.Context, at time.Time, deletions []observation.Deletion) (observation.Observation, error)
	Woken() <-chan struct{}
}

// actuator is what carries decisions out.
type actuator interface {
	CleanLeftovers(ctx context.Context, seen observation.Observation) error
	Repair(ctx context.Context, actions []report.RepairAction) []report.RepairOutcome
	Resize(ctx context.Context, resizes []report.Resize) ([]report.ResizeOutcome, error)
	Shrink(ctx context.Context, plan scaledown.Plan) act.Shrunk
	SoftTaints(ctx context.Context, wanted scaledown.SoftTaint) error
	Deletions() []observation.Deletion
	Evicted() []scaledown.Evicted
	Finished() []report.RemovalOutcome
}

// Collaborators are what an Autoscaler works with; all interfaces and pointers are required.
type Collaborators struct {
	Source    source
	Cloud     cloudprovider.CloudProvider
	Scheduler *simulator.Scheduler
	Expander  *expander.Chain
	Actuator  actuator
	Teller    *Teller
	Health    *health.Check
	Metrics   *metrics.Metrics
	Clock     clock.WithTicker
	// Explain: for nodes kept by their pods the report lists all that would have to change, whatever the verbosity of the log. It always does
	// while the log has verdicts.
	Explain bool
}

// Autoscaler is the loop. Run and RunOnce are called by one goroutine.
type Autoscaler struct {
	source    source
	cloud     cloudprovider.CloudProvider
	scheduler *simulator.Scheduler
	expander  *expander.Chain
	act       actuator
	teller    *Teller
	health    *health.Check
	metrics   *metrics.Metrics
	clock     clock.WithTicker
	options   config.Options
	explain   bool

	rules    taints.Rules
	registry *clusterstate.Registry
	planner  *scaledown.Planner
	// started is when the process started to lead, recalled whether the first iteration has taken over what the process before knew.
	started  time.Time
	recalled bool
	// seen is when the cluster was last seen; zero: never.
	seen time.Time
	// lastProgress is the time of the last iteration that began work.
	lastProgress time.Time
	// young is set while the latest iteration held pods back because all of them are new; settled once no other has joined them for a while,
	// so that the next iteration waits for no more of them.
	young   *report.CoolDown
	settled bool
	// fixed is the end of a window for new pods that does not end sooner when no other joins them.
	fixed time.Time
	// rhythm is that of Step.
	rhythm rhythm
}

// New returns an Autoscaler whose memory is empty. It starts nothing.
func New(with Collaborators, options config.Options) *Autoscaler {
	now := with.Clock.Now()
	return &Autoscaler{
		source: with.Source, cloud: with.Cloud, scheduler: with.Scheduler, expander: with.Expander, act: with.Actuator,
		teller: with.Teller, health: with.Health, metrics: with.Metrics, clock: with.Clock, options: options, explain: with.Explain,
		rules:    TaintRules(options.Templates),
		registry: clusterstate.NewRegistry(options.ClusterState, now),
		planner:  scaledown.NewPlanner(with.Scheduler, scaledown.NewOptions(options)),
		started:  now,
		// An hour ago nothing was begun, so that the pause after the first iteration is not cut short.
		lastProgress: now.Add(-time.Hour),
	}
}

// refreshError is an error of the cloud that leaves an iteration with nothing to decide on.
type refreshError struct{ err error }

// Error is that of the cause.
func (e *refreshError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *refreshError) Unwrap() error { return e.err }

// RunOnce makes one iteration: it observes, repairs, grows and shrinks, and tells the world. It blocks for as long as the calls to the cloud
// and to the API server take. The error says that there was nothing to decide on, or that nodes could not be removed; a refused scale-up is no
// error, nor is trouble with single pods or groups: the report has it.
func (a *Autoscaler) RunOnce(ctx context.Context) (report.Report, error) {
	a.young = nil
	seen, err := a.observe(ctx)
	if err != nil {
		a.teller.TellNotices(a.cloudNotices())
		return report.Report{}, err
	}
	told := report.Report{At: seen.At, GroupErrors: seen.GroupErrors, Features: features(seen), MaxNodesTotal: a.options.Limits.MaxNodes, Notices: a.cloudNotices()}
	if why := a.nothingToWorkWith(seen); why != "" {
		a.teller.TellNotices(told.Notices)
		a.teller.Idle(ctx, seen.At, why, a.clock.Now().Sub(a.started))
		return told, nil
	}
	told = withSettings(told, a.expander.Update(seen.At, groupIDs(seen)))
	defer a.undo(ctx, seen)() // whatever the rounds try out in the snapshot is gone afterwards

	finished := a.act.Finished()
	a.registry.Ended(finished)
	state := a.registry.Observe(seen)
	a.seen = seen.At
	told.Repair, state = a.repair(ctx, seen, state)
	if state.Cluster.Healthy && ctx.Err() == nil {
		a.metrics.Activity(metrics.ActivityAutoscaling, seen.At)
		var pending pending
		told.ScaleUp, pending, state = a.grow(ctx, seen, state)
		told.ScaleDown, state = a.shrink(ctx, seen, state, pending)
		told.ScaleUp, state = a.keepMinimum(ctx, state, told.ScaleUp, pending)
		told.Errors = append(told.Errors, pending.errs...)
	}
	told.ScaleDown.Finished = finished
	told = conclude(told, seen, state, a.rules)
	a.progress(told)
	a.teller.Tell(ctx, told, a.memory())
	return told, told.ScaleDown.Err
}

// observe reads the cluster and the cloud. It also tidies up what the process before has left behind: of each node when it first comes in sight.
func (a *Autoscaler) observe(ctx context.Context) (observation.Observation, error) {
	start := a.clock.Now()
	seen, err := a.source.Observe(ctx, start, a.act.Deletions())
	a.metrics.Took(metrics.FunctionRefresh, a.clock.Now().Sub(start))
	if err != nil {
		return observation.Observation{}, &refreshError{err: fmt.Errorf("observing the cluster: %w", err)}
	}
	if !a.recalled {
		a.recalled = true
		a.remember(ctx, seen)
		a.planner.RestoreFrom(seen.Nodes, a.options.SoftTaints.CandidateTTL, seen.At)
	}
	if err := a.act.CleanLeftovers(ctx, seen); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot tidy up what an earlier process has left behind")
	}
	return seen, nil
}

// cloudNotices are what came up in the cloud since the iteration before.
func (a *Autoscaler) cloudNotices() []report.Notice {
	notifier, ok := a.cloud.(cloudprovider.Notifier)
	if !ok {
		return nil
	}
	var notices []report.Notice
	for _, n := range notifier.Notices() {
		notices = append(notices, report.Notice{Group: n.Group, Reason: n.Reason, Message: n.Message, Normal: n.Normal})
	}
	return notices
}

// nothingToWorkWith says why an iteration ends early with --scale-up-from-zero=false; empty: it does not (loop-and-scale-up 1.4.3).
func (a *Autoscaler) nothingToWorkWith(seen observation.Observation) string {
	switch {
	case a.options.Loop.ScaleUpFromZero:
		return ""
	case len(seen.Nodes) == 0:
		return noNodes
	case !anyReady(seen.Nodes):
		return noReadyNodes
	default:
		return ""
	}
}

// undo forks the snapshot and returns what reverts the fork.
func (a *Autoscaler) undo(ctx context.Context, seen observation.Observation) func() {
	seen.Snapshot.Fork()
	return func() {
		if err := seen.Snapshot.Revert(); err != nil {
			klog.FromContext(ctx).Error(err, "Cannot undo what an iteration tried out")
		}
	}
}

// repair is the first round.
func (a *Autoscaler) repair(
	ctx context.Context, seen observation.Observation, state clusterstate.State,
) (report.Repair, clusterstate.State) {
	repaired := report.Repair{TimedOut: state.TimedOut, Failed: state.Failed, Foreign: state.Foreign}
	repaired.Outcomes = a.act.Repair(ctx, repair.Plan(seen, state, a.options.ClusterState))
	return repaired, a.registry.AfterRepair(repaired.Outcomes)
}

// shrink is the third round.
func (a *Autoscaler) shrink(
	ctx context.Context, seen observation.Observation, state clusterstate.State, waiting pending,
) (report.ScaleDown, clusterstate.State) {
	shrunk := report.ScaleDown{Result: report.ScaleDownNotTried}
	if !a.options.ScaleDown.Enabled || waiting.growOnly || ctx.Err() != nil {
		return shrunk, state
	}
	a.metrics.Activity(metrics.ActivityScaleDown, seen.At)
	start := a.clock.Now()
	plan, err := a.planner.Plan(ctx, scaledown.In{
		Seen: waiting.without(seen), State: state, Snapshot: seen.Snapshot, Evicted: a.act.Evicted(),
		Budget:    newBudget(a.clock, a.options.ScaleDown.SimulationTimeout),
		YoungPods: waiting.young != nil || len(waiting.errs) > 0,
		Explain:   a.explain || klog.FromContext(ctx).V(verboseVerdict).Enabled(),
	})
	a.metrics.Took(metrics.FunctionFindUnneeded, a.clock.Now().Sub(start))
	if err != nil {
		shrunk.Result, shrunk.Err = report.ScaleDownError, err
		return shrunk, state
	}
	if plan.NoRoom != nil {
		klog.FromContext(ctx).V(verboseDecision).Info("Cannot keep room for all pods that were evicted lately", "pod", klog.KRef(plan.NoRoom.Namespace, plan.NoRoom.Name))
	}
	start = a.clock.Now()
	started := a.act.Shrink(ctx, plan)
	a.metrics.Took(metrics.FunctionScaleDown, a.clock.Now().Sub(start))

	start = a.clock.Now()
	if err := a.act.SoftTaints(ctx, plan.SoftTaint); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot mark all unneeded nodes")
	}
	a.metrics.Took(metrics.FunctionSoftTaint, a.clock.Now().Sub(start))

	shrunk = shrinkReport(plan, started)
	shrunk.Pending = len(a.act.Deletions())
	return shrunk, a.registry.AfterScaleDown(started.Started, started.Err)
}

// shrinkReport puts the plan and what became of it together.
func shrinkReport(plan scaledown.Plan, started act.Shrunk) report.ScaleDown {
	shrunk := report.ScaleDown{
		CoolDown: plan.CoolDown, Unneeded: plan.Unneeded, Unreached: plan.Unreached, Kept: mergeVerdicts(plan.Kept, started.Refused),
		Started: started.Started, Err: started.Err,
	}
	switch {
	case started.Err != nil:
		shrunk.Result = report.ScaleDownError
	case plan.CoolDown != nil:
		shrunk.Result = report.ScaleDownInCooldown
	case plan.Candidates == 0:
		shrunk.Result = report.ScaleDownNoCandidates
	case len(started.Started) > 0:
		shrunk.Result = report.ScaleDownStarted
	default:
		shrunk.Result = report.ScaleDownNoNodeDelete
	}
	return shrunk
}

// conclude adds to the report what follows from the state at the end.
func conclude(told report.Report, seen observation.Observation, state clusterstate.State, rules taints.Rules) report.Report {
	told.Cluster = state.Cluster
	told.Cluster.Taints = countTaints(seen.Nodes, rules)
	unneeded := map[cloudprovider.GroupID]int{}
	for _, node := range told.ScaleDown.Unneeded {
		unneeded[node.Group]++
	}
	for _, group := range state.Groups {
		status := group.GroupStatus
		status.Unneeded = unneeded[status.Group]
		if group, ok := seen.GroupOf(status.Group); ok {
			status.Autoprovisioned, status.GPU = group.Autoprovisioned, gpuOf(seen, group)
			if status.SetAside == nil && group.TemplateErr != nil { // it can shrink but not grow; nobody should have to wait for a pod to learn that
				status.SetAside = &report.GroupSetAside{Error: group.TemplateErr.Error()}
			}
		}
		told.Groups = append(told.Groups, status)
	}
	if told.ScaleUp.Result == "" {
		told.ScaleUp.Result = report.ScaleUpNotTried
	}
	if told.ScaleDown.Result == "" {
		told.ScaleDown.Result = report.ScaleDownNotTried
	}
	if told.ScaleDown.Err != nil {
		told.ScaleDown.Err = fmt.Errorf("removing nodes: %w", told.ScaleDown.Err)
	}
	return told
}

func features(seen observation.Observation) []report.Feature {
	out := make([]report.Feature, 0, len(seen.Features))
	for _, feature := range seen.Features {
		f := report.Feature{Name: feature.Name, Since: feature.Since}
		if feature.Err != nil {
			f.Error = feature.Err.Error()
		}
		out = append(out, f)
	}
	return out
}

// withSettings adds what the expanders are configured by.
func withSettings(told report.Report, settings expander.Settings) report.Report {
	told.Notices = append(told.Notices, settings.Notices...)
	told.Features = append(told.Features, settings.Features...)
	slices.SortStableFunc(told.Features, func(a, b report.Feature) int { return cmp.Compare(a.Name, b.Name) })
	return told
}

// groupIDs are all groups, those that cannot be described too.
func groupIDs(seen observation.Observation) []cloudprovider.GroupID {
	ids := make([]cloudprovider.GroupID, 0, len(seen.Groups)+len(seen.GroupErrors))
	for i := range seen.Groups {
		ids = append(ids, seen.Groups[i].ID)
	}
	for _, trouble := range seen.GroupErrors {
		if !slices.Contains(ids, trouble.Group) { // it may be known from older data
			ids = append(ids, trouble.Group)
		}
	}
	return ids
}

// mergeVerdicts puts the nodes that act refused to touch among those that stay, by ascending name.
func mergeVerdicts(kept, refused []report.NodeVerdict) []report.NodeVerdict {
	if len(refused) == 0 {
		return kept
	}
	all := slices.Concat(kept, refused)
	slices.SortStableFunc(all, func(a, b report.NodeVerdict) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// budget is how long a search may take.
type budget struct {
	clock clock.PassiveClock
	until time.Time // zero: for ever
}

func newBudget(c clock.PassiveClock, limit time.Duration) budget {
	return budget{clock: c, until: c.Now().Add(limit)}
}

// Spent says whether the time is over.
func (b budget) Spent() bool { return !b.until.IsZero() && !b.clock.Now().Before(b.until) }
