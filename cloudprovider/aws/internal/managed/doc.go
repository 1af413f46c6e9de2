// Package managed answers: what does EKS know about the managed node group behind an Auto Scaling group?
//
// Here: the description of a node group as plain values, and the cache in front of EKS, which keeps the last good answer whatever happens later.
// Not here: the SDK (the source is an interface, see package eksapi), nodes (package template), which Auto Scaling group belongs to which
// node group (its tags, package nodetags). Imports packages asg and faults. Spec page: aws §7.8.
package managed
