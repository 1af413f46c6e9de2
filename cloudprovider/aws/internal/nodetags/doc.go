// Package nodetags answers: what do the tags of an Auto Scaling group say about its future nodes and about how to scale it?
//
// Here: the keys below k8s.io/cluster-autoscaler/node-template/, the eks: tags, and which of them cannot be used and why. Not here:
// discovery tags (package discovery), building nodes (package template). Imports cloudprovider only. Spec page: aws §5.8 and §7.7.
package nodetags
