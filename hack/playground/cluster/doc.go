// Package cluster answers: what does a whole cluster for trying out the autoscaler consist of?
//
// Here: a control plane, the stand-ins for AWS and DigitalOcean, the machines between them, and autoscalers, put together, started and stopped as one
// thing. Not here: the parts themselves, and what is played in the cluster (e2e). Must not import k8s.io/kubernetes.
package cluster
