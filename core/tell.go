package core

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/act"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/saved"
	"example.com/cluster-autoscaler/metrics"
	"example.com/cluster-autoscaler/processors/status"
)

// Verbosities of the log: effects at 0, decisions at 1, single verdicts at 4.
const (
	verboseDecision = 1
	verboseVerdict  = 4
)

// quietStart is how long after the start a cluster without ready nodes is no event: it may be starting too.
const quietStart = 10 * time.Minute

// What keeps an iteration from starting with --scale-up-from-zero=false.
const (
	noNodes      = "Cluster has no nodes."
	noReadyNodes = "Cluster has no ready nodes."
)

// Teller tells the world what was decided and what happened: events, the status ConfigMap, metrics and the log. Observe may be called
// concurrently; the other methods belong to the loop.
type Teller struct {
	recorder *status.Recorder
	board    Board
	metrics  *metrics.Metrics
	logger   klog.Logger

	document status.Document
	encoder  saved.Encoder
	// failing is set while the status cannot be written, which is told once.
	failing bool
	// unsaved is set while the state does not fit, which is told once.
	unsaved bool

	waits waits

	mu sync.Mutex // guards gpus
	// gpus are the accelerators of each group's nodes as of the latest report.
	gpus map[cloudprovider.GroupID]metrics.GPU
}

// StartTelling writes the first status and returns a Teller. Without an object in board no status is kept, and no events about the cluster as a whole
// are recorded. If the status cannot be written it is logged, and those events are off too. What an earlier process has left in the object stays
// there for Recall, unless no state is to be kept.
func StartTelling(ctx context.Context, board Board, events record.EventRecorder, m *metrics.Metrics, at time.Time) *Teller {
	t := &Teller{board: board, metrics: m, logger: klog.FromContext(ctx), document: status.Initializing(at, "")}
	if board.Object == nil {
		t.recorder = status.NewRecorder(events, nil)
		return t
	}
	written, err := t.first(ctx)
	if err != nil {
		t.failing = true
		t.logger.Error(err, "Cannot write the status; events about the cluster are off, and nothing is kept over restarts")
		t.recorder = status.NewRecorder(events, nil)
		return t
	}
	t.recorder = status.NewRecorder(events, status.Reference(written))
	return t
}

// Idle tells that there is nothing to work with, and why.
func (t *Teller) Idle(ctx context.Context, at time.Time, why string, uptime time.Duration) {
	t.metrics.Safe(false)
	t.metrics.Nodes(metrics.NodeCounts{})
	if why != noReadyNodes || uptime > quietStart {
		t.recorder.Record(status.Event{
			Object: status.Object{Kind: status.KindStatus}, Warning: true, Reason: "ClusterUnhealthy", Message: why,
		})
	}
	t.document = status.Initializing(at, why)
	t.write(ctx, nil)
}

// Tell renders the report of one iteration. memory is what is to be kept of it for the next process.
func (t *Teller) Tell(ctx context.Context, r report.Report, memory Memory) {
	t.recorder.Record(status.Events(r)...)
	t.measure(r)
	t.log(r)
	before := t.document
	t.document = status.Render(r, before)
	t.tellSetAside(before)
	t.write(ctx, &memory)
}

// TellNotices tells what came up where no report follows.
func (t *Teller) TellNotices(notices []report.Notice) {
	t.recorder.Record(status.NoticeEvents(notices)...)
	t.logNotices(notices)
}

func (t *Teller) logNotices(notices []report.Notice) {
	for _, notice := range notices {
		about := []any{"reason", notice.Reason, "text", notice.Message}
		if notice.ConfigMap != (report.ObjectRef{}) {
			about = append(about, "object", klog.KRef(notice.ConfigMap.Namespace, notice.ConfigMap.Name))
		}
		if notice.Group != "" {
			about = append(about, "nodeGroup", notice.Group)
		}
		t.logger.Info("Notice", about...)
	}
}

// tellSetAside tells of groups that have newly been set aside: by an event and a line of the log.
func (t *Teller) tellSetAside(before status.Document) {
	for _, aside := range status.NewlySetAside(before, t.document) {
		t.recorder.Record(status.GroupSetAside(aside))
		t.logger.Info("Set node group aside", "nodeGroup", aside.Name, "reason", aside.Error, "since", aside.Since)
	}
}

// log writes a line for each effect, and at higher verbosities for each decision and verdict.
func (t *Teller) log(r report.Report) {
	for _, outcome := range r.Repair.Outcomes {
		t.logRepair(outcome)
	}
	for _, change := range r.Repair.Foreign {
		t.logger.Info("Somebody else has changed the target of node group", "nodeGroup", change.Group, "from", change.From, "to", change.To)
	}
	for _, outcome := range r.ScaleUp.Outcomes {
		if outcome.Granted > 0 {
			t.logger.Info("Resized node group", "nodeGroup", outcome.Group, "from", outcome.From, "to", outcome.From+outcome.Granted, "max", outcome.Max)
		}
		if outcome.Err != nil {
			t.logger.Error(outcome.Err, "Cannot resize node group", "nodeGroup", outcome.Group, "from", outcome.From, "to", outcome.To)
		}
	}
	t.logNotices(slices.Concat(r.Notices, r.ScaleUp.Notices))
	for _, err := range r.Errors {
		t.logger.Error(err, "A step of the iteration failed")
	}
	if decisions := t.logger.V(verboseDecision); decisions.Enabled() {
		logDecisions(decisions, r)
	}
	if verdicts := t.logger.V(verboseVerdict); verdicts.Enabled() {
		logVerdicts(verdicts, r)
	}
}

func (t *Teller) logRepair(outcome report.RepairOutcome) {
	for _, o := range outcome.Outcomes {
		if o.Err != nil {
			t.logger.Error(o.Err, "Cannot end machine", "repair", outcome.Kind, "nodeGroup", outcome.Group, "node", o.Node.Name)
			continue
		}
		if o.Kept != "" {
			t.logger.V(verboseDecision).Info("Left a place alone", "repair", outcome.Kind, "nodeGroup", outcome.Group, "node", o.Node.Name, "reason", o.Kept)
			continue
		}
		t.logger.Info("Ended machine", "repair", outcome.Kind, "nodeGroup", outcome.Group, "node", o.Node.Name, "after", outcome.Age)
	}
	switch {
	case outcome.Err != nil:
		t.logger.Error(outcome.Err, "Repair failed", "repair", outcome.Kind, "nodeGroup", outcome.Group)
	case outcome.Lowered > 0:
		t.logger.Info("Lowered the target of node group", "repair", outcome.Kind, "nodeGroup", outcome.Group, "by", outcome.Lowered, "after", outcome.Age)
	case outcome.Refused != "":
		t.logger.V(verboseDecision).Info("Repair refused", "repair", outcome.Kind, "nodeGroup", outcome.Group, "reason", outcome.Refused)
	}
}

func logDecisions(logger klog.Logger, r report.Report) {
	for _, option := range r.ScaleUp.Options {
		reason := ""
		if option.Reason != nil {
			reason = option.Reason.String()
		}
		logger.Info("Option", "nodeGroup", option.Group, "nodes", option.Nodes, "pods", option.Pods, "waste", option.Waste, "chosen", option.Chosen,
			"reason", reason)
	}
	for _, group := range r.ScaleUp.Skipped {
		logger.Info("Skipped node group", "nodeGroup", group.Group, "reason", group.Reason.Code(), "detail", group.Reason.String())
	}
	for _, i := range r.ScaleUp.Injected {
		logger.Info("Pods yet to come", "kind", i.Kind, "controller", klog.KRef(i.Namespace, i.Name), "missing", i.Missing, "injected", i.Injected,
			"dropped", i.Dropped, "fitting", i.Fitting, "triggered", i.Triggered, "awaiting", i.Awaiting, "unhelped", i.Unhelped, "backedOff", i.BackedOff)
	}
	if told := r.ScaleUp.Degraded; told != nil {
		logger.Info("The search for room was too slow", "unreached", told.Unreached, "loops", told.Loops)
	}
	for _, node := range r.ScaleDown.Unneeded {
		logger.Info("Unneeded node", "node", node.Node, "nodeGroup", node.Group, "since", node.Since, "drain", node.Drain)
	}
	for _, trouble := range r.GroupErrors {
		logger.Info("Cannot describe node group", "nodeGroup", trouble.Group, "reason", trouble.Err.Error(), "since", trouble.Since)
	}
}

func logVerdicts(logger klog.Logger, r report.Report) {
	for _, pod := range r.ScaleUp.Pods {
		reason := ""
		if pod.Own != nil {
			reason = pod.Own.String()
		}
		logger.Info("Pending pod", "pod", klog.KRef(pod.Pod.Namespace, pod.Pod.Name), "fate", pod.Fate, "reason", reason)
		for _, verdict := range pod.Groups {
			logger.Info("Pod does not fit node group", "pod", klog.KRef(pod.Pod.Namespace, pod.Pod.Name), "nodeGroup", verdict.Group,
				"reason", verdict.Reason.Code(), "detail", verdict.Reason.String())
		}
	}
	for _, node := range r.ScaleDown.Kept {
		logger.Info("Kept node", "node", node.Node, "nodeGroup", node.Group, "reason", node.Reason.Code(), "detail", node.Reason.String())
	}
}

// Observe tells what happens at moments of its own.
func (t *Teller) Observe(event act.Event) {
	switch e := event.(type) {
	case act.NodeTainted:
		t.recorder.Record(status.NodeTainted(e.Node.Name, nil))
	case act.TaintFailed:
		t.logger.Error(e.Err, "Cannot taint node for removal", "node", e.Node.Name)
		t.recorder.Record(status.NodeTainted(e.Node.Name, e.Err))
	case act.TaintCleaned:
		t.logger.Info("Removed taint left over by an earlier process", "node", e.Node.Name, "taint", e.Key, "err", e.Err)
		t.recorder.Record(status.TaintCleaned(e.Node.Name, e.Key, e.Err))
	case act.RemovalBegun:
		t.logger.Info("Removing node", "node", e.Removal.Node, "nodeGroup", e.Removal.Group, "reason", e.Removal.Reason, "pods", len(e.Removal.Pods))
		t.recorder.Record(status.DrainBegun(e.Removal))
	case act.RemovalEnded:
		t.removalEnded(e.Outcome)
	case act.EvictionBegun:
		t.recorder.Record(status.EvictionBegun(e.Pod))
	case act.EvictionEnded:
		if e.BestEffort {
			return
		}
		t.metrics.Evicted(e.Err == nil)
		if e.Err != nil {
			t.logger.Error(e.Err, "Cannot evict pod", "pod", klog.KObj(e.Pod), "node", e.Pod.Spec.NodeName)
			t.recorder.Record(status.EvictionGivenUp(e.Pod))
		}
	case act.ResizeBegun:
		t.recorder.Record(status.GrowBegun(e.Resize))
	case act.WriteRefused:
		t.metrics.Refused(string(e.Invariant))
		t.logger.V(verboseDecision).Info("Refused a write", "invariant", e.Invariant, "subject", e.Subject, "reason", e.Why)
	}
}

func (t *Teller) removalEnded(outcome report.RemovalOutcome) {
	t.recorder.Record(status.RemovalEnded(outcome)...)
	if outcome.Result != report.RemovalOK {
		t.logger.Error(outcome.Err, "Cannot remove node", "node", outcome.Node, "nodeGroup", outcome.Group, "result", outcome.Result)
		return
	}
	t.logger.Info("Removed node", "node", outcome.Node, "nodeGroup", outcome.Group, "after", outcome.Ended.Sub(outcome.Started))
	t.mu.Lock()
	gpu := t.gpus[outcome.Group]
	t.mu.Unlock()
	t.metrics.ScaledDown(string(outcome.Reason), gpu)
}
