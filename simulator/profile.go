package simulator

import (
	"fmt"
	"os"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Profile is one profile of a kube-scheduler configuration. The zero value is the default profile. Of it only the PreFilter
// and Filter plug-ins count; extenders are not asked.
type Profile struct {
	profile *config.KubeSchedulerProfile // nil: the default one
}

// SchedulerName is the name that pods of this profile ask for; empty for the zero value.
func (p Profile) SchedulerName() string {
	if p.profile == nil {
		return ""
	}
	return p.profile.SchedulerName
}

// LoadProfile reads a KubeSchedulerConfiguration, strictly, and returns its only profile. Errors name the file: it cannot be
// read, is not valid, has unknown fields or plug-ins, or has not exactly one profile.
func LoadProfile(path string) (Profile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Profile{}, fmt.Errorf("reading the scheduler configuration: %w", err) // names the file
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	if err != nil {
		return Profile{}, fmt.Errorf("reading the scheduler configuration in %s: %w", path, err)
	}
	read, ok := object.(*config.KubeSchedulerConfiguration)
	if !ok {
		return Profile{}, fmt.Errorf("reading the scheduler configuration in %s: it holds a %T instead of a KubeSchedulerConfiguration", path, object)
	}
	if count := len(read.Profiles); count != 1 {
		return Profile{}, fmt.Errorf("reading the scheduler configuration in %s: it has %d profiles, exactly one is expected", path, count)
	}
	profile := &read.Profiles[0]
	if unknown := unknownPlugins(profile); len(unknown) > 0 {
		return Profile{}, fmt.Errorf("reading the scheduler configuration in %s: unknown plug-ins %q", path, unknown)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(read); err != nil {
		return Profile{}, fmt.Errorf("reading the scheduler configuration in %s: %w", path, err)
	}
	return Profile{profile: profile}, nil
}

// unknownPlugins lists the plug-ins that filter nodes and aren't part of Kubernetes, sorted. Those that only order
// or score don't matter.
func unknownPlugins(profile *config.KubeSchedulerProfile) []string {
	if profile.Plugins == nil {
		return nil
	}
	registry := plugins.NewInTreeRegistry()
	var unknown []string
	for _, set := range []config.PluginSet{profile.Plugins.MultiPoint, profile.Plugins.PreFilter, profile.Plugins.Filter} {
		for _, plugin := range set.Enabled {
			if _, known := registry[plugin.Name]; !known {
				unknown = append(unknown, plugin.Name)
			}
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// filterPlugins are the plug-ins of Kubernetes that have a say in whether a pod fits on a node; a test compares this list with the
// default profile.
func filterPlugins() []string {
	return []string{
		names.DeferredPodScheduling, names.DynamicResources, names.InterPodAffinity, names.NodeAffinity, names.NodeDeclaredFeatures,
		names.NodeName, names.NodePorts, names.NodeResourcesFit, names.NodeUnschedulable, names.NodeVolumeLimits, names.PodTopologySpread,
		names.TaintToleration, names.VolumeBinding, names.VolumeRestrictions, names.VolumeZone,
	}
}

// PluginsNeeding lists the plug-ins that refuse pods wrongly where a resource cannot be read, by a name such as
// "persistentvolumeclaims" or "storageclasses.storage.k8s.io". They have to be left out then (Options.Without). The other
// resources that plug-ins look at only make the answers less exact when they are missing.
func PluginsNeeding(resource string) []string {
	switch resource {
	case "persistentvolumeclaims":
		return []string{names.NodeVolumeLimits, names.VolumeBinding, names.VolumeRestrictions, names.VolumeZone}
	case "persistentvolumes", "storageclasses.storage.k8s.io":
		return []string{names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone}
	default:
		return nil
	}
}

// restricted is the profile with the PreFilter and Filter plug-ins only, in the same order, and what a framework can't do
// without. Scores and preemption are left out, since building them would watch what is never read.
func (p Profile) restricted(without []string) (*config.KubeSchedulerProfile, error) {
	full := p.profile
	if full == nil {
		configuration, err := latest.Default()
		if err != nil {
			return nil, fmt.Errorf("making the default scheduler profile: %w", err)
		}
		full = &configuration.Profiles[0]
	}
	out := full.DeepCopy()
	if out.Plugins == nil {
		out.Plugins = &config.Plugins{}
	}
	kept := slices.DeleteFunc(filterPlugins(), func(name string) bool { return slices.Contains(without, name) })
	keep := func(set config.PluginSet) config.PluginSet {
		set.Enabled = slices.DeleteFunc(set.Enabled, func(plugin config.Plugin) bool { return !slices.Contains(kept, plugin.Name) })
		return set
	}
	none := config.PluginSet{Disabled: []config.Plugin{{Name: "*"}}}
	only := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name}}, Disabled: none.Disabled}
	}
	out.Plugins = &config.Plugins{
		MultiPoint: keep(out.Plugins.MultiPoint), PreFilter: keep(out.Plugins.PreFilter), Filter: keep(out.Plugins.Filter),
		QueueSort: only(names.PrioritySort), Bind: only(names.DefaultBinder),
		PreEnqueue: none, PostFilter: none, PreScore: none, Score: none, Reserve: none, Permit: none, PreBind: none, PostBind: none,
		PlacementGenerate: none, PlacementScore: none, PodGroupPostFilter: none,
	}
	return out, nil
}
