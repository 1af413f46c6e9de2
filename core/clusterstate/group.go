package clusterstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/taints"
)

// group makes the state of one group as far as it follows from what is seen; finish adds what follows from requests and failures.
func (r *Registry) group(group observation.Group, nodes classified) GroupState {
	m, own := r.memory(group.ID), nodes.of[group.ID]
	gs := GroupState{
		GroupStatus: report.GroupStatus{
			Group: group.ID, Min: group.Min, Max: group.Max, Target: m.target(group, r.seen.At), Counts: own.counts,
		},
	}
	t := r.takeStock(&gs, group, nodes)
	for _, deletion := range r.seen.Deletions {
		if deletion.Group == group.ID && !deletion.Accepted { // the target is without the accepted ones
			gs.Deleting++
		}
	}
	c := gs.Counts
	if c.Registered+c.Unregistered+c.LongUnregistered > 0 {
		gs.LastProbe = r.seen.At
	}
	gs.Lost = m.lost(max(0, gs.Target-t.standing), r.seen.At, group.Options.MaxNodeProvisionTime)
	awaited := max(0, gs.Target-t.arrived-t.hopeless-gs.Lost)
	gs.Upcoming = t.upcoming(awaited, m.weights)
	gs.Incomplete = incomplete(group.Options, t)
	r.judgeSize(&gs, t)
	gs.Expected = c.Ready + c.Unready + c.NotStarted + c.Suspended
	gs.Missing = m.weights.nodes(gs.Target - t.hopeless - awaited - t.fit)
	gs.Healthy = !r.tooMany(gs.Missing, gs.Expected)
	if gs.LastProbe.IsZero() {
		gs.Healthy = gs.Missing == 0
	}
	return gs
}

// stock says what stands for the places of a group's target, in units.
type stock struct {
	// standing are the places that a node or an instance stands for. arrived are those of them whose machine has become a node
	// that was ready once or should have been; hopeless are those whose machine will not become one.
	standing, arrived, hopeless int
	// registered are the nodes that take up a place, fit those of them that are ready or suspended.
	registered, fit int
	// coming are the units of the machines that are on their way, comingNodes how many machines those are.
	coming, comingNodes int
}

// upcoming is how many nodes are on their way where so many units are awaited: the machines that are known to be, and for the rest as many as it
// can be.
func (t stock) upcoming(awaited int, w weights) int {
	if w.largest == 1 {
		return awaited
	}
	if awaited <= t.coming {
		return min(t.comingNodes, w.nodes(awaited))
	}
	return t.comingNodes + w.nodes(awaited-t.coming)
}

// incomplete tells a group that grows and shrinks as a whole and of which a part will not come.
func incomplete(options observation.GroupOptions, t stock) bool {
	return options.ZeroOrMaxNodeScaling && !options.AllowNonAtomicScaleUpToMax && t.hopeless > 0 && t.hopeless < t.standing
}

// takeStock sorts the group's instances and nodes. Machines that are ending take up no place: the target has forgotten them.
func (r *Registry) takeStock(gs *GroupState, group observation.Group, nodes classified) stock {
	own, w := nodes.of[group.ID], r.memory(group.ID).weights
	var t stock
	ending, listed := map[string]bool{}, make(map[string]bool, len(group.Instances))
	for _, instance := range group.Instances {
		listed[instance.ID] = true
		switch {
		case instance.State == cloudprovider.InstanceDeleting:
			ending[instance.ID] = true
		case own.providerIDs[instance.ID]: // counted as a node below
		case nodes.providerIDs[instance.ID]: // its node exists, but it cannot be told whose it is
			units := w.ofInstance(instance)
			t.standing, t.arrived, t.fit = t.standing+units, t.arrived+units, t.fit+units
		case instance.Error != nil:
			units := w.ofInstance(instance)
			t.standing, t.hopeless = t.standing+units, t.hopeless+units
			if instance.State == cloudprovider.InstanceCreating {
				gs.Failed = append(gs.Failed, instance)
			}
		default:
			r.unregistered(gs, group, instance)
		}
	}
	// A node that does not say which machine it is stands for one of those without a node: it must not count twice.
	gs.Anonymous = own.anonymous
	t.addUnregistered(gs.Unregistered, own.anonymous, w)
	r.memory(group.ID).keepUnregistered(gs.Unregistered)
	for _, node := range own.nodes {
		gone := node.class == classDeleted && !listed[node.providerID]
		if ending[node.providerID] || gone {
			if !gone {
				gs.ExpectedDeletions++
			}
			continue
		}
		units := w.ofNode(node.object)
		t.standing, t.registered = t.standing+units, t.registered+units
		switch node.class {
		case classNotStarted:
			gs.NotStarted = append(gs.NotStarted, node.name)
			t.coming, t.comingNodes = t.coming+units, t.comingNodes+1
			continue
		case classReady:
			gs.Ready = append(gs.Ready, node.name)
			t.fit += units
		case classSuspended:
			t.fit += units
		case classUnset, classDeleted, classUnready:
		}
		t.arrived += units
	}
	return t
}

// addUnregistered counts the machines without a node, except for so many that nodes which do not name their machine stand for: of each kind, the
// last ones.
func (t *stock) addUnregistered(instances []UnregisteredInstance, anonymous int, w weights) {
	long := 0
	for _, u := range instances {
		if u.Long {
			long++
		}
	}
	counted, hopeless := max(0, len(instances)-anonymous), max(0, long-anonymous)
	for _, u := range instances {
		units := w.ofInstance(u.Instance)
		if counted > 0 {
			counted--
			t.standing += units
		}
		switch {
		case !u.Long:
			t.coming, t.comingNodes = t.coming+units, t.comingNodes+1
		case hopeless > 0:
			hopeless--
			t.hopeless += units
		}
	}
}

// unregistered notes an instance without a node.
func (r *Registry) unregistered(gs *GroupState, group observation.Group, instance cloudprovider.Instance) {
	since, known := r.memory(group.ID).firstSeen[instance.ID]
	if !known {
		since = r.seen.At
	}
	long := since.Add(group.Options.MaxNodeProvisionTime).Before(r.seen.At)
	gs.Unregistered = append(gs.Unregistered, UnregisteredInstance{Instance: instance, FirstSeen: since, Long: long})
	if long {
		gs.Counts.LongUnregistered++
	} else {
		gs.Counts.Unregistered++
	}
}

// keepUnregistered remembers since when the instances have no node, and forgets all others.
func (m *memory) keepUnregistered(instances []UnregisteredInstance) {
	m.firstSeen = make(map[string]time.Time, len(instances))
	for _, instance := range instances {
		m.firstSeen[instance.Instance.ID] = instance.FirstSeen
	}
}

// lost notes how many places of the target nothing stands for, and returns how many of them have been empty for longer than the
// provision time. When places are filled, the oldest ones count as filled: an empty place is rather waited for than bought twice.
func (m *memory) lost(empty int, at time.Time, provision time.Duration) int {
	for len(m.emptySince) < empty {
		m.emptySince = append(m.emptySince, at)
	}
	m.emptySince = slices.Clone(m.emptySince[len(m.emptySince)-empty:])
	lost := 0
	for _, since := range m.emptySince {
		if since.Add(provision).Before(at) {
			lost++
		}
	}
	return lost
}

// judgeSize records since when fewer or more nodes are registered than the target accounts for (loop-and-scale-up 2.6).
func (r *Registry) judgeSize(gs *GroupState, t stock) {
	m := r.memory(gs.Group)
	probed := !gs.LastProbe.IsZero()
	if !probed || (t.registered <= gs.Target && t.standing >= gs.Target) {
		m.wrongSize = nil
		return
	}
	if m.wrongSize == nil || m.wrongSize.Registered != t.registered || m.wrongSize.Target != gs.Target {
		m.wrongSize = &WrongSize{Registered: t.registered, Target: gs.Target, Since: r.seen.At}
	}
	size := *m.wrongSize
	size.Empty = max(0, gs.Target-t.standing)
	gs.WrongSize = &size
}

// finish adds back-off, the open request and the stamps.
func (r *Registry) finish(gs *GroupState, group observation.Group) {
	m := r.memory(group.ID)
	gs.Backoff = m.backoff.status(r.seen.At)
	gs.FailedPlaces = withShortages(m.failedPlaces(r.seen.At), group.Shortages, r.seen.At)
	gs.SetAside = r.aside(*gs, group)
	if m.request != nil {
		request := *m.request
		gs.Request = &request
	}
	gs.ScalingUp = gs.Upcoming > 0 && gs.Request != nil
	gs.LastScaleUp, gs.LastDeletion, gs.LastFailure = m.lastScaleUp, m.lastDeletion, m.lastFailure
	gs.DeletionOf, gs.FailureBy = m.deletionOf, m.failureBy
	gs.RepairFrom = m.repairFrom
}

// aside says why the group is left alone; nil: it is not.
func (r *Registry) aside(gs GroupState, group observation.Group) *report.GroupSetAside {
	m := r.memory(group.ID)
	if m.setAside != nil && m.setAside.Until.Before(r.seen.At) {
		m.setAside = nil
	}
	why := ""
	switch {
	case group.Stale != nil:
		why = group.Stale.Error()
	case group.Suspended != "":
		why = group.Suspended
	case gs.Incomplete:
		why = "some of its machines will not become nodes, and it grows and shrinks as a whole: its nodes have to be drained first"
	}
	if why == "" {
		m.asideSince = time.Time{}
		return m.setAside
	}
	if m.asideSince.IsZero() {
		m.asideSince = r.seen.At
	}
	return &report.GroupSetAside{Error: why, Since: m.asideSince}
}

// tooMany is the one test of health, for the cluster and for a group (loop-and-scale-up 2.8).
func (r *Registry) tooMany(bad, all int) bool {
	return bad > r.options.OKUnreadyCount && float64(bad)*100 > r.options.MaxUnreadyPercentage*float64(all)
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
