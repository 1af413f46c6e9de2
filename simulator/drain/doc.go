// Package drain answers which pods keep a node from being drained, and what becomes of the others.
//
// Here: the rules, one small type each, and the counters of PodDisruptionBudgets. Not here: where the pods go
// (simulator), evicting them (core/scaledown). Needs no clock, no client and no scheduler.
//
// Behaviour: scale-down 2.
package drain
