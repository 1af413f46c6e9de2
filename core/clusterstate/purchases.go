package clusterstate

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/podfacts"
)

// settlingTime is how long a node bought for a pod is given after it became Ready, before the pod may cause another purchase.
const settlingTime = 3 * time.Minute

// purchase is the memory that so many nodes of one group were bought for some pods.
type purchase struct {
	group   cloudprovider.GroupID
	nodes   int
	at      time.Time
	expires time.Time // by when the nodes must have registered
}

// settlePurchases forgets the pods whose nodes are at work, or will not come, and returns the others.
func (r *Registry) settlePurchases(state State, nodes classified) map[types.UID]report.PurchaseOnTheWay {
	waiting := make(map[types.UID]report.PurchaseOnTheWay, len(r.purchases))
	debts := map[purchase]debt{} // many pods share a purchase, which may be of many nodes
	for pod, purchases := range r.purchases {
		var open []purchase
		for _, p := range purchases {
			d, known := debts[p]
			if !known {
				d.until, d.owed = r.owed(p, state, nodes)
				debts[p] = d
			}
			if !d.owed {
				continue
			}
			open = append(open, p)
			if was, held := waiting[pod]; !held || d.until.IsZero() || !was.Until.IsZero() && d.until.After(was.Until) {
				waiting[pod] = report.PurchaseOnTheWay{Group: p.group, Until: d.until}
			}
		}
		if len(open) == 0 {
			delete(r.purchases, pod)
			continue
		}
		r.purchases[pod] = open
	}
	return waiting
}

// debt is what owed says of a purchase.
type debt struct {
	until time.Time
	owed  bool
}

// owed says whether the purchase is to be waited for, and until when; zero: that depends on the nodes. A node is at work once it has
// been ready for the settling time, or lets pods in: a pod that finds it full then lost its place to another one and needs a new one.
func (r *Registry) owed(p purchase, state State, nodes classified) (until time.Time, owed bool) {
	m, known := r.groups[p.group]
	if !known || m.failedSince(p.at) {
		return time.Time{}, false // gone, or part of it failed: what still comes is found by simulation
	}
	late := state.At.After(p.expires)
	gs, described := state.Group(p.group)
	if !described {
		return time.Time{}, !late
	}
	came := p.came(nodes.of[p.group])
	if len(came) < p.nodes && gs.Upcoming > 0 && !late {
		return time.Time{}, true
	}
	for _, node := range came {
		switch {
		case node.class == classNotStarted:
			return time.Time{}, true
		case node.readySince.IsZero(), r.letsPodsIn(node.name):
		case node.readySince.Add(settlingTime).After(until):
			until = node.readySince.Add(settlingTime)
		}
	}
	return until, until.After(state.At)
}

// letsPodsIn tells a node on which a pod runs that the scheduler put there.
func (r *Registry) letsPodsIn(node string) bool {
	return r.seen.Snapshot != nil && slices.ContainsFunc(r.seen.Snapshot.Pods(node), func(pod *corev1.Pod) bool {
		return !podfacts.IsDaemonSet(pod) && !podfacts.IsMirror(pod)
	})
}

// came are the nodes that registered since the purchase, the first ones up to the number bought.
func (p purchase) came(nodes *members) []member {
	var since []member
	for _, node := range nodes.nodes {
		if !node.created.Before(p.at.Truncate(time.Second)) { // the API server's time stamps have whole seconds
			since = append(since, node)
		}
	}
	slices.SortStableFunc(since, func(a, b member) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name)) })
	return since[:min(len(since), p.nodes)]
}
