// Package daemonset answers which DaemonSet pods a new node gets.
//
// Here: the node check of the DaemonSet controller and the pods it would make. Not here: which pods an example node has
// already (simulator.SanitizedTemplate). Imports only its neighbours below simulator.
//
// Behaviour: loop-and-scale-up 3.4.
package daemonset
