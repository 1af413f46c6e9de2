package randomcluster

import (
	"fmt"
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
	fmt.Fprintf(&text, "    multiPoint: {disabled: [%s]}\n", strings.Join(g.someFilters(30), ", "))
	point := func(name string) {
		if g.Chance(30) {
			fmt.Fprintf(&text, "    %s: {disabled: [{name: '*'}], enabled: [%s]}\n", name, strings.Join(g.shuffledFilters(), ", "))
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

// someFilters is each filter with some chance.
func (g *Generator) someFilters(percent int) []string {
	var names []string
	if !g.Chance(percent) {
		return nil
	}
	for _, name := range defaultOrder() {
		if g.Chance(12) {
			names = append(names, "{name: "+name+"}")
		}
	}
	return names
}

// shuffledFilters are most filters in another order.
func (g *Generator) shuffledFilters() []string {
	names := defaultOrder()
	for i := len(names) - 1; i > 0; i-- {
		j := g.Of(i + 1)
		names[i], names[j] = names[j], names[i]
	}
	if g.Chance(10) { // some plug-ins break when one of their points is missing
		names = names[1:]
	}
	for i, name := range names {
		names[i] = "{name: " + name + "}"
	}
	return names
}
