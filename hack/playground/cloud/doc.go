// Package cloud answers: how do the machines of a pretended cloud become Nodes of a real cluster, and how do they leave it?
//
// Here: what kubelets and the cloud controller manager do in a real cluster: registering a Node some time after its machine runs,
// with the labels, taints and resources that such a machine has, and removing the Node when the machine is gone. Not here: heartbeats
// and pods (nodes), the cloud itself (awstest). Must not import k8s.io/kubernetes.
package cloud
