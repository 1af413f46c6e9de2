package simulator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// gated is the registry with plug-ins that can be put out of action: while disabled says so, a plug-in refuses nothing. It is asked at
// PreFilter, whose Skip keeps the plug-in out of the whole question, and of plug-ins without PreFilter at each Filter; so no question is
// answered half with a plug-in and half without. A framework can't be rebuilt without a plug-in: one informer factory takes one framework.
func gated(registry runtime.Registry, disabled func(plugin string) bool) runtime.Registry {
	if disabled == nil {
		return registry
	}
	out := make(runtime.Registry, len(registry))
	for name, factory := range registry {
		out[name] = func(ctx context.Context, arguments apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, arguments, handle)
			if err != nil {
				return nil, err
			}
			return gate(plugin, func() bool { return disabled(name) }), nil
		}
	}
	return out
}

// gate wraps a plug-in so that it takes part in PreFilter and Filter exactly where it did before. The other extension points are never run
// (see restricted), except those of plug-ins that don't filter at all, which stay as they are.
func gate(plugin fwk.Plugin, off func() bool) fwk.Plugin {
	preFilter, judgesPods := plugin.(fwk.PreFilterPlugin)
	filter, judgesNodes := plugin.(fwk.FilterPlugin)
	switch {
	case judgesPods && judgesNodes:
		return gatedBoth{gatedPreFilter{preFilter, off}, filter}
	case judgesPods:
		return gatedPreFilter{preFilter, off}
	case judgesNodes:
		return gatedFilter{filter, off}
	default:
		return plugin
	}
}

type gatedPreFilter struct {
	fwk.PreFilterPlugin
	off func() bool
}

// PreFilter skips a plug-in that is off.
func (g gatedPreFilter) PreFilter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo,
) (*fwk.PreFilterResult, *fwk.Status) {
	if g.off() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return g.PreFilterPlugin.PreFilter(ctx, state, pod, nodes)
}

type gatedFilter struct {
	fwk.FilterPlugin
	off func() bool
}

// Filter lets every node pass while the plug-in is off.
func (g gatedFilter) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	if g.off() {
		return nil
	}
	return g.FilterPlugin.Filter(ctx, state, pod, node)
}

// gatedBoth needs no gate at Filter: the framework leaves out the Filter of a plug-in whose PreFilter said Skip.
type gatedBoth struct {
	gatedPreFilter
	filter fwk.FilterPlugin
}

// Filter is the plug-in's own.
func (g gatedBoth) Filter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo) *fwk.Status {
	return g.filter.Filter(ctx, state, pod, node)
}
