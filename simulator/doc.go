// Package simulator answers: does this pod fit on that node of a hypothetical cluster, and if not, which filter says no?
//
// Here: the Snapshot that can be forked and reverted, the Scheduler over the scheduler framework's PreFilter and Filter
// plugins, the data kept of a rejection, the template of a node group's fresh node. Not here: which pods or nodes to ask about,
// and what follows from the answer. What can be told without a scheduler is in packages below: single pods (podfacts), taints,
// readiness and accelerators of nodes (taints, readiness, gpu), what keeps a node from being drained (drain), how used it is
// (utilization), what DaemonSets run on it (daemonset).
//
// The only importer of kube-scheduler code, so that a version bump touches one package (contract.go); imports nothing of this
// module but the packages below itself.
//
// Behaviour: loop-and-scale-up 3.3, 3.5 and 4.6, scale-down 3.5 and 3.6.
package simulator
