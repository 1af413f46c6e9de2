// Package readiness answers whether a node is ready, since when, and why not.
//
// Here: the judgement from conditions and taints, and the copy of a node that is Ready for Kubernetes but not yet for work.
// Not here: which nodes need such a copy (core/observation), what follows from it. Imports nothing of this module.
//
// Behaviour: loop-and-scale-up 1.4.2 and 2.1.
package readiness
