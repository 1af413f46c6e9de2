package simulator

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
)

// antiTerm says which pods an affinity term means.
type antiTerm struct {
	namespaces                  sets.Set[string]
	namespaceSelector, selector labels.Selector
}

// heldTerm is an anti-affinity term of pods that have a place, with their tally.
type heldTerm struct {
	antiTerm
	tally *tally
}

func (t *antiTerm) matches(set *labelSet, namespaceLabels labels.Set) bool {
	return (t.namespaces.Has(set.namespace) || t.namespaceSelector.Matches(namespaceLabels)) && t.selector.Matches(labels.Set(set.labels))
}

// byNamespaceLabels tells a term whose meaning depends on the labels of namespaces.
func byNamespaceLabels(selector labels.Selector) bool {
	requirements, selectable := selector.Requirements()
	return selectable && len(requirements) > 0
}

// selectorName is a text that equal selectors have in common.
func selectorName(selector labels.Selector) string {
	if _, selectable := selector.Requirements(); !selectable {
		return "nothing"
	}
	return "{" + selector.String() + "}"
}

func termName(term *fwk.AffinityTerm) string {
	return strings.Join(sets.List(term.Namespaces), ",") + "/" + selectorName(term.NamespaceSelector) + "/" + selectorName(term.Selector)
}

// groupName names the pods that hold the term.
func groupName(term *fwk.AffinityTerm) string { return term.TopologyKey + "/" + termName(term) }

// groupsOf are the tallies of the shape's anti-affinity terms.
func (s *Snapshot) groupsOf(sh *shape) []*tally {
	if sh.groups != nil || len(sh.antiAffinity) == 0 {
		return sh.groups
	}
	for i := range sh.antiAffinity {
		term := &sh.antiAffinity[i]
		held := antiTerm{namespaces: term.Namespaces, namespaceSelector: term.NamespaceSelector, selector: term.Selector}
		sh.groups = append(sh.groups, s.group(groupName(term), term.TopologyKey, held))
	}
	return sh.groups
}

// nearness is what affinity between pods means for one kind of pod, in one snapshot.
type nearness struct {
	// near has for each affinity term the pods that match all of them.
	near []*tally
	// founder: the pods match their own terms, so that the first one may go anywhere.
	founder bool
	// far has for each anti-affinity term the pods that match it.
	far []*tally
	// shunning are those groups of placed pods that want to be away from these pods.
	shunning []*tally

	// seen is how many of the snapshot's groups were looked at, namespaceLabels what was known of the namespace then.
	seen            int
	namespaceLabels labels.Set
}

// resolved are the terms with the namespaces that their selectors select now.
func resolved(terms []fwk.AffinityTerm, lister corelisters.NamespaceLister) ([]fwk.AffinityTerm, error) {
	if !slices.ContainsFunc(terms, func(t fwk.AffinityTerm) bool { return byNamespaceLabels(t.NamespaceSelector) }) {
		return terms, nil
	}
	terms = slices.Clone(terms)
	for i := range terms {
		term := &terms[i]
		if !byNamespaceLabels(term.NamespaceSelector) {
			continue
		}
		selected, err := lister.List(term.NamespaceSelector)
		if err != nil {
			return nil, err
		}
		term.Namespaces = term.Namespaces.Clone()
		for _, namespace := range selected {
			term.Namespaces.Insert(namespace.Name)
		}
		term.NamespaceSelector = labels.Nothing()
	}
	return terms, nil
}

// refresh brings what is known up to date with the snapshot and the namespaces.
func (w *nearness) refresh(s *Snapshot, k *kind, lister corelisters.NamespaceLister) error {
	if err := w.refreshTerms(s, k, lister); err != nil {
		return err
	}
	if s.byNamespace {
		var now labels.Set
		if namespace, err := lister.Get(k.labels.namespace); err == nil {
			now = namespace.Labels
		}
		if !labels.Equals(now, w.namespaceLabels) {
			w.namespaceLabels, w.seen, w.shunning = now, 0, nil
		}
	}
	for ; w.seen < len(s.groups); w.seen++ {
		if held := &s.groups[w.seen]; held.matches(k.labels, w.namespaceLabels) {
			w.shunning = append(w.shunning, held.tally)
		}
	}
	return nil
}

func (w *nearness) refreshTerms(s *Snapshot, k *kind, lister corelisters.NamespaceLister) error {
	sh := k.shape
	if len(sh.affinity) == 0 && len(sh.antiAffinity) == 0 {
		return nil
	}
	affinity, err := resolved(sh.affinity, lister)
	if err != nil {
		return err
	}
	antiAffinity, err := resolved(sh.antiAffinity, lister)
	if err != nil {
		return err
	}
	var names strings.Builder
	for i := range affinity {
		names.WriteString(termName(&affinity[i]) + "&")
	}
	all := names.String()
	w.near, w.far, w.founder = w.near[:0], w.far[:0], len(affinity) > 0
	for i := range affinity {
		w.near = append(w.near, s.tally("near/"+affinity[i].TopologyKey+"/"+all, func() *tally {
			return &tally{topologyKey: affinity[i].TopologyKey, counts: matchesAll(affinity)}
		}))
	}
	w.founder = len(affinity) > 0 && matchesAll(affinity)(k.labels)
	for i := range antiAffinity {
		term := antiAffinity[i : i+1]
		w.far = append(w.far, s.tally("near/"+term[0].TopologyKey+"/"+termName(&term[0])+"&", func() *tally {
			return &tally{topologyKey: term[0].TopologyKey, counts: matchesAll(term)}
		}))
	}
	return nil
}

// matchesAll tells pods that match all of the terms, whose namespaces are resolved.
func matchesAll(terms []fwk.AffinityTerm) func(*labelSet) bool {
	all := make([]antiTerm, 0, len(terms))
	for _, term := range terms {
		all = append(all, antiTerm{namespaces: term.Namespaces, namespaceSelector: term.NamespaceSelector, selector: term.Selector})
	}
	return func(set *labelSet) bool {
		for i := range all {
			if !all[i].matches(set, nil) {
				return false
			}
		}
		return true
	}
}

// refuses is why a pod can't be on the node; nil: it can.
func (w *nearness) refuses(n *node) *fwk.Status {
	switch {
	case !w.isNear(n):
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, interpodaffinity.ErrReasonAffinityRulesNotMatch)
	case anyOn(w.far, n):
		return fwk.NewStatus(fwk.Unschedulable, interpodaffinity.ErrReasonAntiAffinityRulesNotMatch)
	case anyOn(w.shunning, n):
		return fwk.NewStatus(fwk.Unschedulable, interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch)
	default:
		return nil
	}
}

// fits is refuses without words.
func (w *nearness) fits(n *node) bool {
	return w.isNear(n) && !anyOn(w.far, n) && !anyOn(w.shunning, n)
}

// keptOffByOwn says that pods on the node itself, which has a domain to itself, keep others away: what happens elsewhere doesn't change that.
func (w *nearness) keptOffByOwn(n *node) bool {
	return anyAlone(w.far, n) || anyAlone(w.shunning, n)
}

func anyAlone(tallies []*tally, n *node) bool {
	for _, t := range tallies {
		if n.slot < len(t.at) {
			if d := t.at[n.slot]; d != nil && d.nodes == 1 && d.pods > 0 {
				return true
			}
		}
	}
	return false
}

func (w *nearness) isNear(n *node) bool {
	if len(w.near) == 0 {
		return true
	}
	everywhere, anywhere := true, false
	for _, t := range w.near {
		pods, ok := t.on(n)
		if !ok {
			return false
		}
		everywhere = everywhere && pods > 0
		anywhere = anywhere || t.pods > 0
	}
	return everywhere || !anywhere && w.founder
}

func anyOn(tallies []*tally, n *node) bool {
	for _, t := range tallies {
		if t.pods == 0 {
			continue
		}
		if pods, _ := t.on(n); pods > 0 {
			return true
		}
	}
	return false
}
