package scaledown

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/gpu"
	"example.com/cluster-autoscaler/simulator/readiness"
	"example.com/cluster-autoscaler/simulator/taints"
	"example.com/cluster-autoscaler/simulator/utilization"
)

// recentTaint is for how long a deletion taint that no removal in progress stands behind keeps a node (scale-down 1.5 c).
const recentTaint = 5 * time.Minute

// candidates sorts out the nodes that are not looked at, notes which may take pods in, and orders the others: nodes without pods to move
// first, then those that were unneeded before, then by name (scale-down 1.1 to 1.4).
func (u *update) candidates() []candidate {
	unknown := map[string]error{}
	for _, node := range u.in.Seen.Unknown {
		unknown[node.Node] = node.Err
	}
	nodes := make([]candidate, 0, len(u.in.Seen.Nodes))
	for _, node := range u.in.Seen.Nodes {
		if why := u.outside(node); why != nil {
			u.keep(node, why)
			continue
		}
		u.destinations[node.Name] = !u.isDoomed(node)
		if why := u.overlooked(node, unknown[node.Name]); why != nil {
			u.keep(node, why)
			continue
		}
		nodes = append(nodes, candidate{node: node, facts: u.factsOf(node)})
	}
	return u.inOrder(nodes)
}

// inOrder puts nodes without pods to move first, then those that were unneeded before; equal ones stay in their order.
func (u *update) inOrder(nodes []candidate) []candidate {
	const ranks = 2
	lots := make([][]candidate, (occupied+1)*ranks)
	for _, c := range nodes {
		at := u.emptiness(c)*ranks + u.rank(c.node)
		lots[at] = append(lots[at], c)
	}
	return slices.Concat(lots...)
}

// outside says why the node takes no part in the simulation, neither as a candidate nor as a place for pods; nil: it does.
func (u *update) outside(node *corev1.Node) report.Reason {
	if deletion, going := u.deleting[node.Name]; going {
		return report.DeletionInProgress{Since: deletion.Since}
	}
	if u.in.Seen.Gone[node.Name] {
		return report.UnexpectedError{Error: "its machine does not exist any more"}
	}
	if g := u.groupOf(node); g != nil && slices.Contains(g.state.NotStarted, node.Name) {
		if _, there := u.in.Snapshot.Node(node.Name); !there {
			return report.NotReached{Limit: "it is still starting"}
		}
	}
	return nil
}

// isDoomed tells whether the cloud is about to end the node's machine by itself, without draining the node.
func (u *update) isDoomed(node *corev1.Node) bool {
	g := u.groupOf(node)
	return g != nil && g.doomed[node.Spec.ProviderID] != ""
}

// overlooked says why the node is no candidate although it may take pods in; nil: it is one.
func (u *update) overlooked(node *corev1.Node, unknown error) report.Reason {
	if unknown != nil {
		return report.UnexpectedError{Error: "its node group cannot be told: " + unknown.Error()}
	}
	id, member := u.in.Seen.Members[node.Name]
	g := u.groupOf(node)
	switch {
	case !member:
		return report.NotAutoscaled{}
	case g == nil:
		return report.UnexpectedError{Error: "its node group " + string(id) + " could not be described"}
	case g.size <= g.Min:
		return report.AtMinSizeBefore{Target: g.size, Min: g.Min}
	case g.held[node.Spec.ProviderID] != "":
		return report.UnexpectedError{Error: "its machine is not to be ended: " + g.held[node.Spec.ProviderID]}
	}
	if rest := u.localCoolDown(g); rest != nil {
		return *rest
	}
	return nil
}

func (u *update) rank(node *corev1.Node) int {
	if _, was := u.unneeded[node.Name]; was {
		return 0
	}
	return 1
}

// eligible says how used the node is and whether its removal is worth simulating; why is nil if it is (scale-down 1.5).
func (u *update) eligible(c candidate) (used utilization.Utilization, why report.Reason) {
	node := c.node
	if c.facts.version == 0 {
		return used, report.UnexpectedError{Error: "it is not in the snapshot"}
	}
	if entry, resting := u.recheck[node.Name]; resting {
		return used, report.RecentlyUnremovable{First: entry.first, Until: entry.until}
	}
	if taint, tainted := taints.Find(node, taints.ToBeDeleted); tainted {
		if since, err := taints.Time(taint); err == nil && u.now.Sub(since) < recentTaint {
			return used, report.CurrentlyBeingDeleted{Since: since}
		}
	}
	if node.Annotations[DisabledAnnotation] == "true" {
		return used, report.ScaleDownDisabledAnnotation{}
	}
	options := u.groupOf(node).Options
	accelerator, hasGPU := gpu.ResourceOf(node, u.in.Seen.GPULabel)
	threshold := options.ScaleDownUtilizationThreshold
	if hasGPU {
		threshold = options.ScaleDownGPUUtilizationThreshold
	}
	used, err := u.utilization(c, utilization.Options{
		SkipDaemonSets: options.IgnoreDaemonSetsUtilization, SkipMirrorPods: u.options.ScaleDown.IgnoreMirrorPods, Accelerator: accelerator,
	})
	switch {
	case err != nil:
		return used, report.UnexpectedError{Error: err.Error()}
	case !u.options.ScaleDown.UnreadyEnabled && !readiness.Of(node).Ready:
		return used, report.ScaleDownUnreadyDisabled{}
	case used.Value > threshold: // false for NaN, by which a node filled by ignored pods is eligible
		return used, report.NotUnderutilized{Resource: used.Resource, Got: used.Value, Threshold: threshold}
	}
	return used, nil
}

// coolDown says why nothing may be removed now; nil: it may (scale-down 4.1). Where several pauses hold, the longest is told.
func (u *update) coolDown() *report.CoolDown {
	if u.in.YoungPods {
		return &report.CoolDown{StartedBy: "young pods", Until: u.now}
	}
	if u.options.ScaleDown.DelayTypeLocal {
		return nil
	}
	state, delays := u.in.State, u.options.ScaleDown
	return u.longest(
		report.CoolDown{StartedBy: u.growth(), Until: state.LastScaleUp.Add(delays.DelayAfterAdd)},
		report.CoolDown{StartedBy: with("failure", ": ", state.FailureBy), Until: state.LastFailure.Add(delays.DelayAfterFailure)},
		report.CoolDown{StartedBy: with("deletion", " of ", state.DeletionOf), Until: state.LastDeletion.Add(delays.DelayAfterDelete)},
	)
}

func (u *update) longest(pauses ...report.CoolDown) *report.CoolDown {
	var longest *report.CoolDown
	for _, pause := range pauses {
		if pause.Until.After(u.now) && (longest == nil || pause.Until.After(longest.Until)) {
			longest = &pause
		}
	}
	return longest
}

// growth names the group that grew last.
func (u *update) growth() string {
	var (
		last time.Time
		name cloudprovider.GroupID
	)
	for _, state := range u.in.State.Groups {
		if state.LastScaleUp.After(last) {
			last, name = state.LastScaleUp, state.Group
		}
	}
	if name == "" {
		return "scale-up"
	}
	return "scale-up of " + string(name)
}

// with adds what is known, if anything is.
func with(what, separator, known string) string {
	if known == "" {
		return what
	}
	return what + separator + known
}

// localCoolDown is the pause of one group, where pauses hold per group (scale-down 4.2); nil: there is none.
func (u *update) localCoolDown(g *group) *report.CoolDown {
	if !u.options.ScaleDown.DelayTypeLocal {
		return nil
	}
	delays, name := u.options.ScaleDown, string(g.ID)
	for _, pause := range []struct {
		what  string
		stamp time.Time
		delay time.Duration
	}{
		{"scale-up of " + name, g.state.LastScaleUp, delays.DelayAfterAdd},
		{with("deletion", " of ", g.state.DeletionOf) + " in " + name, g.state.LastDeletion, delays.DelayAfterDelete},
		{with("failure of "+name, ": ", g.state.FailureBy), g.state.LastFailure, delays.DelayAfterFailure},
	} {
		if until := pause.stamp.Add(pause.delay); !pause.stamp.IsZero() && until.After(u.now) {
			return &report.CoolDown{StartedBy: pause.what, Until: until}
		}
	}
	return nil
}
