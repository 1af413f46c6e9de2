package repair

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
)

// Plan returns the repairs that the state asks for, group by group in the order of the cloud. A group that is set aside, or whose
// last repair failed a short while ago, gets none. While the cluster is unhealthy only machines that never became nodes are ended.
func Plan(seen observation.Observation, state clusterstate.State, options config.ClusterState) []report.RepairAction {
	late := make(map[cloudprovider.GroupID]report.RequestTimeout, len(state.TimedOut))
	for _, timeout := range state.TimedOut {
		late[timeout.Group] = timeout
	}
	var actions []report.RepairAction
	for _, group := range state.Groups {
		described, known := seen.GroupOf(group.Group)
		if !known || group.RepairFrom.After(state.At) || (group.SetAside != nil && !group.Incomplete) || described.Stale != nil || described.Suspended != "" {
			continue
		}
		p := plan{group: group, seen: described, nodes: seen.Nodes, options: options, now: state.At}
		ended := p.unregistered()
		if state.Cluster.Healthy && (len(ended) == 0 || !described.Options.ZeroOrMaxNodeScaling) {
			ended = append(ended, p.failed()...)
		}
		actions = append(actions, ended...)
		if state.Cluster.Healthy {
			actions = append(actions, p.withdrawn(late, ended)...)
		}
	}
	return actions
}

type plan struct {
	group   clusterstate.GroupState
	seen    observation.Group
	nodes   []*corev1.Node
	options config.ClusterState
	now     time.Time
}

// unregistered ends the machines that take longer than the provision time, those first that do so for longest, without going below
// the minimum unless forced to.
func (p plan) unregistered() []report.RepairAction {
	long := slices.DeleteFunc(slices.Clone(p.group.Unregistered), func(u clusterstate.UnregisteredInstance) bool { return !u.Long })
	if len(long) == 0 || p.group.Anonymous > 0 {
		return nil
	}
	slices.SortStableFunc(long, func(a, b clusterstate.UnregisteredInstance) int {
		return cmp.Or(a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.Instance.ID, b.Instance.ID))
	})
	instances := make([]cloudprovider.Instance, 0, len(long))
	for _, u := range long {
		instances = append(instances, u.Instance)
	}
	room := max(0, p.group.Target-p.group.Min)
	if p.options.ForceDeleteUnregistered {
		room = len(p.seen.Instances)
	}
	return p.end(report.RepairAction{
		Kind: report.DeleteUnregistered, Force: p.options.ForceDeleteUnregistered, Age: p.now.Sub(long[0].FirstSeen),
	}, instances, room)
}

// failed ends the instances that cannot be created. The minimum is the cloud's to keep: a failed machine of the minimum has to be replaced.
func (p plan) failed() []report.RepairAction {
	return p.end(report.RepairAction{Kind: report.DeleteFailed, Force: p.options.ForceDeleteFailed}, p.group.Failed, len(p.seen.Instances))
}

// end completes the action that ends the instances, as many as there is room for. A group that grows and shrinks as a whole is ended as a
// whole or not at all; whether its nodes are drained, the executor looks.
func (p plan) end(action report.RepairAction, instances []cloudprovider.Instance, room int) []report.RepairAction {
	action.Group = p.group.Group
	if p.seen.Options.ZeroOrMaxNodeScaling && len(instances) > 0 {
		all := p.machines()
		if p.seen.Options.AllowNonAtomicScaleUpToMax && len(instances) < len(all) || len(all) > room {
			return nil
		}
		instances = all
	}
	for _, instance := range instances[:min(len(instances), room)] {
		action.Nodes = append(action.Nodes, p.ref(instance))
	}
	if len(action.Nodes) == 0 {
		return nil
	}
	return []report.RepairAction{action}
}

// machines are the instances of the group that are not ending.
func (p plan) machines() []cloudprovider.Instance {
	return slices.DeleteFunc(slices.Clone(p.seen.Instances), func(i cloudprovider.Instance) bool { return i.State == cloudprovider.InstanceDeleting })
}

// ref is the reference to the instance's node, if it has one, else to the instance.
func (p plan) ref(instance cloudprovider.Instance) cloudprovider.NodeRef {
	for _, node := range p.nodes {
		if node.Spec.ProviderID == instance.ID {
			return cloudprovider.RefOf(node)
		}
	}
	return cloudprovider.RefOfInstance(instance)
}

// withdrawn gives back places that were asked for and never filled: what did not come of a request that timed out, or else places that
// nothing has stood for during the whole provision time. Places whose placeholders are ended anyway are not given back twice, nor is the minimum
// touched. The write itself is judged once more on what exists or may still arrive by then.
func (p plan) withdrawn(late map[cloudprovider.GroupID]report.RequestTimeout, ended []report.RepairAction) []report.RepairAction {
	action := report.RepairAction{Group: p.group.Group}
	wrong := p.group.WrongSize
	if timeout, timedOut := late[p.group.Group]; timedOut {
		action.Kind, action.By, action.Age = report.RevertScaleUp, timeout.Increase, timeout.After
	} else if wrong != nil && wrong.Empty > 0 && wrong.Since.Add(p.seen.Options.MaxNodeProvisionTime).Before(p.now) {
		action.Kind, action.By, action.Age = report.DecreaseTarget, wrong.Empty, p.now.Sub(wrong.Since)
	}
	going := map[string]bool{}
	for _, action := range ended {
		for _, node := range action.Nodes {
			going[node.ProviderID] = true
		}
	}
	filled := 0 // places that a machine fills, or that go with their placeholders
	for _, instance := range p.machines() {
		if !instance.Placeholder || going[instance.ID] {
			filled++
		}
	}
	action.By = min(action.By, p.group.Target-len(going)-p.group.Min, p.group.Target-filled)
	if action.By <= 0 {
		return nil
	}
	return []report.RepairAction{action}
}
