package taints

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The keys of the taints that the autoscaler sets. Their values are Unix seconds.
const (
	// ToBeDeleted keeps pods away from a node that is being removed (effect NoSchedule).
	ToBeDeleted = "ToBeDeletedByClusterAutoscaler"
	// DeletionCandidate asks the scheduler to prefer other nodes while this one is unneeded (effect PreferNoSchedule).
	DeletionCandidate = "DeletionCandidateOfClusterAutoscaler"
)

// The prefixes that always classify a taint, whatever the flags say.
const (
	StartupPrefix = "startup-taint.cluster-autoscaler.kubernetes.io/"
	IgnorePrefix  = "ignore-taint.cluster-autoscaler.kubernetes.io/"
	StatusPrefix  = "status-taint.cluster-autoscaler.kubernetes.io/"
)

// Kind says what a taint means to the autoscaler.
type Kind int

// The kinds. Only those that are KindLasting are expected on a fresh, ready node.
const (
	KindUnset     Kind = iota
	KindLasting        // belongs to the nodes of its group
	KindDeletion       // set by the autoscaler itself
	KindCondition      // repeats a condition of the node
	KindStartup        // will go once the node is ready for work; until then it counts as not ready
	KindStatus         // reports something passing that does not make the node unready
)

// String returns the word used in logs.
func (k Kind) String() string {
	switch k {
	case KindUnset:
		return "unset"
	case KindLasting:
		return "lasting"
	case KindDeletion:
		return "deletion"
	case KindCondition:
		return "condition"
	case KindStartup:
		return "startup"
	case KindStatus:
		return "status"
	default:
		return fmt.Sprintf("Kind(%d)", int(k))
	}
}

// Rules are the taints that the operator declared as passing, besides the built-in prefixes. The zero value has only those.
type Rules struct {
	StartupKeys     []string // --startup-taint and --ignore-taint: exact keys
	StartupPrefixes []string // --startup-taint-prefix
	StatusKeys      []string // --status-taint: exact keys
}

// Classify says what a taint with this key means.
func (r Rules) Classify(key string) Kind {
	switch {
	case key == ToBeDeleted || key == DeletionCandidate:
		return KindDeletion
	case repeatsCondition(key):
		return KindCondition
	case r.isStartup(key):
		return KindStartup
	case strings.HasPrefix(key, StatusPrefix) || slices.Contains(r.StatusKeys, key):
		return KindStatus
	default:
		return KindLasting
	}
}

// Startup returns the first startup taint of the node; ok is false if it has none. A node with one is not ready for work.
func (r Rules) Startup(node *corev1.Node) (taint corev1.Taint, ok bool) {
	for _, taint := range node.Spec.Taints {
		// Not by kind: a key that repeats a condition can be declared as a startup taint too, and then makes the node unready.
		if r.isStartup(taint.Key) {
			return taint, true
		}
	}
	return corev1.Taint{}, false
}

// Lasting returns those of the taints that a fresh node of the same group will carry too. The slice is a new one.
func (r Rules) Lasting(taints []corev1.Taint) []corev1.Taint {
	var lasting []corev1.Taint
	for _, taint := range taints {
		if r.Classify(taint.Key) == KindLasting {
			lasting = append(lasting, taint)
		}
	}
	return lasting
}

func (r Rules) isStartup(key string) bool {
	if strings.HasPrefix(key, StartupPrefix) || strings.HasPrefix(key, IgnorePrefix) || slices.Contains(r.StartupKeys, key) {
		return true
	}
	return slices.ContainsFunc(r.StartupPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// repeatsCondition tells the keys that Kubernetes and clouds use for what is wrong with a node at present. The taint of an
// orderly shutdown (node.kubernetes.io/out-of-service) is set by people and is not among them.
func repeatsCondition(key string) bool {
	switch key {
	case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeUnschedulable, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodeDiskPressure, corev1.TaintNodeNetworkUnavailable, corev1.TaintNodePIDPressure,
		"node.cloudprovider.kubernetes.io/uninitialized", "node.cloudprovider.kubernetes.io/shutdown",
		"cloud.google.com/impending-node-termination", "NodeWithImpairedVolumes":
		return true
	}
	return false
}

// NewToBeDeleted is the taint for a node whose removal starts at the given time.
func NewToBeDeleted(at time.Time) corev1.Taint {
	return corev1.Taint{Key: ToBeDeleted, Value: strconv.FormatInt(at.Unix(), 10), Effect: corev1.TaintEffectNoSchedule}
}

// NewDeletionCandidate is the taint for a node that became unneeded at the given time.
func NewDeletionCandidate(at time.Time) corev1.Taint {
	return corev1.Taint{Key: DeletionCandidate, Value: strconv.FormatInt(at.Unix(), 10), Effect: corev1.TaintEffectPreferNoSchedule}
}

// Find returns the node's first taint with this key.
func Find(node *corev1.Node, key string) (taint corev1.Taint, ok bool) {
	for _, taint := range node.Spec.Taints {
		if taint.Key == key {
			return taint, true
		}
	}
	return corev1.Taint{}, false
}

// Without returns the taints except those with this key. The slice is a new one.
func Without(taints []corev1.Taint, key string) []corev1.Taint {
	var kept []corev1.Taint
	for _, taint := range taints {
		if taint.Key != key {
			kept = append(kept, taint)
		}
	}
	return kept
}

// Time reads the value of a taint that the autoscaler has set, in Unix seconds. Any other value is an error.
func Time(taint corev1.Taint) (time.Time, error) {
	seconds, err := strconv.ParseInt(taint.Value, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the time of taint %s from its value %q (Unix seconds expected): %w", taint.Key, taint.Value, err)
	}
	return time.Unix(seconds, 0), nil
}
