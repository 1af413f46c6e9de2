// Package e2e plays stories in a real cluster on this machine: what a user does, and what must then be seen.
//
// Here: stories and what they are told with. All stories of a run share one cluster; each has a namespace, node groups and, where one is
// needed, an autoscaler of its own (with Lease, status and rights in that namespace, and with a discovery tag that only its groups carry, or
// with a DOKS cluster of its own) and leaves nothing behind. So most of them run beside each other; they wait more than they work.
//
// Not here: the cluster (package cluster). Stories need two built programs, named by the environment (make e2e does it): PLAYGROUND_BINARY
// and, for those with an autoscaler, AUTOSCALER_BINARY. Must not import k8s.io/kubernetes: the test binary would have to contain an API server.
package e2e
