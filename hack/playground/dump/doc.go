// Package dump answers: what is in a cluster, in one file that `cluster-autoscaler simulate` plays?
//
// Here: a list of a cluster's objects as `kubectl get ... -A` prints it, for machines that have no kubectl. Not here: what the cloud knows of
// node groups (cluster), playing. Must not import k8s.io/kubernetes: the end-to-end stories dump, too.
package dump
