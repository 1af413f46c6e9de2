// Package repair plans the first round of an iteration: ending machines that never became nodes or failed to be created, and
// withdrawing places that were never filled.
//
// Here: the plan, a pure function. Not here: doing it (act) and finding out what is wrong (clusterstate).
//
// Behaviour: loop-and-scale-up 1.5 and 2.5, scale-down 6.3 to 6.5, as amended by the differences page: the trouble of one group
// stays with that group.
package repair
