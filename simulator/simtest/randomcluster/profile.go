package randomcluster

import (
	"fmt"
	"slices"
	"strings"
)

// defaultOrder are the filters of the default profile.
func defaultOrder() []string {
	return []string{
		"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
		"VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures", "DeferredPodScheduling",
	}
}

// profile is empty in half of the cases.
func (g *Generator) profile() string {
	if g.Chance(50) {
		return g.customProfile()
	}
	return ""
}

func (g *Generator) customProfile() string {
	var text strings.Builder
	text.WriteString("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: random\n  plugins:\n")
	var off []string
	if g.Chance(30) {
		off = g.someFilters()
	}
	fmt.Fprintf(&text, "    multiPoint: {disabled: [%s]}\n", named(off))
	point := func(name string) {
		if g.Chance(30) {
			fmt.Fprintf(&text, "    %s: {disabled: [{name: '*'}], enabled: [%s]}\n", name, named(g.shuffledFilters(off)))
		}
	}
	point("preFilter")
	point("filter")
	text.WriteString("  pluginConfig:\n  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 1}}\n")
	if g.Chance(25) {
		fmt.Fprintf(&text, "  - name: NodeAffinity\n    args:\n      addedAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n"+
			"          nodeSelectorTerms: [{matchExpressions: [{key: %s, operator: %s}]}]\n", poolLabel, Pick(g.Choices, "Exists", "In, values: [a]", "NotIn, values: [b]"))
	}
	if g.Chance(25) {
		fmt.Fprintf(&text, "  - {name: NodeResourcesFit, args: {%s}}\n", Pick(g.Choices,
			"ignoredResources: [example.com/gpu]", "ignoredResourceGroups: [example.com]", "ignoredResources: [example.com/nic], ignoredResourceGroups: [other.example]"))
	}
	if g.Chance(40) {
		fmt.Fprintf(&text, "  - {name: PodTopologySpread, args: {defaultingType: List, defaultConstraints: [%s]}}\n", Pick(g.Choices,
			"{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}",
			"{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}",
			"{maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule}, "+
				"{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}"))
	}
	return text.String()
}

func named(plugins []string) string {
	var list []string
	for _, name := range plugins {
		list = append(list, "{name: "+name+"}")
	}
	return strings.Join(list, ", ")
}

// someFilters is each filter with some chance.
func (g *Generator) someFilters() []string {
	return slices.DeleteFunc(defaultOrder(), func(string) bool { return !g.Chance(12) })
}

// shuffledFilters are the filters that aren't off in another order.
func (g *Generator) shuffledFilters(off []string) []string {
	names := slices.DeleteFunc(defaultOrder(), func(name string) bool { return slices.Contains(off, name) })
	for i := len(names) - 1; i > 0; i-- {
		j := g.Of(i + 1)
		names[i], names[j] = names[j], names[i]
	}
	if g.Chance(6) { // some plug-ins break when one of their points is missing
		names = names[1:]
	}
	return names
}
