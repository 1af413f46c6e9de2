package simulator

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
)

// FilterCode says which condition of the scheduler a node does not meet. The texts are stable: reports and metrics show them.
type FilterCode string

// The codes; the set is closed.
const (
	FilterUnset                FilterCode = ""
	InsufficientResource       FilterCode = "InsufficientResource"       // too little of a resource, or too many pods: see Short
	TaintNotTolerated          FilterCode = "TaintNotTolerated"          // see Taint
	NodeAffinityMismatch       FilterCode = "NodeAffinityMismatch"       // node selector, node affinity, or affinity added by the scheduler
	NodeUnschedulable          FilterCode = "NodeUnschedulable"          // cordoned
	HostPortTaken              FilterCode = "HostPortTaken"              // a port of the node is in use
	PodAffinityMismatch        FilterCode = "PodAffinityMismatch"        // no pod there that this one must be near
	PodAntiAffinity            FilterCode = "PodAntiAffinity"            // a pod there that this one must be away from
	ExistingPodAntiAffinity    FilterCode = "ExistingPodAntiAffinity"    // a pod there that must be away from this one
	TopologySpread             FilterCode = "TopologySpread"             // the spread would be too uneven, or the node lacks the label
	VolumeZone                 FilterCode = "VolumeZone"                 // a volume lies where this node is not
	VolumeUnbound              FilterCode = "VolumeUnbound"              // a claim is missing, or has no volume and can't get one here
	VolumeInUse                FilterCode = "VolumeInUse"                // somebody else uses a volume that takes only one user
	AttachLimit                FilterCode = "AttachLimit"                // the node takes no more volumes of this driver
	ResourceClaim              FilterCode = "ResourceClaim"              // no device for a resource claim
	ResourceClaimsNotSimulated FilterCode = "ResourceClaimsNotSimulated" // the pod has resource claims, and was not asked about
	NodeFeatureMissing         FilterCode = "NodeFeatureMissing"         // the node's kubelet lacks a feature
	OtherFilter                FilterCode = "OtherFilter"                // see Plugin
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
	case names.VolumeZone, names.VolumeBinding, names.VolumeRestrictions, names.NodeVolumeLimits:
		return volumeCode(reasons)
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

// volumeCode goes by the reason, not by the plug-in: a volume that lies elsewhere and a claim that doesn't exist are the same to
// the user, whichever plug-in finds out first.
func volumeCode(reasons []string) FilterCode {
	for _, reason := range reasons {
		switch reason {
		case string(volumebinding.ErrReasonNodeConflict), volumezone.ErrReasonConflict:
			return VolumeZone
		case volumerestrictions.ErrReasonDiskConflict, volumerestrictions.ErrReasonReadWriteOncePodConflict:
			return VolumeInUse
		case nodevolumelimits.ErrReasonMaxVolumeCountExceeded:
			return AttachLimit
		}
	}
	return VolumeUnbound
}

// shortages puts numbers to the reasons that the resource filter gave. What it didn't complain about isn't lacking.
func shortages(asked *amounts, n *node, reasons []string) []Shortage {
	var short []Shortage
	note := func(reason string, name corev1.ResourceName, wanted, offered int64) {
		if slices.Contains(reasons, reason) {
			short = append(short, Shortage{Resource: name, Asked: wanted, Offered: offered})
		}
	}
	note(tooManyPods, corev1.ResourcePods, 1, int64(n.allowedPods-len(n.placements)))
	note(insufficient+string(corev1.ResourceCPU), corev1.ResourceCPU, asked.cpu, n.offered.cpu-n.taken.cpu)
	note(insufficient+string(corev1.ResourceMemory), corev1.ResourceMemory, asked.memory, n.offered.memory-n.taken.memory)
	note(insufficient+string(corev1.ResourceEphemeralStorage), corev1.ResourceEphemeralStorage, asked.storage, n.offered.storage-n.taken.storage)
	for _, s := range asked.scalars {
		note(insufficient+string(s.name), s.name, s.amount, n.offered.of(s.name)-n.taken.of(s.name))
	}
	slices.SortFunc(short, func(a, b Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	return short
}

// unresolvable says that removing pods from the node would not help.
func unresolvable(status *fwk.Status) bool { return status.Code() == fwk.UnschedulableAndUnresolvable }

// rejectionBy is what a status says; nil: the pod fits. A nil node stands for all. by are the plug-ins that speak where the status names none.
func rejectionBy(known *knownPod, n *node, status *fwk.Status, by []string) *Rejection {
	if status.IsSuccess() {
		return nil
	}
	plugin := status.Plugin()
	if plugin == "" && len(by) > 0 {
		plugin = by[0]
	}
	reasons := slices.Sorted(slices.Values(status.Reasons()))
	r := &Rejection{
		Filter: filterCode(plugin, reasons), Plugin: plugin, Reasons: reasons,
		Unresolvable: unresolvable(status),
	}
	if n == nil {
		return r
	}
	switch r.Filter {
	case InsufficientResource:
		r.Short = shortages(&known.shape.asked, n, reasons)
	case TaintNotTolerated:
		r.Taint = untolerated(known.pod, n.object)
	default: // the others carry no numbers
	}
	return r
}

// keepsAway tells the taints for which a pod is not put on a node.
func keepsAway(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}

// untolerated is the taint for which the taint filter refuses the pod.
func untolerated(pod *corev1.Pod, node *corev1.Node) *corev1.Taint {
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
