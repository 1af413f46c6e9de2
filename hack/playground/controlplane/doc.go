// Package controlplane answers: how does a real Kubernetes control plane start on this machine, and how does all of it go away?
//
// Here: etcd, kube-apiserver, kube-scheduler, the controllers and KWOK as child processes of one program, their order, credentials,
// flags, folder and logs. Not here: what runs inside the children (roles, nodes), clouds, the autoscaler. Must not import
// k8s.io/kubernetes: whoever starts a control plane need not contain one.
package controlplane
