package drain

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rulings judges pods as Judge does, and asks the rules once about pods that are alike, but for how many disruptions the budgets still allow. Workloads
// and time stand still while it is in use. Not safe for concurrent use.
//
// Pods are alike if they have the same class, a number above zero: they may then differ in nothing but name, UID, times and node, and none of them may be
// about to end. Pods of class 0 are each looked at.
type Rulings struct {
	context Context
	rules   [12]Rule
	byClass map[int]*ruling
	// latest is the ruling about the class last; neighbours often have the same one.
	last   int
	latest *ruling
}

// ruling is what is the same for all pods of a class.
type ruling struct {
	// decision is that of all rules but the one about budgets, which has a say if guarded; moves is what it means for the pod.
	decision Decision
	moves    bool
	guarded  bool
	// budgets are those that select the pod, or may do so.
	budgets []int
	// timed: the time counts at which the pod was made, so that it is one pod's ruling only.
	timed bool
}

// NewRulings returns Rulings that know of no pod yet. They read the budgets of c, and lower them.
func NewRulings(c Context) *Rulings {
	return &Rulings{context: c, rules: chainOfRules(), byClass: map[int]*ruling{}}
}

// Judge is what the rules say about a pod of the class.
func (r *Rulings) Judge(pod *corev1.Pod, class int) Judged {
	found := r.about(pod, class)
	if found.guarded {
		for _, i := range found.budgets {
			if r.context.Budgets.left[i] < 1 {
				return Judged{Pod: pod, Decision: exhausted(&r.context.Budgets.all[i])}
			}
		}
	}
	return Judged{Pod: pod, Decision: found.decision, Moves: found.moves}
}

// Remove judges the removal of all these pods, which come with their classes, as Budgets.CanRemove does, and counts it.
func (r *Rulings) Remove(pods iter.Seq2[*corev1.Pod, int]) Verdict {
	budgets := r.context.Budgets
	if budgets.empty() {
		return budgets.judge(nil)
	}
	counts := make([]int, len(budgets.all))
	for pod, class := range pods {
		for _, i := range r.about(pod, class).budgets {
			counts[i]++
		}
	}
	verdict := budgets.judge(counts)
	budgets.lower(counts)
	return verdict
}

func (r *Rulings) about(pod *corev1.Pod, class int) *ruling {
	if class <= 0 {
		return r.look(pod)
	}
	if class != r.last {
		found, known := r.byClass[class]
		if !known {
			found = r.look(pod)
			r.byClass[class] = found
		}
		r.last, r.latest = class, found
	}
	if r.latest.timed {
		return r.look(pod)
	}
	return r.latest
}

// look asks the rules.
func (r *Rulings) look(pod *corev1.Pod) *ruling {
	found := &ruling{
		budgets: r.context.Budgets.selecting(pod),
		timed:   r.context.Options.SkipNodesWithSystemPods && pod.Namespace == metav1.NamespaceSystem,
	}
	for _, rule := range r.rules {
		if _, counts := rule.(budget); counts {
			found.guarded = true
			continue
		}
		if found.decision = rule.Judge(pod, &r.context); found.decision.Outcome != Undecided {
			break
		}
	}
	found.decision = unlessKept(found.decision, pod, &r.context)
	found.moves = found.decision.Moves(pod)
	return found
}
