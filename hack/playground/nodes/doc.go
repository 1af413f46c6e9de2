// Package nodes answers: who plays the kubelets of machines that don't exist?
//
// Here: KWOK's controllers as a library, and the stages that they play: a node becomes Ready, keeps its Lease and its status
// fresh; a pod starts, completes if it is a Job's, and ends when it is deleted. Not here: making and removing Node objects (cloud).
// Must not import k8s.io/kubernetes.
package nodes
