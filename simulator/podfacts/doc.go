// Package podfacts answers what can be told from a pod alone: its kind, what it requests, what must not be simulated.
//
// Here: predicates and numbers of one pod, without looking anything up. Not here: whether a pod keeps its node from being
// drained (simulator/drain), whether it fits anywhere (simulator). Imports nothing of this module.
//
// Behaviour: scale-down 1.7 and 2.3 (kinds of pods), loop-and-scale-up 4.2 and 4.3 (TPU clean-up, priority cut-off).
package podfacts
