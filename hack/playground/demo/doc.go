// Package demo answers: what does the autoscaler do, as seen by somebody who has never met it?
//
// Here: a story that is played in a cluster of the playground, the record of what happened, and its telling: a timeline on the way, a table
// and the verdicts at the end. Not here: the cluster (package cluster) and the judgement (package checker). Must not import
// k8s.io/kubernetes, nor anything of the autoscaler.
package demo
