package clusterstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/taints"
)

// group makes the state of one group as far as it follows from what is seen; finish adds what follows from requests and failures.
func (r *Registry) group(group observation.Group, nodes *members) GroupState {
	m := r.memory(group.ID)
	gs := GroupState{
		GroupStatus: report.GroupStatus{
			Group: group.ID, Min: group.Min, Max: group.Max, Target: group.Target, Counts: nodes.counts,
		},
		Ready: nodes.ready, NotStarted: nodes.notStarted,
	}
	firstSeen := make(map[string]time.Time, len(m.firstSeen))
	listed := 0
	for _, instance := range group.Instances {
		switch {
		case instance.State == cloudprovider.InstanceDeleting:
			continue
		case instance.Error != nil && instance.State == cloudprovider.InstanceCreating:
			gs.Failed = append(gs.Failed, instance)
		case instance.Error == nil && !nodes.providerIDs[instance.ID]:
			since, known := m.firstSeen[instance.ID]
			if !known {
				since = r.seen.At
			}
			firstSeen[instance.ID] = since
			long := since.Add(group.Options.MaxNodeProvisionTime).Before(r.seen.At)
			gs.Unregistered = append(gs.Unregistered, UnregisteredInstance{Instance: instance, FirstSeen: since, Long: long})
			if long {
				gs.Counts.LongUnregistered++
			} else {
				gs.Counts.Unregistered++
			}
		}
		listed++
	}
	m.firstSeen = firstSeen
	for _, deletion := range r.seen.Deletions {
		if deletion.Group == group.ID {
			gs.Deleting++
		}
	}
	if nodes.counts.Registered > 0 || len(firstSeen) > 0 {
		gs.LastProbe = r.seen.At
	}
	gs.Upcoming = r.upcoming(gs, group, listed)
	r.judgeSize(&gs)
	return gs
}

// upcoming is how many nodes are on their way: what the group should have and neither has nor has lost, whoever asked for it.
// Places that no instance stands for count for the provision time only.
func (r *Registry) upcoming(gs GroupState, group observation.Group, listed int) int {
	m := r.memory(group.ID)
	c := gs.Counts
	lost := 0
	if missing := gs.Target - listed; missing <= 0 {
		m.missingSince = time.Time{}
	} else {
		if m.missingSince.IsZero() {
			m.missingSince = r.seen.At
		}
		if m.missingSince.Add(group.Options.MaxNodeProvisionTime).Before(r.seen.At) {
			lost = missing
		}
	}
	return max(0, gs.Target-c.Ready-c.Unready-c.Suspended-c.LongUnregistered-len(gs.Failed)-lost)
}

// judgeSize records since when the registered nodes do not match the target (loop-and-scale-up 2.6).
func (r *Registry) judgeSize(gs *GroupState) {
	m := r.memory(gs.Group)
	c := gs.Counts
	probed := c.Registered > 0 || c.Unregistered+c.LongUnregistered > 0
	if !probed || (c.Registered <= gs.Target && c.Registered >= gs.Target-c.Unregistered-c.LongUnregistered-len(gs.Failed)) {
		m.wrongSize = nil
		return
	}
	if m.wrongSize == nil || m.wrongSize.Registered != c.Registered || m.wrongSize.Target != gs.Target {
		m.wrongSize = &WrongSize{Registered: c.Registered, Target: gs.Target, Since: r.seen.At}
	}
	size := *m.wrongSize
	gs.WrongSize = &size
}

// finish adds health, back-off, the open request and the stamps.
func (r *Registry) finish(gs *GroupState, group observation.Group) {
	m := r.memory(group.ID)
	if m.backoff != nil && m.backoff.forgotten(r.seen.At, r.durations) {
		m.backoff = nil
	}
	if m.setAside != nil && m.setAside.Until.Before(r.seen.At) {
		m.setAside = nil
	}
	gs.Backoff = m.backoff.status(r.seen.At)
	gs.SetAside = m.setAside
	switch {
	case group.Stale != nil:
		gs.SetAside = &report.GroupSetAside{Error: group.Stale.Error()}
	case group.Suspended != "":
		gs.SetAside = &report.GroupSetAside{Error: group.Suspended}
	}
	if m.request != nil {
		request := *m.request
		gs.Request = &request
	}
	gs.ScalingUp = gs.Upcoming > 0 && gs.Request != nil
	gs.LastScaleUp, gs.LastDeletion, gs.LastFailure = m.lastScaleUp, m.lastDeletion, m.lastFailure
	gs.RepairFrom = m.repairFrom

	c := gs.Counts
	gs.Expected = c.Ready + c.Unready + c.NotStarted + c.Suspended
	gs.Missing = max(0, gs.Target-c.LongUnregistered-gs.Upcoming-len(gs.Failed)-c.Ready-c.Suspended)
	gs.Healthy = !r.tooMany(gs.Missing, gs.Expected)
}

// tooMany is the one test of health, for the cluster and for a group (loop-and-scale-up 2.8).
func (r *Registry) tooMany(bad, all int) bool {
	return bad > r.options.OKUnreadyCount && float64(bad) > r.options.MaxUnreadyPercentage/100*float64(all)
}

// cluster makes the state of the whole cluster. Only nodes of managed groups count for health unless the option says otherwise.
func (r *Registry) cluster(seen observation.Observation, nodes classified) report.ClusterStatus {
	judged := nodes.managed
	if r.options.HealthScopeAllNodes {
		judged = nodes.all
	}
	status := report.ClusterStatus{
		Counts: nodes.all, Managed: nodes.managed, Healthy: !r.tooMany(judged.Unready, judged.Registered),
		Pending: len(seen.Unschedulable) + len(seen.Unprocessed), Unprocessed: len(seen.Unprocessed),
	}
	for _, node := range seen.Nodes {
		if BeingDeleted(node, seen.At) {
			continue
		}
		status.MilliCPU += node.Status.Capacity.Cpu().MilliValue()
		status.Memory += node.Status.Capacity.Memory().Value()
	}
	return status
}

// settlePurchases forgets the pods whose nodes are at work, or will not come, and returns the others. A node is at work once it has
// been ready for the settling time.
func (r *Registry) settlePurchases(state State, nodes classified) map[types.UID]report.PurchaseOnTheWay {
	waitingFor := make(map[types.UID]report.PurchaseOnTheWay, len(r.purchases))
	for pod, bought := range r.purchases {
		gs, known := state.Group(bought.group)
		if !known || r.memory(bought.group).backoff.failedSince(bought.at) {
			delete(r.purchases, pod)
			continue
		}
		until, waiting := bought.until(nodes.of[bought.group], gs)
		switch {
		case waiting:
			waitingFor[pod] = report.PurchaseOnTheWay{Group: bought.group}
		case until.After(state.At):
			waitingFor[pod] = report.PurchaseOnTheWay{Group: bought.group, Until: until}
		default:
			delete(r.purchases, pod)
		}
	}
	return waitingFor
}

// until is when the nodes bought since have been ready for the settling time; waiting is true while one of them is not ready yet.
func (p purchase) until(nodes *members, gs GroupState) (until time.Time, waiting bool) {
	waiting = gs.Upcoming > 0
	for _, b := range nodes.born {
		if b.created.Before(p.at.Truncate(time.Second)) || b.readySince.IsZero() {
			continue
		}
		if end := b.readySince.Add(settlingTime); end.After(until) {
			until = end
		}
	}
	return until, waiting
}

// recentDeletion is for how long a deletion taint says that the node is on its way out.
const recentDeletion = 5 * time.Minute

// BeingDeleted tells a node that carries a deletion taint younger than five minutes.
func BeingDeleted(node *corev1.Node, now time.Time) bool {
	taint, tainted := taints.Find(node, taints.ToBeDeleted)
	if !tainted {
		return false
	}
	since, err := taints.Time(taint)
	return err == nil && now.Sub(since) < recentDeletion
}
