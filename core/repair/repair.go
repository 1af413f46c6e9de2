package repair

import (
	"time"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// Plan returns the repairs that the state asks for, group by group in the order of the cloud. A group that is set aside, or whose
// last repair failed a short while ago, gets none. While the cluster is unhealthy only machines that never became nodes are ended.
func Plan(seen observation.Observation, state clusterstate.State, options config.ClusterState) []report.RepairAction {
	var actions []report.RepairAction
	for _, group := range state.Groups {
		if group.SetAside != nil || group.RepairFrom.After(state.At) {
			continue
		}
		described, _ := seen.GroupOf(group.Group)
		p := plan{group: group, atomic: described.Options.ZeroOrMaxNodeScaling, seen: described, options: options}
		actions = append(actions, p.unregistered(state.At)...)
		if !state.Cluster.Healthy {
			continue
		}
		actions = append(actions, p.failed()...)
		actions = append(actions, p.size(state.At)...)
		for _, late := range state.TimedOut {
			if late.Group == group.Group {
				actions = append(actions, p.revert(late)...)
			}
		}
	}
	return actions
}

type plan struct {
	group   clusterstate.GroupState
	seen    observation.Group
	atomic  bool
	options config.ClusterState
}

// unregistered ends the machines that take longer than the provision time, without going below the minimum unless forced to.
func (p plan) unregistered(now time.Time) []report.RepairAction {
	var (
		nodes  []cloudprovider.NodeRef
		oldest time.Duration
	)
	for _, late := range p.group.Unregistered {
		if late.Long {
			nodes = append(nodes, cloudprovider.RefOfInstance(late.Instance))
			oldest = max(oldest, now.Sub(late.FirstSeen))
		}
	}
	if room := max(0, p.group.Target-p.group.Min); !p.options.ForceDeleteUnregister && len(nodes) > room {
		nodes = nodes[:room]
	}
	return p.delete(report.DeleteUnregistered, nodes, p.options.ForceDeleteUnregister, oldest)
}

// failed ends the instances that cannot be created. The minimum is the cloud's to keep: a failed machine of the minimum has to be replaced.
func (p plan) failed() []report.RepairAction {
	nodes := make([]cloudprovider.NodeRef, 0, len(p.group.Failed))
	for _, instance := range p.group.Failed {
		nodes = append(nodes, cloudprovider.RefOfInstance(instance))
	}
	return p.delete(report.DeleteFailed, nodes, p.options.ForceDeleteFailed, 0)
}

// delete is one action for the nodes; none for no nodes. A group that grows and shrinks as a whole is only ended as a whole, and only
// while none of its machines is a node: those would have to be drained first.
func (p plan) delete(kind report.RepairKind, nodes []cloudprovider.NodeRef, force bool, age time.Duration) []report.RepairAction {
	if len(nodes) == 0 {
		return nil
	}
	if p.atomic && len(nodes) != len(p.seen.Instances) {
		if p.seen.Options.AllowNonAtomicScaleUpToMax || p.group.Counts.Registered > 0 {
			return nil
		}
		nodes = nil
		for _, instance := range p.seen.Instances {
			nodes = append(nodes, cloudprovider.RefOfInstance(instance))
		}
	}
	return []report.RepairAction{{Kind: kind, Group: p.group.Group, Nodes: nodes, Force: force, Age: age}}
}

// size withdraws the places that nothing stands for, once that has been so for the provision time.
func (p plan) size(now time.Time) []report.RepairAction {
	wrong := p.group.WrongSize
	if wrong == nil || wrong.Registered >= wrong.Target || !wrong.Since.Add(p.seen.Options.MaxNodeProvisionTime).Before(now) {
		return nil
	}
	by := min(wrong.Target-wrong.Registered, p.group.Target-p.group.Min)
	if by <= 0 {
		return nil
	}
	return []report.RepairAction{{Kind: report.DecreaseTarget, Group: p.group.Group, By: by, Age: now.Sub(wrong.Since)}}
}

// revert withdraws what did not come of a request. The write itself is bounded by what exists or may still arrive.
func (p plan) revert(late report.RequestTimeout) []report.RepairAction {
	by := min(late.Increase, p.group.Target-p.group.Min)
	if by <= 0 {
		return nil
	}
	return []report.RepairAction{{Kind: report.RevertScaleUp, Group: p.group.Group, By: by, Age: late.After}}
}
