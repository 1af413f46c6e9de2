package externalgrpc

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/externalgrpc/protocol"
)

// nodeMessage says of a node what the protocol has room for.
func nodeMessage(node cloudprovider.NodeRef) *protocol.ExternalGrpcNode {
	return &protocol.ExternalGrpcNode{ProviderID: node.ProviderID, Name: node.Name, Labels: node.Labels, Annotations: node.Annotations}
}

// instancesOf are the machines of a group, each id once. Errors count only together with a state and a code.
func instancesOf(messages []*protocol.Instance) []cloudprovider.Instance {
	instances := make([]cloudprovider.Instance, 0, len(messages))
	seen := make(map[string]bool, len(messages))
	for _, message := range messages {
		id := message.GetId()
		if id == "" || seen[id] {
			continue
		}
		seen[id] = true
		instance := cloudprovider.Instance{ID: id, State: stateOf(message.GetStatus().GetInstanceState())}
		if info := message.GetStatus().GetErrorInfo(); info.GetErrorCode() != "" && instance.State != cloudprovider.InstanceUnset {
			instance.Error = &cloudprovider.InstanceError{
				Class: cloudprovider.ErrorClass(info.GetInstanceErrorClass()), Code: info.GetErrorCode(), Message: info.GetErrorMessage(),
			}
		}
		instances = append(instances, instance)
	}
	return instances
}

func stateOf(state protocol.InstanceStatus_InstanceState) cloudprovider.InstanceState {
	switch state {
	case protocol.InstanceStatus_instanceRunning:
		return cloudprovider.InstanceRunning
	case protocol.InstanceStatus_instanceCreating:
		return cloudprovider.InstanceCreating
	case protocol.InstanceStatus_instanceDeleting:
		return cloudprovider.InstanceDeleting
	default: // unspecified, and what newer servers may say
		return cloudprovider.InstanceUnset
	}
}

// optionsMessage is what the flags say, in the fields of servers of all ages.
func optionsMessage(o cloudprovider.OptionOverrides) *protocol.NodeGroupAutoscalingOptions {
	unneeded, unready, provision := value(o.ScaleDownUnneededTime), value(o.ScaleDownUnreadyTime), value(o.MaxNodeProvisionTime)
	return &protocol.NodeGroupAutoscalingOptions{
		ScaleDownUtilizationThreshold:    value(o.ScaleDownUtilizationThreshold),
		ScaleDownGpuUtilizationThreshold: value(o.ScaleDownGPUUtilizationThreshold),
		ScaleDownUnneededTime:            &protocol.OldDuration{Nanoseconds: int64(unneeded)},
		ScaleDownUnreadyTime:             &protocol.OldDuration{Nanoseconds: int64(unready)},
		MaxNodeProvisionTime:             &protocol.OldDuration{Nanoseconds: int64(provision)},
		ZeroOrMaxNodeScaling:             value(o.ZeroOrMaxNodeScaling),
		IgnoreDaemonSetsUtilization:      value(o.IgnoreDaemonSetsUtilization),
		ScaleDownUnneededDuration:        durationpb.New(unneeded),
		ScaleDownUnreadyDuration:         durationpb.New(unready),
		MaxNodeProvisionDuration:         durationpb.New(provision),
		MaxNodeStartupDuration:           durationpb.New(value(o.MaxNodeStartupTime)),
		AllowNonAtomicScaleUpToMax:       value(o.AllowNonAtomicScaleUpToMax),
	}
}

// overridesOf are the options of a group. The protocol cannot say that a number or a bool is left out: zero is zero. Durations can be left out, and
// then the flags hold; so they do where the server gives a node no time at all to come or to start, which would end every machine at once.
func overridesOf(m *protocol.NodeGroupAutoscalingOptions) cloudprovider.OptionOverrides {
	if m == nil {
		return cloudprovider.OptionOverrides{}
	}
	return cloudprovider.OptionOverrides{
		ScaleDownUtilizationThreshold:    &m.ScaleDownUtilizationThreshold,
		ScaleDownGPUUtilizationThreshold: &m.ScaleDownGpuUtilizationThreshold,
		ScaleDownUnneededTime:            either(m.GetScaleDownUnneededDuration(), m.GetScaleDownUnneededTime()),
		ScaleDownUnreadyTime:             either(m.GetScaleDownUnreadyDuration(), m.GetScaleDownUnreadyTime()),
		MaxNodeProvisionTime:             positive(either(m.GetMaxNodeProvisionDuration(), m.GetMaxNodeProvisionTime())),
		MaxNodeStartupTime:               positive(either(m.GetMaxNodeStartupDuration(), nil)),
		IgnoreDaemonSetsUtilization:      &m.IgnoreDaemonSetsUtilization,
		ZeroOrMaxNodeScaling:             &m.ZeroOrMaxNodeScaling,
		AllowNonAtomicScaleUpToMax:       &m.AllowNonAtomicScaleUpToMax,
	}
}

// either takes the newer field where there are both. Nil: neither is there.
func either(newer *durationpb.Duration, older *protocol.OldDuration) *time.Duration {
	var d time.Duration
	switch {
	case newer != nil:
		d = newer.AsDuration()
	case older != nil:
		d = time.Duration(older.GetNanoseconds())
	default:
		return nil
	}
	if d < 0 {
		return nil
	}
	return &d
}

func positive(d *time.Duration) *time.Duration {
	if d == nil || *d <= 0 {
		return nil
	}
	return d
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
