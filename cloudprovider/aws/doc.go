// Package aws is the cloud provider for AWS Auto Scaling groups.
//
// Here: which groups there are, what is in them, and how they grow and shrink. A book per group holds what was read last, the writes that
// AWS may not show yet, and the places of machines that are to come; Refresh and the writes change the books, and after each change an
// immutable view is put in place, from which all getters answer. A goroutine looks at groups that are about to change between two calls of Refresh and
// wakes the loop. Every write reads the group anew right before and is refused where that shows that a machine in use could come to harm. Not
// here: any decision to scale, Kubernetes clients, metrics.
//
// The parts below internal know one thing each; only internal/asgapi, internal/ec2api and internal/session speak to AWS. Imports
// cloudprovider and nothing else of ours. Spec page: aws; where it marks a part [B], that part is what is built.
package aws
