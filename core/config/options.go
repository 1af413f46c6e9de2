package config

import "time"

// Options is everything that a command line can say, grouped by the part of the program that reads it. It is made by Parse, is
// complete (defaults filled in) and valid, and is never changed afterwards. A step is given its own group only.
type Options struct {
	Process              Process
	API                  API
	LeaderElection       LeaderElection
	Cloud                Cloud
	Loop                 Loop
	Limits               Limits
	ClusterState         ClusterState
	NodeGroupDefaults    NodeGroupDefaults
	ScaleUp              ScaleUp
	Balancing            Balancing
	Pods                 Pods
	Templates            Templates
	Simulation           Simulation
	ScaleDown            ScaleDown
	Drain                Drain
	SoftTaints           SoftTaints
	Status               Status
	Debug                Debug
	ProactiveScaleUp     ProactiveScaleUp
	ProvisioningRequests ProvisioningRequests
	CapacityBuffers      CapacityBuffers
	CapacityQuotas       CapacityQuotas
	Logging              Logging

	// FeatureGates holds what --feature-gates says, name to value; nil when the flag isn't given. The names are not checked here:
	// which gates exist depends on the libraries that a binary links. cmd sets them on its gate and treats an unknown name as a
	// usage error. Gates that a flag governs (DynamicResourceAllocation) never appear in it.
	FeatureGates map[string]bool
}

// Process is the process itself and the place where its objects live.
type Process struct {
	Address      string // host:port of the one HTTP server (metrics, health); --address
	Namespace    string // of the status ConfigMap, the priority expander's ConfigMap and the Lease; --namespace
	PersistState bool   // keep requests, back-off and timers in the status ConfigMap over restarts; --persist-state
}

// API says how the Kubernetes API is reached.
type API struct {
	Kubeconfig  string        // file; wins over URL; "" with an empty URL means in-cluster; --kubeconfig
	URL         KubernetesURL // --kubernetes, taken apart
	ContentType string        // wire format for built-in types; --kube-api-content-type
	QPS         float64       // client-side limit, requests per second; --kube-client-qps
	Burst       int           // requests above the limit at once; --kube-client-burst
	UserAgent   string        // --user-agent
}

// KubernetesURL is the value of --kubernetes. In use only while API.Kubeconfig is empty.
type KubernetesURL struct {
	Server            string // scheme://host[:port] that overrides the server of the configuration; "" means: do not override
	InCluster         bool   // start from the in-cluster configuration; option inClusterConfig, default true
	Kubeconfig        string // path of a kubeconfig to start from; option auth, default ""; used when InCluster is false
	UseServiceAccount bool   // take the pod's service account token; option useServiceAccount, default false
}

// LeaderElection is the election on a Lease in Process.Namespace. The timings are valid for client-go's elector.
type LeaderElection struct {
	Enabled       bool          // false: run at once; --leader-elect
	LeaseDuration time.Duration // --leader-elect-lease-duration
	RenewDeadline time.Duration // --leader-elect-renew-deadline
	RetryPeriod   time.Duration // --leader-elect-retry-period
	LeaseName     string        // --leader-elect-resource-name
}

// Cloud is what the cloud provider is made from. Nodes and AutoDiscovery are unparsed, since their form differs from cloud to cloud.
type Cloud struct {
	// Provider is the name of the cloud; "" when the flag isn't given. cmd knows which clouds are linked and checks it. There is
	// no default, because a wrong guess acts on somebody's machines. --cloud-provider
	Provider              string
	ConfigFile            string   // the cloud's own configuration file; "" means none; --cloud-config
	Nodes                 []string // explicit groups, one element per flag; --nodes
	AutoDiscovery         []string // discovery rules, one element per flag; --node-group-auto-discovery
	ClusterName           string   // read by no cloud that is linked today; --cluster-name
	AWSStaticInstanceList bool     // never ask EC2 for instance types; --aws-use-static-instance-list
	AWSPriceOverrides     string   // file with prices that AWS doesn't tell; "" means none; --aws-price-overrides
	// AWSDiscoverAny takes the groups that any of several discovery rules matches; else they must match all of them. --aws-discovery-match
	AWSDiscoverAny     bool
	AWSRefreshInterval time.Duration // between two readings of all groups, 10 s to 4 min; --aws-refresh-interval
	AWSPauseByTag      bool          // leave groups alone whose tag says so; --aws-pause-by-tag
}

// Loop is the rhythm of the iterations and what health says about them.
type Loop struct {
	ScanInterval   time.Duration // pause between the end of one iteration and the next, above 0; --scan-interval
	FrequentLoops  bool          // a fresh unschedulable pod or a change cuts the pause short; --frequent-loops-enabled
	MaxInactivity  time.Duration // allowed age of the last iteration's start; --max-inactivity
	MaxFailingTime time.Duration // allowed age of the last success; --max-failing-time
	// MaxStartupTime replaces both limits until the first success; never below either of them. --max-startup-time
	MaxStartupTime      time.Duration
	ScaleUpFromZero     bool // go on without (ready) nodes; --scale-up-from-zero
	EnforceGroupMinSize bool // raise groups below their minimum without pending pods; --enforce-node-group-min-size
}

// Unlimited is the upper end of a Range that nobody limited, or one too large to count.
const Unlimited int64 = 1<<63 - 1

// Range is a lower and an upper limit, both included; 0 <= Min <= Max.
type Range struct {
	Min, Max int64
}

// GPULimit is the cluster-wide limit for one type of GPU. Type is compared with the value of the cloud's GPU label.
type GPULimit struct {
	Type  string
	Count Range // GPUs
}

// Limits are the cluster-wide limits. A maximum forbids growing, a minimum forbids shrinking.
type Limits struct {
	MaxNodes int        // nodes in the whole cluster, also unmanaged ones; 0 means no limit; --max-nodes-total
	Cores    Range      // CPU cores; --cores-total
	Memory   Range      // bytes (the flag is in GiB); saturates at Unlimited; --memory-total
	GPUs     []GPULimit // by ascending type, each type once; nil means no limit; --gpu-total
}

// ClusterState is how the registry judges readiness, failures and health.
type ClusterState struct {
	MaxUnreadyPercentage    float64       // 0 to 100; unhealthy needs more than this; --max-total-unready-percentage
	OKUnreadyCount          int           // and more unready nodes than this; --ok-total-unready-count
	InitialBackoff          time.Duration // first back-off of a group; doubles; --initial-node-group-backoff-duration
	MaxBackoff              time.Duration // longest back-off; --max-node-group-backoff-duration
	BackoffResetTimeout     time.Duration // quiet time after which back-off starts anew; --node-group-backoff-reset-timeout
	HealthScopeAllNodes     bool          // nodes of no managed group count for cluster health too; --health-scope-all-nodes
	ForceDeleteUnregistered bool          // remove long-unregistered machines even below the minimum; --force-delete-unregistered-nodes
	ForceDeleteFailed       bool          // same for machines with a creation error; --force-delete-failed-nodes
}

// NodeGroupDefaults are the options that a group may override for itself (scale-down §0.4).
type NodeGroupDefaults struct {
	ScaleDownUtilizationThreshold    float64       // requests / allocatable, 0 to 1; at or below: candidate; --scale-down-utilization-threshold
	ScaleDownGPUUtilizationThreshold float64       // same for nodes with GPUs; --scale-down-gpu-utilization-threshold
	ScaleDownUnneededTime            time.Duration // how long a ready node must be unneeded; --scale-down-unneeded-time
	ScaleDownUnreadyTime             time.Duration // how long an unready node must be unneeded; --scale-down-unready-time
	MaxNodeProvisionTime             time.Duration // from the request until the node must have registered; --max-node-provision-time
	MaxNodeStartupTime               time.Duration // from registration until an unready node counts as unready; --max-node-startup-time
	IgnoreDaemonSetsUtilization      bool          // leave DaemonSet pods out of utilisation; --ignore-daemonsets-utilization
}

// Expander names a strategy of choosing between expansion options.
type Expander string

// The strategies (loop-and-scale-up §5.7).
const (
	ExpanderRandom     Expander = "random"
	ExpanderMostPods   Expander = "most-pods"
	ExpanderLeastWaste Expander = "least-waste"
	ExpanderLeastNodes Expander = "least-nodes"
	ExpanderPrice      Expander = "price"
	ExpanderPriority   Expander = "priority"
	ExpanderGRPC       Expander = "grpc"
)

// PriorityConfigMap is the name of the ConfigMap that ExpanderPriority reads, in the namespace of the process.
const PriorityConfigMap = "cluster-autoscaler-priority-expander"

// EstimatorBinpacking is the only estimator.
const EstimatorBinpacking = "binpacking"

// ScaleUp is how the program grows the cluster.
type ScaleUp struct {
	Estimator string // always EstimatorBinpacking; --estimator
	// Expanders is the chain in order: at least one, none twice, ExpanderRandom only at the end. What is still tied behind the last one is
	// drawn at random. --expander
	Expanders                 []Expander
	GRPCExpanderURL           string        // host:port; --grpc-expander-url
	GRPCExpanderCert          string        // file; --grpc-expander-cert
	MaxNodesPerScaleUp        int           // one estimation; 0 means no limit, below 0 none allowed; --max-nodes-per-scaleup
	MaxGroupBinpackingTime    time.Duration // one group; 0 means no limit, below 0 none allowed; --max-nodegroup-binpacking-duration
	MaxBinpackingTime         time.Duration // all groups of one scale-up; --max-binpacking-time
	Parallel                  bool          // resize several groups at once; --parallel-scale-up
	Salvo                     bool          // repeat within one iteration; --salvo-scale-up
	SalvoBudget               time.Duration // time for the repetitions; --salvo-scale-up-budget
	SimulateSkippedNodeGroups bool          // also simulate skipped groups, for reporting; --scaleup-simulation-for-skipped-node-groups-enabled
}

// Balancing is how a scale-up is spread over similar groups.
type Balancing struct {
	Enabled                       bool     // --balance-similar-node-groups
	IgnoreLabels                  []string // extra label keys that don't count; nil means none; --balancing-ignore-label
	Labels                        []string // not empty: these label keys decide alone; --balancing-label
	MemoryDifferenceRatio         float64  // allowed relative difference of memory capacity; --memory-difference-ratio
	MaxFreeDifferenceRatio        float64  // allowed relative difference of free resources; --max-free-difference-ratio
	MaxAllocatableDifferenceRatio float64  // allowed relative difference of allocatable; --max-allocatable-difference-ratio
}

// Pods says which pods count, and from when on.
type Pods struct {
	// ExpendablePriorityCutoff: pods of a lower priority neither cause growth nor keep a node. A pod without a priority is never
	// expendable. --expendable-pods-priority-cutoff
	ExpendablePriorityCutoff   int
	NewPodScaleUpDelay         time.Duration // a pod must be older than this to cause growth; --new-pod-scale-up-delay
	AllowedSchedulers          []string      // not empty: only pods of these schedulers count; --allowed-scheduler-names
	BypassedSchedulers         []string      // count pods before these schedulers saw them; --bypassed-scheduler-names
	GracefulDegradation        bool          // stop the pre-scheduling simulation after BatchingTimeout; --enable-graceful-degradation
	GracefulDegradationTimeout time.Duration // --pending-pods-batching-timeout
}

// Templates is how a new node of a group is imagined.
type Templates struct {
	// NodeInfoCacheExpireTime is the age limit of a template learnt from a live node. --node-info-cache-expire-time
	NodeInfoCacheExpireTime time.Duration
	ForceDaemonSets         bool     // add the pods of missing DaemonSets also to templates made from live nodes; --force-ds
	FromUnschedulable       bool     // ignore spec.unschedulable of the node copied; --scale-from-unschedulable
	StartupTaints           []string // exact keys; removed, and a node with one isn't ready; --startup-taint and --ignore-taint, each key once
	StartupTaintPrefixes    []string // same for keys that start so, the two built-in prefixes included; --startup-taint-prefix
	StatusTaints            []string // exact keys; removed, and a node with one is ready; --status-taint
	StatusTaintPrefixes     []string // same for keys that start so: the built-in prefix
}

// Taint prefixes that always count (operator-surface §5.3).
const (
	StartupTaintPrefix = "startup-taint.cluster-autoscaler.kubernetes.io/"
	IgnoreTaintPrefix  = "ignore-taint.cluster-autoscaler.kubernetes.io/" // the older spelling of StartupTaintPrefix
	StatusTaintPrefix  = "status-taint.cluster-autoscaler.kubernetes.io/"
)

// Simulation is how the scheduler is imitated.
type Simulation struct {
	SchedulerConfigFile      string // KubeSchedulerConfiguration; "" means the default profile; --scheduler-config-file
	Parallelism              int    // goroutines for predicate checks, 1 or more; --predicate-parallelism
	FastPath                 bool   // do without the framework where its answer is known; --simulator-fast-path
	CSINodeAware             bool   // nodes wait for the drivers of their group's template; --enable-csi-node-aware-scheduling
	HostnameAffinityFastPath bool   // the scheduler's own short cut; --enable-inter-pod-affinity-hostname-fast-path
}

// ScaleDown is which nodes are taken away, and when. What a group can override is in NodeGroupDefaults, how a node is emptied in Drain.
type ScaleDown struct {
	Enabled                    bool          // --scale-down-enabled
	UnreadyEnabled             bool          // unready nodes may be removed; --scale-down-unready-enabled
	DelayAfterAdd              time.Duration // pause after growth; --scale-down-delay-after-add
	DelayAfterDelete           time.Duration // pause after a removal; --scale-down-delay-after-delete
	DelayAfterFailure          time.Duration // pause after a failed removal; --scale-down-delay-after-failure
	DelayTypeLocal             bool          // the three pauses hold per group; --scale-down-delay-type-local
	IgnoreMirrorPods           bool          // leave mirror pods out of utilisation; --ignore-mirror-pods-utilization
	SimulationTimeout          time.Duration // for the search of one iteration; --scale-down-simulation-timeout
	UnremovableRecheckTimeout  time.Duration // an unremovable node is left alone so long; --unremovable-node-recheck-timeout
	MaxParallelism             int           // nodes in deletion at once; --max-scale-down-parallelism
	MaxDrainParallelism        int           // of these, nodes being drained; --max-drain-parallelism
	DeletionBatcherInterval    time.Duration // collect deletions of a group so long; 0 means no batching; --node-deletion-batcher-interval
	DeletionDelayTimeout       time.Duration // wait for delay-deletion annotations; 0 means no wait; --node-deletion-delay-timeout
	DeleteDelayAfterTaint      time.Duration // between taint and deletion; --node-delete-delay-after-taint
	DynamicDelayAfterTaint     bool          // replace that by twice the time that taints take to show; --dynamic-node-delete-delay-after-taint-enabled
	CordonBeforeTerminating    bool          // spec.unschedulable together with the taint; --cordon-node-before-terminating
	SkipNodesWithSystemPods    bool          // kube-system pods without PDB keep a node; --skip-nodes-with-system-pods
	SystemPodDisruptionTimeout time.Duration // age from which such a pod no longer does; --blocking-system-pod-distruption-timeout
	SkipNodesWithLocalStorage  bool          // pods with local storage keep a node; --skip-nodes-with-local-storage
	SkipCustomControllerPods   bool          // only the well-known controllers count as replicated; --skip-nodes-with-custom-controller-pods
	MinReplicaCount            int           // pods of smaller ReplicaSets and RCs keep a node; --min-replica-count
	LatencyTracking            bool          // fill node_removal_latency_seconds; --node-removal-latency-tracking-enabled
	SkipEvalTracking           bool          // fill max_node_skip_eval_duration_seconds; --max-node-skip-eval-time-tracker-enabled
}

// DrainGroup is one step of a drain in order of priority: pods from Priority up to the next group's.
type DrainGroup struct {
	Priority    int32
	GracePeriod time.Duration // cap of a pod's own grace period; 0 or less means no cap
}

// Drain is how the pods of a node are moved away.
type Drain struct {
	MaxGracefulTermination time.Duration // cap of a pod's grace period and of the wait; 0 or less means no cap; --max-graceful-termination-sec
	// PriorityGroups by ascending priority, none twice. nil means: all pods at once, with MaxGracefulTermination. Not nil: one
	// group after the other, and evicting DaemonSet pods must succeed too. --drain-priority-config
	PriorityGroups        []DrainGroup
	MaxPodEvictionTime    time.Duration // how long a refused eviction is tried again; --max-pod-eviction-time
	DaemonSetsOnEmpty     bool          // evict DaemonSet pods of empty nodes; --daemonset-eviction-for-empty-nodes
	DaemonSetsWhenDrained bool          // evict DaemonSet pods of drained nodes; --daemonset-eviction-for-occupied-nodes
}

// SoftTaints is how unneeded nodes are marked for everybody to see.
type SoftTaints struct {
	MaxBulkCount int           // changes per iteration; 0 means: off, and old ones are removed at start; --max-bulk-soft-taint-count
	MaxBulkTime  time.Duration // time for them per iteration; --max-bulk-soft-taint-time
	CandidateTTL time.Duration // at start take over times from taints younger than this; 0 means none; --node-deletion-candidate-ttl
}

// Status is what is told through the Kubernetes API and metrics.
type Status struct {
	WriteConfigMap        bool   // --write-status-configmap
	ConfigMapName         string // --status-config-map-name
	RecordDuplicateEvents bool   // the ordinary event correlator in place of the strict one; --record-duplicated-events
	PerNodeGroupMetrics   bool   // --emit-per-nodegroup-metrics
}

// Debug is what is served for looking inside.
type Debug struct {
	SnapshotEnabled bool // serve /snapshotz; --debugging-snapshot-enabled
	Profiling       bool // serve /debug/pprof/; --profiling
}

// ProactiveScaleUp adds pods that controllers are about to create.
type ProactiveScaleUp struct {
	Enabled           bool // --enable-proactive-scaleup
	PodInjectionLimit int  // with more pods than this, existing ones included, nothing is added; --pod-injection-limit
}

// ProvisioningRequests is the handling of that API.
type ProvisioningRequests struct {
	Enabled                        bool          // --enable-provisioning-requests
	InitialBackoff                 time.Duration // per request, doubles; --provisioning-request-initial-backoff-time
	MaxBackoff                     time.Duration // --provisioning-request-max-backoff-time
	MaxBackoffCacheSize            int           // requests remembered; --provisioning-request-max-backoff-cache-size
	CheckCapacityBatch             bool          // --check-capacity-batch-processing
	CheckCapacityMaxBatchSize      int           // --check-capacity-provisioning-request-max-batch-size
	CheckCapacityBatchTimebox      time.Duration // --check-capacity-provisioning-request-batch-timebox
	CheckCapacityProcessorInstance string        // "" means: requests of any instance; --check-capacity-processor-instance
}

// CapacityBuffers is the handling of that API.
type CapacityBuffers struct {
	ControllerEnabled bool // --capacity-buffer-controller-enabled
	PodInjection      bool // --capacity-buffer-pod-injection-enabled
	PodDryRun         bool // --capacity-buffer-pod-dry-run-enabled
}

// CapacityQuotas is the handling of that API.
type CapacityQuotas struct {
	Enabled bool // --capacity-quotas-enabled
}

// LogFormat is how log lines are written.
type LogFormat string

// The log formats.
const (
	LogFormatText LogFormat = "text"
	LogFormatJSON LogFormat = "json"
)

// VModule is the verbosity of the source files that match a pattern.
type VModule struct {
	Pattern   string
	Verbosity int32
}

// Logging is how the program logs. cmd applies it to klog and component-base, which keep it in globals; see KlogSettings.
type Logging struct {
	Format              LogFormat
	Verbosity           int32 // -v
	VModule             []VModule
	FlushFrequency      time.Duration
	TextSplitStream     bool // errors to stderr, the rest to stdout; needs the gate LoggingAlphaOptions
	JSONSplitStream     bool // same
	TextInfoBufferBytes int64
	JSONInfoBufferBytes int64

	LogToStderr              bool
	StderrThreshold          string // INFO, WARNING, ERROR or FATAL
	LegacyStderrThreshold    bool
	AlsoLogToStderr          bool
	AlsoLogToStderrThreshold string // as StderrThreshold
	LogFile                  string
	LogDir                   string
	LogFileMaxSizeMB         uint64 // 0 means unlimited
	LogBacktraceAt           string // file.go:line; "" means off
	AddDirHeader             bool
	SkipHeaders              bool
	SkipLogHeaders           bool
	OneOutput                bool
}
