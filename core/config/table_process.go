package config

// processFlags are operator-surface §1.2, first part.
func processFlags() []Flag {
	return []Flag{
		{Name: "address", Type: TypeString, Default: ":8085", Range: "host:port", bind: func(d *draft) any { return &d.opts.Process.Address },
			Help: "Listen address of the HTTP server for metrics, health and debugging."},
		{Name: "kubeconfig", Type: TypeString, bind: func(d *draft) any { return &d.opts.API.Kubeconfig },
			Help: "Kubeconfig file for the Kubernetes API. Wins over --kubernetes; with neither of them the in-cluster configuration is used."},
		{Name: "kubernetes", Type: TypeString, Range: "URL", bind: func(d *draft) any { return &d.kubernetes },
			Help: "URL of the Kubernetes API server, with the options inClusterConfig (default true), auth (path of a kubeconfig) and " +
				"useServiceAccount (default false) behind a question mark."},
		{Name: "kube-api-content-type", Type: TypeString, Default: "application/vnd.kubernetes.protobuf",
			bind: func(d *draft) any { return &d.opts.API.ContentType },
			Help: "Wire format for built-in API types; custom resources always use JSON."},
		{Name: "kube-client-qps", Type: TypeFloat, Default: "5", Unit: "requests per second", bind: func(d *draft) any { return &d.opts.API.QPS },
			Help: "Client-side rate limit of each Kubernetes client; 0 means the library's default, below 0 no limit."},
		{Name: "kube-client-burst", Type: TypeInt, Default: "10", Unit: "requests", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.API.Burst },
			Help: "Requests that may pass at once above the rate limit; 0 means the library's default."},
		{Name: "user-agent", Type: TypeString, Default: "cluster-autoscaler", bind: func(d *draft) any { return &d.opts.API.UserAgent },
			Help: "User agent of the Kubernetes clients. The cloud clients build their own."},
		{Name: "namespace", Type: TypeString, Default: "kube-system", Range: "not empty", bind: func(d *draft) any { return &d.opts.Process.Namespace },
			Help: "Namespace of the status ConfigMap, the priority expander's ConfigMap and the leader-election Lease."},
		{Name: "persist-state", Type: TypeBool, Default: "true", Own: true,
			bind: func(d *draft) any { return &d.opts.Process.PersistState },
			Help: "Keep requests, back-off, learnt templates and unneeded timers in the status ConfigMap, so that a restart goes on where the last run stopped."},
	}
}

// cloudFlags are operator-surface §1.2, second part.
func cloudFlags() []Flag {
	return []Flag{
		{Name: "cloud-provider", Type: TypeString, Range: "a cloud of this build", bind: func(d *draft) any { return &d.opts.Cloud.Provider },
			Help: "Cloud that owns the machines. Has to be given."},
		{Name: "cloud-config", Type: TypeString, bind: func(d *draft) any { return &d.opts.Cloud.ConfigFile },
			Help: "The cloud provider's own configuration file."},
		{Name: "nodes", Type: TypeArray, Range: "min:max:name", bind: func(d *draft) any { return &d.opts.Cloud.Nodes },
			Help: "Node group to manage, with its smallest and largest size."},
		{Name: "node-group-auto-discovery", Type: TypeArray, Range: "AWS: asg:tag=key[=value],...",
			bind: func(d *draft) any { return &d.opts.Cloud.AutoDiscovery },
			Help: "Rule by which node groups are found."},
		{Name: "aws-use-static-instance-list", Type: TypeBool, Default: "false", bind: func(d *draft) any { return &d.opts.Cloud.AWSStaticInstanceList },
			Help: "AWS: use the instance types built into the binary instead of asking EC2 for them."},
		{Name: "aws-price-overrides", Type: TypeString, Own: true, bind: func(d *draft) any { return &d.opts.Cloud.AWSPriceOverrides },
			Help: "AWS: file, YAML or JSON, with prices and discounts that AWS's price lists do not tell, for the expander price."},
		{Name: "aws-discovery-match", Type: TypeString, Default: discoverAll, Own: true, Range: discoverAll + ", " + discoverAny,
			bind: func(d *draft) any { return &d.discovery },
			Help: "AWS: whether a group must match all rules of several --node-group-auto-discovery, or any of them."},
		{Name: "aws-refresh-interval", Type: TypeDuration, Default: "1m", Own: true, Range: "10s to 4m", bind: func(d *draft) any { return &d.opts.Cloud.AWSRefreshInterval },
			Help: "AWS: time between two readings of all groups. Groups whose machines are on their way are read more often."},
		{Name: "cluster-name", Type: TypeString, State: StateOtherCloud, Note: "Magnum, Brightbox, Equinix Metal, Cherry Servers",
			bind: func(d *draft) any { return &d.opts.Cloud.ClusterName },
			Help: "Name of the cluster."},
		{Name: "regional", Type: TypeBool, Default: "false", State: StateOtherCloud, Note: "GCE, Tencent Cloud",
			Help: "The cluster is a regional one."},
		{Name: "clusterapi-cloud-config-authoritative", Type: TypeBool, Default: "false", State: StateOtherCloud, Note: "Cluster API",
			Help: "Take the management cluster from --cloud-config only."},
		{Name: "bulk-mig-instances-listing-enabled", Type: TypeBool, Default: "false", State: StateOtherCloud, Note: "GCE",
			Help: "List the instances of all groups in one go."},
		{Name: "gce-concurrent-refreshes", Type: TypeInt, Default: "1", State: StateOtherCloud, Note: "GCE",
			Help: "Refreshes at the same time."},
		{Name: "gce-mig-instances-min-refresh-wait-time", Type: TypeDuration, Default: "5s", State: StateOtherCloud, Note: "GCE",
			Help: "Shortest pause between two refreshes of a group's instances."},
		{Name: "cloud-provider-gce-lb-src-cidrs", Type: TypeCIDRs, State: StateOtherCloud, Note: "GCE",
			Default: "130.211.0.0/22,209.85.152.0/22,209.85.204.0/22,35.191.0.0/16",
			Help:    "Source addresses of network load balancers."},
		{Name: "cloud-provider-gce-l7lb-src-cidrs", Type: TypeCIDRs, State: StateOtherCloud, Note: "GCE", Default: "130.211.0.0/22,35.191.0.0/16",
			Help: "Source addresses of application load balancers."},
	}
}

// loopFlags are operator-surface §1.3, first part.
func loopFlags() []Flag {
	return []Flag{
		{Name: "scan-interval", Type: TypeDuration, Default: "10s", bound: boundPositive, bind: func(d *draft) any { return &d.opts.Loop.ScanInterval },
			Help: "Pause between the end of one iteration and the start of the next."},
		{Name: "frequent-loops-enabled", Type: TypeBool, Default: "true", bind: func(d *draft) any { return &d.opts.Loop.FrequentLoops },
			Help: "Cut the pause short when a pod has just become unschedulable, and after an iteration that changed something."},
		{Name: "max-inactivity", Type: TypeDuration, Default: "10m", bound: boundPositive, bind: func(d *draft) any { return &d.opts.Loop.MaxInactivity },
			Help: "Health: allowed age of the last iteration's start."},
		{Name: "max-failing-time", Type: TypeDuration, Default: "15m", bound: boundPositive, bind: func(d *draft) any { return &d.opts.Loop.MaxFailingTime },
			Help: "Health: allowed age of the last iteration without an error."},
		{Name: "max-startup-time", Type: TypeDuration, Default: "20m", Range: "raised to the larger one of --max-inactivity and --max-failing-time",
			bind: func(d *draft) any { return &d.opts.Loop.MaxStartupTime },
			Help: "Health: takes the place of both limits until the first success. A required list that stays denied fails health after this time."},
		{Name: "enforce-node-group-min-size", Type: TypeBool, Default: "false",
			bind: func(d *draft) any { return &d.opts.Loop.EnforceGroupMinSize },
			Help: "Bring groups that are below their minimum up to it without pending pods."},
		{Name: "scale-up-from-zero", Type: TypeBool, Default: "true", bind: func(d *draft) any { return &d.opts.Loop.ScaleUpFromZero },
			Help: "Go on when the cluster has no node or no ready node."},
	}
}

// limitFlags are operator-surface §1.3, second part.
func limitFlags() []Flag {
	return []Flag{
		{Name: "max-nodes-total", Type: TypeInt, Default: "0", Unit: "nodes", bound: boundNotNegative, bind: func(d *draft) any { return &d.opts.Limits.MaxNodes },
			Help: "Largest number of nodes in the whole cluster; 0 means no limit."},
		{Name: "cores-total", Type: TypeString, Default: "0:320000", Unit: "cores", Range: "min:max", bind: func(d *draft) any { return &d.cores },
			Help: "Smallest and largest number of CPU cores in the cluster."},
		{Name: "memory-total", Type: TypeString, Default: "0:6400000", Unit: "GiB", Range: "min:max", bind: func(d *draft) any { return &d.memory },
			Help: "Smallest and largest amount of memory in the cluster."},
		{Name: "gpu-total", Type: TypeArray, Unit: "GPUs", Range: "type:min:max", bind: func(d *draft) any { return &d.gpus },
			Help: "Smallest and largest number of GPUs of one type in the cluster; the type is the value of the cloud's GPU label."},
		{Name: "max-total-unready-percentage", Type: TypeFloat, Default: "45", Unit: "percent", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ClusterState.MaxUnreadyPercentage },
			Help: "Share of unready nodes above which nothing is done any more."},
		{Name: "ok-total-unready-count", Type: TypeInt, Default: "3", Unit: "nodes", bind: func(d *draft) any { return &d.opts.ClusterState.OKUnreadyCount },
			Help: "Number of unready nodes that is always tolerated."},
		{Name: "health-scope-all-nodes", Type: TypeBool, Default: "false", Own: true,
			bind: func(d *draft) any { return &d.opts.ClusterState.HealthScopeAllNodes },
			Help: "Judge the cluster's health by all nodes, also those of no managed group, as older autoscalers do."},
		{Name: "max-node-provision-time", Type: TypeDuration, Default: "15m", bound: boundPositive,
			bind: func(d *draft) any { return &d.opts.NodeGroupDefaults.MaxNodeProvisionTime },
			Help: "Time from a scale-up until the node must have registered. Groups may override it."},
		{Name: "max-node-startup-time", Type: TypeDuration, Default: "15m", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.NodeGroupDefaults.MaxNodeStartupTime },
			Help: "Time for which a registered node may stay unready before it counts as such. Groups may override it."},
		{Name: "initial-node-group-backoff-duration", Type: TypeDuration, Default: "5m", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ClusterState.InitialBackoff },
			Help: "First back-off of a group after a failed scale-up; doubles with every failure."},
		{Name: "max-node-group-backoff-duration", Type: TypeDuration, Default: "30m", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ClusterState.MaxBackoff },
			Help: "Longest back-off of a group."},
		{Name: "node-group-backoff-reset-timeout", Type: TypeDuration, Default: "3h", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.ClusterState.BackoffResetTimeout },
			Help: "Quiet time after which a group's back-off starts again from its first value."},
		{Name: "node-info-cache-expire-time", Type: TypeDuration, Default: "87600h", bound: boundNotNegative,
			bind: func(d *draft) any { return &d.opts.Templates.NodeInfoCacheExpireTime },
			Help: "Age limit of templates learnt from live nodes."},
	}
}
