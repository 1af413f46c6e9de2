package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// operations are the instruments of what was done (operator-surface 2.3).
type operations struct {
	errors                          *prometheus.CounterVec
	scaledUp, scaledUpGPU           *prometheus.CounterVec
	failedScaleUps, failedCreations *prometheus.CounterVec
	failedGPU                       *prometheus.CounterVec
	scaledDown, scaledDownGPU       *prometheus.CounterVec
	evicted                         *prometheus.CounterVec
	unneeded                        prometheus.Gauge
	unremovable                     *prometheus.GaugeVec
	coolDown                        prometheus.Gauge
	unregisteredRemoved             prometheus.Counter
	skipped                         *prometheus.CounterVec
	groupsCreated, groupsDeleted    *prometheus.CounterVec
	taints                          *prometheus.GaugeVec
	refused                         *prometheus.CounterVec
	rebuilt                         prometheus.Counter
	mu                              *sync.Mutex // guards what follows
	unremovableReasons, taintKinds  map[string]bool
}

// ErrorType is a value of the label "type" of errors_total.
type ErrorType string

// The types, as operators know them.
const (
	ErrorCloudProvider     ErrorType = "cloudProviderError"
	ErrorAPICall           ErrorType = "apiCallError"
	ErrorInternal          ErrorType = "internalError"
	ErrorTransient         ErrorType = "transientError"
	ErrorConfiguration     ErrorType = "configurationError"
	ErrorGroupDoesNotExist ErrorType = "nodeGroupDoesNotExistError"
	ErrorUnexpectedState   ErrorType = "unexpectedScaleDownStateError"
)

func newOperations() operations {
	gpu := []string{"gpu_resource_name", "gpu_name", "dra_drivers"}
	return operations{
		errors:          counterVec("errors_total", "Number of iterations that ended with an error, by its type.", "type"),
		scaledUp:        counterVec("scaled_up_nodes_total", "Number of nodes asked for.", gpu...),
		scaledUpGPU:     counterVec("scaled_up_gpu_nodes_total", "Number of GPU nodes asked for; deprecated.", gpu[:2]...),
		failedScaleUps:  counterVec("failed_scale_ups_total", "Number of times a scale-up failed, by reason.", append([]string{"reason"}, gpu...)...),
		failedCreations: counterVec("failed_node_creations_total", "Number of nodes that did not come, by reason.", append([]string{"reason"}, gpu...)...),
		failedGPU:       counterVec("failed_gpu_scale_ups_total", "Number of times a scale-up of a GPU group failed; deprecated.", append([]string{"reason"}, gpu[:2]...)...),
		scaledDown:      counterVec("scaled_down_nodes_total", "Number of nodes removed, by reason.", append([]string{"reason"}, gpu...)...),
		scaledDownGPU:   counterVec("scaled_down_gpu_nodes_total", "Number of GPU nodes removed; deprecated.", append([]string{"reason"}, gpu[:2]...)...),
		evicted:         counterVec("evicted_pods_total", "Number of pods evicted to drain nodes, by result.", "eviction_result"),
		unneeded:        gauge("unneeded_nodes_count", "Number of nodes that could be removed."),
		unremovable:     gaugeVec("unremovable_nodes_count", "Number of nodes that cannot be removed, by reason.", "reason"),
		coolDown:        gauge("scale_down_in_cooldown", "Whether removals are paused: 1 if they are, 0 if not."),
		unregisteredRemoved: counter("old_unregistered_nodes_removed_count",
			"Number of machines ended because they did not become nodes in time."),
		skipped:       counterVec("skipped_scale_events_count", "Number of times scaling was skipped because of a limit.", "direction", "reason"),
		groupsCreated: counterVec("created_node_groups_total", "Number of node groups created.", "group_type"),
		groupsDeleted: counterVec("deleted_node_groups_total", "Number of node groups deleted.", "group_type"),
		taints:        gaugeVec("node_taints_count", "Number of taints in the cluster, by kind.", "type"),
		refused: counterVec("refused_writes_total",
			"Number of writes that were not made because they might have violated an invariant.", "invariant"),
		rebuilt: counter("snapshot_rebuilds_total",
			"Number of times the simulated cluster was found to differ from the real one and was made anew."),
		mu:                 &sync.Mutex{},
		unremovableReasons: map[string]bool{},
		taintKinds:         map[string]bool{},
	}
}

func (o operations) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		o.errors, o.scaledUp, o.scaledUpGPU, o.failedScaleUps, o.failedCreations, o.failedGPU, o.scaledDown, o.scaledDownGPU, o.evicted,
		o.unneeded, o.unremovable, o.coolDown, o.unregisteredRemoved, o.skipped, o.groupsCreated, o.groupsDeleted, o.taints, o.refused,
		o.rebuilt,
	}
}

// preset makes the series that dashboards expect from the start.
func (o operations) preset() {
	for _, t := range []ErrorType{
		ErrorCloudProvider, ErrorAPICall, ErrorInternal, ErrorTransient, ErrorConfiguration, ErrorGroupDoesNotExist, ErrorUnexpectedState,
	} {
		o.errors.WithLabelValues(string(t))
	}
	for _, reason := range []string{string(ErrorCloudProvider), string(ErrorAPICall), "timeout"} {
		o.failedScaleUps.WithLabelValues(reason, "", "", "")
		o.failedCreations.WithLabelValues(reason, "", "", "")
	}
	for _, reason := range []string{"underutilized", "empty", "unready"} {
		o.scaledDown.WithLabelValues(reason, "", "", "")
	}
	for _, result := range []string{"succeeded", "failed"} {
		o.evicted.WithLabelValues(result)
	}
	for _, direction := range []string{"up", "down"} {
		for _, reason := range []string{SkippedCPU, SkippedMemory} {
			o.skipped.WithLabelValues(direction, reason)
		}
	}
}

// Reasons for which scaling is skipped.
const (
	SkippedCPU    = "CpuResourceLimit"
	SkippedMemory = "MemoryResourceLimit"
)

// GPU describes the accelerators of a group's nodes; the zero value: none.
type GPU struct {
	Resource string // such as "nvidia.com/gpu"
	Name     string // its type, or one of the stand-ins of operator-surface 2.3
	Drivers  string // DRA drivers, comma separated
}

// Error counts an iteration that ended with an error.
func (m *Metrics) Error(t ErrorType) { m.operations.errors.WithLabelValues(string(t)).Inc() }

// ScaledUp counts nodes that a cloud accepted to bring.
func (m *Metrics) ScaledUp(nodes int, gpu GPU) {
	m.operations.scaledUp.WithLabelValues(gpu.Resource, gpu.Name, gpu.Drivers).Add(float64(nodes))
	if gpu.Name != "" {
		m.operations.scaledUpGPU.WithLabelValues(gpu.Resource, gpu.Name).Add(float64(nodes))
	}
}

// FailedScaleUp counts one failure that concerns so many nodes.
func (m *Metrics) FailedScaleUp(reason string, nodes int, gpu GPU) {
	m.operations.failedScaleUps.WithLabelValues(reason, gpu.Resource, gpu.Name, gpu.Drivers).Inc()
	m.operations.failedCreations.WithLabelValues(reason, gpu.Resource, gpu.Name, gpu.Drivers).Add(float64(nodes))
	if gpu.Name != "" {
		m.operations.failedGPU.WithLabelValues(reason, gpu.Resource, gpu.Name).Inc()
	}
}

// ScaledDown counts a node whose deletion the cloud accepted.
func (m *Metrics) ScaledDown(reason string, gpu GPU) {
	m.operations.scaledDown.WithLabelValues(reason, gpu.Resource, gpu.Name, gpu.Drivers).Inc()
	if gpu.Name != "" {
		m.operations.scaledDownGPU.WithLabelValues(reason, gpu.Resource, gpu.Name).Inc()
	}
}

// Evicted counts a pod that was evicted, or whose eviction was given up.
func (m *Metrics) Evicted(ok bool) {
	result := "failed"
	if ok {
		result = "succeeded"
	}
	m.operations.evicted.WithLabelValues(result).Inc()
}

// Unneeded records how many nodes could be removed, and whether removals are paused.
func (m *Metrics) Unneeded(nodes int, coolDown bool) {
	m.operations.unneeded.Set(float64(nodes))
	m.operations.coolDown.Set(number(coolDown))
}

// Unremovable records how many nodes are kept, by reason.
func (m *Metrics) Unremovable(byReason map[string]int) {
	m.operations.mu.Lock()
	defer m.operations.mu.Unlock()
	setAll(m.operations.unremovable, m.operations.unremovableReasons, byReason)
}

// UnregisteredRemoved counts machines that were ended because they did not become nodes in time.
func (m *Metrics) UnregisteredRemoved(count int) {
	m.operations.unregisteredRemoved.Add(float64(count))
}

// SkippedScaleUp counts a group that could not grow because of a cluster-wide limit.
func (m *Metrics) SkippedScaleUp(reason string) {
	m.operations.skipped.WithLabelValues("up", reason).Inc()
}

// Taints records the taints in the cluster by kind.
func (m *Metrics) Taints(byKind map[string]int) {
	m.operations.mu.Lock()
	defer m.operations.mu.Unlock()
	setAll(m.operations.taints, m.operations.taintKinds, byKind)
}

// Refused counts a write that was not made because it might have violated an invariant.
func (m *Metrics) Refused(invariant string) { m.operations.refused.WithLabelValues(invariant).Inc() }

// SnapshotRebuilt counts a snapshot of the cluster that was found to differ from what was read, and was made anew.
func (m *Metrics) SnapshotRebuilt() { m.operations.rebuilt.Inc() }

// CreatedNodeGroups counts node groups that were created, by their type.
func (m *Metrics) CreatedNodeGroups(groupType string, count int) {
	m.operations.groupsCreated.WithLabelValues(groupType).Add(float64(count))
}

// DeletedNodeGroups counts node groups that were deleted, by their type.
func (m *Metrics) DeletedNodeGroups(groupType string, count int) {
	m.operations.groupsDeleted.WithLabelValues(groupType).Add(float64(count))
}
