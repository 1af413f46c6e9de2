package simulator

import (
	corev1 "k8s.io/api/core/v1"
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
