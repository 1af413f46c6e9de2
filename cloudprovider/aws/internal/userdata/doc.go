// Package userdata answers: what does the user data of an EC2 machine say about the node that it will become?
//
// Here: reading what the node set-ups of EKS understand: NodeConfig documents of nodeadm, alone or in MIME parts, calls of bootstrap.sh and
// Start-EKSBootstrap.ps1, settings of Bottlerocket. All of it is a hint: what is not understood says nothing, and nothing fails. Not here: what
// follows for a node (package template). Imports nothing of ours. Spec page: aws §7.4 and §7.5.
package userdata
