package scenario

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/cloudprovider/simulated"
	"example.com/cluster-autoscaler/core/scenario/document"
)

// appearAfter is how long after the request an instance is listed as creating.
const appearAfter = time.Second

// The codes of machines that fail because a timeline says so.
const codeOutOfResources = "OutOfResources"

// putGroup creates a node group, or changes the one of that name.
func (w *world) putGroup(group document.ResolvedGroup) error {
	id := cloudprovider.GroupID(group.NodeGroup.Metadata.Name)
	w.interfered()
	if _, exists := w.cloud.Group(id); exists {
		return w.replaceGroup(id, group)
	}
	described := describe(group)
	for i, node := range group.Existing {
		described.Existing = append(described.Existing, existing(node, group.ExistingVariants[i]))
	}
	target := group.Target
	described.Target = min(target, unitsOf(described))
	if err := w.cloud.AddGroup(described); err != nil {
		return err
	}
	w.groups[id] = group.NodeGroup
	if described.Target < target {
		if _, err := w.cloud.SetTarget(id, target); err != nil {
			return err
		}
	}
	for _, machine := range w.cloud.Machines(id) {
		if !machine.RegisteredAt.IsZero() { // its node is one of the input
			w.machines[machine.NodeName] = machine
		}
	}
	return nil
}

// replaceGroup changes the description of a group. Its machines stay as they are.
func (w *world) replaceGroup(id cloudprovider.GroupID, group document.ResolvedGroup) error {
	described := describe(group)
	err := w.cloud.Update(id, func(g *simulated.Group) {
		described.Target, described.Existing, described.NodeName = g.Target, g.Existing, g.NodeName
		described.Fate = g.Fate
		if len(described.Templates) == 0 {
			described.Templates = g.Templates
		}
		*g = described
	})
	if err != nil {
		return err
	}
	w.groups[id] = group.NodeGroup
	if group.NodeGroup.Spec.TargetSize == nil {
		return nil
	}
	_, err = w.cloud.SetTarget(id, *group.NodeGroup.Spec.TargetSize)
	return err
}

// unitsOf is how much the machines that exist from the start count.
func unitsOf(g simulated.Group) int {
	weights := make(map[string]int, len(g.Templates))
	for _, template := range g.Templates {
		weights[template.Key] = max(template.Weight, 1)
	}
	units := 0
	for _, machine := range g.Existing {
		units += weights[machine.Variant]
	}
	return units
}

// describe says what the simulated cloud has to know of a group, except its machines.
func describe(group document.ResolvedGroup) simulated.Group {
	name, spec := group.NodeGroup.Metadata.Name, group.NodeGroup.Spec
	g := simulated.Group{
		ID: cloudprovider.GroupID(name), Min: spec.MinSize, Templates: group.Templates, WithoutTemplates: spec.WithoutTemplate,
		AppearDelay: appearAfter, LaunchDelay: durationOf(spec.ProvisionTime), FailDelay: durationOf(spec.FailAfter),
		DeleteDelay: durationOf(spec.DeletionTime), PricePerHour: spec.PriceHour, Options: overrides(spec.Options),
		NodeName: func(n int) string { return fmt.Sprintf("%s-%d", name, n-1) },
	}
	if spec.MaxSize != nil {
		g.Max = *spec.MaxSize
	}
	if spec.Stock != nil {
		g.Stock = map[string]int{"": *spec.Stock}
	}
	return g
}

// existing is the machine of a node of the input.
func existing(node *corev1.Node, variant string) simulated.Existing {
	return simulated.Existing{
		NodeName: node.Name, ProviderID: node.Spec.ProviderID, Variant: variant, Since: node.CreationTimestamp.Time,
	}
}

func durationOf(d *document.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func overrides(o document.GroupOptions) cloudprovider.OptionOverrides {
	duration := func(d *document.Duration) *time.Duration {
		if d == nil {
			return nil
		}
		return &d.Duration
	}
	return cloudprovider.OptionOverrides{
		ScaleDownUtilizationThreshold:    o.ScaleDownUtilizationThreshold,
		ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime:            duration(o.ScaleDownUnneededTime),
		ScaleDownUnreadyTime:             duration(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime:             duration(o.MaxNodeProvisionTime),
		MaxNodeStartupTime:               duration(o.MaxNodeStartupTime),
		IgnoreDaemonSetsUtilization:      o.IgnoreDaemonSetsUtilization,
		ZeroOrMaxNodeScaling:             o.ZeroOrMaxNodeScaling,
		AllowNonAtomicScaleUpToMax:       o.AllowNonAtomicScaleUpToMax,
	}
}

// changeCloud carries out what a timeline says about the cloud.
func (w *world) changeCloud(change document.CloudChange) error {
	w.interfered()
	ids := []cloudprovider.GroupID{cloudprovider.GroupID(change.NodeGroup)}
	if change.NodeGroup == "" {
		ids = sortedIDs(w.groups)
	}
	w.inject(change.RefreshError, "", simulated.Refresh) // it concerns no single group
	for _, id := range ids {
		w.injectErrors(change, id)
		if err := w.cloud.Update(id, func(g *simulated.Group) { alter(g, change) }); err != nil {
			return err
		}
		if change.TargetSize != nil {
			if _, err := w.cloud.SetTarget(id, *change.TargetSize); err != nil {
				return err
			}
		}
	}
	return nil
}

// alter changes what becomes of new machines, and the bounds.
func alter(g *simulated.Group, change document.CloudChange) {
	if change.OutOfResources != nil {
		g.Fate.Error = nil
		if *change.OutOfResources {
			g.Fate.Error = &cloudprovider.InstanceError{
				Class: cloudprovider.ErrorClassOutOfResources, Code: codeOutOfResources, Message: "there are no more machines",
			}
		}
	}
	if change.Stuck != nil {
		g.Fate.Stuck = *change.Stuck
	}
	if change.MinSize != nil {
		g.Min = *change.MinSize
	}
	if change.MaxSize != nil {
		g.Max = *change.MaxSize
	}
}

// injectErrors makes calls about a group fail, or work again. What concerns all groups is said of each, so that it can end for one of them.
func (w *world) injectErrors(change document.CloudChange, group cloudprovider.GroupID) {
	for _, fault := range []struct {
		text *string
		on   []simulated.Operation
	}{
		{change.IncreaseError, []simulated.Operation{simulated.IncreaseSize, simulated.IncreaseSizeAtomically}},
		{change.DeleteError, []simulated.Operation{simulated.DeleteNodes, simulated.ForceDeleteNodes}},
		{change.TemplateError, []simulated.Operation{simulated.ReadTemplates}},
		{change.SizeError, []simulated.Operation{simulated.ReadSize}},
		{change.NodesError, []simulated.Operation{simulated.ListInstances}},
	} {
		w.inject(fault.text, group, fault.on...)
	}
}

func (w *world) inject(text *string, group cloudprovider.GroupID, operations ...simulated.Operation) {
	if text == nil {
		return
	}
	for _, on := range operations {
		w.cloud.Clear(on, group)
		if *text != "" {
			w.cloud.Inject(simulated.Fault{On: on, Group: group, Err: errors.New(*text)})
		}
	}
}

func (w *world) priorityClasses() []*schedulingv1.PriorityClass {
	var classes []*schedulingv1.PriorityClass
	for _, object := range w.others["PriorityClass"].all() {
		if class, ok := object.(*schedulingv1.PriorityClass); ok {
			classes = append(classes, class)
		}
	}
	return classes
}
