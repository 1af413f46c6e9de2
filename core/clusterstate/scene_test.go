package clusterstate_test

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/clusterstate"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
	"example.com/cluster-autoscaler/core/report"
	"example.com/cluster-autoscaler/simulator/simtest"
)

// t0 is when the stories start; the process started then, too.
var t0 = time.Date(2031, 4, 5, 6, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

func options() config.ClusterState {
	return config.ClusterState{
		MaxUnreadyPercentage: 45, OKUnreadyCount: 3,
		InitialBackoff: 5 * time.Minute, MaxBackoff: 30 * time.Minute, BackoffResetTimeout: 3 * time.Hour,
	}
}

func newRegistry() *clusterstate.Registry { return clusterstate.NewRegistry(options(), t0) }

// fleet is a node group with its machines, which a story changes as it goes on.
type fleet struct {
	group    observation.Group
	machines []*machine
}

// machine is an instance, its node, or both.
type machine struct {
	instance *cloudprovider.Instance // nil: the cloud does not list it
	node     *corev1.Node            // nil: it has not registered
	gone     bool                    // the cloud says that there is no such machine
	foreign  bool                    // the node's group cannot be told
}

func newFleet(id string, low, high, target int) *fleet {
	f := &fleet{group: observation.Group{ID: cloudprovider.GroupID(id)}}
	f.group.Min, f.group.Max, f.group.Target = low, high, target
	f.group.Options = observation.GroupOptions{MaxNodeProvisionTime: 15 * time.Minute, MaxNodeStartupTime: 15 * time.Minute}
	return f
}

func (f *fleet) name() string { return fmt.Sprintf("%s-%02d", f.group.ID, len(f.machines)+1) }

// join adds n machines with nodes made by the builder.
func (f *fleet) join(n int, build func(simtest.NodeBuilder) simtest.NodeBuilder) *fleet {
	for range n {
		name := f.name()
		node := simtest.Node(name).CreatedAt(t0.Add(-time.Hour))
		if build != nil {
			node = build(node)
		}
		made := node.Build()
		f.machines = append(f.machines, &machine{
			instance: &cloudprovider.Instance{ID: made.Spec.ProviderID, State: cloudprovider.InstanceRunning}, node: made,
		})
	}
	return f
}

// ready adds n nodes that have been at work for long.
func (f *fleet) ready(n int) *fleet { return f.join(n, nil) }

// unready adds n nodes that are older than the start-up time and not ready.
func (f *fleet) unready(n int) *fleet {
	return f.join(n, func(b simtest.NodeBuilder) simtest.NodeBuilder { return b.NotReady(t0) })
}

// starting adds n nodes that registered at the time and are not ready yet.
func (f *fleet) starting(n int, at time.Time) *fleet {
	return f.join(n, func(b simtest.NodeBuilder) simtest.NodeBuilder { return b.CreatedAt(at).NotReady(at) })
}

// machinesWithoutNode adds n instances without nodes.
func (f *fleet) instances(n int, change func(*cloudprovider.Instance)) *fleet {
	for range n {
		instance := &cloudprovider.Instance{ID: "test:///" + f.name(), State: cloudprovider.InstanceCreating}
		if change != nil {
			change(instance)
		}
		f.machines = append(f.machines, &machine{instance: instance})
	}
	return f
}

// creating adds n instances that have no node yet.
func (f *fleet) creating(n int) *fleet { return f.instances(n, nil) }

// failing adds n instances that cannot be created.
func (f *fleet) failing(n int, code, message string) *fleet {
	return f.instances(n, func(i *cloudprovider.Instance) {
		i.Error = &cloudprovider.InstanceError{Class: cloudprovider.ErrorClassOutOfResources, Code: code, Message: message}
	})
}

// registers makes nodes of n of the instances that have none, ready since the time.
func (f *fleet) registers(n int, at time.Time) {
	for _, m := range f.machines {
		if n > 0 && m.node == nil && m.instance.Error == nil {
			name := m.instance.ID[len("test:///"):]
			m.node = simtest.Node(name).CreatedAt(at).Condition(corev1.NodeReady, corev1.ConditionTrue, at).Build()
			m.instance.State = cloudprovider.InstanceRunning
			n--
		}
	}
}

// without drops the instances that have no node.
func (f *fleet) withoutUnregistered() {
	var kept []*machine
	for _, m := range f.machines {
		if m.node != nil {
			kept = append(kept, m)
		}
	}
	f.machines = kept
}

// see is what an iteration at the time observes of the fleets.
func see(at time.Time, fleets ...*fleet) observation.Observation {
	seen := observation.Observation{At: at, Members: map[string]cloudprovider.GroupID{}, Gone: map[string]bool{}}
	for _, f := range fleets {
		group := f.group
		for _, m := range f.machines {
			if m.instance != nil {
				group.Instances = append(group.Instances, *m.instance)
			}
			if m.node == nil {
				continue
			}
			seen.Nodes = append(seen.Nodes, m.node)
			seen.Gone[m.node.Name] = m.gone
			if m.foreign {
				seen.Unknown = append(seen.Unknown, observation.UnknownNode{Node: m.node.Name, Err: errors.New("unknown")})
			} else if group.ID != "" {
				seen.Members[m.node.Name] = group.ID
			}
		}
		if group.ID != "" {
			seen.Groups = append(seen.Groups, group)
		}
	}
	return seen
}

// strangers are nodes of no group.
func strangers() *fleet { return newFleet("", 0, 0, 0) }

// grown is the outcome of a resize that the cloud accepted.
func grown(f *fleet, by int, at time.Time) []report.ResizeOutcome {
	outcome := resize(f, by, at)
	outcome.Granted = by
	return []report.ResizeOutcome{outcome}
}

// refused is the outcome of a resize that the cloud did not accept.
func refused(f *fleet, by int, at time.Time, err error) []report.ResizeOutcome {
	outcome := resize(f, by, at)
	outcome.Err = err
	return []report.ResizeOutcome{outcome}
}

func resize(f *fleet, by int, at time.Time) report.ResizeOutcome {
	return report.ResizeOutcome{
		Resize: report.Resize{Group: f.group.ID, From: f.group.Target, To: f.group.Target + by, Max: f.group.Max},
		At:     at, Deadline: at.Add(f.group.Options.MaxNodeProvisionTime),
	}
}

func groupOf(state clusterstate.State, f *fleet) clusterstate.GroupState {
	group, _ := state.Group(f.group.ID)
	return group
}

type nodeBuilder = simtest.NodeBuilder
