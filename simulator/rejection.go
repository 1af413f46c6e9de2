package simulator

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// FilterCode says which condition of the scheduler a node does not meet. The texts are stable: reports and metrics show them.
type FilterCode string

// The codes, one for each filter; the set is closed.
const (
	FilterUnset                FilterCode = ""
	InsufficientResource       FilterCode = "InsufficientResource"
	TaintNotTolerated          FilterCode = "TaintNotTolerated"
	NodeAffinityMismatch       FilterCode = "NodeAffinityMismatch"
	NodeUnschedulable          FilterCode = "NodeUnschedulable"
	HostPortTaken              FilterCode = "HostPortTaken"
	PodAffinityMismatch        FilterCode = "PodAffinityMismatch"
	PodAntiAffinity            FilterCode = "PodAntiAffinity"
	ExistingPodAntiAffinity    FilterCode = "ExistingPodAntiAffinity"
	TopologySpread             FilterCode = "TopologySpread"
	VolumeZone                 FilterCode = "VolumeZone"
	VolumeUnbound              FilterCode = "VolumeUnbound"
	VolumeInUse                FilterCode = "VolumeInUse"
	AttachLimit                FilterCode = "AttachLimit"
	ResourceClaim              FilterCode = "ResourceClaim"
	ResourceClaimsNotSimulated FilterCode = "ResourceClaimsNotSimulated"
	NodeFeatureMissing         FilterCode = "NodeFeatureMissing"
	OtherFilter                FilterCode = "OtherFilter"
)

// Rejection says why a pod does not fit on a node, with the numbers that decided it.
type Rejection struct {
	Filter FilterCode
	// Plugin is the scheduler plug-in that said no; empty with ResourceClaimsNotSimulated.
	Plugin string
	// Unresolvable: removing other pods from the node would not help.
	Unresolvable bool
	// Reasons are the plug-in's own words, sorted. They are part of event texts.
	Reasons []string
	// Short lists the resources of which the node has too little, in ascending order of names (InsufficientResource only).
	Short []Shortage
	// Taint is the first that the pod does not tolerate (TaintNotTolerated only); nil otherwise.
	Taint *corev1.Taint
}

// Shortage is one resource of which a node has too little: cpu in milli, all others in units.
type Shortage struct {
	Resource corev1.ResourceName
	Asked    int64 // by the pod
	Offered  int64 // allocatable less what the pods on the node request; may be negative
}

// NodeRejection is the rejection by one node. An empty Node stands for all nodes: the pod was refused before any was looked at.
type NodeRejection struct {
	Node string
	Rejection
}

// filterCode sorts what a plug-in said into the codes.
func filterCode(plugin string, reasons []string) FilterCode {
	switch plugin {
	case names.NodeResourcesFit:
		return InsufficientResource
	case names.TaintToleration:
		return TaintNotTolerated
	case names.NodeAffinity:
		return NodeAffinityMismatch
	case names.NodeUnschedulable:
		return NodeUnschedulable
	case names.NodePorts:
		return HostPortTaken
	case names.InterPodAffinity:
		return affinityCode(reasons)
	case names.PodTopologySpread:
		return TopologySpread
	case names.VolumeZone:
		return VolumeZone
	case names.VolumeBinding:
		// A bound volume that lies elsewhere is the same to the user, whichever plug-in finds out.
		if slices.Contains(reasons, string(volumebinding.ErrReasonNodeConflict)) {
			return VolumeZone
		}
		return VolumeUnbound
	case names.VolumeRestrictions:
		return VolumeInUse
	case names.NodeVolumeLimits:
		return AttachLimit
	case names.DynamicResources:
		return ResourceClaim
	case names.NodeDeclaredFeatures:
		return NodeFeatureMissing
	default:
		return OtherFilter
	}
}

func affinityCode(reasons []string) FilterCode {
	switch {
	case slices.Contains(reasons, interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch):
		return ExistingPodAntiAffinity
	case slices.Contains(reasons, interpodaffinity.ErrReasonAntiAffinityRulesNotMatch):
		return PodAntiAffinity
	case slices.Contains(reasons, interpodaffinity.ErrReasonAffinityRulesNotMatch):
		return PodAffinityMismatch
	default:
		return OtherFilter
	}
}

// shortages puts numbers to the reasons that the resource filter gave.
func shortages(pod *corev1.Pod, info *framework.NodeInfo, reasons []string) []Shortage {
	options := noderesources.ResourceRequestsOptions{EnablePodLevelResources: true, EnableDRAExtendedResource: true}
	var short []Shortage
	for _, lacking := range noderesources.Fits(pod, info, noDevices{}, options) {
		// The profile may ignore some resources: what it didn't complain about isn't lacking.
		if slices.Contains(reasons, lacking.Reason) {
			short = append(short, Shortage{Resource: lacking.ResourceName, Asked: lacking.Requested, Offered: lacking.Capacity - lacking.Used})
		}
	}
	slices.SortFunc(short, func(a, b Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	return short
}

// untolerated is the taint for which the taint filter refuses the pod.
func untolerated(pod *corev1.Pod, node *corev1.Node) *corev1.Taint {
	keepsAway := func(taint *corev1.Taint) bool {
		return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
	}
	taint, found := schedulingcorev1.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, pod.Spec.Tolerations, keepsAway, false)
	if !found {
		return nil
	}
	return &taint
}

// FilterCodes lists all codes, in the order in which they are declared. The slice is a new one.
func FilterCodes() []FilterCode {
	return []FilterCode{
		InsufficientResource, TaintNotTolerated, NodeAffinityMismatch, NodeUnschedulable, HostPortTaken, PodAffinityMismatch, PodAntiAffinity,
		ExistingPodAntiAffinity, TopologySpread, VolumeZone, VolumeUnbound, VolumeInUse, AttachLimit, ResourceClaim, ResourceClaimsNotSimulated,
		NodeFeatureMissing, OtherFilter,
	}
}
