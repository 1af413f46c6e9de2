// Package utilization answers how used a node is.
//
// Here: requests in relation to allocatable, of the accelerator on nodes that have one, else of CPU and memory. Not here: the
// threshold, and what follows from it. Imports only its neighbours below simulator.
//
// Behaviour: scale-down 1.7.
package utilization
