package config

// statusFlags are operator-surface §1.6.
func statusFlags() []Flag {
	return []Flag{
		{Name: "write-status-configmap", Type: TypeBool, Default: "true", bind: func(d *draft) any { return &d.opts.Status.WriteConfigMap },
			Help: "Keep the status ConfigMap up to date. It also carries the events about the cluster as a whole."},
		{Name: "status-config-map-name", Type: TypeString, Default: "cluster-autoscaler-status", Range: "not empty", bind: func(d *draft) any { return &d.opts.Status.ConfigMapName },
			Help: "Name of the status ConfigMap."},
		{Name: "record-duplicated-events", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Status.RecordDuplicateEvents },
			Help: "Let repeated events pass as often as the Kubernetes client library does by default."},
		{Name: "emit-per-nodegroup-metrics", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Status.PerNodeGroupMetrics },
			Help: "Add metrics per node group."},
		{Name: "debugging-snapshot-enabled", Type: TypeBool, Default: "false", State: StatePending, bind: func(d *draft) any { return &d.opts.Debug.SnapshotEnabled },
			Help: "Serve what an iteration saw under /snapshotz."},
		{Name: "profiling", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Debug.Profiling },
			Help: "Serve profiles under /debug/pprof/."},
	}
}

// requestFlags are operator-surface §1.7.
func requestFlags() []Flag {
	return []Flag{
		{Name: "enable-provisioning-requests", Type: TypeBool, Default: "false", State: StatePending, bind: func(d *draft) any { return &d.opts.ProvisioningRequests.Enabled },
			Help: "Handle ProvisioningRequests."},
		{Name: "provisioning-request-initial-backoff-time", Type: TypeDuration, Default: "1m", State: StatePending, bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ProvisioningRequests.InitialBackoff },
			Help: "First pause before a request is tried again; doubles."},
		{Name: "provisioning-request-max-backoff-time", Type: TypeDuration, Default: "10m", State: StatePending, bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ProvisioningRequests.MaxBackoff },
			Help: "Longest pause before a request is tried again."},
		{Name: "provisioning-request-max-backoff-cache-size", Type: TypeInt, Default: "1000", Unit: "requests", State: StatePending,
			bind: func(d *draft) any { return &d.opts.ProvisioningRequests.MaxBackoffCacheSize },
			Help: "Requests whose pauses are remembered."},
		{Name: "check-capacity-batch-processing", Type: TypeBool, Default: "false", State: StatePending, bind: func(d *draft) any { return &d.opts.ProvisioningRequests.CheckCapacityBatch },
			Help: "Handle several check-capacity requests per iteration."},
		{Name: "check-capacity-provisioning-request-max-batch-size", Type: TypeInt, Default: "10", Unit: "requests", State: StatePending,
			bind: func(d *draft) any { return &d.opts.ProvisioningRequests.CheckCapacityMaxBatchSize },
			Help: "At most so many of them."},
		{Name: "check-capacity-provisioning-request-batch-timebox", Type: TypeDuration, Default: "10s", State: StatePending, bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ProvisioningRequests.CheckCapacityBatchTimebox },
			Help: "Time per iteration for them."},
		{Name: "check-capacity-processor-instance", Type: TypeString, State: StatePending,
			bind: func(d *draft) any { return &d.opts.ProvisioningRequests.CheckCapacityProcessorInstance },
			Help: "Handle only the requests that name this instance."},
		{Name: "capacity-buffer-controller-enabled", Type: TypeBool, Default: "false", State: StatePending, bind: func(d *draft) any { return &d.opts.CapacityBuffers.ControllerEnabled },
			Help: "Turn CapacityBuffers into pod templates."},
		{Name: "capacity-buffer-pod-injection-enabled", Type: TypeBool, Default: "false", State: StatePending, bind: func(d *draft) any { return &d.opts.CapacityBuffers.PodInjection },
			Help: "Keep room for the pods of ready CapacityBuffers."},
		{Name: "capacity-buffer-pod-dry-run-enabled", Type: TypeBool, Default: "true", State: StatePending, bind: func(d *draft) any { return &d.opts.CapacityBuffers.PodDryRun },
			Help: "Let the API server complete a buffer's pod template by a dry run."},
		{Name: "capacity-quotas-enabled", Type: TypeBool, Default: "false", State: StatePending, bind: func(d *draft) any { return &d.opts.CapacityQuotas.Enabled },
			Help: "Enforce CapacityQuotas."},
	}
}

// electionFlags are operator-surface §1.8.
func electionFlags() []Flag {
	return []Flag{
		{Name: "leader-elect", Type: TypeBool, Default: "true", bind: func(d *draft) any { return &d.opts.LeaderElection.Enabled },
			Help: "Run only while holding the Lease, so that several replicas can stand by."},
		{Name: "leader-elect-lease-duration", Type: TypeDuration, Default: "15s", Range: "longer than the renew deadline, at least 1s",
			bind: func(d *draft) any { return &d.opts.LeaderElection.LeaseDuration },
			Help: "Time after the last renewal when another replica takes over."},
		{Name: "leader-elect-renew-deadline", Type: TypeDuration, Default: "10s", Range: "longer than 1.2 times the retry period",
			bind: func(d *draft) any { return &d.opts.LeaderElection.RenewDeadline },
			Help: "Time after the last renewal when the leader gives up."},
		{Name: "leader-elect-retry-period", Type: TypeDuration, Default: "2s", Range: "more than 0", bind: func(d *draft) any { return &d.opts.LeaderElection.RetryPeriod },
			Help: "Pause between two attempts to get or renew the Lease."},
		{Name: "leader-elect-resource-lock", Type: TypeString, Default: resourceLockLeases, Range: resourceLockLeases, bind: func(d *draft) any { return &d.resourceLock },
			Help: "Kind of the object that is locked."},
		{Name: "leader-elect-resource-name", Type: TypeString, Default: "cluster-autoscaler", Range: "not empty", bind: func(d *draft) any { return &d.opts.LeaderElection.LeaseName },
			Help: "Name of the Lease."},
		{Name: "leader-elect-resource-namespace", Type: TypeString, State: StateNoEffect, Note: "the Lease is in the namespace of --namespace",
			Help: "Namespace of the Lease."},
	}
}

// loggingFlags are operator-surface §1.9. Their values go into Options and not into klog's globals, which cmd sets from there.
func loggingFlags() []Flag {
	return []Flag{
		{Name: "v", Short: "v", Type: TypeLevel, Default: "0", bind: func(d *draft) any { return &levelValue{&d.opts.Logging.Verbosity} },
			Help: "Log verbosity."},
		{Name: "vmodule", Type: TypeVModule, bind: func(d *draft) any { return &vmoduleValue{&d.opts.Logging.VModule} },
			Help: "Log verbosity by source file; for the format text only."},
		{Name: "logging-format", Type: TypeString, Default: string(LogFormatText), Range: "text or json", bind: func(d *draft) any { return &d.loggingFormat },
			Help: "Form of the log lines."},
		{Name: "log-flush-frequency", Type: TypeDuration, Default: "5s", bound: boundPositive, bind: func(d *draft) any { return &d.opts.Logging.FlushFrequency },
			Help: "Longest time for which log lines are held back."},
		{Name: "logtostderr", Type: TypeBool, Default: "true", bind: func(d *draft) any { return &d.opts.Logging.LogToStderr },
			Help: "Log to stderr; false: to files."},
		{Name: "stderrthreshold", Type: TypeSeverity, Default: "INFO", bind: func(d *draft) any { return &severityValue{&d.opts.Logging.StderrThreshold} },
			Help: "Lowest severity that goes to stderr."},
		{Name: "legacy-stderr-threshold-behavior", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Logging.LegacyStderrThreshold },
			Help: "Ignore --stderrthreshold while --logtostderr is on."},
		{Name: "alsologtostderr", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Logging.AlsoLogToStderr },
			Help: "Log to files and to stderr."},
		{Name: "alsologtostderrthreshold", Type: TypeSeverity, Default: "INFO", bind: func(d *draft) any { return &severityValue{&d.opts.Logging.AlsoLogToStderrThreshold} },
			Help: "Lowest severity that --alsologtostderr sends to stderr."},
		{Name: "log-file", Type: TypeString, bind: func(d *draft) any { return &d.opts.Logging.LogFile },
			Help: "File to log to, with --logtostderr=false."},
		{Name: "log-dir", Type: TypeString, bind: func(d *draft) any { return &d.opts.Logging.LogDir },
			Help: "Directory for log files, with --logtostderr=false."},
		{Name: "log-file-max-size", Type: TypeUint, Default: "1800", Unit: "MB", bind: func(d *draft) any { return &d.opts.Logging.LogFileMaxSizeMB },
			Help: "Size at which --log-file is started anew; 0 means never."},
		{Name: "log-backtrace-at", Type: TypeTrace, Default: traceOff, bind: func(d *draft) any { return &traceValue{&d.opts.Logging.LogBacktraceAt} },
			Help: "Log a stack trace whenever this line logs."},
		{Name: "add-dir-header", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Logging.AddDirHeader },
			Help: "Put the source file's directory into the line header."},
		{Name: "skip-headers", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Logging.SkipHeaders },
			Help: "Leave out line headers."},
		{Name: "skip-log-headers", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Logging.SkipLogHeaders },
			Help: "Leave out the header of log files."},
		{Name: "one-output", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Logging.OneOutput },
			Help: "Write a line only to the file of its own severity."},
		{Name: "log-text-split-stream", Type: TypeBool, Default: "false", Range: "needs the feature gate LoggingAlphaOptions",
			bind: func(d *draft) any { return &d.opts.Logging.TextSplitStream },
			Help: "Text lines: errors to stderr, everything else to stdout."},
		{Name: "log-json-split-stream", Type: TypeBool, Default: "false", Range: "needs the feature gate LoggingAlphaOptions",
			bind: func(d *draft) any { return &d.opts.Logging.JSONSplitStream },
			Help: "JSON lines: errors to stderr, everything else to stdout."},
		{Name: "log-text-info-buffer-size", Type: TypeQuantity, Default: "0", Unit: "bytes", Range: "needs the feature gate LoggingAlphaOptions",
			bind: func(d *draft) any { return &quantityValue{target: &d.opts.Logging.TextInfoBufferBytes} },
			Help: "Buffer for text lines on stdout."},
		{Name: "log-json-info-buffer-size", Type: TypeQuantity, Default: "0", Unit: "bytes", Range: "needs the feature gate LoggingAlphaOptions",
			bind: func(d *draft) any { return &quantityValue{target: &d.opts.Logging.JSONInfoBufferBytes} },
			Help: "Buffer for JSON lines on stdout."},
		{Name: "feature-gates", Type: TypeGates, bind: func(d *draft) any { return &gatesValue{&d.opts.FeatureGates} },
			Help: "Feature gates of the Kubernetes libraries in this binary."},
	}
}

// removedFlags stood in older releases of the upstream. They are accepted, so that an old installation still starts.
func removedFlags() []Flag {
	return []Flag{
		{Name: "max-empty-bulk-delete", Type: TypeInt, Default: "10", State: StateRemoved, Note: "use --max-scale-down-parallelism",
			Help: "Empty nodes deleted at the same time."},
		{Name: "parallel-drain", Type: TypeBool, Default: "true", State: StateRemoved, Note: "use --max-drain-parallelism",
			Help: "Drain several nodes at the same time."},
		{Name: "node-autoprovisioning-enabled", Type: TypeBool, Default: "false", State: StateRemoved, Note: "no cloud here creates node groups",
			Help: "Create and delete node groups."},
		{Name: "max-autoprovisioned-node-group-count", Type: TypeInt, Default: "15", State: StateRemoved, Note: "no cloud here creates node groups",
			Help: "Largest number of node groups created."},
	}
}
