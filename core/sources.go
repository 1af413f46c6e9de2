package core

import (
	"example.com/cluster-autoscaler/cloudprovider"
	"example.com/cluster-autoscaler/core/config"
	"example.com/cluster-autoscaler/core/observation"
)

// ObservationOptions takes from the command line's options what a Source needs.
func ObservationOptions(from config.Options) observation.Options {
	d := from.NodeGroupDefaults
	limits := cloudprovider.ResourceLimits{
		Min: map[string]int64{"cpu": from.Limits.Cores.Min, "memory": from.Limits.Memory.Min},
		Max: map[string]int64{"cpu": from.Limits.Cores.Max, "memory": from.Limits.Memory.Max},
	}
	for _, gpu := range from.Limits.GPUs {
		limits.Min[gpu.Type], limits.Max[gpu.Type] = gpu.Count.Min, gpu.Count.Max
	}
	return observation.Options{
		AllowedSchedulers: from.Pods.AllowedSchedulers, BypassedSchedulers: from.Pods.BypassedSchedulers,
		ExpendableCutoff: from.Pods.ExpendablePriorityCutoff, Controllers: from.ProactiveScaleUp.Enabled,
		AwaitDrivers: from.Simulation.CSINodeAware,
		Taints:       TaintRules(from.Templates),
		GroupDefaults: observation.GroupOptions{
			ScaleDownUtilizationThreshold: d.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: d.ScaleDownGPUUtilizationThreshold,
			ScaleDownUnneededTime: d.ScaleDownUnneededTime, ScaleDownUnreadyTime: d.ScaleDownUnreadyTime,
			MaxNodeProvisionTime: d.MaxNodeProvisionTime, MaxNodeStartupTime: d.MaxNodeStartupTime,
			IgnoreDaemonSetsUtilization: d.IgnoreDaemonSetsUtilization,
		},
		Limits: limits,
	}
}
