// Package estimator answers how many fresh nodes of one group the waiting pods would need, and which pods they would hold.
//
// Here: the order of packing, the packing, its limits, the result. Not here: which groups and pods to ask about and what a limit of nodes is
// made of (core/scaleup), which group is best (expander). A plan: values in, values out; the snapshot is as before when it returns.
//
// Behaviour: loop-and-scale-up 5.5, as amended by the differences page; variants by design.
package estimator
