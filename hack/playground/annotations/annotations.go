package annotations

const (
	// Managed with value ManagedValue marks the Node objects that have a pretended kubelet, and with them their pods.
	Managed      = "kwok.x-k8s.io/node"
	ManagedValue = "fake"

	// ReadyAt on a Node is the time (RFC 3339) before which it doesn't become Ready; absent means at once.
	ReadyAt = "playground.cluster-autoscaler/ready-at"

	// StartAfter on a Pod is how long it takes from being bound to running, as a duration; absent means 1s.
	StartAfter = "playground.cluster-autoscaler/start-after"

	// RunFor on a Job's Pod is how long it runs until it has succeeded, as a duration; absent means 1s.
	RunFor = "playground.cluster-autoscaler/run-for"

	// StopAfter on a Pod is how long it takes to end once it is deleted, as a duration; absent means 1s. It may be
	// longer than the grace period: a kubelet that is slow to tell.
	StopAfter = "playground.cluster-autoscaler/stop-after"
)
