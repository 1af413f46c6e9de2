package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// state are the instruments of the cluster's state (operator-surface 2.1).
type state struct {
	safe                   prometheus.Gauge
	nodes, groups, pending *prometheus.GaugeVec
	maxNodes, cores        prometheus.Gauge
	memory                 prometheus.Gauge
	coreLimits, memLimits  *prometheus.GaugeVec
	groupMin, groupMax     *prometheus.GaugeVec
	groupTarget, healthy   *prometheus.GaugeVec
	backoff                *prometheus.GaugeVec
	setAside, features     *prometheus.GaugeVec
	skippedPods            *prometheus.GaugeVec
	inconsistent           prometheus.Gauge

	mu       *sync.Mutex // guards what follows
	aside    map[string]bool
	backoffs map[string]map[string]bool
}

func newState() state {
	return state{
		safe:         gauge("cluster_safe_to_autoscale", "Whether the cluster is healthy enough for autoscaling: 1 if it is, 0 if not."),
		nodes:        gaugeVec("nodes_count", "Number of nodes in the cluster, by state.", "state"),
		groups:       gaugeVec("node_groups_count", "Number of node groups, by kind.", "node_group_type"),
		pending:      gaugeVec("unschedulable_pods_count", "Number of pods that wait for room, by kind.", "type"),
		maxNodes:     gauge("max_nodes_count", "Largest number of nodes that all node groups may have together."),
		cores:        gauge("cluster_cpu_current_cores", "CPU cores in the cluster, without nodes that are being deleted."),
		memory:       gauge("cluster_memory_current_bytes", "Bytes of memory in the cluster, without nodes that are being deleted."),
		coreLimits:   gaugeVec("cpu_limits_cores", "Smallest and largest number of cores in the cluster.", "direction"),
		memLimits:    gaugeVec("memory_limits_bytes", "Smallest and largest number of bytes of memory in the cluster.", "direction"),
		groupMin:     gaugeVec("node_group_min_count", "Smallest number of nodes of the node group.", "node_group"),
		groupMax:     gaugeVec("node_group_max_count", "Largest number of nodes of the node group.", "node_group"),
		groupTarget:  gaugeVec("node_group_target_count", "Number of nodes that the node group is to have.", "node_group"),
		healthy:      gaugeVec("node_group_healthiness", "Whether the node group is healthy: 1 if it is, 0 if not.", "node_group"),
		backoff:      gaugeVec("node_group_backoff_status", "Whether the node group is backed off for the reason: 1 if it is, 0 if not.", "node_group", "reason"),
		setAside:     gaugeVec("node_group_set_aside", "Whether the node group is left alone because of an error: 1 if it is, 0 if not any more.", "node_group"),
		features:     gaugeVec("feature_available", "Whether an optional kind of object can be read: 1 if it can, 0 if the feature that needs it is off.", "feature"),
		skippedPods:  gaugeVec("skipped_pods_count", "Number of pods that the pre-scheduling simulation did not reach.", "requestor"),
		inconsistent: gauge("inconsistent_instances_migs_count", "Number of managed instance groups with an inconsistent number of instances; of another cloud, always 0."),
		mu:           &sync.Mutex{},
		aside:        map[string]bool{},
		backoffs:     map[string]map[string]bool{},
	}
}

func (s state) collectors(perGroup bool) []prometheus.Collector {
	all := []prometheus.Collector{
		s.safe, s.nodes, s.groups, s.pending, s.maxNodes, s.cores, s.memory, s.coreLimits, s.memLimits, s.setAside, s.features,
		s.skippedPods, s.inconsistent,
	}
	if perGroup {
		all = append(all, s.groupMin, s.groupMax, s.groupTarget, s.healthy, s.backoff)
	}
	return all
}

// Safe records whether the cluster is healthy.
func (m *Metrics) Safe(healthy bool) { m.state.safe.Set(number(healthy)) }

// NodeCounts are the nodes by state; nodes being deleted are in none.
type NodeCounts struct{ Ready, Unready, NotStarted, Suspended, Unregistered, LongUnregistered int }

// Nodes records the number of nodes by state.
func (m *Metrics) Nodes(c NodeCounts) {
	for state, count := range map[string]int{
		"ready": c.Ready, "unready": c.Unready, "notStarted": c.NotStarted, "suspended": c.Suspended,
		"unregistered": c.Unregistered, "longUnregistered": c.LongUnregistered,
	} {
		m.state.nodes.WithLabelValues(state).Set(float64(count))
	}
}

// NodeGroups records how many groups exist, and how many nodes they may have together.
func (m *Metrics) NodeGroups(autoscaled, autoprovisioned, maxNodes int) {
	m.state.groups.WithLabelValues("autoscaled").Set(float64(autoscaled))
	m.state.groups.WithLabelValues("autoprovisioned").Set(float64(autoprovisioned))
	m.state.maxNodes.Set(float64(maxNodes))
}

// PendingPods records how many pods wait: those a scheduler refused, and those that none has looked at.
func (m *Metrics) PendingPods(unschedulable, unprocessed int) {
	m.state.pending.WithLabelValues("unschedulable").Set(float64(unschedulable))
	m.state.pending.WithLabelValues("scheduler_unprocessed").Set(float64(unprocessed))
}

// InjectedPods records how many copies stood for pods that controllers have yet to create, and how many were left out because of the limit.
func (m *Metrics) InjectedPods(injected, skipped int) {
	m.state.pending.WithLabelValues("injected").Set(float64(injected))
	m.state.pending.WithLabelValues("skipped_injection").Set(float64(skipped))
}

// Capacity records what the nodes offer together, in cores and bytes.
func (m *Metrics) Capacity(cores float64, bytes int64) {
	m.state.cores.Set(cores)
	m.state.memory.Set(float64(bytes))
}

// Limits records the cluster-wide limits, in cores and bytes.
func (m *Metrics) Limits(minCores, maxCores, minBytes, maxBytes int64) {
	m.state.coreLimits.WithLabelValues("minimum").Set(float64(minCores))
	m.state.coreLimits.WithLabelValues("maximum").Set(float64(maxCores))
	m.state.memLimits.WithLabelValues("minimum").Set(float64(minBytes))
	m.state.memLimits.WithLabelValues("maximum").Set(float64(maxBytes))
}

// Group is the state of one node group. Backoff is the reason of an active back-off; nil: none is active.
type Group struct {
	Name             string
	Min, Max, Target int
	Healthy          bool
	Backoff          *string
}

// NodeGroup records the state of one group.
func (m *Metrics) NodeGroup(g Group) {
	m.state.groupMin.WithLabelValues(g.Name).Set(float64(g.Min))
	m.state.groupMax.WithLabelValues(g.Name).Set(float64(g.Max))
	m.state.groupTarget.WithLabelValues(g.Name).Set(float64(g.Target))
	m.state.healthy.WithLabelValues(g.Name).Set(number(g.Healthy))

	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	reasons := m.state.backoffs[g.Name]
	if reasons == nil {
		reasons = map[string]bool{}
		m.state.backoffs[g.Name] = reasons
	}
	if g.Backoff != nil {
		reasons[*g.Backoff] = true
	}
	if len(reasons) == 0 {
		m.state.backoff.WithLabelValues(g.Name, "").Set(0)
	}
	for reason := range reasons {
		m.state.backoff.WithLabelValues(g.Name, reason).Set(number(g.Backoff != nil && *g.Backoff == reason))
	}
}

// SetAside records the groups that are left alone because of an error.
func (m *Metrics) SetAside(groups []string) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	values := make(map[string]int, len(groups))
	for _, group := range groups {
		values[group] = 1
	}
	setAll(m.state.setAside, m.state.aside, values)
}

// filterOutRequestor is the only value of the label "requestor".
const filterOutRequestor = "filter-out-pod-list-processor"

// SkippedPods records how many pods the pre-scheduling simulation did not reach, since its time was up.
func (m *Metrics) SkippedPods(count int) {
	m.state.skippedPods.WithLabelValues(filterOutRequestor).Set(float64(count))
}

// Feature records whether an optional kind of object can be read.
func (m *Metrics) Feature(name string, available bool) {
	m.state.features.WithLabelValues(name).Set(number(available))
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
