package act

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/drain"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

const (
	// evictDaemonSetAnnotation stands on a pod of a DaemonSet and overrides the flags: "true" evicts it, anything else doesn't.
	evictDaemonSetAnnotation = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
	// retryEvery is the pause between two attempts to evict one pod.
	retryEvery = 10 * time.Second
	// leavingMargin is how much longer than their grace period evicted pods may take to be gone.
	leavingMargin = 30 * time.Second
)

// eviction moves the pods of one node away, wave by wave.
type eviction struct {
	waves   []wave
	current int
}

// wave is the pods that are evicted together. The next wave begins when those of this one that matter are gone.
type wave struct {
	// limit caps the grace period of its pods; 0 or less: it doesn't, and they may take no longer than leavingMargin.
	limit time.Duration
	pods  []*leaver
	begun bool
	// progress is when a pod of it was last accepted, or it began.
	progress time.Time
	// until is how long its pods may take to be gone; zero while they are being evicted.
	until time.Time
}

// leaver is one pod to evict.
type leaver struct {
	pod *corev1.Pod
	// bestEffort: whether the pod goes does not matter.
	bestEffort bool
	// next is the time of the next attempt, closes when no more attempts are made.
	next, closes time.Time
	attempts     int
	last         error // of the last attempt
	accepted     bool
	at           time.Time // of the last attempt
	err          error     // set once it was given up
	gone         bool
}

func (l *leaver) settled() bool { return l.accepted || l.err != nil }

// planEviction sorts the pods to be evicted into waves (scale-down 5.7.1 and 5.7.2). On an empty node that is at most some pods
// of DaemonSets, which nobody waits for.
func (a *Actuator) planEviction(pods []*corev1.Pod, drained bool) eviction {
	byFlag := a.options.Drain.DaemonSetsOnEmpty
	if drained {
		byFlag = a.options.Drain.DaemonSetsWhenDrained
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, comparePods)
	waves := a.emptyWaves(drained)
	for _, pod := range pods {
		daemon := podfacts.IsDaemonSet(pod)
		switch {
		case podfacts.IsMirror(pod), !daemon && !drained, daemon && !evictDaemon(pod, byFlag):
			continue
		}
		at := 0
		if drained {
			at = a.waveOf(pod)
		}
		bestEffort := daemon && (!drained || len(a.options.Drain.PriorityGroups) == 0)
		waves[at].pods = append(waves[at].pods, &leaver{pod: pod, bestEffort: bestEffort})
	}
	waves = slices.DeleteFunc(waves, func(w wave) bool { return len(w.pods) == 0 })
	return eviction{waves: waves}
}

func (a *Actuator) emptyWaves(drained bool) []wave {
	groups := a.options.Drain.PriorityGroups
	if !drained || len(groups) == 0 {
		return []wave{{limit: a.options.Drain.MaxGracefulTermination}}
	}
	waves := make([]wave, 0, len(groups))
	for _, group := range groups {
		waves = append(waves, wave{limit: group.GracePeriod})
	}
	return waves
}

// waveOf is the wave with the highest priority that is not above the pod's, or the first one.
func (a *Actuator) waveOf(pod *corev1.Pod) int {
	found := 0
	for i, group := range a.options.Drain.PriorityGroups {
		if group.Priority <= podfacts.Priority(pod) {
			found = i
		}
	}
	return found
}

func evictDaemon(pod *corev1.Pod, byFlag bool) bool {
	if value, ok := pod.Annotations[evictDaemonSetAnnotation]; ok {
		return value == "true"
	}
	return byFlag
}

func comparePods(a, b *corev1.Pod) int {
	if a.Namespace != b.Namespace {
		if a.Namespace < b.Namespace {
			return -1
		}
		return 1
	}
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// evict makes the attempts that are due in the current wave and judges the wave once every pod of it was evicted or given up.
func (a *Actuator) evict(ctx context.Context, r *removal, now time.Time) {
	if r.drain.current >= len(r.drain.waves) {
		r.phase = phaseHeld
		return
	}
	w := &r.drain.waves[r.drain.current]
	a.begin(ctx, w, now)
	var calls errgroup.Group
	calls.SetLimit(a.options.Parallelism)
	for _, l := range w.pods {
		if !l.settled() && !earlier(l.next, l.closes).After(now) {
			calls.Go(func() error {
				a.attempt(ctx, l, w, now)
				return nil
			})
		}
	}
	_ = calls.Wait() // attempts keep their errors themselves
	if slices.ContainsFunc(w.pods, func(l *leaver) bool { return l.accepted && l.at.Equal(now) }) {
		w.progress = now
	}

	open := time.Time{}
	for _, l := range w.pods {
		if l.settled() {
			continue
		}
		if next := earlier(l.next, l.closes); open.IsZero() || next.Before(open) {
			open = next
		}
	}
	switch {
	case !open.IsZero():
		r.due = open
	case len(refused(w.pods)) > 0:
		a.failDrain(r, now, errors.Join(refused(w.pods)...))
	default:
		w.until = now.Add(max(0, w.limit) + leavingMargin)
		r.phase = phaseLeaving
	}
}

// refused are the errors of the pods that had to go and didn't.
func refused(pods []*leaver) []error {
	var errs []error
	for _, l := range pods {
		if l.err != nil && !l.bestEffort {
			errs = append(errs, l.err)
		}
	}
	return errs
}

func (a *Actuator) begin(ctx context.Context, w *wave, now time.Time) {
	if w.begun {
		return
	}
	w.begun, w.progress = true, now
	for _, l := range w.pods {
		l.next, l.closes = now, now.Add(a.options.Drain.MaxPodEvictionTime)
		a.observer.Observe(EvictionBegun{Pod: l.pod})
		klog.FromContext(ctx).V(1).Info("Evicting pod", "pod", klog.KObj(l.pod), "node", l.pod.Spec.NodeName)
	}
}

// attempt asks for the eviction of one pod, or gives it up once its window has closed. The first attempt is always made.
func (a *Actuator) attempt(ctx context.Context, l *leaver, w *wave, now time.Time) {
	if l.attempts > 0 && !now.Before(l.closes) {
		l.err = l.last
		a.observer.Observe(EvictionEnded{Pod: l.pod, Err: l.err, BestEffort: l.bestEffort})
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	l.attempts++
	l.at = now
	err := a.kube.Evict(ctx, l.pod, graceOf(l.pod, w.limit))
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) && a.left(ctx, l.pod) {
		l.accepted = true
		a.rememberEvicted(l.pod, now)
		a.observer.Observe(EvictionEnded{Pod: l.pod, BestEffort: l.bestEffort})
		return
	}
	l.next = now.Add(retryEvery)
	var ending bool
	l.last, ending = a.refusal(l.pod, err, now)
	if ending {
		// The budget counts a pod that is on its way out. Giving up now would undo the drain and start it anew, for days. A workload that always has
		// such a pod must not hold the drain for ever, though: without progress, it lasts as long as a pod may take to be gone.
		patience := w.progress.Add(max(0, w.limit) + leavingMargin + a.options.Drain.MaxPodEvictionTime)
		l.closes = later(l.closes, earlier(now.Add(a.options.Drain.MaxPodEvictionTime), patience))
	}
}

// refusal explains why the API server would not evict the pod, and tells whether a pod of the budget that refuses is ending: one
// that should have been gone long ago doesn't count.
func (a *Actuator) refusal(pod *corev1.Pod, err error, now time.Time) (why error, ending bool) { //nolint:revive // the error is what is explained
	why = fmt.Errorf("evicting pod %s: %w", nameOf(pod), err)
	if !apierrors.IsTooManyRequests(err) && !serverError(err) {
		return why, false
	}
	pdbs, listErr := a.lister.PodDisruptionBudgets()
	if listErr != nil {
		return why, false
	}
	var names []string
	for _, pdb := range drain.NewBudgets(pdbs).Matching(pod) {
		names = append(names, budgetName(pdb))
		ending = ending || apierrors.IsTooManyRequests(err) && a.anyEnding(pdb, now)
	}
	switch {
	case apierrors.IsTooManyRequests(err) && len(names) > 0:
		why = fmt.Errorf("evicting pod %s: PodDisruptionBudget %s: %w", nameOf(pod), strings.Join(names, ", "), err)
	case serverError(err) && len(names) > 1:
		why = &ContestedError{Pod: nameOf(pod), Budgets: names, Err: err}
	}
	return why, ending
}

// serverError tells an answer with status 500, whatever reason comes with it.
func serverError(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code == http.StatusInternalServerError
}

// ContestedError: several budgets select the pod, so that the API server evicts it for none of them (it answers 500).
type ContestedError struct {
	Pod     report.PodRef
	Budgets []string // namespace/name, ascending; at least two
	Err     error    // the answer
}

// Error names the pod and the budgets.
func (e *ContestedError) Error() string {
	return fmt.Sprintf("pod %s cannot be evicted while more than one PodDisruptionBudget selects it (%s): %v", e.Pod, strings.Join(e.Budgets, ", "), e.Err)
}

// Unwrap returns the answer.
func (e *ContestedError) Unwrap() error { return e.Err }

func (a *Actuator) anyEnding(pdb *policyv1.PodDisruptionBudget, now time.Time) bool {
	selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
	if err != nil {
		return false
	}
	pods, err := a.lister.PodsMatching(pdb.Namespace, selector)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && !podfacts.IsLongTerminating(pod, now)
	})
}

// left tells whether the pod is gone from its node: it doesn't exist any more, or another one of its name is elsewhere.
func (a *Actuator) left(ctx context.Context, pod *corev1.Pod) bool {
	ctx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	live, err := a.kube.Pod(ctx, pod.Namespace, pod.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return live.Spec.NodeName != pod.Spec.NodeName
}

// awaitPods looks whether the pods of the current wave are gone (scale-down 5.7.4).
func (a *Actuator) awaitPods(ctx context.Context, r *removal, now time.Time) {
	w := &r.drain.waves[r.drain.current]
	var calls errgroup.Group
	calls.SetLimit(a.options.Parallelism)
	for _, l := range w.pods {
		if !l.gone && !l.bestEffort {
			calls.Go(func() error {
				l.gone = a.left(ctx, l.pod)
				return nil
			})
		}
	}
	_ = calls.Wait() // a pod that cannot be read is not known to be gone
	switch {
	case !slices.ContainsFunc(w.pods, func(l *leaver) bool { return !l.gone && !l.bestEffort }):
		r.drain.current++
		r.phase = phaseEvicting
	case !now.Before(w.until):
		a.failDrain(r, now, errLeavingSlowly)
	default:
		r.due = earlier(now.Add(pollEvery), w.until)
	}
}

var (
	errLeavingSlowly = errors.New("pods remaining after timeout")
	errNotAttempted  = errors.New("not attempted: the drain ended before")
)

// failDrain gives the drain up, with one result per pod that had to go.
func (a *Actuator) failDrain(r *removal, now time.Time, why error) {
	var results []report.PodEviction
	for i, w := range r.drain.waves {
		for _, l := range w.pods {
			if l.bestEffort {
				continue
			}
			result := report.PodEviction{Pod: nameOf(l.pod)}
			switch {
			case i > r.drain.current:
				result.Err = errNotAttempted
			case l.err != nil:
				result.TimedOut, result.Err = true, l.err
			case i == r.drain.current && errors.Is(why, errLeavingSlowly) && !l.gone:
				result.TimedOut, result.Err = true, why
			}
			results = append(results, result)
		}
	}
	r.fail(now, failure{result: report.RemovalEvictionFailed, err: why, pods: results})
}

// graceOf is the pod's own grace period in seconds, 30 if it has none, capped by the limit if that is above zero.
func graceOf(pod *corev1.Pod, limit time.Duration) int64 {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if limit <= 0 {
		return grace
	}
	return min(grace, int64(math.Ceil(limit.Seconds())))
}
