package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/report"
)

// Repair carries the repairs out, one after the other and each for itself: what fails or is refused stops none of the others.
// There is one outcome per action, in order. It blocks for the calls to the cloud, and reads nodes and pods from the API server
// before it ends machines.
func (a *Actuator) Repair(ctx context.Context, actions []report.RepairAction) []report.RepairOutcome {
	outcomes := make([]report.RepairOutcome, 0, len(actions))
	for _, action := range actions {
		outcome := a.repair(ctx, action)
		outcome.RepairAction, outcome.At = action, a.clock.Now()
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

func (a *Actuator) repair(ctx context.Context, action report.RepairAction) report.RepairOutcome {
	if a.isStopped() {
		return report.RepairOutcome{Refused: errShutdown.Error()}
	}
	group := a.group(action.Group)
	if group == nil {
		return report.RepairOutcome{Err: &cloudprovider.GoneError{Group: action.Group, Err: errors.New("the cloud does not list it")}}
	}
	state, err := a.state(ctx, group)
	switch {
	case err != nil:
		return report.RepairOutcome{Err: fmt.Errorf("reading the size of node group %s: %w", action.Group, err)}
	case state.Suspended != "":
		return report.RepairOutcome{Refused: "the group is suspended: " + state.Suspended}
	case action.Kind == report.DecreaseTarget, action.Kind == report.RevertScaleUp:
		return a.withdraw(ctx, group, state, action)
	default:
		return a.endMachines(ctx, group, state, action)
	}
}

// withdraw lowers the target by places that nothing stands for. The provider judges once more, right before its write.
func (a *Actuator) withdraw(ctx context.Context, group cloudprovider.NodeGroup, state cloudprovider.GroupState, action report.RepairAction) report.RepairOutcome {
	overMin, unfilled := state.Target-state.Min, state.Target-existing(state)
	by := min(action.By, overMin, unfilled)
	if by <= 0 {
		invariant, why := KeepExisting, fmt.Sprintf("all %d places of the group are filled", state.Target)
		if overMin <= 0 {
			invariant, why = KeepBounds, fmt.Sprintf("the group has its minimum of %d", state.Min)
		}
		a.refuse(invariant, string(action.Group), why)
		return report.RepairOutcome{Refused: why}
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	lowered, err := group.DecreaseTargetSize(ctx, by)
	if err != nil {
		err = fmt.Errorf("lowering the target of node group %s by %d: %w", action.Group, by, err)
	}
	return report.RepairOutcome{Lowered: lowered, Err: err}
}

// existing counts the machines that exist and are not ending.
func existing(state cloudprovider.GroupState) int {
	count := 0
	for _, instance := range state.Instances {
		if !instance.Placeholder && instance.State != cloudprovider.InstanceDeleting {
			count++
		}
	}
	return count
}

// endMachines ends machines that never became nodes, or failed. One that turns out to have a node with pods on it stays, and
// in a group that goes as a whole only, so do the others.
func (a *Actuator) endMachines(ctx context.Context, group cloudprovider.NodeGroup, state cloudprovider.GroupState, action report.RepairAction) report.RepairOutcome {
	nodes, kept, err := a.withoutUndrained(ctx, action.Nodes)
	if err != nil {
		return report.RepairOutcome{Refused: "it cannot be told whether the machines have pods: " + err.Error()}
	}
	atomic := state.Options.ZeroOrMaxNodeScaling != nil && *state.Options.ZeroOrMaxNodeScaling
	if atomic && len(kept) > 0 {
		nodes = nil
	}
	remove, room := group.DeleteNodes, state.Target-state.Min
	if forcer, ok := group.(cloudprovider.ForceDeleter); ok && (action.Force || action.Kind == report.DeleteFailed && len(nodes) > room) {
		// At the minimum the provider replaces a failed machine instead of lowering the target.
		remove, room = forcer.ForceDeleteNodes, len(nodes)
	}
	if len(nodes) > room {
		why := fmt.Sprintf("the group has %d places and a minimum of %d", state.Target, state.Min)
		a.refuse(KeepBounds, string(action.Group), why)
		kept = append(kept, why)
		nodes = nodes[:max(0, room)]
		if atomic {
			nodes = nil
		}
	}
	out := report.RepairOutcome{Refused: strings.Join(kept, "; ")}
	if len(nodes) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, a.options.CloudTimeout)
	defer cancel()
	if out.Outcomes, err = remove(ctx, nodes); err != nil {
		out.Err = fmt.Errorf("ending %d machines of node group %s: %w", len(nodes), action.Group, err)
	}
	return out
}

// withoutUndrained takes out the machines that have a registered node with a pod that scale-down would have to move. kept says
// which and why. It asks the API server, since a node may have registered only just now.
func (a *Actuator) withoutUndrained(ctx context.Context, refs []cloudprovider.NodeRef) (free []cloudprovider.NodeRef, kept []string, err error) {
	listCtx, cancel := context.WithTimeout(ctx, a.options.KubeTimeout)
	defer cancel()
	nodes, err := a.kube.Nodes(listCtx)
	if err != nil {
		return nil, nil, fmt.Errorf("listing nodes: %w", err)
	}
	for _, ref := range refs {
		at := slices.IndexFunc(nodes, func(node *corev1.Node) bool {
			return ref.ProviderID != "" && node.Spec.ProviderID == ref.ProviderID
		})
		if at < 0 {
			free = append(free, ref)
			continue
		}
		pod, err := a.undrained(ctx, nodes[at].Name)
		if err != nil {
			return nil, nil, err
		}
		if pod == nil {
			free = append(free, ref)
			continue
		}
		why := (&OccupiedError{Node: nodes[at].Name, Pod: nameOf(pod)}).Error()
		a.refuse(KeepUndrained, nodes[at].Name, why)
		kept = append(kept, why)
	}
	return free, kept, nil
}
