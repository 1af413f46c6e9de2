// Command cluster-autoscaler grows and shrinks the node groups of a Kubernetes cluster to what its pods need.
//
// Here: flags to options, wiring, leader election, signals, the HTTP server, exit codes; the only package that reads the
// environment, the real clock, and ends the process. Not here: anything that decides.
//
// Behaviour: operator-surface 1, 6 and 7, as amended by the differences page.
package main
