// Package taints answers what a taint on a node means to an autoscaler.
//
// Here: the taints that the autoscaler itself sets, and the rules by which taints of a starting node, of a node's status and
// of a node's trouble are told from those that every node of a group will carry. Not here: writing taints to the API server.
// Imports nothing of this module.
//
// Behaviour: loop-and-scale-up 3.3 and 1.4.2, scale-down 5.3 and 5.4.
package taints
