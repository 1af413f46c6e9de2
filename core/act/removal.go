package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/core/scaledown"
	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// delayDeletionPrefix starts the annotations of a node by which others ask for time before its machine ends.
const delayDeletionPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/"

// errForbidden: somebody has annotated the node against its removal since it got the taint.
var errForbidden = errors.New("an annotation has come to forbid its removal")

// pollEvery is how often a removal looks whether pods or annotations are gone.
const pollEvery = 5 * time.Second

// phase is what a removal waits for.
type phase int

const (
	phaseUnset   phase = iota
	phaseTainted       // schedulers have to see the taint
	phaseEvicting
	phaseLeaving // evicted pods have to be gone
	phaseHeld    // annotations ask for time
	phaseReady   // the rest of its batch, or the cloud
	phaseUndoing // the taint has to be taken away
	phaseEnded
)

// removal takes one node from the taint to the order to end its machine, or back into service. Its crew owns it: only the goroutine
// that steps the crew touches it, under the protection of crew.busy.
type removal struct {
	what      report.Removal
	node      *corev1.Node // as it was when it got the taint
	taintedAt time.Time
	batch     *batch // nil: it goes alone
	// seeing says how long schedulers are given to see the taint; nil: a fixed time.
	seeing *sighting
	// handed is true once it waits for its batch or the cloud.
	handed bool

	phase phase
	// due is when there is something to do again.
	due   time.Time
	drain eviction
	// heldUntil is when annotations are no longer waited for; zero: they were not looked at yet.
	heldUntil time.Time

	failure failure
	// undoSince is when taking the taint away was first tried; zero: it was not.
	undoSince time.Time
}

// failure says why a removal is undone.
type failure struct {
	result report.RemovalResult
	err    error
	// byCloud is true if the cloud refused.
	byCloud bool
	pods    []report.PodEviction
}

// fail makes the removal go back.
func (r *removal) fail(now time.Time, why failure) {
	r.failure, r.phase, r.due = why, phaseUndoing, now
}

func newRemoval(of scaledown.Candidate, node *corev1.Node, taintedAt, due time.Time) *removal {
	return &removal{what: of.Removal, node: node, taintedAt: taintedAt, phase: phaseTainted, due: due}
}

// advance does what is due for one removal, up to the point where it needs its batch or the cloud.
func (a *Actuator) advance(ctx context.Context, r *removal, now time.Time) {
	for !r.due.After(now) {
		if err := a.objects(r); err != nil {
			r.fail(now, *err)
			return
		}
		switch r.phase {
		case phaseTainted:
			if r.due = a.waited(r.seeing, now); !r.due.After(now) {
				a.look(r, now)
			}
		case phaseEvicting:
			a.evict(ctx, r, now)
		case phaseLeaving:
			a.awaitPods(ctx, r, now)
		case phaseHeld:
			a.awaitAnnotations(r, now)
		case phaseUnset, phaseReady, phaseUndoing, phaseEnded:
			return
		}
	}
}

// objects says why the removal of the node must not go on, whatever its pods are: it is gone, or another one has its name by now, whose pods are
// no concern of ours; or somebody has come to forbid it. nil: it may.
func (a *Actuator) objects(r *removal) *failure {
	result := report.RemovalInternalFailure
	switch r.phase {
	case phaseTainted, phaseEvicting, phaseLeaving:
	case phaseHeld:
		result = report.RemovalDeletionFailed
	case phaseUnset, phaseReady, phaseUndoing, phaseEnded:
		return nil
	}
	node, ok := a.lister.Node(r.what.Node)
	if !ok {
		return &failure{result: result, err: errReplaced}
	}
	if err := forbids(node, r.node); err != nil {
		return &failure{result: result, err: err}
	}
	return nil
}

// forbids says why a node must not be removed, given what it is now and what it was when it got the taint; nil: it may.
func forbids(node, meant *corev1.Node) error {
	switch {
	case !same(node, meant):
		return errReplaced
	case node.Annotations[scaledown.DisabledAnnotation] == "true":
		return errForbidden
	}
	return nil
}

// look judges the node by the pods that it has now that schedulers know of its taint (scale-down 5.5): a node planned as
// empty must be empty, one that is drained must still be drainable. A pod that has to end by itself keeps either.
func (a *Actuator) look(r *removal, now time.Time) {
	pods, err := a.lister.Pods(r.what.Node)
	if err == nil {
		pods = a.counted(pods)
		err = a.stillRemovable(r, pods, now)
	}
	if err != nil {
		r.fail(now, failure{result: report.RemovalInternalFailure, err: err})
		return
	}
	r.drain = a.planEviction(pods, r.what.Drain)
	r.phase = phaseEvicting
}

func (a *Actuator) stillRemovable(r *removal, pods []*corev1.Pod, now time.Time) error {
	rules := drain.Context{At: now, Options: scaledown.DrainRules(a.options.ScaleDown)}
	if r.what.Drain {
		pdbs, err := a.lister.PodDisruptionBudgets()
		if err != nil {
			return fmt.Errorf("listing PodDisruptionBudgets: %w", err)
		}
		rules.Budgets = drain.NewBudgets(pdbs)
		rules.Workloads = a.workloads
	}
	found := drain.Evaluate(pods, rules)
	switch {
	case found.Blocking != nil:
		return &BlockedError{Pod: nameOf(found.Blocking.Pod), Reason: found.Blocking.Reason, Err: found.Blocking.Err, Budget: budgetOf(rules.Budgets, found.Blocking)}
	case len(found.OnCompletion) > 0:
		return &BlockedError{Pod: nameOf(found.OnCompletion[0]), Reason: "OnCompletion"}
	case !r.what.Drain && len(found.Move) > 0:
		return &OccupiedError{Node: r.what.Node, Pod: nameOf(found.Move[0])}
	}
	return nil
}

func budgetOf(budgets *drain.Budgets, blocking *drain.Blocking) string {
	if blocking.Reason != drain.NotEnoughPdb {
		return ""
	}
	if pdb := budgets.Exhausted(blocking.Pod); pdb != nil {
		return budgetName(pdb)
	}
	return ""
}

// counted leaves out the pods that no plan sees: those that have ended, expendable ones, those of other schedulers.
func (a *Actuator) counted(pods []*corev1.Pod) []*corev1.Pod {
	kept := make([]*corev1.Pod, 0, len(pods))
	for _, pod := range pods {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !ended && !podfacts.IsExpendable(pod, a.options.Pods.ExpendablePriorityCutoff) && a.ourScheduler(pod) {
			kept = append(kept, pod)
		}
	}
	return kept
}

func (a *Actuator) ourScheduler(pod *corev1.Pod) bool {
	allowed := a.options.Pods.AllowedSchedulers
	if len(allowed) == 0 {
		return true
	}
	return slices.Contains(allowed, pod.Spec.SchedulerName)
}

// awaitAnnotations gives those who asked for it time, up to a limit (scale-down 5.6).
func (a *Actuator) awaitAnnotations(r *removal, now time.Time) {
	limit := a.options.ScaleDown.DeletionDelayTimeout
	if limit <= 0 {
		r.phase = phaseReady
		return
	}
	node, ok := a.lister.Node(r.what.Node)
	switch {
	case !ok || !asksForTime(node), !r.heldUntil.IsZero() && !now.Before(r.heldUntil):
		r.phase = phaseReady
	default:
		if r.heldUntil.IsZero() {
			r.heldUntil = now.Add(limit)
		}
		r.due = earlier(now.Add(pollEvery), r.heldUntil)
	}
}

func asksForTime(node *corev1.Node) bool {
	for key := range node.Annotations {
		if strings.HasPrefix(key, delayDeletionPrefix) {
			return true
		}
	}
	return false
}

// undrained returns a pod that keeps the machine from being ended, judged on what the API server says now: one that would have to
// be moved, that blocks, or that has to end by itself. nil: there is none.
func (a *Actuator) undrained(ctx context.Context, node string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	pods, err := a.kube.PodsOn(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	found := drain.Evaluate(a.counted(pods), drain.Context{At: a.clock.Now(), Options: scaledown.DrainRules(a.options.ScaleDown)})
	switch {
	case found.Blocking != nil:
		return found.Blocking.Pod, nil
	case len(found.Move) > 0:
		return found.Move[0], nil
	case len(found.OnCompletion) > 0:
		return found.OnCompletion[0], nil
	}
	return nil, nil //nolint:nilnil // no pod is an answer, not a fault
}

func nameOf(pod *corev1.Pod) report.PodRef {
	return report.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

func budgetName(pdb *policyv1.PodDisruptionBudget) string { return pdb.Namespace + "/" + pdb.Name }

// earlier is the first of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// later is the second of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// BlockedError: a pod has come to keep the node.
type BlockedError struct {
	Pod    report.PodRef
	Reason drain.Reason // "OnCompletion" for a pod that has to end by itself
	Budget string       // namespace/name of the budget, where one keeps it
	Err    error        // set with drain.UnexpectedError only
}

// Error names the pod and why it blocks.
func (e *BlockedError) Error() string {
	text := fmt.Sprintf("pod %s keeps the node: %s", e.Pod, e.Reason)
	if e.Budget != "" {
		text += " (PodDisruptionBudget " + e.Budget + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *BlockedError) Unwrap() error { return e.Err }

// OccupiedError: a pod that would have to be moved is on a node whose machine was to be ended.
type OccupiedError struct {
	Node string
	Pod  report.PodRef
}

// Error names node and pod.
func (e *OccupiedError) Error() string { return fmt.Sprintf("pod %s is on node %s", e.Pod, e.Node) }
