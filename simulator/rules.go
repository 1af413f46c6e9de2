package simulator

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// rule is one plug-in of the profile, in the place where the framework would ask it.
type rule struct {
	name string
	// fixed is set for a plug-in that looks at nothing but the class of a node.
	fixed fwk.Plugin
}

// recorded is the registry that also notes the plug-ins that are made.
func recorded(registry frameworkruntime.Registry, made map[string]fwk.Plugin) frameworkruntime.Registry {
	out := make(frameworkruntime.Registry, len(registry))
	for name, factory := range registry {
		out[name] = func(ctx context.Context, arguments runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := factory(ctx, arguments, handle)
			if err == nil {
				made[name] = plugin
			}
			return plugin, err
		}
	}
	return out
}

// learn finds out what the framework built would ask, and whether that can be known without it.
func (s *Scheduler) learn(listed *config.Plugins, made map[string]fwk.Plugin, profile *config.KubeSchedulerProfile) {
	s.framework = false
	for _, enabled := range listed.Filter.Enabled {
		r := rule{name: enabled.Name}
		switch enabled.Name {
		case names.NodeUnschedulable, names.TaintToleration, names.NodeAffinity, names.NodeDeclaredFeatures:
			r.fixed = made[enabled.Name]
		case names.NodeName, names.NodePorts, names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity, names.DeferredPodScheduling,
			names.DynamicResources, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeRestrictions, names.VolumeZone:
		default:
			s.framework = true
		}
		s.rules = append(s.rules, r)
		// A plug-in of which only a part is on answers in ways of its own.
		if _, judgesPods := made[enabled.Name].(fwk.PreFilterPlugin); judgesPods != enabledIn(listed.PreFilter, enabled.Name) {
			s.framework = true
		}
	}
	for _, enabled := range listed.PreFilter.Enabled {
		if _, judgesNodes := made[enabled.Name].(fwk.FilterPlugin); judgesNodes != enabledIn(listed.Filter, enabled.Name) {
			s.framework = true
		}
	}
	for i := range profile.PluginConfig {
		s.configured(profile.PluginConfig[i].Args)
	}
}

// configured takes over what the arguments of a plug-in say.
func (s *Scheduler) configured(arguments runtime.Object) {
	switch args := arguments.(type) {
	case *config.NodeResourcesFitArgs:
		s.ignored, s.ignoredGroups = args.IgnoredResources, args.IgnoredResourceGroups
	case *config.NodeAffinityArgs:
		if args.AddedAffinity == nil || args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			return
		}
		for _, term := range args.AddedAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, expression := range term.MatchExpressions {
				s.addedKeys = append(s.addedKeys, expression.Key)
			}
			if len(term.MatchFields) > 0 {
				s.framework = true
			}
		}
	case *config.PodTopologySpreadArgs:
		s.spreadsByDefault = args.DefaultingType == config.ListDefaulting &&
			slices.ContainsFunc(args.DefaultConstraints, func(c corev1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == corev1.DoNotSchedule })
	}
}

func enabledIn(set config.PluginSet, name string) bool {
	return slices.ContainsFunc(set.Enabled, func(p config.Plugin) bool { return p.Name == name })
}

// ignores tells an extended resource that the profile takes no notice of.
func (s *Scheduler) ignores(resource corev1.ResourceName) bool {
	if len(s.ignored) == 0 && len(s.ignoredGroups) == 0 || !helper.IsExtendedResourceName(resource) {
		return false
	}
	group, _, _ := strings.Cut(string(resource), "/")
	return slices.Contains(s.ignored, string(resource)) || slices.Contains(s.ignoredGroups, group)
}
