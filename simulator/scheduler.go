package simulator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
)

// Scheduler answers whether pods fit, by the PreFilter and Filter plug-ins of the real scheduler framework. No scores, no
// preemption. Safe for concurrent use, one question at a time; the snapshots asked about are not.
type Scheduler struct{}

// Options configure a Scheduler.
type Options struct {
	// Profile is the scheduler profile to follow; the zero value is kube-scheduler's default one.
	Profile Profile
	// Parallelism is how many nodes are looked at at once, at least 1. It does not change any answer.
	Parallelism int
	// Without names plug-ins that are left out because an API that they read is absent (see PluginsReading).
	Without []string
}

// Profile is one profile of a kube-scheduler configuration. The zero value is the default profile.
type Profile struct{}

// LoadProfile reads a KubeSchedulerConfiguration, strictly, and returns its only profile. Errors name the file: it cannot be
// read, has unknown fields or plug-ins, or has not exactly one profile.
func LoadProfile(path string) (Profile, error) { return Profile{}, nil }

// NewScheduler builds the framework on the factory, whose informers it registers: start the factory afterwards, or again. One factory
// takes one Scheduler. It does no I/O and leaves no goroutine behind; ctx carries the logger.
func NewScheduler(ctx context.Context, factory informers.SharedInformerFactory, options Options) (*Scheduler, error) {
	return nil, nil
}

// Check asks whether the pod fits on the node; a nil Rejection means that it does. A node that does not exist and a plug-in that breaks are
// errors.
func (s *Scheduler) Check(ctx context.Context, snap *Snapshot, pod *corev1.Pod, nodeName string) (*Rejection, error) {
	return nil, nil
}

// Place is Check and, if the pod fits, AddPod.
func (s *Scheduler) Place(ctx context.Context, snap *Snapshot, pod *corev1.Pod, nodeName string) (*Rejection, error) {
	return nil, nil
}

// Search says where PlaceAnywhere looks.
type Search struct {
	// StartAfter is the index of the last match: the search starts at the node behind it and wraps around. A new
	// search starts with 0, hence at index 1; -1 starts at index 0.
	StartAfter int
	// Accept says whether a node may be taken at all; nil: every node. Nodes that it refuses are not reported.
	Accept func(*corev1.Node) bool
}

// Placement is where a pod was placed.
type Placement struct {
	Node  string // empty: nowhere
	Index int    // of the node in canonical order; what the next search takes as StartAfter
}

// PlaceAnywhere places the pod on the first node in search order on which it fits: nodes in canonical order, from the one behind
// StartAfter and around; cordoned nodes are never taken, even by pods that tolerate that. Where it fits nowhere the Placement has no Node, and the
// rejections say why, one per acceptable node in search order, or a single one without node name if no node had to be looked at.
func (s *Scheduler) PlaceAnywhere(ctx context.Context, snap *Snapshot, pod *corev1.Pod, search Search) (Placement, []NodeRejection, error) {
	return Placement{}, nil, nil
}
