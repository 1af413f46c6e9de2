package podinjection

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator"
)

// Annotation marks copies: their value for it is Copied.
const (
	Annotation = "podtype"
	Copied     = "fakepod"
)

// LimitFlag is the limit in the reasons of copies that Enforce drops.
const LimitFlag = "--pod-injection-limit"

// excess is how many times --pod-injection-limit copies are made at most. All but so many as the limit says are dropped unless they fit on what is
// there, and a controller may ask for any number.
const excess = 4

// In is what is read. All of it is read only.
type In struct {
	At          time.Time
	Controllers observation.Controllers
	// Snapshot holds the pods that have a node; nothing is injected yet.
	Snapshot *simulator.Snapshot
	// Waiting are the pods without a node, gated ones included, each once.
	Waiting []*corev1.Pod
	// Schedulers are those whose pods count (--allowed-scheduler-names); empty: all.
	Schedulers []string
	// Limit is --pod-injection-limit.
	Limit int
	// BackOff says which controllers are left out.
	BackOff BackOff
}

// Round is what was injected in one iteration. The zero value is nothing.
type Round struct {
	// Pods are the copies: controller by controller, numbered from 0.
	Pods []*corev1.Pod

	controllers []report.Injection
	known       map[types.UID]bool // controllers of which some number of pods is wanted
	of          map[types.UID]int  // index of the controller, by the UID of the copy
}

// IsCopy tells a pod that stands for one that does not exist yet.
func IsCopy(pod *corev1.Pod) bool { return pod.Annotations[Annotation] == Copied }

// Inject makes copies of the pods that controllers miss. Each is like the newest pod of its controller. A controller without any pod gets none, since
// nobody knows what its pods will look like once they are admitted.
func Inject(in In) Round {
	wanted := demands(in.Controllers)
	round := Round{known: make(map[types.UID]bool, len(wanted)), of: map[types.UID]int{}}
	for _, d := range wanted {
		round.known[d.controller.UID] = true
	}
	seen := census(in, round.known)
	room := max(0, in.Limit) * excess
	for _, d := range wanted {
		have := seen[d.controller.UID]
		if have == nil || have.pods >= d.pods || !allowed(in.Schedulers, have.newest) {
			continue
		}
		d.controller.Missing = d.pods - have.pods
		if in.BackOff.active(d.controller.UID, in.At) {
			d.controller.BackedOff = in.BackOff[d.controller.UID].Until
			round.controllers = append(round.controllers, d.controller)
			continue
		}
		d.controller.Injected = min(d.controller.Missing, room-len(round.Pods))
		d.controller.Dropped = d.controller.Missing - d.controller.Injected
		for i := range d.controller.Injected {
			pod := duplicate(have.newest, d.controller.UID, i)
			round.of[pod.UID] = len(round.controllers)
			round.Pods = append(round.Pods, pod)
		}
		round.controllers = append(round.controllers, d.controller)
	}
	return round
}

// kin are the pods of one controller.
type kin struct {
	pods   int
	newest *corev1.Pod
}

// census counts the pods of the controllers.
func census(in In, of map[types.UID]bool) map[types.UID]*kin {
	out := map[types.UID]*kin{}
	look := func(pod *corev1.Pod) {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || !of[owner.UID] {
			return
		}
		k := out[owner.UID]
		if k == nil {
			k = &kin{newest: pod}
			out[owner.UID] = k
		}
		k.pods++
		if newer(pod, k.newest) {
			k.newest = pod
		}
	}
	if len(of) > 0 {
		for _, node := range in.Snapshot.Nodes() {
			in.Snapshot.AnyPod(node.Name, func(pod *corev1.Pod) bool {
				if pod.Spec.NodeName != "" { // the others are among those that wait
					look(pod)
				}
				return false
			})
		}
		for _, pod := range in.Waiting {
			look(pod)
		}
	}
	return out
}

func newer(a, b *corev1.Pod) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name)) > 0
}

// allowed tells a pod that may cause growth; the default scheduler also goes without a name.
func allowed(schedulers []string, pod *corev1.Pod) bool {
	return len(schedulers) == 0 || slices.Contains(schedulers, cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName))
}

// duplicate is what the controller's next pod will be like. It shares with the sample what doesn't differ.
func duplicate(sample *corev1.Pod, controller types.UID, number int) *corev1.Pod {
	pod := *sample
	suffix := strconv.Itoa(number)
	pod.Name, pod.UID = sample.Name+"-copy-"+suffix, controller+types.UID("-"+suffix)
	pod.Annotations = maps.Clone(sample.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[Annotation] = Copied
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	pod.Spec.NodeName = ""
	pod.Status = corev1.PodStatus{}
	return &pod
}

// Enforce drops copies, the first ones first, while there are more pods than the limit. Pods that exist are never dropped.
func Enforce(pods []*corev1.Pod, limit int) (kept, dropped []*corev1.Pod) {
	over := len(pods) - max(0, limit)
	if over <= 0 {
		return pods, nil
	}
	for _, pod := range pods {
		if len(dropped) < over && IsCopy(pod) {
			dropped = append(dropped, pod)
			continue
		}
		kept = append(kept, pod)
	}
	return kept, dropped
}

// Inherit adds to the purchases, for pods that wait, those made for copies of their controllers' pods that are not injected any more: the pods were
// created in the meantime, under other UIDs, and their nodes may still be coming. Purchases of a pod's own count first. The map that was given is not changed.
func (r Round) Inherit(purchases map[types.UID]report.PurchaseOnTheWay, waiting []*corev1.Pod) map[types.UID]report.PurchaseOnTheWay {
	vacant := r.vacant(purchases)
	if len(vacant) == 0 {
		return purchases
	}
	out := maps.Clone(purchases)
	for _, pod := range waiting {
		owner := metav1.GetControllerOfNoCopy(pod)
		if _, bought := purchases[pod.UID]; owner == nil || bought || len(vacant[owner.UID]) == 0 {
			continue
		}
		out[pod.UID] = purchases[vacant[owner.UID][0]]
		vacant[owner.UID] = vacant[owner.UID][1:]
	}
	return out
}

// vacant are the copies that something was bought for and that are not injected any more, by controller, in the order of their numbers.
func (r Round) vacant(purchases map[types.UID]report.PurchaseOnTheWay) map[types.UID][]types.UID {
	type copied struct {
		uid    types.UID
		number int
	}
	found := map[types.UID][]copied{}
	for uid := range purchases {
		at := strings.LastIndexByte(string(uid), '-')
		if at < 0 || !r.known[uid[:at]] {
			continue
		}
		number, err := strconv.Atoi(string(uid[at+1:]))
		if _, injected := r.of[uid]; err != nil || injected {
			continue
		}
		found[uid[:at]] = append(found[uid[:at]], copied{uid, number})
	}
	out := make(map[types.UID][]types.UID, len(found))
	for controller, copies := range found {
		slices.SortFunc(copies, func(a, b copied) int { return cmp.Compare(a.number, b.number) })
		for _, c := range copies {
			out[controller] = append(out[controller], c.uid)
		}
	}
	return out
}

// Settle takes what became of the copies out of the verdicts and tells it controller by controller; controllers that miss no pods are not told of. With
// the zero Round told is nil, else it is not.
func (r Round) Settle(verdicts []report.PodVerdict) (pods []report.PodVerdict, told []report.Injection) {
	if r.of == nil {
		return verdicts, nil
	}
	told = append([]report.Injection{}, r.controllers...)
	if len(told) == 0 {
		return verdicts, told
	}
	for _, verdict := range verdicts {
		at, copied := r.of[verdict.Pod.UID]
		if !copied {
			pods = append(pods, verdict)
			continue
		}
		note(&told[at], verdict)
	}
	return pods, told
}

func note(told *report.Injection, verdict report.PodVerdict) {
	switch verdict.Fate {
	case report.PodFits:
		told.Fitting++
	case report.PodTriggered:
		told.Triggered++
	case report.PodAwaiting:
		told.Awaiting++
	case report.PodUnschedulable:
		told.Unhelped++
	case report.PodLeftAlone:
		if own, ok := verdict.Own.(report.NotReached); ok && own.Limit == LimitFlag {
			told.Dropped++
		}
	}
}
