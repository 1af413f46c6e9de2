package simulator

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// evenness is what the hard topology spread constraints of one kind of pod mean in one snapshot.
type evenness []spreadRule

type spreadRule struct {
	tally      *tally
	maxSkew    int
	minDomains int
	// self is 1 if the pod itself counts where it comes.
	self int
}

// evennessOf reads the constraints of the kind.
func (s *Snapshot) evennessOf(k *kind) evenness {
	sh := k.shape
	if len(sh.spread) == 0 {
		return nil
	}
	keys := make([]string, 0, len(sh.spread))
	for i := range sh.spread {
		keys = append(keys, sh.spread[i].TopologyKey)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	rules := make(evenness, 0, len(sh.spread))
	for i := range sh.spread {
		rules = append(rules, s.spreadRule(k, &sh.spread[i], keys))
	}
	return rules
}

func (s *Snapshot) spreadRule(k *kind, constraint *corev1.TopologySpreadConstraint, keys []string) spreadRule {
	selector := spreadSelector(constraint, k.labels.labels)
	rule := spreadRule{maxSkew: int(constraint.MaxSkew), minDomains: 1}
	if constraint.MinDomains != nil {
		rule.minDomains = int(*constraint.MinDomains)
	}
	if selector.Matches(labels.Set(k.labels.labels)) {
		rule.self = 1
	}
	byAffinity := policy(constraint.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) && k.shape.restrictsNodes()
	byTaints := policy(constraint.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore)
	name := strings.Join([]string{"even", constraint.TopologyKey, strings.Join(keys, ","), k.labels.namespace, selectorName(selector)}, "/")
	if byAffinity || byTaints { // which nodes count depends on more of the pod
		name += "/" + s.nameOf(k.shape) + strconv.FormatBool(byAffinity) + strconv.FormatBool(byTaints)
	}
	rule.tally = s.tally(name, func() *tally {
		namespace := k.labels.namespace
		return &tally{
			topologyKey: constraint.TopologyKey, living: true, even: true,
			counts: func(set *labelSet) bool {
				return set.namespace == namespace && !selector.Empty() && selector.Matches(labels.Set(set.labels))
			},
			admits: admission{keys: keys, pod: k.shape.pod, byAffinity: byAffinity, byTaints: byTaints}.test(),
		}
	})
	return rule
}

// spreadSelector is the constraint's selector, narrowed to the pods that have the same values of some labels.
func spreadSelector(constraint *corev1.TopologySpreadConstraint, own map[string]string) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
	if err != nil { // such shapes go to the framework
		return labels.Nothing()
	}
	same := labels.Set{}
	for _, key := range constraint.MatchLabelKeys {
		if value, ok := own[key]; ok {
			same[key] = value
		}
	}
	requirements, selectable := selector.Requirements()
	if len(same) == 0 || !selectable {
		return selector
	}
	return labels.SelectorFromSet(same).Add(requirements...)
}

func policy(set *corev1.NodeInclusionPolicy, otherwise corev1.NodeInclusionPolicy) (honored bool) {
	if set != nil {
		otherwise = *set
	}
	return otherwise == corev1.NodeInclusionPolicyHonor
}

// admission says which nodes take part in a spread.
type admission struct {
	keys                 []string // of labels that a node must have
	pod                  *corev1.Pod
	byAffinity, byTaints bool
}

func (a admission) test() func(*node) bool {
	required := nodeaffinity.GetRequiredNodeAffinity(a.pod)
	return func(n *node) bool {
		for _, key := range a.keys {
			if _, ok := n.label(key); !ok {
				return false
			}
		}
		if a.byAffinity {
			if match, _ := required.Match(n.object); !match { // terms that can't be parsed don't match, as for the scheduler
				return false
			}
		}
		if a.byTaints {
			_, untolerated := schedulingcorev1.FindMatchingUntoleratedTaint(
				klog.Logger{}, n.object.Spec.Taints, a.pod.Spec.Tolerations, keepsAway, false)
			return !untolerated
		}
		return true
	}
}

// refuses is why a pod can't be on the node; nil: it can.
func (e evenness) refuses(n *node) *fwk.Status {
	for i := range e {
		if _, ok := e[i].tally.on(n); !ok {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, podtopologyspread.ErrReasonNodeLabelNotMatch)
		}
		if e[i].tooUneven(n) {
			return fwk.NewStatus(fwk.Unschedulable, podtopologyspread.ErrReasonConstraintsNotMatch)
		}
	}
	return nil
}

// fits is refuses without words.
func (e evenness) fits(n *node) bool {
	for i := range e {
		if _, ok := e[i].tally.on(n); !ok || e[i].tooUneven(n) {
			return false
		}
	}
	return true
}

func (r *spreadRule) tooUneven(n *node) bool {
	pods, _ := r.tally.on(n)
	least := 0
	if r.tally.populated >= r.minDomains {
		least = r.tally.minimum()
	}
	return pods+r.self-least > r.maxSkew
}
