package nodes

// Annotations that the stages read.
const (
	// ManagedAnnotation with value ManagedValue marks the Node objects that Run cares for, and with them their pods.
	ManagedAnnotation = "kwok.x-k8s.io/node"
	ManagedValue      = "fake"

	// ReadyAtAnnotation on a Node is the time (RFC 3339) before which it doesn't become Ready; absent means at once.
	ReadyAtAnnotation = "playground.cluster-autoscaler/ready-at"

	// StartAfterAnnotation on a Pod is how long it takes from being bound to running, as a duration; absent means 1s.
	StartAfterAnnotation = "playground.cluster-autoscaler/start-after"

	// RunForAnnotation on a Job's Pod is how long it runs until it has succeeded, as a duration; absent means 1s.
	RunForAnnotation = "playground.cluster-autoscaler/run-for"

	// StopAfterAnnotation on a Pod is how long it takes to end once it is deleted, as a duration; absent means 1s. It may be
	// longer than the grace period: a kubelet that is slow to tell.
	StopAfterAnnotation = "playground.cluster-autoscaler/stop-after"
)
