// Package roles answers: what does a child process of the playground run?
//
// Here: etcd, kube-apiserver, kube-scheduler, the controllers and KWOK, each until its process is killed. One process plays one
// role: apiserver and scheduler fill the same process-wide registries. Not here: the order of starting and flags (controlplane).
// This is the only package that imports k8s.io/kubernetes and etcd.
package roles
