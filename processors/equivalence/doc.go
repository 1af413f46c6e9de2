// Package equivalence answers which waiting pods are alike for the scheduler, so that one can be asked about in place of all.
//
// Here: the comparison of pods of one controller, the groups made of it. Not here: what is asked about them. Imports only podfacts.
//
// Behaviour: loop-and-scale-up 4.5.
package equivalence
