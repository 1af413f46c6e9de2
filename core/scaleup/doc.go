// Package scaleup plans the growth of the cluster: whether, by which groups, by how many nodes, and what to tell each pod.
//
// Here: the gate, the groups that may grow, which pods could run there, the options, the caps, minimum sizes, verdicts, and Grow, which puts
// planning, choosing and acting together. Not here: which pods wait (processors/pendingpods), packing (estimator), choosing (expander), the calls
// to the cloud (core/act). Plans: values in, values out; the snapshot is as before when a function returns.
//
// Behaviour: loop-and-scale-up 1.6, 1.7 and 5, as amended by the differences page.
package scaleup
