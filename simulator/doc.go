// Package simulator answers: does this pod fit on that node of a hypothetical cluster, and if not, which filter says no?
//
// Here: the Snapshot that can be forked and reverted, the Scheduler over the scheduler framework's PreFilter and Filter
// plugins, the data kept of a rejection. Not here: which pods or nodes to ask about, and what follows from the answer.
// The only importer of kube-scheduler code, so that a version bump touches one package; imports nothing of this module.
//
// Behaviour: loop-and-scale-up 4.6 and scale-down 3.6.
package simulator
